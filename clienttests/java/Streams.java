import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.HashMap;
import java.util.Map;
import java.util.Properties;
import org.apache.kafka.common.serialization.Serdes;
import org.apache.kafka.streams.KafkaStreams;
import org.apache.kafka.streams.StreamsBuilder;
import org.apache.kafka.streams.Topology;
import org.apache.kafka.streams.kstream.Consumed;
import org.apache.kafka.streams.kstream.Grouped;
import org.apache.kafka.streams.kstream.Materialized;
import org.apache.kafka.streams.kstream.Produced;
import org.apache.kafka.streams.state.Stores;

/**
 * A Kafka Streams application that counts its input's values, exactly once: instances that the test starts and closes. It has a repartition topic, and a changelog
 * from which whoever takes a task over restores the counts.
 *
 * <pre>
 * Streams ADDR APPLICATION INPUT OUTPUT
 * </pre>
 *
 * Commands on standard input: start NAME, close NAME. It answers on standard output: running NAME (each time it is), closed NAME (and whether in time), failed NAME (and why).
 */
public final class Streams {
    public static void main(String[] args) throws Exception {
        Map<String, KafkaStreams> instances = new HashMap<>();
        Path state = Files.createTempDirectory("streams");
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line; (line = in.readLine()) != null; ) {
            String[] f = line.split(" ");
            switch (f[0]) {
                case "start" -> instances.put(f[1], start(args[0], args[1], f[1], state, topology(args[2], args[3])));
                case "close" -> tell("closed", f[1], Boolean.toString(instances.remove(f[1]).close(Duration.ofSeconds(10))));
                default -> throw new IllegalArgumentException(line);
            }
        }
        Runtime.getRuntime().halt(0);
    }

    private static KafkaStreams start(String addr, String application, String name, Path state, Topology topology) {
        Properties conf = new Properties();
        conf.putAll(Map.of(
            "bootstrap.servers", addr, "application.id", application, "client.id", name, "state.dir", state.resolve(name).toString(),
            "group.protocol", "classic", "processing.guarantee", "exactly_once_v2", "commit.interval.ms", 50, "statestore.cache.max.bytes", 0));
        conf.put("session.timeout.ms", 6_000); // who closes doesn't leave the group
        KafkaStreams streams = new KafkaStreams(topology, conf);
        streams.setStateListener((now, before) -> {
            if (now == KafkaStreams.State.RUNNING) {
                tell("running", name);
            }
        });
        streams.setUncaughtExceptionHandler(e -> {
            tell("failed", name, e.toString().replace('\n', ' '));
            return org.apache.kafka.streams.errors.StreamsUncaughtExceptionHandler.StreamThreadExceptionResponse.SHUTDOWN_CLIENT;
        });
        streams.start();
        return streams;
    }

    private static Topology topology(String input, String output) {
        StreamsBuilder b = new StreamsBuilder();
        b.stream(input, Consumed.with(Serdes.String(), Serdes.String()))
            .groupBy((key, value) -> value, Grouped.with("by-value", Serdes.String(), Serdes.String()))
            .count(Materialized.<String, Long>as(Stores.inMemoryKeyValueStore("counts")).withKeySerde(Serdes.String()).withValueSerde(Serdes.Long()))
            .toStream().mapValues(n -> Long.toString(n))
            .to(output, Produced.with(Serdes.String(), Serdes.String()));
        return b.build();
    }

    private static void tell(String... fields) {
        synchronized (System.out) {
            System.out.print(String.join(" ", fields) + "\n");
            System.out.flush();
        }
    }
}

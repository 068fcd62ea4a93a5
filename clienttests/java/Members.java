import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.LinkedBlockingQueue;
import org.apache.kafka.clients.consumer.ConsumerRebalanceListener;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.errors.WakeupException;
import org.apache.kafka.common.serialization.StringDeserializer;

/**
 * Consumers that a test steers by lines on standard input and that tell on standard output what happens to them; the fields
 * of a line are parted by tabs.
 *
 * <pre>
 * start NAME TOPIC KEY=VALUE...   a consumer with these settings subscribes and polls
 * stall NAME                      it polls no more, until:
 * go NAME
 * unsubscribe NAME, subscribe NAME
 * close NAME
 * </pre>
 *
 * It answers: assigned, revoked, lost (NAME, how many partitions), record (NAME, value), done (NAME, command), failed (NAME, why).
 */
public final class Members {
    private static final Map<String, Member> MEMBERS = new ConcurrentHashMap<>();

    public static void main(String[] args) throws Exception {
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line; (line = in.readLine()) != null; ) {
            String[] f = line.split("\t");
            if (f[0].equals("start")) {
                Member m = new Member(f);
                MEMBERS.put(f[1], m);
                new Thread(m, f[1]).start();
            } else {
                MEMBERS.get(f[1]).command(f[0]);
            }
        }
        System.exit(0);
    }

    private static void tell(String... fields) {
        synchronized (System.out) {
            System.out.print(String.join("\t", fields) + "\n");
            System.out.flush();
        }
    }

    private static final class Member implements Runnable, ConsumerRebalanceListener {
        private final String name;
        private final String topic;
        private final boolean cooperative;
        private final Map<String, Object> conf = new HashMap<>();
        private final LinkedBlockingQueue<String> commands = new LinkedBlockingQueue<>();
        private volatile KafkaConsumer<String, String> consumer;

        Member(String[] f) {
            name = f[1];
            topic = f[2];
            for (int i = 3; i < f.length; i++) {
                String[] kv = f[i].split("=", 2);
                conf.put(kv[0], kv[1]);
            }
            cooperative = String.valueOf(conf.get("partition.assignment.strategy")).contains("Cooperative");
        }

        void command(String what) {
            commands.add(what);
            KafkaConsumer<String, String> c = consumer;
            if (c != null) {
                c.wakeup();
            }
        }

        @Override
        public void run() {
            try (KafkaConsumer<String, String> c = new KafkaConsumer<>(conf, new StringDeserializer(), new StringDeserializer())) {
                consumer = c;
                c.subscribe(List.of(topic), this);
                boolean stalled = false;
                boolean subscribed = true;
                while (true) {
                    String what = stalled || !subscribed ? commands.take() : commands.poll();
                    if (what != null) {
                        switch (what) {
                            case "stall" -> stalled = true;
                            case "go" -> stalled = false;
                            case "committed" -> patiently(() -> c.committed(Set.of(new TopicPartition(topic, 0))));
                            case "unsubscribe" -> {
                                patiently(c::unsubscribe);
                                subscribed = false;
                            }
                            case "subscribe" -> {
                                c.subscribe(List.of(topic), this);
                                subscribed = true;
                            }
                            case "close" -> {
                                patiently(c::close);
                                tell("done", name, "close");
                                return;
                            }
                            default -> throw new IllegalArgumentException(what);
                        }
                        tell("done", name, what);
                        continue;
                    }
                    try {
                        for (ConsumerRecord<String, String> r : c.poll(Duration.ofMillis(500))) {
                            tell("record", name, r.value());
                        }
                    } catch (WakeupException e) {
                        // a command came
                    }
                }
            } catch (Exception e) {
                tell("failed", name, e.toString().replace('\n', ' '));
            }
        }

        /** A wakeup that was meant for poll may end another call. */
        private static void patiently(Runnable call) {
            try {
                call.run();
            } catch (WakeupException e) {
                call.run();
            }
        }

        @Override
        public void onPartitionsAssigned(Collection<TopicPartition> partitions) {
            tell("assigned", name, Integer.toString(partitions.size()));
        }

        @Override
        public void onPartitionsRevoked(Collection<TopicPartition> partitions) {
            if (cooperative) { // it returns records between the commit at the start of a rebalance and this call
                consumer.commitSync();
            }
            tell("revoked", name, Integer.toString(partitions.size()));
        }

        @Override
        public void onPartitionsLost(Collection<TopicPartition> partitions) {
            tell("lost", name, Integer.toString(partitions.size()));
        }
    }
}

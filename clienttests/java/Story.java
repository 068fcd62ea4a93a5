import java.io.BufferedReader;
import java.io.BufferedWriter;
import java.io.InputStreamReader;
import java.io.OutputStreamWriter;
import java.io.PrintWriter;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Base64;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicInteger;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.consumer.ConsumerGroupMetadata;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.clients.producer.RecordMetadata;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.header.Header;
import org.apache.kafka.common.header.internals.RecordHeader;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;
import org.apache.kafka.common.serialization.ByteArraySerializer;

/**
 * The client story's steps with the Java client; the line format is in record_test.go.
 *
 * <pre>
 * Story ADDR create TOPIC PARTITIONS
 * Story ADDR produce TOPIC CODEC            records on standard input
 * Story ADDR consume TOPIC GROUP MEMBERS N  deliveries on standard output
 * Story ADDR transact TOPIC ID SOURCE GROUP ROUNDS  records on standard input, for rounds such as 100:10:commit,100:20:abort
 * </pre>
 */
public final class Story {
    public static void main(String[] args) throws Exception {
        switch (args[1]) {
            case "create" -> create(args[0], args[2], Integer.parseInt(args[3]));
            case "produce" -> produce(args[0], args[2], args[3]);
            case "transact" -> transact(args[0], args[2], args[3], args[4], args[5], args[6]);
            case "consume" -> consume(args[0], args[2], args[3], Integer.parseInt(args[4]), Integer.parseInt(args[5]));
            default -> throw new IllegalArgumentException(args[1]);
        }
    }

    private static void create(String addr, String topic, int partitions) throws Exception {
        try (Admin admin = Admin.create(Map.of("bootstrap.servers", addr))) {
            admin.createTopics(List.of(new NewTopic(topic, partitions, (short) 1))).all().get();
        }
    }

    private static void produce(String addr, String topic, String codec) throws Exception {
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.US_ASCII));
        Map<String, Object> conf = Map.of("bootstrap.servers", addr, "compression.type", codec);
        try (KafkaProducer<byte[], byte[]> producer = new KafkaProducer<>(conf, new ByteArraySerializer(), new ByteArraySerializer())) {
            List<Future<RecordMetadata>> sent = new ArrayList<>();
            for (String line; (line = in.readLine()) != null; ) {
                sent.add(producer.send(record(topic, line)));
            }
            producer.flush();
            for (Future<RecordMetadata> s : sent) {
                s.get();
            }
        }
    }

    private static ProducerRecord<byte[], byte[]> record(String topic, String line) {
        String[] f = line.split("\t", -1);
        List<Header> headers = new ArrayList<>();
        for (int h = 3; h < f.length; h += 2) {
            headers.add(new RecordHeader(new String(decode(f[h]), StandardCharsets.UTF_8), decode(f[h + 1])));
        }
        byte[] value = f[2].equals("-") ? null : decode(f[2]);
        return new ProducerRecord<>(topic, null, Long.parseLong(f[0]), decode(f[1]), value, headers);
    }

    private static void transact(String addr, String topic, String id, String source, String group, String rounds) throws Exception {
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.US_ASCII));
        Map<String, Object> conf = Map.of("bootstrap.servers", addr, "transactional.id", id);
        try (KafkaProducer<byte[], byte[]> producer = new KafkaProducer<>(conf, new ByteArraySerializer(), new ByteArraySerializer())) {
            producer.initTransactions();
            for (String round : rounds.split(",")) {
                String[] f = round.split(":");
                producer.beginTransaction();
                for (int n = Integer.parseInt(f[0]); n > 0; n--) {
                    producer.send(record(topic, in.readLine()));
                }
                producer.flush(); // an abort drops what is not sent yet
                producer.sendOffsetsToTransaction(
                    Map.of(new TopicPartition(source, 0), new OffsetAndMetadata(Long.parseLong(f[1]))), new ConsumerGroupMetadata(group));
                if (f[2].equals("commit")) {
                    producer.commitTransaction();
                } else {
                    producer.abortTransaction();
                }
            }
        }
    }

    private static void consume(String addr, String topic, String group, int members, int n) throws Exception {
        PrintWriter out = new PrintWriter(new BufferedWriter(new OutputStreamWriter(System.out, StandardCharsets.US_ASCII)));
        AtomicInteger left = new AtomicInteger(n);
        ExecutorService threads = Executors.newFixedThreadPool(members);
        List<Future<?>> running = new ArrayList<>();
        for (int i = 0; i < members; i++) {
            int member = i;
            running.add(threads.submit(() -> {
                try {
                    member(addr, topic, group, member, left, out);
                } catch (RuntimeException e) {
                    left.set(0);
                    throw e;
                }
            }));
        }
        threads.shutdown();
        for (Future<?> r : running) {
            r.get();
        }
        out.flush();
    }

    private static void member(String addr, String topic, String group, int member, AtomicInteger left, PrintWriter out) {
        Map<String, Object> conf = Map.of("bootstrap.servers", addr, "group.id", group, "auto.offset.reset", "earliest");
        try (KafkaConsumer<byte[], byte[]> consumer = new KafkaConsumer<>(conf, new ByteArrayDeserializer(), new ByteArrayDeserializer())) {
            consumer.subscribe(List.of(topic));
            while (left.get() > 0) {
                for (ConsumerRecord<byte[], byte[]> r : consumer.poll(Duration.ofMillis(100))) {
                    StringBuilder line = new StringBuilder();
                    line.append(member).append('\t').append(r.partition()).append('\t').append(r.offset()).append('\t').append(r.timestamp());
                    line.append('\t').append(encode(r.key())).append('\t').append(r.value() == null ? "-" : encode(r.value()));
                    for (Header h : r.headers()) {
                        line.append('\t').append(encode(h.key().getBytes(StandardCharsets.UTF_8))).append('\t').append(encode(h.value()));
                    }
                    synchronized (out) {
                        out.print(line.append('\n'));
                    }
                    left.decrementAndGet();
                }
            }
            consumer.commitSync();
        }
    }

    private static byte[] decode(String s) {
        return Base64.getDecoder().decode(s);
    }

    private static String encode(byte[] b) {
        return Base64.getEncoder().encodeToString(b);
    }
}

package fakekafka;

import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Properties;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import kafka.network.SocketServer;
import kafka.raft.KafkaRaftManager;
import kafka.server.BrokerServer;
import kafka.server.ControllerServer;
import kafka.server.KafkaConfig;
import kafka.server.SharedServer;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.ListTopicsOptions;
import org.apache.kafka.clients.admin.TopicDescription;
import org.apache.kafka.clients.admin.TopicListing;
import org.apache.kafka.common.Node;
import org.apache.kafka.common.TopicPartitionInfo;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.errors.UnknownTopicOrPartitionException;
import org.apache.kafka.controller.Controller;
import org.apache.kafka.coordinator.group.GroupCoordinator;
import org.apache.kafka.metadata.LeaderAndIsr;
import org.apache.kafka.metadata.KRaftMetadataCache;
import org.mockito.Mockito;
import org.mockito.stubbing.Answer;

/**
 * The few objects of a broker that Kafka's tests look into beside what they send and get: ports and settings, and whether a topic is there. All that they tell is asked
 * of the program. Whatever else is called fails the test.
 */
final class Internals {
    private Internals() {
    }

    static BrokerServer broker(Admin admin, Node node, Map<String, String> settings) {
        Map<String, Object> all = new HashMap<>(settings);
        all.putAll(Map.of(
            "process.roles", "broker", "node.id", node.idString(), "listeners", "PLAINTEXT://" + node.host() + ":" + node.port(),
            "controller.listener.names", "CONTROLLER", "controller.quorum.voters", "3000@localhost:1"));
        KafkaConfig config = KafkaConfig.fromProps(properties(all));
        SocketServer sockets = stub(SocketServer.class, Map.of("boundPort", call -> node.port()));
        KRaftMetadataCache metadata = metadata(admin);
        GroupCoordinator coordinator = stub(GroupCoordinator.class, Map.of("groupMetadataTopicConfigs", call -> properties(Map.of("cleanup.policy", "compact"))));
        SharedServer shared = Mockito.mock(SharedServer.class); // without a loader, so nothing waits for one to catch up
        return stub(BrokerServer.class, Map.of(
            "config", call -> config,
            "socketServer", call -> sockets,
            "boundPort", call -> node.port(),
            "metadataCache", call -> metadata,
            "groupCoordinator", call -> coordinator,
            "sharedServer", call -> shared,
            "isShutdown", call -> false));
    }

    static ControllerServer controller(Admin admin) {
        Controller controller = stub(Controller.class, Map.of("findAllTopicIds", call -> {
            Map<String, Uuid> ids = new HashMap<>();
            for (TopicListing topic : admin.listTopics(new ListTopicsOptions().listInternal(true)).listings().get()) ids.put(topic.name(), topic.topicId());
            return CompletableFuture.completedFuture(ids);
        }));
        KafkaRaftManager<?> raft = Mockito.mock(KafkaRaftManager.class, Mockito.RETURNS_DEEP_STUBS); // its log ends at 0
        return stub(ControllerServer.class, Map.of("controller", call -> controller, "raftManager", call -> raft));
    }

    private static KRaftMetadataCache metadata(Admin admin) {
        return stub(KRaftMetadataCache.class, Map.of(
            "numPartitions", call -> describe(admin, call.getArgument(0)).map(topic -> topic.partitions().size()),
            "getLeaderAndIsr", call -> describe(admin, call.getArgument(0)).flatMap(topic -> leaderAndIsr(topic, call.getArgument(1)))));
    }

    private static Optional<LeaderAndIsr> leaderAndIsr(TopicDescription topic, int partition) {
        if (partition >= topic.partitions().size()) return Optional.empty();
        TopicPartitionInfo info = topic.partitions().get(partition);
        List<Integer> isr = info.isr().stream().map(Node::id).toList();
        return Optional.of(new LeaderAndIsr(info.leader() == null ? LeaderAndIsr.NO_LEADER : info.leader().id(), isr));
    }

    private static Optional<TopicDescription> describe(Admin admin, String topic) throws InterruptedException, ExecutionException {
        try {
            return Optional.of(admin.describeTopics(List.of(topic)).topicNameValues().get(topic).get());
        } catch (ExecutionException e) {
            if (e.getCause() instanceof UnknownTopicOrPartitionException) return Optional.empty();
            throw e;
        }
    }

    private static Properties properties(Map<String, ?> from) {
        Properties properties = new Properties();
        properties.putAll(from);
        return properties;
    }

    /** An object of that type which has only the methods of these names. */
    private static <T> T stub(Class<T> type, Map<String, Answer<?>> methods) {
        return Mockito.mock(type, Mockito.withSettings().stubOnly().defaultAnswer(call -> {
            String method = call.getMethod().getName();
            Answer<?> answer = methods.get(method);
            if (answer != null) return answer.answer(call);
            if (method.equals("toString")) return "the program's " + type.getSimpleName();
            throw new UnsupportedOperationException("the program has no " + type.getSimpleName() + "." + method + " that a test could look into");
        }));
    }
}

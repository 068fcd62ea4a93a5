package fakekafka;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;
import kafka.server.ControllerServer;
import kafka.server.KafkaBroker;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.FeatureUpdate;
import org.apache.kafka.clients.admin.UpdateFeaturesOptions;
import org.apache.kafka.common.Node;
import org.apache.kafka.common.network.ListenerName;
import org.apache.kafka.common.security.auth.SecurityProtocol;
import org.apache.kafka.common.test.ClusterInstance;
import org.apache.kafka.common.test.api.ClusterConfig;
import org.apache.kafka.common.test.api.Type;
import org.apache.kafka.server.common.MetadataVersion;
import org.apache.kafka.server.fault.FaultHandlerException;

/**
 * One run of the program that the system property fakekafka.program names, with the brokers, settings and features that a test's annotations ask for. Node ids count
 * from 1, as they always do in it, and brokers can't be stopped one by one.
 */
public final class Program implements ClusterInstance {
    private static final int CONTROLLER = 3000;

    private final ClusterConfig config;
    private final boolean combined;
    private final Map<String, String> settings = new TreeMap<>(Map.of("group.initial.rebalance.delay.ms", "0")); // what Kafka's own clusters for tests have
    private final Map<Integer, KafkaBroker> brokers = new TreeMap<>();
    private Process process;
    private Admin admin;
    private List<Node> nodes = List.of();
    private boolean stopped;

    public Program(ClusterConfig config, boolean combined) {
        this.config = config;
        this.combined = combined;
        settings.putAll(config.serverProperties());
    }

    @Override
    public void start() {
        if (started()) return;
        if (config.brokerSecurityProtocol() != SecurityProtocol.PLAINTEXT) {
            throw new UnsupportedOperationException("the program speaks PLAINTEXT only, wanted " + config.brokerSecurityProtocol());
        }
        if (!config.perServerOverrideProperties().isEmpty()) {
            throw new UnsupportedOperationException("the program's brokers have the same settings, wanted " + config.perServerOverrideProperties());
        }
        try {
            String bootstrap = launch();
            admin = Admin.create(Map.of("bootstrap.servers", bootstrap));
            nodes = List.copyOf(admin.describeCluster().nodes().get());
            setFeatures();
        } catch (IOException | InterruptedException | ExecutionException e) {
            throw new IllegalStateException("starting the program", e);
        }
        for (Node node : nodes) brokers.put(node.id(), Internals.broker(admin, node, settings));
    }

    /** Starts the process and returns the address that it says it is ready on. */
    private String launch() throws IOException {
        String program = System.getProperty("fakekafka.program");
        List<String> command = new ArrayList<>(List.of(program, "-listen", "127.0.0.1:0", "-brokers", "" + config.numBrokers(), "-kafka-timings"));
        settings.forEach((key, value) -> command.addAll(List.of("-config", key + "=" + value)));
        process = new ProcessBuilder(command).redirectError(ProcessBuilder.Redirect.INHERIT).start();
        Runtime.getRuntime().addShutdownHook(new Thread(process::destroy));
        String line = new BufferedReader(new InputStreamReader(process.getInputStream(), StandardCharsets.UTF_8)).readLine();
        String ready = "fakekafka ready on ";
        if (line == null || !line.startsWith(ready)) throw new IOException("wanted '" + ready + "', got '" + line + "' of " + command);
        return line.substring(ready.length());
    }

    private void setFeatures() throws InterruptedException, ExecutionException {
        Map<String, FeatureUpdate> updates = new HashMap<>();
        config.features().forEach((feature, level) -> {
            short usual = feature.defaultLevel(MetadataVersion.LATEST_PRODUCTION);
            FeatureUpdate.UpgradeType type = level < usual ? FeatureUpdate.UpgradeType.SAFE_DOWNGRADE : FeatureUpdate.UpgradeType.UPGRADE;
            if (level != usual) updates.put(feature.featureName(), new FeatureUpdate(level, type));
        });
        if (!updates.isEmpty()) admin.updateFeatures(updates, new UpdateFeaturesOptions()).all().get();
    }

    @Override
    public boolean started() {
        return process != null;
    }

    @Override
    public void stop() {
        stopped = true;
        if (admin != null) admin.close();
        if (process == null) return;
        process.destroy();
        try {
            if (!process.waitFor(10, TimeUnit.SECONDS)) {
                process.destroyForcibly();
                throw new IllegalStateException("the program didn't end within 10 s of a SIGTERM");
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    @Override
    public boolean stopped() {
        return stopped;
    }

    @Override
    public String bootstrapServers() {
        return nodes.stream().map(node -> node.host() + ":" + node.port()).collect(Collectors.joining(","));
    }

    @Override
    public List<Integer> brokerBoundPorts() {
        return nodes.stream().map(Node::port).toList();
    }

    @Override
    public String clusterId() {
        try {
            return admin.describeCluster().clusterId().get();
        } catch (InterruptedException | ExecutionException e) {
            throw new IllegalStateException(e);
        }
    }

    @Override
    public ClusterConfig config() {
        return config;
    }

    @Override
    public Type type() {
        return combined ? Type.CO_KRAFT : Type.KRAFT;
    }

    @Override
    public ListenerName clientListener() {
        return config.brokerListenerName();
    }

    @Override
    public Map<Integer, KafkaBroker> brokers() {
        return brokers;
    }

    @Override
    public Map<Integer, ControllerServer> controllers() {
        return Map.of(CONTROLLER, Internals.controller(admin));
    }

    @Override
    public Set<Integer> controllerIds() {
        return Set.of(CONTROLLER);
    }

    // What a broker of the program says of topics, the others say from the same moment on.

    @Override
    public void waitForReadyBrokers() {
    }

    @Override
    public void ensureConsistentMetadata() {
    }

    @Override
    public void ensureConsistentMetadata(Collection<KafkaBroker> brokers, Collection<ControllerServer> controllers) {
    }

    @Override
    public Optional<FaultHandlerException> firstFatalException() {
        return Optional.empty();
    }

    @Override
    public Optional<FaultHandlerException> firstNonFatalException() {
        return Optional.empty();
    }

    @Override
    public ListenerName controllerListenerName() {
        throw new UnsupportedOperationException("the program has no controller that listens");
    }

    @Override
    public String bootstrapControllers() {
        throw new UnsupportedOperationException("the program has no controller that listens");
    }

    @Override
    public void shutdownBroker(int id) {
        throw new UnsupportedOperationException("the program's brokers can't be stopped one by one");
    }

    @Override
    public void startBroker(int id) {
        throw new UnsupportedOperationException("the program's brokers can't be stopped one by one");
    }
}

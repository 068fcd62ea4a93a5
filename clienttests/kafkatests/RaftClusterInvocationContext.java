package org.apache.kafka.common.test.junit;

import fakekafka.Program;
import java.util.List;
import org.apache.kafka.common.test.api.ClusterConfig;
import org.junit.jupiter.api.extension.AfterEachCallback;
import org.junit.jupiter.api.extension.AfterTestExecutionCallback;
import org.junit.jupiter.api.extension.BeforeEachCallback;
import org.junit.jupiter.api.extension.Extension;
import org.junit.jupiter.api.extension.TestTemplateInvocationContext;

/**
 * Gives each of Kafka's tests the program as its cluster. Kafka's ClusterTestExtensions makes one of these, by this name, for each cluster that a test's annotations
 * describe; so this class stands before the one of kafka-test-common-runtime on the class path, which would start brokers of Kafka's in this process.
 */
public final class RaftClusterInvocationContext implements TestTemplateInvocationContext {
    private final String name;
    private final ClusterConfig config;
    private final boolean combined;

    public RaftClusterInvocationContext(String name, ClusterConfig config, boolean combined) {
        this.name = name;
        this.config = config;
        this.combined = combined;
    }

    @Override
    public String getDisplayName(int invocation) {
        return name + " [" + invocation + "] " + config.serverProperties() + config.features();
    }

    @Override
    public List<Extension> getAdditionalExtensions() {
        Program program = new Program(config, combined);
        BeforeEachCallback start = context -> {
            if (config.isAutoStart()) program.start();
        };
        AfterTestExecutionCallback stop = context -> program.stop();
        AfterEachCallback stopUnused = context -> program.stop(); // where the test itself wasn't reached
        return List.of(start, stop, stopUnused, new ClusterInstanceParameterResolver(program));
    }
}

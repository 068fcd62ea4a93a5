package broker

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/fakekafka/fakekafka/internal/wire"
)

// TestPartitionChanges has what a cluster of three brokers of Apache Kafka 4.3.1 described (DescribeTopicPartitions) after each step.
func TestPartitionChanges(t *testing.T) {
	t.Parallel()
	for _, s := range []struct {
		name, replicas string
		minISR         int
		unclean        bool
		steps          string // "what: leader epoch replicas isr elr last known"
	}{
		{name: "a follower comes back: the ISR is in the order of ids from then on", replicas: "3 2 1", minISR: 1, steps: `
			new:          L3 E0 R[3 2 1] I[3 2 1]
			stop 2:       L3 E0 R[3 2 1] I[3 1]
			start 2:      L3 E0 R[3 2 1] I[1 2 3]
			stop 3:       L2 E1 R[3 2 1] I[1 2]
			start 3:      L2 E1 R[3 2 1] I[1 2 3]
			elect:        L3 E2 R[3 2 1] I[1 2 3]`},
		{name: "the only replica", replicas: "1", minISR: 1, steps: `
			stop 1:       L-1 E1 R[1] I[] ELR[1] LK[1]
			start 1:      L1 E2 R[1] I[1]
			kill 1:       L-1 E3 R[1] I[] ELR[1] LK[1]
			start 1:      L1 E4 R[1] I[1]`},
		{name: "fewer in sync than min.insync.replicas", replicas: "1 2", minISR: 2, steps: `
			stop 1:       L2 E1 R[1 2] I[2] ELR[1]
			stop 2:       L-1 E2 R[1 2] I[] ELR[1 2] LK[2]
			start 1:      L1 E3 R[1 2] I[1] ELR[2]
			elect:        84
			start 2:      L1 E3 R[1 2] I[1 2]`},
		{name: "another min.insync.replicas: who was eligible is not any more", replicas: "1 2", minISR: 2, steps: `
			stop 1:       L2 E1 R[1 2] I[2] ELR[1]
			min 1:        L2 E1 R[1 2] I[2]
			min 2:        L2 E1 R[1 2] I[2]
			start 1:      L2 E1 R[1 2] I[1 2]`},
		{name: "another min.insync.replicas: who led last is not known any more either", replicas: "2", minISR: 2, steps: `
			stop 2:       L-1 E1 R[2] I[] ELR[2] LK[2]
			min 1:        L-1 E1 R[2] I[]
			start 2:      L-1 E1 R[2] I[]
			unclean:      L2 E2 R[2] I[2]`},
		{name: "a killed broker is not eligible when it comes back", replicas: "1 2", minISR: 2, steps: `
			kill 1:       L2 E1 R[1 2] I[2] ELR[1]
			stop 2:       L-1 E2 R[1 2] I[] ELR[1 2] LK[2]
			start 1:      L-1 E2 R[1 2] I[] ELR[2] LK[2]
			elect:        80
			unclean:      L1 E3 R[1 2] I[1]
			start 2:      L1 E3 R[1 2] I[1 2]`},
		{name: "unclean.leader.election.enable", replicas: "2 1", minISR: 2, unclean: true, steps: `
			kill 1:       L2 E0 R[2 1] I[2] ELR[1]
			stop 2:       L-1 E1 R[2 1] I[] ELR[1 2] LK[2]
			start 1:      L1 E2 R[2 1] I[1]
			unclean:      84
			start 2:      L1 E2 R[2 1] I[1 2]`},
		{name: "reassignments are at once complete where all run", replicas: "1 2", minISR: 1, steps: `
			assign 2 3:   L2 E1 R[2 3] I[2 3]
			assign 3 2:   L2 E1 R[3 2] I[2 3]
			assign 3 1 2: L2 E1 R[3 1 2] I[1 2 3]
			assign 1:     L1 E2 R[1] I[1]
			assign 1:     L1 E2 R[1] I[1]
			cancel:       85`},
		{name: "a reassignment to a stopped broker", replicas: "2 1", minISR: 1, steps: `
			stop 3:       L2 E0 R[2 1] I[2 1]
			assign 2 3:   L2 E0 R[2 3 1] I[2 1] adding[3] removing[1]
			cancel:       L2 E1 R[2 1] I[2 1]`},
		{name: "what was added once is no news later", replicas: "2", minISR: 1, steps: `
			stop 3:       L2 E0 R[2] I[2]
			assign 2 3:   L2 E0 R[2 3] I[2] adding[3]
			assign 1 3:   L1 E1 R[1 3] I[1]
			assign 1:     L1 E2 R[1] I[1]`},
		{name: "one that is added and removed", replicas: "1 2", minISR: 2, steps: `
			stop 1:       L2 E1 R[1 2] I[2] ELR[1]
			start 1:      L2 E1 R[1 2] I[1 2]
			stop 3:       L2 E1 R[1 2] I[1 2]
			assign 1 3:   L2 E1 R[1 3 2] I[1 2] adding[3] removing[2]
			assign 1 2:   L2 E1 R[1 2 3] I[1 2] adding[3] removing[3]
			assign 1 3:   L2 E1 R[1 3 2] I[1 2] adding[3] removing[2]
			assign 1:     L2 E1 R[1 2 3] I[1 2] adding[3] removing[2 3]
			stop 1:       L2 E1 R[1 2 3] I[2] ELR[1] adding[3] removing[2 3]
			start 1:      L2 E1 R[1 2 3] I[1 2] adding[3] removing[2 3]
			start 3:      L2 E1 R[1 2 3] I[1 2 3] adding[3] removing[2 3]`},
		{name: "a reassignment that would leave too few in sync", replicas: "3 2 1", minISR: 2, steps: `
			stop 3:       L2 E1 R[3 2 1] I[2 1]
			stop 1:       L2 E1 R[3 2 1] I[2] ELR[1]
			assign 2 3:   L2 E1 R[2 3 1] I[2] ELR[1] removing[1]
			start 1:      L2 E1 R[2 3 1] I[1 2] removing[1]
			start 3:      L2 E2 R[2 3] I[2 3]`},
		{name: "fewer than before wait for all that stay", replicas: "3 2 1", minISR: 1, steps: `
			stop 3:       L2 E1 R[3 2 1] I[2 1]
			assign 2 3:   L2 E1 R[2 3 1] I[2 1] removing[1]
			stop 2:       L1 E2 R[2 3 1] I[1] removing[1]
			start 3:      L1 E2 R[2 3 1] I[1 3] removing[1]
			start 2:      L2 E3 R[2 3] I[2 3]`},
		{name: "as many as before don't, even if too few are in sync", replicas: "1 2", minISR: 2, steps: `
			stop 2:       L1 E0 R[1 2] I[1] ELR[2]
			assign 3 2:   L3 E1 R[3 2] I[3] ELR[1 2]
			start 2:      L3 E1 R[3 2] I[2 3]`},
		{name: "who is no replica any more can be eligible", replicas: "1 2", minISR: 2, steps: `
			stop 2:       L1 E0 R[1 2] I[1] ELR[2]
			assign 3:     L3 E1 R[3] I[3] ELR[1 2]
			start 2:      L3 E1 R[3] I[3] ELR[1 2]
			assign 3 1:   L3 E1 R[3 1] I[1 3]`},
		{name: "a reassignment is no occasion for an unclean election", replicas: "2", minISR: 2, unclean: true, steps: `
			stop 2:       L-1 E1 R[2] I[] ELR[2] LK[2]
			assign 2 1 3: L-1 E1 R[2 1 3] I[] ELR[2] LK[2] adding[1 3]`},
		{name: "one who is no replica is not eligible either when it comes back after it was killed", replicas: "1 2", minISR: 2, steps: `
			assign 1:     L1 E1 R[1] I[1] ELR[2]
			kill 2:       L1 E1 R[1] I[1] ELR[2]
			start 2:      L1 E1 R[1] I[1]`},
		{name: "replicas that are going count too while they are there", replicas: "1 2", minISR: 3, steps: `
			assign 3 2:   L3 E1 R[3 2] I[2 3] ELR[1]
			kill 2:       L3 E1 R[3 2] I[3] ELR[1 2]
			start 2:      L3 E1 R[3 2] I[2 3]`},
		{name: "only what was added is in sync", replicas: "1", minISR: 1, steps: `
			stop 3:       L1 E0 R[1] I[1]
			assign 2 3:   L1 E0 R[2 3 1] I[1 2] adding[2 3] removing[1]
			stop 1:       L2 E1 R[2 3 1] I[2] adding[2 3] removing[1]
			cancel:       39
			start 3:      L2 E2 R[2 3] I[2 3]`},
	} {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			c := startCluster(t, Options{Brokers: 3})
			create := kmsg.NewPtrCreateTopicsRequest()
			create.Version = 7
			topic := kmsg.NewCreateTopicsRequestTopic()
			topic.Topic, topic.NumPartitions, topic.ReplicationFactor = "t", -1, -1
			topic.ReplicaAssignment = []kmsg.CreateTopicsRequestTopicReplicaAssignment{{Replicas: ids(t, s.replicas)}}
			topic.Configs = []kmsg.CreateTopicsRequestTopicConfig{
				{Name: "min.insync.replicas", Value: kmsg.StringPtr(strconv.Itoa(s.minISR))},
				{Name: "unclean.leader.election.enable", Value: kmsg.StringPtr(strconv.FormatBool(s.unclean))},
			}
			create.Topics = append(create.Topics, topic)
			require.Zero(t, dialRaw(t, c).ask(create).(*kmsg.CreateTopicsResponse).Topics[0].ErrorCode)
			for _, line := range strings.Split(strings.TrimSpace(s.steps), "\n") {
				step, want, _ := strings.Cut(strings.TrimSpace(line), ":")
				code := changePartition(t, c, step)
				got := strconv.Itoa(int(code))
				if code == wire.None {
					got = describedPartition(t, c, 0)
				}
				require.Equal(t, strings.TrimSpace(want), got, "after %s", step)
			}
		})
	}
}

func ids(t *testing.T, list string) []int32 {
	var out []int32
	for _, s := range strings.Fields(list) {
		id, err := strconv.Atoi(s)
		require.NoError(t, err)
		out = append(out, int32(id))
	}
	return out
}

// changePartition does one step of TestPartitionChanges with partition 0 of topic t.
func changePartition(t *testing.T, c *Cluster, step string) wire.Code {
	what, list, _ := strings.Cut(step, " ")
	arguments := ids(t, list)
	ask := func(req kmsg.Request) kmsg.Response { return dialRunning(t, c).ask(req) }
	switch what {
	case "new":
	case "stop", "kill":
		require.NoError(t, c.StopBroker(arguments[0], what == "stop"))
	case "start":
		require.NoError(t, c.StartBroker(arguments[0]))
	case "assign", "cancel":
		return wire.Code(ask(reassign("t", 0, arguments...)).(*kmsg.AlterPartitionAssignmentsResponse).Topics[0].Partitions[0].ErrorCode)
	case "elect", "unclean":
		req := kmsg.NewPtrElectLeadersRequest()
		req.Version = 2
		if what == "unclean" {
			req.ElectionType = uncleanElection
		}
		topic := kmsg.NewElectLeadersRequestTopic()
		topic.Topic, topic.Partitions = "t", []int32{0}
		req.Topics = append(req.Topics, topic)
		return wire.Code(ask(req).(*kmsg.ElectLeadersResponse).Topics[0].Partitions[0].ErrorCode)
	case "min":
		req := kmsg.NewPtrIncrementalAlterConfigsRequest()
		req.Version = 1
		res := kmsg.NewIncrementalAlterConfigsRequestResource()
		res.ResourceType, res.ResourceName = kmsg.ConfigResourceTypeTopic, "t"
		res.Configs = []kmsg.IncrementalAlterConfigsRequestResourceConfig{{Name: "min.insync.replicas", Value: &list}}
		req.Resources = append(req.Resources, res)
		return wire.Code(ask(req).(*kmsg.IncrementalAlterConfigsResponse).Resources[0].ErrorCode)
	default:
		t.Fatalf("no such step: %s", step)
	}
	return wire.None
}

// dialRunning connects to the first broker that runs.
func dialRunning(t *testing.T, c *Cluster) *rawClient {
	return dialNode(t, c, c.meta.Load().alive()[0])
}

// describedPartition is what DescribeTopicPartitions says of a partition of topic t, and ListPartitionReassignments of the first one.
func describedPartition(t *testing.T, c *Cluster, index int) string {
	cl := dialRunning(t, c)
	req := kmsg.NewPtrDescribeTopicPartitionsRequest()
	req.ResponsePartitionLimit = 10
	req.Topics = []kmsg.DescribeTopicPartitionsRequestTopic{{Topic: "t"}}
	p := cl.ask(req).(*kmsg.DescribeTopicPartitionsResponse).Topics[0].Partitions[index]
	require.Zero(t, p.ErrorCode, "not even without a leader")
	out := fmt.Sprintf("L%d E%d R%v I%v", p.LeaderID, p.LeaderEpoch, p.Replicas, p.ISR)
	add := func(name string, list []int32) {
		if len(list) > 0 {
			out += fmt.Sprintf(" %s%v", name, list)
		}
	}
	add("ELR", p.EligibleLeaderReplicas)
	add("LK", p.LastKnownELR)
	for _, topic := range cl.ask(kmsg.NewPtrListPartitionReassignmentsRequest()).(*kmsg.ListPartitionReassignmentsResponse).Topics {
		add("adding", topic.Partitions[0].AddingReplicas)
		add("removing", topic.Partitions[0].RemovingReplicas)
	}
	return out
}

// TestMinISROfTheFirstPartition: how many min.insync.replicas asks for is the same for all partitions of a topic, and no more than the first one
// had replicas before the change. As three brokers of Apache Kafka 4.3.1 described it.
func TestMinISROfTheFirstPartition(t *testing.T) {
	t.Parallel()
	start := func(minISR string) *Cluster {
		return startCluster(t, Options{Brokers: 3, Topics: []TopicSpec{{Name: "t", Partitions: 2, ReplicationFactor: 3, Configs: map[string]string{"min.insync.replicas": minISR}}}})
	}
	assign := func(c *Cluster, index int32, replicas ...int32) {
		resp := dialRunning(t, c).ask(reassign("t", index, replicas...)).(*kmsg.AlterPartitionAssignmentsResponse)
		require.Zero(t, resp.Topics[0].Partitions[0].ErrorCode)
	}

	c := start("2")
	assign(c, 1, 1, 2, 3)
	assign(c, 0, 1)
	require.Equal(t, "L1 E1 R[1] I[1] ELR[2 3]", describedPartition(t, c, 0), "before the change there were three replicas")
	require.NoError(t, c.StopBroker(3, true))
	require.NoError(t, c.StopBroker(2, true))
	require.Contains(t, describedPartition(t, c, 1), "R[1 2 3] I[1]")
	require.NotContains(t, describedPartition(t, c, 1), "ELR", "the first partition has one replica, so one in sync is enough")

	c = start("3")
	assign(c, 1, 2, 1)
	require.Equal(t, "L2 E1 R[2 1] I[2 1] ELR[3]", describedPartition(t, c, 1), "two are in sync, and the first partition has three replicas")
}

// TestHighWatermarkWaitsForTheISR: what is acknowledged by too few is not read, as Apache Kafka 4.3.1 has it.
func TestHighWatermarkWaitsForTheISR(t *testing.T) {
	t.Parallel()
	c := startCluster(t, Options{Brokers: 3, Topics: []TopicSpec{{Name: "t", Partitions: 1, ReplicationFactor: 3, Configs: map[string]string{"min.insync.replicas": "3"}}}})
	produce := func(acks int16) wire.Code {
		req := produceRequest("t", 0, oneBatch(t, 1, 10))
		req.Acks = acks
		return wire.Code(dialNode(t, c, c.meta.Load().partition("t", 0).state.Load().leader).ask(req).(*kmsg.ProduceResponse).Topics[0].Partitions[0].ErrorCode)
	}
	list := func(version int16) string {
		req := kmsg.NewPtrListOffsetsRequest()
		req.Version, req.ReplicaID = version, -1
		req.Topics = []kmsg.ListOffsetsRequestTopic{{Topic: "t", Partitions: []kmsg.ListOffsetsRequestTopicPartition{{Timestamp: -1, CurrentLeaderEpoch: -1}}}}
		p := dialNode(t, c, c.meta.Load().partition("t", 0).state.Load().leader).ask(req).(*kmsg.ListOffsetsResponse).Topics[0].Partitions[0]
		return fmt.Sprintf("code %d offset %d", p.ErrorCode, p.Offset)
	}
	require.Equal(t, wire.None, produce(-1))
	require.NoError(t, c.StopBroker(1, true))
	require.Equal(t, wire.NotEnoughReplicas, produce(-1))
	require.Equal(t, wire.None, produce(1))
	require.Equal(t, "code 0 offset 1", list(7))

	leader := c.meta.Load().partition("t", 0).state.Load().leader
	cl := dialNode(t, c, leader)
	read := fetchRequest("t", 0, 0)
	got := cl.ask(read).(*kmsg.FetchResponse).Topics[0].Partitions[0]
	require.Equal(t, []int64{1, 1}, []int64{got.HighWatermark, got.LastStableOffset})
	waits := fetchRequest("t", 20e9, 0)
	waits.Topics[0].Partitions[0].FetchOffset = 1
	cl.send(waits)

	require.NoError(t, c.StartBroker(1))
	got = cl.receive(waits).(*kmsg.FetchResponse).Topics[0].Partitions[0]
	require.EqualValues(t, 2, got.HighWatermark)
	require.NotEmpty(t, got.RecordBatches, "whoever waits is told")

	// A new leader that took over more than it may let see.
	require.NoError(t, c.StopBroker(1, true))
	require.Equal(t, wire.None, produce(1))
	require.NoError(t, c.StopBroker(leader, true))
	require.Equal(t, fmt.Sprintf("code %d offset -1", wire.OffsetNotAvailable), list(7))
	require.Equal(t, fmt.Sprintf("code %d offset -1", wire.OffsetNotAvailable), list(5))
	require.Equal(t, fmt.Sprintf("code %d offset -1", wire.LeaderNotAvailable), list(4), "old clients don't know the other code")
}

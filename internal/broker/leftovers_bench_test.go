package broker

import (
	"fmt"
	"net"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/fakekafka/fakekafka/partitionlog"
)

// BenchmarkLeftovers measures how many bytes are left of each of those who came and went, when what Kafka keeps for days has expired:
//
//	go test ./internal/broker -run - -bench Leftovers -benchtime 1x
//
// Lists of a bounded length, such as the log of requests, are full before, and maps have had room for as many.
func BenchmarkLeftovers(b *testing.B) {
	const passers = 3000
	for _, name := range sortedKeys(lives) {
		b.Run(name, func(b *testing.B) {
			c := startCluster(b, Options{
				MaxMemory: 1 << 20, Topics: []TopicSpec{{Name: "steady", Partitions: 1}},
				Config: map[string]string{
					"auto.create.topics.enable": "false", "group.initial.rebalance.delay.ms": "0",
					"offsets.topic.num.partitions": "2", "transaction.state.log.num.partitions": "2",
				},
			})
			fillBounded(b, c)
			born := 0
			come := func() {
				for range passers {
					lives[name](newcomer(b, c, &born))
				}
			}
			come()
			before := whatStays(b, c)
			for b.Loop() {
				come()
			}
			b.StopTimer()
			b.ReportMetric(float64(whatStays(b, c)-before)/float64(b.N*passers), "B-left/passer")
		})
	}
}

// fillBounded fills what remembers the last few thousand clients, whoever they were.
func fillBounded(b *testing.B, c *Cluster) {
	l := newcomer(b, c, new(int))
	for _, kind := range []int8{0, 1} {
		txnClient{rawClient: l.rawClient}.find(kind, "first")
	}
	for i := range 40_000 {
		l.name = kmsg.NewRequestFormatter(kmsg.FormatterClientID(fmt.Sprintf("earlier-%06d", i)))
		fetch := fetchRequest("steady", 0, 0)
		fetch.SessionEpoch = 0
		l.ask(fetch)
	}
	l.nc.Close()
}

// whatStays is the heap, without the history, when everything has expired that does.
func whatStays(b *testing.B, c *Cluster) int64 {
	for range 2 { // the second time goes what was marked to go by the first
		require.NoError(b, c.FastForward(8*24*time.Hour, time.Second, nil))
		for _, topic := range []string{offsetsTopic, transactionsTopic} {
			require.NoError(b, c.CompactTopic(topic))
		}
	}
	c.Look(func() { c.history.chunks, c.history.n = nil, 0 })
	for range 3 {
		runtime.GC()
	}
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// passer is somebody who comes and goes. What belongs to nobody else is called as they are.
type passer struct {
	*rawClient
	called string
	name   *kmsg.RequestFormatter
	number int
	c      *Cluster
}

func newcomer(b *testing.B, c *Cluster, born *int) *passer {
	nc, err := net.Dial("tcp", c.Addrs()[0])
	require.NoError(b, err)
	*born++
	called := fmt.Sprintf("passer-%06d", *born)
	return &passer{&rawClient{tb: b, node: 1, nc: nc}, called, kmsg.NewRequestFormatter(kmsg.FormatterClientID(called)), *born, c}
}

func (l *passer) ask(req kmsg.Request) kmsg.Response {
	l.corr++
	_, err := l.nc.Write(l.name.AppendRequest(nil, req, l.corr))
	require.NoError(l.tb, err)
	return l.receive(req)
}

func (l *passer) put(req kmsg.Request) {
	l.corr++
	_, err := l.nc.Write(l.name.AppendRequest(nil, req, l.corr))
	require.NoError(l.tb, err)
}

func (l *passer) cut() {
	l.nc.(*net.TCPConn).SetLinger(0)
	l.nc.Close()
}

func (l *passer) classicJoin(group string, instance *string) (string, int32) {
	j := joinRequest(group, "")
	j.InstanceID = instance
	r := l.ask(j).(*kmsg.JoinGroupResponse)
	if r.ErrorCode != 0 {
		j.MemberID = r.MemberID
		r = l.ask(j).(*kmsg.JoinGroupResponse)
	}
	require.Zero(l.tb, r.ErrorCode)
	s := kmsg.NewPtrSyncGroupRequest()
	s.Version, s.Group, s.MemberID, s.Generation = 3, group, r.MemberID, r.Generation
	s.InstanceID = instance
	s.GroupAssignment = []kmsg.SyncGroupRequestGroupAssignment{{MemberID: r.MemberID, MemberAssignment: []byte("\x00\x00\x00\x00\x00\x01\x00\x06steady\x00\x00\x00\x01\x00\x00\x00\x00\xff\xff\xff\xff")}}
	require.Zero(l.tb, l.ask(s).(*kmsg.SyncGroupResponse).ErrorCode)
	return r.MemberID, r.Generation
}

func (l *passer) leave(group, id string, instance *string) {
	q := kmsg.NewPtrLeaveGroupRequest()
	q.Version, q.Group, q.Members = 3, group, []kmsg.LeaveGroupRequestMember{{MemberID: id, InstanceID: instance}}
	require.Zero(l.tb, l.ask(q).(*kmsg.LeaveGroupResponse).ErrorCode)
}

func (l *passer) consumer(group, member string, epoch int32, instance *string, topics ...string) int32 {
	q := kmsg.NewPtrConsumerGroupHeartbeatRequest()
	q.Version, q.Group, q.MemberID, q.MemberEpoch, q.RebalanceTimeoutMillis, q.InstanceID = 1, group, member, epoch, -1, instance
	if epoch == 0 {
		q.RebalanceTimeoutMillis, q.SubscribedTopicNames, q.Topics = 5000, topics, []kmsg.ConsumerGroupHeartbeatRequestTopic{}
	}
	r := l.ask(q).(*kmsg.ConsumerGroupHeartbeatResponse)
	require.Zero(l.tb, r.ErrorCode, fmt.Sprint(r.ErrorMessage))
	return r.MemberEpoch
}

func (l *passer) deleteGroup(g string) {
	d := kmsg.NewPtrDeleteGroupsRequest()
	d.Version, d.Groups = 2, []string{g}
	require.Zero(l.tb, l.ask(d).(*kmsg.DeleteGroupsResponse).Groups[0].ErrorCode)
}

func (l *passer) commit(group, member string, gen int32, topic string) {
	q := kmsg.NewPtrOffsetCommitRequest()
	q.Version, q.Group, q.MemberID, q.Generation = 9, group, member, gen
	q.Topics = []kmsg.OffsetCommitRequestTopic{{Topic: topic, Partitions: []kmsg.OffsetCommitRequestTopicPartition{{Partition: 0, Offset: 1, LeaderEpoch: -1}}}}
	require.Zero(l.tb, l.ask(q).(*kmsg.OffsetCommitResponse).Topics[0].Partitions[0].ErrorCode)
}

func (l *passer) topic(name string) {
	topic := kmsg.NewCreateTopicsRequestTopic()
	topic.Topic, topic.NumPartitions, topic.ReplicationFactor = name, 1, 1
	create := kmsg.NewPtrCreateTopicsRequest()
	create.Version, create.TimeoutMillis, create.Topics = 7, 5000, []kmsg.CreateTopicsRequestTopic{topic}
	require.Zero(l.tb, l.ask(create).(*kmsg.CreateTopicsResponse).Topics[0].ErrorCode)
}

func (l *passer) dropTopic(name string) {
	gone := kmsg.NewPtrDeleteTopicsRequest()
	gone.Version, gone.TimeoutMillis, gone.TopicNames = 5, 5000, []string{name}
	require.Zero(l.tb, l.ask(gone).(*kmsg.DeleteTopicsResponse).Topics[0].ErrorCode)
}

var lives = map[string]func(l *passer){
	"connection":                func(l *passer) { v := kmsg.NewPtrApiVersionsRequest(); v.Version = 3; l.ask(v); l.nc.Close() },
	"connection without a word": func(l *passer) { l.cut() },
	"half a frame":              func(l *passer) { l.nc.Write([]byte{0, 0, 1, 0, 3, 3}); l.cut() },
	"cut in a fetch":            func(l *passer) { l.put(fetchRequest("steady", 5*time.Second, 0)); l.cut() },
	"fetch session left open": func(l *passer) {
		f := fetchRequest("steady", 0, 0)
		f.SessionEpoch = 0
		l.ask(f)
		l.cut()
	},
	"fetch session of a deleted topic": func(l *passer) {
		l.topic(l.called)
		f := fetchRequest(l.called, 0, 0)
		f.SessionEpoch = 0
		l.ask(f)
		l.dropTopic(l.called)
		l.cut()
	},
	"classic member": func(l *passer) {
		id, _ := l.classicJoin("one", nil)
		l.leave("one", id, nil)
		l.nc.Close()
	},
	"classic group": func(l *passer) {
		id, _ := l.classicJoin(l.called, nil)
		l.leave(l.called, id, nil)
		l.deleteGroup(l.called)
		l.nc.Close()
	},
	"classic group that vanished": func(l *passer) {
		id, gen := l.classicJoin(l.called, nil)
		l.commit(l.called, id, gen, "steady")
		l.cut()
	},
	"classic join that vanished": func(l *passer) {
		r := l.ask(joinRequest(l.called, "")).(*kmsg.JoinGroupResponse)
		l.put(joinRequest(l.called, r.MemberID))
		l.cut()
	},
	"classic static": func(l *passer) {
		id, _ := l.classicJoin("static", &l.called)
		l.leave("static", id, &l.called)
		l.nc.Close()
	},
	"consumer member": func(l *passer) {
		l.consumer("two", l.called, 0, nil, "steady")
		l.consumer("two", l.called, -1, nil)
		l.nc.Close()
	},
	"consumer group": func(l *passer) {
		e := l.consumer(l.called, l.called, 0, nil, "steady")
		l.commit(l.called, l.called, e, "steady")
		l.consumer(l.called, l.called, -1, nil)
		l.deleteGroup(l.called)
		l.nc.Close()
	},
	"consumer group that vanished": func(l *passer) { l.consumer(l.called, l.called, 0, nil, "steady"); l.cut() },
	"consumer static": func(l *passer) {
		l.consumer("twostatic", l.called, 0, &l.called, "steady")
		l.consumer("twostatic", l.called, -2, &l.called)
		l.cut()
	},
	"consumer of a deleted topic": func(l *passer) {
		l.topic(l.called)
		e := l.consumer("three", l.called, 0, nil, l.called)
		l.commit("three", l.called, e, l.called)
		l.dropTopic(l.called)
		l.consumer("three", l.called, -1, nil)
		l.cut()
	},
	"mixed": func(l *passer) { // conversion
		l.consumer(l.called, l.called, 0, nil, "steady")
		j := joinRequest(l.called, "")
		j.Protocols[0].Metadata = []byte("\x00\x01\x00\x00\x00\x01\x00\x06steady\xff\xff\xff\xff\x00\x00\x00\x00")
		r := l.ask(j).(*kmsg.JoinGroupResponse)
		if r.ErrorCode != 0 {
			j.MemberID = r.MemberID
			r = l.ask(j).(*kmsg.JoinGroupResponse)
		}
		require.Zero(l.tb, r.ErrorCode)
		l.consumer(l.called, l.called, -1, nil)
		l.leave(l.called, r.MemberID, nil)
		l.cut()
	},
	"regex": func(l *passer) {
		q := kmsg.NewPtrConsumerGroupHeartbeatRequest()
		q.Version, q.Group, q.MemberID, q.RebalanceTimeoutMillis = 1, "regex", l.called, 5000
		re := "ste.*|" + l.called
		q.SubscribedTopicRegex, q.Topics = &re, []kmsg.ConsumerGroupHeartbeatRequestTopic{}
		require.Zero(l.tb, l.ask(q).(*kmsg.ConsumerGroupHeartbeatResponse).ErrorCode)
		l.consumer("regex", l.called, -1, nil)
		l.cut()
	},
	"commit of a simple group": func(l *passer) { l.commit(l.called, "", -1, "steady"); l.nc.Close() },
	"topic": func(l *passer) {
		l.topic(l.called)
		l.ask(produceRequest(l.called, 0, oneBatch(l.tb, 1, 10)))
		l.dropTopic(l.called)
		l.nc.Close()
	},
	"topic with refused batches": func(l *passer) {
		l.topic(l.called)
		b := oneBatch(l.tb, 1, 10)
		b[20]++
		require.NotZero(l.tb, l.ask(produceRequest(l.called, 0, b)).(*kmsg.ProduceResponse).Topics[0].Partitions[0].ErrorCode)
		l.dropTopic(l.called)
		l.nc.Close()
	},
	"unknown topic": func(l *passer) {
		m := kmsg.NewPtrMetadataRequest()
		m.Version, m.Topics = 9, []kmsg.MetadataRequestTopic{{Topic: &l.called}}
		l.ask(m)
		l.ask(produceRequest(l.called, 0, oneBatch(l.tb, 1, 10)))
		l.nc.Close()
	},
	"producer": func(l *passer) {
		ids := kmsg.NewPtrInitProducerIDRequest()
		ids.Version = 4
		r := l.ask(ids).(*kmsg.InitProducerIDResponse)
		require.Zero(l.tb, r.ErrorCode)
		b, err := partitionlog.BuildBatch([]partitionlog.Record{{Timestamp: l.c.clock.NowMillis(), Value: []byte("x")}}, partitionlog.BatchOptions{Idempotent: true, ProducerID: r.ProducerID, ProducerEpoch: r.ProducerEpoch})
		require.NoError(l.tb, err)
		require.Zero(l.tb, l.ask(produceRequest("steady", 0, b)).(*kmsg.ProduceResponse).Topics[0].Partitions[0].ErrorCode)
		l.nc.Close()
	},
	"transaction":           func(l *passer) { l.transaction(true) },
	"transaction left open": func(l *passer) { l.transaction(false) },
	"quota": func(l *passer) {
		q := kmsg.NewPtrAlterClientQuotasRequest()
		q.Version = 1
		for _, remove := range []bool{false, true} {
			q.Entries = []kmsg.AlterClientQuotasRequestEntry{{Entity: []kmsg.AlterClientQuotasRequestEntryEntity{{Type: "client-id", Name: &l.called}}, Ops: []kmsg.AlterClientQuotasRequestEntryOp{{Key: "producer_byte_rate", Value: 1e9, Remove: remove}}}}
			require.Zero(l.tb, l.ask(q).(*kmsg.AlterClientQuotasResponse).Entries[0].ErrorCode)
			l.ask(produceRequest("steady", 0, oneBatch(l.tb, 1, 10)))
		}
		l.nc.Close()
	},
	"group settings": func(l *passer) { l.settings(32, "consumer.session.timeout.ms", "46000") },
	"questions": func(l *passer) {
		d := kmsg.NewPtrDescribeGroupsRequest()
		d.Version, d.Groups = 5, []string{l.called}
		l.ask(d)
		f := kmsg.NewPtrFindCoordinatorRequest()
		f.Version, f.CoordinatorType, f.CoordinatorKeys = 4, 1, []string{l.called}
		l.ask(f)
		o := kmsg.NewPtrOffsetFetchRequest()
		o.Version, o.Groups = 8, []kmsg.OffsetFetchRequestGroup{{Group: l.called}}
		l.ask(o)
		b := kmsg.NewPtrHeartbeatRequest()
		b.Version, b.Group, b.MemberID = 3, "one", l.called
		l.ask(b)
		l.nc.Close()
	},
}

func (l *passer) settings(kind kmsg.ConfigResourceType, name, value string) {
	gc := kmsg.NewPtrIncrementalAlterConfigsRequest()
	gc.Version = 1
	for _, op := range []kmsg.IncrementalAlterConfigOp{0, 1} {
		gc.Resources = []kmsg.IncrementalAlterConfigsRequestResource{{ResourceType: kind, ResourceName: l.called, Configs: []kmsg.IncrementalAlterConfigsRequestResourceConfig{{Name: name, Op: op, Value: &value}}}}
		require.Zero(l.tb, l.ask(gc).(*kmsg.IncrementalAlterConfigsResponse).Resources[0].ErrorCode)
	}
	l.nc.Close()
}

func (l *passer) transaction(end bool) {
	ids := kmsg.NewPtrInitProducerIDRequest()
	ids.Version, ids.TransactionalID, ids.TransactionTimeoutMillis = 4, &l.called, 5000
	r := l.ask(ids).(*kmsg.InitProducerIDResponse)
	require.Zero(l.tb, r.ErrorCode)
	b, err := partitionlog.BuildBatch([]partitionlog.Record{{Timestamp: l.c.clock.NowMillis(), Value: []byte("x")}}, partitionlog.BatchOptions{Idempotent: true, Transactional: true, ProducerID: r.ProducerID, ProducerEpoch: r.ProducerEpoch})
	require.NoError(l.tb, err)
	p := produceRequest("steady", 0, b)
	p.TransactionID = &l.called
	require.Zero(l.tb, l.ask(p).(*kmsg.ProduceResponse).Topics[0].Partitions[0].ErrorCode)
	o := kmsg.NewPtrTxnOffsetCommitRequest()
	o.Version, o.TransactionalID, o.Group, o.ProducerID, o.ProducerEpoch, o.Generation = 5, l.called, l.called, r.ProducerID, r.ProducerEpoch, -1
	o.Topics = []kmsg.TxnOffsetCommitRequestTopic{{Topic: "steady", Partitions: []kmsg.TxnOffsetCommitRequestTopicPartition{{Offset: 1}}}}
	require.Zero(l.tb, l.ask(o).(*kmsg.TxnOffsetCommitResponse).Topics[0].Partitions[0].ErrorCode)
	if end {
		e := kmsg.NewPtrEndTxnRequest()
		e.Version, e.TransactionalID, e.ProducerID, e.ProducerEpoch, e.Commit = 5, l.called, r.ProducerID, r.ProducerEpoch, l.number%2 == 0
		require.Zero(l.tb, l.ask(e).(*kmsg.EndTxnResponse).ErrorCode)
	}
	l.cut()
}

package main

import (
	"github.com/twmb/franz-go/pkg/kmsg"
)

// changesArea makes, changes and deletes a few topics, their settings, and those of groups, metrics and users, and looks at them.
var changesArea = area{
	name:   "changes",
	parts:  2,
	topics: map[string]map[string]string{"t1": nil},
	spoil:  20,
	hurt:   5,
	kinds: []kind{
		on(6, (*gen).createTopics),
		on(3, (*gen).deleteTopics),
		on(3, (*gen).createPartitions),
		on(4, (*gen).metadata),
		on(2, (*gen).describeTopicPartitions),
		on(5, (*gen).incrementalAlterConfigs),
		on(2, (*gen).alterConfigs),
		on(5, (*gen).describeConfigs),
		on(3, (*gen).alterClientQuotas),
		on(2, (*gen).describeClientQuotas),
		on(3, (*gen).alterSCRAM),
		on(2, (*gen).describeSCRAM),
		on(3, (*gen).reassign),
		on(1, (*gen).listReassignments),
		on(2, (*gen).electLeaders),
		on(1, (*gen).listConfigResources),
	},
}

// someTopic is one of few that come and go.
func (g *gen) someTopic() string { return g.some("n1", "n1", "n2", "t1", "t_1", "t.1") }

func (g *gen) createTopics(q *kmsg.CreateTopicsRequest) {
	q.TimeoutMillis, q.ValidateOnly = 8000, g.percent(15)
	for range pick(g.r, 1, 1, 1, 2) {
		t := kmsg.NewCreateTopicsRequestTopic()
		t.Topic, t.NumPartitions, t.ReplicationFactor = g.someTopic(), pick[int32](g.r, 1, 2, 3, -1), pick[int16](g.r, 1, 1, -1)
		if g.percent(15) {
			t.NumPartitions, t.ReplicationFactor = -1, -1
			for p := range int32(1 + g.r.IntN(2)) {
				t.ReplicaAssignment = append(t.ReplicaAssignment, kmsg.CreateTopicsRequestTopicReplicaAssignment{Partition: p, Replicas: []int32{1}})
			}
		}
		for range pick(g.r, 0, 0, 1, 2) {
			s := g.topicSetting()
			t.Configs = append(t.Configs, kmsg.CreateTopicsRequestTopicConfig{Name: s.name, Value: &s.value})
		}
		q.Topics = append(q.Topics, t)
	}
}

func (g *gen) deleteTopics(q *kmsg.DeleteTopicsRequest) {
	q.TimeoutMillis = 8000
	for range pick(g.r, 1, 1, 2) {
		name := g.some("n1", "n2", "t_1")
		q.TopicNames = append(q.TopicNames, name)
		t := kmsg.NewDeleteTopicsRequestTopic()
		if t.Topic = &name; g.percent(40) {
			t.Topic, t.TopicID = nil, g.id(name)
		}
		q.Topics = append(q.Topics, t)
	}
}

func (g *gen) createPartitions(q *kmsg.CreatePartitionsRequest) {
	q.TimeoutMillis, q.ValidateOnly = 8000, g.percent(20)
	t := kmsg.NewCreatePartitionsRequestTopic()
	t.Topic, t.Count = g.someTopic(), pick[int32](g.r, 2, 3, 4, 5, 1)
	if g.percent(20) {
		t.Assignment = []kmsg.CreatePartitionsRequestTopicAssignment{{Replicas: []int32{1}}}
	}
	q.Topics = append(q.Topics, t)
}

func (g *gen) metadata(q *kmsg.MetadataRequest) {
	q.Version = max(q.Version, 4) // before, it would make topics behind its answer
	q.AllowAutoTopicCreation, q.IncludeTopicAuthorizedOperations = false, g.percent(20)
	q.Topics = []kmsg.MetadataRequestTopic{}
	for range pick(g.r, 0, 1, 1, 2) {
		name := g.someTopic()
		t := kmsg.NewMetadataRequestTopic()
		if t.Topic = &name; q.Version >= 12 && g.percent(50) {
			t.Topic, t.TopicID = nil, g.id(name)
		}
		q.Topics = append(q.Topics, t)
	}
}

func (g *gen) describeTopicPartitions(q *kmsg.DescribeTopicPartitionsRequest) {
	q.ResponsePartitionLimit = pick[int32](g.r, 1, 2, 3, 100)
	for range 1 + g.r.IntN(3) {
		q.Topics = append(q.Topics, kmsg.DescribeTopicPartitionsRequestTopic{Topic: g.someTopic()})
	}
	if g.percent(30) {
		q.Cursor = &kmsg.DescribeTopicPartitionsRequestCursor{Topic: g.someTopic(), Partition: pick[int32](g.r, 0, 1, 2)}
	}
}

// setting is one with a value that is mostly good.
type setting struct{ name, value string }

func (g *gen) topicSetting() setting {
	return pick(g.r, setting{"retention.ms", "1000"}, setting{"retention.ms", "-1"}, setting{"cleanup.policy", "compact"}, setting{"cleanup.policy", "delete"},
		setting{"cleanup.policy", "compact,delete"}, setting{"cleanup.policy", ""}, setting{"segment.bytes", "2097152"}, setting{"max.message.bytes", "1000"},
		setting{"compression.type", "zstd"}, setting{"compression.gzip.level", "3"}, setting{"min.insync.replicas", "2"}, setting{"message.timestamp.type", "LogAppendTime"},
		setting{"unclean.leader.election.enable", "true"}, setting{"follower.replication.throttled.replicas", "*"}, setting{"leader.replication.throttled.replicas", "0:1"},
		setting{"local.retention.ms", "5"}, setting{"flush.messages", "0"}, setting{"segment.ms", "x"}, setting{"no.such.setting", "1"})
}

// resource is something that has settings, and one of them.
func (g *gen) resource() (kind kmsg.ConfigResourceType, name string, s setting) {
	switch g.r.IntN(8) {
	case 0, 1:
		return kmsg.ConfigResourceTypeGroupConfig, g.group(), pick(g.r, setting{"consumer.session.timeout.ms", "50000"}, setting{"consumer.heartbeat.interval.ms", "6000"},
			setting{"consumer.heartbeat.interval.ms", "1"}, setting{"consumer.session.timeout.ms", "46000"}, setting{"share.auto.offset.reset", "earliest"}, setting{"streams.num.standby.replicas", "1"})
	case 2:
		return kmsg.ConfigResourceTypeClientMetrics, g.some("m1", "m2"), pick(g.r, setting{"interval.ms", "1000"}, setting{"metrics", "a.b,c"}, setting{"match", "client_id=a"}, setting{"match", "x"},
			setting{"interval.ms", "99"})
	}
	return kmsg.ConfigResourceTypeTopic, g.someTopic(), g.topicSetting()
}

func (g *gen) incrementalAlterConfigs(q *kmsg.IncrementalAlterConfigsRequest) {
	q.ValidateOnly = g.percent(15)
	r := kmsg.NewIncrementalAlterConfigsRequestResource()
	for range pick(g.r, 1, 1, 1, 2) {
		c := kmsg.NewIncrementalAlterConfigsRequestResourceConfig()
		kind, name, s := g.resource()
		if len(r.Configs) == 0 || kind == r.ResourceType {
			r.ResourceType, r.ResourceName = kind, name
			c.Name, c.Op, c.Value = s.name, pick[kmsg.IncrementalAlterConfigOp](g.r, 0, 0, 0, 1, 2, 3), &s.value
			r.Configs = append(r.Configs, c)
		}
	}
	q.Resources = append(q.Resources, r)
}

func (g *gen) alterConfigs(q *kmsg.AlterConfigsRequest) {
	q.ValidateOnly = g.percent(15)
	r := kmsg.NewAlterConfigsRequestResource()
	kind, name, s := g.resource()
	r.ResourceType, r.ResourceName = kind, name
	if g.percent(80) {
		r.Configs = []kmsg.AlterConfigsRequestResourceConfig{{Name: s.name, Value: &s.value}}
	}
	q.Resources = append(q.Resources, r)
}

func (g *gen) describeConfigs(q *kmsg.DescribeConfigsRequest) {
	q.IncludeSynonyms, q.IncludeDocumentation = g.percent(50), false
	for range pick(g.r, 1, 1, 2) {
		r := kmsg.NewDescribeConfigsRequestResource()
		kind, name, s := g.resource()
		r.ResourceType, r.ResourceName = kind, name
		if g.percent(30) {
			r.ConfigNames = []string{s.name, "retention.ms"}
		}
		q.Resources = append(q.Resources, r)
	}
}

func (g *gen) alterClientQuotas(q *kmsg.AlterClientQuotasRequest) {
	q.ValidateOnly = g.percent(15)
	e := kmsg.NewAlterClientQuotasRequestEntry()
	user, client := g.some("u1", "u2"), g.some("c1", "c2")
	if g.percent(70) {
		e.Entity = append(e.Entity, kmsg.AlterClientQuotasRequestEntryEntity{Type: "user", Name: &user})
	}
	if len(e.Entity) == 0 || g.percent(40) {
		e.Entity = append(e.Entity, kmsg.AlterClientQuotasRequestEntryEntity{Type: "client-id", Name: &client})
	}
	for range pick(g.r, 1, 1, 2) {
		e.Ops = append(e.Ops, kmsg.AlterClientQuotasRequestEntryOp{Key: pick(g.r, "producer_byte_rate", "consumer_byte_rate", "request_percentage"),
			Value: pick(g.r, 1000.0, 2000, 50, 0.5), Remove: g.percent(30)})
	}
	q.Entries = append(q.Entries, e)
}

func (g *gen) describeClientQuotas(q *kmsg.DescribeClientQuotasRequest) {
	q.Strict = g.percent(30)
	user := g.some("u1", "u2")
	c := kmsg.DescribeClientQuotasRequestComponent{EntityType: "user", Match: &user}
	if g.percent(50) {
		c = kmsg.DescribeClientQuotasRequestComponent{EntityType: pick(g.r, "user", "client-id"), MatchType: 2}
	}
	q.Components = append(q.Components, c)
}

func (g *gen) alterSCRAM(q *kmsg.AlterUserSCRAMCredentialsRequest) {
	for range pick(g.r, 1, 1, 2) {
		if g.percent(35) {
			q.Deletions = append(q.Deletions, kmsg.AlterUserSCRAMCredentialsRequestDeletion{Name: g.some("u1", "u2"), Mechanism: pick[int8](g.r, 1, 2)})
			continue
		}
		q.Upsertions = append(q.Upsertions, kmsg.AlterUserSCRAMCredentialsRequestUpsertion{Name: g.some("u1", "u2"), Mechanism: pick[int8](g.r, 1, 2),
			Iterations: pick[int32](g.r, 4096, 8192, 16384, 16385, 4095), Salt: []byte("salt"), SaltedPassword: []byte("password")})
	}
}

func (g *gen) describeSCRAM(q *kmsg.DescribeUserSCRAMCredentialsRequest) {
	for range 1 + g.r.IntN(2) {
		q.Users = append(q.Users, kmsg.DescribeUserSCRAMCredentialsRequestUser{Name: g.some("u1", "u2")})
	}
}

func (g *gen) reassign(q *kmsg.AlterPartitionAssignmentsRequest) {
	q.TimeoutMillis = 8000
	t := kmsg.NewAlterPartitionAssignmentsRequestTopic()
	t.Topic = g.someTopic()
	for range pick(g.r, 1, 1, 2) {
		p := kmsg.NewAlterPartitionAssignmentsRequestTopicPartition()
		p.Partition, p.Replicas = g.partition(), pick(g.r, []int32{1}, nil, []int32{1, 1}, []int32{2}, []int32{})
		t.Partitions = append(t.Partitions, p)
	}
	q.Topics = append(q.Topics, t)
}

func (g *gen) listReassignments(q *kmsg.ListPartitionReassignmentsRequest) {
	q.TimeoutMillis = 8000
	q.Topics = []kmsg.ListPartitionReassignmentsRequestTopic{{Topic: g.someTopic(), Partitions: []int32{g.partition()}}}
}

func (g *gen) electLeaders(q *kmsg.ElectLeadersRequest) {
	q.TimeoutMillis, q.ElectionType = 8000, pick[int8](g.r, 0, 0, 1)
	q.Topics = []kmsg.ElectLeadersRequestTopic{{Topic: g.someTopic(), Partitions: []int32{g.partition()}}}
}

func (g *gen) listConfigResources(q *kmsg.ListConfigResourcesRequest) {
	q.ResourceTypes = pick(g.r, nil, []int8{16}, []int8{2}, []int8{32, 16})
}

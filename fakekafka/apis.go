package fakekafka

import "github.com/fakekafka/fakekafka/internal/wire"

// API is a kind of request, by its key in Kafka's protocol. Its String is Kafka's own name, such as ConsumerGroupHeartbeat.
type API int16

func (a API) String() string {
	if a == AnyAPI {
		return "AnyAPI"
	}
	return wire.Key(a).String()
}

// AnyAPI stands for every kind of request in [Cluster.On] and [Cluster.Requests].
const AnyAPI API = -1

// The APIs of Apache Kafka 4.3.1.
const (
	Produce                      API = 0
	Fetch                        API = 1
	ListOffsets                  API = 2
	Metadata                     API = 3
	OffsetCommit                 API = 8
	OffsetFetch                  API = 9
	FindCoordinator              API = 10
	JoinGroup                    API = 11
	Heartbeat                    API = 12
	LeaveGroup                   API = 13
	SyncGroup                    API = 14
	DescribeGroups               API = 15
	ListGroups                   API = 16
	SASLHandshake                API = 17
	ApiVersions                  API = 18
	CreateTopics                 API = 19
	DeleteTopics                 API = 20
	DeleteRecords                API = 21
	InitProducerID               API = 22
	OffsetForLeaderEpoch         API = 23
	AddPartitionsToTxn           API = 24
	AddOffsetsToTxn              API = 25
	EndTxn                       API = 26
	WriteTxnMarkers              API = 27
	TxnOffsetCommit              API = 28
	DescribeACLs                 API = 29
	CreateACLs                   API = 30
	DeleteACLs                   API = 31
	DescribeConfigs              API = 32
	AlterConfigs                 API = 33
	AlterReplicaLogDirs          API = 34
	DescribeLogDirs              API = 35
	SASLAuthenticate             API = 36
	CreatePartitions             API = 37
	CreateDelegationToken        API = 38
	RenewDelegationToken         API = 39
	ExpireDelegationToken        API = 40
	DescribeDelegationToken      API = 41
	DeleteGroups                 API = 42
	ElectLeaders                 API = 43
	IncrementalAlterConfigs      API = 44
	AlterPartitionReassignments  API = 45
	ListPartitionReassignments   API = 46
	OffsetDelete                 API = 47
	DescribeClientQuotas         API = 48
	AlterClientQuotas            API = 49
	DescribeUserSCRAMCredentials API = 50
	AlterUserSCRAMCredentials    API = 51
	DescribeQuorum               API = 55
	UpdateFeatures               API = 57
	DescribeCluster              API = 60
	DescribeProducers            API = 61
	UnregisterBroker             API = 64
	DescribeTransactions         API = 65
	ListTransactions             API = 66
	ConsumerGroupHeartbeat       API = 68
	ConsumerGroupDescribe        API = 69
	GetTelemetrySubscriptions    API = 71
	PushTelemetry                API = 72
	ListConfigResources          API = 74
	DescribeTopicPartitions      API = 75
	ShareGroupHeartbeat          API = 76
	ShareGroupDescribe           API = 77
	ShareFetch                   API = 78
	ShareAcknowledge             API = 79
	AddRaftVoter                 API = 80
	RemoveRaftVoter              API = 81
	InitializeShareGroupState    API = 83
	ReadShareGroupState          API = 84
	WriteShareGroupState         API = 85
	DeleteShareGroupState        API = 86
	ReadShareGroupStateSummary   API = 87
	StreamsGroupHeartbeat        API = 88
	StreamsGroupDescribe         API = 89
	DescribeShareGroupOffsets    API = 90
	AlterShareGroupOffsets       API = 91
	DeleteShareGroupOffsets      API = 92
)

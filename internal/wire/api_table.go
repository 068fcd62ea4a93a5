package wire

// The API keys that Apache Kafka 4.3.1 serves on a broker listener. The names are
// Kafka's, with Go's spelling of initialisms.
const (
	Produce                      Key = 0
	Fetch                        Key = 1
	ListOffsets                  Key = 2
	Metadata                     Key = 3
	OffsetCommit                 Key = 8
	OffsetFetch                  Key = 9
	FindCoordinator              Key = 10
	JoinGroup                    Key = 11
	Heartbeat                    Key = 12
	LeaveGroup                   Key = 13
	SyncGroup                    Key = 14
	DescribeGroups               Key = 15
	ListGroups                   Key = 16
	SASLHandshake                Key = 17
	ApiVersions                  Key = 18
	CreateTopics                 Key = 19
	DeleteTopics                 Key = 20
	DeleteRecords                Key = 21
	InitProducerID               Key = 22
	OffsetForLeaderEpoch         Key = 23
	AddPartitionsToTxn           Key = 24
	AddOffsetsToTxn              Key = 25
	EndTxn                       Key = 26
	WriteTxnMarkers              Key = 27
	TxnOffsetCommit              Key = 28
	DescribeACLs                 Key = 29
	CreateACLs                   Key = 30
	DeleteACLs                   Key = 31
	DescribeConfigs              Key = 32
	AlterConfigs                 Key = 33
	AlterReplicaLogDirs          Key = 34
	DescribeLogDirs              Key = 35
	SASLAuthenticate             Key = 36
	CreatePartitions             Key = 37
	CreateDelegationToken        Key = 38
	RenewDelegationToken         Key = 39
	ExpireDelegationToken        Key = 40
	DescribeDelegationToken      Key = 41
	DeleteGroups                 Key = 42
	ElectLeaders                 Key = 43
	IncrementalAlterConfigs      Key = 44
	AlterPartitionReassignments  Key = 45
	ListPartitionReassignments   Key = 46
	OffsetDelete                 Key = 47
	DescribeClientQuotas         Key = 48
	AlterClientQuotas            Key = 49
	DescribeUserSCRAMCredentials Key = 50
	AlterUserSCRAMCredentials    Key = 51
	DescribeQuorum               Key = 55
	UpdateFeatures               Key = 57
	DescribeCluster              Key = 60
	DescribeProducers            Key = 61
	UnregisterBroker             Key = 64
	DescribeTransactions         Key = 65
	ListTransactions             Key = 66
	ConsumerGroupHeartbeat       Key = 68
	ConsumerGroupDescribe        Key = 69
	GetTelemetrySubscriptions    Key = 71
	PushTelemetry                Key = 72
	ListConfigResources          Key = 74
	DescribeTopicPartitions      Key = 75
	ShareGroupHeartbeat          Key = 76
	ShareGroupDescribe           Key = 77
	ShareFetch                   Key = 78
	ShareAcknowledge             Key = 79
	AddRaftVoter                 Key = 80
	RemoveRaftVoter              Key = 81
	InitializeShareGroupState    Key = 83
	ReadShareGroupState          Key = 84
	WriteShareGroupState         Key = 85
	DeleteShareGroupState        Key = 86
	ReadShareGroupStateSummary   Key = 87
	StreamsGroupHeartbeat        Key = 88
	StreamsGroupDescribe         Key = 89
	DescribeShareGroupOffsets    Key = 90
	AlterShareGroupOffsets       Key = 91
	DeleteShareGroupOffsets      Key = 92
)

// apis says for every key which versions a 4.3.1 broker serves. flexible is the
// first version with compact fields and tag sections; -1: none.
var apis = [...]api{
	Produce:                      {name: "Produce", min: 0, max: 13, flexible: 9, refused: 3},
	Fetch:                        {name: "Fetch", min: 4, max: 18, flexible: 12},
	ListOffsets:                  {name: "ListOffsets", min: 1, max: 11, flexible: 6},
	Metadata:                     {name: "Metadata", min: 0, max: 13, flexible: 9},
	OffsetCommit:                 {name: "OffsetCommit", min: 2, max: 10, flexible: 8},
	OffsetFetch:                  {name: "OffsetFetch", min: 1, max: 10, flexible: 6},
	FindCoordinator:              {name: "FindCoordinator", min: 0, max: 6, flexible: 3},
	JoinGroup:                    {name: "JoinGroup", min: 0, max: 9, flexible: 6},
	Heartbeat:                    {name: "Heartbeat", min: 0, max: 4, flexible: 4},
	LeaveGroup:                   {name: "LeaveGroup", min: 0, max: 5, flexible: 4},
	SyncGroup:                    {name: "SyncGroup", min: 0, max: 5, flexible: 4},
	DescribeGroups:               {name: "DescribeGroups", min: 0, max: 6, flexible: 5},
	ListGroups:                   {name: "ListGroups", min: 0, max: 5, flexible: 3},
	SASLHandshake:                {name: "SaslHandshake", min: 0, max: 1, flexible: -1},
	ApiVersions:                  {name: "ApiVersions", min: 0, max: 4, flexible: 3},
	CreateTopics:                 {name: "CreateTopics", min: 2, max: 7, flexible: 5},
	DeleteTopics:                 {name: "DeleteTopics", min: 1, max: 6, flexible: 4},
	DeleteRecords:                {name: "DeleteRecords", min: 0, max: 2, flexible: 2},
	InitProducerID:               {name: "InitProducerId", min: 0, max: 5, flexible: 2},
	OffsetForLeaderEpoch:         {name: "OffsetForLeaderEpoch", min: 2, max: 4, flexible: 4},
	AddPartitionsToTxn:           {name: "AddPartitionsToTxn", min: 0, max: 5, flexible: 3},
	AddOffsetsToTxn:              {name: "AddOffsetsToTxn", min: 0, max: 4, flexible: 3},
	EndTxn:                       {name: "EndTxn", min: 0, max: 5, flexible: 3},
	WriteTxnMarkers:              {name: "WriteTxnMarkers", min: 1, max: 2, flexible: 1},
	TxnOffsetCommit:              {name: "TxnOffsetCommit", min: 0, max: 5, flexible: 3},
	DescribeACLs:                 {name: "DescribeAcls", min: 1, max: 3, flexible: 2},
	CreateACLs:                   {name: "CreateAcls", min: 1, max: 3, flexible: 2},
	DeleteACLs:                   {name: "DeleteAcls", min: 1, max: 3, flexible: 2},
	DescribeConfigs:              {name: "DescribeConfigs", min: 1, max: 4, flexible: 4},
	AlterConfigs:                 {name: "AlterConfigs", min: 0, max: 2, flexible: 2},
	AlterReplicaLogDirs:          {name: "AlterReplicaLogDirs", min: 1, max: 2, flexible: 2},
	DescribeLogDirs:              {name: "DescribeLogDirs", min: 1, max: 5, flexible: 2},
	SASLAuthenticate:             {name: "SaslAuthenticate", min: 0, max: 2, flexible: 2},
	CreatePartitions:             {name: "CreatePartitions", min: 0, max: 3, flexible: 2},
	CreateDelegationToken:        {name: "CreateDelegationToken", min: 1, max: 3, flexible: 2},
	RenewDelegationToken:         {name: "RenewDelegationToken", min: 1, max: 2, flexible: 2},
	ExpireDelegationToken:        {name: "ExpireDelegationToken", min: 1, max: 2, flexible: 2},
	DescribeDelegationToken:      {name: "DescribeDelegationToken", min: 1, max: 3, flexible: 2},
	DeleteGroups:                 {name: "DeleteGroups", min: 0, max: 2, flexible: 2},
	ElectLeaders:                 {name: "ElectLeaders", min: 0, max: 2, flexible: 2},
	IncrementalAlterConfigs:      {name: "IncrementalAlterConfigs", min: 0, max: 1, flexible: 1},
	AlterPartitionReassignments:  {name: "AlterPartitionReassignments", min: 0, max: 1, flexible: 0},
	ListPartitionReassignments:   {name: "ListPartitionReassignments", min: 0, max: 0, flexible: 0},
	OffsetDelete:                 {name: "OffsetDelete", min: 0, max: 0, flexible: -1},
	DescribeClientQuotas:         {name: "DescribeClientQuotas", min: 0, max: 1, flexible: 1},
	AlterClientQuotas:            {name: "AlterClientQuotas", min: 0, max: 1, flexible: 1},
	DescribeUserSCRAMCredentials: {name: "DescribeUserScramCredentials", min: 0, max: 0, flexible: 0},
	AlterUserSCRAMCredentials:    {name: "AlterUserScramCredentials", min: 0, max: 0, flexible: 0},
	DescribeQuorum:               {name: "DescribeQuorum", min: 0, max: 2, flexible: 0},
	UpdateFeatures:               {name: "UpdateFeatures", min: 0, max: 2, flexible: 0},
	DescribeCluster:              {name: "DescribeCluster", min: 0, max: 2, flexible: 0},
	DescribeProducers:            {name: "DescribeProducers", min: 0, max: 0, flexible: 0},
	UnregisterBroker:             {name: "UnregisterBroker", min: 0, max: 0, flexible: 0},
	DescribeTransactions:         {name: "DescribeTransactions", min: 0, max: 0, flexible: 0},
	ListTransactions:             {name: "ListTransactions", min: 0, max: 2, flexible: 0},
	ConsumerGroupHeartbeat:       {name: "ConsumerGroupHeartbeat", min: 0, max: 1, flexible: 0},
	ConsumerGroupDescribe:        {name: "ConsumerGroupDescribe", min: 0, max: 1, flexible: 0},
	GetTelemetrySubscriptions:    {name: "GetTelemetrySubscriptions", min: 0, max: 0, flexible: 0, unlisted: true},
	PushTelemetry:                {name: "PushTelemetry", min: 0, max: 0, flexible: 0, unlisted: true},
	ListConfigResources:          {name: "ListConfigResources", min: 0, max: 1, flexible: 0},
	DescribeTopicPartitions:      {name: "DescribeTopicPartitions", min: 0, max: 0, flexible: 0},
	ShareGroupHeartbeat:          {name: "ShareGroupHeartbeat", min: 1, max: 1, flexible: 1},
	ShareGroupDescribe:           {name: "ShareGroupDescribe", min: 1, max: 1, flexible: 1},
	ShareFetch:                   {name: "ShareFetch", min: 1, max: 2, flexible: 1},
	ShareAcknowledge:             {name: "ShareAcknowledge", min: 1, max: 2, flexible: 1},
	AddRaftVoter:                 {name: "AddRaftVoter", min: 0, max: 1, flexible: 0},
	RemoveRaftVoter:              {name: "RemoveRaftVoter", min: 0, max: 0, flexible: 0},
	InitializeShareGroupState:    {name: "InitializeShareGroupState", min: 0, max: 0, flexible: 0},
	ReadShareGroupState:          {name: "ReadShareGroupState", min: 0, max: 0, flexible: 0},
	WriteShareGroupState:         {name: "WriteShareGroupState", min: 0, max: 1, flexible: 0},
	DeleteShareGroupState:        {name: "DeleteShareGroupState", min: 0, max: 0, flexible: 0},
	ReadShareGroupStateSummary:   {name: "ReadShareGroupStateSummary", min: 0, max: 1, flexible: 0},
	StreamsGroupHeartbeat:        {name: "StreamsGroupHeartbeat", min: 0, max: 0, flexible: 0},
	StreamsGroupDescribe:         {name: "StreamsGroupDescribe", min: 0, max: 0, flexible: 0},
	DescribeShareGroupOffsets:    {name: "DescribeShareGroupOffsets", min: 0, max: 1, flexible: 0},
	AlterShareGroupOffsets:       {name: "AlterShareGroupOffsets", min: 0, max: 0, flexible: 0},
	DeleteShareGroupOffsets:      {name: "DeleteShareGroupOffsets", min: 0, max: 0, flexible: 0},
}

package broker

import "github.com/fakekafka/fakekafka/internal/wire"

// handler answers a request by returning: a response, nil for no answer (acks 0), or an error that closes the connection.
type handler func(*request) (answer, error)

// maxKey is above every API key of Kafka 4.3.1.
const maxKey = 93

// handlers is the protocol's table of contents: what is not here is not served, nor advertised.
func handlers() [maxKey]handler {
	return [maxKey]handler{
		wire.Produce:                (*request).produce,
		wire.Fetch:                  (*request).fetch,
		wire.ListOffsets:            (*request).listOffsets,
		wire.DeleteRecords:          (*request).deleteRecords,
		wire.InitProducerID:         (*request).initProducerID,
		wire.OffsetForLeaderEpoch:   (*request).offsetForLeaderEpoch,
		wire.DescribeLogDirs:        (*request).describeLogDirs,
		wire.DescribeProducers:      (*request).describeProducers,
		wire.Metadata:               (*request).metadata,
		wire.OffsetCommit:           (*request).offsetCommit,
		wire.OffsetFetch:            (*request).offsetFetch,
		wire.FindCoordinator:        (*request).findCoordinator,
		wire.JoinGroup:              (*request).joinGroup,
		wire.Heartbeat:              (*request).heartbeat,
		wire.LeaveGroup:             (*request).leaveGroup,
		wire.SyncGroup:              (*request).syncGroup,
		wire.DescribeGroups:         (*request).describeGroups,
		wire.ListGroups:             (*request).listGroups,
		wire.SASLHandshake:          (*request).saslHandshake,
		wire.ApiVersions:            (*request).apiVersions,
		wire.SASLAuthenticate:       (*request).saslAuthenticate,
		wire.DeleteGroups:           (*request).deleteGroups,
		wire.OffsetDelete:           (*request).offsetDelete,
		wire.DescribeCluster:        (*request).describeCluster,
		wire.ConsumerGroupHeartbeat: (*request).consumerGroupHeartbeat,
		wire.ConsumerGroupDescribe:  (*request).consumerGroupDescribe,
	}
}

package broker

import (
	"slices"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/fakekafka/fakekafka/internal/wire"
)

// How a Fail rule fails only what it names.

// failsPart tells whether a Fail rule fails only what it names, while the rest of the request is served.
func failsPart(rule *Rule, r *request) bool {
	switch {
	case failsRequest(r.body, *rule.Action.Fail):
		return false
	case r.key == wire.Fetch, rule.Topic != "", rule.Partition >= 0:
		return true
	}
	return rule.Group != "" && groupsApart(r)
}

// failsInside tells whether a Fail rule fails a partition of a request that names only topics, since Kafka has its error at each partition of the answer.
func failsInside(rule *Rule, req kmsg.Request) bool {
	if rule.Partition < 0 || rule.Action.Fail == nil || !aboutLeader(*rule.Action.Fail) {
		return false
	}
	switch req.(type) {
	case *kmsg.MetadataRequest, *kmsg.DescribeTopicPartitionsRequest:
		return true
	}
	return false
}

// failedInside tells whether rules before this one fail all that it fails inside of a topic.
func failedInside(before []*Rule, rule *Rule, req kmsg.Request) bool {
	return failsInside(rule, req) && slices.ContainsFunc(before, func(o *Rule) bool {
		return failsInside(o, req) && o.Partition == rule.Partition && (o.Topic == "" || o.Topic == rule.Topic)
	})
}

// aboutLeader tells of an error of Metadata whether it is one of a partition, not of the topic.
func aboutLeader(code wire.Code) bool {
	switch code {
	case wire.LeaderNotAvailable, wire.ListenerNotFound, wire.ReplicaNotAvailable:
		return true
	}
	return false
}

// groupsApart tells whether a request has an entry for each of several groups.
func groupsApart(r *request) bool {
	switch r.key {
	case wire.DescribeGroups, wire.DeleteGroups, wire.ConsumerGroupDescribe:
		return true
	case wire.OffsetFetch:
		return r.version >= 8
	case wire.FindCoordinator:
		return r.version >= 4
	}
	return false
}

// failsRequest tells of an error whether it is one of the request as a whole in Kafka, so that it can't be that of a part of it: it stands at the top of the
// answer, or of old versions at everything that is named.
func failsRequest(req kmsg.Request, code wire.Code) bool {
	switch req := req.(type) {
	case *kmsg.FetchRequest:
		switch code {
		case wire.FetchSessionIDNotFound, wire.InvalidFetchSessionEpoch, wire.FetchSessionTopicIDError, wire.UnknownServerError:
			return true
		}
	case *kmsg.ElectLeadersRequest, *kmsg.AlterPartitionAssignmentsRequest:
		return !aboutPartition(code)
	case *kmsg.ListPartitionReassignmentsRequest, *kmsg.DescribeLogDirsRequest, *kmsg.DescribeQuorumRequest:
		return true
	case *kmsg.OffsetDeleteRequest:
		return !aboutOffset(code)
	case *kmsg.OffsetFetchRequest:
		return req.Version < 8 && !aboutOffset(code)
	case *kmsg.AddPartitionsToTxnRequest:
		if req.Version < 4 {
			return !aboutAddedPartition(code)
		}
		return code == wire.ClusterAuthorizationFailed || code == wire.UnknownServerError
	}
	return false
}

// failsBeside is the error that the other entries of a group or transaction get when e fails with code: NONE where each entry stands for itself.
func failsBeside(req kmsg.Request, e *entry, code wire.Code) wire.Code {
	switch req := req.(type) {
	case *kmsg.OffsetFetchRequest:
		if !aboutOffset(code) {
			return code
		}
	case *kmsg.AddPartitionsToTxnRequest: // all of a transaction's partitions are added, or none
		switch {
		case aboutAddedPartition(code):
			return wire.OperationNotAttempted
		case req.Version >= 4 && req.Transactions[e.parent].VerifyOnly && (code == wire.TransactionAbortable || code == wire.InvalidTxnState):
			return wire.None // whether a partition is in the transaction is asked of each
		}
		return code
	}
	return wire.None
}

// aboutOffset tells of an error of OffsetFetch or OffsetDelete whether it is one of a partition, not of the group.
func aboutOffset(code wire.Code) bool {
	switch code {
	case wire.UnknownTopicOrPartition, wire.TopicAuthorizationFailed, wire.UnknownTopicID, wire.UnstableOffsetCommit, wire.GroupSubscribedToTopic:
		return true
	}
	return false
}

// aboutAddedPartition tells of an error of AddPartitionsToTxn whether it is one of a partition, not of the transaction.
func aboutAddedPartition(code wire.Code) bool {
	switch code {
	case wire.UnknownTopicOrPartition, wire.TopicAuthorizationFailed, wire.OperationNotAttempted:
		return true
	}
	return false
}

// failCode is the error of an entry that the test fails, NONE for others.
type failCode func(*entry) wire.Code

// codesOf is what rules make of the entries of a request; of several that name the same the first one counts.
func (c *Cluster) codesOf(req kmsg.Request, rules []*Rule) failCode {
	named := func(e *entry) wire.Code {
		for _, rule := range rules {
			if c.means(rule, e) && (e.ofPartition || !failsInside(rule, req)) {
				return *rule.Action.Fail
			}
		}
		return wire.None
	}
	beside := map[int]wire.Code{} // by parent
	part(req, false, func(e *entry) bool {
		if code := named(e); code != wire.None && beside[e.parent] == wire.None {
			beside[e.parent] = failsBeside(req, e, code)
		}
		return false
	})
	return func(e *entry) wire.Code {
		if code := named(e); code != wire.None {
			return code
		}
		return beside[e.parent]
	}
}

// leftBy is what rules that fail parts leave of a request, nil for nothing. An incremental Fetch stays whole, since it is also about partitions of its
// session that it doesn't name.
func (c *Cluster) leftBy(r *request, failing []*Rule) kmsg.Request {
	if f, ok := r.body.(*kmsg.FetchRequest); ok && f.SessionEpoch > 0 {
		if last := failing[len(failing)-1]; last.Topic == "" && last.Partition < 0 {
			return nil
		}
		return r.body
	}
	codeOf := c.codesOf(r.body, failing)
	if rest, n := part(r.body, true, func(e *entry) bool { return codeOf(e) == wire.None }); n > 0 {
		return rest
	}
	return nil
}

// failedTopic is the error that the test wants for a topic, by name or id; NONE: it is served.
func (r *request) failedTopic(topic string, id [16]byte) wire.Code {
	if r.fails == nil {
		return wire.None
	}
	return r.fails(&entry{ofTopic: true, topic: topic, id: id})
}

// failedPartition is the same of a partition.
func (r *request) failedPartition(topic string, id [16]byte, index int32) wire.Code {
	if r.fails == nil {
		return wire.None
	}
	return r.fails(&entry{ofTopic: true, topic: topic, id: id, ofPartition: true, partition: index})
}

// failsItself tells whether an API's handler puts errors of a part into its answer by itself, since that depends on more than the request names: on what a session
// has, on what is told of the cluster beside the topics, on where a page ends.
func failsItself(key wire.Key) bool {
	return key == wire.Fetch || key == wire.Metadata || key == wire.DescribeTopicPartitions
}

// handlePartly handles a request of which rules fail a part: what they name is taken out, the rest is handled as if it were all, and then the
// errors are put into the answer at the places that they have in the request. serving tells that fn serves the request, not the test.
func (c *Cluster) handlePartly(r *request, fn handler, serving bool, failing []*Rule) (answer, error) {
	switch {
	case serving && failsItself(r.key):
		r.fails = c.codesOf(r.body, failing)
		return r.run(fn)
	case r.key == wire.Fetch: // a rule after these answers for the whole of it
		return r.run(fn)
	}
	codeOf := c.codesOf(r.body, failing)
	var codes []wire.Code // that are answered, in the order of the request
	rest := *r
	var left int
	rest.body, left = part(r.body, true, func(e *entry) bool {
		code := codeOf(e)
		if code != wire.None && !slices.Contains(codes, code) {
			codes = append(codes, code)
		}
		return code == wire.None
	})
	switch {
	case len(codes) == 0: // what the rules named is gone by now
		return r.run(fn)
	case left == 0 && len(codes) == 1:
		return errorForm(r, codes[0]), nil
	}
	resp := r.body.ResponseKind()
	if left > 0 {
		ans, err := rest.run(fn)
		r.wait = rest.wait
		if err != nil {
			return nil, err
		}
		served, ok := ans.(kmsg.Response)
		if !ok {
			return ans, nil // a Produce with acks=0
		}
		resp = served
	}
	for _, code := range codes {
		failed := *r
		failed.body, _ = part(r.body, false, func(e *entry) bool { return codeOf(e) == code })
		join(resp, errorForm(&failed, code).(kmsg.Response), errorForm(r, code).(kmsg.Response))
	}
	return resp, nil
}

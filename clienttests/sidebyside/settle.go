package main

import (
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// busy are the codes of a broker that is still at something: a coordinator that loads, a transaction that ends.
var busy = regexp.MustCompile(`ErrorCode:(14|15|16|51)\b`)

func isBusy(a answer) bool { return a.tree != nil && busy.MatchString(a.tree.String()) }

// passing tells whether two answers differ for now only.
func passing(k, o answer) bool {
	where, _, _ := differ(k, o)
	return where != "" && isBusy(k) != isBusy(o)
}

// reads are requests that Kafka's brokers answer from what they have read of the controller's log so far, or from what is committed of a coordinator's,
// which need not be all that was answered: a JoinGroup is told its member's id before the group's record is. They change nothing, so that a
// broker that is behind can be asked again.
var reads = map[int16]bool{
	3:  true, // Metadata
	15: true, // DescribeGroups
	16: true, // ListGroups
	32: true, // DescribeConfigs
	35: true, // DescribeLogDirs
	46: true, // ListPartitionReassignments
	48: true, // DescribeClientQuotas
	50: true, // DescribeUserScramCredentials
	69: true, // ConsumerGroupDescribe
	74: true, // ListConfigResources
	75: true, // DescribeTopicPartitions
}

// behind tells whether Kafka's answer may be one of a moment ago.
func behind(key int16, k, o answer) bool {
	where, _, _ := differ(k, o)
	return where != "" && reads[key]
}

// settle waits after what a broker finishes behind its answer, so that the next request finds it finished.
func (s *session) settle(q kmsg.Request, a answer) {
	switch q := q.(type) {
	case *kmsg.EndTxnRequest:
		s.settleTransaction(q.TransactionalID)
	case *kmsg.InitProducerIDRequest:
		if q.TransactionalID != nil {
			s.settleTransaction(*q.TransactionalID)
		}
	case *kmsg.ConsumerGroupHeartbeatRequest:
		if q.SubscribedTopicRegex != nil && a.what == answered { // topics are matched by a thread of its own
			time.Sleep(50 * time.Millisecond)
			describe := kmsg.NewPtrConsumerGroupDescribeRequest()
			describe.Groups = []string{q.Group}
			s.settleOn(describe)
		}
	case *kmsg.CreateTopicsRequest, *kmsg.DeleteTopicsRequest, *kmsg.CreatePartitionsRequest, *kmsg.AlterPartitionAssignmentsRequest:
		s.settleTopics(slices.Sorted(maps.Keys(s.kafka.world.made)))
	case *kmsg.MetadataRequest:
		if q.Version < 4 || q.AllowAutoTopicCreation { // it may have made them
			var names []string
			for _, t := range q.Topics {
				if t.Topic != nil {
					names = append(names, *t.Topic)
				}
			}
			s.settleTopics(names)
		}
	case *kmsg.IncrementalAlterConfigsRequest, *kmsg.AlterConfigsRequest,
		*kmsg.AlterClientQuotasRequest, *kmsg.AlterUserSCRAMCredentialsRequest: // the controller answers before the broker has read its log
		time.Sleep(80 * time.Millisecond)
	case *kmsg.WriteTxnMarkersRequest:
		time.Sleep(30 * time.Millisecond)
	}
}

// settleTransaction waits until the transaction's markers are written.
func (s *session) settleTransaction(id string) {
	q := kmsg.NewPtrDescribeTransactionsRequest()
	q.TransactionalIDs = []string{id}
	for _, on := range []*side{s.kafka, s.ours} {
		c, err := dial(on.addr)
		if err != nil {
			return // the next request says so
		}
		for range 80 {
			c.send(frameOf(q))
			o := c.await(answerLimit)
			r, err := decode(q, o.frame)
			if err != nil {
				break
			}
			states := r.(*kmsg.DescribeTransactionsResponse).TransactionStates
			if len(states) == 0 || !strings.HasPrefix(states[0].State, "Prepare") {
				break
			}
			time.Sleep(10 * time.Millisecond)
		}
		c.close()
	}
}

// settleTopics waits until Kafka's broker has read what its controller has done: until both brokers tell the same of these topics.
func (s *session) settleTopics(names []string) {
	q := kmsg.NewPtrMetadataRequest()
	q.Version = 4 // the first that doesn't have to make the topics it asks for
	for _, name := range names {
		q.Topics = append(q.Topics, kmsg.MetadataRequestTopic{Topic: &name})
	}
	if len(names) > 0 {
		s.settleOn(q)
	}
}

// settleOn waits until both brokers give the same answer, for a second at most: if they don't, the next request will say so.
func (s *session) settleOn(q kmsg.Request) {
	k, err := dial(s.kafka.addr)
	if err != nil {
		return
	}
	defer k.close()
	o, err := dial(s.ours.addr)
	if err != nil {
		return
	}
	defer o.close()
	namesK, namesO := s.kafka.names, s.ours.names
	defer func() { s.kafka.names, s.ours.names = namesK, namesO }()
	for range 50 {
		s.kafka.names, s.ours.names = namesK.clone(), namesO.clone()
		k.send(frameOf(q))
		o.send(frameOf(q))
		ak, ao := s.kafka.read(k.await(answerLimit), q), s.ours.read(o.await(answerLimit), q)
		if where, _, _ := differ(ak, ao); where == "" {
			return
		}
		time.Sleep(20 * time.Millisecond)
	}
}

package main

import (
	"fmt"
	"slices"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// tame takes out what would do harm to the broker as a whole, or what Kafka never answers (DIFFERENCES.md): a wait for each would take the
// time of a hundred requests.
func tame(q kmsg.Request) {
	switch q := q.(type) {
	case *kmsg.UpdateFeaturesRequest:
		q.ValidateOnly = true
		if q.Version == 0 { // it has no such field
			q.FeatureUpdates = nil
		}
	case *kmsg.UnregisterBrokerRequest:
		if q.BrokerID == 1 {
			q.BrokerID = 7
		}
	case *kmsg.CreateTopicsRequest:
		for i := range q.Topics {
			if q.Topics[i].NumPartitions > 100 {
				q.Topics[i].NumPartitions = 0
			}
		}
	case *kmsg.DeleteTopicsRequest: // without the topics of the coordinators no sequence goes on
		q.TopicNames = slices.DeleteFunc(q.TopicNames, internal)
		q.Topics = slices.DeleteFunc(q.Topics, func(t kmsg.DeleteTopicsRequestTopic) bool { return t.Topic != nil && internal(*t.Topic) })
	case *kmsg.CreatePartitionsRequest:
		for i := range q.Topics {
			switch count := q.Topics[i].Count; {
			case count > 100 && (count < 20000 || !q.ValidateOnly): // more than fit are refused, and up to 10,000 made all the same
				q.Topics[i].Count = 1
			case count > 1<<20: // the controller's heap decides whether the request fails as a whole
				q.Topics[i].Count = 20000
			}
		}
	case *kmsg.DescribeConfigsRequest:
		for i, r := range q.Resources {
			if r.ResourceType == kmsg.ConfigResourceTypeBrokerLogger && r.ResourceName == "1" {
				q.Resources[i].ResourceName = "2" // DIFFERENCES.md: here it has one logger
			}
		}
	case *kmsg.IncrementalAlterConfigsRequest:
		for _, r := range q.Resources {
			q.ValidateOnly = q.ValidateOnly || ofAll(r.ResourceType)
		}
	case *kmsg.AlterClientQuotasRequest:
		for _, e := range q.Entries {
			for _, of := range e.Entity { // a default would hold for every sequence
				q.ValidateOnly = q.ValidateOnly || of.Name == nil
			}
		}
	case *kmsg.AlterConfigsRequest:
		for _, r := range q.Resources {
			q.ValidateOnly = q.ValidateOnly || ofAll(r.ResourceType)
		}
		q.Resources = once(q.Resources, func(r kmsg.AlterConfigsRequestResource) string {
			return fmt.Sprint(int8(r.ResourceType), []rune(r.ResourceName))
		})
	case *kmsg.WriteTxnMarkersRequest:
		q.Markers = q.Markers[:min(1, len(q.Markers))]
		for i := range q.Markers {
			q.Markers[i].Topics = once(q.Markers[i].Topics, func(t kmsg.WriteTxnMarkersRequestMarkerTopic) string { return fmt.Sprint([]rune(t.Topic)) })
			for k := range q.Markers[i].Topics {
				t := &q.Markers[i].Topics[k]
				t.Partitions = once(t.Partitions, func(p int32) string { return fmt.Sprint(p) })
			}
		}
	case *kmsg.AddPartitionsToTxnRequest:
		if q.Version >= 4 && len(q.Transactions) == 0 {
			q.Transactions = []kmsg.AddPartitionsToTxnRequestTransaction{{TransactionalID: "none"}}
		}
	case *kmsg.JoinGroupRequest:
		q.Protocols = once(q.Protocols, func(p kmsg.JoinGroupRequestProtocol) string { return fmt.Sprint([]rune(p.Name)) })
		for i := range q.Protocols {
			if unread(q.Protocols[i]) {
				q.Protocols[i].Metadata = []byte{0}
			}
		}
	case *kmsg.ProduceRequest:
		if q.Acks == 0 { // no answer is due
			q.Acks = 1
		}
		for i := range q.Topics {
			for k := range q.Topics[i].Partitions {
				if p := &q.Topics[i].Partitions[k]; p.Records == nil {
					p.Records = []byte{}
				}
			}
		}
	case *kmsg.DescribeTopicPartitionsRequest:
		if len(q.Topics) == 0 { // all: the pages would be full of other sequences' topics
			q.Topics = append(q.Topics, kmsg.DescribeTopicPartitionsRequestTopic{Topic: "none"})
		}
	case *kmsg.FetchRequest:
		q.MaxWaitMillis, q.ReplicaID = 0, min(q.ReplicaID, 0)
	}
}

// internal tells of a topic that a coordinator keeps its state in.
func internal(topic string) bool {
	return topic == "__consumer_offsets" || topic == "__transaction_state"
}

// ofAll tells of settings that hold for the clients of every sequence.
func ofAll(t kmsg.ConfigResourceType) bool {
	return t == kmsg.ConfigResourceTypeBroker || t == kmsg.ConfigResourceTypeClientMetrics
}

// unread tells of a subscription that announces more than it has: a group with such a member is stuck in Kafka.
func unread(p kmsg.JoinGroupRequestProtocol) bool {
	return len(p.Metadata) > 6 && new(kmsg.ConsumerMemberMetadata).ReadFrom(p.Metadata) != nil
}

// wild tells of a damaged request that is one of those that tame would have changed for being never answered, or for keeping the live broker busy for minutes.
func wild(q kmsg.Request) bool {
	switch q := q.(type) {
	case *kmsg.JoinGroupRequest:
		return slices.ContainsFunc(q.Protocols, unread)
	case *kmsg.CreateTopicsRequest:
		return slices.ContainsFunc(q.Topics, func(t kmsg.CreateTopicsRequestTopic) bool { return t.NumPartitions > 100 })
	case *kmsg.CreatePartitionsRequest:
		return slices.ContainsFunc(q.Topics, func(t kmsg.CreatePartitionsRequestTopic) bool { return t.Count > 100 })
	}
	return false
}

// fragile are requests that a flipped bit could make one that the broker doesn't survive, or that change it for all.
var fragile = map[int16]bool{
	57: true, // UpdateFeatures
	64: true, // UnregisterBroker
	80: true, // AddRaftVoter
	81: true, // RemoveRaftVoter
}

// once leaves out what stands there a second time.
func once[T any](list []T, key func(T) string) []T {
	if list == nil {
		return nil
	}
	seen := map[string]bool{}
	out := list[:0:0]
	for _, e := range list {
		if k := key(e); !seen[k] {
			seen[k] = true
			out = append(out, e)
		}
	}
	return out
}

package groups

import (
	"slices"
	"strconv"
	"strings"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// The commands of classic members.

func (w *script) join() error {
	c := w.client()
	req := kmsg.NewPtrJoinGroupRequest()
	req.Version = int16(w.number("version", 9))
	req.Group = w.group()
	req.SessionTimeoutMillis = int32(w.duration("session", scriptSession).Milliseconds())
	req.RebalanceTimeoutMillis = int32(w.duration("rebalance", scriptRebalance).Milliseconds())
	req.MemberID = w.unalias(w.str("member", c.member))
	req.InstanceID = w.instance()
	req.ProtocolType = w.str("type", "consumer")
	if reason, ok := w.arg("reason"); ok {
		req.Reason = &reason
	}
	names := w.words("protocols")
	if names == nil && !w.has("no-protocols") {
		names = []string{w.str("protocol", "range")}
	}
	metadata, given := w.arg("metadata")
	if given {
		metadata = unescaped(metadata)
	} else {
		topics := w.words("topics")
		if topics == nil {
			topics = []string{"foo"}
		}
		metadata = string(subscriptionBytes(topics, w.words("owned")))
		if w.str("owned", "") == "none" {
			metadata = metadata[:len(metadata)-4] // as kafka-go: no list at all, though version 1 has one
		}
	}
	for _, name := range names {
		name, topics, own := strings.Cut(name, ":")
		p := kmsg.NewJoinGroupRequestProtocol()
		p.Name, p.Metadata = name, []byte(metadata)
		if own {
			p.Metadata = subscriptionBytes(strings.Split(topics, "+"), nil)
		}
		req.Protocols = append(req.Protocols, p)
	}
	w.send(c, req)
	return nil
}

// unescaped has the bytes for escapes as in Go, such as \x00.
func unescaped(text string) string {
	if bytes, err := strconv.Unquote(`"` + text + `"`); err == nil {
		return bytes
	}
	return text
}

// subscriptionBytes are a consumer's metadata, version 1.
func subscriptionBytes(topics, owned []string) []byte {
	m := kmsg.NewConsumerMemberMetadata()
	m.Version, m.Topics = 1, topics
	for topic, partitions := range partitionsOf(owned) {
		o := kmsg.NewConsumerMemberMetadataOwnedPartition()
		o.Topic, o.Partitions = topic, partitions
		m.OwnedPartitions = append(m.OwnedPartitions, o)
	}
	slices.SortFunc(m.OwnedPartitions, func(a, b kmsg.ConsumerMemberMetadataOwnedPartition) int { return strings.Compare(a.Topic, b.Topic) })
	return m.AppendTo(nil)
}

func assignmentBytes(assigned map[string][]int32) []byte {
	a := kmsg.NewConsumerMemberAssignment()
	for topic, partitions := range assigned {
		t := kmsg.NewConsumerMemberAssignmentTopic()
		t.Topic, t.Partitions = topic, partitions
		a.Topics = append(a.Topics, t)
	}
	slices.SortFunc(a.Topics, func(a, b kmsg.ConsumerMemberAssignmentTopic) int { return strings.Compare(a.Topic, b.Topic) })
	return a.AppendTo(nil)
}

// partitionsOf reads topic-partition words.
func partitionsOf(words []string) map[string][]int32 {
	out := map[string][]int32{}
	for _, word := range words {
		if tp, ok := parsePartition(word); ok {
			out[tp.topic] = append(out[tp.topic], tp.partition)
		}
	}
	return out
}

func (w *script) sync() error {
	c := w.client()
	req := kmsg.NewPtrSyncGroupRequest()
	req.Version = int16(w.number("version", 5))
	req.Group = w.group()
	req.Generation = int32(w.number("generation", int(c.gen)))
	req.MemberID = w.unalias(w.str("member", c.member))
	req.InstanceID = w.instance()
	if req.Version >= 5 {
		req.ProtocolType, req.Protocol = kmsg.StringPtr(w.str("type", "consumer")), kmsg.StringPtr(w.str("protocol", "range"))
		switch w.str("null", "") {
		case "type":
			req.ProtocolType = nil
		case "protocol":
			req.Protocol = nil
		}
	}
	for _, a := range w.words("assign") {
		name, partitions, _ := strings.Cut(a, ":")
		sa := kmsg.NewSyncGroupRequestGroupAssignment()
		sa.MemberID = w.unalias(name)
		if other := w.clients[name]; other != nil {
			sa.MemberID = other.member
		}
		sa.MemberAssignment = assignmentBytes(partitionsOf(strings.Split(partitions, "+")))
		if text, is := strings.CutPrefix(partitions, "!"); is {
			sa.MemberAssignment = []byte(unescaped(text))
		}
		req.GroupAssignment = append(req.GroupAssignment, sa)
	}
	w.send(c, req)
	return nil
}

func (w *script) heartbeat() error {
	c := w.client()
	req := kmsg.NewPtrHeartbeatRequest()
	req.Version = int16(w.number("version", 4))
	req.Group = w.group()
	req.Generation = int32(w.number("generation", int(c.gen)))
	req.MemberID = w.unalias(w.str("member", c.member))
	req.InstanceID = w.instance()
	w.send(c, req)
	return nil
}

func (w *script) leave() error {
	c := w.client()
	req := kmsg.NewPtrLeaveGroupRequest()
	req.Version = int16(w.number("version", 5))
	req.Group = w.group()
	req.MemberID = w.unalias(w.str("member", c.member))
	names := w.words("members")
	if names == nil {
		m := kmsg.NewLeaveGroupRequestMember()
		m.MemberID, m.InstanceID = req.MemberID, w.instance()
		if reason, ok := w.arg("reason"); ok {
			m.Reason = &reason
		}
		req.Members = append(req.Members, m)
	}
	for _, name := range names {
		m := kmsg.NewLeaveGroupRequestMember()
		name, instance, static := strings.Cut(name, "@")
		if static {
			m.InstanceID = &instance
		}
		m.MemberID = w.unalias(name)
		if other := w.clients[name]; other != nil {
			m.MemberID = other.member
		}
		req.Members = append(req.Members, m)
	}
	w.send(c, req)
	return nil
}

package groups

import "github.com/twmb/franz-go/pkg/kmsg"

// The commands of committed offsets.

func (w *script) commit() error {
	c := w.client()
	req := kmsg.NewPtrOffsetCommitRequest()
	req.Version = int16(w.number("version", 9))
	req.Group = w.group()
	if !w.has("anonymous") {
		req.Generation = int32(w.number("generation", int(c.gen)))
		req.MemberID = w.unalias(w.str("member", c.member))
		req.InstanceID = w.instance()
	}
	if d := w.duration("retention", -1); d >= 0 {
		req.RetentionTimeMillis = d.Milliseconds()
	}
	keys, offsets := w.partitions()
	for i, tp := range keys {
		t := kmsg.NewOffsetCommitRequestTopic()
		t.Topic = tp.topic
		if topic, ok := w.meta.Topic(tp.topic); ok {
			t.TopicID = topic.ID
		}
		p := kmsg.NewOffsetCommitRequestTopicPartition()
		p.Partition, p.Offset, p.LeaderEpoch = tp.partition, offsets[i], int32(w.number("epoch", -1))
		if v, ok := w.arg("metadata"); ok {
			p.Metadata = &v
		}
		t.Partitions = append(t.Partitions, p)
		req.Topics = append(req.Topics, t)
	}
	w.send(c, req)
	return nil
}

func (w *script) txnCommit() error {
	c := w.client()
	req := kmsg.NewPtrTxnOffsetCommitRequest()
	req.Version = int16(w.number("version", 3))
	req.Group = w.group()
	req.ProducerID = int64(w.number("producer", 0))
	if !w.has("anonymous") {
		req.Generation = int32(w.number("generation", int(c.gen)))
		req.MemberID = w.unalias(w.str("member", c.member))
		req.InstanceID = w.instance()
	}
	keys, offsets := w.partitions()
	for i, tp := range keys {
		t := kmsg.NewTxnOffsetCommitRequestTopic()
		t.Topic = tp.topic
		p := kmsg.NewTxnOffsetCommitRequestTopicPartition()
		p.Partition, p.Offset, p.LeaderEpoch = tp.partition, offsets[i], int32(w.number("epoch", -1))
		if v, ok := w.arg("metadata"); ok {
			p.Metadata = &v
		}
		t.Partitions = append(t.Partitions, p)
		req.Topics = append(req.Topics, t)
	}
	w.send(c, req)
	return nil
}

func (w *script) endTxn() error {
	id := int64(w.number("producer", 0))
	w.effects(w.shard.CompleteTransaction(w.now, id, 0, w.has("commit"), int64(len(w.log))))
	w.log = append(w.log, loggedRecord{producer: id, marker: true, commit: w.has("commit")})
	return nil
}

func (w *script) fetch() error {
	c := w.client()
	req := kmsg.NewPtrOffsetFetchRequest()
	req.Version = int16(w.number("version", 9))
	req.RequireStable = w.has("stable")
	g := kmsg.NewOffsetFetchRequestGroup()
	g.Group = w.group()
	if w.has("as-member") {
		id := w.unalias(w.str("member", c.member))
		g.MemberID, g.MemberEpoch = &id, int32(w.number("generation", int(c.gen)))
	}
	keys, _ := w.partitions()
	for _, tp := range keys {
		t := kmsg.NewOffsetFetchRequestGroupTopic()
		t.Topic, t.Partitions = tp.topic, []int32{tp.partition}
		if topic, ok := w.meta.Topic(tp.topic); ok {
			t.TopicID = topic.ID
		}
		g.Topics = append(g.Topics, t)
	}
	if req.Version < 8 {
		req.Group = g.Group
		for _, t := range g.Topics {
			old := kmsg.NewOffsetFetchRequestTopic()
			old.Topic, old.Partitions = t.Topic, t.Partitions
			req.Topics = append(req.Topics, old)
		}
	} else {
		req.Groups = append(req.Groups, g)
	}
	w.send(c, req)
	return nil
}

func (w *script) deleteOffsets() error {
	c := w.client()
	req := kmsg.NewPtrOffsetDeleteRequest()
	req.Group = w.group()
	keys, _ := w.partitions()
	for _, tp := range keys {
		t := kmsg.NewOffsetDeleteRequestTopic()
		t.Topic = tp.topic
		p := kmsg.NewOffsetDeleteRequestTopicPartition()
		p.Partition = tp.partition
		t.Partitions = append(t.Partitions, p)
		req.Topics = append(req.Topics, t)
	}
	w.send(c, req)
	return nil
}

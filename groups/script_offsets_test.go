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
		if last := len(req.Topics) - 1; w.has("grouped") && last >= 0 && req.Topics[last].Topic == tp.topic {
			req.Topics[last].Partitions = append(req.Topics[last].Partitions, p)
			continue
		}
		t.Partitions = append(t.Partitions, p)
		req.Topics = append(req.Topics, t)
	}
	for _, name := range w.words("no-partitions") {
		t := kmsg.NewOffsetCommitRequestTopic()
		t.Topic = name
		req.Topics = append(req.Topics, t)
	}
	for i := range req.Topics {
		if req.Version >= 10 {
			req.Topics[i].Topic = "" // it has ids
		}
	}
	w.send(c, req)
	return nil
}

func (w *script) txnCommit() error {
	c := w.client()
	req := kmsg.NewPtrTxnOffsetCommitRequest()
	req.Version = int16(w.number("version", 3))
	req.Group = w.group()
	req.ProducerID, req.ProducerEpoch = int64(w.number("producer", 0)), int16(w.number("producer-epoch", -1))
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
		if last := len(req.Topics) - 1; w.has("grouped") && last >= 0 && req.Topics[last].Topic == tp.topic {
			req.Topics[last].Partitions = append(req.Topics[last].Partitions, p)
			continue
		}
		t.Partitions = append(t.Partitions, p)
		req.Topics = append(req.Topics, t)
	}
	for _, name := range w.words("no-partitions") {
		t := kmsg.NewTxnOffsetCommitRequestTopic()
		t.Topic = name
		req.Topics = append(req.Topics, t)
	}
	cmd := w.command(c, req)
	if w.has("verify") {
		code := int16(w.number("verify", 0))
		cmd.Verify = func() int16 {
			w.printf("the transaction coordinator is asked")
			return code
		}
	}
	w.handle(c, cmd)
	return nil
}

func (w *script) endTxn() error {
	id := int64(w.number("producer", 0))
	w.effects(w.shard.CompleteTransaction(w.now, id, w.has("commit"), int64(len(w.log))))
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
	if w.has("no-topics") {
		g.Topics = []kmsg.OffsetFetchRequestGroupTopic{}
	}
	keys, _ := w.partitions()
	for _, tp := range keys {
		t := kmsg.NewOffsetFetchRequestGroupTopic()
		t.Topic, t.Partitions = tp.topic, []int32{tp.partition}
		if topic, ok := w.meta.Topic(tp.topic); ok {
			t.TopicID = topic.ID
		}
		if last := len(g.Topics) - 1; w.has("grouped") && last >= 0 && g.Topics[last].Topic == tp.topic {
			g.Topics[last].Partitions = append(g.Topics[last].Partitions, tp.partition)
			continue
		}
		g.Topics = append(g.Topics, t)
	}
	for i := range g.Topics {
		if req.Version >= 10 {
			g.Topics[i].Topic = "" // it has ids
		}
	}
	if req.Version < 8 {
		req.Group = g.Group
		if g.Topics != nil {
			req.Topics = []kmsg.OffsetFetchRequestTopic{}
		}
		for _, t := range g.Topics {
			old := kmsg.NewOffsetFetchRequestTopic()
			old.Topic, old.Partitions = t.Topic, t.Partitions
			req.Topics = append(req.Topics, old)
		}
	} else {
		req.Groups = append(req.Groups, g)
		for _, other := range w.words("and") { // the same of other groups
			g.Group = other
			req.Groups = append(req.Groups, g)
		}
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
		if last := len(req.Topics) - 1; w.has("grouped") && last >= 0 && req.Topics[last].Topic == tp.topic {
			req.Topics[last].Partitions = append(req.Topics[last].Partitions, p)
			continue
		}
		t.Partitions = append(t.Partitions, p)
		req.Topics = append(req.Topics, t)
	}
	for _, name := range w.words("no-partitions") {
		t := kmsg.NewOffsetDeleteRequestTopic()
		t.Topic = name
		req.Topics = append(req.Topics, t)
	}
	w.send(c, req)
	return nil
}

package groups

import (
	"unicode/utf16"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/fakekafka/fakekafka/assignors"
	"github.com/fakekafka/fakekafka/internal/records"
)

// commitRequest is what OffsetCommit and TxnOffsetCommit have in common.
type commitRequest struct {
	group      string
	clientID   string
	memberID   string
	instanceID *string
	epoch      int32 // generation or member epoch; negative: none
	version    int16
	txn        bool
	// offsets are those of partitions that exist.
	offsets []offsetToCommit
}

// offsetToCommit is one offset of a request, and where its answer belongs.
type offsetToCommit struct {
	topicPartition
	topicID     assignors.TopicID // zero in transactions
	offset      int64
	leaderEpoch int32
	metadata    *string
	code        *int16 // in the answer
}

// commitAnswer collects the answer of either API. Kafka answers partitions that don't exist before it asks the group, and merges the
// two by topic where there are both; a topic that nothing is asked of is only in the answer if it doesn't exist.
type commitAnswer struct {
	refused []commitTopic // don't exist
	checked []commitTopic // went to the group
	place   map[topicKey]int
}

type topicKey struct {
	name string
	id   assignors.TopicID
}

type commitTopic struct {
	topicKey
	partitions []commitPartition
}

type commitPartition struct {
	number int32
	code   int16
}

// refuse adds partitions that don't exist. Several entries of one topic become one.
func (a *commitAnswer) refuse(t commitTopic) {
	if a.place == nil {
		a.place = make(map[topicKey]int)
	}
	i, ok := a.place[t.topicKey]
	if !ok {
		a.place[t.topicKey] = len(a.refused)
		a.refused = append(a.refused, t)
		return
	}
	a.refused[i].partitions = append(a.refused[i].partitions, t.partitions...)
}

// topics are those of the answer.
func (a *commitAnswer) topics() []commitTopic {
	if len(a.refused) == 0 {
		return a.checked
	}
	for _, t := range a.checked {
		a.refuse(t)
	}
	return a.refused
}

// sort takes one topic of a request apart: partitions that don't exist are refused, the others are to be committed.
// at answers the i-th of n partitions.
func (a *commitAnswer) sort(commit *commitRequest, key topicKey, topic Topic, unknown int16, n int, at func(i int) offsetToCommit) {
	if unknown != errNone {
		refused := make([]commitPartition, n)
		for i := range refused {
			refused[i] = commitPartition{at(i).partition, unknown}
		}
		a.refuse(commitTopic{key, refused})
		return
	}
	checked := commitTopic{key, make([]commitPartition, 0, n)}
	for i := range n {
		o := at(i)
		if o.partition < 0 || o.partition >= topic.Partitions {
			a.refuse(commitTopic{key, []commitPartition{{o.partition, errUnknownTopicOrPartition}}})
			continue
		}
		checked.partitions = append(checked.partitions, commitPartition{number: o.partition})
		o.topic, o.code = topic.Name, &checked.partitions[len(checked.partitions)-1].code
		commit.offsets = append(commit.offsets, o)
	}
	if len(checked.partitions) > 0 {
		a.checked = append(a.checked, checked)
	}
}

// offsetCommit is OffsetCommit (key 8, v2 to v10). Partitions that don't exist fail first; if no other is left the group is not
// looked at.
func (s *Shard) offsetCommit(c Command, req *kmsg.OffsetCommitRequest) {
	commit, answer := sortOffsetCommit(s.meta, c.Client, req)
	if len(commit.offsets) > 0 {
		expire := int64(-1)
		if req.RetentionTimeMillis != -1 {
			expire = s.now.UnixMilli() + req.RetentionTimeMillis
		}
		s.commitOffsets(commit, expire)
	}
	s.reply(c.Ticket, answer.toOffsetCommit(req))
}

// sortOffsetCommit takes a request apart: what is to be committed, and the answer so far.
func sortOffsetCommit(meta Metadata, client Client, req *kmsg.OffsetCommitRequest) (commit commitRequest, answer commitAnswer) {
	commit = commitRequest{
		group: req.Group, clientID: client.ID, memberID: req.MemberID, instanceID: req.InstanceID, epoch: req.Generation, version: req.Version,
	}
	for _, t := range req.Topics {
		topic, known := meta.Topic(t.Topic)
		unknown := errUnknownTopicOrPartition
		if req.Version >= 10 {
			topic, known = meta.TopicByID(t.TopicID)
			unknown = errUnknownTopicID
		}
		if known {
			unknown = errNone
		}
		answer.sort(&commit, topicKey{t.Topic, t.TopicID}, topic, unknown, len(t.Partitions), func(i int) offsetToCommit {
			p := &t.Partitions[i]
			return offsetToCommit{
				topicPartition: topicPartition{partition: p.Partition}, topicID: topic.ID,
				offset: p.Offset, leaderEpoch: p.LeaderEpoch, metadata: p.Metadata,
			}
		})
	}
	return commit, answer
}

// toOffsetCommit is the answer in the form of OffsetCommit.
func (a *commitAnswer) toOffsetCommit(req *kmsg.OffsetCommitRequest) *kmsg.OffsetCommitResponse {
	resp := req.ResponseKind().(*kmsg.OffsetCommitResponse)
	for _, t := range a.topics() {
		rt := kmsg.NewOffsetCommitResponseTopic()
		rt.Topic, rt.TopicID = t.name, t.id
		for _, p := range t.partitions {
			rp := kmsg.NewOffsetCommitResponseTopicPartition()
			rp.Partition, rp.ErrorCode = p.number, p.code
			rt.Partitions = append(rt.Partitions, rp)
		}
		resp.Topics = append(resp.Topics, rt)
	}
	return resp
}

// commitOffsets stores what the group accepts. A commit of a live member renews its session.
func (s *Shard) commitOffsets(commit commitRequest, expire int64) {
	g, code := s.checkCommit(commit)
	if code != errNone {
		commit.refuse(code)
		return
	}
	batch := s.offsetRecords(commit, expire)
	switch r := s.unwritable(batch); {
	case r != nil:
		commit.refuse(r.code)
	case g == nil && len(batch) == 0:
		s.makeUnseen(commit.group)
	default:
		s.write(batch...)
	}
	if g != nil && g.classic != nil && g.classic.state != classicEmpty {
		if m := g.classic.members[commit.memberID]; m != nil {
			s.renewSession(m) // that it may commit was found before the log was asked
		}
	}
	s.emitCommits(commit, EventCommitted)
}

// txnOffsetCommit is TxnOffsetCommit (key 28, v0 to v5): offsets that count when the transaction commits. That the transaction is the
// producer's was seen to before.
func (s *Shard) txnOffsetCommit(c Command, req *kmsg.TxnOffsetCommitRequest) {
	commit, answer := sortTxnOffsetCommit(s.meta, c.Client, req)
	if len(commit.offsets) > 0 {
		var g *group
		code := c.verifyTxnOffsetCommit(req)
		if code == errNone {
			g, code = s.checkCommit(commit)
		}
		var batch []Record
		if code == errNone {
			batch = s.offsetRecords(commit, -1)
			if r := s.unwritable(batch); r != nil {
				code = r.code
			}
		}
		switch {
		case code != errNone:
			commit.refuse(code)
		case g == nil && len(batch) == 0:
			s.makeUnseen(commit.group)
		default:
			s.writePending(req.ProducerID, req.ProducerEpoch, batch...)
			s.emitCommits(commit, EventOffsetsPending)
			s.transactionOpened(c.Client, s.groups[commit.group], commit.memberID)
		}
	}
	s.reply(c.Ticket, answer.toTxnOffsetCommit(req))
}

// verifyTxnOffsetCommit has the checks that come before the search for the group's coordinator.
func (c Command) verifyTxnOffsetCommit(req *kmsg.TxnOffsetCommitRequest) int16 {
	switch {
	case req.Group == "":
		return errInvalidGroupID
	case c.Verify != nil:
		return c.Verify()
	}
	return errNone
}

// sortTxnOffsetCommit takes a request apart: what is to be committed, and the answer so far.
func sortTxnOffsetCommit(meta Metadata, client Client, req *kmsg.TxnOffsetCommitRequest) (commit commitRequest, answer commitAnswer) {
	commit = commitRequest{
		group: req.Group, clientID: client.ID, memberID: req.MemberID, instanceID: req.InstanceID, epoch: req.Generation, version: req.Version, txn: true,
	}
	for _, t := range req.Topics {
		topic, known := meta.Topic(t.Topic)
		unknown := errUnknownTopicOrPartition
		if known {
			unknown = errNone
		}
		answer.sort(&commit, topicKey{name: t.Topic}, topic, unknown, len(t.Partitions), func(i int) offsetToCommit {
			p := &t.Partitions[i] // the topic's id is not stored, as in Kafka
			return offsetToCommit{
				topicPartition: topicPartition{partition: p.Partition},
				offset:         p.Offset, leaderEpoch: p.LeaderEpoch, metadata: p.Metadata,
			}
		})
	}
	return commit, answer
}

// toTxnOffsetCommit is the answer in the form of TxnOffsetCommit.
func (a *commitAnswer) toTxnOffsetCommit(req *kmsg.TxnOffsetCommitRequest) *kmsg.TxnOffsetCommitResponse {
	resp := req.ResponseKind().(*kmsg.TxnOffsetCommitResponse)
	for _, t := range a.topics() {
		rt := kmsg.NewTxnOffsetCommitResponseTopic()
		rt.Topic = t.name
		for _, p := range t.partitions {
			rp := kmsg.NewTxnOffsetCommitResponseTopicPartition()
			rp.Partition, rp.ErrorCode = p.number, p.code
			rt.Partitions = append(rt.Partitions, rp)
		}
		resp.Topics = append(resp.Topics, rt)
	}
	return resp
}

// checkCommit is the check of the group. It answers nil without an error for a group that is missing and will be a simple one.
func (s *Shard) checkCommit(r commitRequest) (*group, int16) {
	g := s.written(r.group)
	switch {
	case g == nil:
		switch {
		case r.epoch < 0:
			return nil, errNone
		case r.version >= 9 && !r.txn:
			return nil, errGroupIDNotFound
		}
		return nil, errIllegalGeneration
	case g.consumer != nil:
		return g, s.validateConsumerCommit(g, r)
	}
	return g, s.validateClassicCommit(g, r)
}

// validateClassicCommit says who may commit to a classic group. An Empty one takes commits without a generation from anybody; a
// transaction without member and generation may commit to a live one too, and while the group waits for the leader's sync.
func (s *Shard) validateClassicCommit(g *group, r commitRequest) int16 {
	c := g.classic
	anonymous := r.epoch < 0 && r.memberID == "" && r.instanceID == nil
	switch {
	case r.epoch < 0 && c.state == classicEmpty:
		return errNone
	case anonymous && !r.txn:
		return errUnknownMemberID
	case !anonymous:
		if _, code := s.checkMember(g, r.memberID, r.instanceID); code != errNone {
			return code
		}
		if r.epoch != c.generation {
			return errIllegalGeneration
		}
	}
	if !r.txn && c.state == classicCompleting {
		return errRebalanceInProgress
	}
	return errNone
}

func (r commitRequest) refuse(code int16) {
	for _, o := range r.offsets {
		*o.code = code
	}
}

// offsetRecords are the records of the offsets that may be stored; those with too much metadata are answered so.
func (s *Shard) offsetRecords(r commitRequest, expire int64) []Record {
	batch := make([]Record, 0, len(r.offsets))
	for _, o := range r.offsets {
		if s.tooMuchMetadata(o) {
			*o.code = errOffsetMetadataTooLarge
			continue
		}
		batch = append(batch, Record{
			Key: records.OffsetKey{Group: r.group, Topic: o.topic, Partition: o.partition}.Encode(),
			Value: records.OffsetValue{
				Offset: o.offset, LeaderEpoch: o.leaderEpoch, Metadata: text(o.metadata),
				Commit: s.now.UnixMilli(), Expire: expire, TopicID: o.topicID,
			}.Encode(),
		})
	}
	return batch
}

// tooMuchMetadata says that there is more than the limit, which may be below zero: none at all is never too much.
func (s *Shard) tooMuchMetadata(o offsetToCommit) bool {
	return o.metadata != nil && utf16Length(*o.metadata) > s.cfg.OffsetMetadataMaxBytes
}

func (s *Shard) emitCommits(r commitRequest, kind EventKind) {
	for _, o := range r.offsets {
		if *o.code == errNone {
			s.emit(Event{
				Group: r.group, Kind: kind, Member: r.memberID, ClientID: r.clientID, InstanceID: text(r.instanceID), Epoch: max(r.epoch, 0),
				Partitions: o.single(), Offset: o.offset,
			})
		}
	}
}

// utf16Length is the length as Java counts it: the limit of metadata is in UTF-16 units, not bytes.
func utf16Length(s string) int {
	n := 0
	for _, r := range s {
		n += max(utf16.RuneLen(r), 1)
	}
	return n
}

// text is a nullable string with null read as "".
func text(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

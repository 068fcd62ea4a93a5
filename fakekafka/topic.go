package fakekafka

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/fakekafka/fakekafka/partitionlog"
)

// TopicHandle reads, writes and steers a topic without a client.
//
// Await and Require calls on records have a memory: a record that one of them has matched is seen, later calls look at the others, and
// RequireNoMore means that all have been seen. The memory is the cluster's: handles of the same topic share it. Without [TopicHandle.ReadCommitted] a record of an aborted
// or open transaction is matched as any other; the first aborted one is logged, and what fails later says how many there were.
type TopicHandle struct {
	k         *Cluster
	name      string
	committed bool // by ReadCommitted
}

// Topic gives the handle of a topic.
func (k *Cluster) Topic(name string) *TopicHandle { return &TopicHandle{k: k, name: name} }

// ReadCommitted is the topic as consumers with isolation.level=read_committed see it: what it reads and judges leaves out the records of aborted transactions,
// and from the first open transaction on all. Without it [TopicHandle] looks at the log.
func (t *TopicHandle) ReadCommitted() *TopicHandle { return &TopicHandle{t.k, t.name, true} }

// read is a partition's records from an offset on, as this handle sees them, without those that are seen.
func (t *TopicHandle) read(p int32, from int64, seen *seenRecords) (out []Record, err error) {
	recs, hidden, err := t.k.b.ReadLog(t.name, p, from)
	if err != nil {
		return nil, err
	}
	if seen != nil {
		recs = seen.unseen(recs)
	}
	for _, r := range recs {
		why := hidden(r)
		if t.committed && why != "" {
			continue
		}
		read := recordOf(r, p)
		read.hidden = why
		out = append(out, read)
	}
	return out, nil
}

// text names the topic for messages.
func (t *TopicHandle) text() string {
	if t.committed {
		return "topic " + t.name + ", read committed,"
	}
	return "topic " + t.name
}

// topicMemory is what the handles of a topic remember.
type topicMemory struct {
	mu    sync.Mutex
	next  map[string]int32 // where the next record without a key goes
	seen  map[seenKey]*seenRecords
	loose map[string]*looseMatches // by topic
}

// seenKey names a partition by its topic's id, so that a topic made anew under an old name has not been seen.
type seenKey struct {
	topic     [16]byte
	partition int32
}

// seenRecords is which records of a partition have been seen: all before from, and some more.
type seenRecords struct {
	from int64
	more map[int64]bool
}

// of gives what was seen of a partition. With m.mu held.
func (m *topicMemory) of(k seenKey) *seenRecords {
	s := m.seen[k]
	if s == nil {
		if m.seen == nil {
			m.seen = map[seenKey]*seenRecords{}
		}
		s = &seenRecords{more: map[int64]bool{}}
		m.seen[k] = s
	}
	return s
}

// unseen takes the seen ones out of a partition's records from s.from on, and moves that on.
func (s *seenRecords) unseen(recs []partitionlog.Record) []partitionlog.Record {
	for len(recs) > 0 && s.more[recs[0].Offset] {
		delete(s.more, recs[0].Offset)
		s.from = recs[0].Offset + 1
		recs = recs[1:]
	}
	return slices.DeleteFunc(recs, func(r partitionlog.Record) bool { return s.more[r.Offset] })
}

// Create creates the topic while the cluster runs. Before that, the option Topic does.
func (t *TopicHandle) Create(partitions int, configs ...TopicConfig) error {
	t.k.mark.Helper()
	o := options{}
	err := Topic(t.name, partitions, configs...)(&o)
	if err == nil {
		err = t.k.b.CreateTopicNow(o.broker.Topics[0])
	}
	return t.k.steered("Create of topic "+t.name, err)
}

// Delete deletes the topic; a fetch that waits on it is answered.
func (t *TopicHandle) Delete() error {
	t.k.mark.Helper()
	return t.k.steered("Delete of topic "+t.name, t.k.b.DeleteTopicNow(t.name))
}

// Partitions is how many partitions the topic has; 0 where it doesn't exist.
func (t *TopicHandle) Partitions() int {
	n, _ := t.k.b.Partitions(t.name)
	return int(n)
}

// Produce appends records, in the order given, without a client; they are checked as a producer's are. It returns when they can be fetched.
func (t *TopicHandle) Produce(records ...Record) error {
	t.k.mark.Helper()
	return t.k.steered("Produce to topic "+t.name, t.produce(records))
}

func (t *TopicHandle) produce(records []Record) error {
	n, err := t.k.b.Partitions(t.name)
	if err != nil {
		return err
	}
	byPartition := make(map[int32][]partitionlog.Record)
	for _, r := range records {
		p := t.placeOf(r, n)
		if err := t.k.b.CheckPartition(t.name, p); err != nil {
			return err
		}
		out := partitionlog.Record{Key: r.Key, Value: r.Value}
		if !r.Timestamp.IsZero() {
			out.Timestamp = r.Timestamp.UnixMilli()
		}
		for _, h := range r.Headers {
			out.Headers = append(out.Headers, partitionlog.Header(h))
		}
		byPartition[p] = append(byPartition[p], out)
	}
	for _, p := range slices.Sorted(maps.Keys(byPartition)) {
		if _, err := t.k.b.ProduceTo(t.name, p, byPartition[p]); err != nil {
			return err
		}
	}
	return nil
}

func (t *TopicHandle) placeOf(r Record, partitions int32) int32 {
	switch {
	case r.placed:
		return r.Partition
	case r.Key != nil:
		return partitionFor(r.Key, partitions)
	}
	m := &t.k.topics
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.next == nil {
		m.next = map[string]int32{}
	}
	p := m.next[t.name] % partitions
	m.next[t.name] = p + 1
	return p
}

// Records are the topic's records now: partition by partition, each in order of offsets. Markers of transactions are left out, records of aborted
// transactions are not: [TopicHandle] looks at the log, and ReadCommitted as a consumer does.
func (t *TopicHandle) Records() []Record {
	t.k.mark.Helper()
	rs, err := t.records()
	if err != nil {
		_ = t.k.steered("Records of topic "+t.name, err)
	}
	return rs
}

func (t *TopicHandle) records() ([]Record, error) {
	n, err := t.k.b.Partitions(t.name)
	if err != nil {
		return nil, err
	}
	var all []Record
	for p := range n {
		recs, err := t.read(p, 0, nil)
		if err != nil {
			return nil, err
		}
		all = append(all, recs...)
	}
	return all, nil
}

// unseen is the records that no Await or Require call has seen. With the memory's lock.
func (t *TopicHandle) unseen() ([]Record, error) {
	id, n, err := t.k.b.TopicID(t.name)
	if err != nil {
		return nil, err
	}
	var all []Record
	for p := range n {
		s := t.k.topics.of(seenKey{id, p})
		recs, err := t.read(p, s.from, s)
		if err != nil {
			return nil, err
		}
		all = append(all, recs...)
	}
	return all, nil
}

// tooFew tells whether there can't be n records that no call has seen, without reading them.
func (t *TopicHandle) tooFew(n int) bool {
	id, partitions, err := t.k.b.TopicID(t.name)
	if err != nil {
		return false
	}
	m := &t.k.topics
	m.mu.Lock()
	defer m.mu.Unlock()
	most := 0
	for p := range partitions {
		start, end, _ := t.k.b.LogEnds(t.name, p)
		most += int(end - max(start, m.of(seenKey{id, p}).from))
	}
	return most < n
}

// hasRecords looks for the wanted records among the unseen ones and marks them as seen. saw is nil where ok is true.
func (t *TopicHandle) hasRecords(e Expectation) (ok bool, saw func() string, never bool) {
	if e.order == "" {
		return false, func() string { return "    the expectation is of no kind: make it with InOrder, PerKey or AnyOrder" }, true
	}
	m := &t.k.topics
	m.mu.Lock()
	defer m.mu.Unlock()
	unseen, err := t.unseen()
	if err != nil {
		return false, func() string { return "    " + err.Error() }, false
	}
	matched, diff, never := e.match(unseen)
	if diff != nil {
		return false, diff, never
	}
	id, _, _ := t.k.b.TopicID(t.name)
	for _, r := range matched {
		m.of(seenKey{id, r.Partition}).more[r.Offset] = true
		m.looseOf(t.name).note(r)
	}
	return true, nil, false
}

// Has waits for records; the context bounds the wait. It ends at once where no further record could help.
func (t *TopicHandle) Has(ctx context.Context, e Expectation) error {
	var saw func() string
	few, never := false, false // few: then the records were not read
	wanted := t.wanted(e)
	err := t.k.await(ctx, wanted, func() (ok bool, _ string) {
		// Or else each of thousands of records that come one by one would have all before it read again.
		if few = e.order != inOrder && t.tooFew(len(e.want)); few {
			return false, ""
		}
		ok, saw, never = t.hasRecords(e)
		return ok || never, ""
	})
	if err != nil && few {
		var ok bool
		if ok, saw, _ = t.hasRecords(e); ok { // in the last moment
			return nil
		}
	}
	switch {
	case never:
		return fmt.Errorf("fakekafka: wanted %s; there was:\n%s%s%s", wanted, saw(), t.passedOver(e), t.matchedLoosely())
	case err == nil:
		return nil
	}
	if saw == nil {
		return fmt.Errorf("fakekafka: %w", err)
	}
	return fmt.Errorf("fakekafka: %w\n%s%s%s%s", err, saw(), t.passedOver(e), t.matchedLoosely(), lines(t.unwritten()))
}

func (t *TopicHandle) wanted(e Expectation) string {
	return fmt.Sprintf("%s to hold, %s, %s", t.text(), cmp.Or(e.order, "in an order that is not said"), count(len(e.want), "record"))
}

// AwaitRecords waits until the topic holds the wanted records among those that no earlier call has seen: AwaitRecords(t, InOrder(KV("a", "1"))). A mismatch that
// further records can't mend fails at once.
func (t *TopicHandle) AwaitRecords(tb testing.TB, e Expectation) {
	tb.Helper()
	t.k.within(tb, func(ctx context.Context) error { return t.Has(ctx, e) })
	t.logLoose(tb)
}

// RequireRecords fails the test, with a diff, unless the topic holds the wanted records now, among those that no earlier call has seen.
func (t *TopicHandle) RequireRecords(tb testing.TB, e Expectation) {
	tb.Helper()
	if ok, saw, never := t.hasRecords(e); !ok {
		why := t.passedOver(e) + t.matchedLoosely()
		if !never {
			why += lines(t.unwritten())
		}
		tb.Fatalf("fakekafka: wanted %s; there was:\n%s%s", t.wanted(e), saw(), why)
	}
	t.logLoose(tb)
}

// RequireNoMore fails the test if the topic holds a record that no Await or Require call has seen. It speaks of now: AwaitIdle before it makes "nothing came" a fact.
func (t *TopicHandle) RequireNoMore(tb testing.TB) {
	tb.Helper()
	m := &t.k.topics
	m.mu.Lock()
	unseen, err := t.unseen()
	m.mu.Unlock()
	if err != nil {
		tb.Fatalf("fakekafka: wanted no more records in %s: %v", strings.TrimSuffix(t.text(), ","), err)
	}
	if len(unseen) > 0 {
		tb.Fatalf("fakekafka: wanted no more records in %s; there was %s:%s%s", strings.TrimSuffix(t.text(), ","), count(len(unseen), "record"), strings.ReplaceAll(rest(unseen, 0), ", not compared", ""), t.matchedLoosely())
	}
}

// EndOffset is the offset that the next record of a partition gets.
func (t *TopicHandle) EndOffset(partition int32) int64 {
	t.k.mark.Helper()
	_, end := t.ends("EndOffset", partition)
	return end
}

// LogStart is the first offset of a partition that can be fetched.
func (t *TopicHandle) LogStart(partition int32) int64 {
	t.k.mark.Helper()
	start, _ := t.ends("LogStart", partition)
	return start
}

func (t *TopicHandle) ends(what string, partition int32) (start, end int64) {
	t.k.mark.Helper()
	start, end, ok := t.k.b.LogEnds(t.name, partition)
	if !ok {
		_, err := t.k.b.Leader(t.name, partition)
		if err == nil {
			err = errors.New("the cluster is closed")
		}
		_ = t.k.steered(what+" of topic "+t.name, err)
	}
	return start, end
}

// OffsetAt is the first offset of a partition whose record has this timestamp or a later one; the end where there is none.
func (t *TopicHandle) OffsetAt(partition int32, at time.Time) (int64, error) {
	t.k.mark.Helper()
	offset, err := t.k.b.OffsetAt(t.name, partition, at)
	return offset, t.k.steered("OffsetAt of topic "+t.name, err)
}

// DeleteRecords deletes the records of a partition before an offset, as the DeleteRecords request does; -1 deletes all.
func (t *TopicHandle) DeleteRecords(partition int32, before int64) error {
	t.k.mark.Helper()
	return t.k.steered("DeleteRecords of topic "+t.name, t.k.b.DeleteRecordsTo(t.name, partition, before))
}

// Compact runs the log cleaner on a compacted topic now, over everything that was produced so far.
func (t *TopicHandle) Compact() error {
	t.k.mark.Helper()
	return t.k.steered("Compact of topic "+t.name, t.k.b.CompactTopic(t.name))
}

// ApplyRetention removes the segments that are past retention.ms or retention.bytes, as the brokers do every log.retention.check.interval.ms. Only whole
// segments go, as in Kafka.
func (t *TopicHandle) ApplyRetention() error {
	t.k.mark.Helper()
	_, err := t.k.b.ApplyTopicRetention(t.name)
	return t.k.steered("ApplyRetention of topic "+t.name, err)
}

// MoveLeader makes another running broker the leader of a partition, at the next leader epoch. If it leads the partition already, nothing changes.
func (t *TopicHandle) MoveLeader(partition int32, broker int) error {
	t.k.mark.Helper()
	return t.k.steered("MoveLeader of topic "+t.name, t.k.b.MoveLeader(t.name, partition, int32(broker)))
}

// Leader is the node id of the broker that leads a partition; -1 where none does.
func (t *TopicHandle) Leader(partition int32) int {
	t.k.mark.Helper()
	id, err := t.k.b.Leader(t.name, partition)
	if err != nil {
		_ = t.k.steered("Leader of topic "+t.name, err)
	}
	return int(id)
}

// AddPartitions adds n partitions to those that there are. (Kafka's CreatePartitions request is told the sum.)
func (t *TopicHandle) AddPartitions(n int) error {
	t.k.mark.Helper()
	return t.k.steered("AddPartitions of topic "+t.name, t.k.b.GrowTopic(t.name, n))
}

// SetConfig sets a topic config by Kafka's name; it takes effect at once.
func (t *TopicHandle) SetConfig(name, value string) error {
	t.k.mark.Helper()
	err := t.k.b.SetTopicConfig(t.name, name, &value)
	if err != nil {
		err = errors.New(strings.TrimPrefix(err.Error(), "INVALID_CONFIG: "))
	}
	return t.k.steered(fmt.Sprintf("SetConfig(%q) of topic %s", name, t.name), err)
}

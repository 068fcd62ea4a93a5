package groups

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/fakekafka/fakekafka/assignors"
	"github.com/fakekafka/fakekafka/internal/records"
)

// TestScripts plays the stories in testdata: commands in, the whole trace out (records, replies, events, the next deadline).
// Run it with -rewrite to write the traces anew, and read the diff.
func TestScripts(t *testing.T) {
	t.Parallel()
	datadriven.Walk(t, "testdata", func(t *testing.T, path string) {
		t.Parallel()
		w := newScript()
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			run, ok := scriptCommands[d.Cmd]
			if !ok {
				d.Fatalf(t, "no such command: %s", d.Cmd)
			}
			w.t, w.d = t, d
			if err := run(w); err != nil {
				return "error: " + err.Error() + "\n"
			}
			return w.trace()
		})
	})
}

// scriptCommands are what a script can do. A client is named by its client id; what it knows (member id, generation) is kept for it.
var scriptCommands = map[string]func(*script) error{
	// config [initial-delay=3s] [delay-set] [prompt] [max-size=2] [min-session=6s] [retention=168h] [metadata-max=4096]
	"config": (*script).config,
	// topic foo [partitions=3]: creates or grows it. Without partitions: deletes it.
	"topic": (*script).topic,
	// join c1 [group=g] [protocol=range] [protocols=(range,sticky)] [topics=(foo)] [owned=(foo-0)|none] [metadata=text] [type=consumer] [version=9]
	// [member=id] [instance=i] [session=10s] [rebalance=60s]: metadata is a subscription to topics unless it is given. A client that was answered
	// MEMBER_ID_REQUIRED must join again.
	"join": (*script).join,
	// sync c1 [group=g] [assign=(c1:foo-0, c2:foo-1+foo-2)] [generation=1] [member=id] [instance=i] [version=5]
	"sync": (*script).sync,
	// heartbeat c1 [group=g] [generation=1] [member=id] [instance=i] [version=4]
	"heartbeat": (*script).heartbeat,
	// leave c1 [group=g] [member=id] [instance=i] [version=5]; leave c1 members=(c1,c2): several at once
	"leave": (*script).leave,
	// commit c1 [group=g] foo-0=42 [generation=1] [member=id] [instance=i] [version=9] [metadata=text] [retention=1m]; anonymous: without member and generation
	"commit": (*script).commit,
	// txn-commit c1 [group=g] producer=7 foo-0=42 [anonymous]; end-txn producer=7 commit|abort
	"txn-commit": (*script).txnCommit,
	"end-txn":    (*script).endTxn,
	// fetch c1 [group=g] [foo-0 foo-1] [stable] [version=9] [as-member [generation=2] [member=id]]: without partitions all of them
	"fetch": (*script).fetch,
	// delete-offsets c1 [group=g] foo-0
	"delete-offsets": (*script).deleteOffsets,
	// describe g; list; delete g
	"describe": (*script).describe,
	"list":     (*script).list,
	"delete":   (*script).delete,
	// advance 3s: fires the timers up to then, one at a time
	"advance": (*script).advance,
	// restart: another coordinator replays the log
	"restart": (*script).restart,
	// evict c1, fence c1, rebalance [group=g]
	"evict":     (*script).evict,
	"fence":     (*script).fence,
	"rebalance": (*script).rebalance,
	// hold JoinBarrier, release JoinBarrier
	"hold":    (*script).hold,
	"release": (*script).release,
	// expect 3 [limit=10s]
	"expect": (*script).expect,
	// lookup [group=g]: a client asks for the coordinator
	"lookup": (*script).lookup,
	// unpark c1: another frame of its connection arrives
	"unpark": (*script).unpark,
	// state [g]
	"state": (*script).state,
}

// script is one story: a shard, its clock, its log, and what the clients know.
type script struct {
	t *testing.T
	d *datadriven.TestData

	cfg     Config
	shard   *Shard
	now     time.Time
	start   time.Time
	meta    *fakeMetadata
	log     []loggedRecord
	tickets map[Ticket]*scriptClient
	next    Ticket
	clients map[string]*scriptClient
	aliases []string // pairs for strings.NewReplacer: member id, alias
	out     strings.Builder
	said    time.Time // the last deadline printed
}

// loggedRecord is a record of the script's log, or a marker.
type loggedRecord struct {
	Record
	producer int64
	marker   bool
	commit   bool
}

type scriptClient struct {
	name     string
	software string
	ids      int
	member   string
	gen      int32
	waiting  []Ticket
}

func newScript() *script {
	w := &script{
		cfg:     DefaultConfig(),
		now:     time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC),
		meta:    &fakeMetadata{byName: map[string]Topic{}},
		tickets: map[Ticket]*scriptClient{},
		clients: map[string]*scriptClient{},
	}
	w.start = w.now
	w.shard = w.newShard()
	w.shard.Loaded(w.now)
	return w
}

func (w *script) newShard() *Shard {
	return NewShard(w.cfg, Deps{Rand: rand.New(rand.NewPCG(1, uint64(len(w.log)))), Metadata: w.meta})
}

// fakeMetadata is a picture of topics that tests can write down.
type fakeMetadata struct {
	byName  map[string]Topic
	version int64
	created int64
}

func (m *fakeMetadata) Topic(name string) (Topic, bool) { t, ok := m.byName[name]; return t, ok }
func (m *fakeMetadata) TopicByID(id assignors.TopicID) (Topic, bool) {
	for _, t := range m.byName {
		if t.ID == id {
			return t, true
		}
	}
	return Topic{}, false
}
func (m *fakeMetadata) TopicNames() []string {
	var names []string
	for name := range m.byName {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}
func (m *fakeMetadata) Version() int64     { return m.version }
func (m *fakeMetadata) LastCreated() int64 { return m.created }

// with answers another picture, in which the topic has n partitions, or is gone if n is 0.
func (m *fakeMetadata) with(name string, n int32) *fakeMetadata {
	next := &fakeMetadata{byName: map[string]Topic{}, version: m.version + 1, created: m.created}
	for k, v := range m.byName {
		next.byName[k] = v
	}
	if n == 0 {
		delete(next.byName, name)
		return next
	}
	t, ok := next.byName[name]
	if !ok {
		next.created = next.version
		t = Topic{Name: name, ID: assignors.TopicID{0: byte(next.version), 15: 1}}
	}
	t.Partitions = n
	next.byName[name] = t
	return next
}

// trace is what the command led to.
func (w *script) trace() string {
	at, ok := w.shard.Deadline()
	if !ok {
		at = time.Time{}
	}
	if !at.Equal(w.said) {
		w.said = at
		if ok {
			fmt.Fprintf(&w.out, "deadline +%s\n", at.Sub(w.start))
		} else {
			fmt.Fprintf(&w.out, "no deadline\n")
		}
	}
	out := strings.NewReplacer(w.aliases...).Replace(w.out.String())
	w.out.Reset()
	if out == "" {
		return "ok\n"
	}
	return out
}

func (w *script) printf(format string, args ...any) { fmt.Fprintf(&w.out, format+"\n", args...) }

// effects prints a step's effects and lets the clients learn from them.
func (w *script) effects(fx Effects) {
	var told strings.Builder
	for _, e := range fx.Events {
		if c := w.clients[e.ClientID]; c != nil && (e.Kind == EventJoined || e.Kind == EventMemberIDGiven) {
			w.alias(c, e.Member)
			c.member = e.Member
		}
	}
	for _, b := range fx.Batches {
		by := ""
		if b.ProducerID >= 0 {
			by = fmt.Sprintf(" (of producer %d)", b.ProducerID)
		}
		for _, r := range b.Records {
			w.log = append(w.log, loggedRecord{Record: r, producer: b.ProducerID})
			fmt.Fprintf(&told, "record%s %s\n", by, w.describeRecord(r))
		}
	}
	for _, r := range fx.Replies {
		c := w.tickets[r.Ticket]
		if c == nil {
			w.printf("REPLY TO NOBODY: ticket %d %T", r.Ticket, r.Response)
			continue
		}
		delete(w.tickets, r.Ticket)
		c.waiting = slices.DeleteFunc(c.waiting, func(t Ticket) bool { return t == r.Ticket })
		fmt.Fprintf(&told, "reply %s %s\n", c.name, w.describeReply(c, r.Response))
	}
	for _, e := range fx.Events {
		fmt.Fprintf(&told, "event %s\n", describeEvent(e))
	}
	w.out.WriteString(told.String())
	w.shard.Recycle(fx)
}

// send hands a request in for a client and flushes.
func (w *script) send(c *scriptClient, req kmsg.Request) {
	w.next++
	t := w.next
	w.tickets[t] = c
	c.waiting = append(c.waiting, t)
	w.effects(w.shard.Handle(w.now, Command{
		Ticket: t, Request: req,
		Client: Client{ID: c.name, Host: "/127.0.0.1", Software: c.software, Principal: "User:ANONYMOUS"},
	}))
	w.effects(w.shard.Flush(w.now))
	if w.tickets[t] != nil {
		w.printf("%s waits", c.name)
	}
}

// alias names a new member id of a client.
func (w *script) alias(c *scriptClient, id string) {
	if id == "" || slices.Contains(w.aliases, id) {
		return
	}
	c.ids++
	w.aliases = append(w.aliases, id, fmt.Sprintf("%s.%d", c.name, c.ids))
}

// unalias turns c1.2 into the member id it stands for.
func (w *script) unalias(name string) string {
	for i := 1; i < len(w.aliases); i += 2 {
		if w.aliases[i] == name {
			return w.aliases[i-1]
		}
	}
	return name
}

// Arguments.

func (w *script) arg(key string) (string, bool) {
	for _, a := range w.d.CmdArgs {
		if a.Key == key {
			if len(a.Vals) == 0 {
				return "", true
			}
			return a.Vals[0], true
		}
	}
	return "", false
}

func (w *script) has(key string) bool { _, ok := w.arg(key); return ok }

func (w *script) str(key, otherwise string) string {
	if v, ok := w.arg(key); ok {
		return v
	}
	return otherwise
}

func (w *script) words(key string) []string {
	for _, a := range w.d.CmdArgs {
		if a.Key == key {
			return a.Vals
		}
	}
	return nil
}

func (w *script) number(key string, otherwise int) int {
	v, ok := w.arg(key)
	if !ok {
		return otherwise
	}
	n, err := strconv.Atoi(v)
	if err != nil {
		w.d.Fatalf(w.t, "%s=%s is no number", key, v)
	}
	return n
}

func (w *script) duration(key string, otherwise time.Duration) time.Duration {
	v, ok := w.arg(key)
	if !ok {
		return otherwise
	}
	d, err := time.ParseDuration(v)
	if err != nil {
		w.d.Fatalf(w.t, "%s=%s is no duration", key, v)
	}
	return d
}

func (w *script) group() string { return w.str("group", "g") }

// client is the one that the first argument names.
func (w *script) client() *scriptClient {
	if len(w.d.CmdArgs) == 0 {
		w.d.Fatalf(w.t, "which client?")
	}
	return w.clientNamed(w.d.CmdArgs[0].Key)
}

func (w *script) clientNamed(name string) *scriptClient {
	c := w.clients[name]
	if c == nil {
		c = &scriptClient{name: name, gen: -1}
		w.clients[name] = c
	}
	if software, ok := w.arg("software"); ok {
		c.software = software
	}
	return c
}

// instance is the instance= argument, nil without one.
func (w *script) instance() *string {
	if v, ok := w.arg("instance"); ok {
		return &v
	}
	return nil
}

// partitions are the arguments of the form topic-3 or topic-3=42.
func (w *script) partitions() (keys []topicPartition, offsets []int64) {
	for _, a := range w.d.CmdArgs {
		tp, ok := parsePartition(a.Key)
		if !ok {
			continue
		}
		keys = append(keys, tp)
		offset := int64(0)
		if len(a.Vals) == 1 {
			offset, _ = strconv.ParseInt(a.Vals[0], 10, 64)
		}
		offsets = append(offsets, offset)
	}
	return keys, offsets
}

func parsePartition(s string) (topicPartition, bool) {
	i := strings.LastIndexByte(s, '-')
	if i < 1 {
		return topicPartition{}, false
	}
	p, err := strconv.Atoi(s[i+1:])
	return topicPartition{s[:i], int32(p)}, err == nil
}

// Commands.

func (w *script) config() error {
	w.cfg.InitialRebalanceDelay = w.duration("initial-delay", w.cfg.InitialRebalanceDelay)
	w.cfg.MaxSize = w.number("max-size", w.cfg.MaxSize)
	w.cfg.MinSessionTimeout = w.duration("min-session", w.cfg.MinSessionTimeout)
	w.cfg.OffsetMetadataMaxBytes = w.number("metadata-max", w.cfg.OffsetMetadataMaxBytes)
	w.cfg.OffsetsRetention = w.duration("retention", w.cfg.OffsetsRetention)
	w.cfg.InitialRebalanceDelaySet = w.has("delay-set")
	w.cfg.Prompt = w.cfg.Prompt || w.has("prompt")
	w.shard.SetConfig(w.cfg)
	return nil
}

func (w *script) topic() error {
	w.meta = w.meta.with(w.d.CmdArgs[0].Key, int32(w.number("partitions", 0)))
	w.effects(w.shard.MetadataChanged(w.now, w.meta))
	w.effects(w.shard.Flush(w.now))
	return nil
}

func (w *script) join() error {
	c := w.client()
	req := kmsg.NewPtrJoinGroupRequest()
	req.Version = int16(w.number("version", 9))
	req.Group = w.group()
	req.SessionTimeoutMillis = int32(w.duration("session", 10*time.Second).Milliseconds())
	req.RebalanceTimeoutMillis = int32(w.duration("rebalance", time.Minute).Milliseconds())
	req.MemberID = w.unalias(w.str("member", c.member))
	req.InstanceID = w.instance()
	req.ProtocolType = w.str("type", "consumer")
	names := w.words("protocols")
	if names == nil {
		names = []string{w.str("protocol", "range")}
	}
	metadata, given := w.arg("metadata")
	if !given {
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
		p := kmsg.NewJoinGroupRequestProtocol()
		p.Name, p.Metadata = name, []byte(metadata)
		req.Protocols = append(req.Protocols, p)
	}
	w.send(c, req)
	return nil
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
	}
	for _, a := range w.words("assign") {
		name, partitions, _ := strings.Cut(a, ":")
		sa := kmsg.NewSyncGroupRequestGroupAssignment()
		sa.MemberID = w.unalias(name)
		if other := w.clients[name]; other != nil {
			sa.MemberID = other.member
		}
		sa.MemberAssignment = assignmentBytes(partitionsOf(strings.Split(partitions, "+")))
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
		req.Members = append(req.Members, m)
	}
	for _, name := range names {
		m := kmsg.NewLeaveGroupRequestMember()
		m.MemberID = w.unalias(name)
		if other := w.clients[name]; other != nil {
			m.MemberID = other.member
		}
		req.Members = append(req.Members, m)
	}
	w.send(c, req)
	return nil
}

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
		p.Partition, p.Offset = tp.partition, offsets[i]
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
		p.Partition, p.Offset = tp.partition, offsets[i]
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
	req.Groups = append(req.Groups, g)
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

func (w *script) describe() error {
	req := kmsg.NewPtrDescribeGroupsRequest()
	req.Version = int16(w.number("version", 6))
	req.Groups = []string{w.d.CmdArgs[0].Key}
	w.send(w.clientNamed("admin"), req)
	return nil
}

func (w *script) list() error {
	req := kmsg.NewPtrListGroupsRequest()
	req.Version = int16(w.number("version", 5))
	req.StatesFilter, req.TypesFilter = w.words("states"), w.words("types")
	w.send(w.clientNamed("admin"), req)
	return nil
}

func (w *script) delete() error {
	req := kmsg.NewPtrDeleteGroupsRequest()
	req.Version = 2
	for _, a := range w.d.CmdArgs {
		req.Groups = append(req.Groups, a.Key)
	}
	w.send(w.clientNamed("admin"), req)
	return nil
}

func (w *script) advance() error {
	d, err := time.ParseDuration(w.d.CmdArgs[0].Key)
	if err != nil {
		return err
	}
	end := w.now.Add(d)
	for {
		at, ok := w.shard.Deadline()
		if !ok || at.After(end) {
			break
		}
		if at.After(w.now) {
			w.now = at
		}
		before := w.out.Len()
		w.effects(w.shard.Tick(w.now))
		w.effects(w.shard.Flush(w.now))
		if w.out.Len() > before {
			told := w.out.String()[before:]
			rest := w.out.String()[:before]
			w.out.Reset()
			w.out.WriteString(rest)
			w.printf("at +%s", w.now.Sub(w.start))
			w.out.WriteString(told)
		}
	}
	w.now = end
	return nil
}

func (w *script) restart() error {
	before := durable(w.shard)
	w.effects(w.shard.Unload(w.now))
	steering := w.shard.Steering()
	w.shard = w.newShard()
	w.shard.Resteer(steering)
	for i, r := range w.log {
		if r.marker {
			w.shard.ReplayMarker(int64(i), r.producer, r.commit)
		} else {
			w.shard.Replay(int64(i), r.Record, r.producer)
		}
	}
	if after := durable(w.shard); after != before {
		return fmt.Errorf("the replayed state differs from the live one\nlive:\n%s\nreplayed:\n%s", before, after)
	}
	w.effects(w.shard.Loaded(w.now))
	return nil
}

func (w *script) member() (string, error) {
	c := w.client()
	if c.member == "" {
		return "", errors.New(c.name + " has no member id")
	}
	return c.member, nil
}

func (w *script) evict() error {
	id, err := w.member()
	if err != nil {
		return err
	}
	fx, err := w.shard.Evict(w.now, w.group(), id, "the test evicted it")
	w.effects(fx)
	return err
}

func (w *script) fence() error {
	id, err := w.member()
	if err != nil {
		return err
	}
	fx, err := w.shard.Fence(w.now, w.group(), id)
	w.effects(fx)
	return err
}

func (w *script) rebalance() error {
	fx, err := w.shard.Rebalance(w.now, w.group(), "the test asked for it")
	w.effects(fx)
	w.effects(w.shard.Flush(w.now))
	return err
}

func (w *script) hold() error {
	w.shard.Hold(w.group(), Step(w.d.CmdArgs[0].Key))
	return nil
}

func (w *script) release() error {
	w.effects(w.shard.Release(w.now, w.group(), Step(w.d.CmdArgs[0].Key)))
	return nil
}

func (w *script) lookup() error {
	w.effects(w.shard.LookedUp(w.now, w.group()))
	return nil
}

func (w *script) expect() error {
	n, err := strconv.Atoi(w.d.CmdArgs[0].Key)
	if err != nil {
		return err
	}
	w.effects(w.shard.ExpectMembers(w.now, w.group(), n, w.duration("limit", 10*time.Second)))
	w.effects(w.shard.Flush(w.now))
	return nil
}

func (w *script) unpark() error {
	for _, t := range slices.Clone(w.client().waiting) {
		w.effects(w.shard.Unpark(w.now, t))
	}
	return nil
}

func (w *script) state() error {
	id := w.group()
	if len(w.d.CmdArgs) > 0 {
		id = w.d.CmdArgs[0].Key
	}
	st, ok := w.shard.State(id)
	if !ok {
		w.printf("no group %s", id)
		return nil
	}
	w.printf("%s %s %q %s epoch %d assignor %q leader %q", st.ID, st.Protocol, st.Type, st.State, st.Epoch, st.Assignor, st.Leader)
	for _, m := range st.Members {
		revoking := ""
		if len(m.Revoking) > 0 {
			revoking = " revoking " + showPartitions(m.Revoking)
		}
		w.printf("  %s of %s%s: %s, epoch %d, subscribed %v, owned %s%s, parked in %q, session until +%s", m.ID, m.ClientID,
			suffix(" static ", m.InstanceID), m.State, m.Epoch, m.Subscribed, showPartitions(m.Owned), revoking, m.ParkedIn, m.SessionDeadline.Sub(w.start))
	}
	for _, id := range st.PendingMembers {
		w.printf("  pending %s", id)
	}
	for _, o := range st.Offsets {
		w.printf("  offset %s-%d = %d", o.Topic, o.Partition, o.Offset)
	}
	for _, o := range st.PendingOffsets {
		w.printf("  pending offset %s-%d = %d of producer %d", o.Topic, o.Partition, o.Offset, o.ProducerID)
	}
	if len(st.HeldAt) > 0 {
		w.printf("  held at %v", st.HeldAt)
	}
	return nil
}

func suffix(prefix, s string) string {
	if s == "" {
		return ""
	}
	return prefix + s
}

// Descriptions.

func showPartitions(m map[string][]int32) string {
	var words []string
	for topic, partitions := range m {
		for _, p := range partitions {
			words = append(words, fmt.Sprintf("%s-%d", topic, p))
		}
	}
	slices.Sort(words)
	return "(" + strings.Join(words, " ") + ")"
}

func showAssignment(b []byte) string {
	if len(b) == 0 {
		return "nothing"
	}
	if partitions, ok := assignedPartitions(b); ok {
		return showPartitions(partitions)
	}
	return fmt.Sprintf("%q", b)
}

func describeEvent(e Event) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s", e.Group, e.Kind)
	if e.Member != "" {
		fmt.Fprintf(&b, " %s", e.Member)
	}
	if e.Epoch != 0 {
		fmt.Fprintf(&b, " @%d", e.Epoch)
	}
	if e.Partitions != nil {
		fmt.Fprintf(&b, " %s", showPartitions(e.Partitions))
	}
	if e.Kind == EventCommitted || e.Kind == EventOffsetsPending {
		fmt.Fprintf(&b, " = %d", e.Offset)
	}
	if e.Cause != "" {
		fmt.Fprintf(&b, ": %s", e.Cause)
	}
	return b.String()
}

// describeRecord shows a record of the log.
func (w *script) describeRecord(r Record) string {
	kind, err := records.KeyType(r.Key)
	if err != nil {
		return "UNREADABLE"
	}
	switch kind {
	case records.TypeOffsetCommit:
		k, err := records.ReadOffsetKey(r.Key)
		if err != nil {
			return err.Error()
		}
		if r.Value == nil {
			return fmt.Sprintf("offset %s %s-%d: tombstone", k.Group, k.Topic, k.Partition)
		}
		v, err := records.ReadOffsetValue(r.Value)
		if err != nil {
			return err.Error()
		}
		return fmt.Sprintf("offset %s %s-%d = %d%s", k.Group, k.Topic, k.Partition, v.Offset, suffix(" ", v.Metadata))
	case records.TypeGroupMetadata:
		k, err := records.ReadGroupKey(r.Key)
		if err != nil {
			return err.Error()
		}
		if r.Value == nil {
			return fmt.Sprintf("group %s: tombstone", k.Group)
		}
		v, err := records.ReadGroupValue(r.Value)
		if err != nil {
			return err.Error()
		}
		out := fmt.Sprintf("group %s: %q generation %d protocol %s leader %s", k.Group, v.ProtocolType, v.Generation, orNone(v.Protocol), orNone(v.Leader))
		for _, m := range v.Members {
			out += fmt.Sprintf("; %s %s", m.ID, showAssignment(m.Assignment))
		}
		return out
	}
	return describeConsumerRecord(kind, r)
}

// describeConsumerRecord shows a record of the types 3 to 8 and 16.
var describeConsumerRecord = func(kind int16, r Record) string {
	if r.Value == nil {
		return fmt.Sprintf("type %d %q: tombstone", kind, r.Key[2:])
	}
	return fmt.Sprintf("type %d %q: %q", kind, r.Key[2:], r.Value)
}

func orNone(s *string) string {
	if s == nil {
		return "none"
	}
	return *s
}

func code(c int16) string {
	names := map[int16]string{
		errNone: "ok", errUnknownServerError: "UNKNOWN_SERVER_ERROR", errUnknownTopicOrPartition: "UNKNOWN_TOPIC_OR_PARTITION",
		errOffsetMetadataTooLarge: "OFFSET_METADATA_TOO_LARGE", errCoordinatorLoadInProgress: "COORDINATOR_LOAD_IN_PROGRESS",
		errCoordinatorNotAvailable: "COORDINATOR_NOT_AVAILABLE", errNotCoordinator: "NOT_COORDINATOR", errIllegalGeneration: "ILLEGAL_GENERATION",
		errInconsistentGroupProtocol: "INCONSISTENT_GROUP_PROTOCOL", errInvalidGroupID: "INVALID_GROUP_ID", errUnknownMemberID: "UNKNOWN_MEMBER_ID",
		errInvalidSessionTimeout: "INVALID_SESSION_TIMEOUT", errRebalanceInProgress: "REBALANCE_IN_PROGRESS", errNonEmptyGroup: "NON_EMPTY_GROUP",
		errGroupIDNotFound: "GROUP_ID_NOT_FOUND", errMemberIDRequired: "MEMBER_ID_REQUIRED", errGroupMaxSizeReached: "GROUP_MAX_SIZE_REACHED",
		errFencedInstanceID: "FENCED_INSTANCE_ID", errGroupSubscribedToTopic: "GROUP_SUBSCRIBED_TO_TOPIC", errUnstableOffsetCommit: "UNSTABLE_OFFSET_COMMIT",
		errUnknownTopicID: "UNKNOWN_TOPIC_ID", errInvalidRegularExpression: "INVALID_REGULAR_EXPRESSION", errStaleMemberEpoch: "STALE_MEMBER_EPOCH", errUnsupportedAssignor: "UNSUPPORTED_ASSIGNOR", errUnreleasedInstanceID: "UNRELEASED_INSTANCE_ID", errFencedMemberEpoch: "FENCED_MEMBER_EPOCH", errInvalidRequest: "INVALID_REQUEST", errUnsupportedVersion: "UNSUPPORTED_VERSION",
	}
	if name, ok := names[c]; ok {
		return name
	}
	return fmt.Sprintf("error %d", c)
}

// describeReply shows an answer; the client keeps what it learns from it.
func (w *script) describeReply(c *scriptClient, resp kmsg.Response) string {
	switch r := resp.(type) {
	case *kmsg.JoinGroupResponse:
		w.alias(c, r.MemberID)
		if r.ErrorCode == errMemberIDRequired {
			c.member = r.MemberID
		}
		if r.ErrorCode != errNone {
			return fmt.Sprintf("JoinGroup: %s, member %q", code(r.ErrorCode), r.MemberID)
		}
		c.member, c.gen = r.MemberID, r.Generation
		out := fmt.Sprintf("JoinGroup: member %s generation %d protocol %s leader %s", r.MemberID, r.Generation, orNone(r.Protocol), r.LeaderID)
		if r.SkipAssignment {
			out += " skip assignment"
		}
		for _, m := range r.Members {
			topics, err := subscribedTopics(m.ProtocolMetadata)
			if err != nil {
				topics = []string{string(m.ProtocolMetadata)}
			}
			out += fmt.Sprintf("; %s %v", m.MemberID, topics)
		}
		return out
	case *kmsg.SyncGroupResponse:
		if r.ErrorCode != errNone {
			return "SyncGroup: " + code(r.ErrorCode)
		}
		return "SyncGroup: " + showAssignment(r.MemberAssignment)
	case *kmsg.HeartbeatResponse:
		return "Heartbeat: " + code(r.ErrorCode)
	case *kmsg.LeaveGroupResponse:
		out := "LeaveGroup: " + code(r.ErrorCode)
		for _, m := range r.Members {
			out += fmt.Sprintf("; %s %s", m.MemberID, code(m.ErrorCode))
		}
		return out
	case *kmsg.OffsetCommitResponse:
		out := "OffsetCommit:"
		for _, t := range r.Topics {
			for _, p := range t.Partitions {
				out += fmt.Sprintf(" %s-%d %s", t.Topic, p.Partition, code(p.ErrorCode))
			}
		}
		return out
	case *kmsg.TxnOffsetCommitResponse:
		out := "TxnOffsetCommit:"
		for _, t := range r.Topics {
			for _, p := range t.Partitions {
				out += fmt.Sprintf(" %s-%d %s", t.Topic, p.Partition, code(p.ErrorCode))
			}
		}
		return out
	case *kmsg.OffsetFetchResponse:
		out := "OffsetFetch:"
		for _, g := range r.Groups {
			out += " " + code(g.ErrorCode)
			for _, t := range g.Topics {
				for _, p := range t.Partitions {
					out += fmt.Sprintf("; %s-%d %d", t.Topic, p.Partition, p.Offset)
					if p.ErrorCode != errNone {
						out += " " + code(p.ErrorCode)
					}
				}
			}
		}
		return out
	case *kmsg.OffsetDeleteResponse:
		out := "OffsetDelete: " + code(r.ErrorCode)
		for _, t := range r.Topics {
			for _, p := range t.Partitions {
				out += fmt.Sprintf("; %s-%d %s", t.Topic, p.Partition, code(p.ErrorCode))
			}
		}
		return out
	case *kmsg.DescribeGroupsResponse:
		out := "DescribeGroups:"
		for _, g := range r.Groups {
			out += fmt.Sprintf(" %s %s %s %q %q", g.Group, code(g.ErrorCode), g.State, g.ProtocolType, g.Protocol)
			for _, m := range g.Members {
				out += fmt.Sprintf("; %s %s%s %s", m.MemberID, m.ClientID, m.ClientHost, showAssignment(m.MemberAssignment))
			}
		}
		return out
	case *kmsg.ListGroupsResponse:
		out := "ListGroups: " + code(r.ErrorCode)
		for _, g := range r.Groups {
			out += fmt.Sprintf("; %s %s %q %s", g.Group, g.GroupType, g.ProtocolType, g.GroupState)
		}
		return out
	case *kmsg.DeleteGroupsResponse:
		out := "DeleteGroups:"
		for _, g := range r.Groups {
			out += fmt.Sprintf(" %s %s", g.Group, code(g.ErrorCode))
		}
		return out
	}
	return w.describeConsumerReply(c, resp)
}

// durable is all durable state of a shard as text: what a replay of its log must lead to.
func durable(s *Shard) string {
	var b strings.Builder
	for _, id := range s.GroupIDs() {
		g := s.groups[id]
		fmt.Fprintf(&b, "%s\n", id)
		if g.classic != nil {
			fmt.Fprintf(&b, "  classic")
			if v := g.classic.synced; v != nil {
				fmt.Fprintf(&b, " %q %d %s %s %d", v.ProtocolType, v.Generation, orNone(v.Protocol), orNone(v.Leader), v.StateTime)
				for _, m := range v.Members {
					fmt.Fprintf(&b, " [%s %s %s %s %d %d %q %q]", m.ID, orNone(m.InstanceID), m.ClientID, m.ClientHost, m.RebalanceTimeout, m.SessionTimeout, m.Subscription, m.Assignment)
				}
			}
			fmt.Fprintln(&b)
		}
		if g.consumer != nil {
			b.WriteString(durableConsumer(g.consumer))
		}
		committed, pending := g.offsets.list()
		for _, o := range slices.Concat(committed, pending) {
			fmt.Fprintf(&b, "  %+v\n", o)
		}
	}
	return b.String()
}

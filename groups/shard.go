package groups

import (
	"math/rand/v2"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/fakekafka/fakekafka/assignors"
)

// Shard is one partition of __consumer_offsets: the groups that hash to it, their members and their offsets.
//
// It starts out loading: Replay and ReplayMarker feed it the log, Loaded ends that. Until then every request is
// answered COORDINATOR_LOAD_IN_PROGRESS, after Unload NOT_COORDINATOR.
// A Shard is not safe for concurrent use.
type Shard struct {
	cfg  Config
	deps Deps
	meta Metadata

	phase  phase
	groups map[string]*group
	stored storedTable[string, *group] // the same in the order of Kafka's table, which is that of ListGroups
	timers timerHeap
	// nextOffset orders records: it is the offset the next one would have if the shard alone wrote the log.
	nextOffset int64
	timerSeq   uint64
	turn       consumerTurn
	expiration *timer

	// held are the heartbeats that wait for news, by ticket.
	held map[Ticket]*heldReply
	// steps are the places where a group is held (Hold), by group.
	steps map[string]map[Step]*hold
	// expected are the ExpectMembers that have not been met yet, by group.
	expected map[string]*expectation
	// open are the producers with pending offsets, and which groups have them.
	open map[int64]map[string]struct{}
	// doomed are the groups that are only shown until the next batch: see doom.
	doomed []*group
	// unseen are the groups that are only shown from the next batch on: see makeUnseen.
	unseen []*group

	// The step that is going on.
	now   time.Time
	fx    Effects
	spare Effects // what Recycle brought back

	readOnly bool
}

// phase is where a shard stands in its life.
type phase uint8

const (
	phaseLoading phase = iota
	phaseActive
	phaseUnloaded
)

// DefaultConfig has Apache Kafka's defaults, without prompt heartbeats and without server-side assignors.
func DefaultConfig() Config {
	const unlimited = 1<<31 - 1
	return Config{
		InitialRebalanceDelay:   3 * time.Second,
		MinSessionTimeout:       6 * time.Second,
		MaxSessionTimeout:       30 * time.Minute,
		MaxSize:                 unlimited,
		OffsetMetadataMaxBytes:  4096,
		OffsetsRetention:        7 * 24 * time.Hour,
		OffsetsRetentionCheck:   10 * time.Minute,
		ConsumerSessionTimeout:  45 * time.Second,
		ConsumerMinSession:      45 * time.Second,
		ConsumerMaxSession:      60 * time.Second,
		ConsumerHeartbeat:       5 * time.Second,
		ConsumerMinHeartbeat:    5 * time.Second,
		ConsumerMaxHeartbeat:    15 * time.Second,
		ConsumerAssignment:      time.Second,
		ConsumerMinAssignment:   0,
		ConsumerMaxAssignment:   15 * time.Second,
		ConsumerMaxSize:         unlimited,
		ConsumerRegexRefresh:    10 * time.Minute,
		ConsumerMigrationPolicy: "bidirectional",
		ConsumerProtocol:        true,
	}
}

// NewShard makes a shard that is loading.
func NewShard(cfg Config, d Deps) *Shard {
	meta := d.Metadata
	if meta == nil {
		meta = noTopics{}
	}
	if d.Rand == nil {
		d.Rand = rand.New(rand.NewPCG(uint64(d.Partition), 0))
	}
	return &Shard{
		cfg: cfg, deps: d, meta: meta,
		groups:   make(map[string]*group),
		held:     make(map[Ticket]*heldReply),
		steps:    make(map[string]map[Step]*hold),
		expected: make(map[string]*expectation),
		open:     make(map[int64]map[string]struct{}),
	}
}

// SetConfig changes the settings; running timers keep their deadlines, as in Kafka.
func (s *Shard) SetConfig(cfg Config) { s.cfg = cfg }

// SetReadOnly says whether the log takes no records, as while fewer replicas are in sync than min.insync.replicas asks for. What a client asks for that would be written
// is then COORDINATOR_NOT_AVAILABLE, after the other checks, and changes nothing but for the leave of a classic group. What the coordinator does on its own account goes on.
func (s *Shard) SetReadOnly(readOnly bool) { s.readOnly = readOnly }

// Handle takes one request. Effects without a reply for its ticket mean that it waits: a join at the barrier, a sync
// for the leader's, a heartbeat for news.
func (s *Shard) Handle(now time.Time, c Command) Effects {
	s.begin(now)
	switch s.phase {
	case phaseLoading:
		s.reply(c.Ticket, Refuse(c.Request, errCoordinatorLoadInProgress))
	case phaseUnloaded:
		s.reply(c.Ticket, Refuse(c.Request, errNotCoordinator))
	default:
		s.dispatch(c)
	}
	return s.end()
}

func (s *Shard) dispatch(c Command) {
	switch req := c.Request.(type) {
	case *kmsg.JoinGroupRequest:
		s.joinGroup(c, req)
	case *kmsg.SyncGroupRequest:
		s.syncGroup(c, req)
	case *kmsg.HeartbeatRequest:
		s.heartbeat(c, req)
	case *kmsg.LeaveGroupRequest:
		s.leaveGroup(c, req)
	case *kmsg.DescribeGroupsRequest:
		s.describeGroups(c, req)
	case *kmsg.ListGroupsRequest:
		s.listGroups(c, req)
	case *kmsg.DeleteGroupsRequest:
		s.deleteGroups(c, req)
	case *kmsg.OffsetCommitRequest:
		s.offsetCommit(c, req)
	case *kmsg.TxnOffsetCommitRequest:
		s.txnOffsetCommit(c, req)
	case *kmsg.OffsetFetchRequest:
		s.offsetFetch(c, req)
	case *kmsg.OffsetDeleteRequest:
		s.offsetDelete(c, req)
	case *kmsg.ConsumerGroupHeartbeatRequest:
		s.consumerGroupHeartbeat(c, req)
	case *kmsg.ConsumerGroupDescribeRequest:
		s.consumerGroupDescribe(c, req)
	default:
		s.reply(c.Ticket, Refuse(c.Request, errUnsupportedVersion))
	}
}

// Flush is called once after all queued commands of a turn of the driver's loop: what one computation can do for many
// requests happens here.
func (s *Shard) Flush(now time.Time) Effects {
	s.begin(now)
	if s.phase == phaseActive {
		s.flushConsumer()
	}
	return s.end()
}

// Loaded ends the loading: members' timers start, groups that are too large begin a rebalance.
func (s *Shard) Loaded(now time.Time) Effects {
	s.begin(now)
	if s.phase != phaseLoading {
		return s.end()
	}
	s.phase = phaseActive
	s.expiration = &timer{kind: timerExpiration, fire: func() {
		s.expire()
		s.startTimer(s.expiration, s.cfg.OffsetsRetentionCheck)
	}}
	s.startTimer(s.expiration, s.cfg.OffsetsRetentionCheck)
	for _, id := range s.GroupIDs() {
		g := s.groups[id]
		switch {
		case g.classic != nil:
			s.classicLoaded(g)
		case g.consumer != nil:
			s.consumerLoaded(g)
		}
		s.emit(Event{Group: id, Kind: EventLoaded, Epoch: g.epoch(), Cause: "the coordinator has loaded the group"})
	}
	return s.end()
}

// Unload is called when the coordinator moves away: parked joins and syncs are answered NOT_COORDINATOR, timers stop.
// The shard is of no use afterwards but for looking.
func (s *Shard) Unload(now time.Time) Effects {
	s.begin(now)
	for _, id := range s.GroupIDs() {
		g := s.groups[id]
		switch {
		case g.classic != nil:
			s.classicUnload(g)
		case g.consumer != nil:
			s.consumerUnload(g)
		}
		s.emit(Event{Group: id, Kind: EventUnloaded, Epoch: g.epoch(), Cause: "the coordinator has moved away"})
	}
	s.unloadWaiting()
	s.unloadHeld()
	for _, t := range slices.Clone(s.timers) {
		s.stopTimer(t)
	}
	s.phase = phaseUnloaded
	return s.end()
}

// MetadataChanged brings the new picture of the topics. Offsets of deleted topics go.
func (s *Shard) MetadataChanged(now time.Time, m Metadata) Effects {
	s.begin(now)
	old := s.meta
	s.meta = m
	if s.phase == phaseActive {
		s.dropDeletedTopics(old)
		s.consumerMetadataChanged(old)
	}
	return s.end()
}

// GroupIDs are the groups of the shard, ascending.
func (s *Shard) GroupIDs() []string {
	return sortedNames(s.groups)
}

// begin starts a step. Time never goes back within a shard.
func (s *Shard) begin(now time.Time) {
	if now.After(s.now) {
		s.now = now
	}
	if s.fx.Batches == nil && s.fx.Replies == nil && s.fx.Events == nil {
		s.fx, s.spare = s.spare, Effects{}
	}
}

func (s *Shard) end() Effects {
	if len(s.fx.Batches) > 0 {
		s.moveReaders()
	}
	fx := s.fx
	s.fx = Effects{}
	return fx
}

// Recycle takes back what a step returned when its driver is done with it, so that the next step need not allocate: the lists of replies and events are
// cleared, what stands in them stays the driver's. A driver need not call it.
func (s *Shard) Recycle(fx Effects) {
	if cap(fx.Events) > maxRecycled || cap(fx.Replies) > maxRecycled {
		return
	}
	clear(fx.Replies)
	clear(fx.Events)
	s.spare = Effects{Replies: fx.Replies[:0], Events: fx.Events[:0]} // batches are small in number, and rare
}

// maxRecycled bounds what a shard keeps allocated for its next step.
const maxRecycled = 4096

// reply answers a ticket; ticket zero is nobody.
func (s *Shard) reply(t Ticket, r kmsg.Response) {
	if t != 0 {
		s.fx.Replies = append(s.fx.Replies, Reply{Ticket: t, Response: r})
	}
}

// emit tells of a change; what a replay repeats is no news.
func (s *Shard) emit(e Event) {
	if s.phase == phaseLoading {
		return
	}
	if e.At.IsZero() {
		e.At = s.now
	}
	s.fx.Events = append(s.fx.Events, e)
}

// noTopics is the picture of a cluster without topics.
type noTopics struct{}

func (noTopics) Topic(string) (Topic, bool)                { return Topic{}, false }
func (noTopics) TopicByID(assignors.TopicID) (Topic, bool) { return Topic{}, false }
func (noTopics) TopicNames() []string                      { return nil }
func (noTopics) Version() int64                            { return 0 }
func (noTopics) LastCreated() int64                        { return 0 }

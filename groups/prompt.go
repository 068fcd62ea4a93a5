package groups

import (
	"slices"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// This file has the rules that make rebalances quick with unmodified clients: when an answer waits for news. The protocol's rules
// don't know about them; with Config.Prompt off none of them acts.

// heartbeatHolds says how long each client bears a Heartbeat without its answer, by the software name in its ApiVersions. Only
// clients that beat in the background are in it: for others a held heartbeat would stop the consumption.
var heartbeatHolds = []struct {
	software string // beginning of the name, lower case
	hold     time.Duration
}{
	{kgoSoftware, 8 * time.Second},         // franz-go cuts a heartbeat's connection after 10 s
	{javaSoftware, 15 * time.Second},       // request.timeout.ms is 30 s
	{"librdkafka", 15 * time.Second},       // it waits the session timeout
	{"confluent-kafka-", 15 * time.Second}, // bindings of librdkafka name themselves
}

const (
	kgoSoftware     = "kgo"
	javaSoftware    = "apache-kafka-java"
	streamsAssignor = "stream" // as Kafka Streams names its assignor in a classic group
)

// kafkaGoHold is for segmentio/kafka-go, which sends no software name; it cuts a heartbeat's connection after 5 s. It beats by a
// ticker, and when it is closed it waits for its heartbeat's answer and then lets chance choose between a tick that came
// meanwhile and the end. So the hold also stays below its interval, which its first heartbeat after a sync tells.
const kafkaGoHold = 4 * time.Second

// heartbeatHold is how long a client that names itself bears a held heartbeat; 0: not at all.
func heartbeatHold(c Client) time.Duration {
	for _, h := range heartbeatHolds {
		if isSoftware(c.Software, h.software) {
			return h.hold
		}
	}
	return 0
}

// classicHold is heartbeatHold for a member of a classic group, which may be known by its requests.
func classicHold(c Client, version int16, m *classicMember) time.Duration {
	if c.Software == "" && version == 0 && looksLikeKafkaGo(m) {
		return min(kafkaGoHold, m.interval*9/10)
	}
	return heartbeatHold(c)
}

// withinSession bounds a hold by the session timeout that the member's own side watches over, too. librdkafka counts its session from answer to answer and looks at
// its interval, which may be half of the session, once a second when it has nothing else to do: with a hold its heartbeats would come too close to the end of a short one.
func withinSession(c Client, hold, session time.Duration) time.Duration {
	hold = min(hold, session/3)
	if isLibrdkafka(c.Software) {
		hold = min(hold, session/2-librdkafkaTurn)
	}
	return hold
}

// librdkafkaTurn is that second and some more, for a busy machine.
const librdkafkaTurn = 1500 * time.Millisecond

// ClosesUnheard tells whether a member's client sends nothing when it is closed, and waits for the answer of its heartbeat then. That is the Java consumer
// where it doesn't leave the group: as a static member (KIP-345), and in Kafka Streams. And it is kafka-go, which leaves only after that; one that has no
// partitions can't be told from one that is being closed.
func (s *Shard) ClosesUnheard(group, member string, c Client) bool {
	g := s.groups[group]
	if g != nil && g.classic != nil && c.Software == "" {
		m := g.classic.members[member]
		return m != nil && looksLikeKafkaGo(m) && m.hasPartitions()
	}
	if g == nil || !isSoftware(c.Software, javaSoftware) {
		return false
	}
	if g.consumer != nil {
		m := g.consumer.members[member] // in a group of both protocols
		return m != nil && m.instanceID != nil
	}
	if g.classic == nil {
		return false
	}
	m := g.classic.members[member]
	return m != nil && (m.instanceID != nil || g.classic.protocol != nil && *g.classic.protocol == streamsAssignor)
}

// hasPartitions says whether the member was assigned any.
func (m *classicMember) hasPartitions() bool {
	topics, _ := assignedPartitions(m.assignment)
	return len(topics) > 0
}

// looksLikeKafkaGo knows kafka-go by its subscription: it says to be of version 1 but ends where one of version 0 does.
func looksLikeKafkaGo(m *classicMember) bool {
	return len(m.protocols) > 0 && !slices.ContainsFunc(m.protocols, func(p protocol) bool {
		_, rest, err := readSubscriptionV0(p.metadata)
		return err != nil || len(rest) > 0 || p.metadata[1] != 1
	})
}

// holdHeartbeat lets a heartbeat wait for news if there is none and its client bears that.
func (s *Shard) holdHeartbeat(c Command, req *kmsg.HeartbeatRequest, m *classicMember) bool {
	if !s.cfg.Prompt || c.Ticket == 0 || s.groups[req.Group].classic.state != classicStable || m.sync != nil || s.beatsInTransaction(c.Client, req.Group) {
		return false
	}
	if !m.assignedAt.IsZero() {
		m.interval, m.assignedAt = s.now.Sub(m.assignedAt), time.Time{}
	}
	limit := withinSession(c.Client, classicHold(c.Client, req.Version, m), m.sessionTimeout)
	if limit <= 0 {
		return false
	}
	s.park(c, req, m, limit)
	return true
}

// beatsInTransaction says that offsets of an open transaction wait in the group, and the client is kgo: it sends a heartbeat after its TxnOffsetCommit
// and does not end the transaction before it is answered, so as to know that it is still a member. None of its heartbeats is held then.
func (s *Shard) beatsInTransaction(c Client, group string) bool {
	return isKgo(c) && len(s.groups[group].offsets.pending) > 0
}

func isKgo(c Client) bool { return isSoftware(c.Software, kgoSoftware) }

// isSoftware tells whether the software name in a client's ApiVersions begins so; the beginning is in lower case.
func isSoftware(name, beginning string) bool {
	return strings.HasPrefix(strings.ToLower(name), beginning)
}

// transactionOpened answers the held heartbeat of the member whose offsets a client has added to a transaction, if that client sends its next one now.
func (s *Shard) transactionOpened(c Client, g *group, member string) {
	switch {
	case g == nil || member == "" || !isKgo(c):
	case g.classic != nil && g.classic.members[member] != nil:
		s.releaseHeld(g.classic.members[member].beat)
	case g.consumer != nil && g.consumer.members[member] != nil:
		s.releaseMember(g.consumer.members[member])
	}
}

// park lets a heartbeat wait.
func (s *Shard) park(c Command, req *kmsg.HeartbeatRequest, m *classicMember, limit time.Duration) {
	s.releaseHeld(m.beat) // of another connection
	var h *heldReply
	letGo := func(then func()) func() {
		return func() {
			if m.beat == h {
				m.beat = nil
			}
			if g := s.groups[req.Group]; g != nil && g.consumer != nil { // it was upgraded, and the member's heartbeat with it
				if m := g.consumer.members[req.MemberID]; m != nil && m.held == h {
					m.held = nil
				}
			}
			then()
		}
	}
	h = s.holdReply(c.Ticket, req.Group, m.id, limit, letGo(func() { s.heartbeatAgain(c, req) }),
		letGo(func() { s.reply(c.Ticket, heartbeatAnswer(req, errNotCoordinator)) }))
	m.beat = h
}

// librdkafkaAssigns is the time that librdkafka gets to hand an assignment to the application. It does not listen while it does: a
// REBALANCE_IN_PROGRESS in a heartbeat's answer is lost on it then, and it hears the next a whole interval later.
const librdkafkaAssigns = 100 * time.Millisecond

// deaf is how long the member won't listen to news yet.
func (s *Shard) deaf(m *classicMember) time.Duration {
	if !s.cfg.Prompt || m.syncedAt.IsZero() || !isLibrdkafka(m.software) {
		return 0
	}
	return librdkafkaAssigns - s.now.Sub(m.syncedAt)
}

// tellNews answers a held heartbeat because the group rebalances.
func (s *Shard) tellNews(m *classicMember) {
	if d := s.deaf(m); d > 0 && m.beat != nil {
		s.startTimer(&m.beat.timer, d)
		return
	}
	s.releaseHeld(m.beat)
}

// delayNews lets a heartbeat wait that would tell of a rebalance too early.
func (s *Shard) delayNews(c Command, req *kmsg.HeartbeatRequest, m *classicMember) bool {
	d := s.deaf(m)
	if d <= 0 || c.Ticket == 0 || m.join != nil {
		return false
	}
	s.park(c, req, m, d)
	return true
}

// arrivals bounds an initial delay that begins anew with each arrival.
type arrivals struct {
	end   time.Time // no later than this the group goes on: Kafka's bound
	hints time.Time // after this only who joins extends the delay
}

// hintDelays is how many initial delays those may be waited for that are on their way, but have not joined.
const hintDelays = 10

// delaysByArrivals says how an initial delay ends that nobody has set. Kafka looks at the end of each delay whether somebody came within it; here it
// is counted from the last arrival: who comes within a delay of the one before shares the generation, and the group goes on up to a delay earlier. Clients
// that are on their way count too: started in the same instant, they get the processor one after the other.
func (s *Shard) delaysByArrivals() bool {
	return s.cfg.Prompt && !s.cfg.InitialRebalanceDelaySet && s.cfg.InitialRebalanceDelay > 0
}

// awaitArrivals begins an initial delay with the first member.
func (s *Shard) awaitArrivals(g *group) {
	c := g.classic
	d := s.cfg.InitialRebalanceDelay
	c.arrivals = arrivals{end: s.now.Add(max(c.rebalanceTimeout(), d)), hints: s.now.Add(hintDelays * d)}
	c.joinTimer.kind = timerInitialDelay
	c.joinTimer.fire = func() { s.completeJoin(g) }
	s.startTimer(&c.joinTimer, d)
}

// arrived lets the initial delay begin anew, if it runs: a member has joined.
func (s *Shard) arrived(c *classicGroup) { s.extendDelay(c, c.arrivals.end) }

// onItsWay is arrived for a client that will join soon: it has looked the coordinator up, or was given a member id.
func (s *Shard) onItsWay(c *classicGroup) { s.extendDelay(c, c.arrivals.hints) }

func (s *Shard) extendDelay(c *classicGroup, until time.Time) {
	if !s.delaysByArrivals() || c.joinTimer.kind != timerInitialDelay || !c.joinTimer.running {
		return
	}
	at := s.now.Add(s.cfg.InitialRebalanceDelay)
	if at.After(until) {
		at = until
	}
	if at.After(c.joinTimer.at) {
		s.startTimer(&c.joinTimer, at.Sub(s.now))
	}
}

// LookedUp tells that a client asked for the coordinator of a group, as one does that is about to join.
func (s *Shard) LookedUp(now time.Time, id string) Effects {
	s.begin(now)
	if g := s.groups[id]; g != nil && g.classic != nil && s.phase == phaseActive {
		s.onItsWay(g.classic)
	}
	return s.end()
}

// secondRoundWait is how long the members that lose nothing wait for the rejoin of those that do.
const secondRoundWait = time.Second

// beginSecondRound looks whether a cooperative assignment needs a second rebalance: it takes partitions from members that own them
// and leaves them unassigned until they are given up. Those members rejoin at once; the others would only learn
// of that rebalance by a heartbeat, up to a whole interval later. So their SyncGroup answers wait for it.
func (s *Shard) beginSecondRound(g *group) {
	c := g.classic
	s.stopTimer(&c.secondRound)
	c.losersUnsynced = 0
	for _, m := range c.order {
		m.loses = false
	}
	if c.protocolType != consumerProtocolType {
		return
	}
	owned, any := make([]map[string][]int32, len(c.order)), false
	for i, m := range c.order {
		owned[i] = ownedPartitions(m.metadata(c.protocol))
		any = any || owned[i] != nil
	}
	if !any { // every round of an eager group
		return
	}
	type partition struct {
		topic  string
		number int32
	}
	assigned := make(map[partition]string)
	for _, m := range c.order {
		topics, ok := assignedPartitions(m.assignment)
		if !ok {
			return
		}
		for topic, partitions := range topics {
			for _, p := range partitions {
				assigned[partition{topic, p}] = m.id
			}
		}
	}
	losers, freed := 0, false
	for i, m := range c.order {
		for topic, partitions := range owned[i] {
			for _, p := range partitions {
				if owner, taken := assigned[partition{topic, p}]; owner != m.id {
					m.loses = true
					freed = freed || !taken
				}
			}
		}
		if m.loses {
			losers++
			if _, unsynced := c.unsynced[m.id]; unsynced {
				c.losersUnsynced++
			}
		}
	}
	if s.cfg.Prompt && freed && losers < len(c.order) {
		s.startTimer(&c.secondRound, secondRoundWait)
	}
}

// waitsForSecondRound says whether the member's SyncGroup answer waits. One that loses partitions waits only for the others that do, until they have
// asked too: its rejoin would turn their SyncGroup away, they would not hear what to give up, and a third round would have to tell them.
func (s *Shard) waitsForSecondRound(c *classicGroup, m *classicMember) bool {
	if m.loses {
		return c.secondRound.running && c.losersUnsynced > 0
	}
	return c.secondRound.running && !(isLibrdkafka(m.software) && s.beatsSoon(m))
}

// isLibrdkafka knows librdkafka and what is built on it. It rejoins at once when a heartbeat tells it to, but takes a second or two when SyncGroup does.
func isLibrdkafka(software string) bool {
	return isSoftware(software, "librdkafka") || isSoftware(software, "confluent-kafka-")
}

// beatsSoon says that a librdkafka member's next heartbeat comes earlier than it would rejoin after its SyncGroup was refused. It counts its
// interval from the last heartbeat it sent, over rebalances, and a new member beats at once; the default of 3 s is supposed.
func (s *Shard) beatsSoon(m *classicMember) bool {
	return m.beatAt.IsZero() || s.now.Sub(m.beatAt) > 1500*time.Millisecond
}

// endSecondRound gives the assignments out: the rejoin did not come in time.
func (s *Shard) endSecondRound(g *group) {
	c := g.classic
	if c == nil || c.state != classicStable && c.state != classicCompleting {
		return
	}
	s.admitWaiting(g)
	if c.state == classicStable {
		s.answerSyncs(g, errNone)
	}
}

// joinsMayWait says that the generation may need a second cooperative round: a member still has partitions. librdkafka joins at most once a second
// unless it has just given partitions up, so that a member of it that was answered now would be a second late for that round. The answers
// of its followers' joins wait, no longer than a second, until the leader's assignment tells: who loses partitions is answered then, the others have
// joined for the second round already.
func (s *Shard) joinsMayWait(c *classicGroup) bool {
	return s.cfg.Prompt && c.protocolType == consumerProtocolType && slices.ContainsFunc(c.order, func(m *classicMember) bool {
		return len(ownedPartitions(m.metadata(c.protocol))) > 0
	})
}

// joinWaits says whether the answer of a member's join waits then.
func (s *Shard) joinWaits(c *classicGroup, m *classicMember) bool {
	return m.join != nil && m.id != c.leader && isLibrdkafka(m.software)
}

// admitWaiting answers the joins that waited for the leader's assignment, save those that go on to a second round.
func (s *Shard) admitWaiting(g *group) {
	c := g.classic
	for _, m := range c.order {
		if m.join != nil && (m.loses || !c.secondRound.running) {
			s.admit(c, m)
		}
	}
}

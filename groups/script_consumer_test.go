package groups

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/fakekafka/fakekafka/assignors"
	"github.com/fakekafka/fakekafka/internal/records"
)

// The commands of scripts for the consumer protocol. A client's member id is its name, unless member= says otherwise.
func init() {
	for name, run := range map[string]func(*script) error{
		// consumer-config [interval=0s] [policy=upgrade] [max-size=2] [assignors=(uniform,range,failing,failing-kafka)] [session=45s] [off]
		"consumer-config": (*script).consumerConfig,
		// consumer-join c1 [group=g] [topics=(foo)] [regex=foo.*] [rebalance=30s] [instance=i] [rack=r] [assignor=range] [member=id] [version=1]
		"consumer-join": (*script).consumerJoin,
		// beat c1 [group=g] [epoch=2] [owned=(foo-0)] [owns-nothing] [topics=(foo)] [no-topics] [regex=foo.*] [no-regex] [rebalance=30s] [instance=i]
		// [rack=r] [assignor=range] [member=id] [version=1]: owned and the rest are null where they are left out
		"beat": (*script).beat,
		// consumer-leave c1 [epoch=-2] [instance=i] [member=id]
		"consumer-leave": (*script).consumerLeave,
		// group-config name=value ...: the settings of group g
		"group-config": (*script).groupConfig,
		// newer-broker c1 state=9: one that leaves members in states of its own was the coordinator for a while
		"newer-broker": (*script).newerBroker,
		// touch c1: it counts as a heartbeat
		"touch": (*script).touch,
		// consumer-describe g
		"consumer-describe": (*script).consumerDescribe,
	} {
		scriptCommands[name] = run
	}
	describeConsumerRecord = describeConsumerRecordText
}

func (w *script) consumerConfig() error {
	w.cfg.ConsumerAssignment = w.duration("interval", w.cfg.ConsumerAssignment)
	w.cfg.ConsumerMigrationPolicy = w.str("policy", w.cfg.ConsumerMigrationPolicy)
	w.cfg.ConsumerMaxSize = w.number("max-size", w.cfg.ConsumerMaxSize)
	w.cfg.ConsumerSessionTimeout = w.duration("session", w.cfg.ConsumerSessionTimeout)
	w.cfg.ConsumerProtocol = !w.has("off")
	names := w.words("assignors")
	if names == nil {
		names = []string{"uniform", "range"}
	}
	w.cfg.Assignors = nil
	for _, name := range names {
		switch name {
		case "uniform":
			w.cfg.Assignors = append(w.cfg.Assignors, assignors.NewUniform())
		case "range":
			w.cfg.Assignors = append(w.cfg.Assignors, assignors.NewServerRange())
		case "failing":
			w.cfg.Assignors = append(w.cfg.Assignors, failingAssignor{})
		case "failing-kafka":
			w.cfg.Assignors = append(w.cfg.Assignors, failingKafkaAssignor{})
		}
	}
	w.shard.SetConfig(w.cfg)
	return nil
}

func (w *script) groupConfig() error {
	settings := make(map[string]string)
	for _, a := range w.d.CmdArgs {
		settings[a.Key] = a.Vals[0]
	}
	w.cfg.GroupConfig = func(group, name string) (string, bool) {
		v, ok := settings[name]
		return v, ok && group == "g"
	}
	w.shard.SetConfig(w.cfg)
	return nil
}

func (w *script) newerBroker() error {
	id, err := w.member()
	if err != nil {
		return err
	}
	m := w.shard.groups[w.group()].consumer.members[id]
	w.log = append(w.log, loggedRecord{producer: -1, Record: Record{
		Key: records.ConsumerKey(records.TypeConsumerCurrentMember, w.group(), id),
		Value: records.ConsumerCurrentMember{
			Epoch: m.epoch, Previous: m.previous, State: int8(w.number("state", 9)), Assigned: m.assigned.toRecord(), Pending: m.pending.toRecord(),
		}.Encode(),
	}})
	w.replay()
	w.effects(w.shard.Loaded(w.now))
	return w.checkReplay()
}

func (w *script) touch() error {
	w.shard.Touch(w.now, w.group(), w.client().member)
	return nil
}

// failingAssignor is one of a user that has a bug.
type failingAssignor struct{}

func (failingAssignor) Name() string { return "failing" }
func (failingAssignor) Assign(assignors.ServerInput) (map[string]assignors.Partitions, error) {
	return nil, fmt.Errorf("no idea")
}

// failingKafkaAssignor is one of Kafka's own that fails, as uniform does at a previous target with partitions that there aren't.
type failingKafkaAssignor struct{ failingAssignor }

func (failingKafkaAssignor) Name() string { return "failing-kafka" }
func (failingKafkaAssignor) AssignOrdered(assignors.ServerInput) ([][]assignors.Share, error) {
	return nil, fmt.Errorf("no idea")
}

func (w *script) beatRequest(epoch int32) (*scriptClient, *kmsg.ConsumerGroupHeartbeatRequest) {
	c := w.client()
	if c.member == "" {
		c.member = c.name
	}
	req := kmsg.NewPtrConsumerGroupHeartbeatRequest()
	req.Version = int16(w.number("version", 1))
	req.Group = w.group()
	req.MemberID = w.unalias(w.str("member", c.member))
	req.MemberEpoch = int32(w.number("epoch", int(epoch)))
	req.InstanceID = w.instance()
	if v, ok := w.arg("rack"); ok {
		req.RackID = &v
	}
	if v, ok := w.arg("assignor"); ok {
		req.ServerAssignor = &v
	}
	if v, ok := w.arg("regex"); ok {
		req.SubscribedTopicRegex = &v
	}
	if w.has("no-regex") {
		req.SubscribedTopicRegex = kmsg.StringPtr("")
	}
	req.SubscribedTopicNames = w.words("topics")
	if w.has("no-topics") {
		req.SubscribedTopicNames = []string{}
	}
	if w.has("owned") || w.has("owns-nothing") {
		req.Topics = []kmsg.ConsumerGroupHeartbeatRequestTopic{}
		for topic, parts := range partitionsOf(w.words("owned")) {
			t := kmsg.NewConsumerGroupHeartbeatRequestTopic()
			known, _ := w.meta.Topic(topic)
			t.TopicID, t.Partitions = known.ID, parts
			req.Topics = append(req.Topics, t)
		}
	}
	req.RebalanceTimeoutMillis = -1
	if w.has("rebalance") {
		req.RebalanceTimeoutMillis = int32(w.duration("rebalance", 0).Milliseconds())
	}
	return c, req
}

func (w *script) consumerJoin() error {
	c, req := w.beatRequest(0)
	if req.RebalanceTimeoutMillis == -1 {
		req.RebalanceTimeoutMillis = 30000
	}
	if req.SubscribedTopicNames == nil && req.SubscribedTopicRegex == nil {
		req.SubscribedTopicNames = []string{"foo"}
	}
	req.Topics = []kmsg.ConsumerGroupHeartbeatRequestTopic{}
	w.send(c, req)
	return w.checkReplay()
}

func (w *script) beat() error {
	c := w.client()
	c, req := w.beatRequest(c.gen)
	w.send(c, req)
	return w.checkReplay()
}

func (w *script) consumerLeave() error {
	c, req := w.beatRequest(-1)
	w.send(c, req)
	return w.checkReplay()
}

func (w *script) consumerDescribe() error {
	req := kmsg.NewPtrConsumerGroupDescribeRequest()
	req.Version = 1
	for _, a := range w.d.CmdArgs {
		req.Groups = append(req.Groups, a.Key)
	}
	w.send(w.clientNamed("admin"), req)
	return w.checkReplay()
}

// checkReplay says whether another coordinator that reads the log stands where this one stands, also when the log was compacted.
func (w *script) checkReplay() error {
	if err := checkIndexes(w.shard); err != nil {
		return err
	}
	for _, end := range []int{0, len(w.log) / 2, len(w.log)} {
		other, gone := w.newShard(), cleaned(w.log, end)
		for i, r := range w.log {
			switch {
			case gone[i]:
			case r.marker:
				other.ReplayMarker(int64(i), r.producer, r.commit)
			default:
				other.Replay(int64(i), r.Record, r.producer)
			}
		}
		if live, replayed := durable(w.shard), durable(other); live != replayed {
			return fmt.Errorf("the replayed state differs from the live one (log of %d records compacted up to %d)\nlive:\n%s\nreplayed:\n%s", len(w.log), end, live, replayed)
		}
		if err := checkIndexes(other); err != nil {
			return err
		}
	}
	return nil
}

// durableConsumer is all durable state of a consumer group as text.
func durableConsumer(g *consumerGroup) string {
	var b strings.Builder
	fmt.Fprintf(&b, "  consumer epoch %d hash %d target %d at %d\n", g.groupEpoch, g.metadataHash, g.assignmentEpoch, g.assignedAt)
	for _, id := range g.order {
		m := g.members[id]
		fmt.Fprintf(&b, "  %s %s %s %s %s %v /%s/ %d %s", id, orNone(m.instanceID), orNone(m.rackID), m.clientID, m.clientHost, m.names, m.regex, m.rebalanceTimeoutMs, orNone(m.assignor))
		if m.classic != nil {
			fmt.Fprintf(&b, " classic %d %q", m.classic.SessionTimeoutMs, m.classic.Protocols)
		}
		fmt.Fprintf(&b, " epoch %d before %d %s assigned %v pending %v target %v\n", m.epoch, m.previous, m.state, m.assigned, m.pending, g.orderedTarget(id))
	}
	for _, expression := range sortedNames(g.regexes) {
		fmt.Fprintf(&b, "  /%s/ %+v\n", expression, *g.regexes[expression])
	}
	return b.String()
}

// checkIndexes recomputes what a consumer group keeps beside its durable state, and that no partition has two owners.
func checkIndexes(s *Shard) error {
	for _, id := range s.GroupIDs() {
		g := s.groups[id].consumer
		if g == nil {
			continue
		}
		fresh := newConsumerGroup(id)
		for name, r := range g.regexes {
			fresh.setRegex(name, r)
		}
		type partition struct {
			topic assignors.TopicID
			p     int32
		}
		holders := make(map[partition]string)
		for _, id := range g.order {
			m := g.members[id]
			fresh.setAttributes(id, m.memberAttributes)
			fresh.setAssignment(fresh.members[id], m.memberAssignment)
			for _, set := range []ownership{m.assigned, m.pending} {
				var err error
				set.each(func(topic assignors.TopicID, p, _ int32) {
					key := partition{topic, p}
					if other, taken := holders[key]; taken {
						err = fmt.Errorf("partition %x-%d has two owners, %s and %s", topic, p, other, id)
					}
					holders[key] = id
				})
				if err != nil {
					return err
				}
			}
		}
		for _, index := range []struct {
			name       string
			have, want any
			same       bool
		}{
			{"order", g.order, fresh.order, slices.Equal(g.order, fresh.order)},
			{"static", g.static, fresh.static, hasAll(g.static, fresh.static)}, // and what members left behind
			{"owners", g.owners, fresh.owners, maps.EqualFunc(g.owners, fresh.owners, maps.Equal)},
			{"names", g.nameUsers, fresh.nameUsers, maps.Equal(g.nameUsers, fresh.nameUsers)},
			{"regex topics", g.regexTopics, fresh.regexTopics, maps.Equal(g.regexTopics, fresh.regexTopics)},
			{"regexes", g.regexUsers, fresh.regexUsers, maps.Equal(g.regexUsers, fresh.regexUsers)},
			{"votes", g.votes, fresh.votes, maps.Equal(g.votes, fresh.votes)},
			{"classic", g.classicMembers, fresh.classicMembers, g.classicMembers == fresh.classicMembers},
			{"protocols", g.classicProtocols, fresh.classicProtocols, maps.Equal(g.classicProtocols, fresh.classicProtocols)},
			{"stable", g.stableAt, fresh.stableAt, maps.Equal(g.stableAt, fresh.stableAt)},
		} {
			if !index.same {
				return fmt.Errorf("index %s of group %s is %v, should be %v", index.name, id, index.have, index.want)
			}
		}
	}
	return nil
}

func hasAll(m, entries map[string]string) bool {
	for key, value := range entries {
		if m[key] != value {
			return false
		}
	}
	return true
}

// showSet shows partitions by topic id as the test's topics are called: the id's first byte.
func showSet(topics []records.TopicPartitions, epochs bool) string {
	var words []string
	for _, t := range topics {
		for i, p := range t.Partitions {
			word := fmt.Sprintf("t%d-%d", t.TopicID[0], p)
			if epochs {
				word += fmt.Sprintf("@%d", t.Epochs[i])
			}
			words = append(words, word)
		}
	}
	return "(" + strings.Join(words, " ") + ")"
}

func describeConsumerRecordText(kind int16, r Record) string {
	typ, group, second, err := records.DecodeConsumerKey(r.Key)
	if err != nil {
		return err.Error()
	}
	what := fmt.Sprintf("%d %s", kind, group)
	if second != "" {
		what += " " + second
	}
	if r.Value == nil {
		return what + ": tombstone"
	}
	switch typ {
	case records.TypeConsumerGroup:
		v, err := records.DecodeConsumerGroup(r.Value)
		hash := ""
		if v.MetadataHash == 0 {
			hash = " without topics"
		}
		return fmt.Sprintf("%s: group epoch %d%s%s", what, v.Epoch, hash, wrong(err))
	case records.TypeConsumerMember:
		v, err := records.DecodeConsumerMember(r.Value)
		out := fmt.Sprintf("%s: member of %s%s names %v", what, v.ClientID, v.ClientHost, v.Names)
		if v.Regex != nil && *v.Regex != "" {
			out += fmt.Sprintf(" regex %s", *v.Regex)
		}
		if v.InstanceID != nil {
			out += " instance " + *v.InstanceID
		}
		if v.RackID != nil {
			out += " rack " + *v.RackID
		}
		if v.Assignor != nil {
			out += " assignor " + *v.Assignor
		}
		if v.Classic != nil {
			out += fmt.Sprintf(" classic, session %s", time.Duration(v.Classic.SessionTimeoutMs)*time.Millisecond)
			for _, p := range v.Classic.Protocols {
				out += " " + p.Name
			}
		}
		return fmt.Sprintf("%s rebalance %s%s", out, time.Duration(v.RebalanceTimeoutMs)*time.Millisecond, wrong(err))
	case records.TypeConsumerTarget:
		v, err := records.DecodeConsumerTarget(r.Value)
		return fmt.Sprintf("%s: target epoch %d%s", what, v.Epoch, wrong(err))
	case records.TypeConsumerTargetMember:
		v, err := records.DecodeConsumerTargetMember(r.Value)
		return fmt.Sprintf("%s: target %s%s", what, showSet(v.Topics, false), wrong(err))
	case records.TypeConsumerCurrentMember:
		v, err := records.DecodeConsumerCurrentMember(r.Value)
		return fmt.Sprintf("%s: epoch %d before %d %s assigned %s pending %s%s", what, v.Epoch, v.Previous, memberState(v.State),
			showSet(v.Assigned, true), showSet(v.Pending, true), wrong(err))
	case records.TypeConsumerRegex:
		v, err := records.DecodeConsumerRegex(r.Value)
		return fmt.Sprintf("%s: matches %v at version %d%s", what, v.Topics, v.Version, wrong(err))
	}
	return what
}

func wrong(err error) string {
	if err == nil {
		return ""
	}
	return " WRONG: " + err.Error()
}

// describeConsumerReply shows an answer of the consumer protocol; the client keeps what it learns.
func (w *script) describeConsumerReply(c *scriptClient, resp kmsg.Response) string {
	switch r := resp.(type) {
	case *kmsg.ConsumerGroupHeartbeatResponse:
		if r.ErrorCode != errNone {
			return fmt.Sprintf("ConsumerGroupHeartbeat: %s %s", code(r.ErrorCode), orNone(r.ErrorMessage))
		}
		c.gen = r.MemberEpoch
		if r.MemberID != nil && c.member != *r.MemberID {
			c.member = *r.MemberID
			w.alias(c, c.member)
		}
		out := fmt.Sprintf("ConsumerGroupHeartbeat: member %s epoch %d", orNone(r.MemberID), r.MemberEpoch)
		if r.HeartbeatIntervalMillis != 5000 {
			out += fmt.Sprintf(" interval %dms", r.HeartbeatIntervalMillis)
		}
		if r.Assignment == nil {
			return out
		}
		assigned := make(map[string][]int32)
		for _, t := range r.Assignment.Topics {
			assigned[w.topicName(t.TopicID)] = t.Partitions
		}
		return out + " assigned " + showPartitions(assigned)
	case *kmsg.ConsumerGroupDescribeResponse:
		var out []string
		for _, g := range r.Groups {
			if g.ErrorCode != errNone {
				out = append(out, fmt.Sprintf("%s %s %s", g.Group, code(g.ErrorCode), orNone(g.ErrorMessage)))
				continue
			}
			line := fmt.Sprintf("%s %s epoch %d target epoch %d by %s", g.Group, g.State, g.Epoch, g.AssignmentEpoch, g.AssignorName)
			for _, m := range g.Members {
				kind := ""
				if m.MemberType == 0 {
					kind = " classic"
				}
				line += fmt.Sprintf("\n  %s%s epoch %d: assigned %s target %s", m.MemberID, kind, m.MemberEpoch, showKmsg(m.Assignment), showKmsg(m.TargetAssignment))
			}
			out = append(out, line)
		}
		return "ConsumerGroupDescribe: " + strings.Join(out, "\n")
	}
	return fmt.Sprintf("%T", resp)
}

func showKmsg(a kmsg.Assignment) string {
	parts := make(map[string][]int32)
	for _, t := range a.TopicPartitions {
		parts[t.Topic] = t.Partitions
	}
	return showPartitions(parts)
}

func (w *script) topicName(id assignors.TopicID) string {
	if t, ok := w.meta.TopicByID(id); ok {
		return t.Name
	}
	return fmt.Sprintf("gone-t%d", id[0])
}

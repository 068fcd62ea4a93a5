package groups

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// The commands for what is not a member's or an offset's request: settings, topics, administration, the clock and what a test steers.

func (w *script) config() error {
	w.cfg.InitialRebalanceDelay = w.duration("initial-delay", w.cfg.InitialRebalanceDelay)
	w.cfg.MaxSize = w.number("max-size", w.cfg.MaxSize)
	w.cfg.MinSessionTimeout = w.duration("min-session", w.cfg.MinSessionTimeout)
	w.cfg.OffsetMetadataMaxBytes = w.number("metadata-max", w.cfg.OffsetMetadataMaxBytes)
	w.cfg.OffsetsRetention = w.duration("retention", w.cfg.OffsetsRetention)
	w.batchMax = w.number("batch-max", w.batchMax)
	w.cfg.InitialRebalanceDelaySet = w.has("delay-set")
	w.cfg.Prompt = w.cfg.Prompt || w.has("prompt")
	w.shard.SetConfig(w.cfg)
	return nil
}

func (w *script) topic() error {
	if w.has("anew") {
		w.meta = w.meta.with(w.d.CmdArgs[0].Key, 0)
	}
	w.meta = w.meta.with(w.d.CmdArgs[0].Key, int32(w.number("partitions", 0)))
	w.effects(w.shard.MetadataChanged(w.now, w.meta))
	w.effects(w.shard.Flush(w.now))
	return nil
}

func (w *script) describe() error {
	req := kmsg.NewPtrDescribeGroupsRequest()
	req.Version = int16(w.number("version", 6))
	req.IncludeAuthorizedOperations = w.has("operations")
	for _, a := range w.d.CmdArgs {
		if a.Key != "version" && a.Key != "operations" {
			req.Groups = append(req.Groups, a.Key)
		}
	}
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
	for now := range deadlines(w.shard, w.now, end) {
		w.now = now
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
	w.replay()
	if after := durable(w.shard); after != before {
		return fmt.Errorf("the replayed state differs from the live one\nlive:\n%s\nreplayed:\n%s", before, after)
	}
	w.effects(w.shard.Loaded(w.now))
	return nil
}

// replay has another coordinator read the log.
func (w *script) replay() {
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

func (w *script) readOnly() error {
	w.shard.SetReadOnly(!w.has("off"))
	return nil
}

// timers shows the timers as they would fire, save the clean-up.
func (w *script) timers() error {
	var all []Timer
	w.shard.NextTimer(func(t Timer) bool {
		all = append(all, t)
		return false
	})
	slices.SortFunc(all, func(a, b Timer) int {
		return cmp.Or(a.Deadline.Compare(b.Deadline), cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Group, b.Group), cmp.Compare(a.Member, b.Member))
	})
	for _, t := range all {
		waits := ""
		if t.WaitsForClients {
			waits = fmt.Sprintf(" awaits %v", w.shard.AwaitedBy(t))
		}
		if t.IO {
			waits += " delays an answer"
		}
		w.printf("+%s %s%s%s%s", t.Deadline.Sub(w.start), t.Kind, suffix(" of group ", t.Group), suffix(" member ", t.Member), waits)
	}
	return nil
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
	w.effects(w.shard.Flush(w.now))
	return nil
}

func (w *script) giveUp() error {
	for _, t := range slices.Clone(w.client().waiting) {
		w.effects(w.shard.GaveUp(w.now, t, w.duration("after", 0)))
	}
	w.effects(w.shard.Flush(w.now))
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
		session := "no session timer"
		if !m.SessionDeadline.IsZero() {
			session = fmt.Sprintf("session until +%s", m.SessionDeadline.Sub(w.start))
		}
		seen := "not seen"
		if !m.LastHeartbeat.IsZero() {
			seen = fmt.Sprintf("seen +%s", m.LastHeartbeat.Sub(w.start))
		}
		revoking := ""
		if len(m.Revoking) > 0 {
			revoking = " revoking " + showPartitions(m.Revoking)
		}
		w.printf("  %s of %s%s: %s, epoch %d, subscribed %v, owned %s%s, parked in %q, %s, %s", m.ID, m.ClientID,
			suffix(" static ", m.InstanceID), m.State, m.Epoch, m.Subscribed, showPartitions(m.Owned), revoking, m.ParkedIn, session, seen)
	}
	for _, id := range st.PendingMembers {
		w.printf("  pending %s", id)
	}
	for _, o := range st.Offsets {
		w.printf("  offset %s", w.showOffset(o))
	}
	for _, o := range st.PendingOffsets {
		w.printf("  pending offset %s", w.showOffset(o))
	}
	if len(st.HeldAt) > 0 {
		w.printf("  held at %v", st.HeldAt)
	}
	return nil
}

func (w *script) showOffset(o CommittedOffset) string {
	out := fmt.Sprintf("%s-%d = %d%s%s, committed +%s", o.Topic, o.Partition, o.Offset, showLeaderEpoch(o.LeaderEpoch), suffix(" ", o.Metadata), o.CommittedAt.Sub(w.start))
	if o.ProducerID != -1 {
		out += fmt.Sprintf(" by producer %d", o.ProducerID)
	}
	return out
}

package groups

import (
	"encoding/binary"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/fakekafka/fakekafka/internal/records"
)

// FuzzShard plays requests made of the input's bytes against one shard, with time passing, and holds the replay of what it wrote to
// its durable state. Bodies are decoded as the broker decodes them, so hostile ones come along.
func FuzzShard(f *testing.F) {
	keys := []int16{8, 9, 11, 12, 13, 14, 15, 16, 28, 42, 47, 68, 69}
	join := benchJoin("", subscriptionBytes([]string{"foo"}, nil))
	frame := func(key byte, version byte, req kmsg.Request) []byte {
		req.SetVersion(int16(version))
		body := req.AppendTo(nil)
		return append(binary.BigEndian.AppendUint16([]byte{key, version, 1}, uint16(len(body))), body...)
	}
	f.Add(append(frame(2, 3, join), frame(3, 4, &kmsg.HeartbeatRequest{Group: "g", MemberID: "m"})...))
	f.Add(frame(0, 8, &kmsg.OffsetCommitRequest{Group: "g", Generation: -1, Topics: []kmsg.OffsetCommitRequestTopic{{Topic: "foo", Partitions: []kmsg.OffsetCommitRequestTopicPartition{{Offset: 1}}}}}))
	f.Fuzz(func(t *testing.T, in []byte) {
		cfg := DefaultConfig()
		cfg.Prompt = len(in)%2 == 0
		deps := Deps{Rand: rand.New(rand.NewPCG(1, 2)), Metadata: (&fakeMetadata{byName: map[string]Topic{}}).with("foo", 3)}
		s, shadow := NewShard(cfg, deps), NewShard(cfg, deps)
		now := time.Unix(1_700_000_000, 0)
		var offset int64
		effects := func(fx Effects) { offset = shadow.follow(fx, offset) }
		effects(s.Loaded(now))
		for n := Ticket(1); len(in) >= 5; n++ {
			key, version, wait, size := keys[int(in[0])%len(keys)], int16(in[1]%10), in[2], int(binary.BigEndian.Uint16(in[3:]))
			in = in[5:]
			size = min(size, len(in))
			body := in[:size]
			in = in[size:]
			req := kmsg.RequestForKey(key)
			if version > req.MaxVersion() {
				continue
			}
			req.SetVersion(version)
			if req.ReadFrom(body) != nil {
				continue
			}
			effects(s.Handle(now, Command{Ticket: n, Client: Client{ID: "c", Software: "kgo"}, Request: req}))
			effects(s.Flush(now))
			now = now.Add(time.Duration(wait) * 100 * time.Millisecond)
			effects(s.Tick(now))
			for _, id := range s.GroupIDs() {
				s.State(id)
			}
		}
		if live, replayed := durable(s), durable(shadow); live != replayed {
			t.Errorf("live:\n%s\nreplayed:\n%s", live, replayed)
		}
	})
}

// FuzzReplay feeds a shard a log of hostile records.
func FuzzReplay(f *testing.F) {
	f.Add(records.GroupKey{Group: "g"}.Encode(), records.GroupValue{ProtocolType: "consumer", Generation: 1}.Encode())
	f.Add(records.OffsetKey{Group: "g", Topic: "foo"}.Encode(), records.OffsetValue{Offset: 1, Expire: -1}.Encode())
	protocol, leader := "range", "m"
	for _, ms := range []int32{-1, 0, 1} {
		f.Add(records.GroupKey{Group: "g"}.Encode(), records.GroupValue{ProtocolType: "consumer", Generation: 1, Protocol: &protocol, Leader: &leader,
			Members: []records.GroupMember{{ID: "m", RebalanceTimeout: ms, SessionTimeout: ms}}}.Encode())
		f.Add(records.ConsumerKey(records.TypeConsumerMember, "g", "m"), records.ConsumerMember{Names: []string{"foo"}, RebalanceTimeoutMs: ms,
			Classic: &records.ClassicMember{SessionTimeoutMs: ms, Protocols: []records.ClassicProtocol{{Name: "range", Metadata: subscriptionBytes([]string{"foo"}, nil)}}}}.Encode())
	}
	f.Fuzz(func(t *testing.T, key, value []byte) {
		cfg := DefaultConfig()
		cfg.Prompt = len(value)%2 == 0
		s := NewShard(cfg, Deps{Rand: rand.New(rand.NewPCG(1, 2)), Metadata: (&fakeMetadata{byName: map[string]Topic{}}).with("foo", 3)})
		now := time.Unix(1_700_000_000, 0)
		s.Replay(0, Record{Key: key, Value: value}, -1)
		s.Replay(1, Record{Key: key, Value: value}, 7)
		s.ReplayMarker(2, 7, true)
		s.Loaded(now)
		for _, id := range s.GroupIDs() {
			s.State(id)
		}
		// And requests that find what the log left.
		s.Handle(now, Command{Ticket: 1, Client: Client{ID: "c", Software: "kgo"}, Request: benchJoin("", subscriptionBytes([]string{"foo"}, nil))})
		s.Handle(now, Command{Ticket: 2, Client: Client{ID: "c", Software: "kgo"}, Request: &kmsg.ConsumerGroupHeartbeatRequest{
			Version: 1, Group: "g", MemberID: "n", RebalanceTimeoutMillis: 1, SubscribedTopicNames: []string{"foo"}, Topics: []kmsg.ConsumerGroupHeartbeatRequestTopic{}}})
		s.Flush(now)
		passAnHour(t, s, now)
	})
}

// passAnHour fires the timers of an hour. One that begins anew at the instant at which it fired would keep the control loop busy for good.
func passAnHour(t *testing.T, s *Shard, now time.Time) {
	t.Helper()
	fired, atOnce := 0, 0
	for at := range deadlines(s, now, now.Add(time.Hour)) {
		if at.After(now) {
			now, atOnce = at, 0
		}
		atOnce++
		require.Less(t, atOnce, 100, "timers at one instant")
		s.Tick(now)
		s.Flush(now)
		if fired++; fired == 10_000 { // a member without a deadline is told of it now and then
			return
		}
	}
}

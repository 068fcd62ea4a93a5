package fetchsession

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"sort"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// The oracle: the cache as the specification puts it into words, with plain maps and lists. It reads every member at every
// fetch and knows nothing of due members and order keys.

type modelMember struct {
	p            Partition
	hw, logStart int64
}

type modelSession struct {
	id                int32
	privileged, byID  bool
	created, lastUsed int64
	size              int
	epoch             int32
	order             []*modelMember
}

type modelCache struct {
	slots    int
	sessions [NumShards]map[int32]*modelSession
	stats    Stats
}

// a world is what the sessions' partitions look like; the fetch of one member is a toy of the broker's.
type world map[string]*worldPartition

type worldPartition struct {
	exists       bool
	start, end   int64
	preferOthers bool
}

func (w world) name(topic string, partition int32) string {
	return fmt.Sprintf("%s-%d", topic, partition)
}

func (w world) read(p *Partition, isolation int8, budget *int, first *bool) Result {
	at := w[w.name(p.Topic, p.Partition)]
	if at == nil || !at.exists {
		return Result{HighWatermark: -1, LogStart: -1, Error: true}
	}
	if at.preferOthers {
		return Result{HighWatermark: at.end, LogStart: at.start, Hint: true}
	}
	if p.FetchOffset < at.start || p.FetchOffset > at.end {
		return Result{HighWatermark: -1, LogStart: -1, Error: true}
	}
	r := Result{HighWatermark: at.end, LogStart: at.start}
	readable := at.end
	if isolation == 1 {
		readable = at.end / 4 * 4 // the last stable offset of this world
	}
	if p.FetchOffset < readable {
		r.Readable = true
		r.Bytes = min(int(readable-p.FetchOffset)*10, int(p.MaxBytes), *budget)
		if r.Bytes <= 0 && *first {
			r.Bytes = 10
		}
		r.Bytes = max(r.Bytes, 0)
	}
	if r.Bytes > 0 {
		*first = false
	}
	*budget -= r.Bytes
	return r
}

type answered struct {
	Topic     string
	Partition int32
	Result    Result
}

func (m *modelMember) answer(r Result) bool {
	named := r.Bytes > 0 || r.HighWatermark != m.hw || r.LogStart != m.logStart || r.Error || r.Hint
	m.hw, m.logStart = r.HighWatermark, r.LogStart
	if r.Error {
		m.hw = -1
	}
	return named
}

func (c *modelCache) use(now int64, id, epoch int32, byID bool, named, forgotten []Partition) (*modelSession, bool, Code) {
	shard, _ := ShardOf(id)
	s := c.sessions[shard][id]
	if s == nil {
		return nil, false, FetchSessionIDNotFound
	}
	if s.epoch != epoch {
		return s, false, InvalidFetchSessionEpoch
	}
	if s.byID != byID {
		return s, false, FetchSessionTopicIDError
	}
	same := func(a, b *Partition) bool {
		if byID {
			return a.TopicID == b.TopicID && a.Partition == b.Partition
		}
		return a.Topic == b.Topic && a.Partition == b.Partition
	}
	for _, p := range named {
		i := slices.IndexFunc(s.order, func(m *modelMember) bool { return same(&m.p, &p) })
		if i < 0 {
			s.order = append(s.order, &modelMember{p, -1, -1})
		} else {
			s.order[i].p = p
		}
	}
	for _, p := range forgotten {
		s.order = slices.DeleteFunc(s.order, func(m *modelMember) bool { return same(&m.p, &p) })
	}
	if len(s.order) == 0 {
		delete(c.sessions[shard], id)
		return s, true, OK
	}
	s.lastUsed, s.size = now, len(s.order)
	s.epoch++
	return s, false, OK
}

func (c *modelCache) fetch(s *modelSession, w world, isolation int8, budget int) (answer []answered) {
	first := true
	var stay, moved []*modelMember
	for _, m := range s.order {
		r := w.read(&m.p, isolation, &budget, &first)
		if m.answer(r) {
			answer = append(answer, answered{m.p.Topic, m.p.Partition, r})
		}
		if r.Bytes > 0 {
			moved = append(moved, m)
		} else {
			stay = append(stay, m)
		}
	}
	s.order = append(stay, moved...)
	return answer
}

// room reports whether a newcomer finds a place in a shard, and who leaves for it.
func (c *modelCache) room(shard int, now int64, privileged bool, size int) (evict int32, ok bool) {
	sessions := c.sessions[shard]
	if len(sessions) < c.slots {
		return 0, true
	}
	if c.slots == 0 {
		return 0, false
	}
	var all []*modelSession
	for _, s := range sessions {
		all = append(all, s)
	}
	sort.Slice(all, func(i, j int) bool {
		if all[i].lastUsed != all[j].lastUsed {
			return all[i].lastUsed < all[j].lastUsed
		}
		return all[i].id < all[j].id
	})
	if now-all[0].lastUsed > 120000 {
		return all[0].id, true
	}
	type worth struct {
		privileged, size int
		id               int32
	}
	less := func(a, b worth) bool {
		if a.privileged != b.privileged {
			return a.privileged < b.privileged
		}
		if a.size != b.size {
			return a.size < b.size
		}
		return a.id < b.id
	}
	number := map[bool]int{true: 1}
	var candidates []worth
	for _, s := range all {
		if s.lastUsed-s.created > 120000 || privileged && !s.privileged {
			candidates = append(candidates, worth{number[s.privileged], s.size, s.id})
		}
	}
	if len(candidates) == 0 {
		return 0, false
	}
	sort.Slice(candidates, func(i, j int) bool { return less(candidates[i], candidates[j]) })
	if less(worth{number[privileged], size, 0}, candidates[0]) {
		return 0, false
	}
	return candidates[0].id, true
}

// script turns bytes into small choices; when they are used up it goes on with zeros.
type script struct {
	bytes []byte
	at    int
}

func (s *script) more() bool { return s.at < len(s.bytes) }

func (s *script) pick(n int) int {
	if s.at >= len(s.bytes) {
		return 0
	}
	s.at++
	return int(s.bytes[s.at-1]) % n
}

func topicID(n int) (id [16]byte) {
	id[0] = byte(n + 1)
	return id
}

func (s *script) partitions(byID bool, most int) (list []Partition) {
	for range s.pick(most + 1) {
		t := s.pick(3)
		p := Partition{
			Topic: fmt.Sprintf("t%d", t), Partition: []int32{0, 1, 0, 1, 2, 1 << 20, -1}[s.pick(7)], FetchOffset: int64(s.pick(12)), LogStartOffset: -1,
			MaxBytes: int32(10 * s.pick(5)), CurrentLeaderEpoch: -1, LastFetchedEpoch: -1,
		}
		if byID {
			p.TopicID = topicID(t)
		}
		list = append(list, p)
	}
	return list
}

func play(t testing.TB, script *script) {
	slots := []int{16, 8, 24, 7, 0}[script.pick(5)]
	var cache [NumShards]*Shard
	model := &modelCache{slots: slots / 8, stats: Stats{Clients: map[string]ClientStats{}}}
	random := rand.New(rand.NewPCG(1, 2))
	for i := range cache {
		cache[i] = NewShard(i, slots, random)
		model.sessions[i] = map[int32]*modelSession{}
	}
	w := world{}
	for topic := range 3 {
		for p := range int32(2) { // partition 2 exists nowhere
			w[w.name(fmt.Sprintf("t%d", topic), p)] = &worldPartition{exists: topic < 2, end: int64(script.pick(6))}
		}
	}
	now := time.UnixMilli(1_000_000)
	var known []int32 // ids that once were given out
	clientStats := func(id string, change func(*ClientStats)) {
		s := model.stats.Clients[id]
		change(&s)
		model.stats.Clients[id] = s
	}
	id := func() int32 { // mostly of a session that is there
		var live []int32
		for _, shard := range cache {
			for _, s := range shard.Sessions() {
				live = append(live, s.ID())
			}
		}
		switch choice := script.pick(24); {
		case choice == 0 || len(known) == 0:
			return []int32{0, 5, -7, 2147483639}[script.pick(4)]
		case choice < 4 || len(live) == 0:
			return known[len(known)-1-script.pick(min(len(known), 12))]
		}
		return live[script.pick(len(live))]
	}

	for step := 0; script.more(); step++ {
		switch script.pick(8) {
		case 0: // time passes
			now = now.Add(time.Duration(script.pick(5)*(20_000+script.pick(2))) * time.Millisecond)
		case 1, 2: // a partition changes, and those who watch it hear of it
			topic, partition := fmt.Sprintf("t%d", script.pick(3)), int32(script.pick(2))
			p := w[w.name(topic, partition)]
			switch script.pick(6) {
			case 0:
				p.start = min(p.start+1, p.end)
			case 1:
				p.exists = !p.exists
			case 2:
				p.preferOthers = !p.preferOthers
			default:
				p.end += int64(script.pick(3))
			}
			for _, shard := range cache {
				for _, s := range shard.Sessions() {
					for _, m := range s.Members() {
						if m.Topic == topic && m.Partition.Partition == partition {
							s.Touch(m)
						}
					}
				}
			}
		case 3: // a full request, which may close a session
			client, privileged, byID := fmt.Sprint("c", script.pick(2)), script.pick(3) == 0, script.pick(2) == 0
			named, budget, old := script.partitions(byID, 5), 10*script.pick(12), NoSession
			if script.pick(4) == 0 {
				old = id()
			}
			oldShard, ok := ShardOf(old)
			require.True(t, ok)
			got := cache[oldShard].Close(old)
			_, had := model.sessions[oldShard][old]
			require.Equal(t, had, got != nil)
			delete(model.sessions[oldShard], old)

			merged := Merge(slices.Clone(named), byID)
			require.Equal(t, mergedByMap(named, byID), merged)
			shard, first := ShardForTurn(uint32(script.pick(3))), true // few, so that they are full
			var answer []Result
			s := &modelSession{privileged: privileged, byID: byID, created: now.UnixMilli(), lastUsed: now.UnixMilli(), epoch: 1}
			for _, p := range merged {
				r := w.read(&p, 0, &budget, &first)
				answer = append(answer, r)
				s.order = append(s.order, &modelMember{p, r.HighWatermark, r.LogStart})
			}
			s.size = len(merged)
			evict, room := model.room(shard, now.UnixMilli(), privileged, len(merged))
			cache[shard].CountFull(client)
			clientStats(client, func(s *ClientStats) { s.Full++ })
			opened, evicted := cache[shard].Open(now, client, privileged, byID, len(merged), nil, func(i int, m *Member) Result {
				m.Partition = merged[i]
				return answer[i]
			})
			require.Equal(t, room, opened != nil, "step %d: room for a new session", step)
			if evict != 0 {
				require.NotNil(t, evicted)
				require.Equal(t, evict, evicted.ID())
				require.True(t, evicted.Closed())
				delete(model.sessions[shard], evict)
				model.stats.IncrementalFetchSessionEvictions++
			} else {
				require.Nil(t, evicted)
			}
			if opened != nil {
				s.id = opened.ID()
				require.Positive(t, s.id)
				of, _ := ShardOf(s.id)
				require.Equal(t, shard, of)
				model.sessions[shard][s.id] = s
				known = append(known, s.id)
			}
		case 4: // forced out
			if script.pick(4) > 0 {
				continue
			}
			victim := id()
			shard, _ := ShardOf(victim)
			if cache[shard].Evict(victim) != nil {
				require.Contains(t, model.sessions[shard], victim)
				delete(model.sessions[shard], victim)
				model.stats.ForcedEvictions++
			}
		default: // an incremental request
			client, which := fmt.Sprint("c", script.pick(2)), id()
			shard, _ := ShardOf(which)
			s, byID, epoch := cache[shard].Session(which), false, int32(1)
			if s != nil {
				byID, epoch = s.ByTopicID(), s.Epoch()
			}
			if script.pick(16) == 0 {
				byID = !byID
			}
			if script.pick(16) == 0 {
				epoch += int32(script.pick(3)) - 1
			}
			if KindOf(epoch) != Incremental {
				continue
			}
			named, forgotten := script.partitions(byID, 3), script.partitions(byID, 2)
			isolation, budget := int8(script.pick(8)/7), 10*script.pick(12)
			_, empty, code := cache[shard].Use(s, now, client, epoch, byID, named, forgotten)
			want, wantEmpty, wantCode := model.use(now.UnixMilli(), which, epoch, byID, named, forgotten)
			require.Equal(t, wantCode, code)
			require.Equal(t, wantEmpty, empty)
			clientStats(client, func(s *ClientStats) {
				switch code {
				case OK:
					s.Incremental++
				case FetchSessionIDNotFound:
					s.NotFound++
				case InvalidFetchSessionEpoch:
					s.InvalidEpoch++
				case FetchSessionTopicIDError:
					s.TopicIDMismatch++
				}
			})
			if code != OK || empty {
				continue
			}
			require.False(t, s.Overtaken(epoch))
			require.True(t, s.Overtaken(epoch+1))
			s.StartReading(Reading{Version: 12, Isolation: isolation})
			expected := model.fetch(want, w, isolation, budget)
			var answer []answered
			first := true
			for _, m := range s.Due() {
				r := w.read(&m.Partition, isolation, &budget, &first)
				if s.Answer(m, r) {
					answer = append(answer, answered{m.Topic, m.Partition.Partition, r})
				}
			}
			require.Equal(t, expected, answer, "step %d: the answer", step)
		}
	}

	stats := Stats{}
	for i, shard := range cache {
		shard.AddTo(&stats)
		require.Len(t, model.sessions[i], len(shard.Sessions()))
		for _, s := range shard.Sessions() {
			m := model.sessions[i][s.ID()]
			require.NotNil(t, m)
			model.stats.NumIncrementalFetchSessions++
			model.stats.NumIncrementalFetchPartitionsCached += int64(m.size)
			info := s.Info()
			require.Equal(t, m.epoch, info.Epoch)
			require.Equal(t, m.lastUsed, info.LastUsed.UnixMilli())
			require.Len(t, info.Partitions, len(m.order))
			for j, p := range info.Partitions {
				require.Equal(t, MemberInfo{m.order[j].p, m.order[j].hw, m.order[j].logStart}, p)
			}
		}
	}
	require.Equal(t, model.stats, stats)
}

func mergedByMap(list []Partition, byID bool) []Partition {
	type key struct {
		topicKey
		partition int32
	}
	fields, order := map[key]Partition{}, []key{}
	for _, p := range list {
		k := key{p.topicKey(byID), p.Partition}
		if _, named := fields[k]; !named {
			order = append(order, k)
		}
		fields[k] = p
	}
	merged := make([]Partition, 0, len(order))
	for _, k := range order {
		merged = append(merged, fields[k])
	}
	if list == nil {
		return nil
	}
	return merged
}

// FuzzSessions plays random requests, changes of partitions and passing time against the oracle.
func FuzzSessions(f *testing.F) {
	for seed := range uint64(30) {
		f.Add(randomScript(seed, 600))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if len(data) > 4096 {
			return
		}
		play(t, &script{bytes: data})
	})
}

// TestModel is the same with seeds of its own, so that a plain go test walks far.
func TestModel(t *testing.T) {
	t.Parallel()
	seeds := uint64(400)
	if testing.Short() {
		seeds = 40
	}
	for seed := range seeds {
		t.Run(fmt.Sprint("seed", seed), func(t *testing.T) {
			t.Parallel()
			play(t, &script{bytes: randomScript(1000+seed, 2000)})
		})
	}
}

func randomScript(seed uint64, n int) []byte {
	random := rand.New(rand.NewPCG(seed, 7))
	data := make([]byte, n)
	for i := range data {
		data[i] = byte(random.Uint32())
	}
	return data
}

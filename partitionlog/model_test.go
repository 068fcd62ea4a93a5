package partitionlog

import (
	"bytes"
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// model is a log as a plain slice of batches, each a copy of its records: what the log is to agree with after every step.
type model struct {
	t       testing.TB
	l       *Log
	codecs  Codecs
	batches []modelBatch
	start   int64
	end     int64
	now     int64
	open    map[int64]int64 // producer to the first offset of its open transaction
	next    map[int64]int32 // its next sequence
	held    [][2][]byte     // slices that reads gave, and copies of them
}

type modelBatch struct {
	base, last int64
	records    []Record
	marker     bool
}

// script feeds a model its choices: bytes of a fuzzer, or random ones.
type script interface{ choose(n int) int }

type randomScript struct{ *rand.Rand }

func (r randomScript) choose(n int) int { return r.IntN(n) }

type byteScript struct{ data []byte }

func (b *byteScript) choose(n int) int {
	if len(b.data) == 0 {
		return 0
	}
	v := b.data[0]
	b.data = b.data[1:]
	return int(v) % n
}

func newModel(t testing.TB, s script) *model {
	cfg := testConfig()
	cfg.SegmentBytes = []int{1 << 30, 600, 5000, 100_000}[s.choose(4)]
	cfg.SegmentMs = []int64{1 << 40, 50}[s.choose(2)]
	cfg.IndexIntervalBytes = []int{4096, 0, 200}[s.choose(3)]
	cfg.CleanupCompact = s.choose(2) == 1
	cfg.DeleteRetentionMs = 20
	if s.choose(4) == 1 {
		cfg.TimestampType = LogAppendTime
	}
	return &model{t: t, l: New(cfg, t0, nil), now: t0, open: map[int64]int64{}, next: map[int64]int32{}}
}

func (m *model) step(s script) {
	m.now += int64(s.choose(10))
	switch s.choose(15) {
	case 0, 1, 2, 3, 4:
		m.append(s, 0)
	case 5, 6:
		m.append(s, int64(1+s.choose(3)))
	case 7:
		m.endTxn(int64(1+s.choose(3)), s.choose(2) == 0)
	case 8:
		m.l.Roll(m.now)
	case 9:
		m.deleteRecords(s)
	case 10:
		m.removed(m.l.ApplyRetention(m.now))
	case 11:
		m.removed(m.l.DropOldest(m.now, int64(s.choose(2000))))
	case 12:
		m.compact()
	case 13:
		cfg := m.l.Config()
		cfg.RetentionBytes = int64(s.choose(100))*100 - 1
		m.l.SetConfig(cfg)
	case 14:
		m.l.NewLeaderEpoch(m.l.leaderEpoch+int32(s.choose(3)), 1)
	}
	m.check(s)
}

func (m *model) append(s script, id int64) {
	records := make([]Record, 1+s.choose(5))
	for i := range records {
		r := Record{Timestamp: m.now - int64(s.choose(40)), Key: []byte{byte('a' + s.choose(6))}}
		if size := s.choose(6); size > 0 {
			r.Value = bytes.Repeat([]byte{byte(s.choose(256))}, size*[]int{1, 10, 20000}[max(0, s.choose(40)-37)])
		}
		if s.choose(5) == 0 {
			r.Headers = []Header{{"h", r.Value}}
		}
		records[i] = r
	}
	o := BatchOptions{Codec: max(0, s.choose(8)-3), Codecs: &m.codecs}
	if id > 0 {
		o.Transactional, o.ProducerID, o.BaseSequence = true, id, m.next[id]
	}
	b := mustBatch(m.t, records, o)
	v, _ := m.l.BeginVerification(m.now, b, 9)
	r, err := m.l.Append(m.now, b, AppendOptions{Codecs: &m.codecs, Verification: v, FrameSize: s.choose(3) * len(b)})
	if err != nil {
		require.Equal(m.t, CodeRecordListTooLarge, err.Code, err.Reason)
		return
	}
	require.Equal(m.t, m.end, r.BaseOffset)
	for i := range records {
		records[i].Offset = r.BaseOffset + int64(i)
		if m.l.cfg.TimestampType == LogAppendTime {
			records[i].Timestamp = m.now
		}
	}
	if id > 0 {
		m.next[id] += int32(len(records))
		if _, open := m.open[id]; !open {
			m.open[id] = m.end
		}
	}
	m.batches = append(m.batches, modelBatch{base: m.end, last: r.LastOffset, records: records})
	m.end = r.LastOffset + 1
}

func (m *model) endTxn(id int64, commit bool) {
	_, err := m.l.AppendMarker(m.now, Marker{ProducerID: id, Commit: commit})
	require.Nil(m.t, err)
	delete(m.open, id)
	m.batches = append(m.batches, modelBatch{base: m.end, last: m.end, marker: true})
	m.end++
}

func (m *model) deleteRecords(s script) {
	to := m.start + int64(s.choose(int(min(m.end-m.start, 20))+1))
	low, code := m.l.DeleteRecords(to)
	require.Zero(m.t, code)
	m.start = max(m.start, to)
	require.Equal(m.t, m.start, low)
}

// removed follows what retention took: whole batches from the front.
func (m *model) removed(r Removed) {
	require.GreaterOrEqual(m.t, m.l.LogStart(), m.start)
	m.start = m.l.LogStart()
	if r.Bytes > 0 {
		first := m.l.end
		for b := range m.l.Batches(0) {
			first = b.BaseOffset()
			break
		}
		i := slices.IndexFunc(m.batches, func(b modelBatch) bool { return b.base >= first })
		if i < 0 {
			i = len(m.batches)
		}
		m.batches = m.batches[i:]
	}
}

// compact checks what a pass promises, and takes over what stays.
func (m *model) compact() {
	before := map[int64]Record{}
	for _, b := range m.batches {
		for _, r := range b.records {
			if !b.marker {
				before[r.Offset] = r
			}
		}
	}
	last := m.visible()
	_, to := m.l.dirtySegments(m.now)
	end := m.l.segments[to].base
	_, err := m.l.Compact(m.now, &m.codecs)
	if !m.l.cfg.CleanupCompact {
		require.Error(m.t, err)
		return
	}
	require.NoError(m.t, err)
	var kept []modelBatch
	for b := range m.l.Batches(0) {
		k := modelBatch{base: b.BaseOffset(), last: b.LastOffset(), marker: b.Control()}
		records, err := DecodeBatch(nil, b, &m.codecs)
		require.NoError(m.t, err)
		for _, r := range records {
			if r.Control {
				continue
			}
			want, ok := before[r.Offset]
			require.True(m.t, ok, "offset %d appeared", r.Offset)
			m.same(want, r)
			delete(before, r.Offset)
		}
		k.records = slices.Clone(records)
		kept = append(kept, k)
	}
	for offset := range before {
		require.Less(m.t, offset, end, "removed from behind the cleaned range")
	}
	m.batches = kept
	// What a read committed consumer ends up with is the same, but for tombstones that went.
	after := m.visible()
	for key, r := range last {
		got, ok := after[key]
		if !ok {
			require.Nil(m.t, r.Value, "key %s lost", key)
			continue
		}
		require.Equal(m.t, r.Offset, got.Offset, "key %s", key)
	}
	require.LessOrEqual(m.t, len(after), len(last))
	if len(m.l.open) == 0 || m.l.open[0].FirstOffset >= m.start {
		m.checkCleaned(end)
	}
}

// checkCleaned: no key is there twice in what was cleaned.
func (m *model) checkCleaned(end int64) {
	seen := map[string]int64{}
	for b := range m.l.Batches(m.start) {
		if b.Control() || b.BaseOffset() >= end {
			continue
		}
		records, err := DecodeBatch(nil, b, &m.codecs)
		require.NoError(m.t, err)
		for _, r := range records {
			if r.Offset >= m.start {
				first, twice := seen[string(r.Key)]
				require.False(m.t, twice, "key %s at %d and %d", r.Key, first, r.Offset)
				seen[string(r.Key)] = r.Offset
			}
		}
	}
}

// visible is the last record of each key as a read committed consumer sees it.
func (m *model) visible() map[string]Record {
	out := map[string]Record{}
	aborted := m.l.AbortedTransactions(0, m.end)
	for b := range m.l.Batches(0) {
		if b.Control() || b.BaseOffset() >= m.l.LastStable() {
			continue
		}
		if b.Transactional() && slices.ContainsFunc(aborted, func(a AbortedTxn) bool {
			return a.ProducerID == b.ProducerID() && a.FirstOffset <= b.BaseOffset() && b.BaseOffset() < a.LastOffset
		}) {
			continue
		}
		records, err := DecodeBatch(nil, b, &m.codecs)
		require.NoError(m.t, err)
		for _, r := range records {
			if r.Offset >= m.start {
				out[string(r.Key)] = r
			}
		}
	}
	return out
}

func (m *model) same(want, got Record) {
	require.Equal(m.t, want.Timestamp, got.Timestamp)
	require.Equal(m.t, want.Key, got.Key)
	require.Equal(m.t, want.Value, got.Value)
	require.Equal(m.t, want.Headers, got.Headers)
}

func (m *model) check(s script) {
	t, l := m.t, m.l
	require.Equal(t, m.end, l.End())
	require.Equal(t, m.start, l.LogStart())
	i := 0
	var size int64
	for b := range l.Batches(0) {
		require.Less(t, i, len(m.batches))
		want := m.batches[i]
		i++
		size += int64(len(b))
		require.Equal(t, want.base, b.BaseOffset())
		require.Equal(t, want.last, b.LastOffset())
		require.Equal(t, b.crc(), b.crcField(), "checksum")
	}
	require.Len(t, m.batches, i)
	require.Equal(t, size, l.Size())
	if len(m.batches) > 0 {
		m.checkRecords(m.batches[s.choose(len(m.batches))])
	}
	stable := m.end
	for _, first := range m.open {
		stable = min(stable, first)
	}
	if stable >= m.start {
		require.Equal(t, stable, l.LastStable())
	}
	m.checkRead(m.start+int64(s.choose(int(min(m.end-m.start, 255))+1)), s.choose(2) == 0, s.choose(3000))
	m.checkTime(m.now - int64(s.choose(60)))
	m.checkTime(TimestampMax)
}

func (m *model) checkRecords(want modelBatch) {
	for b := range m.l.Batches(want.base) {
		records, err := DecodeBatch(nil, b, &m.codecs)
		require.NoError(m.t, err)
		if !want.marker {
			require.Len(m.t, records, len(want.records))
			for i, r := range records {
				m.same(want.records[i], r)
			}
		}
		break
	}
}

// checkRead compares a read with a walk over all batches.
func (m *model) checkRead(offset int64, committed bool, limit int) {
	t, l := m.t, m.l
	r := l.Read(ReadOptions{Offset: offset, MaxBytes: limit, First: true, ReadCommitted: committed, CurrentLeaderEpoch: -1, LastFetchedEpoch: -1})
	require.Zero(t, r.Code)
	end := m.end
	if committed {
		end = l.LastStable()
	}
	var want []byte
	if offset < end {
		for _, s := range l.segments {
			c := s.start()
			first := 0
			for b, ok := c.next(); ok; b, ok = c.next() {
				if b.LastOffset() < offset || b.BaseOffset() >= end {
					continue
				}
				if want == nil {
					first = len(b)
				}
				want = append(want, b...)
			}
			if want != nil {
				want = want[:min(len(want), max(limit, first))]
				break
			}
		}
	}
	require.True(t, bytes.Equal(want, bytes.Join(r.Records, nil)), "offset %d: want %d bytes, got %d", offset, len(want), r.Bytes)
	require.Equal(t, len(want), r.Bytes)
	if len(r.Records) > 0 && len(m.held) < 30 {
		m.held = append(m.held, [2][]byte{r.Records[0], bytes.Clone(r.Records[0])})
	}
}

// checkHeld: what a reader was given never changes.
func (m *model) checkHeld() {
	for _, h := range m.held {
		require.True(m.t, bytes.Equal(h[0], h[1]))
	}
}

// checkTime compares a search by time with a walk over all records.
func (m *model) checkTime(ms int64) {
	l := m.l
	segments := slices.Clone(l.segments)
	fits := func(r Record) bool { return r.Timestamp >= ms && r.Offset >= m.start }
	if ms == TimestampMax {
		slices.SortStableFunc(segments, func(a, b *segment) int { return cmp.Compare(b.maxTimestamp, a.maxTimestamp) })
		fits = func(r Record) bool { return r.Timestamp == segments[0].maxTimestamp }
	}
	want := nothingFound
	for _, s := range segments {
		if s.largestTimestamp() < ms {
			continue
		}
		c := s.start()
	search:
		for b, ok := c.next(); ok; b, ok = c.next() {
			if ms == TimestampMax && b.MaxTimestamp() != s.maxTimestamp {
				continue
			}
			records, err := DecodeBatch(nil, b, &m.codecs)
			require.NoError(m.t, err)
			for _, r := range records {
				if fits(r) {
					want = OffsetResult{Timestamp: r.Timestamp, Offset: r.Offset, LeaderEpoch: r.LeaderEpoch}
					break search
				}
			}
			if ms == TimestampMax {
				break
			}
		}
		break
	}
	require.Equal(m.t, want, l.ListOffsets(ms, ListOptions{CurrentLeaderEpoch: -1, Codecs: &m.codecs}), "time %d", ms-t0)
}

func TestLogAgainstModel(t *testing.T) {
	t.Parallel()
	runs := 100
	if testing.Short() {
		runs = 20
	}
	for seed := range uint64(runs) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			s := randomScript{rand.New(rand.NewPCG(seed, 0))}
			m := newModel(t, s)
			for range 150 {
				m.step(s)
			}
			m.checkHeld()
		})
	}
}

func FuzzLog(f *testing.F) {
	for seed := range uint64(8) {
		rng := rand.New(rand.NewPCG(seed, 1))
		data := make([]byte, 400)
		for i := range data {
			data[i] = byte(rng.IntN(256))
		}
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if len(data) > 4000 {
			return
		}
		s := &byteScript{data}
		m := newModel(t, s)
		for len(s.data) > 0 {
			m.step(s)
		}
		m.checkHeld()
	})
}

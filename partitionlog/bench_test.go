package partitionlog

import (
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"
)

// benchBatch is a batch of n records with values of size bytes.
func benchBatch(b *testing.B, n, size, codec int) Batch {
	value := make([]byte, size)
	rng := rand.New(rand.NewPCG(1, 2))
	for i := range value {
		value[i] = byte('a' + rng.IntN(26))
	}
	records := make([]Record, n)
	for i := range records {
		records[i] = Record{Timestamp: t0 + int64(i), Value: value}
	}
	return mustBatch(b, records, BatchOptions{Codec: codec})
}

func BenchmarkAppend(b *testing.B) {
	for _, bb := range []struct {
		name           string
		records, value int
		codec          int
		config         func(*Config)
	}{
		{"64 records of 1 KiB", 64, 1 << 10, CodecNone, nil},
		{"1000 records of 100 B", 1000, 100, CodecNone, nil},
		{"1 record of 100 B", 1, 100, CodecNone, nil},
		{"1000 records of 100 B compacted", 1000, 100, CodecNone, func(c *Config) { c.CleanupCompact = true; c.CleanupDelete = true }},
		{"1000 records of 100 B gzip", 1000, 100, CodecGzip, nil},
		{"1000 records of 100 B snappy", 1000, 100, CodecSnappy, nil},
		{"1000 records of 100 B lz4", 1000, 100, CodecLZ4, nil},
		{"1000 records of 100 B zstd", 1000, 100, CodecZstd, nil},
	} {
		b.Run(bb.name, func(b *testing.B) {
			batch := benchBatch(b, bb.records, bb.value, bb.codec)
			if bb.config != nil {
				records, _ := DecodeBatch(nil, batch, nil)
				for i := range records {
					records[i].Key = []byte("k")
				}
				batch = mustBatch(b, records, BatchOptions{Codec: bb.codec})
			}
			l := newTestLog(func(c *Config) {
				if bb.config != nil {
					bb.config(c)
				}
			})
			c := new(Codecs)
			b.ReportAllocs()
			b.SetBytes(int64(bb.records * bb.value))
			for b.Loop() {
				batch.putInt64(0, 0)
				if _, err := l.Append(t0, batch, AppendOptions{Codecs: c}); err != nil {
					b.Fatal(err)
				}
				if l.Size() > 64<<20 {
					l.DropOldest(t0, 32<<20)
				}
			}
		})
	}
}

func BenchmarkAppendIdempotent(b *testing.B) {
	batch := mustBatch(b, testRecords(100, t0), BatchOptions{Idempotent: true, ProducerID: 7})
	l := newTestLog()
	b.ReportAllocs()
	var sequence int32
	for b.Loop() {
		batch.putInt64(0, 0)
		batch.putInt32(posBaseSequence, sequence)
		batch.seal()
		if r, err := l.Append(t0, batch, AppendOptions{}); err != nil || r.Duplicate {
			b.Fatal(err, r)
		}
		sequence = incrementSequence(sequence, 100)
		if l.Size() > 64<<20 {
			l.DropOldest(t0, 32<<20)
		}
	}
}

// million is a log of 1,000,000 records of 100 bytes, in batches of ten and with ascending timestamps.
func million(b *testing.B) *Log {
	l := newTestLog()
	for i := range int64(100_000) {
		records := make([]Record, 10)
		for j := range records {
			records[j] = Record{Timestamp: t0 + 10*i + int64(j), Value: make([]byte, 100)}
		}
		produce(b, l, t0, records...)
	}
	return l
}

func BenchmarkMillionRecords(b *testing.B) {
	l := million(b)
	rng := rand.New(rand.NewPCG(1, 2))
	c := new(Codecs)
	b.Run("list offsets by time", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			want := rng.Int64N(1_000_000)
			if r := l.ListOffsets(t0+want, ListOptions{CurrentLeaderEpoch: -1, Codecs: c}); r.Offset != want {
				b.Fatal(r, want)
			}
		}
	})
	for _, size := range []int{14 << 10, 1 << 20} {
		b.Run("random read of "+map[int]string{14 << 10: "14 KiB", 1 << 20: "1 MiB"}[size], func(b *testing.B) {
			b.ReportAllocs()
			b.SetBytes(int64(size))
			var into [][]byte
			for b.Loop() {
				r := l.Read(ReadOptions{Offset: rng.Int64N(980_000), MaxBytes: size, Into: into[:0], CurrentLeaderEpoch: -1, LastFetchedEpoch: -1})
				if r.Bytes != size {
					b.Fatal(r.Bytes)
				}
				into = r.Records
			}
		})
	}
	b.Run("available at the end", func(b *testing.B) {
		o := ReadOptions{Offset: l.End(), MaxBytes: 1 << 20, CurrentLeaderEpoch: -1, LastFetchedEpoch: -1}
		start := l.Read(o).Start
		for b.Loop() {
			l.Available(start, o)
		}
	})
}

// BenchmarkMemory reports the heap a log takes for each byte of the batches, and of the records' values.
func BenchmarkMemory(b *testing.B) {
	for _, bb := range []struct {
		name           string
		records, value int
	}{{"1 record of 100 B", 1, 100}, {"10 records of 100 B", 10, 100}, {"150 records of 100 B", 150, 100}, {"1000 records of 100 B", 1000, 100}, {"64 records of 1 KiB", 64, 1 << 10}} {
		b.Run(bb.name, func(b *testing.B) {
			batch := benchBatch(b, bb.records, bb.value, CodecNone)
			for b.Loop() {
				var before, after runtime.MemStats
				runtime.GC()
				runtime.ReadMemStats(&before)
				l := newTestLog()
				for l.Size() < 64<<20 {
					frame := slices.Clone(batch)
					frame.putInt64(0, 0)
					if _, err := l.Append(t0, frame, AppendOptions{FrameSize: cap(frame)}); err != nil {
						b.Fatal(err)
					}
				}
				runtime.GC()
				runtime.ReadMemStats(&after)
				heap := float64(after.HeapAlloc - before.HeapAlloc)
				b.ReportMetric(heap/float64(l.Size()), "heap/stored")
				b.ReportMetric(heap/float64(l.End()*int64(bb.value)), "heap/value")
				runtime.KeepAlive(l)
			}
		})
	}
}

func BenchmarkCompact(b *testing.B) {
	for b.Loop() {
		b.StopTimer()
		l := compactedLog(func(c *Config) { c.SegmentBytes = 1 << 20 })
		rng := rand.New(rand.NewPCG(1, 2))
		for range 2000 {
			records := make([]Record, 50)
			for j := range records {
				records[j] = Record{Timestamp: t0, Key: []byte{byte(rng.IntN(250)), byte(rng.IntN(40))}, Value: make([]byte, 100)}
			}
			produce(b, l, t0, records...)
		}
		l.Roll(t0)
		b.SetBytes(l.Size())
		b.StartTimer()
		if _, err := l.Compact(t0, nil); err != nil {
			b.Fatal(err)
		}
	}
}

package clienttests

import (
	"encoding/binary"
	"hash/crc32"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/fakekafka/fakekafka/partitionlog"
)

const oracleTime = 1700000000000

// kgoRecords decodes the bytes of a fetch as franz-go's consumer does.
func kgoRecords(batch []byte) ([]*kgo.Record, error) {
	in := kmsg.NewFetchResponseTopicPartition()
	in.RecordBatches = batch
	out, _ := kgo.ProcessFetchPartition(kgo.ProcessFetchPartitionOpts{KeepControlRecords: true, Topic: "t"}, &in, kgo.DefaultDecompressor(), nil)
	return out.Records, out.Err
}

// requireSameRecords holds the log's decoder to franz-go's.
func requireSameRecords(t *testing.T, batch []byte) {
	t.Helper()
	got, err := partitionlog.DecodeBatch(nil, batch, nil)
	require.NoError(t, err)
	want, err := kgoRecords(batch)
	require.NoError(t, err, "franz-go")
	next := int64(0)
	got = slices.DeleteFunc(got, func(g partitionlog.Record) bool { // franz-go takes an offset that does not rise for one it had already
		seen := g.Offset < next
		next = max(next, g.Offset+1)
		return seen
	})
	require.Len(t, got, len(want))
	for i, w := range want {
		g := got[i]
		require.Equal(t, w.Offset, g.Offset)
		if g.Timestamp > -9e12 && g.Timestamp < 9e12 { // franz-go counts nanoseconds: three centuries fit
			require.Equal(t, w.Timestamp.UnixMilli(), g.Timestamp)
		}
		require.Equal(t, w.Key, g.Key)
		require.Equal(t, w.Value, g.Value)
		require.Equal(t, w.ProducerID, g.ProducerID)
		require.Equal(t, w.ProducerEpoch, g.ProducerEpoch)
		require.Equal(t, w.LeaderEpoch, g.LeaderEpoch)
		require.Equal(t, w.Attrs.IsTransactional(), g.Transactional)
		require.Equal(t, w.Attrs.IsControl(), g.Control)
		require.Len(t, g.Headers, len(w.Headers))
		for j, h := range w.Headers {
			require.Equal(t, h.Key, g.Headers[j].Key)
			require.Equal(t, h.Value, g.Headers[j].Value)
		}
	}
}

func oracleBatch(t testing.TB, rng *rand.Rand, codec int) []byte {
	t.Helper()
	some := func() []byte {
		n := rng.IntN(60)
		if n == 0 {
			return nil
		}
		b := make([]byte, n-1)
		for i := range b {
			b[i] = byte(rng.IntN(4))
		}
		return b
	}
	records := make([]partitionlog.Record, 1+rng.IntN(50))
	for i := range records {
		records[i] = partitionlog.Record{Timestamp: oracleTime - rng.Int64N(100000), Key: some(), Value: some()}
		for range rng.IntN(3) {
			records[i].Headers = append(records[i].Headers, partitionlog.Header{Key: string(some()), Value: some()})
		}
	}
	b, err := partitionlog.BuildBatch(records, partitionlog.BatchOptions{Codec: codec, Idempotent: true, ProducerID: 5, ProducerEpoch: 2})
	require.NoError(t, err)
	return b
}

// TestBatchesAgainstFranzGo: what the log builds, keeps, rewrites and compacts, franz-go reads as the log does.
func TestBatchesAgainstFranzGo(t *testing.T) {
	t.Parallel()
	codecs := []string{"uncompressed", "gzip", "snappy", "lz4", "zstd"}
	for seed := range uint64(100) {
		rng := rand.New(rand.NewPCG(seed, 7))
		cfg := partitionlog.DefaultConfig()
		cfg.CleanupCompact = seed%2 == 0
		if seed%3 == 0 {
			cfg.CompressionType = codecs[rng.IntN(len(codecs))]
		}
		if seed%5 == 0 {
			cfg.TimestampType = partitionlog.LogAppendTime
		}
		log := partitionlog.New(cfg, oracleTime, nil)
		for i := range 10 {
			b := oracleBatch(t, rng, int(seed)%len(codecs))
			binary.BigEndian.PutUint64(b[43:], uint64(i)) // a producer each
			seal(b)
			requireSameRecords(t, b)
			_, refused := log.Append(oracleTime, b, partitionlog.AppendOptions{})
			if refused != nil {
				require.Equal(t, partitionlog.CodeInvalidRecord, refused.Code, "null keys on a compacted topic: %s", refused.Reason)
			}
		}
		_, refused := log.AppendMarker(oracleTime, partitionlog.Marker{ProducerID: 3, ProducerEpoch: 2, Commit: true})
		require.Nil(t, refused)
		for b := range log.Batches(0) {
			requireSameRecords(t, b)
		}
		if cfg.CleanupCompact {
			log.Roll(oracleTime)
			_, err := log.Compact(oracleTime, nil)
			require.NoError(t, err)
			for b := range log.Batches(0) {
				requireSameRecords(t, b)
			}
		}
	}
}

func seal(b []byte) {
	binary.BigEndian.PutUint32(b[17:], crc32.Checksum(b[21:], crc32.MakeTable(crc32.Castagnoli)))
}

// FuzzBatchAgainstFranzGo: a batch that the log lets in is one that franz-go reads, record by record as the log does.
func FuzzBatchAgainstFranzGo(f *testing.F) {
	for seed := range uint64(10) {
		f.Add(oracleBatch(f, rand.New(rand.NewPCG(seed, 8)), int(seed)%5))
	}
	for _, record := range [][]byte{ // lengths of -2 are null, and offset deltas are as they come
		{12, 0, 0, 0, 3, 1, 0}, {12, 0, 0, 0, 1, 3, 0}, {16, 0, 0, 0, 1, 1, 2, 0, 3}, {12, 0, 1, 20, 1, 1, 0},
	} {
		b := append(oracleBatch(f, rand.New(rand.NewPCG(1, 8)), 0)[:61:61], record...)
		binary.BigEndian.PutUint32(b[8:], uint32(len(b)-12))
		binary.BigEndian.PutUint32(b[23:], 0)
		binary.BigEndian.PutUint32(b[57:], 1)
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		batch, code := partitionlog.SplitProduce(data, 9)
		if code != 0 || len(batch) < 61 {
			return
		}
		binary.BigEndian.PutUint64(batch, 0)
		seal(batch)
		log := partitionlog.New(partitionlog.DefaultConfig(), oracleTime, nil)
		v, _ := log.BeginVerification(oracleTime, batch, 9)
		if _, refused := log.Append(oracleTime, batch, partitionlog.AppendOptions{Verification: v}); refused != nil {
			return
		}
		for b := range log.Batches(0) {
			// A broker takes compressed streams with bytes behind them that franz-go does not read, and in them records that are not as long
			// as they say, which nobody reads.
			_, err := kgoRecords(b)
			_, own := partitionlog.DecodeBatch(nil, b, nil)
			if err == nil && own == nil || b.Codec() == partitionlog.CodecNone {
				requireSameRecords(t, b)
			}
		}
	})
}

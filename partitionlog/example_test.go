package partitionlog_test

import (
	"fmt"

	"github.com/fakekafka/fakekafka/partitionlog"
)

// A log is filled by batches, as a Produce request brings them, and read by slices of what it keeps.
func Example() {
	const now = 1700000000000
	log := partitionlog.New(partitionlog.DefaultConfig(), now, nil)

	batch, err := partitionlog.BuildBatch([]partitionlog.Record{
		{Timestamp: now, Key: []byte("u1"), Value: []byte("paid")},
		{Timestamp: now + 5, Key: []byte("u2"), Value: []byte("sent")},
	}, partitionlog.BatchOptions{Codec: partitionlog.CodecZstd})
	if err != nil {
		panic(err)
	}
	if _, refused := log.Append(now, batch, partitionlog.AppendOptions{}); refused != nil {
		panic(refused)
	}

	read := log.Read(partitionlog.ReadOptions{Offset: 1, MaxBytes: 1 << 20, CurrentLeaderEpoch: -1, LastFetchedEpoch: -1})
	records, err := partitionlog.DecodeBatch(nil, read.Records[0], nil)
	if err != nil {
		panic(err)
	}
	for _, r := range records { // the whole batch, from before the offset too
		fmt.Printf("%d %s=%s\n", r.Offset, r.Key, r.Value)
	}
	late := log.ListOffsets(now+1, partitionlog.ListOptions{CurrentLeaderEpoch: -1})
	fmt.Println("first record after", late.Timestamp-now, "ms is at", late.Offset)
	// Output:
	// 0 u1=paid
	// 1 u2=sent
	// first record after 5 ms is at 1
}

// A refused batch has the code of the answer, and says why.
func ExampleLog_Append_refused() {
	const now = 1700000000000
	cfg := partitionlog.DefaultConfig()
	cfg.CleanupCompact = true
	log := partitionlog.New(cfg, now, nil)
	batch, _ := partitionlog.BuildBatch([]partitionlog.Record{{Timestamp: now, Value: []byte("no key")}}, partitionlog.BatchOptions{})
	_, refused := log.Append(now, batch, partitionlog.AppendOptions{})
	fmt.Println(refused.Code, refused.Reason)
	// Output:
	// 87 record 0: a compacted topic takes no record without a key
}

package broker

import (
	"bytes"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/fakekafka/fakekafka/internal/memnet"
	"github.com/fakekafka/fakekafka/partitionlog"
)

// Scratch memory for zstd has channels inside, which belong to the bubble that they are made in.
func TestBubblesShareNothing(t *testing.T) {
	for range 2 {
		synctest.Test(t, func(t *testing.T) {
			c := startCluster(t, Options{
				Network: memnet.New(),
				Topics:  []TopicSpec{{Name: "orders", Partitions: 1, Configs: map[string]string{"compression.type": "zstd"}}},
			})
			_, err := c.ProduceTo("orders", 0, []partitionlog.Record{{Value: bytes.Repeat([]byte("x"), 10_000)}})
			require.NoError(t, err)
			recs, _, err := c.ReadLog("orders", 0, 0)
			require.NoError(t, err)
			require.Len(t, recs, 1)
		})
	}
}

package fakekafka_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/fakekafka/fakekafka/fakekafka"
)

func TestTopicProduceAndRecords(t *testing.T) {
	t.Parallel()
	k := fakekafka.Start(t, fakekafka.Topic("orders", 3))
	orders := k.Topic("orders")
	require.NoError(t, orders.Produce(fakekafka.KV("a", "1"), fakekafka.KV("a", "2"), fakekafka.V("x").On(2).With("h", "v"), fakekafka.Tombstone("a")))

	all := orders.Records()
	require.Len(t, all, 4)
	assert.Equal(t, 3, orders.Partitions())
	orders.RequireRecords(t, fakekafka.PerKey(fakekafka.KV("a", "1"), fakekafka.KV("a", "2")))
	orders.RequireRecords(t, fakekafka.AnyOrder(fakekafka.V("x").On(2).With("h", "v"), fakekafka.Tombstone("a")))
	orders.RequireNoMore(t)
}

func TestPartitionerIsKafkas(t *testing.T) {
	t.Parallel()
	// murmur2 of these keys modulo 12, as the Java producer has it.
	k := fakekafka.Start(t, fakekafka.Topic("t", 12))
	topic := k.Topic("t")
	require.NoError(t, topic.Produce(fakekafka.KV("21", "21"), fakekafka.KV("foobar", "foobar")))
	at := map[string]int32{}
	for _, r := range topic.Records() {
		at[string(r.Key)] = r.Partition
	}
	// Utils.murmur2("21") = -973932308, Utils.murmur2("foobar") = -790332482 (Kafka's UtilsTest).
	assert.EqualValues(t, uint32(1173551340)%12, at["21"])
	assert.EqualValues(t, uint32(1357151166)%12, at["foobar"])
}

func TestRecordsDiffIsReadable(t *testing.T) {
	t.Parallel()
	k := fakekafka.Start(t, fakekafka.Topic("orders", 1))
	require.NoError(t, k.Topic("orders").Produce(fakekafka.KV("a", "1"), fakekafka.KV("b", "2")))
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute) // not reached: more records can't help
	defer cancel()
	err := k.Topic("orders").Has(ctx, fakekafka.InOrder(fakekafka.KV("a", "1"), fakekafka.KV("b", "3")))
	require.Error(t, err)
	for _, part := range []string{`"a"="1"   (partition 0 offset 0)`, `- "b"="3"`, `+ "b"="2"   (partition 0 offset 1)`} {
		assert.Contains(t, err.Error(), part)
	}
}

func TestAwaitRecordsIsWoken(t *testing.T) {
	t.Parallel()
	k := fakekafka.Start(t, fakekafka.Topic("orders", 1))
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = k.Topic("orders").Produce(fakekafka.KV("a", "1"))
	}()
	k.Topic("orders").AwaitRecords(t, fakekafka.InOrder(fakekafka.KV("a", "1")))
	<-done
}

func TestTopicHousekeeping(t *testing.T) {
	t.Parallel()
	k := fakekafka.Start(t, fakekafka.Topic("c", 1, fakekafka.With("cleanup.policy", "compact")), fakekafka.Topic("d", 2), fakekafka.Brokers(2))
	c, d := k.Topic("c"), k.Topic("d")
	require.NoError(t, c.Produce(fakekafka.KV("a", "1"), fakekafka.KV("a", "2"), fakekafka.KV("b", "1")))
	require.NoError(t, c.Compact())
	c.RequireRecords(t, fakekafka.InOrder(fakekafka.KV("a", "2"), fakekafka.KV("b", "1")))

	require.NoError(t, d.Produce(fakekafka.V("1").On(0), fakekafka.V("2").On(0), fakekafka.V("3").On(1)))
	require.NoError(t, d.DeleteRecords(0, 1))
	assert.EqualValues(t, 1, d.LogStart(0))
	assert.EqualValues(t, 2, d.EndOffset(0))
	require.NoError(t, d.AddPartitions(2))
	assert.Equal(t, 4, d.Partitions())
	was := d.Leader(0)
	require.NoError(t, d.MoveLeader(0, 3-was))
	assert.Equal(t, 3-was, d.Leader(0))
	require.NoError(t, d.SetConfig("retention.ms", "1"))
	require.NoError(t, k.FastForward(time.Hour))
	require.NoError(t, d.ApplyRetention())
	assert.EqualValues(t, 2, d.LogStart(0), "the active segment is past its retention too")
	require.NoError(t, d.Delete())
	require.NoError(t, d.Create(1))
	assert.Empty(t, d.Records())
}

func TestTopicMistakesSayWhatIsThere(t *testing.T) {
	t.Parallel()
	k, err := fakekafka.New(fakekafka.Topic("orders", 2))
	require.NoError(t, err)
	defer k.Close()
	for _, c := range []struct {
		name string
		err  error
		says string
	}{
		{"unknown topic", k.Topic("order").Produce(fakekafka.V("x")), `there are ["orders"]`},
		{"unknown partition", k.Topic("orders").Produce(fakekafka.V("x").On(2)), "it has 2"},
		{"compact", k.Topic("orders").Compact(), "not compacted"},
		{"delete beyond the end", k.Topic("orders").DeleteRecords(0, 7), "it ends at 0"},
		{"leader", k.Topic("orders").MoveLeader(0, 9), "running are [1]"},
		{"config", k.Topic("orders").SetConfig("no.such", "1"), "no.such"},
		{"existing", k.Topic("orders").Create(1), "exists"},
	} {
		if assert.Error(t, c.err, c.name) {
			assert.Contains(t, strings.ToLower(c.err.Error()), strings.ToLower(c.says), c.name)
		}
	}
}

func TestATopicMadeAnewHasNotBeenSeen(t *testing.T) {
	t.Parallel()
	k := fakekafka.Start(t, fakekafka.Topic("orders", 1))
	orders := k.Topic("orders")
	require.NoError(t, orders.Produce(fakekafka.V("old")))
	orders.RequireRecords(t, fakekafka.InOrder(fakekafka.V("old")))
	require.NoError(t, orders.Delete())
	require.NoError(t, orders.Create(1))
	require.NoError(t, orders.Produce(fakekafka.V("new")))
	orders.RequireRecords(t, fakekafka.InOrder(fakekafka.V("new")))
	orders.RequireNoMore(t)
}

// TestKeysThatBeginAlike are told apart, however long they are.
func TestKeysThatBeginAlike(t *testing.T) {
	t.Parallel()
	k := fakekafka.Start(t, fakekafka.Topic("orders", 1))
	orders := k.Topic("orders")
	one, two := strings.Repeat("k", 100)+"1", strings.Repeat("k", 100)+"2"
	require.NoError(t, orders.Produce(fakekafka.KV(one, "a"), fakekafka.KV(two, "b")))
	orders.RequireRecords(t, fakekafka.PerKey(fakekafka.KV(two, "b"), fakekafka.KV(one, "a")))
}

func TestSeenRecordsOutOfOrder(t *testing.T) {
	t.Parallel()
	k := fakekafka.Start(t, fakekafka.Topic("orders", 1))
	orders := k.Topic("orders")
	for _, v := range []string{"a", "b", "c"} {
		require.NoError(t, orders.Produce(fakekafka.V(v)))
	}
	orders.RequireRecords(t, fakekafka.AnyOrder(fakekafka.V("b")))
	orders.RequireRecords(t, fakekafka.AnyOrder(fakekafka.V("a")))
	require.NoError(t, orders.DeleteRecords(0, 1))
	orders.AwaitRecords(t, fakekafka.AnyOrder(fakekafka.V("c")))
	orders.RequireNoMore(t)

	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	require.ErrorContains(t, orders.Has(ctx, fakekafka.AnyOrder(fakekafka.V("d"))), `- null="d"   (missing)`)
}

// TestManyRecordsThatComeOneByOne must not have all those before it read again with each.
func TestManyRecordsThatComeOneByOne(t *testing.T) {
	t.Parallel()
	const n = 5000
	k := fakekafka.Start(t, fakekafka.Topic("orders", 1))
	orders := k.Topic("orders")
	want := make([]fakekafka.Record, n)
	for i := range want {
		want[i] = fakekafka.V(strings.Repeat("x", i%7))
	}
	go func() {
		for _, r := range want {
			_ = orders.Produce(r)
		}
	}()
	orders.AwaitRecords(t, fakekafka.AnyOrder(want...))
	orders.RequireNoMore(t)
}

// TestLongValuesAreCutBetweenCharacters in what a failure says of them.
func TestLongValuesAreCutBetweenCharacters(t *testing.T) {
	t.Parallel()
	require.Equal(t, `null="x`+strings.Repeat("é", 34)+"… (101 bytes)", fakekafka.V("x"+strings.Repeat("é", 50)).String())
}

package broker

import (
	"math"
	"os"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/fakekafka/fakekafka/internal/wire"
)

func TestRate(t *testing.T) {
	t.Parallel()
	start := time.Unix(1000, 0)
	at := func(s float64) time.Time { return start.Add(time.Duration(s * float64(time.Second))) }
	r := &rate{window: time.Second, num: 11}
	r.record(at(0), 1000)
	got, window := r.observe(at(0))
	require.Equal(t, 10*time.Second, window, "a first burst counts over all but one sample")
	require.Equal(t, 100.0, got)
	r.record(at(5), 1000)
	got, _ = r.observe(at(5))
	require.Equal(t, 200.0, got)
	got, _ = r.observe(at(10))
	require.Equal(t, 200.0, got)
	got, window = r.observe(at(11))
	require.Equal(t, 10*time.Second, window)
	require.Equal(t, 100.0, got, "the first sample is past the window")
	got, _ = r.observe(at(16))
	require.Zero(t, got)

	require.Zero(t, throttleTime(100, 100, 10*time.Second))
	require.Zero(t, throttleTime(100, math.NaN(), 10*time.Second))
	require.Equal(t, 10*time.Second, throttleTime(200, 100, 10*time.Second))
}

// Clients that are counted no more are forgotten, however many names they have had.
func TestSilentClientsAreForgotten(t *testing.T) {
	t.Parallel()
	start := time.Unix(1000, 0)
	var th throttles
	th.forget(start)
	for i := range maxRates {
		key := rateKey{client: strconv.Itoa(i)}
		th.rates[key] = &rate{window: time.Second, num: 11}
		th.rates[key].record(start, 1)
		th.buckets[key] = &bucket{at: start}
	}
	th.forget(start.Add(time.Second))
	require.Len(t, th.rates, maxRates)
	th.forget(start.Add(time.Minute))
	require.Empty(t, th.rates)
	require.Len(t, th.buckets, maxRates)
	th.forget(start.Add(time.Hour))
	require.Empty(t, th.buckets)
}

func TestMostSpecificQuotaCounts(t *testing.T) {
	t.Parallel()
	name := func(s string) *string { return &s }
	var q quotas
	set := func(value float64, parts ...quotaPart) {
		e, err := newQuotaEntity(parts)
		require.Nil(t, err)
		q.alter(e, []quotaOp{{"producer_byte_rate", value, false}})
	}
	var c Cluster
	limit := func(user, client string) float64 {
		q.publish(&c)
		v, _, _ := c.quotaTable.Load().limit(1, "producer_byte_rate", user, client)
		return v
	}
	set(1, quotaPart{quotaClient, nil})
	require.Equal(t, 1.0, limit("u", "c"))
	set(2, quotaPart{quotaClient, name("c")})
	require.Equal(t, 2.0, limit("u", "c"))
	set(3, quotaPart{quotaUser, nil})
	require.Equal(t, 3.0, limit("u", "c"))
	set(4, quotaPart{quotaUser, nil}, quotaPart{quotaClient, nil})
	require.Equal(t, 4.0, limit("u", "c"))
	set(5, quotaPart{quotaUser, nil}, quotaPart{quotaClient, name("c")})
	require.Equal(t, 5.0, limit("u", "c"))
	set(6, quotaPart{quotaUser, name("u")})
	require.Equal(t, 6.0, limit("u", "c"))
	set(7, quotaPart{quotaUser, name("u")}, quotaPart{quotaClient, nil})
	require.Equal(t, 7.0, limit("u", "c"))
	set(8, quotaPart{quotaUser, name("u")}, quotaPart{quotaClient, name("c")})
	require.Equal(t, 8.0, limit("u", "c"))
	require.Equal(t, 7.0, limit("u", "other"))
	require.Equal(t, 5.0, limit("other", "c"))
}

func (c *rawClient) setQuota(kind, name, key string, value float64) {
	c.tb.Helper()
	req := kmsg.NewPtrAlterClientQuotasRequest()
	req.Version = 1
	e := kmsg.NewAlterClientQuotasRequestEntry()
	part := kmsg.NewAlterClientQuotasRequestEntryEntity()
	part.Type, part.Name = kind, &name
	e.Entity = append(e.Entity, part)
	op := kmsg.NewAlterClientQuotasRequestEntryOp()
	op.Key, op.Value, op.Remove = key, value, value == 0
	e.Ops = append(e.Ops, op)
	req.Entries = append(req.Entries, e)
	require.Zero(c.tb, c.ask(req).(*kmsg.AlterClientQuotasResponse).Entries[0].ErrorCode)
}

func TestThrottledProduceAndFetch(t *testing.T) {
	t.Parallel()
	c := startCluster(t, Options{Topics: []TopicSpec{{Name: "t", Partitions: 1}}})
	cl := dialRaw(t, c)
	other := dialRaw(t, c)
	batch := oneBatch(t, 1, 20_000)
	resp := cl.ask(produceRequest("t", 0, batch)).(*kmsg.ProduceResponse)
	require.Zero(t, resp.ThrottleMillis, "no quota, no throttling")

	cl.setQuota(quotaClient, "raw", "producer_byte_rate", 1900)
	began := time.Now()
	resp = cl.ask(produceRequest("t", 0, batch)).(*kmsg.ProduceResponse)
	told := time.Duration(resp.ThrottleMillis) * time.Millisecond
	require.Greater(t, told, 100*time.Millisecond)
	require.Less(t, told, 5*time.Second)
	other.ask(topicsRequest("t"))
	require.Less(t, time.Since(began), told+10*time.Second, "other connections go on")
	cl.ask(topicsRequest("t"))
	require.GreaterOrEqual(t, time.Since(began), told, "the next request isn't read before")

	other.setQuota(quotaClient, "raw", "producer_byte_rate", 0)
	other.setQuota(quotaClient, "raw", "consumer_byte_rate", 100)
	fetched := dialRaw(t, c).ask(fetchRequest("t", 0, 0)).(*kmsg.FetchResponse)
	require.Positive(t, fetched.ThrottleMillis)
	require.Empty(t, fetched.Topics, "no records over the quota")
	other.setQuota(quotaClient, "raw", "consumer_byte_rate", 0)
	require.Nil(t, c.quotaTable.Load(), "nothing is set, nothing is counted")
	fetched = other.ask(fetchRequest("t", 0, 0)).(*kmsg.FetchResponse)
	require.Zero(t, fetched.ThrottleMillis)
	require.NotEmpty(t, fetched.Topics)
}

func TestMutationQuota(t *testing.T) {
	t.Parallel()
	c := startCluster(t, Options{})
	other := dialRaw(t, c)
	other.setQuota(quotaUser, anonymous, "controller_mutation_rate", 1) // 11 tokens to begin with
	ask := func(version int16, name string, partitions int32) (wire.Code, int32) {
		req := createRequest(newTopic(name, partitions, 1))
		req.Version = version
		resp := dialRaw(t, c).ask(req).(*kmsg.CreateTopicsResponse) // a connection of its own: those over the quota are muted
		return wire.Code(resp.Topics[0].ErrorCode), resp.ThrottleMillis
	}
	code, wait := ask(7, "a", 11)
	require.Equal(t, wire.None, code)
	require.Zero(t, wait)
	code, wait = ask(7, "b", 100)
	require.Equal(t, wire.None, code, "one request may go below zero")
	require.Zero(t, wait, "and isn't told")
	code, wait = ask(7, "c", 1)
	require.Equal(t, wire.ThrottlingQuotaExceeded, code)
	require.Positive(t, wait)
	code, wait = ask(5, "c", 1)
	require.Equal(t, wire.None, code, "versions without the error are let through")
	require.Positive(t, wait)
}

// As shown on Apache Kafka 4.3.1: one connection a second is ten at once, and the next is accepted, not served, and closed a second later.
func TestConnectionRateQuota(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"127.0.0.1", "localhost", ""} {
		t.Run("of "+name, func(t *testing.T) {
			t.Parallel()
			c := startCluster(t, Options{Topics: []TopicSpec{{Name: "t", Partitions: 1}}})
			first := dialRaw(t, c)
			alter := kmsg.NewPtrAlterClientQuotasRequest()
			entry := kmsg.NewAlterClientQuotasRequestEntry()
			part := kmsg.NewAlterClientQuotasRequestEntryEntity()
			part.Type = quotaIP
			if name != "" {
				part.Name = &name
			}
			entry.Entity = append(entry.Entity, part)
			entry.Ops = []kmsg.AlterClientQuotasRequestEntryOp{{Key: "connection_creation_rate", Value: 1}}
			alter.Entries = append(alter.Entries, entry)
			require.Zero(t, first.ask(alter).(*kmsg.AlterClientQuotasResponse).Entries[0].ErrorCode)
			began := time.Now()
			for range 10 {
				dialRaw(t, c).ask(topicsRequest("t"))
			}
			served := func() bool { // one more is, for each second that this took
				more := dialRaw(t, c).nc
				require.NoError(t, more.SetDeadline(time.Now().Add(20*time.Second)))
				_, _ = more.Write(rawFormatter.AppendRequest(nil, topicsRequest("t"), 1))
				_, err := more.Read(make([]byte, 1))
				require.NotErrorIs(t, err, os.ErrDeadlineExceeded)
				return err == nil
			}
			for n := 0; served(); n++ {
				require.Less(t, n, 1000, "connections beyond the rate are served")
			}
			require.GreaterOrEqual(t, time.Since(began), 990*time.Millisecond, "an eleventh in this second isn't closed before it is over")
			first.ask(topicsRequest("t"))
		})
	}
}

// A quota of NaN, which Kafka takes, limits an answer to no bytes, so that its first batch comes all the same.
func TestFetchUnderNaN(t *testing.T) {
	t.Parallel()
	cl := dialRaw(t, startCluster(t, Options{Topics: []TopicSpec{{Name: "t", Partitions: 1}}}))
	for range 2 {
		cl.ask(produceRequest("t", 0, oneBatch(t, 1, 100)))
	}
	all := cl.ask(fetchRequest("t", 0, 0)).(*kmsg.FetchResponse).Topics[0].Partitions[0].RecordBatches
	cl.setQuota(quotaClient, "raw", "consumer_byte_rate", math.NaN())
	got := cl.ask(fetchRequest("t", 0, 0)).(*kmsg.FetchResponse).Topics[0].Partitions[0]
	require.Zero(t, got.ErrorCode)
	require.Len(t, got.RecordBatches, len(all)/2)
}

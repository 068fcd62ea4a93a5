package fakekafka_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/fakekafka/fakekafka/fakekafka"
)

func TestReadCommitted(t *testing.T) {
	t.Parallel()
	k := fakekafka.Start(t, fakekafka.Topic("receipts", 1))
	log := k.Topic("receipts")
	committed := log.ReadCommitted()
	a, b := dialRaw(t, k, "a").transaction("a"), dialRaw(t, k, "b").transaction("b")

	a.add("receipts", 0)
	a.produce("receipts", 0, "lost")
	a.end(false)
	require.NoError(t, log.Produce(fakekafka.V("plain")))
	committed.AwaitRecords(t, fakekafka.InOrder(fakekafka.V("plain"))) // it stands behind the open transaction until the marker is there
	committed.RequireNoMore(t)

	b.add("receipts", 0)
	b.produce("receipts", 0, "open")
	require.NoError(t, log.Produce(fakekafka.V("behind")))
	committed.RequireNoMore(t)
	require.Len(t, committed.Records(), 1)
	require.Len(t, log.Records(), 4)
	text := said(t, func(tb testing.TB) { log.RequireNoMore(tb) })
	require.Contains(t, text, `null="lost"   (partition 0 offset 0, aborted)`)
	require.Contains(t, text, `null="open"   (partition 0 offset 3, in an open transaction)`)
	require.Contains(t, text, `null="behind"   (partition 0 offset 4, behind an open transaction)`)

	done := make(chan struct{})
	go func() {
		defer close(done)
		b.end(true)
	}()
	committed.AwaitRecords(t, fakekafka.InOrder(fakekafka.V("open"), fakekafka.V("behind"))) // woken by the marker
	<-done
	committed.RequireNoMore(t)
	log.RequireRecords(t, fakekafka.InOrder(fakekafka.V("lost"))) // what one handle has seen, the other has: this it couldn't
	log.RequireNoMore(t)
	require.Contains(t, said(t, func(tb testing.TB) { committed.RequireRecords(tb, fakekafka.InOrder(fakekafka.V("lost"))) }),
		"wanted topic receipts, read committed, to hold, in order, 1 record; there was:\n  - null=\"lost\"   (missing)")
}

// TestProducedAtTheManualClock: what a test produces is of the brokers' time, so that retention goes by it.
func TestProducedAtTheManualClock(t *testing.T) {
	t.Parallel()
	start := time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC)
	k := fakekafka.Start(t, fakekafka.ManualClock(start), fakekafka.Topic("events", 1, fakekafka.With("retention.ms", "60000"), fakekafka.With("segment.ms", "10000")))
	events := k.Topic("events")
	require.NoError(t, events.Produce(fakekafka.V("old")))
	events.RequireRecords(t, fakekafka.InOrder(fakekafka.V("old").At(start)))
	require.NoError(t, k.FastForward(50*time.Second))
	require.NoError(t, events.Produce(fakekafka.V("new")))
	require.NoError(t, k.FastForward(30*time.Second))
	require.NoError(t, events.ApplyRetention())
	require.EqualValues(t, 1, events.LogStart(0))
	require.Equal(t, 1, len(events.Records()))
}

// TestMatchedThoughAborted: a wait on the log that an aborted record meets succeeds, and the test is told so: once in its log, and in what fails later.
func TestMatchedThoughAborted(t *testing.T) {
	t.Parallel()
	rec := &recorder{TB: t}
	k := fakekafka.Start(rec, fakekafka.Topic("receipts", 1), fakekafka.Topic("refunds", 1))
	log, refunds := k.Topic("receipts"), k.Topic("refunds")
	a, b := dialRaw(t, k, "a").transaction("a"), dialRaw(t, k, "b").transaction("b")
	a.add("receipts", 0)
	a.produce("receipts", 0, "1")
	b.add("refunds", 0)
	b.produce("refunds", 0, "3")
	log.AwaitRecords(rec, fakekafka.InOrder(fakekafka.V("1")))
	refunds.RequireRecords(rec, fakekafka.InOrder(fakekafka.V("3")))
	require.Empty(t, rec.logs, "they may yet be committed")
	open := said(t, func(tb testing.TB) { log.RequireRecords(tb, fakekafka.InOrder(fakekafka.V("1"))) })
	require.Contains(t, open, "\n    1 of the records matched before was of an open transaction (null=\"1\" at partition 0 offset 0); want ReadCommitted()?")
	a.end(false)
	a.add("receipts", 0)
	a.produce("receipts", 0, "2")
	a.end(false)
	require.NoError(t, log.Produce(fakekafka.V("1"), fakekafka.V("2")))

	log.AwaitRecords(rec, fakekafka.AnyOrder(fakekafka.V("1")))
	require.Empty(t, rec.logs, "that one is not of a transaction")
	log.RequireRecords(rec, fakekafka.InOrder(fakekafka.V("2")))
	require.Empty(t, rec.logs, "a failure has said it")
	const both = "2 of the records matched before were of aborted transactions (the first is null=\"1\" at partition 0 offset 0); want ReadCommitted()?"
	text := said(t, func(tb testing.TB) { log.RequireNoMore(tb) })
	require.Contains(t, text, "there was 1 record:\n")
	require.Contains(t, text, "\n    "+both)
	require.Contains(t, unmet(t, func(ctx context.Context) error {
		return log.Has(ctx, fakekafka.InOrder(fakekafka.V("2"), fakekafka.V("3")))
	}), both)
	require.NotContains(t, said(t, func(tb testing.TB) { log.ReadCommitted().RequireRecords(tb, fakekafka.InOrder(fakekafka.V("1"))) }), "want ReadCommitted()?")

	b.end(false)
	rec.fail("something else")
	rec.end()
	told := strings.Join(rec.logs, "\n")
	require.Contains(t, told, "fakekafka: topic refunds: 1 of the records matched before was of an aborted transaction (null=\"3\" at partition 0 offset 0); want ReadCommitted()?")
	require.NotContains(t, told, "topic receipts")
}

func TestAMatchedAbortedRecordIsLogged(t *testing.T) {
	t.Parallel()
	rec := &recorder{TB: t}
	k := fakekafka.Start(rec, fakekafka.Topic("receipts", 1))
	log := k.Topic("receipts")
	a := dialRaw(t, k, "a").transaction("a")
	a.add("receipts", 0)
	a.produce("receipts", 0, "1")
	a.produce("receipts", 0, "2")
	a.end(false)
	log.AwaitRecords(rec, fakekafka.InOrder(fakekafka.V("1")))
	const once = `fakekafka: 1 of the matched records of topic receipts was of an aborted transaction (null="1" at partition 0 offset 0); want ReadCommitted()?`
	require.Equal(t, []string{once}, rec.logs)
	log.RequireRecords(rec, fakekafka.InOrder(fakekafka.V("2")))
	rec.fail("something else")
	rec.end()
	require.Equal(t, 1, strings.Count(strings.Join(rec.logs, "\n"), "want ReadCommitted()?"), "%q", rec.logs)
}

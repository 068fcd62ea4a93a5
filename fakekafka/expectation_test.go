package fakekafka_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/fakekafka/fakekafka/fakekafka"
)

// said is what a Require call fails with.
func said(t *testing.T, call func(tb testing.TB)) string {
	t.Helper()
	rec := &recorder{TB: t}
	require.Panics(t, func() { call(rec) })
	return rec.errors()
}

func TestExpectationOfNoKind(t *testing.T) {
	t.Parallel()
	k := fakekafka.Start(t, fakekafka.Topic("orders", 1), fakekafka.WaitLimit(time.Hour))
	const text = "the expectation is of no kind: make it with InOrder, PerKey or AnyOrder"
	require.Contains(t, said(t, func(tb testing.TB) { k.Topic("orders").RequireRecords(tb, fakekafka.Expectation{}) }), text)
	require.ErrorContains(t, k.Topic("orders").Has(t.Context(), fakekafka.Expectation{}), text)
}

// TestDiffNamesWhatDiffers: a record that is wanted somewhere, or of some time, is shown with it.
func TestDiffNamesWhatDiffers(t *testing.T) {
	t.Parallel()
	k := fakekafka.Start(t, fakekafka.Topic("orders", 2))
	orders := k.Topic("orders")
	at := time.Date(2026, 1, 2, 3, 4, 5, 6e6, time.UTC)
	require.NoError(t, orders.Produce(fakekafka.KV("ada", "1").On(0).At(at)))
	for _, how := range []func(...fakekafka.Record) fakekafka.Expectation{fakekafka.InOrder, fakekafka.PerKey, fakekafka.AnyOrder} {
		where := said(t, func(tb testing.TB) { orders.RequireRecords(tb, how(fakekafka.KV("ada", "1").On(1))) })
		require.Contains(t, where, `- "ada"="1" on partition 1`)
		require.Contains(t, where, `+ "ada"="1"   (partition 0 offset 0)`)
		when := said(t, func(tb testing.TB) { orders.RequireRecords(tb, how(fakekafka.KV("ada", "1").At(at.Add(time.Second)))) })
		require.Contains(t, when, `- "ada"="1" at 2026-01-02T03:04:06.006Z`)
		require.Contains(t, when, `+ "ada"="1" at 2026-01-02T03:04:05.006Z   (partition 0 offset 0)`)
	}
}

// TestDiffOfManyRecords: one record too many, or too few, is one line, however many stand behind it.
func TestDiffOfManyRecords(t *testing.T) {
	t.Parallel()
	k := fakekafka.Start(t, fakekafka.Topic("orders", 1))
	orders := k.Topic("orders")
	var there, want []fakekafka.Record
	for i := range 300 {
		there = append(there, fakekafka.V(fmt.Sprint(i)))
		if i != 10 { // there, and not wanted
			want = append(want, fakekafka.V(fmt.Sprint(i)))
		}
	}
	want = append(want, fakekafka.V("last"))
	require.NoError(t, orders.Produce(there...))
	require.Equal(t, `fakekafka: wanted topic orders to hold, in order, 300 records; there was:
    … 7 before, as wanted
    null="7"   (partition 0 offset 7)
    null="8"   (partition 0 offset 8)
    null="9"   (partition 0 offset 9)
  + null="10"   (partition 0 offset 10)
    null="11"   (partition 0 offset 11)
    null="12"   (partition 0 offset 12)
    null="13"   (partition 0 offset 13)
    … 283 as wanted
    null="297"   (partition 0 offset 297)
    null="298"   (partition 0 offset 298)
    null="299"   (partition 0 offset 299)
  - null="last"   (missing)`, said(t, func(tb testing.TB) { orders.RequireRecords(tb, fakekafka.InOrder(want...)) }))

	var others []fakekafka.Record
	for i := range 1000 {
		others = append(others, fakekafka.KV("k", fmt.Sprint(i)))
	}
	all := said(t, func(tb testing.TB) { orders.RequireRecords(tb, fakekafka.AnyOrder(others...)) })
	require.Contains(t, all, "0 of 1000, without\n")
	require.Contains(t, all, "\n  - … and 980 more\n")
	require.Contains(t, all, "\n  + … and 280 more")
	require.Contains(t, said(t, func(tb testing.TB) { orders.RequireRecords(tb, fakekafka.InOrder(others...)) }), "more lines, of 1000 records wanted and 300 there")
}

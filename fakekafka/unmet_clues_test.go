package fakekafka_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/fakekafka/fakekafka/fakekafka"
)

// What a worker did that has a misspelled name, or a producer that died: the failure of the wait that it is in the way of says so.

func TestAnOpenTransactionIsInTheWay(t *testing.T) {
	t.Parallel()
	k := fakekafka.Start(t, fakekafka.Topic("outbox", 2), fakekafka.Topic("events", 1))
	k.Join("projector", fakekafka.Member{ClientID: "p1", Topics: []string{"outbox"}})
	k.Group("projector").AwaitStable(t, 1)
	tx := dialRaw(t, k, "relay").transaction("relay-1")
	tx.add("outbox", 1)
	tx.produce("outbox", 1, "row")
	const open = `transactional.id "relay-1" of client "relay" has been Ongoing for [0-9.]+[mµ]?s: read_committed consumers are given nothing from it on in outbox-1 until it ends`
	waits := map[string]func(context.Context) error{
		"lag": func(ctx context.Context) error { return k.Group("projector").LagAtMost(ctx, 0) },
		"records": func(ctx context.Context) error {
			return k.Topic("events").Has(ctx, fakekafka.AnyOrder(fakekafka.V("row")))
		},
		"idle": k.Idle,
	}
	for what, wait := range waits {
		require.Regexp(t, open, unmet(t, wait), what)
	}
	tx.end(true)
	for what, wait := range waits {
		require.NotContains(t, unmet(t, wait), "relay-1", what)
	}
}

func TestAnOpenTransactionOfManyPartitionsAndAGroup(t *testing.T) {
	t.Parallel()
	k := fakekafka.Start(t, fakekafka.Topic("Outbox", 7))
	k.Join("projector", fakekafka.Member{ClientID: "p1", Topics: []string{"Outbox"}})
	k.Group("projector").AwaitStable(t, 1)
	tx := dialRaw(t, k, "relay").transaction("relay-1")
	for p := range int32(7) {
		tx.add("Outbox", p)
	}
	tx.produce("Outbox", 1, "row")
	offsets := versioned(kmsg.NewPtrAddOffsetsToTxnRequest(), 3)
	offsets.TransactionalID, offsets.ProducerID, offsets.ProducerEpoch, offsets.Group = tx.id, tx.producer, tx.epoch, "projector"
	require.Zero(t, tx.r.ask(offsets).(*kmsg.AddOffsetsToTxnResponse).ErrorCode)
	require.Contains(t, unmet(t, k.Idle), "in Outbox-0, Outbox-1, Outbox-2, Outbox-3, Outbox-4, …, and a group's offsets are pending until it ends")
}

func TestRecordsOfAnotherTopic(t *testing.T) {
	t.Parallel()
	k := fakekafka.Start(t, fakekafka.Topic("mails.dlq", 1), fakekafka.Topic("mail.dlq", 1), fakekafka.Topic("mails", 2), fakekafka.Topic("empty", 1))
	has := func() string {
		return unmet(t, func(ctx context.Context) error {
			return k.Topic("mails.dlq").Has(ctx, fakekafka.AnyOrder(fakekafka.V("x")))
		})
	}
	require.NoError(t, k.Topic("mails").Produce(fakekafka.V("x")))
	require.NotContains(t, has(), "in other topics") // no client has written
	dialRaw(t, k, "mailer").ask(produceTo(t, "mail.dlq", 0))
	require.Contains(t, has(), "\n    1 Produce came, for all topics, from \"mailer\"\n    records are in other topics: [\"mail.dlq\" \"mails\"] (here it is \"mails.dlq\": is one of them misspelled?)")
	require.NoError(t, k.Topic("mails.dlq").Produce(fakekafka.V("another")))
	require.NotContains(t, has(), "in other topics")
}

func TestACommitThatNobodyCanSend(t *testing.T) {
	t.Parallel()
	k := fakekafka.Start(t, fakekafka.Topic("mails", 2), fakekafka.Topic("mail", 1))
	g := k.Group("mailer")
	committed := func() string {
		return unmet(t, func(ctx context.Context) error { return g.CommittedAt(ctx, "mails", 1, 1) })
	}
	require.NotContains(t, committed(), "nobody owns it")
	k.Join("mailer", fakekafka.Member{ClientID: "a", Topics: []string{"mail"}})
	g.AwaitStable(t, 1)
	require.Contains(t, committed(), "no committed offset, of a log that ends at 0; nobody owns it: a owns mail 0\n")
	k.Join("mailer", fakekafka.Member{ClientID: "b", Topics: []string{"mails"}})
	g.AwaitStable(t, 2)
	require.Contains(t, committed(), "no committed offset, of a log that ends at 0\n")
}

// A client that looks for a pattern among all topics joins when one matches.
func TestAPatternThatMatchesNoTopic(t *testing.T) {
	t.Parallel()
	k := fakekafka.Start(t, fakekafka.Topic("audit.a", 1))
	all := metadataOf("")
	all.Topics = nil
	dialRaw(t, k, "tail").ask(all)
	require.Contains(t, unmet(t, stableWith(k.Group("audit"), 1)),
		"\n    client \"tail\" has asked for no group; it sent Metadata; it asked for all topics: does it wait for one that its pattern matches? there are [\"audit.a\"]\n")
}

// Subtests that share a cluster have groups in a series, and one of thirty misspells its own: the failure names that one, and its end is short.
func TestOneOfManySubtestsIsAtFault(t *testing.T) {
	t.Parallel()
	r := &recorder{TB: t}
	k := fakekafka.Start(r, fakekafka.Topic("orders", 1), fakekafka.WaitLimit(time.Millisecond))
	for i := range 12 {
		k.Join(fmt.Sprintf("billing-%02d", i), fakekafka.Member{ClientID: fmt.Sprintf("worker-%02d", i), Topics: []string{"orders"}})
	}
	k.Join("biling-30", fakekafka.Member{ClientID: "worker-30", Topics: []string{"orders"}})
	for i := range 12 {
		require.NoError(t, k.Group(fmt.Sprintf("billing-%02d", i)).Stable(t.Context(), 1))
	}
	fails := func(call func()) {
		defer func() { require.Equal(t, r, recover()) }()
		call()
	}
	fails(func() { k.Group("billing-30").AwaitStable(r, 1) })
	require.Regexp(t, `there was: no such group
    client "worker-30" has joined another group: "biling-30" \(here it is "billing-30": is one of them misspelled\?\)
    client "worker-00" has joined another group: "billing-00"
`, r.errors())
	fails(func() { k.Group("billing-11").AwaitStable(r, 2) })

	k.Join("biling-30", fakekafka.Member{ClientID: "worker-03", Topics: []string{"orders"}})
	require.NoError(t, k.Group("biling-30").Stable(t.Context(), 2))
	require.NoError(t, k.Group("billing-03").Member("worker-03").Pause())
	require.ErrorContains(t, k.Group("biling-30").Member("worker-03").Pause(),
		`client "worker-03" is paused already, as a member of group "billing-03": a pause stops all clients of a client.id, whatever their group`)
	require.NoError(t, k.Group("billing-11").Rebalance())
	k.Group("billing-11").Member("worker-11").Evict()
	r.end()
	logs := strings.Join(r.logs, "\n")
	require.Equal(t, 8, strings.Count(logs, "classic protocol"), logs)
	require.Contains(t, r.logs[0], "after the failure above, group billing-11 ")
	require.Contains(t, logs, "fakekafka: … and timelines of 5 groups more: Group(id).Timeline() has each")
}

// Two processes with one instance id, which may have the same client.id, too.
func TestTwoProcessesWithOneInstanceID(t *testing.T) {
	t.Parallel()
	for _, second := range []string{"a", "b"} {
		k := fakekafka.Start(t, fakekafka.Topic("orders", 1))
		g := k.Group("billing")
		a := k.Join("billing", fakekafka.Member{ClientID: "a", InstanceID: "pod-1", Topics: []string{"orders"}})
		g.AwaitStable(t, 1)
		k.Join("billing", fakekafka.Member{ClientID: second, InstanceID: "pod-1", Topics: []string{"orders"}})
		require.NotContains(t, unmet(t, stableWith(g, 2)), "two processes")
		require.Equal(t, fakekafka.FencedInstanceID, a.Heartbeat())
		require.Regexp(t, `two processes have the instance id "pod-1": client "a" was fenced at \+[0-9.]+s, as client "`+second+`" has taken its place`, unmet(t, stableWith(g, 2)))
	}
}

func TestAMemberWhosePatternMatchesNoTopic(t *testing.T) {
	t.Parallel()
	k := fakekafka.Start(t, fakekafka.Topic("audit.a", 1))
	k.Join("audit", fakekafka.Member{ClientID: "tail", Protocol: fakekafka.Consumer, Regex: `audti\..*`})
	g := k.Group("audit")
	g.AwaitStable(t, 1)
	said := unmet(t, func(ctx context.Context) error { return g.Owned(ctx, "audit.a", 0, "tail") })
	require.Contains(t, said, "\n    tail: epoch 1, owns nothing, subscribes to /audti\\..*/\n")
	require.Contains(t, said, "\n    tail subscribes to /audti\\..*/ and is to own nothing: does it match a topic? there are [\"__consumer_offsets\" \"audit.a\"]\n")
	require.NoError(t, k.Topic("audti.b").Create(1))
	g.AwaitOwner(t, "audti.b", 0, "tail")
	require.NotContains(t, unmet(t, func(ctx context.Context) error { return g.Owned(ctx, "audit.a", 0, "tail") }), "does it match")
}

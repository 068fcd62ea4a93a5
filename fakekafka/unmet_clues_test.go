package fakekafka_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

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
	const open = `transactional.id "relay-1" of client "relay" has been Ongoing for [0-9.]+[mµ]?s: read_committed consumers are given nothing behind it in outbox-1 until it ends`
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

package clienttests

import (
	"context"
	"crypto/rand"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
)

// limit bounds one story. It is a net under a hang; nothing waits for it.
const limit = 90 * time.Second

// env is the broker a test talks to, and what the test may know of it beside
// the client under test: names of its own, and kadm to look and to clean up.
type env struct {
	addr string
	adm  *kadm.Client
	ctx  context.Context // ends shortly before the test's limit
}

// broker returns the broker named by FAKEKAFKA_BOOTSTRAP, else a fakekafka
// broker that lives as long as the test.
func broker(t *testing.T) *env {
	t.Helper()
	addr := os.Getenv("FAKEKAFKA_BOOTSTRAP")
	if addr == "" {
		addr = start(t)
	}
	cl, err := kgo.NewClient(kgo.SeedBrokers(addr), kgo.ClientID("clienttests"))
	require.NoError(t, err)
	t.Cleanup(cl.Close)
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	t.Cleanup(cancel)
	return &env{addr, kadm.NewClient(cl), ctx}
}

// topic returns a topic name that is this test's own. The test creates it; it
// is deleted at the end.
func (e *env) topic(t *testing.T, prefix string) string {
	t.Helper()
	name := unique(t, prefix)
	have, err := e.adm.ListTopics(e.ctx, name)
	require.NoError(t, err)
	require.False(t, have.Has(name), "topic %s is on %s already: the tests touch only what they made", name, e.addr)
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		if _, err := e.adm.DeleteTopics(ctx, name); err != nil {
			t.Logf("topic %s was not deleted: %v", name, err)
		}
	})
	return name
}

// group returns a group name that is this test's own; the group is deleted at
// the end.
func (e *env) group(t *testing.T, prefix string) string {
	name := unique(t, prefix)
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		if _, err := e.adm.DeleteGroups(ctx, name); err != nil {
			t.Logf("group %s was not deleted: %v", name, err)
		}
	})
	return name
}

func unique(t *testing.T, prefix string) string {
	test := strings.Map(func(r rune) rune {
		if r == '/' || r == '_' {
			return '-'
		}
		return r
	}, strings.TrimPrefix(t.Name(), "Test"))
	return fmt.Sprintf("%s-%s-%s", prefix, test, rand.Text()[:8])
}

// until asks again and again: a broker of another process has no event to wait
// on. It returns ask's last complaint when the context ends first.
func (e *env) until(ctx context.Context, ask func() error) error {
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		err := ask()
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%w (%v)", err, context.Cause(ctx))
		case <-tick.C:
		}
	}
}

// awaitTopic waits until every partition has a leader that opened its log.
func (e *env) awaitTopic(t *testing.T, topic string, partitions int) {
	t.Helper()
	require.NoError(t, e.until(e.ctx, func() error {
		offsets, err := e.adm.ListEndOffsets(e.ctx, topic)
		if err == nil {
			err = offsets.Error()
		}
		if err == nil && len(offsets[topic]) != partitions {
			err = fmt.Errorf("%d partitions are there, not %d", len(offsets[topic]), partitions)
		}
		return err
	}), "waiting for topic %s", topic)
}

// awaitMembers waits until the group is stable and n members hold partitions.
func (e *env) awaitMembers(ctx context.Context, group string, n int) error {
	return e.until(ctx, func() error {
		groups, err := e.adm.DescribeGroups(ctx, group)
		if err != nil {
			return err
		}
		g := groups[group]
		holding := 0
		for _, m := range g.Members {
			if a, ok := m.Assigned.AsConsumer(); ok {
				owned := 0
				for _, topic := range a.Topics {
					owned += len(topic.Partitions)
				}
				holding += min(1, owned)
			}
		}
		if g.State != "Stable" || holding != n {
			return fmt.Errorf("group %s is %s with %d members, %d of them with partitions; want Stable with %d (%v)", group, g.State, len(g.Members), holding, n, g.Err)
		}
		return nil
	})
}

// committed returns the group's committed offset of each partition.
func (e *env) committed(t *testing.T, group, topic string) map[int32]int64 {
	t.Helper()
	offsets, err := e.adm.FetchOffsets(e.ctx, group)
	require.NoError(t, err)
	require.NoError(t, offsets.Error())
	at := map[int32]int64{}
	for p, o := range offsets[topic] {
		at[p] = o.At
	}
	return at
}

package fakekafka_test

import (
	"net"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/fakekafka/fakekafka/assignors"
	"github.com/fakekafka/fakekafka/fakekafka"
)

// funcAssignor is a server-side assignor of the test's own.
type funcAssignor func(assignors.ServerInput) (map[string]assignors.Partitions, error)

func (funcAssignor) Name() string { return "mine" }

func (f funcAssignor) Assign(in assignors.ServerInput) (map[string]assignors.Partitions, error) {
	return f(in)
}

func metadataRequest() *kmsg.MetadataRequest {
	req := kmsg.NewPtrMetadataRequest()
	req.Version = 9
	return req
}

// within fails the test if fn doesn't return soon.
func within(t *testing.T, what string, fn func()) {
	t.Helper()
	done := make(chan struct{})
	go func() { defer close(done); fn() }()
	select {
	case <-done:
	case <-time.After(60 * time.Second):
		stacks := make([]byte, 1<<20)
		t.Fatalf("%s hangs\n%s", what, stacks[:runtime.Stack(stacks, true)])
	}
}

// TestABadAssignor fails the test by its name, and takes nothing but its group with it.
func TestABadAssignor(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		what, says string
		assign     funcAssignor
	}{
		{"panics", "panicked: oh", func(assignors.ServerInput) (map[string]assignors.Partitions, error) { panic("oh") }},
		{"fails the test", "ended its goroutine", func(assignors.ServerInput) (map[string]assignors.Partitions, error) {
			runtime.Goexit()
			return nil, nil
		}},
		{"answers nonsense", "which is not in the group", func(assignors.ServerInput) (map[string]assignors.Partitions, error) {
			return map[string]assignors.Partitions{"nobody": {}}, nil
		}},
	} {
		rec := &recorder{TB: t}
		within(t, c.what, func() {
			k := fakekafka.Start(rec, fakekafka.Topic("t", 2), fakekafka.Assignor("mine", c.assign))
			m := k.Join("g", fakekafka.Member{Topics: []string{"t"}, Protocol: fakekafka.Consumer, Assignors: []string{"mine"}})
			require.ErrorContains(t, m.Err(), "UNKNOWN_SERVER_ERROR", c.what)
			other := k.Join("other", fakekafka.Member{Topics: []string{"t"}, Protocol: fakekafka.Consumer})
			other.AwaitOwned(t, map[string][]int32{"t": {0, 1}})
			text := rec.end()
			require.Contains(t, text, c.says, c.what)
			require.Contains(t, text, `server-side assignor "mine"`, c.what)
		})
	}
}

func TestAnAssignorLooksAtTheCluster(t *testing.T) {
	t.Parallel()
	var k *fakekafka.Cluster
	var saw fakekafka.GroupState
	k = fakekafka.Start(t, fakekafka.Topic("t", 1), fakekafka.Assignor("mine", funcAssignor(func(in assignors.ServerInput) (map[string]assignors.Partitions, error) {
		saw = k.Group("g").State()
		return assignors.NewUniform().Assign(in)
	})))
	within(t, "a look from an assignor", func() {
		m := k.Join("g", fakekafka.Member{Topics: []string{"t"}, Protocol: fakekafka.Consumer, Assignors: []string{"mine"}})
		m.AwaitOwned(t, map[string][]int32{"t": {0}})
	})
	require.Equal(t, "g", saw.ID)
}

// TestUserCodeThatEndsItsGoroutine is a t.FailNow in a When, an Observe or a Reply: the client doesn't wait forever for its answer.
func TestUserCodeThatEndsItsGoroutine(t *testing.T) {
	t.Parallel()
	rec := &recorder{TB: t}
	k := fakekafka.Start(rec)
	k.On(fakekafka.Metadata).From("when").When(func(*fakekafka.Call) bool { runtime.Goexit(); return true }).Drop()
	k.On(fakekafka.Metadata).From("observe").Observe(func(*fakekafka.Call) { runtime.Goexit() })
	k.On(fakekafka.Metadata).From("reply").Reply(func(*fakekafka.Call) kmsg.Response { runtime.Goexit(); return nil })
	for _, client := range []string{"when", "observe", "reply"} {
		dialRaw(t, k, client).ask(metadataRequest())
	}
	require.Contains(t, rec.end(), "ended its goroutine, as t.Fatal and t.FailNow do")
}

func TestAReplyOfAnotherKind(t *testing.T) {
	t.Parallel()
	rec := &recorder{TB: t}
	k := fakekafka.Start(rec)
	k.On(fakekafka.Metadata).Reply(func(*fakekafka.Call) kmsg.Response { return kmsg.NewPtrProduceResponse() })
	dialRaw(t, k, "c").ask(metadataRequest())
	require.Contains(t, rec.end(), "returned a *kmsg.ProduceResponse; the request is a Metadata: return its *kmsg.MetadataResponse")
}

func TestCloseFromInside(t *testing.T) {
	t.Parallel()
	k, err := fakekafka.New()
	require.NoError(t, err)
	closed := make(chan struct{})
	k.On(fakekafka.Metadata).Observe(func(*fakekafka.Call) { k.Close(); close(closed) })
	nc, err := net.Dial("tcp", k.Bootstrap())
	require.NoError(t, err)
	defer nc.Close()
	_, err = nc.Write(kmsg.NewRequestFormatter().AppendRequest(nil, metadataRequest(), 1))
	require.NoError(t, err)
	within(t, "Close in an Observe", func() { <-closed; k.Close() })
}

// TestLooksAfterClose: what a test finds out about a closed cluster is how it was, not nothing.
func TestLooksAfterClose(t *testing.T) {
	t.Parallel()
	k := fakekafka.Start(t, fakekafka.Topic("t", 2))
	m := k.Join("g", fakekafka.Member{Topics: []string{"t"}})
	m.AwaitOwned(t, map[string][]int32{"t": {0, 1}})
	history := k.Group("g").History()
	k.Close()
	require.Equal(t, history, k.Group("g").History())
	require.Equal(t, map[string][]int32{"t": {0, 1}}, m.Owned())
	k.Group("g").RequireOwner(t, "t", 1, "member-1")
	k.Group("g").RequireNoDoubleOwner(t)
}

// TestAssignorsOfOneName: members would never get the second one.
func TestAssignorsOfOneName(t *testing.T) {
	t.Parallel()
	mine := fakekafka.Assignor("mine", funcAssignor(nil))
	_, err := fakekafka.New(mine, mine)
	require.EqualError(t, err, `fakekafka: Assignor("mine"): it is given twice`)
	own := assignorOfName("range")
	_, err = fakekafka.New(fakekafka.Assignor("range", own))
	require.EqualError(t, err, `fakekafka: Assignor("range"): Kafka's own has this name, and members would get that one: give yours another`)
	k, err := fakekafka.New(fakekafka.Assignor("range", own), fakekafka.Config("group.consumer.assignors", "uniform"))
	require.NoError(t, err)
	k.Close()
}

type assignorOfName string

func (a assignorOfName) Name() string { return string(a) }

func (a assignorOfName) Assign(assignors.ServerInput) (map[string]assignors.Partitions, error) {
	return nil, nil
}

package fakekafka_test

import (
	"context"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/fakekafka/fakekafka/assignors"
	"github.com/fakekafka/fakekafka/fakekafka"
)

// askingHandler is a logger's handler that asks the cluster whose log it gets.
type askingHandler struct {
	slog.Handler
	k     atomic.Pointer[fakekafka.Cluster]
	asked atomic.Int32
}

func (h *askingHandler) Enabled(context.Context, slog.Level) bool { return true }
func (h *askingHandler) WithAttrs([]slog.Attr) slog.Handler       { return h }
func (h *askingHandler) WithGroup(string) slog.Handler            { return h }
func (h *askingHandler) Handle(context.Context, slog.Record) error {
	if k := h.k.Load(); k != nil {
		_ = k.Group("billing").State()
		h.asked.Add(1)
	}
	return nil
}

// What the control loop logs reaches a handler that asks the loop something, and neither waits for the other.
func TestALoggerMayAskTheCluster(t *testing.T) {
	t.Parallel()
	h := &askingHandler{}
	k, err := fakekafka.New(fakekafka.Logger(slog.New(h)), fakekafka.Topic("orders", 1), fakekafka.Assignor("mine", funcAssignor(func(assignors.ServerInput) (map[string]assignors.Partitions, error) { panic("oh") })))
	require.NoError(t, err)
	h.k.Store(k)
	within(t, "a logger that asks", func() {
		k.Join("billing", fakekafka.Member{Protocol: fakekafka.Consumer, Topics: []string{"orders"}, Assignors: []string{"mine"}})
		_ = k.Group("billing").State()
		k.Close()
	})
	require.NotZero(t, h.asked.Load(), "the assignor's panic was logged")
}

// A client from before Kafka 2.1 only sees its connection end, as on Apache Kafka 4: the log says who it was, why, and what to do.
func TestTheLogNamesAClientThatIsTooOld(t *testing.T) {
	t.Parallel()
	var said lockedBuffer
	k, err := fakekafka.New(fakekafka.Logger(slog.New(slog.NewTextHandler(&said, nil))))
	require.NoError(t, err)
	defer k.Close()
	dialRaw(t, k, "worker-1").cut(versioned(kmsg.NewPtrProduceRequest(), 0))
	k.Close()
	require.Contains(t, said.String(), "client=worker-1")
	require.Contains(t, said.String(), "Produce v0 is not served, versions 3 to 13 are. Apache Kafka 4 serves no version older than that either (KIP-896): update the client")
	require.Equal(t, 1, strings.Count(said.String(), "level=WARN"), "%s", said.String())
}

package broker

import (
	"fmt"
	"net"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/fakekafka/fakekafka/internal/wire"
)

func joinRequest(group, member string) *kmsg.JoinGroupRequest {
	req := kmsg.NewPtrJoinGroupRequest()
	req.Version, req.Group, req.MemberID, req.ProtocolType = 7, group, member, "consumer"
	req.SessionTimeoutMillis, req.RebalanceTimeoutMillis = 10_000, 10_000
	p := kmsg.NewJoinGroupRequestProtocol()
	p.Name, p.Metadata = "range", []byte{0, 1, 0, 0, 0, 0, 0, 0, 0, 0}
	req.Protocols = append(req.Protocols, p)
	return req
}

// firstJoin makes the coordinators ready and answers the member id that a member joins a group with.
func (c *rawClient) firstJoin(group string) string {
	find := kmsg.NewPtrFindCoordinatorRequest()
	find.CoordinatorKey = group
	require.Zero(c.tb, c.ask(find).(*kmsg.FindCoordinatorResponse).ErrorCode)
	resp := c.ask(joinRequest(group, "")).(*kmsg.JoinGroupResponse)
	require.Equal(c.tb, wire.MemberIDRequired, wire.Code(resp.ErrorCode))
	return resp.MemberID
}

// Requests that wait are answered in turn with those that were sent behind them, whoever reads and serves the connection then, and what breaks off
// meanwhile leaves nobody behind: Close would wait for that one.
func TestRequestsBehindAParkedOne(t *testing.T) {
	t.Parallel()
	c := startCluster(t, Options{})
	var clients sync.WaitGroup
	for i := range 24 {
		clients.Go(func() {
			raw := dialRaw(t, c)
			group := fmt.Sprintf("g%d", i)
			id := raw.firstJoin(group)
			for round := range 4 {
				join := joinRequest(group, id) // waits for the initial delay, and then for nobody
				join.RebalanceTimeoutMillis += int32(round)
				first := raw.corr + 1
				raw.send(join)
				versions := kmsg.NewPtrApiVersionsRequest()
				behind := (i + round) % 3
				for range behind {
					raw.send(versions)
				}
				if i%4 == 3 && round == 2 {
					_ = raw.nc.Close()
					return
				}
				last := raw.corr
				raw.corr = first
				got := raw.receive(join).(*kmsg.JoinGroupResponse)
				if !(got.ErrorCode == 0 && got.MemberID == id) {
					t.Errorf("%s: %+v", group, got)
				}
				for raw.corr < last {
					raw.corr++
					raw.receive(versions)
				}
			}
		})
	}
	ended := make(chan struct{})
	go func() { clients.Wait(); close(ended) }()
	select {
	case <-ended:
	case <-time.After(time.Minute):
		t.Fatal("clients wait for answers that don't come")
	}
}

// A cluster that closes while requests wait, with and without one behind them, leaves no goroutine: Close waits for all.
func TestCloseWhileRequestsWait(t *testing.T) {
	t.Parallel()
	c, err := New(Options{Config: map[string]string{"group.initial.rebalance.delay.ms": "60000"}})
	require.NoError(t, err)
	var conns []net.Conn
	for i := range 16 {
		raw := dialRaw(t, c)
		group := fmt.Sprintf("g%d", i)
		raw.send(joinRequest(group, raw.firstJoin(group)))
		if i%2 == 0 {
			raw.send(kmsg.NewPtrApiVersionsRequest())
		}
		conns = append(conns, raw.nc)
	}
	closed := make(chan error, 1)
	go func() { closed <- c.Close() }()
	select {
	case err := <-closed:
		require.NoError(t, err)
	case <-time.After(20 * time.Second):
		t.Fatal("Close hangs")
	}
	for _, nc := range conns {
		require.NoError(t, nc.SetReadDeadline(time.Now().Add(20*time.Second)))
		_, err := nc.Read(make([]byte, 1))
		require.Error(t, err)
		require.NotErrorIs(t, err, os.ErrDeadlineExceeded, "the connection is still open")
	}
}

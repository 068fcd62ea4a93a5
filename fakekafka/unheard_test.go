package fakekafka_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/fakekafka/fakekafka/fakekafka"
)

// A Java consumer that is closed waits for its heartbeat's answer. If it doesn't leave its group it sends nothing before that: a held heartbeat
// is answered because it fetches no more. All other members' heartbeats are held to the end, whether they fetch or not.
func TestHeartbeatOfAClientThatClosesUnheard(t *testing.T) {
	pod := kmsg.StringPtr("pod-1")
	for name, test := range map[string]struct {
		software string
		instance *string
		assignor string
		upgraded bool // the group has a member of the consumer protocol
		fetches  time.Duration
		held     time.Duration
	}{
		"static":                {"apache-kafka-java", pod, "", false, 0, 500 * time.Millisecond},
		"static, as it fetches": {"apache-kafka-java", pod, "", false, 2 * time.Second, 2500 * time.Millisecond},
		"streams":               {"apache-kafka-java", nil, "stream", false, 0, 500 * time.Millisecond},
		"it says when it goes":  {"apache-kafka-java", nil, "", false, 0, 15 * time.Second},
		"it doesn't wait":       {"kgo", pod, "", false, 0, 8 * time.Second},

		"static, in an upgraded group":               {"apache-kafka-java", pod, "", true, 0, 500 * time.Millisecond},
		"it says when it goes, in an upgraded group": {"apache-kafka-java", nil, "", true, 0, 15 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				k := startRaw(t, fakekafka.InMemoryNetwork())
				if test.upgraded {
					k.Join("billing", fakekafka.Member{ClientID: "worker-2", Topics: []string{"orders"}, Protocol: fakekafka.Consumer})
				}
				m := &rawMember{raw: dialRaw(t, k, "worker-1"), group: "billing", software: test.software, instance: test.instance, assignor: test.assignor}
				m.joins()
				fetch := fetchFrom(test.fetches, 0, -1, "orders", 0)
				fetcher := dialRaw(t, k, "worker-1")
				start := time.Now()
				fetcher.send(fetch)
				synctest.Wait()
				resp, err := m.try(m.beat())
				require.Equal(t, fakekafka.NoError, beatCode(t, resp, err))
				require.Equal(t, test.held, time.Since(start))
				_, err = fetcher.receive(fetch)
				require.NoError(t, err)
			})
		})
	}
}

// Whose requests wait is judged on the loop, and who waits in a join isn't told: under -race this shows that its connection reads nothing of that.
func TestClientsThatJoinAtOnce(t *testing.T) {
	t.Parallel()
	const n = 5
	k := startRaw(t)
	require.NoError(t, k.Group("billing").ExpectMembers(n))
	codes := make(chan int16, n)
	for range n {
		m := &rawMember{raw: dialRaw(t, k, "worker"), group: "billing", software: "kgo"}
		find := versioned(kmsg.NewPtrFindCoordinatorRequest(), 2)
		find.CoordinatorKey = m.group
		m.ask(find)
		m.id = m.ask(m.join()).(*kmsg.JoinGroupResponse).MemberID
		go func() {
			resp, err := m.try(m.join())
			if err != nil {
				t.Error(err)
				codes <- -1
				return
			}
			codes <- resp.(*kmsg.JoinGroupResponse).ErrorCode
		}()
	}
	for range n {
		require.Zero(t, <-codes)
	}
}

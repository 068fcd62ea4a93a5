package fakekafka_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/fakekafka/fakekafka/fakekafka"
)

// A third and a fourth member come; the fourth before the others have given up what the third shall have, or after. What had to move for the third need not be
// what the fourth would have taken, had they come together.
func TestRequireStickyWhenMembersComeWhileTheGroupRebalances(t *testing.T) {
	t.Parallel()
	for partitions := 4; partitions <= 13; partitions++ {
		for _, overlap := range []bool{false, true} {
			t.Run(fmt.Sprintf("%d partitions, overlapping %t", partitions, overlap), func(t *testing.T) {
				t.Parallel()
				k := fakekafka.Start(t, fakekafka.Topic("orders", partitions), fakekafka.ManualClock(start))
				g := k.Group("billing")
				m := fakekafka.Member{Topics: []string{"orders"}, Protocol: fakekafka.Consumer}
				k.JoinAll("billing", members(2, m)...)
				g.AwaitStable(t, 2)
				hold := g.Hold(fakekafka.RevokeAck)
				m.ClientID = "third"
				k.Join("billing", m)
				hold.Await(t)
				if !overlap {
					hold.Release()
					g.AwaitStable(t, 3)
					g.RequireSticky(t)
					require.Len(t, g.Moved(), mustMove(partitions, 2, 3))
				}
				m.ClientID = "fourth"
				k.Join("billing", m)
				hold.Release()
				g.AwaitStable(t, 4)
				g.RequireBalanced(t)
				g.RequireSticky(t)
				if overlap {
					require.LessOrEqual(t, len(g.Moved()), mustMove(partitions, 2, 3)+mustMove(partitions, 3, 4))
				} else {
					require.Len(t, g.Moved(), mustMove(partitions, 3, 4))
				}
			})
		}
	}
}

// mustMove is how many partitions have to move when the members become more.
func mustMove(partitions, from, to int) int {
	n := 0
	for i := range from {
		n += (partitions+from-1-i)/from - (partitions+to-1-i)/to
	}
	return n
}

// A change that has settled doesn't count for the next.
func TestRequireStickyLooksAtTheLastChange(t *testing.T) {
	t.Parallel()
	k := fakekafka.Start(t, fakekafka.Topic("orders", 8), fakekafka.ManualClock(start))
	g := k.Group("billing")
	m := fakekafka.Member{Topics: []string{"orders"}, Assignors: []string{"cooperative-sticky"}}
	list := k.JoinAll("billing", members(2, m)...)
	g.AwaitStable(t, 2)
	m.ClientID = "third"
	k.Join("billing", m)
	g.AwaitStable(t, 3)
	require.Len(t, g.Moved(), 2)
	g.RequireSticky(t)
	require.Equal(t, fakekafka.NoError, list[0].Leave())
	g.AwaitStable(t, 2)
	require.Empty(t, g.Moved())
	g.RequireSticky(t)
}

package broker

import (
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// A deadline that stays past because its tick panics each time must not keep the loop from everything else.
func TestLoopSurvivesATickThatAlwaysFails(t *testing.T) {
	t.Parallel()
	l := newLoop(newClock())
	var failures atomic.Int32
	l.failed = func(*panicked) { failures.Add(1) }
	l.endTurn = func(time.Time) {}
	l.deadline = func() (time.Time, bool) { return time.Unix(0, 0), true }
	l.tick = func(time.Time) { panic("each time") }
	go l.run()
	const posted = 10
	for range posted {
		require.True(t, l.do(func() {}))
	}
	l.close()
	<-l.done
	require.LessOrEqual(t, failures.Load(), int32(2*posted+2), "one try for each wake-up, and one a second")
}

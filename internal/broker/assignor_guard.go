package broker

import (
	"errors"
	"fmt"
	"time"

	"github.com/fakekafka/fakekafka/assignors"
)

// assignorPatience is how long, in real time, the control loop waits for a server-side assignor of the test's own.
const assignorPatience = 10 * time.Second

// guardedAssignor is a server-side assignor of the test's own. It is user code: its panic, its nonsense and its silence fail the test by name, and
// the coordinator goes on. Its group is in the middle of a step meanwhile, so the loop waits; what only looks at the cluster is let in.
type guardedAssignor struct {
	c     *Cluster
	name  string
	inner assignors.ServerAssignor
}

func guardAssignor(c *Cluster, a assignors.ServerAssignor) assignors.ServerAssignor {
	return guardedAssignor{c, a.Name(), assignors.Checked(a)}
}

func (g guardedAssignor) Name() string { return g.name }

func (g guardedAssignor) Assign(in assignors.ServerInput) (out map[string]assignors.Partitions, err error) {
	where := fmt.Sprintf("the server-side assignor %q", g.name)
	start := func() <-chan func() {
		return g.c.startUser(where, func() func() {
			o, e := g.inner.Assign(in)
			return func() { out, err = o, e }
		})
	}
	take, ok := g.c.loop.lend(start, assignorPatience, g.c.closing)
	switch {
	case take != nil:
		take()
	case ok:
		err = fmt.Errorf("it did not return within %s; it can look at the cluster, but not steer it or wait for it, since its group stands still until it returns", assignorPatience)
	default:
		return nil, errors.New("it panicked, or ended its goroutine")
	}
	if err != nil {
		var stack []byte
		if wrong := (*assignors.AssignorError)(nil); errors.As(err, &wrong) {
			stack = wrong.Stack
		}
		g.c.reportUser(where+": "+err.Error(), stack)
	}
	return out, err
}

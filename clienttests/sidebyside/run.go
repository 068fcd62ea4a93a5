package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync/atomic"
	"time"
)

// runner runs the sequences of one area.
type runner struct {
	*options
	area   *area
	served versions
	to     *report
}

// run runs sequence after sequence. After a difference it goes on with the next one.
func (r *runner) run(ctx context.Context) error {
	for i := 0; (r.n == 0 || i < r.n) && ctx.Err() == nil; i++ {
		if err := r.sequence(r.seed + uint64(i)); err != nil {
			return fmt.Errorf("%s, seed %d: %w", r.area.name, r.seed+uint64(i), err)
		}
	}
	return nil
}

// confirmations is how often a difference must come again. The brokers draw ids anew each time, and with them the order of members and of hash tables: what
// differs by such a chance, in every second run, comes this often in a row once in 256 sequences that have it.
const confirmations = 8

// sequence runs that of a seed, and reports its difference; one that was found before is only counted.
func (r *runner) sequence(seed uint64) error {
	steps := stepsOf(r.area.name, seed, r.steps)
	var trace func(string)
	if r.verbose {
		trace = func(line string) { r.to.line(r.area.name + " " + line) }
	}
	d, err := r.once(seed, steps, trace)
	if err != nil || d == nil || r.to.seen(d.key()) {
		return err
	}
	var last *difference
	fails := func(steps []step) bool {
		again, err := r.once(seed, steps, trace)
		if err != nil || again == nil || again.key() != d.key() {
			return false
		}
		last = again
		return true
	}
	steps = steps[:d.step+1]
	for range confirmations {
		if !fails(steps) {
			r.to.unsteady(r.area, seed, d)
			return nil
		}
	}
	steps = shrink(steps, 60, fails)
	var story []string
	if again, err := r.once(seed, steps, func(line string) { story = append(story, line) }); err == nil && again != nil && again.key() == d.key() {
		last = again
	}
	r.to.difference(r.area, seed, last, story)
	return nil
}

// once runs steps on names that nobody had before.
func (r *runner) once(seed uint64, steps []step, trace func(string)) (*difference, error) {
	prefix := newPrefix(seed)
	kafka, err := newSide(r.kafka, prefix)
	if err != nil {
		return nil, err
	}
	defer kafka.close()
	ours, err := newSide(r.ours, prefix)
	if err != nil {
		return nil, err
	}
	defer ours.close()
	kafka.world.minSession, ours.world.minSession = r.minSession, r.minSession
	s := &session{area: r.area, served: r.served, kafka: kafka, ours: ours, trace: trace, known: map[string]int{}}
	d, err := s.run(steps)
	s.cleanUp()
	r.to.count(r.area, s)
	return d, err
}

// runs counts the runs of sequences; start is a number that another process didn't begin with.
var (
	runs  atomic.Int64
	start = time.Now().UnixMilli()
)

// newPrefix makes names that no sequence had before. They are of one length, so that a mutation hits the same place.
func newPrefix(seed uint64) string {
	return fmt.Sprintf("s%03d-%08d-", seed%1000, (start+runs.Add(1))%1e8)
}

// stepsOf are the steps of a seed.
func stepsOf(area string, seed uint64, n int) []step {
	mix := uint64(0)
	for _, c := range area {
		mix = mix*31 + uint64(c)
	}
	r := rand.New(rand.NewPCG(seed, mix))
	steps := make([]step, n)
	for i := range steps {
		steps[i].seed = r.Uint64()
	}
	return steps
}

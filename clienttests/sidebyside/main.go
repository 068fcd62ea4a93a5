package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"sync"
	"time"
)

func main() {
	if err := run(os.Args[1:], os.Stdout); err != nil {
		if !errors.Is(err, flag.ErrHelp) {
			fmt.Fprintln(os.Stderr, "sidebyside:", err)
		}
		os.Exit(1)
	}
}

type options struct {
	kafka, ours string
	areas       []*area
	seed        uint64
	n, steps    int
	limit       time.Duration
	verbose     bool
}

func parse(args []string) (o options, err error) {
	fs := flag.NewFlagSet("sidebyside", flag.ContinueOnError)
	fs.StringVar(&o.kafka, "kafka", "", "host:port of an Apache Kafka 4.3.1")
	fs.StringVar(&o.ours, "ours", "", "host:port of a broker to compare with it (default: a fakekafka of this checkout)")
	names := fs.String("areas", "", "comma-separated; default: all of "+strings.Join(areaNames(), ", "))
	fs.Uint64Var(&o.seed, "seed", 1, "of the first sequence; the next have the numbers after it")
	fs.IntVar(&o.n, "n", 0, "sequences of each area (default: no bound but -for)")
	fs.IntVar(&o.steps, "steps", 30, "requests of a sequence")
	fs.DurationVar(&o.limit, "for", time.Minute, "when to stop, if -n didn't before")
	fs.BoolVar(&o.verbose, "v", false, "print every request and Kafka's answer")
	if err := fs.Parse(args); err != nil {
		return o, err
	}
	if o.kafka == "" {
		return o, errors.New("-kafka is missing: apache-kafka/start.sh starts one")
	}
	for _, a := range areas {
		if *names == "" || slices.Contains(strings.Split(*names, ","), a.name) {
			o.areas = append(o.areas, a)
		}
	}
	if len(o.areas) == 0 {
		return o, fmt.Errorf("no area is called %q; there are %s", *names, strings.Join(areaNames(), ", "))
	}
	return o, nil
}

func areaNames() (names []string) {
	for _, a := range areas {
		names = append(names, a.name)
	}
	return names
}

func run(args []string, out io.Writer) error {
	o, err := parse(args)
	if err != nil {
		return err
	}
	if o.ours == "" {
		k, err := startOurs()
		if err != nil {
			return err
		}
		defer k.Close()
		o.ours = k.Bootstrap()
	}
	served, err := servedBy(o.kafka)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), o.limit)
	defer cancel()
	report := &report{out: out, requests: map[string]int{}, known: map[string]int{}, found: map[string]int{}}
	var all sync.WaitGroup
	errs := make([]error, len(o.areas))
	for i, a := range o.areas { // the areas side by side: most of the time is a wait
		all.Go(func() { errs[i] = o.runArea(ctx, a, served, report) })
	}
	all.Wait()
	report.print(o.areas)
	if err := errors.Join(errs...); err != nil {
		return err
	}
	if len(report.found) > 0 {
		return errors.New("there are differences")
	}
	return nil
}

// runArea runs sequence after sequence. After a difference it goes on with the next one; one found before is only counted.
func (o *options) runArea(ctx context.Context, a *area, served versions, to *report) error {
	for i := 0; (o.n == 0 || i < o.n) && ctx.Err() == nil; i++ {
		seed := o.seed + uint64(i)
		steps := stepsOf(a.name, seed, o.steps)
		once := func(steps []step) (*difference, error) { return o.runOnce(a, served, seed, steps, to) }
		d, err := once(steps)
		if err != nil {
			return fmt.Errorf("%s, seed %d: %w", a.name, seed, err)
		}
		if d == nil {
			continue
		}
		if to.seen(d.key()) {
			continue
		}
		var last *difference
		fails := func(steps []step) bool {
			again, err := once(steps)
			if err != nil || again == nil || again.key() != d.key() {
				return false
			}
			last = again
			return true
		}
		steps = steps[:d.step+1]
		again := true
		for range 3 { // ids, and with them the order in a hash table, are drawn anew each time
			again = again && fails(steps)
		}
		if !again {
			to.unsteady(a, seed, d)
			continue
		}
		steps = shrink(steps, 60, fails)
		var story []string
		o.trace(a, served, seed, steps, to, &story)
		to.difference(a, seed, last, story)
	}
	return nil
}

var nonce = struct {
	sync.Mutex
	n int64
}{n: time.Now().UnixMilli() % 1e8}

// newPrefix makes names that no sequence had before.
func newPrefix(seed uint64) string {
	nonce.Lock()
	defer nonce.Unlock()
	nonce.n++
	return fmt.Sprintf("s%d-%d-", seed%1000, nonce.n)
}

func (o *options) runOnce(a *area, served versions, seed uint64, steps []step, to *report) (*difference, error) {
	var trace func(string)
	if o.verbose {
		trace = func(line string) { to.line(a.name + " " + line) }
	}
	return o.runTraced(a, served, seed, steps, to, trace)
}

func (o *options) trace(a *area, served versions, seed uint64, steps []step, to *report, story *[]string) {
	_, _ = o.runTraced(a, served, seed, steps, to, func(line string) { *story = append(*story, line) })
}

func (o *options) runTraced(a *area, served versions, seed uint64, steps []step, to *report, trace func(string)) (*difference, error) {
	prefix := newPrefix(seed)
	kafka, err := newSide(o.kafka, prefix)
	if err != nil {
		return nil, err
	}
	defer kafka.close()
	ours, err := newSide(o.ours, prefix)
	if err != nil {
		return nil, err
	}
	defer ours.close()
	s := &session{area: a, served: served, kafka: kafka, ours: ours, trace: trace, known: map[string]int{}}
	d, err := s.run(steps)
	s.cleanUp()
	to.count(a, s)
	return d, err
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

package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
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
	minSession  int32 // that Kafka lets a classic member have, in milliseconds
}

func parse(args []string) (o options, err error) {
	fs := flag.NewFlagSet("sidebyside", flag.ContinueOnError)
	fs.StringVar(&o.kafka, "kafka", "", "host:port of an Apache Kafka 4.3.1")
	fs.StringVar(&o.ours, "ours", "", "host:port of a broker to compare with it (default: a fakekafka of this checkout)")
	names := fs.String("areas", "", "comma-separated; default: all of "+strings.Join(areaNames(), ", "))
	fs.Uint64Var(&o.seed, "seed", 1, "of the first sequence; the next have the numbers after it")
	fs.IntVar(&o.n, "n", 0, "sequences of each area (default: as many as -for has time for)")
	fs.IntVar(&o.steps, "steps", 30, "requests of a sequence")
	fs.DurationVar(&o.limit, "for", 0, "when to stop, if -n didn't before (default: a minute without -n, never with it)")
	fs.BoolVar(&o.verbose, "v", false, "print every request and Kafka's answer")
	if err := fs.Parse(args); err != nil {
		return o, err
	}
	if o.limit == 0 && o.n == 0 {
		o.limit = time.Minute
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
	times, err := settingsOf(o.kafka)
	if err != nil {
		return err
	}
	if min, err := strconv.Atoi(times["group.min.session.timeout.ms"]); err == nil {
		o.minSession = int32(min)
	}
	o.areas = slices.DeleteFunc(o.areas, func(a *area) bool {
		for name, most := range a.needs {
			if has, err := strconv.Atoi(times[name]); err == nil && has > most {
				fmt.Fprintf(out, "%s is left out: it needs a Kafka that was started with %s=%d\n", a.name, name, most)
				return true
			}
		}
		return false
	})
	if o.ours == "" {
		k, err := startOurs(times)
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
	ctx := context.Background()
	if o.limit > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, o.limit)
		defer cancel()
	}
	report := &report{out: out, requests: map[string]int{}, known: map[string]int{}, found: map[string]int{}}
	var all sync.WaitGroup
	errs := make([]error, len(o.areas))
	for i, a := range o.areas { // the areas side by side: most of the time is a wait
		all.Go(func() { errs[i] = (&runner{&o, a, served, report}).run(ctx) })
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

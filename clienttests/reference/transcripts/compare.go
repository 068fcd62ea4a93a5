package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"sort"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// errDiff marks a difference from the golden answer (and not a failure to run the step).
type errDiff struct{ error }

// check holds what became of a request to what the step wants of it: the connection closed, the time that the answer took, the answer itself.
func (r *runner) check(s *Step, resp kmsg.Response, took time.Duration, err error) error {
	if s.Closed {
		if err == errClosed {
			return nil
		}
		if err == nil {
			return errDiff{fmt.Errorf("expected the connection to be closed, got %s", short(toJSON(reflect.ValueOf(resp))))}
		}
	}
	if err != nil {
		if err == errClosed {
			return errDiff{err}
		}
		return err
	}
	if len(s.ElapsedMs) == 2 {
		if ms := int(took.Milliseconds()); ms < s.ElapsedMs[0] || ms > s.ElapsedMs[1] {
			return errDiff{fmt.Errorf("answered after %d ms, want %d to %d", ms, s.ElapsedMs[0], s.ElapsedMs[1])}
		}
	}
	return r.compare(s, toJSON(reflect.ValueOf(resp)))
}

// compare holds an answer to the one recorded; while recording it is written into the step, with placeholders for what differs from run to run.
func (r *runner) compare(s *Step, got any) error {
	if s.OnlyMine {
		r.keepMine(got)
	}
	r.log("    got %s", short(got))
	r.lastGot = got
	if r.record {
		paths := make([]string, 0, len(s.Bind))
		for p := range s.Bind {
			paths = append(paths, p)
		}
		sort.Strings(paths)
		for _, p := range paths {
			v, err := at(got, p, nil)
			if err != nil {
				return err
			}
			if err := r.env.bind(s.Bind[p], scalarText(v)); err != nil {
				return err
			}
		}
		gen := r.env.generalise(got)
		for _, p := range paths {
			var name any = s.Bind[p]
			if _, err := at(gen, p, &name); err != nil {
				return err
			}
		}
		for _, p := range s.Any {
			var star any = "$any"
			if _, err := at(gen, p, &star); err != nil {
				return err
			}
		}
		if r.sc.LooseMessages {
			looseMessages(gen)
			r.env.producerIDs(gen)
		}
		var b bytes.Buffer
		enc := json.NewEncoder(&b)
		enc.SetEscapeHTML(false)
		if err := enc.Encode(gen); err != nil {
			return err
		}
		s.Expect = bytes.TrimSpace(b.Bytes())
		return nil
	}
	if len(s.Expect) == 0 {
		return nil
	}
	want, err := parseJSON(s.Expect)
	if err != nil {
		return err
	}
	n, err := match(want, got, r.env, false, s.Ordered, "response")
	if err != nil {
		return errDiff{fmt.Errorf("%w\n      whole answer: %s", err, short(got))}
	}
	r.env = n
	return nil
}

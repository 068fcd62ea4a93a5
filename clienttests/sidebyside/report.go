package main

import (
	"encoding/hex"
	"fmt"
	"io"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// difference is where the brokers part.
type difference struct {
	step             int // the last one sent; -1 in the preparation
	request          kmsg.Request
	frame            []byte
	damage           []mutation
	late             bool // the answer to an earlier request, that waited
	prefix           string
	kafka, ours      answer
	where, want, got string
}

// key says what kind of difference it is: the same one comes again under the same key.
func (d *difference) key() string {
	return fmt.Sprintf("%s %s", kmsg.NameForKey(d.request.Key()), regexp.MustCompile(`\[\d+\]`).ReplaceAllString(d.where, "[]"))
}

func (d *difference) print() string {
	var b strings.Builder
	what := ""
	for _, m := range d.damage {
		what += "; " + m.text
	}
	if d.late {
		what += "; the answer to an earlier request"
	}
	fmt.Fprintf(&b, "%s v%d%s\n  request %s\n  frame   %s\n  differs at %s: Kafka %.300s, fakekafka %.300s\n", kmsg.NameForKey(d.request.Key()), d.request.GetVersion(), what,
		short(treeOf(d.request).String()), hex.EncodeToString(d.frame[:min(len(d.frame), 1000)]), d.where, short(d.want), short(d.got))
	for _, a := range []struct {
		name string
		answer
	}{{"Kafka", d.kafka}, {"fakekafka", d.ours}} {
		text := a.what
		if a.tree != nil {
			text = a.tree.String()
		}
		fmt.Fprintf(&b, "  %-9s %s\n", a.name, short(text))
	}
	return strings.ReplaceAll(b.String(), d.prefix, "~")
}

// repeats is a text that repeats one letter, or a zero byte, very often.
var repeats = regexp.MustCompile(`n{100,}|m{100,}|(00){40,}`)

// short prints a long text so that a reader sees what it is.
func short(s string) string {
	s = repeats.ReplaceAllStringFunc(s, func(r string) string { return fmt.Sprintf("%s...(%d)", r[:2], len(r)) })
	if len(s) > 1500 {
		s = s[:1500] + "..."
	}
	return s
}

// report is what the areas have to say.
type report struct {
	mu       sync.Mutex
	out      io.Writer
	requests map[string]int // compared, by area
	known    map[string]int // differences on purpose
	found    map[string]int // differences
	strays   int            // differences that didn't come again
}

func (r *report) line(s string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	fmt.Fprintln(r.out, s)
}

func (r *report) count(a *area, s *session) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.requests[a.name] += s.requests
	for row, n := range s.known {
		r.known[row] += n
	}
}

// seen tells whether such a difference was reported, and counts it then.
func (r *report) seen(key string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.found[key] == 0 {
		return false
	}
	r.found[key]++
	return true
}

func (r *report) difference(a *area, seed uint64, d *difference, story []string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.found[d.key()]++
	fmt.Fprintf(r.out, "\nDIFFERENCE: area %s, seed %d, at %s\n", a.name, seed, d.key())
	for _, line := range story {
		fmt.Fprintln(r.out, "  |", line)
	}
	fmt.Fprint(r.out, d.print())
}

func (r *report) unsteady(a *area, seed uint64, d *difference) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.strays++
	fmt.Fprintf(r.out, "\nonce only: area %s, seed %d, %s at %s: Kafka %.100s, fakekafka %.100s\n", a.name, seed, d.key(), d.where, d.want, d.got)
}

func (r *report) print(areas []*area) {
	fmt.Fprintln(r.out)
	total := 0
	for _, a := range areas {
		fmt.Fprintf(r.out, "%-14s %6d requests compared\n", a.name, r.requests[a.name])
		total += r.requests[a.name]
	}
	for _, row := range slices.Sorted(maps.Keys(r.known)) {
		fmt.Fprintf(r.out, "on purpose: %s (%d)\n", row, r.known[row])
	}
	for _, key := range slices.Sorted(maps.Keys(r.found)) {
		fmt.Fprintf(r.out, "differs: %s (%d)\n", key, r.found[key])
	}
	fmt.Fprintf(r.out, "%d requests, %d differences, %d that didn't come again\n", total, len(r.found), r.strays)
}

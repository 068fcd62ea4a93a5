package main

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
)

var (
	// idAtEnd is a member id that a broker made: the client's or instance's name, and a uuid.
	idAtEnd = regexp.MustCompile(`[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$`)
	// idAlone is one that a broker made for a consumer group's member.
	idAlone = regexp.MustCompile(`^[A-Za-z0-9_-]{22}$`)
)

// idOfText tells what kind of id a string is, "" for one that isn't.
func idOfText(field, s string) string {
	if idAtEnd.MatchString(s) || (field == "MemberID" || field == "LeaderID") && idAlone.MatchString(s) {
		return "member"
	}
	return ""
}

// names replaces the ids that a broker chose with names in the order in which they appear. Two brokers that answer alike give the same
// names, and an id that turns up at the wrong place is seen.
type names struct {
	of    map[string]string // by kind and id
	count map[string]int    // by kind
}

func newNames() *names { return &names{map[string]string{}, map[string]int{}} }

// clone is for answers that may not be the last.
func (s *names) clone() *names { return &names{maps.Clone(s.of), maps.Clone(s.count)} }

// settle names the ids in the tree. Lists that have no order of their own are brought into one first, since names are given by order.
func (s *names) settle(n *node, ordered func(path string) bool) {
	s.order(n, ordered)
	s.name(n)
}

func (s *names) order(n *node, ordered func(path string) bool) {
	for _, k := range n.kids() {
		s.order(k.value, ordered)
	}
	if n.isList && !ordered(n.path) {
		key := map[*node]string{}
		for _, k := range n.list {
			key[k] = s.peek(k)
		}
		slices.SortStableFunc(n.list, func(a, b *node) int { return strings.Compare(key[a], key[b]) })
	}
}

// peek prints a tree with the names known so far; other ids look alike.
func (s *names) peek(n *node) string {
	if n.scalar() {
		if n.id == "" {
			return n.text
		}
		if name := s.of[n.id+n.text]; name != "" {
			return name
		}
		if at := idAtEnd.FindStringIndex(strings.Trim(n.text, `"`)); at != nil {
			return n.text[:at[0]+1] // whose it is
		}
		return ""
	}
	var b strings.Builder
	for _, k := range n.kids() {
		b.WriteString(" " + s.peek(k.value))
	}
	return b.String()
}

func (s *names) name(n *node) {
	if n.id != "" {
		key := n.id + n.text
		if s.of[key] == "" {
			s.count[n.id]++
			name := fmt.Sprintf("<%s %d>", n.id, s.count[n.id])
			if at := idAtEnd.FindStringIndex(strings.Trim(n.text, `"`)); n.id == "member" && at != nil {
				name = n.text[:at[0]+1] + name + `"` // who it is stays visible
			}
			s.of[key] = name
		}
		n.text = s.of[key]
	}
	for _, k := range n.kids() {
		s.name(k.value)
	}
}

package fakekafka

import (
	"fmt"
	"slices"
	"strings"
)

// Expectation is a list of wanted records and how their order counts: see [InOrder], [PerKey] and [AnyOrder].
type Expectation struct {
	order string
	want  []Record
}

const inOrder = "in order"

// InOrder wants just these records next, in this order: of a topic with several partitions, partition by partition.
func InOrder(records ...Record) Expectation { return Expectation{inOrder, records} }

// PerKey wants these records in this order for each key; records of different keys may come in any order.
func PerKey(records ...Record) Expectation { return Expectation{"in order for each key", records} }

// AnyOrder wants these records, in any order.
func AnyOrder(records ...Record) Expectation { return Expectation{"in any order", records} }

// match looks for the wanted records among those not seen yet. What is wrong, diff says when it is asked: a wait looks often. never is true where more records can't help.
func (e Expectation) match(unseen []Record) (matched []Record, diff func() string, never bool) {
	switch e.order {
	case inOrder:
		return e.matchInOrder(unseen)
	case "in any order":
		byContent := map[content][]Record{}
		for _, r := range unseen {
			byContent[contentOf(r)] = append(byContent[contentOf(r)], r)
		}
		return e.matchEach(unseen, func(i int) []Record { return byContent[contentOf(e.want[i])] })
	default:
		return e.matchPerKey(unseen)
	}
}

// content is key and value of a record; null is not empty.
type content struct {
	key, value       string
	hasKey, hasValue bool
}

func contentOf(r Record) content {
	return content{string(r.Key), string(r.Value), r.Key != nil, r.Value != nil}
}

// place is where a record is: no other of its topic is there.
type place struct {
	partition int32
	offset    int64
}

func placeOf(r Record) place { return place{r.Partition, r.Offset} }

func (e Expectation) matchInOrder(unseen []Record) (matched []Record, diff func() string, never bool) {
	for i, want := range e.want {
		switch {
		case i >= len(unseen):
			return nil, func() string { return e.diffInOrder(unseen, i) }, false
		case !want.is(unseen[i]):
			return nil, func() string { return e.diffInOrder(unseen, i) }, unseen[i].Partition == 0 // before records of later partitions others may still come
		}
	}
	return unseen[:len(e.want)], nil, false
}

// How much of a difference a message shows.
const (
	diffBefore = 3   // records that are as wanted, before the first that is not
	diffDepth  = 500 // records that are compared behind that
	diffLines  = 60
	diffRest   = 20 // records that were not compared, or are missing, or too many
)

// diffInOrder shows what is not as wanted, from record from on; one that is missing or too many doesn't shift all behind it.
func (e Expectation) diffInOrder(unseen []Record, from int) string {
	var lines []string
	if before := from - diffBefore; before > 0 {
		lines = append(lines, fmt.Sprintf("    … %d before, as wanted", before))
	}
	for i := max(0, from-diffBefore); i < from; i++ {
		lines = append(lines, fmt.Sprintf("    %s   (%s)", e.want[i].wanted(), where(unseen[i])))
	}
	want, got := e.want[from:min(len(e.want), from+diffDepth)], unseen[from:min(len(unseen), from+diffDepth)]
	alike := alignment(want, got)
	i, j := 0, 0
	hunk := func(toWant, toGot int) { // a record that is wanted beside the one that stands there instead
		for i < toWant || j < toGot {
			if i < toWant {
				missing := ""
				if j >= len(got) {
					missing = "   (missing)"
				}
				lines = append(lines, fmt.Sprintf("  - %s%s", want[i].wanted(), missing))
				i++
			}
			if j < toGot {
				lines = append(lines, fmt.Sprintf("  + %s   (%s)", got[j].beside(e.want), where(got[j])))
				j++
			}
		}
	}
	for n, pair := range alike {
		hunk(pair[0], pair[1])
		if r := runAround(alike, n); r.behind >= diffBefore && r.ahead >= diffBefore { // inside a long one, of which the ends are enough
			if r.behind == diffBefore {
				lines = append(lines, fmt.Sprintf("    … %d as wanted", r.ahead-diffBefore+1))
			}
			i, j = i+1, j+1
			continue
		}
		lines = append(lines, fmt.Sprintf("    %s   (%s)", want[i].wanted(), where(got[j])))
		i, j = i+1, j+1
	}
	hunk(len(want), max(j, min(len(want), len(got))))
	if more := len(lines) - diffLines; more > 0 {
		return strings.Join(lines[:diffLines], "\n") + fmt.Sprintf("\n    … %d more lines, of %s wanted and %d there", more, count(len(e.want), "record"), len(unseen)) + across(unseen)
	}
	return strings.Join(lines, "\n") + rest(unseen, from+j) + across(unseen)
}

// across says of records in several partitions how InOrder takes them; "" where they are in one.
func across(unseen []Record) string {
	if len(unseen) == 0 || unseen[0].Partition == unseen[len(unseen)-1].Partition {
		return ""
	}
	return "\n    (they are in several partitions, which InOrder takes one after the other; between partitions there is no order: PerKey and AnyOrder need none)"
}

// run is how many pairs stand right before and right behind one, with nothing between them.
type run struct{ behind, ahead int }

func runAround(alike [][2]int, n int) (r run) {
	together := func(k int) bool { return alike[k][0]-alike[k-1][0] == 1 && alike[k][1]-alike[k-1][1] == 1 }
	for k := n; k > 0 && together(k); k-- {
		r.behind++
	}
	for k := n + 1; k < len(alike) && together(k); k++ {
		r.ahead++
	}
	return r
}

// alignment pairs wanted records with records that are there, in the order of both: as many as can be.
func alignment(want, got []Record) (pairs [][2]int) {
	longest := make([][]int, len(want)+1) // common subsequence of want[i:] and got[j:]
	for i := range longest {
		longest[i] = make([]int, len(got)+1)
	}
	for i := len(want) - 1; i >= 0; i-- {
		for j := len(got) - 1; j >= 0; j-- {
			if want[i].is(got[j]) {
				longest[i][j] = longest[i+1][j+1] + 1
			} else {
				longest[i][j] = max(longest[i+1][j], longest[i][j+1])
			}
		}
	}
	for i, j := 0, 0; i < len(want) && j < len(got); {
		switch {
		case want[i].is(got[j]):
			pairs = append(pairs, [2]int{i, j})
			i, j = i+1, j+1
		case longest[i+1][j] >= longest[i][j+1]:
			i++
		default:
			j++
		}
	}
	return pairs
}

// rest lists records behind the ones that were compared.
func rest(unseen []Record, from int) string {
	var b strings.Builder
	for i := from; i < len(unseen); i++ {
		if i == from+diffRest {
			fmt.Fprintf(&b, "\n    … and %d more", len(unseen)-i)
			break
		}
		fmt.Fprintf(&b, "\n    %s   (%s, not compared)", unseen[i], where(unseen[i]))
	}
	return b.String()
}

// where says where a record is, and what keeps it from consumers that read what is committed.
func where(r Record) string {
	text := fmt.Sprintf("partition %d offset %d", r.Partition, r.Offset)
	if r.hidden != "" {
		text += ", " + r.hidden
	}
	return text
}

// matchEach finds a record for each wanted one.
func (e Expectation) matchEach(unseen []Record, candidates func(i int) []Record) (matched []Record, diff func() string, never bool) {
	taken := map[place]bool{}
	var missing []Record
	for i, want := range e.want {
		found := false
		for _, r := range candidates(i) {
			if !taken[placeOf(r)] && want.is(r) {
				taken[placeOf(r)], found = true, true
				matched = append(matched, r)
				break
			}
		}
		if !found {
			missing = append(missing, want)
		}
	}
	if len(missing) == 0 {
		return matched, nil, false
	}
	return nil, func() string {
		others := slices.DeleteFunc(slices.Clone(unseen), func(r Record) bool { return taken[placeOf(r)] })
		lines := first(missing, "  - ", func(r Record) string {
			why := "missing"
			if slices.ContainsFunc(others, r.is) {
				why = "there, but not in this order"
			}
			return fmt.Sprintf("%s   (%s)", r.wanted(), why)
		})
		lines = append(lines, first(others, "  + ", func(r Record) string { return fmt.Sprintf("%s   (%s)", r.beside(e.want), where(r)) })...)
		return fmt.Sprintf("    %d of %d, without\n%s", len(e.want)-len(missing), len(e.want), strings.Join(lines, "\n"))
	}, false
}

// first are lines about the first of many records, and how many more there are.
func first(records []Record, before string, line func(Record) string) (lines []string) {
	for i, r := range records {
		if i == diffRest {
			return append(lines, fmt.Sprintf("%s… and %d more", before, len(records)-i))
		}
		lines = append(lines, before+line(r))
	}
	return lines
}

// matchPerKey wants the next records of each key to be the wanted ones of that key, in order.
func (e Expectation) matchPerKey(unseen []Record) (matched []Record, diff func() string, never bool) {
	key := func(r Record) content { return content{key: string(r.Key), hasKey: r.Key != nil} }
	byKey := map[content][]Record{}
	for _, r := range unseen {
		byKey[key(r)] = append(byKey[key(r)], r)
	}
	nth := map[content]int{}
	matched, diff, _ = e.matchEach(unseen, func(i int) []Record {
		k := key(e.want[i])
		n := nth[k]
		nth[k]++
		if n >= len(byKey[k]) {
			return nil
		}
		next := byKey[k][n]
		never = never || next.Partition == 0 && !e.want[i].is(next) // before records of later partitions others may still come
		return byKey[k][n : n+1]
	})
	return matched, diff, never
}

package main

import (
	"encoding/json"
	"strings"
	"testing"
)

// Entries that are alike are interchangeable: a set that lacks one of them is told apart at once, however many there are.
func TestSetsOfEqualEntriesAreCompared(t *testing.T) {
	t.Parallel()
	const n = 40
	var want, got []any
	for i := range n {
		o := newObj()
		o.set("ErrorCode", json.Number("0"))
		want = append(want, o)
		if i < n-1 {
			got = append(got, o)
		}
	}
	other := newObj()
	other.set("ErrorCode", json.Number("3"))
	got = append(got, other)

	_, err := match(want, got, &env{vals: map[string]string{}}, false, false, "Partitions")
	if err == nil || !strings.Contains(err.Error(), "want 0, got 3") {
		t.Fatalf("got %v", err)
	}
	want[n/2] = other
	if _, err := match(want, got, &env{vals: map[string]string{}}, false, false, "Partitions"); err != nil {
		t.Fatal(err)
	}
}

// A placeholder takes the entry with which the rest matches, wherever it stands.
func TestPlaceholdersInSetsAreTriedInTurn(t *testing.T) {
	t.Parallel()
	got := []any{"a", "b", "c"}
	e, err := match([]any{"$x", "a", "$y"}, got, &env{vals: map[string]string{"$y": "b"}}, false, false, "Members")
	if err != nil || e.vals["$x"] != "c" {
		t.Fatalf("got %v, %v", e, err)
	}
}

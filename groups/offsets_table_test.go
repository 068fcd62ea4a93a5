package groups

import (
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// The orders in which a broker wrote the tombstones of a group's only topic.
func TestOrderOfStoredPartitions(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		n               int32
		rising, falling []int32 // when committed so
	}{
		{2, []int32{0, 1}, []int32{0, 1}},
		{3, []int32{2, 0, 1}, []int32{0, 2, 1}},
		{4, []int32{2, 0, 1, 3}, []int32{0, 2, 1, 3}},
		{5, []int32{2, 0, 4, 1, 3}, []int32{0, 2, 4, 1, 3}},
		{6, []int32{5, 0, 2, 4, 1, 3}, []int32{0, 5, 2, 4, 1, 3}},
		{10, []int32{5, 0, 2, 7, 4, 9, 1, 6, 3, 8}, []int32{0, 5, 2, 7, 4, 1, 9, 6, 3, 8}},
		{12, []int32{0, 5, 10, 2, 7, 4, 9, 1, 6, 11, 3, 8}, []int32{0, 5, 10, 2, 7, 4, 9, 1, 6, 11, 3, 8}},
		{16, []int32{13, 0, 5, 10, 2, 15, 7, 12, 4, 9, 1, 14, 6, 11, 3, 8}, []int32{0, 13, 5, 10, 2, 15, 7, 12, 4, 9, 1, 14, 6, 11, 3, 8}},
		{
			24,
			[]int32{0, 13, 5, 18, 10, 23, 2, 15, 7, 20, 12, 4, 17, 9, 22, 1, 14, 6, 19, 11, 3, 16, 8, 21},
			[]int32{0, 13, 5, 18, 10, 23, 2, 15, 7, 20, 12, 4, 17, 9, 1, 22, 14, 6, 19, 11, 3, 16, 8, 21},
		},
	} {
		var rising, falling storedTable[int32, bool]
		for p := range c.n {
			rising.set(p, true)
			falling.set(c.n-1-p, true)
		}
		require.Equal(t, c.rising, walked(&rising))
		require.Equal(t, c.falling, walked(&falling))
	}

	var table storedTable[int32, bool]
	for p := range int32(16) {
		table.set(p, true)
	}
	table.set(0, false)
	require.Equal(t, []int32{13, 0}, walked(&table)[:2], "what is there already keeps its place")
	table.remove(0)
	table.set(0, true)
	require.Equal(t, []int32{0, 13}, walked(&table)[:2], "what comes anew is the first of its slot")
	for p := range int32(15) {
		table.remove(p + 1)
	}
	table.set(2, true)
	table.set(1, true)
	require.Equal(t, []int32{0, 2, 1}, walked(&table), "it does not shrink")

	var full storedTable[int32, bool]
	for _, p := range []int32{10, 8, 17, 3, 14} {
		full.set(p, true)
	}
	require.Equal(t, []int32{10, 14, 17, 3, 8}, walked(&full))
	full.set(10, false)
	require.Equal(t, []int32{10, 17, 14, 3, 8}, walked(&full), "a full one grows by what is there already, too")
}

// A group that lost all its offsets begins with a small table: recorded from a broker, where a larger one would have them the other way round.
func TestOrderOfTopicsCommittedAnew(t *testing.T) {
	t.Parallel()
	of := func(letter string) topicPartition { return topicPartition{"offsets-of-" + letter, 0} }
	var table offsetTable[bool]
	all := strings.Split("jgbldia", "")
	for _, letter := range all {
		table.set(of(letter), true)
	}
	for _, letter := range all {
		table.remove(of(letter))
	}
	table.set(of("j"), true)
	table.set(of("g"), true)
	var got []topicPartition
	for tp := range table.all() {
		got = append(got, tp)
	}
	require.Equal(t, []topicPartition{of("g"), of("j")}, got)
}

func walked(t *storedTable[int32, bool]) (keys []int32) {
	for k := range t.all() {
		keys = append(keys, k)
	}
	return keys
}

// A table holds what a map holds.
func TestOffsetTable(t *testing.T) {
	t.Parallel()
	for seed := range uint64(20) {
		r := rand.New(rand.NewPCG(seed, 0))
		var table offsetTable[int]
		want := make(map[topicPartition]int)
		for i := range 400 {
			tp := topicPartition{"t" + strconv.Itoa(r.IntN(6)), r.Int32N(9) - 1}
			if r.IntN(2) == 0 {
				table.set(tp, i)
				want[tp] = i
			} else {
				table.remove(tp)
				delete(want, tp)
			}
			require.Equal(t, len(want) == 0, table.empty())
			v, ok := table.get(tp)
			require.Equal(t, want[tp], v)
			_, is := want[tp]
			require.Equal(t, is, ok)
			got := make(map[topicPartition]int)
			for tp, v := range table.all() {
				require.NotContains(t, got, tp)
				got[tp] = v
			}
			require.Equal(t, want, got)
		}
	}
}

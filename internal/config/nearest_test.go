package config

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestDistance against the whole table of Levenshtein.
func TestDistance(t *testing.T) {
	t.Parallel()
	whole := func(a, b string) int {
		row := make([]int, len(b)+1)
		for j := range row {
			row[j] = j
		}
		for i := range len(a) {
			diagonal := row[0]
			row[0] = i + 1
			for j := range len(b) {
				same := diagonal
				if a[i] != b[j] {
					same++
				}
				diagonal, row[j+1] = row[j+1], min(row[j+1]+1, row[j]+1, same)
			}
		}
		return row[len(b)]
	}
	rng := rand.New(rand.NewPCG(1, 2))
	for range 20_000 {
		a := make([]byte, rng.IntN(12))
		for i := range a {
			a[i] = "ab"[rng.IntN(2)]
		}
		b := slices.Clone(a)
		for range rng.IntN(6) {
			switch at := rng.IntN(len(b) + 1); {
			case rng.IntN(2) == 0:
				b = slices.Insert(b, at, 'c')
			case at < len(b):
				b = slices.Delete(b, at, at+1)
			}
		}
		limit := 1 + rng.IntN(5)
		require.Equal(t, min(limit, whole(string(a), string(b))), distance(string(a), string(b), limit), "%s %s below %d", a, b, limit)
	}
}

// BenchmarkNearest looks for a name among 10,000 that are like it but for their ends.
func BenchmarkNearest(b *testing.B) {
	for _, size := range []int{20, 200} {
		b.Run(fmt.Sprint("bytes=", size), func(b *testing.B) {
			names := make([]string, 10_000)
			for i := range names {
				names[i] = fmt.Sprintf("%s%05d", strings.Repeat("o", size-5), i)
			}
			name := strings.Repeat("o", size-5) + "abcde"
			for b.Loop() {
				if near := Nearest(name, slices.Values(names)); near != "" {
					b.Fatal(near)
				}
			}
		})
	}
}

package broker

import (
	"bytes"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// However an answer is cut into writes, its bytes are those of its parts.
func TestLargeAnswersAreWhole(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(1, 2))
	for _, total := range []int{0, 1, firstWrite - 1, firstWrite, firstWrite + 1, 1 << 20, longestSplit, longestSplit + 1} {
		for range 20 {
			whole := make([]byte, total)
			for i := range whole {
				whole[i] = byte(random.Uint32())
			}
			var parts [][]byte
			for left := whole; ; {
				n := min(len(left), []int{0, 75, firstWrite, 1 + random.IntN(total+1)}[random.IntN(4)])
				parts = append(parts, left[:n])
				if left = left[n:]; len(left) == 0 {
					break
				}
			}
			if random.IntN(2) == 0 {
				parts = append(parts, nil)
			}
			var out bytes.Buffer
			require.NoError(t, writeLarge(&out, slices.Clone(parts)))
			require.True(t, bytes.Equal(whole, out.Bytes()), "%d bytes in %d parts", total, len(parts))
		}
	}
}

package assignors

import (
	"encoding/hex"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Recorded from a live Kafka: what of a malformed subscription its coordinator takes for malformed, and at what it fails.
func TestErrSchema(t *testing.T) {
	t.Parallel()
	for in, schema := range map[string]bool{
		"ffff 00000000 ffffffff":                                    true,
		"0001 00000000 ffffffff":                                    true,
		"0001 00000000 ffffffff 00000001":                           false,
		"0001 00000000 ffffffff 00000001 0003 61":                   false,
		"0001 00000000 ffffffff 00000001 0001 61 0000":              true,
		"0001 00000000 ffffffff 00000001 0001 61 00000002 00000000": true,
		"0001 00000000 ffffffff 00000001 0001 61 00000009 00000000": false,
		"0001 00000000 ffffffff ffffffff":                           false,
		"0001 00000000 ffffffff 00000004 00000000":                  true,
		"0001 00000000 ffffffff 00000005 00000000":                  false,
		"0002 00000000 ffffffff 00000000 0000":                      true,
		"0003 00000000 ffffffff 00000000 00000001 0005 61":          false,
	} {
		b, err := hex.DecodeString(strings.ReplaceAll(in, " ", ""))
		require.NoError(t, err)
		_, err = DecodeSubscription(b)
		require.Error(t, err, in)
		if schema {
			require.ErrorIs(t, err, ErrSchema, in)
		} else {
			require.NotErrorIs(t, err, ErrSchema, in)
		}
	}
}

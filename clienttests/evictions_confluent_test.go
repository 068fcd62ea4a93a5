//go:build cgo

package clienttests

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// librdkafka asks for no session, so there is none to lose; its fetches are all full.
func TestEvictionsConfluent(t *testing.T) {
	t.Parallel()
	stats := evictions(t, confluent{}, "rdkafka")
	require.Positive(t, stats.Full)
}

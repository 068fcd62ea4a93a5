package broker

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// What travels on a connection is bounded, but one answer alone always has room.
func TestUnderwayIsBounded(t *testing.T) {
	t.Parallel()
	u := &underway{wake: make(chan struct{}, 1), room: make(chan struct{}, 1)}
	large := delayed{b: make([]byte, mostUnderway+1)}
	require.True(t, u.put(large), "alone")
	require.False(t, u.put(delayed{b: []byte{1}}))
	u.written(large)
	<-u.room
	require.True(t, u.put(delayed{b: []byte{1}}))
	require.False(t, u.put(large))
}

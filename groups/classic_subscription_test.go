package groups

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// The names in a subscription are read as the names of requests are, so that they are the same topics.
func TestSubscribedNamesThatAreNotUTF8(t *testing.T) {
	t.Parallel()
	b := subscriptionBytes([]string{"a\xed\xa0z", "é"}, []string{"b\xff-1"})
	sub, err := readSubscription(b)
	require.NoError(t, err)
	require.Equal(t, []string{"a\ufffdz", "é"}, sub.Topics)
	require.Equal(t, "b\ufffd", sub.Owned[0].Topic)
	names, err := subscribedTopics(b)
	require.NoError(t, err)
	require.Equal(t, sub.Topics, names)
}

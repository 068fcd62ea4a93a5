package broker

import (
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/fakekafka/fakekafka/internal/wire"
)

// A client that calls itself otherwise with each request costs no memory without end; every request is counted all the same, over its connections, too.
func TestRequestsOfVeryManyNames(t *testing.T) {
	t.Parallel()
	var all requestLog
	const requests, conns = 20_000, 3
	for range conns {
		var l requestLog
		for i := range requests {
			l.put(logged{at: int64(i), who: &requester{client: strconv.Itoa(i), broker: 1}, key: wire.Fetch})
		}
		all.absorb(&l)
	}
	require.LessOrEqual(t, len(all.dropped), maxLogged+1)
	require.Len(t, all.recent, maxLogged)
	n := len(all.recent)
	for _, dropped := range all.dropped {
		n += dropped
	}
	require.Equal(t, conns*requests, n)
	require.Equal(t, strconv.Itoa(requests-1), all.recent[(all.next+maxLogged-1)%maxLogged].who.client, "the last is there")
}

// What is kept of a long name ends with a whole character.
func TestLongNamesAreCutBetweenCharacters(t *testing.T) {
	t.Parallel()
	name := "x" + strings.Repeat("é", 128)
	require.Equal(t, "x"+strings.Repeat("é", 49)+"… (257 bytes, e112c74fde2e2f07)", LoggedName(name))
	require.Equal(t, "0123456…", ShortID("client-0123456é", "client"))
}

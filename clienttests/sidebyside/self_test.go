package main

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"
)

// Two fakekafka brokers answer alike: what is taken for a difference is none of the comparison's own making.
func TestOursBesideOurs(t *testing.T) {
	t.Parallel()
	other, err := startOurs(map[string]string{"group.min.session.timeout.ms": "100", "offsets.retention.check.interval.ms": "400",
		"transaction.abort.timed.out.transaction.cleanup.interval.ms": "300"})
	require.NoError(t, err)
	t.Cleanup(func() { other.Close() })
	var out bytes.Buffer
	err = run([]string{"-kafka", other.Bootstrap(), "-n", "2", "-seed", "7"}, &out)
	require.NoError(t, err, out.String())
	require.Contains(t, out.String(), " 0 differences")
}

func TestOptions(t *testing.T) {
	t.Parallel()
	_, err := parse(nil)
	require.ErrorContains(t, err, "-kafka is missing")
	_, err = parse([]string{"-kafka", "x:1", "-areas", "logs"})
	require.ErrorContains(t, err, `no area is called "logs"; there are log, sessions,`)
	o, err := parse([]string{"-kafka", "x:1", "-areas", "classic,log"})
	require.NoError(t, err)
	require.Len(t, o.areas, 2)
}

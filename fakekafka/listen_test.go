package fakekafka_test

import (
	"net"
	"runtime"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/fakekafka/fakekafka/fakekafka"
)

// TestListenOnAllAddresses: no client is told "::", which would be itself, but the address by which it came.
func TestListenOnAllAddresses(t *testing.T) {
	t.Parallel()
	for _, all := range []string{"0.0.0.0:0", ":0"} {
		k := fakekafka.Start(t, fakekafka.Listen(all))
		host, port, err := net.SplitHostPort(k.Bootstrap())
		require.NoError(t, err)
		require.Equal(t, "127.0.0.1", host)
		ways := []string{"127.0.0.1"}
		if runtime.GOOS == "linux" { // elsewhere the machine has only one such address
			ways = append(ways, "127.0.0.2")
		}
		for _, way := range ways {
			told := dialBroker(t, k, "c", net.JoinHostPort(way, port)).ask(metadataRequest()).(*kmsg.MetadataResponse).Brokers[0]
			require.Equal(t, way+":"+port, net.JoinHostPort(told.Host, strconv.Itoa(int(told.Port))))
		}
	}
	k := fakekafka.Start(t, fakekafka.Listen(":0"), fakekafka.Advertise("kafka.test"))
	_, port, err := net.SplitHostPort(k.Bootstrap())
	require.NoError(t, err)
	told := dialBroker(t, k, "c", net.JoinHostPort("127.0.0.1", port)).ask(metadataRequest()).(*kmsg.MetadataResponse).Brokers[0]
	require.Equal(t, "kafka.test", told.Host)
}

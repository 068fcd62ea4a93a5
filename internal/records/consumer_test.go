package records

import (
	"encoding/hex"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

// consumerGolden are records that an Apache Kafka 4.3.1 wrote: a join, a second member with everything set, the first one told to
// revoke, a resolved expression, a classic member, a static member that went away, and a leave.
var consumerGolden = [][2]string{
	{"000500016700026d31", "00000000046b676f0b2f3132372e302e302e31040461626304666f6f047a6f6f01000075300001000100"},
	{"0003000167", "00000000000201000812966ccb7d084312"},
	{"000700016700026d31", "00000204a4cd605b304b5c9e360b9dea8d29c6040000000000000001000000020000"},
	{"0006000167", "000000000002010008000001a229bb3df1"},
	{"000800016700026d31", "00000000000200000000000204a4cd605b304b5c9e360b9dea8d29c60400000000000000010000000201000d040000000200000002000000020100"},
	{"000500016700026d32", "000005696e7374037231046b676f0b2f3132372e302e302e310204666f6f04622e2a000075300672616e676501000100"},
	{"000800016700026d32", "0000000000030000000002010100"},
	{"00100001670003622e2a", "000002046261720000000000000027000001a229bb3e3200"},
	{"000700016700026d32", "00000304a4cd605b304b5c9e360b9dea8d29c6020000000000923ac7f61e2f44be904cbfaa314fb362040000000000000001000000020000"},
	{"000800016700026d31", "00000000000200000002010204a4cd605b304b5c9e360b9dea8d29c6020000000201000502000000020204a4cd605b304b5c9e360b9dea8d29c603000000000000000101000903000000020000000200"},
	{"000500016700026331", "00000000046b676f0b2f3132372e302e302e310204666f6f0100004e200001001e0100002710020672616e6765100000000000010003666f6fffffffff0000"},
	{"000800016700026d32", "0000fffffffe0000000002010100"},
	{"000800016700026d31", ""},
}

// again decodes a value and encodes it anew.
func again(typ int16, value []byte) ([]byte, error) {
	switch typ {
	case TypeConsumerGroup:
		v, err := DecodeConsumerGroup(value)
		return v.Encode(), err
	case TypeConsumerMember:
		v, err := DecodeConsumerMember(value)
		return v.Encode(), err
	case TypeConsumerTarget:
		v, err := DecodeConsumerTarget(value)
		return v.Encode(), err
	case TypeConsumerTargetMember:
		v, err := DecodeConsumerTargetMember(value)
		return v.Encode(), err
	case TypeConsumerCurrentMember:
		v, err := DecodeConsumerCurrentMember(value)
		return v.Encode(), err
	}
	v, err := DecodeConsumerRegex(value)
	return v.Encode(), err
}

func TestConsumerRecordsAreThoseOfKafka(t *testing.T) {
	t.Parallel()
	for _, record := range consumerGolden {
		key, err := hex.DecodeString(record[0])
		require.NoError(t, err)
		typ, group, second, err := DecodeConsumerKey(key)
		require.NoError(t, err)
		require.Equal(t, "g", group)
		require.Equal(t, record[0], hex.EncodeToString(ConsumerKey(typ, group, second)))
		if record[1] == "" {
			continue
		}
		value, err := hex.DecodeString(record[1])
		require.NoError(t, err)
		out, err := again(typ, value)
		require.NoError(t, err)
		require.Equal(t, record[1], hex.EncodeToString(out), "type %d", typ)
		for n := range len(value) {
			_, err := again(typ, value[:n])
			require.Error(t, err, "type %d cut after %d bytes", typ, n)
		}
	}
}

func TestConsumerRecordsAreRead(t *testing.T) {
	t.Parallel()
	value, _ := hex.DecodeString(consumerGolden[10][1])
	m, err := DecodeConsumerMember(value)
	require.NoError(t, err)
	require.Equal(t, []string{"foo"}, m.Names)
	require.Equal(t, int32(20000), m.RebalanceTimeoutMs)
	require.NotNil(t, m.Classic)
	require.Equal(t, int32(10000), m.Classic.SessionTimeoutMs)
	require.Equal(t, "range", m.Classic.Protocols[0].Name)

	// Partitions without an assignment epoch each have the member's, which is never below 0.
	for _, c := range []struct {
		epoch        int32
		epochs, want []int32
	}{
		{7, nil, []int32{7, 7, 7}},
		{-2, nil, []int32{0, 0, 0}},
		{-2, []int32{5, 6, 7}, []int32{5, 6, 7}},
		{7, []int32{3}, []int32{7, 7, 7}},
		{7, []int32{3, 4, 5, 6}, []int32{7, 7, 7}},
	} {
		w := flexibleValue(0)
		w.int32(c.epoch)
		w.int32(6)
		w.int8(0)
		topics := []TopicPartitions{{Partitions: []int32{0, 1, 2}, Epochs: c.epochs}}
		w.topics(topics, c.epochs != nil)
		w.topics(topics, c.epochs != nil)
		w.noTags()
		v, err := DecodeConsumerCurrentMember(w.b)
		require.NoError(t, err)
		require.Equal(t, c.epoch, v.Epoch)
		require.Equal(t, c.want, v.Assigned[0].Epochs)
		require.Equal(t, c.want, v.Pending[0].Epochs)
	}

	_, err = DecodeConsumerGroup([]byte{0, 1, 0, 0, 0, 0, 0})
	require.ErrorContains(t, err, "version 1")
	_, _, _, err = DecodeConsumerKey([]byte{0, 2, 0, 0})
	require.ErrorContains(t, err, "type 2")
}

// TestConsumerRecordsHostile: broken bytes are an error, never a panic, and no length is believed.
func TestConsumerRecordsHostile(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(1, 1))
	for range 20_000 {
		record := consumerGolden[rng.IntN(len(consumerGolden)-1)]
		key, _ := hex.DecodeString(record[0])
		value, _ := hex.DecodeString(record[1])
		for range 1 + rng.IntN(4) {
			value[rng.IntN(len(value))] = byte(rng.IntN(256))
		}
		typ, _, _, _ := DecodeConsumerKey(key)
		_, _ = again(typ, value)
		key[rng.IntN(len(key))] = byte(rng.IntN(256))
		_, _, _, _ = DecodeConsumerKey(key)
	}
}

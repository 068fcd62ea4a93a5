package broker

import (
	"encoding/binary"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/fakekafka/fakekafka/internal/memnet"
)

// The buffers in which answers are encoded go from connection to connection: each client gets its own answers all the same, small and large ones, over slow links and
// fast ones, beside clients that go away in the middle of an answer.
func TestAnswersOfConnectionsDontMix(t *testing.T) {
	t.Parallel()
	network := memnet.New()
	for name, o := range map[string]Options{"socket": {}, "memory": {Network: network}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			k := startCluster(t, o)
			dial := func() (net.Conn, error) { return net.Dial("tcp", k.Addrs()[0]) }
			if o.Network != nil {
				dial = func() (net.Conn, error) { return network.DialContext(t.Context(), k.Addrs()[0]) }
			}
			var all sync.WaitGroup
			for i := range 12 {
				all.Go(func() {
					nc, err := dial()
					if !assert.NoError(t, err) {
						return
					}
					defer nc.Close()
					r := rand.New(rand.NewPCG(uint64(i), 1))
					for round := range int32(30) {
						if i == 0 && round%10 == 0 {
							_ = k.SetLatency(1, time.Duration(round/10%2)*time.Millisecond)
						}
						own := fmt.Sprintf("client-%d-round-%d-", i, round)
						req := kmsg.NewPtrMetadataRequest()
						req.Version = 9
						for n := range 1 + r.IntN(2)*r.IntN(1000) { // up to 100 KB, more than is kept
							topic := fmt.Sprint(own, n, strings.Repeat("x", 80))
							req.Topics = append(req.Topics, kmsg.MetadataRequestTopic{Topic: &topic})
						}
						_, err := nc.Write(kmsg.NewRequestFormatter(kmsg.FormatterClientID("c")).AppendRequest(nil, req, round))
						if !assert.NoError(t, err) || i > 8 && round > 15 && r.IntN(10) == 0 {
							return // without the answer
						}
						if !assert.NoError(t, ownAnswer(nc, req, round, own)) {
							return
						}
					}
				})
			}
			all.Wait()
			require.NoError(t, k.SetLatency(1, 0))
		})
	}
}

// ownAnswer reads an answer, and complains unless it is of this request.
func ownAnswer(nc net.Conn, req *kmsg.MetadataRequest, corr int32, own string) error {
	var size [4]byte
	if _, err := io.ReadFull(nc, size[:]); err != nil {
		return err
	}
	frame := make([]byte, binary.BigEndian.Uint32(size[:]))
	if _, err := io.ReadFull(nc, frame); err != nil {
		return err
	}
	if got := int32(binary.BigEndian.Uint32(frame)); got != corr {
		return fmt.Errorf("the answer is of request %d, not of %d", got, corr)
	}
	resp := req.ResponseKind().(*kmsg.MetadataResponse)
	if err := resp.ReadFrom(frame[5:]); err != nil {
		return err
	}
	if len(resp.Topics) != len(req.Topics) {
		return fmt.Errorf("%d topics were asked for, %d answered", len(req.Topics), len(resp.Topics))
	}
	for _, topic := range resp.Topics {
		if !strings.HasPrefix(*topic.Topic, own) {
			return fmt.Errorf("the answer of %s has topic %s", own, *topic.Topic)
		}
	}
	return nil
}

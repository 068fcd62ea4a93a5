package clienttests

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kgo"
)

// streamsApp runs Streams.java. Its worker's records are what its instances have said, such as "running first".
type streamsApp struct {
	*worker
	in io.Writer
}

func startStreams(t *testing.T, args ...string) *streamsApp {
	t.Helper()
	_, path := compiled(t, "Streams")
	cmd := exec.Command("java", append([]string{"-XX:TieredStopAtLevel=1", "-Xshare:auto", "-Xmx256m", "-Dorg.slf4j.simpleLogger.defaultLogLevel=error", "-cp", path, "Streams"}, args...)...)
	stdin, err := cmd.StdinPipe()
	require.NoError(t, err)
	stdout, err := cmd.StdoutPipe()
	require.NoError(t, err)
	cmd.Stderr = os.Stderr
	require.NoError(t, cmd.Start())
	a := &streamsApp{worker: newWorker(), in: stdin}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		eachLine(stdout, func(line string) { a.change(func() { a.seen[line]++ }) })
	}()
	t.Cleanup(func() {
		_ = stdin.Close()
		kill := time.AfterFunc(10*time.Second, func() { _ = cmd.Process.Kill() })
		<-ended
		_ = cmd.Wait()
		kill.Stop()
	})
	return a
}

// do gives a command and waits until the application has said what it is to say then, once more than before.
func (a *streamsApp) do(ctx context.Context, command, answer string) error {
	before := a.received(answer)
	if _, err := io.WriteString(a.in, command+"\n"); err != nil {
		return err
	}
	return await(ctx, answer, func() bool { return a.received(answer) > before }, a.worker)
}

// TestKafkaStreams counts words with Kafka Streams, exactly once, while the application goes from one instance to two and back: each word's counts must come
// out one after the other, none twice and none left out.
func TestKafkaStreams(t *testing.T) {
	t.Parallel()
	const words, each, parts = 20, 50, 4
	e := broker(t)
	input, output, app := e.topic(t, "words"), e.topic(t, "counts"), e.group(t, "word-count")
	for _, topic := range []string{input, output} {
		require.NoError(t, franz{}.create(e.ctx, e.addr, topic, parts))
		e.awaitTopic(t, topic, parts)
	}
	changelog, repartition := app+"-counts-changelog", app+"-by-value-repartition"
	t.Cleanup(func() { _, _ = e.adm.DeleteTopics(context.Background(), changelog, repartition) })
	a := startStreams(t, e.addr, app, input, output)
	require.NoError(t, a.do(e.ctx, "start first", "running first"))

	cl, err := kgo.NewClient(kgo.SeedBrokers(e.addr), kgo.ConsumeTopics(output), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()), kgo.FetchIsolationLevel(kgo.ReadCommitted()))
	require.NoError(t, err)
	defer cl.Close()
	counted := map[string]int{}
	// count sends each word so often and waits until all of them are counted.
	count := func(times int, meanwhile func()) {
		t.Helper()
		for n := range words * times {
			cl.Produce(e.ctx, &kgo.Record{Topic: input, Key: []byte(strconv.Itoa(n)), Value: fmt.Appendf(nil, "word-%d", n%words)}, func(_ *kgo.Record, err error) {
				if err != nil {
					t.Errorf("a word was not sent: %v", err)
				}
			})
		}
		meanwhile()
		for left := words * times; left > 0; {
			fs := cl.PollFetches(e.ctx)
			require.NoError(t, fs.Err(), "%d counts are missing; there are %v", left, counted)
			fs.EachRecord(func(r *kgo.Record) {
				word := string(r.Key)
				counted[word]++
				require.Equal(t, strconv.Itoa(counted[word]), string(r.Value), "the next count of %s, at %s-%d offset %d", word, output, r.Partition, r.Offset)
				left--
			})
		}
	}
	count(each, func() { require.NoError(t, a.do(e.ctx, "start second", "running second")) })
	require.NoError(t, e.awaitMembers(e.ctx, app, 2))
	count(each, func() { require.NoError(t, a.do(e.ctx, "close first", "closed first true")) })
	count(each, func() {})
	require.NoError(t, a.do(e.ctx, "close second", "closed second true"))
	for word, n := range counted {
		require.Equal(t, 3*each, n, word)
	}
	require.Len(t, counted, words)

	configs, err := e.adm.DescribeTopicConfigs(e.ctx, changelog, repartition)
	require.NoError(t, err)
	for _, c := range configs {
		for _, kv := range c.Configs {
			if kv.Key == "cleanup.policy" {
				require.Equal(t, strings.HasSuffix(c.Name, "changelog"), kv.MaybeValue() == "compact", "cleanup.policy of %s: %s", c.Name, kv.MaybeValue())
			}
		}
	}
}

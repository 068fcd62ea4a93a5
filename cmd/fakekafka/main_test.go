package main

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// running is the command in this process.
type running struct {
	stdout *bufio.Reader
	stderr *syncBuffer
	end    context.CancelFunc
	code   chan int
}

type syncBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (s *syncBuffer) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(p)
}

func (s *syncBuffer) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.String()
}

func start(t *testing.T, args ...string) *running {
	t.Helper()
	r, w := io.Pipe()
	ctx, cancel := context.WithCancel(context.Background())
	c := &running{stdout: bufio.NewReader(r), stderr: &syncBuffer{}, end: cancel, code: make(chan int, 1)}
	go func() {
		code := run(ctx, args, w, c.stderr)
		w.Close()
		c.code <- code
	}()
	t.Cleanup(func() { cancel(); r.Close() })
	return c
}

// ready reads the ready line and answers the address in it.
func (c *running) ready(t *testing.T) string {
	t.Helper()
	line, err := c.stdout.ReadString('\n')
	require.NoError(t, err, "standard error: %s", c.stderr)
	addr, ok := strings.CutPrefix(strings.TrimSpace(line), "fakekafka ready on ")
	require.True(t, ok, line)
	return addr
}

// finish ends the command as a signal would, reads the rest of what it says and answers the exit code.
func (c *running) finish() (code int, rest string) {
	c.end()
	b, _ := io.ReadAll(c.stdout)
	return <-c.code, string(b)
}

func TestReadyWhenAClientCanConnect(t *testing.T) {
	t.Parallel()
	c := start(t, "-listen", "127.0.0.1:0", "-topic", "orders:6", "-topic", "other:1")
	addr := c.ready(t)
	nc, err := net.Dial("tcp", addr)
	require.NoError(t, err)
	defer nc.Close()
	next := make([]byte, 20)
	_, err = io.ReadFull(c.stdout, next) // it goes on to say what can be done
	require.NoError(t, err)
	code, rest := c.finish()
	require.Zero(t, code)
	require.Contains(t, string(next)+rest, addr, "the next steps name the address")
	require.Contains(t, rest, "Ctrl-C")
	require.Empty(t, c.stderr.String())
	_, err = nc.Read(next) // the port itself may be another process's by now
	require.Error(t, err)
}

// TestTheHintSpeaksOfATopicThatIsThere: the first one given, where one is.
func TestTheHintSpeaksOfATopicThatIsThere(t *testing.T) {
	t.Parallel()
	for topic, args := range map[string][]string{"receipts": {"-topic", "receipts:2", "-topic", "refunds:1"}, "greetings": nil} {
		c := start(t, append([]string{"-listen", "127.0.0.1:0"}, args...)...)
		addr := c.ready(t)
		code, rest := c.finish()
		require.Zero(t, code)
		require.Contains(t, rest, "kcat -b "+addr+" -t "+topic+" -P\n")
		require.Contains(t, rest, "kcat -b "+addr+" -t "+topic+" -C -e\n")
		require.Equal(t, 2, strings.Count(rest, " -t "))
	}
}

func TestBrokersOnConsecutivePorts(t *testing.T) {
	t.Parallel()
	for range 50 { // until three free ports in a row are found
		l, err := net.Listen("tcp", "127.0.0.1:0")
		require.NoError(t, err)
		first := l.Addr().(*net.TCPAddr).Port
		l.Close()
		if first > 65000 {
			continue
		}
		c := start(t, "-listen", fmt.Sprintf("127.0.0.1:%d", first), "-brokers", "3")
		select {
		case <-c.code: // one of them is in use
			continue
		default:
		}
		line, err := c.stdout.ReadString('\n')
		if err != nil {
			continue
		}
		require.Equal(t, fmt.Sprintf("fakekafka ready on 127.0.0.1:%d\n", first), line)
		line, err = c.stdout.ReadString('\n')
		require.NoError(t, err)
		require.Equal(t, fmt.Sprintf("brokers: 127.0.0.1:%d 127.0.0.1:%d 127.0.0.1:%d\n", first, first+1, first+2), line)
		code, _ := c.finish()
		require.Zero(t, code)
		return
	}
	t.Fatal("no three free ports in a row")
}

func TestBrokersOnFreePorts(t *testing.T) {
	t.Parallel()
	c := start(t, "-listen", "127.0.0.1:0", "-brokers", "3", "-racks", "a,b,c")
	addr := c.ready(t)
	line, err := c.stdout.ReadString('\n')
	require.NoError(t, err)
	all := strings.Fields(strings.TrimPrefix(line, "brokers:"))
	require.Len(t, all, 3)
	require.Equal(t, addr, all[0])
	code, _ := c.finish()
	require.Zero(t, code)
}

func TestAPortInUse(t *testing.T) {
	t.Parallel()
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer taken.Close()
	c := start(t, "-listen", taken.Addr().String())
	require.Equal(t, 1, <-c.code)
	said := c.stderr.String()
	require.Equal(t, 1, strings.Count(said, "\n"), said)
	require.Contains(t, said, taken.Addr().String())
	require.Contains(t, said, "in use")
}

func TestBadFlags(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		args []string
		code int
		says []string
	}{
		{[]string{"-nope"}, 2, []string{"-nope"}},
		{[]string{"orders:6"}, 2, []string{`"orders:6" is not a flag`}},
		{[]string{"-topic", "orders"}, 2, []string{"-topic orders", "NAME:PARTITIONS"}},
		{[]string{"-topic", "orders:x"}, 2, []string{"-topic orders:x"}},
		{[]string{"-topic", "orders:0"}, 1, []string{`"orders"`, "1"}},
		{[]string{"-config", "num.partitions"}, 2, []string{"KEY=VALUE"}},
		{[]string{"-config", "no.such=1"}, 1, []string{"no.such"}},
		{[]string{"-config", "num.partitions=x"}, 1, []string{"num.partitions", `x`}},
		{[]string{"-config", "num.partitions=1", "-config", "num.partitions=x"}, 1, []string{"num.partitions", `x`}},
		{[]string{"-brokers", "2", "-racks", "a"}, 1, []string{"racks", "1 given for 2 brokers"}},
		{[]string{"-brokers", "0"}, 1, []string{"Brokers(0)"}},
		{[]string{"-max-memory", "much"}, 2, []string{"-max-memory much", "512MiB"}},
		{[]string{"-max-memory", "-5"}, 2, []string{"-max-memory -5"}},
		{[]string{"-max-memory", "12KiB"}, 1, []string{"MaxMemory(12288)", "1048576"}},
		{[]string{"-log-level", "loud"}, 2, []string{"-log-level loud", "debug, info, warn or error"}},
		{[]string{"-listen", "nowhere"}, 1, []string{`"nowhere"`, "HOST:PORT"}},
	} {
		var stdout, stderr bytes.Buffer
		code := run(context.Background(), append([]string{"-listen", "127.0.0.1:0"}, c.args...), &stdout, &stderr)
		require.Equal(t, c.code, code, "%v: %s", c.args, &stderr)
		require.Empty(t, stdout.String(), "%v", c.args)
		for _, s := range c.says {
			require.Contains(t, stderr.String(), s, "%v", c.args)
		}
	}
}

func TestParseSize(t *testing.T) {
	t.Parallel()
	for s, want := range map[string]int64{
		"0": 0, "17": 17, "17B": 17, "3KiB": 3 << 10, "3K": 3 << 10, "512MiB": 512 << 20, "512MB": 512 << 20, "2GiB": 2 << 30, "2G": 2 << 30,
	} {
		n, err := parseSize(s)
		require.NoError(t, err, s)
		require.Equal(t, want, n, s)
	}
	for _, s := range []string{"", "x", "MiB", "-1MiB", "1TiB", "1.5GiB", "1 MiB", "1iB", "9999999999999999999", "9223372036854775807G"} {
		_, err := parseSize(s)
		require.Error(t, err, s)
	}
}

// As with Kafka's own --override: a script has its settings, and who calls it adds others.
func TestOfASettingGivenTwiceTheLastCounts(t *testing.T) {
	t.Parallel()
	c := start(t, "-listen", "127.0.0.1:0", "-config", "num.partitions=x", "-config", "num.partitions=2")
	c.ready(t)
	code, _ := c.finish()
	require.Zero(t, code)
}

func TestVersionAndHelp(t *testing.T) {
	t.Parallel()
	var stdout, stderr bytes.Buffer
	require.Zero(t, run(context.Background(), []string{"-version"}, &stdout, &stderr))
	require.Contains(t, stdout.String(), "fakekafka "+version)
	require.Contains(t, stdout.String(), "Apache Kafka 4.3.1")
	stdout.Reset()
	require.Zero(t, run(context.Background(), []string{"-help"}, &stdout, &stderr))
	require.Contains(t, stderr.String(), "-topic")
}

func TestASettingWithoutMeaningIsOneLine(t *testing.T) {
	t.Parallel()
	c := start(t, "-listen", "127.0.0.1:0", "-config", "num.io.threads=4")
	c.ready(t)
	code, _ := c.finish()
	require.Zero(t, code)
	require.Equal(t, 1, strings.Count(c.stderr.String(), "\n"), c.stderr.String())
	require.Contains(t, c.stderr.String(), "num.io.threads")
}

// TestSignals runs the built command, as a user does.
func TestSignals(t *testing.T) {
	t.Parallel()
	if testing.Short() || runtime.GOOS == "windows" {
		t.Skip("builds the command and sends it signals")
	}
	bin := filepath.Join(t.TempDir(), "fakekafka")
	out, err := exec.Command("go", "build", "-o", bin, ".").CombinedOutput()
	require.NoError(t, err, "%s", out)
	for _, sig := range []os.Signal{os.Interrupt, syscall.SIGTERM} {
		cmd := exec.Command(bin, "-listen", "127.0.0.1:0")
		stdout, err := cmd.StdoutPipe()
		require.NoError(t, err)
		require.NoError(t, cmd.Start())
		kill := time.AfterFunc(20*time.Second, func() { _ = cmd.Process.Kill() })
		r := bufio.NewReader(stdout)
		line, err := r.ReadString('\n')
		require.NoError(t, err)
		nc, err := net.Dial("tcp", strings.TrimSpace(strings.TrimPrefix(line, "fakekafka ready on ")))
		require.NoError(t, err)
		defer nc.Close() // it ends with a client connected
		require.NoError(t, cmd.Process.Signal(sig))
		_, _ = io.Copy(io.Discard, r)
		require.NoError(t, cmd.Wait(), "exit code 0 after %s", sig)
		kill.Stop()
	}
}

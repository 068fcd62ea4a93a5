package clienttests

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// jvm runs Members.java: Java consumers that the test steers one by one.
type jvm struct {
	in io.WriteCloser

	mu      sync.Mutex
	members map[string]*javaMember
}

// javaMember is one of its consumers. Its member changes under the worker's lock.
type javaMember struct {
	*worker
	j           *jvm
	name        string
	done        map[string]int // commands that were carried out, and how often
	failed      string
	transitions []string        // of its membership (KIP-848): the states that it came to
	known       map[string]bool // topics of which it has had metadata
}

var (
	// transitioned is how the Java consumer logs each change of its state.
	transitioned = regexp.MustCompile(`clientId=([^,\]]+).*transitioned from \w+ to (\w+)`)
	// updated is how it logs metadata, with all partitions that it knows.
	updated   = regexp.MustCompile(`clientId=([^,\]]+).*Updated cluster metadata`)
	partition = regexp.MustCompile(`partition=(\S+)-\d+,`)
)

// startJVM starts the program; it ends with the test.
func startJVM(t testing.TB) *jvm {
	t.Helper()
	_, path := compiled(t, "Members")
	cmd := exec.Command("java", "-XX:TieredStopAtLevel=1", "-Xshare:auto", "-Xmx256m",
		"-Dorg.slf4j.simpleLogger.defaultLogLevel=error",
		"-Dorg.slf4j.simpleLogger.log.org.apache.kafka.clients.consumer.internals.ConsumerMembershipManager=debug",
		"-Dorg.slf4j.simpleLogger.log.org.apache.kafka.clients.Metadata=debug",
		"-cp", path, "Members")
	j := &jvm{members: map[string]*javaMember{}}
	var err error
	j.in, err = cmd.StdinPipe()
	require.NoError(t, err)
	stdout, err := cmd.StdoutPipe()
	require.NoError(t, err)
	stderr, err := cmd.StderrPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	var readers sync.WaitGroup
	readers.Go(func() { eachLine(stdout, j.told) })
	readers.Go(func() { eachLine(stderr, j.logged) })
	t.Cleanup(func() {
		_ = j.in.Close()
		kill := time.AfterFunc(10*time.Second, func() { _ = cmd.Process.Kill() })
		readers.Wait()
		_ = cmd.Wait()
		kill.Stop()
	})
	return j
}

func eachLine(r io.Reader, fn func(string)) {
	for s := bufio.NewScanner(r); s.Scan(); {
		fn(s.Text())
	}
}

func (j *jvm) find(name string) *javaMember {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.members[name]
}

func (j *jvm) told(line string) {
	f := strings.Split(line, "\t")
	if len(f) < 3 {
		return
	}
	m := j.find(f[1])
	if m == nil {
		return
	}
	n, _ := strconv.Atoi(f[2])
	m.change(func() {
		switch f[0] {
		case "assigned":
			m.owned += n
		case "revoked", "lost":
			m.owned -= n
		case "record":
			m.seen[f[2]]++
		case "done":
			m.done[f[2]]++
		case "failed":
			m.failed = f[2]
		}
	})
}

func (j *jvm) logged(line string) {
	if f := transitioned.FindStringSubmatch(line); f != nil {
		if m := j.find(f[1]); m != nil {
			m.change(func() { m.transitions = append(m.transitions, f[2]) })
		}
	}
	if f := updated.FindStringSubmatch(line); f != nil {
		if m := j.find(f[1]); m != nil {
			m.change(func() {
				for _, p := range partition.FindAllStringSubmatch(line, -1) {
					m.known[p[1]] = true
				}
			})
		}
	}
}

// start starts a consumer, whose client id is its name, with the client's defaults save for the settings given.
func (j *jvm) start(name, addr, group, topic string, settings ...string) (*javaMember, error) {
	m := &javaMember{worker: newWorker(), j: j, name: name, done: map[string]int{}, known: map[string]bool{}}
	m.close = func() error {
		ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
		defer cancel()
		return m.do(ctx, "close")
	}
	j.mu.Lock()
	j.members[name] = m
	j.mu.Unlock()
	line := append([]string{"start", name, topic, "client.id=" + name, "bootstrap.servers=" + addr, "group.id=" + group, "auto.offset.reset=earliest"}, settings...)
	return m, j.say(line...)
}

func (j *jvm) say(fields ...string) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	_, err := io.WriteString(j.in, strings.Join(fields, "\t")+"\n")
	return err
}

// do has the consumer carry out a command of Members.java.
func (m *javaMember) do(ctx context.Context, command string) error {
	m.mu.Lock()
	before := m.done[command]
	m.mu.Unlock()
	if err := m.j.say(command, m.name); err != nil {
		return err
	}
	return m.until(ctx, command, func() bool { return m.done[command] > before || m.failed != "" })
}

// until waits for a change of the member; ok is asked under its lock.
func (m *javaMember) until(ctx context.Context, what string, ok func() bool) error {
	for {
		m.mu.Lock()
		is, state := ok(), fmt.Sprintf("%d partitions, states %v, failure %q", m.owned, m.transitions, m.failed)
		m.mu.Unlock()
		if is {
			return nil
		}
		select {
		case <-m.moved:
		case <-ctx.Done():
			return fmt.Errorf("%s: waiting for %s: %w; %s", m.name, what, ctx.Err(), state)
		}
	}
}

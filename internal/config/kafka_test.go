package config

import (
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var resourceTypes = map[string]ResourceType{
	"topic": TopicResource, "broker": BrokerResource, "broker-logger": BrokerLoggerResource,
	"client-metrics": ClientMetricsResource, "group": GroupResource,
}

// oneBroker is a cluster started as the recorded Kafka was.
func oneBroker(t *testing.T, static map[string]string) *Cluster {
	t.Helper()
	c, err := New(Start{Static: static, PerBroker: map[int32]map[string]string{1: {}}})
	require.NoError(t, err)
	return c
}

// TestAnswersOfKafka gives the commands of testdata/kafka.txt to a cluster and
// compares with what a real broker said.
func TestAnswersOfKafka(t *testing.T) {
	t.Parallel()
	r := &replay{
		c:      oneBroker(t, map[string]string{"num.io.threads": "2", "num.network.threads": "2"}),
		topics: map[string]bool{},
	}
	data, err := os.ReadFile("testdata/kafka.txt")
	require.NoError(t, err)
	line := 1
	for block := range strings.SplitSeq(string(data), "\n\n") {
		at := line
		line += strings.Count(block, "\n") + 2
		lines := strings.Split(strings.Trim(block, "\n"), "\n")
		for len(lines) > 0 && strings.HasPrefix(lines[0], "#") {
			lines = lines[1:]
		}
		rule := slices.Index(lines, "----")
		if rule < 1 {
			continue
		}
		got := r.run(words(lines[0]), lines[1:rule])
		assert.Equal(t, strings.Join(lines[rule+1:], "\n"), strings.TrimSuffix(got, "\n"), "kafka.txt:%d: %s", at, lines[0])
	}
}

// replay runs commands on a cluster.
type replay struct {
	c      *Cluster
	topics map[string]bool
}

func (r *replay) exists(topic string) bool { return r.topics[topic] }

func (r *replay) run(command, lines []string) string {
	if command[0] == "create" {
		return r.create(command[1], lines)
	}
	typ, ok := resourceTypes[command[1]]
	if !ok {
		n, _ := strconv.Atoi(command[1])
		typ = ResourceType(n)
	}
	if command[0] == "describe" {
		entries, err := r.c.Describe(1, typ, command[2], command[3:], r.exists)
		if err != nil {
			return answer(err)
		}
		return showEntries(entries)
	}
	a := Alteration{Type: typ, Name: command[2]}
	for _, line := range lines {
		a.Settings = append(a.Settings, readSetting(line))
	}
	if command[0] == "replace" {
		return answer(r.c.Alter(1, []Alteration{a}, r.exists, false)[0].Err)
	}
	return answer(r.c.IncrementalAlter(1, []Alteration{a}, r.exists, command[0] == "validate")[0].Err)
}

func (r *replay) create(name string, lines []string) string {
	var configs []Setting
	for _, line := range lines {
		n, v, _ := strings.Cut(line, " ")
		configs = append(configs, Setting{n, readValue(v)})
	}
	if err := r.c.CheckTopic(configs); err != nil {
		return answer(err)
	}
	out := answer(nil)
	for _, e := range r.c.NewTopicEntries(1, configs) {
		if len(configs) == 0 || slices.ContainsFunc(configs, func(s Setting) bool { return s.Name == e.Name }) {
			out += fmt.Sprintf("%s=%s source %d\n", e.Name, showValue(e.Value), e.Source)
		}
	}
	r.c.CreateTopic(name, configs)
	r.topics[name] = true
	return out
}

// readSetting reads a line like: append cleanup.policy "compact".
func readSetting(line string) AlterSetting {
	p := strings.SplitN(line, " ", 3)
	s := AlterSetting{Name: p[1]}
	switch p[0] {
	case "set":
	case "delete":
		s.Op = Delete
	case "append":
		s.Op = Append
	case "subtract":
		s.Op = Subtract
	default:
		n, _ := strconv.Atoi(strings.TrimPrefix(p[0], "op"))
		s.Op = Op(n)
	}
	if len(p) > 2 {
		s.Value = readValue(p[2])
	}
	return s
}

// words splits a command; a word may be quoted.
func words(s string) []string {
	var out []string
	for s = strings.TrimSpace(s); s != ""; s = strings.TrimSpace(s) {
		word, rest, _ := strings.Cut(s, " ")
		if quoted, err := strconv.QuotedPrefix(s); err == nil {
			word, _ = strconv.Unquote(quoted)
			rest = s[len(quoted):]
		}
		out = append(out, word)
		s = rest
	}
	return out
}

func readValue(s string) *string {
	if s == "null" {
		return nil
	}
	v, err := strconv.Unquote(s)
	if err != nil {
		panic(s)
	}
	return &v
}

func showValue(v *string) string {
	if v == nil {
		return "null"
	}
	return strconv.Quote(*v)
}

func answer(err *Error) string {
	if err == nil {
		return "OK\n"
	}
	return strings.TrimSpace(fmt.Sprintf("%d %s", err.Code, err.Message)) + "\n"
}

func showEntries(entries []Entry) string {
	var b strings.Builder
	for _, e := range entries {
		fmt.Fprintf(&b, "%s=%s type %d source %d", e.Name, showValue(e.Value), e.Type, e.Source)
		if e.ReadOnly {
			b.WriteString(" read-only")
		}
		if e.Sensitive {
			b.WriteString(" sensitive")
		}
		for _, s := range e.Synonyms {
			fmt.Fprintf(&b, " [%s=%s %d]", s.Name, showValue(s.Value), s.Source)
		}
		b.WriteString("\n")
	}
	return b.String()
}

package groups

import (
	"strconv"
	"strings"
	"time"
)

// The arguments of a command.

func (w *script) arg(key string) (string, bool) {
	for _, a := range w.d.CmdArgs {
		if a.Key == key {
			if len(a.Vals) == 0 {
				return "", true
			}
			return a.Vals[0], true
		}
	}
	return "", false
}

func (w *script) has(key string) bool { _, ok := w.arg(key); return ok }

func (w *script) str(key, otherwise string) string {
	if v, ok := w.arg(key); ok {
		return v
	}
	return otherwise
}

func (w *script) words(key string) []string {
	for _, a := range w.d.CmdArgs {
		if a.Key == key {
			return a.Vals
		}
	}
	return nil
}

func (w *script) number(key string, otherwise int) int {
	v, ok := w.arg(key)
	if !ok {
		return otherwise
	}
	n, err := strconv.Atoi(v)
	if err != nil {
		w.d.Fatalf(w.t, "%s=%s is no number", key, v)
	}
	return n
}

func (w *script) duration(key string, otherwise time.Duration) time.Duration {
	v, ok := w.arg(key)
	if !ok {
		return otherwise
	}
	d, err := time.ParseDuration(v)
	if err != nil {
		w.d.Fatalf(w.t, "%s=%s is no duration", key, v)
	}
	return d
}

func (w *script) group() string { return w.str("group", "g") }

// client is the one that the first argument names.
func (w *script) client() *scriptClient {
	if len(w.d.CmdArgs) == 0 {
		w.d.Fatalf(w.t, "which client?")
	}
	return w.clientNamed(w.d.CmdArgs[0].Key)
}

func (w *script) clientNamed(name string) *scriptClient {
	c := w.clients[name]
	if c == nil {
		c = &scriptClient{name: name, gen: -1}
		w.clients[name] = c
	}
	if software, ok := w.arg("software"); ok {
		c.software = software
	}
	if connection, ok := w.arg("connection"); ok {
		c.connection, _ = strconv.ParseUint(connection, 10, 64)
	}
	return c
}

// instance is the instance= argument, nil without one.
func (w *script) instance() *string {
	if v, ok := w.arg("instance"); ok {
		return &v
	}
	return nil
}

// partitions are the arguments of the form topic-3 or topic-3=42.
func (w *script) partitions() (keys []topicPartition, offsets []int64) {
	for _, a := range w.d.CmdArgs {
		tp, ok := parsePartition(a.Key)
		if !ok {
			continue
		}
		keys = append(keys, tp)
		offset := int64(0)
		if len(a.Vals) == 1 {
			offset, _ = strconv.ParseInt(a.Vals[0], 10, 64)
		}
		offsets = append(offsets, offset)
	}
	return keys, offsets
}

func parsePartition(s string) (topicPartition, bool) {
	i := strings.LastIndexByte(s, '-')
	if i > 1 && s[i-1] == '-' { // a negative one
		i--
	}
	if i < 1 {
		return topicPartition{}, false
	}
	p, err := strconv.Atoi(s[i+1:])
	return topicPartition{s[:i], int32(p)}, err == nil
}

package broker

import (
	"fmt"
	"hash/fnv"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/fakekafka/fakekafka/internal/config"
)

// How messages and logs show names, which clients and tests make up: of any length, in any number, with anything in them.

// longestLogged is the length, in bytes, up to which a name is kept as it is.
const longestLogged = 255

// LoggedName is how the log keeps the name of a client or a group. Clients may make up names of 32 KiB, a new one for each request: of a long one its beginning is kept,
// and a hash that tells it from others.
func LoggedName(name string) string {
	if len(name) <= longestLogged {
		return name
	}
	h := fnv.New64a()
	_, _ = h.Write([]byte(name))
	return fmt.Sprintf("%s… (%d bytes, %016x)", firstBytes(name), len(name), h.Sum64())
}

// Shown is a name of a client's choice for messages that don't quote it: on one line, whatever is in it, and cut as LoggedName does.
func Shown(name string) string { return OneLine(LoggedName(name)) }

// OneLine is a text with what would break a line, or move the cursor, written as Go writes it in quotes.
func OneLine(text string) string {
	if strings.IndexFunc(text, unprintable) < 0 {
		return text
	}
	var b strings.Builder
	for len(text) > 0 {
		r, size := utf8.DecodeRuneInString(text)
		shown := text[:size]
		if unprintable(r) {
			shown = strconv.Quote(shown)
			shown = shown[1 : len(shown)-1]
		}
		b.WriteString(shown)
		text = text[size:]
	}
	return b.String()
}

func unprintable(r rune) bool { return !strconv.IsPrint(r) || r == utf8.RuneError }

// ShortID is the part of a member id that tells it from others of its client, or instance: the start of its uuid.
func ShortID(id, client string) string {
	id = strings.TrimPrefix(id, client+"-")
	if len(id) > 8 {
		return OneLine(strings.ToValidUTF8(id[:8], "")) + "…"
	}
	return OneLine(id)
}

// firstBytes is as much of a client's name for something as a text shows: it ends with a whole character.
func firstBytes(name string) string { return strings.ToValidUTF8(name[:min(len(name), 100)], "") }

// mostNamed is how many topics, or members, a message lists.
const mostNamed = 20

// firstNames are those that a message lists, and what it says of more.
func firstNames(names []string) (few []string, more string) {
	if n := len(names); n > mostNamed {
		return names[:mostNamed], fmt.Sprintf(" and %d more", n-mostNamed)
	}
	return names, ""
}

// NearName is which of some names somebody may have meant by one that is none of them; "" where no name is near, or the given one is too short to tell.
func NearName(name string, names []string) string {
	if len(name) <= 3 {
		return ""
	}
	return config.Nearest(name, slices.Values(names))
}

// OfASeries tells whether only numbers tell two names apart, as those of tests that share a cluster: neither is a slip of the pen.
func OfASeries(x, y string) bool {
	wordsOf := func(name string) string {
		return strings.Map(func(r rune) rune {
			if '0' <= r && r <= '9' {
				return -1
			}
			return r
		}, name)
	}
	return wordsOf(x) == wordsOf(y)
}

// WrittenInstead says of a topic without a record which others have one; "" where it has one itself, or none has.
func (c *Cluster) WrittenInstead(name string) string {
	m := c.meta.Load()
	written := func(t *topic) bool {
		return t != nil && slices.ContainsFunc(t.partitions, func(p *partition) bool {
			p.mu.Lock()
			defer p.mu.Unlock()
			return p.log.End() > p.log.LogStart()
		})
	}
	if written(m.topics[name]) {
		return ""
	}
	others := slices.DeleteFunc(slices.Clone(m.names), func(other string) bool { return isInternal(other) || !written(m.topics[other]) })
	if len(others) == 0 {
		return ""
	}
	names, more := firstNames(others)
	if NearName(name, others) != "" {
		more += fmt.Sprintf(" (here it is %q: is one of them misspelled?)", name)
	}
	return fmt.Sprintf("records are in other topics: %q%s", names, more)
}

// Unproduced are the topics, but Kafka's own, that have never had a record.
func (c *Cluster) Unproduced() []string {
	m := c.meta.Load()
	return slices.DeleteFunc(slices.Clone(m.names), func(name string) bool {
		return isInternal(name) || slices.ContainsFunc(m.topics[name].partitions, func(p *partition) bool {
			p.mu.Lock()
			defer p.mu.Unlock()
			return p.log.End() > 0
		})
	})
}

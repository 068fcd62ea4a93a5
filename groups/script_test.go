package groups

import (
	"fmt"
	"iter"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// TestScripts plays the stories in testdata: commands in, the whole trace out (records, replies, events, the next deadline).
// Run it with -rewrite to write the traces anew, and read the diff.
func TestScripts(t *testing.T) {
	t.Parallel()
	datadriven.Walk(t, "testdata", func(t *testing.T, path string) {
		if filepath.Ext(path) == ".txt" {
			playScript(t, path)
		}
	})
}

func playScript(t *testing.T, path string) {
	t.Parallel()
	w := newScript()
	datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
		run, ok := scriptCommands[d.Cmd]
		if !ok {
			d.Fatalf(t, "no such command: %s", d.Cmd)
		}
		w.t, w.d = t, d
		if err := run(w); err != nil {
			return "error: " + err.Error() + "\n"
		}
		return w.trace()
	})
}

// scriptCommands are what a script can do. A client is named by its client id; what it knows (member id, generation) is kept for it. Each
// request is a turn of its own, unless same-turn says that another one follows in it.
var scriptCommands = map[string]func(*script) error{
	// config [initial-delay=3s] [delay-set] [prompt] [max-size=2] [min-session=6s] [retention=168h] [metadata-max=4096] [batch-max=4000]
	"config": (*script).config,
	// topic foo [partitions=3] [anew]: creates or grows it, anew: another of the name in its place. Without partitions: deletes it.
	"topic": (*script).topic,
	// join c1 [group=g] [protocol=range] [protocols=(range,sticky)] [topics=(foo)] [owned=(foo-0)|none] [metadata=text] [type=consumer] [version=9]
	// [member=id] [instance=i] [session=10s] [rebalance=60s] [reason=text] [no-protocols]: metadata is a subscription to topics unless it is given; protocols=(range:foo,sticky:foo+bar) has topics for each; it may have escapes as \x00. A client that was answered
	// MEMBER_ID_REQUIRED must join again.
	"join": (*script).join,
	// sync c1 [group=g] [assign=(c1:foo-0, c2:foo-1+foo-2, c3:!bytes)] [generation=1] [member=id] [instance=i] [version=5] [protocol=range] [type=consumer] [null=type|protocol]
	"sync": (*script).sync,
	// heartbeat c1 [group=g] [generation=1] [member=id] [instance=i] [version=4]
	"heartbeat": (*script).heartbeat,
	// leave c1 [group=g] [member=id] [instance=i] [version=5] [reason=text]; leave c1 members=(c1,c2@instance): several at once
	"leave": (*script).leave,
	// commit c1 [group=g] foo-0=42 [generation=1] [member=id] [instance=i] [version=9] [epoch=3] [metadata=text] [retention=1m] [grouped] [no-partitions=(bar)]; anonymous: without member and generation,
	// grouped: partitions of one topic in one entry
	"commit": (*script).commit,
	// txn-commit c1 [group=g] producer=7 [producer-epoch=3] foo-0=42 [anonymous] [epoch=3] [metadata=text] [grouped] [no-partitions=(bar)] [verify=48]: what the transaction coordinator says; end-txn producer=7 commit|abort
	"txn-commit": (*script).txnCommit,
	"end-txn":    (*script).endTxn,
	// fetch c1 [group=g] [foo-0 foo-1] [stable] [version=9] [as-member [generation=2] [member=id]] [no-topics] [grouped] [and=(h,i)]: without partitions all of them, with no-topics none
	"fetch": (*script).fetch,
	// delete-offsets c1 [group=g] foo-0 [grouped] [no-partitions=(bar)]
	"delete-offsets": (*script).deleteOffsets,
	// describe g [h] [operations] [version=6]; list [states=(Empty)] [types=(classic)]; delete g
	"describe": (*script).describe,
	"list":     (*script).list,
	"delete":   (*script).delete,
	// advance 3s: fires the timers up to then, one at a time
	"advance": (*script).advance,
	// restart: another coordinator replays the log
	"restart": (*script).restart,
	// evict c1, fence c1, rebalance [group=g]
	"evict":     (*script).evict,
	"fence":     (*script).fence,
	"rebalance": (*script).rebalance,
	// read-only [off]: the log takes nothing
	"read-only": (*script).readOnly,
	// timers: those that run, and the members that each waits for
	"timers": (*script).timers,
	// hold JoinBarrier, release JoinBarrier
	"hold":    (*script).hold,
	"release": (*script).release,
	// expect 3 [limit=10s]
	"expect": (*script).expect,
	// lookup [group=g]: a client asks for the coordinator
	"lookup": (*script).lookup,
	// unpark c1: another frame of its connection arrives
	"unpark": (*script).unpark,
	// give-up c1 after=2s: its client closes the connection, after its heartbeat was held for so long
	"give-up": (*script).giveUp,
	// state [g]
	"state": (*script).state,
}

// What a client says where a script doesn't; a trace leaves it out.
const (
	scriptHost      = "/127.0.0.1"
	scriptSession   = 10 * time.Second
	scriptRebalance = time.Minute
)

// script is one story: a shard, its clock, its log, and what the clients know.
type script struct {
	t *testing.T
	d *datadriven.TestData

	cfg Config
	// batchMax is the largest batch that the log takes.
	batchMax int
	shard    *Shard
	now      time.Time
	start    time.Time
	meta     *fakeMetadata
	log      []loggedRecord
	tickets  map[Ticket]*scriptClient
	next     Ticket
	clients  map[string]*scriptClient
	sender   *scriptClient // of the request at work
	aliases  []string      // pairs for strings.NewReplacer: member id, alias
	out      strings.Builder
	said     time.Time // the last deadline printed
}

// loggedRecord is a record of the script's log, or a marker.
type loggedRecord struct {
	Record
	producer int64
	marker   bool
	commit   bool
}

type scriptClient struct {
	name       string
	software   string
	connection uint64
	ids        int
	member     string
	gen        int32
	waiting    []Ticket
}

func newScript() *script {
	w := &script{
		cfg:      DefaultConfig(),
		batchMax: 1 << 20,
		now:      time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC),
		meta:     &fakeMetadata{byName: map[string]Topic{}},
		tickets:  map[Ticket]*scriptClient{},
		clients:  map[string]*scriptClient{},
	}
	w.start = w.now
	w.shard = w.newShard()
	w.shard.Loaded(w.now)
	return w
}

func (w *script) newShard() *Shard {
	return NewShard(w.cfg, Deps{Rand: rand.New(rand.NewPCG(1, uint64(len(w.log)))), Metadata: w.meta, MaxBatchBytes: func() int { return w.batchMax }})
}

// trace is what the command led to.
func (w *script) trace() string {
	at, ok := w.shard.Deadline()
	if !ok {
		at = time.Time{}
	}
	if !at.Equal(w.said) {
		w.said = at
		if ok {
			fmt.Fprintf(&w.out, "deadline +%s\n", at.Sub(w.start))
		} else {
			fmt.Fprintf(&w.out, "no deadline\n")
		}
	}
	out := strings.NewReplacer(w.aliases...).Replace(w.out.String())
	w.out.Reset()
	if out == "" {
		return "ok\n"
	}
	return out
}

func (w *script) printf(format string, args ...any) { fmt.Fprintf(&w.out, format+"\n", args...) }

// effects prints a step's effects and lets the clients learn from them.
func (w *script) effects(fx Effects) {
	var told strings.Builder
	for _, e := range fx.Events {
		if c := w.clients[e.ClientID]; c != nil && (e.Kind == EventJoined || e.Kind == EventMemberIDGiven) {
			w.alias(c, e.Member)
			c.member = e.Member
		}
		if e.Kind == EventReplaced && w.sender != nil { // the event has the client id of the member's first client
			w.alias(w.sender, e.Member)
		}
	}
	for _, b := range fx.Batches {
		by := ""
		if b.ProducerID >= 0 {
			by = fmt.Sprintf(" (of producer %d%s)", b.ProducerID, showLeaderEpoch(int32(b.ProducerEpoch)))
		}
		for _, r := range b.Records {
			w.log = append(w.log, loggedRecord{Record: r, producer: b.ProducerID})
			fmt.Fprintf(&told, "record%s %s\n", by, w.describeRecord(r))
		}
	}
	for _, r := range fx.Replies {
		c := w.tickets[r.Ticket]
		if c == nil {
			w.printf("REPLY TO NOBODY: ticket %d %T", r.Ticket, r.Response)
			continue
		}
		delete(w.tickets, r.Ticket)
		c.waiting = slices.DeleteFunc(c.waiting, func(t Ticket) bool { return t == r.Ticket })
		fmt.Fprintf(&told, "reply %s %s\n", c.name, w.describeReply(c, r.Response))
	}
	for _, e := range fx.Events {
		fmt.Fprintf(&told, "event %s\n", describeEvent(e))
	}
	w.out.WriteString(told.String())
	w.shard.Recycle(fx)
}

// send hands a request in for a client and flushes.
func (w *script) send(c *scriptClient, req kmsg.Request) { w.handle(c, w.command(c, req)) }

// command is a client's request.
func (w *script) command(c *scriptClient, req kmsg.Request) Command {
	w.next++
	return Command{
		Ticket: w.next, Request: req,
		Client: Client{ID: c.name, Host: scriptHost, Software: c.software, Principal: "User:ANONYMOUS", Connection: c.connection},
	}
}

func (w *script) handle(c *scriptClient, cmd Command) {
	w.tickets[cmd.Ticket] = c
	c.waiting = append(c.waiting, cmd.Ticket)
	w.sender = c
	w.effects(w.shard.Handle(w.now, cmd))
	if !w.has("same-turn") {
		w.effects(w.shard.Flush(w.now))
	}
	w.sender = nil
	if w.tickets[cmd.Ticket] != nil {
		w.printf("%s waits", c.name)
	}
}

// alias names a new member id of a client.
func (w *script) alias(c *scriptClient, id string) {
	if id == "" || slices.Contains(w.aliases, id) {
		return
	}
	c.ids++
	w.aliases = append(w.aliases, id, fmt.Sprintf("%s.%d", c.name, c.ids))
}

// unalias turns c1.2 into the member id it stands for.
func (w *script) unalias(name string) string {
	for i := 1; i < len(w.aliases); i += 2 {
		if w.aliases[i] == name {
			return w.aliases[i-1]
		}
	}
	return name
}

// deadlines are the times up to end at which a shard's timers are due, from now on. Who asks for the next has fired those before.
func deadlines(s *Shard, now, end time.Time) iter.Seq[time.Time] {
	return func(yield func(time.Time) bool) {
		for {
			at, ok := s.Deadline()
			if !ok || at.After(end) {
				return
			}
			if at.After(now) {
				now = at
			}
			if !yield(now) {
				return
			}
		}
	}
}

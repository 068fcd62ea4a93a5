package broker

import (
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/fakekafka/fakekafka/groups"
	"github.com/fakekafka/fakekafka/internal/javatext"
	"github.com/fakekafka/fakekafka/internal/wire"
)

// The coordinator's side of a request for a group: it goes to a shard, and may wait there.

// waitingRequest is a request whose answer somebody waits for: a connection, or a scripted member.
type waitingRequest struct {
	body   kmsg.Request
	client groups.Client
	voice  voice
	before voice // who spoke before for the member that it names
	shard  *shard
	ticket groups.Ticket
	conn   *conn   // that waits, nil of a scripted member's
	flight *flight // of a scripted member's request to which rules of the test apply

	// script gets the answer on the loop; without one a connection waits at the channel.
	script *Script
	news   chan requestNews // capacity 2: it was parked, and the answer
	// likelyWaits: the connection waits for the answer as if the request were parked, and needn't be told that it is.
	likelyWaits bool
	// mayClose: nothing but the client's silence tells that it is being closed (silence.go).
	mayClose bool
	// bears is how long the client waits, in real time, before the timer that delays its answer is fired all the same: under a manual clock
	// that timer would never end. 0: no timer delays it, or the clock is not manual.
	bears time.Duration
}

// requestNews is what a connection is told of a request that it waits for: one of the fields.
type requestNews struct {
	resp   kmsg.Response // the answer
	parked bool          // it wasn't answered at once
	paused *Gate         // it wasn't handled, its client is paused
	failed *panicked     // handling it failed unexpectedly
}

// tell gives the answer to who waits for it. On the loop.
func (w *waitingRequest) tell(resp kmsg.Response) {
	if w.script != nil {
		w.script.hear(resp)
		return
	}
	w.flight.goesOn()
	w.news <- requestNews{resp: resp}
}

// waits tells whether the shard has yet to answer. On the loop.
func (w *waitingRequest) waits() bool { return w.shard != nil && w.shard.waiting[w.ticket] == w }

// handle gives a request to its group's shard. On the loop.
func (co *coordinator) handle(w *waitingRequest, node int32, group string) {
	now := co.c.clock.Now()
	sh, code := co.shardOf(node, group)
	if sh == nil {
		w.tell(co.unreached(groups.Command{Client: w.client, Request: w.body}, code))
		return
	}
	w.shard = sh
	w.ticket = groups.Ticket(co.c.tickets.Add(1))
	sh.waiting[w.ticket] = w
	co.dirty[sh.partition] = struct{}{}
	co.handling = w
	co.heard(sh, w)
	cmd := groups.Command{Ticket: w.ticket, Client: w.client, Request: w.body}
	if req, ok := w.body.(*kmsg.TxnOffsetCommitRequest); ok {
		cmd.Verify = func() int16 { return int16(co.c.verifyOffsets(req)) }
	}
	fx := sh.Handle(now, cmd)
	co.apply(now, sh, fx)
	co.handling = nil
	if !w.waits() {
		return
	}
	if co.c.clock.manual {
		w.bears, _ = sh.WaitLeft(now, group, w.ticket)
	}
	if w.script == nil && !w.likelyWaits { // else nothing that the connection reads may be written here
		w.mayClose = w.closesUnheard()
		w.news <- requestNews{parked: true}
	}
}

// unreached answers a request for whose group this node has no shard. On the loop.
func (co *coordinator) unreached(cmd groups.Command, code wire.Code) kmsg.Response {
	m := co.c.meta.Load()
	if m.topics[offsetsTopic] == nil && m.topics[transactionsTopic] == nil {
		// Kafka asks the transaction coordinator first, whether the offsets belong to a transaction.
		cmd.Verify = func() int16 { return int16(wire.CoordinatorNotAvailable) }
	}
	return groups.Unreached(co.config, groupsMetadata{m}, cmd, int16(code))
}

// ask gives the shard of a group a request that is always answered at once. On the loop.
func (co *coordinator) ask(r *request, group string, req kmsg.Request) kmsg.Response {
	sh, code := co.shardOf(r.node.id, group)
	if sh == nil {
		return co.unreached(groups.Command{Client: r.groupClient(), Request: req}, code)
	}
	return co.askShard(r, sh, req)
}

// askEach asks for several groups: the coordinator of each partition once, for all of its groups, so that what it writes for them is one batch. Kafka keeps
// the partitions in a hash map, whose order is that of the answers. On the loop.
func (co *coordinator) askEach(r *request, names []string, ask func(names []string) kmsg.Request, hear func(kmsg.Response)) {
	var order []int32
	of := map[int32][]string{}
	for _, name := range names {
		p := co.partitionOf(r.node.id, name)
		if of[p] == nil {
			order = append(order, p)
		}
		of[p] = append(of[p], name)
	}
	for _, p := range javatext.MapOrder(order, offsetsPartitionHash) {
		hear(co.ask(r, of[p][0], ask(of[p])))
	}
}

// offsetsPartitionHash is the hash code that a partition of __consumer_offsets has in Kafka's tables.
func offsetsPartitionHash(partition int32) int32 {
	return 31*(31+partition) + javatext.HashCode(offsetsTopic)
}

func (co *coordinator) askShard(r *request, sh *shard, req kmsg.Request) kmsg.Response {
	now := co.c.clock.Now()
	w := &waitingRequest{body: req, news: make(chan requestNews, 1)}
	t := groups.Ticket(co.c.tickets.Add(1))
	sh.waiting[t] = w
	co.dirty[sh.partition] = struct{}{}
	co.apply(now, sh, sh.Handle(now, groups.Command{Ticket: t, Client: r.groupClient(), Request: req}))
	select {
	case n := <-w.news:
		return n.resp
	default:
		delete(sh.waiting, t)
		panic(fmt.Sprintf("the group coordinator did not answer %s at once", wire.Key(req.Key())))
	}
}

// abandon forgets a request whose handling failed. On the loop.
func (co *coordinator) abandon(w *waitingRequest) {
	co.handling = nil
	if w.waits() {
		delete(w.shard.waiting, w.ticket)
	}
}

// release answers a held heartbeat: its connection has something else to say. On the loop.
func (co *coordinator) release(w *waitingRequest) {
	co.letGo(w, func(now time.Time) groups.Effects { return w.shard.Unpark(now, w.ticket) })
}

// gaveUp is release for a connection that is gone: its client closed it after it had waited for the answer so long in real time, or (0) it was cut here. On the loop.
func (co *coordinator) gaveUp(w *waitingRequest, waited time.Duration) {
	co.letGo(w, func(now time.Time) groups.Effects { return w.shard.GaveUp(now, w.ticket, waited) })
}

// releaseWhere answers the held heartbeats among the waiting requests that which says yes to. On the loop.
func (co *coordinator) releaseWhere(which func(*shard, *waitingRequest) bool) {
	co.eachWaiting(func(sh *shard, w *waitingRequest) {
		if which(sh, w) {
			co.release(w)
		}
	})
}

// eachWaiting gives fn each request that waits, in the order of their arrival. On the loop.
func (co *coordinator) eachWaiting(fn func(*shard, *waitingRequest)) {
	for _, p := range co.order {
		sh := co.shards[p]
		for _, w := range co.sortedWaiting(sh) {
			fn(sh, w)
		}
	}
}

// ReleaseHeartbeats answers a group's heartbeats that wait for news: each client sends its next one after its interval.
func (c *Cluster) ReleaseHeartbeats(group string) {
	c.loop.do(func() {
		c.groups.releaseWhere(func(_ *shard, w *waitingRequest) bool {
			m, ok := memberOf(w.body)
			return ok && m.group == group
		})
	})
	c.Rest()
}

// endWait fires the timer that delays the answer of a request, for a client that would give up (waitingRequest.bears). On the loop.
func (co *coordinator) endWait(w *waitingRequest, group string) {
	co.letGo(w, func(now time.Time) groups.Effects { return w.shard.EndWait(now, group, w.ticket) })
}

// letGo has the shard do what may answer a request, if it still waits. On the loop.
func (co *coordinator) letGo(w *waitingRequest, how func(now time.Time) groups.Effects) {
	if w.waits() {
		now := co.c.clock.Now()
		co.apply(now, w.shard, how(now))
		co.dirty[w.shard.partition] = struct{}{}
	}
}

// lookedUp tells the shard of a group that a client is about to come. On the loop.
func (co *coordinator) lookedUp(node int32, group string) {
	if sh, code := co.shardOf(node, group); code == wire.None {
		now := co.c.clock.Now()
		co.apply(now, sh, sh.LookedUp(now, group))
	}
}

// waitingAt are the connections of a node that wait for an answer of its shards. On the loop.
func (co *coordinator) waitingAt(n *node) []*conn {
	var all []*conn
	for _, index := range co.order {
		for _, w := range co.sortedWaiting(co.shards[index]) {
			if w.script == nil && w.conn != nil && w.conn.node == n {
				all = append(all, w.conn)
			}
		}
	}
	return all
}

func (co *coordinator) sortedWaiting(sh *shard) []*waitingRequest {
	all := make([]*waitingRequest, 0, len(sh.waiting))
	for _, t := range sortedKeys(sh.waiting) {
		all = append(all, sh.waiting[t])
	}
	return all
}

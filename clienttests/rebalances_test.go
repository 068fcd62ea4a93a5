package clienttests

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"text/tabwriter"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/fakekafka/fakekafka/fakekafka"
	"github.com/fakekafka/fakekafka/groups"
)

// BenchmarkRebalances is a report rather than a benchmark: how long unmodified clients at default settings take to share a topic when a second
// member comes, and when it goes. With each number of fakekafka's stands the client's own floor. Run it with
//
//	go test -run '^$' -bench '^BenchmarkRebalances$' -benchtime 1x .
//
// FAKEKAFKA_ROUNDS is how many joins and leaves of each client are measured (5), FAKEKAFKA_CLIENTS a part of the names of those to measure (all). With
// FAKEKAFKA_BOOTSTRAP it measures that broker, and no floors.
func BenchmarkRebalances(b *testing.B) {
	rounds := 5
	if n, err := strconv.Atoi(os.Getenv("FAKEKAFKA_ROUNDS")); err == nil && n > 0 {
		rounds = n
	}
	var all []reportRow
	for range b.N {
		all = rebalanceReport(b, rounds, os.Getenv("FAKEKAFKA_CLIENTS"))
	}
	b.ReportMetric(0, "ns/op")
	fmt.Printf("\n%d rounds a client; medians, ms\n%s", rounds, reportTable(all, rounds)) // a benchmark's log is cut after ten lines
	for _, row := range all {
		for _, complaint := range row.complaints {
			b.Errorf("%s: %s", row.client, complaint)
		}
	}
}

// reportRow is one client's line.
type reportRow struct {
	client string
	// joins and leaves are measured while the members' heartbeats wait for news. A leave counts from when the broker hears of it: how long a client
	// takes to say so is no matter of the broker's.
	joins, leaves []time.Duration
	// together is two members that start at the same instant under ExpectMembers, again how long a lone member that is told at once takes to be
	// assigned its partitions anew. again is the floor of a leave; the longer of both that of a join in one round, their sum that of a join in two.
	together, again []time.Duration
	rounds          int // of a join: 2 for a cooperative one
	// firstJoin is a join right behind the first member's, in the interval before its first heartbeat.
	firstJoin time.Duration
	// kafkaJoin, kafkaLeave are under KafkaTimings.
	kafkaJoin, kafkaLeave time.Duration
	records               int
	complaints            []string
}

func median(ds []time.Duration) time.Duration {
	if len(ds) == 0 {
		return 0
	}
	ds = slices.Clone(ds)
	slices.Sort(ds)
	return ds[len(ds)/2]
}

// metGap is how many took so long that a member must have waited for its own next heartbeat.
func metGap(ds []time.Duration) (n int) {
	for _, d := range ds {
		if d > time.Second {
			n++
		}
	}
	return n
}

func (r reportRow) joinFloor() time.Duration {
	if r.rounds == 1 {
		return max(median(r.together), median(r.again))
	}
	return median(r.together) + median(r.again)
}

func reportTable(rows []reportRow, rounds int) string {
	var out strings.Builder
	w := tabwriter.NewWriter(&out, 0, 1, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "client\tjoin\tits floor\tleave\tits floor\tmet a gap\tjoin in the first interval\tKafka's timings: join\tleave\trecords\t")
	cell := func(d time.Duration) string {
		if d == 0 {
			return "-"
		}
		return fmt.Sprintf("%.0f", ms(d))
	}
	for _, r := range rows {
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%d of %d\t%s\t%s\t%s\t%d\t\n", r.client, cell(median(r.joins)), cell(r.joinFloor()), cell(median(r.leaves)),
			cell(median(r.again)), metGap(r.joins)+metGap(r.leaves), 2*rounds, cell(r.firstJoin), cell(r.kafkaJoin), cell(r.kafkaLeave), r.records)
	}
	w.Flush()
	return out.String()
}

// reportKind is a client with one of its strategies.
type reportKind struct {
	name   string
	start  func(addr, group, topic string) (*worker, error)
	rounds int // of a join
}

// reportKinds are those of the report, without Java's.
func reportKinds() []reportKind {
	kinds := []reportKind{
		{"franz-go range", franzWorker(kgo.Balancers(kgo.RangeBalancer())), 1},
		{"franz-go sticky", franzWorker(kgo.Balancers(kgo.StickyBalancer())), 1},
		{"franz-go cooperative-sticky", franzWorker(kgo.Balancers(kgo.CooperativeStickyBalancer())), 2},
		{"franz-go KIP-848", franzWorker(kgo.Balancers(kgo.StickyBalancer()), kgo.ServerSideBalancer()), 2},
		{"kafka-go range", kafkaGoWorker, 1},
	}
	return append(kinds, confluentReportKinds()...)
}

func javaReportKinds(j *jvm) []reportKind {
	n := 0
	var mu sync.Mutex
	kind := func(name string, rounds int, settings ...string) reportKind {
		return reportKind{"Java " + name, func(addr, group, topic string) (*worker, error) {
			mu.Lock()
			n++
			id := fmt.Sprintf("java-%d", n)
			mu.Unlock()
			m, err := j.start(id, addr, group, topic, settings...)
			if err != nil {
				return nil, err
			}
			return m.worker, nil
		}, rounds}
	}
	const strategy = "partition.assignment.strategy=org.apache.kafka.clients.consumer."
	return []reportKind{
		kind("range", 1, strategy+"RangeAssignor"),
		kind("sticky", 1, strategy+"StickyAssignor"),
		kind("cooperative-sticky", 2, strategy+"CooperativeStickyAssignor"),
		kind("KIP-848", 2, "group.protocol=consumer"),
	}
}

// rebalanceReport measures all clients whose name has the part in it, a few at a time: mostly they wait for their own intervals.
func rebalanceReport(b testing.TB, rounds int, part string) []reportRow {
	kinds := append(reportKinds(), javaReportKinds(startJVM(b))...)
	kinds = slices.DeleteFunc(kinds, func(k reportKind) bool { return !strings.Contains(k.name, part) })
	rows := make([]reportRow, len(kinds))
	seats := make(chan struct{}, 6)
	var running sync.WaitGroup
	for i, kind := range kinds {
		running.Go(func() {
			seats <- struct{}{}
			defer func() { <-seats }()
			rows[i] = measure(b, kind, rounds)
			slices.SortFunc(rows[i].complaints, cmp.Compare)
		})
	}
	running.Wait()
	return rows
}

// measure fills a client's line. What goes wrong is a complaint in it.
func measure(b testing.TB, kind reportKind, rounds int) reportRow {
	row := reportRow{client: kind.name, rounds: kind.rounds}
	note := func(what string, err error) bool {
		if err != nil {
			row.complaints = append(row.complaints, what+": "+err.Error())
		}
		return err == nil
	}
	if addr := os.Getenv("FAKEKAFKA_BOOTSTRAP"); addr != "" {
		p, err := newPair(b, kind, addr)
		if note("starting", err) {
			note("", p.run(rounds, &row))
		}
		return row
	}

	k, err := reportCluster()
	if !note("starting", err) {
		return row
	}
	defer k.Close()
	p, err := newPair(b, kind, k.Bootstrap())
	p.k = k
	if !note("starting", err) || !note("with prompt heartbeats", p.run(rounds, &row)) {
		return row
	}
	for range rounds {
		if !note("the floor", floors(b, kind, &row)) {
			return row
		}
	}
	slow, err := reportCluster(fakekafka.KafkaTimings())
	if !note("starting", err) {
		return row
	}
	defer slow.Close()
	p, err = newPair(b, kind, slow.Bootstrap())
	if note("starting", err) {
		var kafka reportRow
		note("with Kafka's timings", p.run(1, &kafka))
		row.kafkaJoin, row.kafkaLeave = median(kafka.joins), median(kafka.leaves)
	}
	return row
}

const pairPartitions = 4

// reportCluster is not started under the benchmark: a complaint about one client must not print the timelines of all.
func reportCluster(opts ...fakekafka.Option) (*fakekafka.Cluster, error) {
	return fakekafka.New(append(opts, fakekafka.Topic("orders", pairPartitions), fakekafka.WaitLimit(limit))...)
}

// pair is two members of a group, of which the second comes and goes, while a producer sends.
type pair struct {
	tb     testing.TB
	ctx    context.Context
	kind   reportKind
	k      *fakekafka.Cluster // nil: another broker, or Kafka's timings
	addr   string
	topic  string
	group  string
	first  *worker
	second *worker
	past   []*worker   // that were second before
	sent   *production // nil: nothing is
}

func newPair(tb testing.TB, kind reportKind, addr string) (*pair, error) {
	ctx, cancel := context.WithTimeout(context.Background(), 4*time.Minute)
	tb.Cleanup(cancel)
	p := &pair{tb: tb, ctx: ctx, kind: kind, addr: addr, topic: "orders", group: "workers"}
	if os.Getenv("FAKEKAFKA_BOOTSTRAP") != "" {
		suffix := fmt.Sprintf("-%s-%d", strings.ReplaceAll(kind.name, " ", "-"), time.Now().UnixNano())
		p.topic, p.group = p.topic+suffix, p.group+suffix
		if err := (franz{}).create(ctx, addr, p.topic, pairPartitions); err != nil {
			return p, err
		}
	}
	return p, nil
}

// settled waits until the members have read what was sent so far, and until their heartbeats wait, where that can be seen; else until their first
// interval has passed. A librdkafka member of KIP-848 that is told to revoke while it looks up where to begin reads twice (clienttests/DIFFERENCES.md).
func (p *pair) settled(n int) error {
	if err := p.haveRead(p.sent.soFar()); err != nil {
		return err
	}
	if p.k == nil {
		time.Sleep(4 * time.Second)
		return nil
	}
	return p.until(func() error { return heartbeatsHeld(p.k.Group(p.group).State(), n) })
}

func (p *pair) until(ask func() error) error { return (&env{}).until(p.ctx, ask) }

// shared waits until the members have so many partitions.
func (p *pair) shared(what string, first, second int) error {
	moved := p.first.moved
	var moved2 chan struct{}
	if p.second != nil {
		moved2 = p.second.moved
	}
	for p.first.has() != first || p.second != nil && p.second.has() != second {
		select {
		case <-moved:
		case <-moved2:
		case <-p.ctx.Done():
			return fmt.Errorf("waiting for %s: %w", what, p.ctx.Err())
		}
	}
	return nil
}

func (p *pair) run(rounds int, row *reportRow) (err error) {
	if p.first, err = p.kind.start(p.addr, p.group, p.topic); err != nil {
		return err
	}
	defer func() {
		if p.second != nil {
			_ = p.second.close()
		}
		if cerr := p.first.close(); err == nil {
			err = cerr
		}
	}()
	if err := p.shared("the first assignment", pairPartitions, 0); err != nil {
		return err
	}
	stop := make(chan struct{})
	sent := produceSteadily(p.ctx, p.addr, p.topic, stop)
	p.sent = sent
	row.firstJoin, err = p.join()
	if err == nil {
		_, err = p.leave()
	}
	for range rounds {
		var join, leave time.Duration
		if err == nil {
			join, err = p.join()
		}
		if err == nil {
			leave, err = p.leave()
		}
		if err != nil {
			break
		}
		row.joins, row.leaves = append(row.joins, join), append(row.leaves, leave)
	}
	close(stop)
	<-sent.done
	if err = cmp.Or(err, sent.err); err != nil {
		return err
	}
	row.records = len(sent.values)
	return p.eachOnce(sent.values)
}

// join lets a second member come, and answers how long it took until both had their share; then the members are settled.
func (p *pair) join() (time.Duration, error) {
	start := time.Now()
	second, err := p.kind.start(p.addr, p.group, p.topic)
	if err != nil {
		return 0, err
	}
	p.second = second
	if err := p.shared("both members' share", 2, 2); err != nil {
		return 0, err
	}
	d := time.Since(start)
	return d, p.settled(2)
}

func (p *pair) leave() (time.Duration, error) {
	start := time.Now()
	second := p.second
	p.past = append(p.past, second)
	p.second = nil
	closed := make(chan error, 1)
	go func() { closed <- second.close() }()
	err := p.shared("all partitions again", pairPartitions, 0)
	d := time.Since(start)
	if cerr := <-closed; err == nil {
		err = cerr
	}
	if err != nil {
		return 0, err
	}
	if p.k != nil {
		// From when the broker hears of it.
		d -= max(0, lastEvent(p.k.Group(p.group), groups.EventLeft).Sub(start))
	}
	return d, p.settled(1)
}

// times counts how often the members have received a value.
func (p *pair) times(value string) (n int) {
	for _, w := range append(p.past, p.first, p.second) {
		if w != nil {
			n += w.received(value)
		}
	}
	return n
}

// haveRead waits until the members have received all of the values.
func (p *pair) haveRead(values []string) error {
	ctx, cancel := context.WithTimeout(p.ctx, 10*time.Second)
	defer cancel()
	err := (&env{}).until(ctx, func() error {
		lost := slices.DeleteFunc(slices.Clone(values), func(v string) bool { return p.times(v) > 0 })
		if len(lost) > 0 {
			return fmt.Errorf("%d of %d records were not read: %v", len(lost), len(values), lost)
		}
		return nil
	})
	return err
}

// eachOnce holds the members to it that no record was lost, and none read twice.
func (p *pair) eachOnce(values []string) error {
	if err := p.haveRead(values); err != nil {
		return err
	}
	twice := slices.DeleteFunc(slices.Clone(values), func(v string) bool { return p.times(v) == 1 })
	if len(twice) > 0 {
		return fmt.Errorf("%d of %d records were read twice: %v", len(twice), len(values), twice)
	}
	return nil
}

// floors measures, once each, two members that start together and a lone member that is told to rebalance.
func floors(b testing.TB, kind reportKind, row *reportRow) error {
	k, err := reportCluster(fakekafka.Config("group.initial.rebalance.delay.ms", "0"))
	if err != nil {
		return err
	}
	defer k.Close()
	p, err := newPair(b, kind, k.Bootstrap())
	if err != nil {
		return err
	}
	p.k = k
	g := k.Group(p.group)
	if err := g.ExpectMembers(2); err != nil {
		return err
	}
	start := time.Now()
	ws := make([]*worker, 2)
	errs := make([]error, 2)
	var starting sync.WaitGroup
	for i := range ws {
		starting.Go(func() { ws[i], errs[i] = kind.start(p.addr, p.group, p.topic) })
	}
	starting.Wait()
	if err := cmp.Or(errs[0], errs[1]); err != nil {
		return err
	}
	p.first, p.second = ws[0], ws[1]
	defer func() { _ = p.first.close() }()
	err = p.shared("two members that start together", 2, 2)
	row.together = append(row.together, time.Since(start))
	if cerr := p.second.close(); err == nil {
		err = cerr
	}
	if err != nil {
		return err
	}
	p.second = nil
	if err := p.shared("all partitions again", pairPartitions, 0); err != nil {
		return err
	}
	if err := p.settled(1); err != nil {
		return err
	}
	epoch := g.State().Epoch
	start = time.Now()
	if err := g.Rebalance(); err != nil {
		return err
	}
	if err := p.until(func() error {
		if s := g.State(); s.Epoch == epoch || s.State != "Stable" || len(s.Members) != 1 || s.Members[0].Epoch != s.Epoch {
			return fmt.Errorf("group at epoch %d, told to rebalance at %d: %+v", s.Epoch, epoch, s.Members)
		}
		return nil
	}); err != nil {
		return err
	}
	row.again = append(row.again, lastEvent(g, groups.EventStable).Sub(start))
	return nil
}

// lastEvent is when a group had an event of this kind last.
func lastEvent(g *fakekafka.Group, kind groups.EventKind) time.Time {
	for _, e := range slices.Backward(g.History()) {
		if e.Kind == kind {
			return e.At
		}
	}
	return time.Time{}
}

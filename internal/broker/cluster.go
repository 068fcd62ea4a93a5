package broker

import (
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"log/slog"
	mathrand "math/rand/v2"
	"net"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/fakekafka/fakekafka/assignors"
	"github.com/fakekafka/fakekafka/internal/config"
	"github.com/fakekafka/fakekafka/internal/wire"
	"github.com/fakekafka/fakekafka/partitionlog"
)

// Options is how a cluster is started. The zero value is one broker on a free loopback port.
type Options struct {
	Topics    []TopicSpec
	Brokers   int               // default 1
	Racks     []string          // the i-th for node i+1; empty or as many as brokers
	Config    map[string]string // broker settings by Kafka's names
	MaxMemory int64             // bytes of batches that all logs may hold together; 0: no bound
	Listen    string            // default 127.0.0.1:0; with a port and several brokers they listen on consecutive ports
	Advertise string            // host told to clients; default: the listener's
	// KafkaTimings takes back what fakekafka does faster than Kafka.
	KafkaTimings bool
	Logger       *slog.Logger // default: discards
	Seed         uint64       // of ids and choices; 0 draws one
	Assignors    []assignors.ServerAssignor
	// ManualClock stands at this instant until FastForward moves it; zero: the machine's time.
	ManualClock time.Time
	// Network is where brokers listen; nil: TCP.
	Network network

	// Unserved is told of each request that this broker doesn't serve; its connection is closed. Called from any goroutine.
	Unserved func(client string, key wire.Key, version int16)
	// User is told of a mistake in the test's own code, such as a panic in a When. Called from any goroutine.
	User func(text string)
	// Bug is told of a defect of fakekafka itself, such as a panic in a handler. Called from any goroutine.
	Bug func(text string)
}

// TopicSpec is a topic to be there from the start.
type TopicSpec struct {
	Name              string
	Partitions        int32
	ReplicationFactor int16 // 0: default.replication.factor, at most the number of brokers
	Configs           map[string]string
}

// Cluster is a running set of brokers.
type Cluster struct {
	id        string
	seed      uint64
	options   Options
	log       *slog.Logger
	clock     *clock
	network   network
	advertise string
	nodes     []*node // ascending by id; fixed
	loop      *loop
	meta      published
	public    bool // clients may have come: what meta points to may be in their hands, so that a change works on a copy
	handlers  *[maxKey]handler
	decoding  *budget
	memory    memoryBound
	rules     rules
	pauses    pauses
	strays    strays
	created   strays // topics that a client had made by asking for them
	watchers  watchers
	pulses    fetchPulses
	// codecs are scratch memory for looking into compressed batches. They have channels inside, and so belong to one cluster: a synctest
	// bubble can't use those of another one.
	codecs sync.Pool
	logs   sync.Mutex // held while a connection's log moves to ended, so that no request is missed or counted twice
	ended  requestLog // of the connections that have ended, and of scripted members

	// Owned by the control loop.
	config    *config.Cluster
	scratch   *partitionlog.Codecs // see loopCodecs
	rand      *mathrand.Rand
	groups    *coordinator
	txns      *txnCoordinator
	history   history
	refused   refusedBatches
	tasks     []*task
	quotas    quotas
	scram     scramCredentials
	telemetry telemetry

	// quotaTable are the quotas that were set, nil if none; replaced as a whole, by the loop.
	quotaTable atomic.Pointer[quotaTable]
	throttles  throttles

	// features are the finalized levels that were changed; replaced as a whole, by the loop.
	features atomic.Pointer[map[string]int16]

	nextProducerID atomic.Int64
	connIDs        atomic.Uint64
	tickets        atomic.Uint64

	mu      sync.Mutex
	closed  bool
	closing chan struct{} // closed by Close: whoever waits without a connection stops
	wg      sync.WaitGroup
	users   sync.WaitGroup // the goroutines in user code
}

// New starts a cluster. Its topics exist and its listeners accept when it returns.
func New(o Options) (*Cluster, error) {
	c, err := build(o)
	if err != nil {
		return nil, err
	}
	for _, n := range c.nodes {
		if err := n.open(); err != nil {
			for _, opened := range c.nodes {
				opened.stop("the broker did not start")
			}
			return nil, err
		}
	}
	// Ports are known only now, and nobody is let in before clients can be told of them. The loop doesn't run yet.
	c.change(func(m *metadata) { m.nodes = c.describeNodes() })
	c.public = true
	c.spawn(c.loop.run)
	for _, n := range c.nodes {
		if err := n.begin(); err != nil {
			return nil, err
		}
	}
	return c, nil
}

// complete fills in the defaults, or says what is wrong with the options.
func (o *Options) complete() error {
	if o.Brokers == 0 {
		o.Brokers = 1
	}
	if o.Brokers < 1 || o.Brokers > 1000 {
		return fmt.Errorf("brokers: %d is not from 1 to 1000", o.Brokers)
	}
	if len(o.Racks) > 0 && len(o.Racks) != o.Brokers {
		return fmt.Errorf("racks: %d given for %d brokers; give one for each, the i-th for node i", len(o.Racks), o.Brokers)
	}
	if o.Listen == "" {
		o.Listen = "127.0.0.1:0"
	}
	_, port, err := splitAddr(o.Listen)
	if err != nil {
		return fmt.Errorf("listen: %q is not HOST:PORT: %w", o.Listen, err)
	}
	if port > 0 && int(port)+o.Brokers-1 > 65535 {
		return fmt.Errorf("listen: %d brokers from port %d on need ports up to %d", o.Brokers, port, int(port)+o.Brokers-1)
	}
	if o.Network == nil {
		o.Network = tcp{}
	}
	if o.Logger == nil {
		o.Logger = discard
	}
	if o.Seed == 0 {
		o.Seed = mathrand.Uint64() | 1
	}
	return nil
}

// build makes a cluster with its topics. Nothing of it runs yet.
func build(o Options) (*Cluster, error) {
	if err := o.complete(); err != nil {
		return nil, err
	}
	c := &Cluster{
		options: o, seed: o.Seed, network: o.Network, advertise: o.Advertise,
		rand:     mathrand.New(mathrand.NewPCG(o.Seed, 0)),
		clock:    newClock(),
		decoding: newBudget(256 << 20),
		closing:  make(chan struct{}),
		scram:    scramCredentials{},
	}
	c.log = o.Logger
	if c.log != discard {
		c.log = c.later(c.log)
	}
	c.codecs.New = func() any { return new(partitionlog.Codecs) }
	if !o.ManualClock.IsZero() {
		c.clock = newManualClock(o.ManualClock)
	}
	id := c.uuid()
	c.id = base64.RawURLEncoding.EncodeToString(id[:])
	c.nextProducerID.Store(-1)

	c.nodes = newNodes(c)
	perBroker := make(map[int32]map[string]string, len(c.nodes))
	for _, n := range c.nodes {
		perBroker[n.id] = nil
		if len(o.Racks) > 0 {
			perBroker[n.id] = map[string]string{"broker.rack": n.rack}
		}
	}
	var err error
	c.config, err = config.New(config.Start{Static: o.Config, PerBroker: perBroker, Listeners: c.listeners, Defaults: defaults(&o)})
	if err != nil {
		return nil, err
	}
	for _, n := range c.nodes {
		n.values.Store(c.config.Broker(n.id))
	}
	for _, name := range sortedKeys(o.Config) {
		if noEffect, _ := config.Check(name, o.Config[name]); noEffect { // errors were found above
			o.Logger.Warn("this setting is Kafka's, but changes nothing here", "config", name, "value", o.Config[name])
		}
	}
	c.handlers = handlers()
	c.loop = newLoop(c.clock)
	c.groups = newCoordinator(c)
	c.txns = newTxnCoordinator(c)
	c.history.started, c.history.limit = c.clock.Now(), historyFor(o.MaxMemory)
	c.loop.failed = func(p *panicked) { c.bug("on the control loop: %v", p) }
	c.loop.endTurn = c.endTurn
	c.loop.deadline = c.deadline
	c.loop.tick = c.tick
	first := &metadata{topics: map[string]*topic{}, ids: map[[16]byte]*topic{}, nodes: c.describeNodes()}
	for _, n := range first.nodes {
		n.alive = true // all are about to start
	}
	c.meta.Store(first.seal())

	if err := c.createFirst(o.Topics); err != nil {
		return nil, err
	}
	c.memory.limit = o.MaxMemory
	c.scheduleLogs()
	c.txns.schedule()
	return c, nil
}

// newNodes are the brokers of the options: with a port they listen on that and the following ones.
func newNodes(c *Cluster) []*node {
	o := &c.options
	host, port, _ := splitAddr(o.Listen) // it was checked
	nodes := make([]*node, o.Brokers)
	for i := range nodes {
		n := &node{cluster: c, id: int32(i + 1), conns: map[*conn]struct{}{}, freed: make(chan struct{}, 1), listen: o.Listen}
		if port > 0 && i > 0 {
			n.listen = net.JoinHostPort(host, strconv.Itoa(int(port)+i))
		}
		if len(o.Racks) > 0 {
			n.rack = o.Racks[i]
		}
		nodes[i] = n
	}
	return nodes
}

// defaultsKind is what the defaults depend on; there are few of them.
type defaultsKind struct {
	copies, inSync int    // of the internal topics
	delay          string // group.initial.rebalance.delay.ms; "": Kafka's
}

// allDefaults are the defaults of each kind, shared by all clusters.
var allDefaults sync.Map // defaultsKind to *config.Defaults

// defaults are the settings whose default differs from Kafka's, with the reason.
func defaults(o *Options) *config.Defaults {
	// Three copies of the internal topics can't be had on fewer brokers.
	k := defaultsKind{copies: min(o.Brokers, 3), inSync: min(o.Brokers, 2)}
	if !o.KafkaTimings {
		// Long enough that members started together share the first generation (a member that joins later makes another one).
		k.delay = "20"
		if !o.ManualClock.IsZero() {
			k.delay = "0" // nothing moves that clock but the test
		}
	}
	if d, ok := allDefaults.Load(k); ok {
		return d.(*config.Defaults)
	}
	d, _ := allDefaults.LoadOrStore(k, k.settings())
	return d.(*config.Defaults)
}

func (k defaultsKind) settings() *config.Defaults {
	copies, inSync := strconv.Itoa(k.copies), strconv.Itoa(k.inSync)
	settings := map[string]string{
		"offsets.topic.replication.factor":                 copies,
		"transaction.state.log.replication.factor":         copies,
		"transaction.state.log.min.isr":                    inSync,
		"share.coordinator.state.topic.replication.factor": copies,
		"share.coordinator.state.topic.min.isr":            inSync,
	}
	if k.delay != "" {
		settings["group.initial.rebalance.delay.ms"] = k.delay
	}
	d, err := config.NewDefaults(settings)
	if err != nil {
		panic(err) // a name or number above is wrong
	}
	return d
}

// createFirst creates the topics of the options, before anything runs.
func (c *Cluster) createFirst(specs []TopicSpec) error {
	if len(specs) == 0 {
		return nil
	}
	m := c.meta.Load()
	var plans []*topicPlan
	for _, s := range specs {
		w := wantedTopic{name: s.Name, partitions: s.Partitions, replicas: s.ReplicationFactor}
		if w.replicas == 0 {
			w.replicas = int16(min(c.settings(c.nodes[0].id).Int("default.replication.factor"), len(c.nodes)))
		}
		for _, k := range sortedKeys(s.Configs) {
			if err := config.CheckTopicSettingName(k); err != nil {
				return fmt.Errorf("topic %q: %w", s.Name, err)
			}
			value := s.Configs[k]
			w.configs = append(w.configs, config.Setting{Name: k, Value: &value})
		}
		if slices.ContainsFunc(plans, func(o *topicPlan) bool { return o.name == s.Name }) {
			return fmt.Errorf("topic %q is given twice", s.Name)
		}
		p, err := c.planTopic(m, w)
		if err != nil {
			return fmt.Errorf("topic %q: %w", s.Name, err)
		}
		plans = append(plans, p)
	}
	c.createTopics(plans)
	return nil
}

// settings are the broker settings in force at a node. Safe from any goroutine.
func (c *Cluster) settings(node int32) *config.Values { return c.nodes[node-1].values.Load() }

// refreshSettings publishes the settings after a change. On the loop.
func (c *Cluster) refreshSettings() {
	for _, n := range c.nodes {
		n.values.Store(c.config.Broker(n.id))
	}
	c.groups.configChanged()
}

// loopCodecs is the scratch memory of what reads and writes the coordinators' records; it is made when there are some. On the loop.
func (c *Cluster) loopCodecs() *partitionlog.Codecs {
	if c.scratch == nil {
		c.scratch = new(partitionlog.Codecs)
	}
	return c.scratch
}

// uuid makes a topic, cluster or directory id. On the loop (or before it runs).
func (c *Cluster) uuid() (id [16]byte) {
	binary.BigEndian.PutUint64(id[:8], c.rand.Uint64())
	binary.BigEndian.PutUint64(id[8:], c.rand.Uint64())
	id[6] = id[6]&0x0f | 0x40 // a version 4 UUID, as Kafka's random ids
	id[8] = id[8]&0x3f | 0x80
	if id[0] == 0xf8 {
		id[0] = 0 // Kafka avoids ids whose text begins with a dash
	}
	return id
}

// spawn runs fn on a goroutine of the cluster, which Close waits for. It answers false when the cluster is closing.
func (c *Cluster) spawn(fn func()) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return false
	}
	c.wg.Go(fn)
	return true
}

// forget drops an ended connection.
func (c *Cluster) forget(cn *conn) {
	c.logs.Lock()
	cn.node.mu.Lock()
	delete(cn.node.conns, cn)
	cn.node.mu.Unlock()
	c.ended.absorb(cn.requests)
	c.logs.Unlock()
	signal(cn.node.freed)
	c.changed()
}

// Close cuts all connections, ends every goroutine of the cluster and waits for them. Calling it again is fine. In user code (a When, for
// instance) it can't wait for its caller: then it returns when everything else has ended.
func (c *Cluster) Close() error {
	c.mu.Lock()
	already := c.closed
	c.closed = true
	c.mu.Unlock()
	if !already {
		close(c.closing)
		for _, n := range c.nodes {
			n.stop("the broker is closing")
		}
		c.loop.close()
	}
	slow := time.AfterFunc(5*time.Second, func() {
		c.log.Warn("Close takes long: user code (a When, Observe or assignor function) may not have returned")
	})
	defer slow.Stop()
	c.wg.Wait()
	if !inUserCode() {
		c.users.Wait()
	}
	return nil
}

// CheckOpen answers that the cluster is closed, if it is.
func (c *Cluster) CheckOpen() error {
	select {
	case <-c.closing:
		return errClosed
	default:
		return nil
	}
}

// Addrs are the brokers' addresses, by node id.
func (c *Cluster) Addrs() []string {
	addrs := make([]string, len(c.nodes))
	for i, n := range c.nodes {
		host, port := n.addr()
		addrs[i] = net.JoinHostPort(host, strconv.Itoa(int(port)))
	}
	return addrs
}

// Seed is what ids and choices are drawn from.
func (c *Cluster) Seed() uint64 { return c.seed }

// unserved reports a request that this broker doesn't serve.
func (c *Cluster) unserved(cn *conn, key wire.Key, version int16) {
	c.log.Warn("request not served, connection closed", "api", key.String(), "version", version, "client", cn.clientID())
	if f := c.options.Unserved; f != nil {
		f(cn.clientID(), key, version)
	}
}

// bug reports a defect of fakekafka itself.
func (c *Cluster) bug(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	c.log.Error("defect in fakekafka", "what", text)
	if f := c.options.Bug; f != nil {
		f(text)
	}
}

func (c *Cluster) endTurn(now time.Time) {
	c.groups.flush(now)
	c.groups.settle(now)
	c.watchers.look()
}

// deadline is when the loop has something to do by itself.
func (c *Cluster) deadline() (time.Time, bool) {
	at, ok := c.groups.deadline()
	if t := c.nextTask(); t != nil && (!ok || t.at.Before(at)) {
		at, ok = t.at, true
	}
	if t, has := c.groups.scripts.deadline(); has && (!ok || t.Before(at)) {
		at, ok = t, true
	}
	return at, ok
}

func (c *Cluster) tick(now time.Time) {
	c.runTasks(now)
	c.groups.scripts.tick(now)
	c.groups.tick(now)
}

func (c *Cluster) describeNodes() []*nodeInfo {
	infos := make([]*nodeInfo, len(c.nodes))
	for i, n := range c.nodes {
		host, port := n.addr()
		n.mu.Lock()
		infos[i] = &nodeInfo{id: n.id, host: host, port: port, rack: n.rack, alive: n.listener != nil}
		if listens, _, err := splitAddr(n.listen); err == nil {
			infos[i].everywhere = c.advertise == "" && unspecified(listens)
		}
		n.mu.Unlock()
	}
	return infos
}

// change makes the next picture of the cluster and tells the coordinators. On the loop (or before it runs).
func (c *Cluster) change(edit func(*metadata)) {
	m := c.meta.Load()
	if c.public {
		m = m.next()
	} else {
		m.version++ // nobody else has it
	}
	edit(m)
	c.meta.Store(m.seal())
	c.groups.metadataChanged(c.clock.Now())
	c.txns.metadataChanged(c.clock.Now())
}

package fakekafka

import (
	"errors"
	"fmt"
	"log/slog"
	"net"
	"strings"
	"time"

	"github.com/fakekafka/fakekafka/assignors"
	"github.com/fakekafka/fakekafka/internal/broker"
	"github.com/fakekafka/fakekafka/internal/memnet"
)

// Option is a setting of [Start] and [New]. A bad one makes them fail at once, naming itself. Of one that is given twice the last counts, so that a helper's can be
// overridden; a topic, a Config or an Assignor that is given twice is an error.
type Option func(*options) error

// options is what the options add up to.
type options struct {
	broker    broker.Options
	noLeaks   bool
	memory    *memnet.Network // nil: TCP
	waitLimit time.Duration
	ignored   map[string]bool // API names that may be asked for though they aren't served
}

// defaultWaitLimit bounds every Await call where WaitLimit doesn't say otherwise.
const defaultWaitLimit = 10 * time.Second

func collect(opts []Option) (*options, error) {
	o := &options{broker: broker.Options{Config: map[string]string{}}, waitLimit: defaultWaitLimit, ignored: map[string]bool{}}
	for i, opt := range opts {
		if opt == nil {
			return nil, fmt.Errorf("fakekafka: option %d is nil", i+1)
		}
		if err := opt(o); err != nil {
			return nil, fmt.Errorf("fakekafka: %w", err)
		}
	}
	if err := o.shadowed(); err != nil {
		return nil, fmt.Errorf("fakekafka: %w", err)
	}
	if o.memory != nil {
		if o.broker.Listen != "" {
			return nil, fmt.Errorf("fakekafka: Listen(%q) and InMemoryNetwork: in memory there is nothing to listen on; leave one of them out", o.broker.Listen)
		}
		o.broker.Listen = nowhere
	}
	return o, nil
}

// shadowed refuses an assignor that no member could ask for: one before it has its name.
func (o *options) shadowed() error {
	kafkas := "uniform,range"
	if given, ok := o.broker.Config["group.consumer.assignors"]; ok {
		kafkas = given
	}
	taken := map[string]string{}
	for name := range strings.SplitSeq(kafkas, ",") {
		taken[strings.TrimSpace(name)] = "Kafka's own has this name, and members would get that one: give yours another"
	}
	for _, a := range o.broker.Assignors {
		if why := taken[a.Name()]; why != "" {
			return fmt.Errorf("Assignor(%q): %s", a.Name(), why)
		}
		taken[a.Name()] = "it is given twice"
	}
	return nil
}

// tooFewBrokers says, in the error of a start, what a topic with more replicas than there are brokers needs.
func (o *options) tooFewBrokers() string {
	most := 0
	for _, t := range o.broker.Topics {
		most = max(most, int(t.ReplicationFactor))
	}
	if most <= max(o.broker.Brokers, 1) {
		return ""
	}
	return fmt.Sprintf("give Brokers(%d), or fewer Replicas", most)
}

// TopicConfig sets one of Kafka's topic configs on a topic: see [With].
type TopicConfig struct{ name, value string }

// With sets a topic config by Kafka's own name, such as With("cleanup.policy", "compact").
func With(name, value string) TopicConfig { return TopicConfig{name, value} }

// replicationFactor is the pseudo config by which Replicas travels.
const replicationFactor = "replication.factor"

// Replicas sets a topic's replication factor. Default: default.replication.factor (Kafka: 1), at most the number of brokers.
func Replicas(n int) TopicConfig { return TopicConfig{replicationFactor, fmt.Sprint(n)} }

// Topic creates a topic before the cluster accepts clients. Partition p is led by broker (p mod n)+1 of n.
func Topic(name string, partitions int, configs ...TopicConfig) Option {
	return func(o *options) error {
		t := broker.TopicSpec{Name: name, Partitions: int32(partitions)}
		if partitions < 1 || partitions > 1_000_000 {
			return fmt.Errorf("Topic(%q, %d): the number of partitions must be from 1 to 1000000", name, partitions)
		}
		for _, c := range configs {
			if c.name == replicationFactor {
				if _, err := fmt.Sscan(c.value, &t.ReplicationFactor); err != nil || t.ReplicationFactor < 1 {
					return fmt.Errorf("Topic(%q): Replicas(%s) must be from 1 to the number of brokers", name, c.value)
				}
				continue
			}
			if t.Configs == nil {
				t.Configs = map[string]string{}
			}
			if _, twice := t.Configs[c.name]; twice {
				return fmt.Errorf("Topic(%q): With(%q) is given twice", name, c.name)
			}
			t.Configs[c.name] = c.value
		}
		o.broker.Topics = append(o.broker.Topics, t)
		return nil
	}
}

// Brokers sets the number of brokers. Default 1. Their node ids are 1 to n.
func Brokers(n int) Option {
	return func(o *options) error {
		if n < 1 || n > 1000 {
			return fmt.Errorf("Brokers(%d): must be from 1 to 1000", n)
		}
		o.broker.Brokers = n
		return nil
	}
}

// Racks sets the brokers' racks, the i-th for node i. Default: none. Another number than there are brokers is an error.
func Racks(racks ...string) Option {
	return func(o *options) error {
		o.broker.Racks = racks
		return nil
	}
}

// Config sets a broker setting by Kafka's own name, such as Config("group.consumer.session.timeout.ms", "45000"). An unknown name
// or a bad value is an error. A name that Kafka knows but that has no meaning here is accepted and logged once.
func Config(name, value string) Option {
	return func(o *options) error {
		if _, twice := o.broker.Config[name]; twice {
			return fmt.Errorf("Config(%q): set twice", name)
		}
		o.broker.Config[name] = value
		return nil
	}
}

// AutoCreateTopics says whether a client that asks for an unknown topic gets it created (auto.create.topics.enable).
// Default true, as in Kafka.
func AutoCreateTopics(on bool) Option {
	return Config("auto.create.topics.enable", fmt.Sprint(on))
}

// Listen sets where the first broker listens. Default "127.0.0.1:0", a free port; with a port given further brokers take
// the ports after it. With [InMemoryNetwork] it is an error.
func Listen(addr string) Option {
	return func(o *options) error {
		if addr == "" {
			return errors.New(`Listen(""): give HOST:PORT, such as 127.0.0.1:9092; port 0 takes a free one`)
		}
		o.broker.Listen = addr
		return nil
	}
}

// Advertise sets the host that clients are told to connect to. Default: the one that the brokers listen on; where that is all addresses (Listen("0.0.0.0:9092")), each
// client is told the address by which it came.
func Advertise(host string) Option {
	return func(o *options) error {
		if host == "" {
			return errors.New(`Advertise(""): give a host name or an address`)
		}
		if strings.ContainsAny(host, " /[]") || strings.Contains(host, ":") && net.ParseIP(host) == nil {
			return fmt.Errorf("Advertise(%q): give a host name or an address alone; ports are the listeners' own", host)
		}
		o.broker.Advertise = host
		return nil
	}
}

// KafkaTimings takes back what fakekafka does sooner than Apache Kafka: the initial rebalance delay is 3 s, heartbeats are
// answered at once, the server-side assignor runs at Kafka's interval, internal topics appear a moment after the first client asked.
func KafkaTimings() Option {
	return func(o *options) error {
		o.broker.KafkaTimings = true
		return nil
	}
}

// Logger sets where the brokers log. Default: under [Start] warnings go to the test's log; under [New] nothing is logged.
// Its handler is called for one line after the other, on a goroutine of its own: it may call the cluster, which doesn't wait for it.
func Logger(l *slog.Logger) Option {
	return func(o *options) error {
		if l == nil {
			return errors.New("Logger(nil): give a logger, or leave the option out")
		}
		o.broker.Logger = l
		return nil
	}
}

// Seed sets what ids and choices are drawn from, so that a run can be repeated. Default: drawn at random and told when a test fails.
func Seed(n uint64) Option {
	return func(o *options) error {
		if n == 0 {
			return errors.New("Seed(0): give a number from 1 on; 0 stands for a random seed")
		}
		o.broker.Seed = n
		return nil
	}
}

// MaxMemory bounds what all logs hold together, in bytes of record batches as they are stored, compressed or not. When it is reached the oldest records
// go, more of them from larger topics, and the log start offsets move up; a line in the log says how many. The topics of the coordinators
// (groups, offsets, transactions) count, but lose nothing: they are compacted. The history remembers as many events as a tenth of it holds, at least 2,048.
// It is for a broker that runs for days; retention settings work as well. At least 1 MiB. Default: no bound; the
// history remembers 1,048,576 events then, which may take half a gigabyte.
func MaxMemory(bytes int64) Option {
	return func(o *options) error {
		if bytes < 1<<20 {
			return fmt.Errorf("MaxMemory(%d): give bytes, at least 1048576", bytes)
		}
		o.broker.MaxMemory = bytes
		return nil
	}
}

// NoLeaks makes the test fail, by name, when a client is still connected at its end.
func NoLeaks() Option {
	return func(o *options) error {
		o.noLeaks = true
		return nil
	}
}

// WaitLimit bounds every Await call. Default 10 s, or what is left of the test's own deadline if that is less.
func WaitLimit(d time.Duration) Option {
	return func(o *options) error {
		if d <= 0 {
			return fmt.Errorf("WaitLimit(%s): must be positive", d)
		}
		o.waitLimit = d
		return nil
	}
}

// Assignor registers a server-side assignor (KIP-848) under a name that members can ask for, after Kafka's own. One that panics or
// answers nonsense or an error fails the test by its name; the broker answers the member UNKNOWN_SERVER_ERROR, takes back what its request did, as a join, and goes on.
// It runs in the middle of a step of its group: it may look at the cluster, but neither steer it nor wait for it.
func Assignor(name string, a assignors.ServerAssignor) Option {
	return func(o *options) error {
		if a == nil || name == "" {
			return fmt.Errorf("Assignor(%q): give a name and an assignor", name)
		}
		if name != a.Name() {
			return fmt.Errorf("Assignor(%q): the assignor calls itself %q; the names must be equal", name, a.Name())
		}
		o.broker.Assignors = append(o.broker.Assignors, a)
		return nil
	}
}

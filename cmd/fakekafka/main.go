// Command fakekafka runs a fakekafka cluster for local development: a Kafka endpoint without Docker or Java.
//
//	go run github.com/fakekafka/fakekafka/cmd/fakekafka -topic orders:6
//
// Everything is in memory and gone when it ends.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"math"
	"os"
	"os/signal"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"github.com/fakekafka/fakekafka/fakekafka"
)

const (
	version      = "0.1.0"
	kafkaVersion = "4.3.1"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	os.Exit(run(ctx, os.Args[1:], os.Stdout, os.Stderr))
}

// run is main with its surroundings as arguments; it answers the exit code.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	opts, topic, done, err := parse(args, stdout, stderr)
	switch {
	case errors.Is(err, flag.ErrHelp):
		return 0
	case err != nil:
		fmt.Fprintln(stderr, "fakekafka:", err)
		return 2
	case done:
		return 0
	}
	k, err := fakekafka.New(opts...)
	if err != nil {
		fmt.Fprintln(stderr, strings.TrimSpace(err.Error()))
		return 1
	}
	defer k.Close()
	fmt.Fprintf(stdout, "fakekafka ready on %s\n", k.Bootstrap())
	if len(k.Addrs()) > 1 {
		fmt.Fprintf(stdout, "brokers: %s\n", strings.Join(k.Addrs(), " "))
	}
	fmt.Fprint(stdout, nextSteps(k.Bootstrap(), topic))
	<-ctx.Done()
	return 0
}

// nextSteps says what can be done with a broker that runs.
func nextSteps(addr, topic string) string {
	return fmt.Sprintf(`
Try it, in another terminal (kcat, or the scripts of Apache Kafka):
  produce:  echo 'hello' | kcat -b %[1]s -t %[2]s -P
  consume:  kcat -b %[1]s -t %[2]s -C -e
Ctrl-C ends it; nothing is kept.
`, addr, topic)
}

// parseSize reads an amount of bytes: 1048576, 1024KiB, 1MiB, 2GiB; KB, MB and GB mean the same.
func parseSize(s string) (int64, error) {
	digits := strings.TrimRight(s, "KMGiB")
	n, err := strconv.ParseInt(digits, 10, 64)
	shift, known := map[string]int{"": 0, "B": 0, "KiB": 10, "KB": 10, "K": 10, "MiB": 20, "MB": 20, "M": 20, "GiB": 30, "GB": 30, "G": 30}[s[len(digits):]]
	if err != nil || !known || n < 0 || n > math.MaxInt64>>31 {
		return 0, errors.New("give an amount such as 512MiB or 2GiB")
	}
	return n << shift, nil
}

// list is a flag that may be given several times.
type list []string

func (l *list) String() string     { return strings.Join(*l, ",") }
func (l *list) Set(s string) error { *l = append(*l, s); return nil }

// parse turns the command line into options, and a topic that a hint can speak of: the first that was given. done is true when there is nothing to run.
func parse(args []string, stdout, stderr io.Writer) (opts []fakekafka.Option, topic string, done bool, err error) {
	fs := flag.NewFlagSet("fakekafka", flag.ContinueOnError)
	fs.SetOutput(stderr)
	var topics, configs list
	listen := fs.String("listen", "127.0.0.1:9092", "where the first broker listens; port 0 takes a free one, further brokers take the ports after it")
	advertise := fs.String("advertise", "", "host that clients are told to connect to (default: the one listened on, or by which they came)")
	fs.Var(&topics, "topic", "a topic to create, NAME:PARTITIONS; may be given several times")
	brokers := fs.Int("brokers", 1, "number of brokers; node ids count from 1")
	racks := fs.String("racks", "", "the brokers' racks, comma-separated, the i-th for node i")
	fs.Var(&configs, "config", "a broker setting by Kafka's name, KEY=VALUE; may be given several times, of one setting the last counts")
	memory := fs.String("max-memory", "", "how much the logs may hold together, such as 512MiB or 2GiB; the oldest records are dropped beyond that (default: no bound)")
	timings := fs.Bool("kafka-timings", false, "take as long as Apache Kafka does: rebalances in seconds instead of milliseconds")
	level := fs.String("log-level", "warn", "what is logged on standard error: debug, info, warn or error")
	showVersion := fs.Bool("version", false, "print the version and the version of Apache Kafka that it equals")
	help := fs.Usage
	fs.Usage = func() {} // of a mistake one line is said, and not behind all flags
	fs.SetOutput(io.Discard)
	if err := fs.Parse(args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			fs.SetOutput(stderr)
			help()
			return nil, "", true, err
		}
		return nil, "", false, fmt.Errorf("%w; see -help", err)
	}
	if fs.NArg() > 0 {
		return nil, "", false, fmt.Errorf("%q is not a flag; see -help", fs.Arg(0))
	}
	if *showVersion {
		fmt.Fprintf(stdout, "fakekafka %s, equal to Apache Kafka %s\n", version, kafkaVersion)
		return nil, "", true, nil
	}
	var l slog.Level
	if err := l.UnmarshalText([]byte(*level)); err != nil {
		return nil, "", false, fmt.Errorf("-log-level %s: give debug, info, warn or error", *level)
	}
	opts = append(opts, fakekafka.Logger(slog.New(slog.NewTextHandler(stderr, &slog.HandlerOptions{Level: l}))),
		fakekafka.Listen(*listen), fakekafka.Brokers(*brokers))
	if *advertise != "" {
		opts = append(opts, fakekafka.Advertise(*advertise))
	}
	if *racks != "" {
		opts = append(opts, fakekafka.Racks(strings.Split(*racks, ",")...))
	}
	if *timings {
		opts = append(opts, fakekafka.KafkaTimings())
	}
	if *memory != "" {
		n, err := parseSize(*memory)
		if err != nil {
			return nil, "", false, fmt.Errorf("-max-memory %s: %w", *memory, err)
		}
		opts = append(opts, fakekafka.MaxMemory(n))
		// Without this the garbage collector would let the process grow to twice what it holds.
		if n >= 1<<20 {
			debug.SetMemoryLimit(n + n/2 + 64<<20)
		}
	}
	topic = "greetings" // a producer makes it
	for i, t := range topics {
		name, count, ok := strings.Cut(t, ":")
		n, err := strconv.Atoi(count)
		if !ok || err != nil {
			return nil, "", false, fmt.Errorf("-topic %s: give NAME:PARTITIONS, such as orders:6", t)
		}
		if i == 0 {
			topic = name
		}
		opts = append(opts, fakekafka.Topic(name, n))
	}
	settings := map[string]string{}
	for _, c := range configs {
		name, value, ok := strings.Cut(c, "=")
		if !ok {
			return nil, "", false, fmt.Errorf("-config %s: give KEY=VALUE", c)
		}
		settings[name] = value
	}
	for _, name := range slices.Sorted(maps.Keys(settings)) {
		opts = append(opts, fakekafka.Config(name, settings[name]))
	}
	return opts, topic, false, nil
}

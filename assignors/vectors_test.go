package assignors

import (
	"bufio"
	"compress/gzip"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
)

// TestVectors plays what the real Kafka 4.3.1 classes answered: every file of testdata, and every *.jsonl and *.jsonl.gz of the
// folder that ASSIGNOR_VECTORS names. testdata/README.md tells the format and what equal means.
func TestVectors(t *testing.T) {
	t.Parallel()
	folders := []string{"testdata"}
	if dir := os.Getenv("ASSIGNOR_VECTORS"); dir != "" {
		if !filepath.IsAbs(dir) {
			t.Errorf("ASSIGNOR_VECTORS=%q: an absolute path is wanted", dir)
		}
		folders = append(folders, dir)
	}
	for _, dir := range folders {
		files, err := vectorFiles(dir)
		if err != nil {
			t.Error(err)
			continue
		}
		for _, file := range files {
			name := filepath.Base(file)
			if dir != "testdata" {
				name = "extra/" + name
			}
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				playFile(t, file)
			})
		}
	}
}

// vectorFiles fails on a folder that is missing or holds no vectors: a green run must have played something.
func vectorFiles(dir string) ([]string, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, fmt.Errorf("vectors: %w", err)
	}
	var files []string
	for _, e := range entries {
		if n := e.Name(); !e.IsDir() && (strings.HasSuffix(n, ".jsonl") || strings.HasSuffix(n, ".jsonl.gz")) {
			files = append(files, filepath.Join(dir, n))
		}
	}
	if len(files) == 0 {
		return nil, fmt.Errorf("vectors: %s holds no *.jsonl and no *.jsonl.gz", dir)
	}
	return files, nil
}

func TestVectorFilesMustExist(t *testing.T) {
	t.Parallel()
	if _, err := vectorFiles(filepath.Join(t.TempDir(), "missing")); err == nil {
		t.Error("a missing folder passed")
	}
	if _, err := vectorFiles(t.TempDir()); err == nil {
		t.Error("an empty folder passed")
	}
	if got := (vector{Assignor: "stickier"}).check(); got == nil {
		t.Error("an unknown assignor passed")
	}
}

func playFile(t *testing.T, file string) {
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var in io.Reader = f
	if strings.HasSuffix(file, ".gz") {
		if in, err = gzip.NewReader(f); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
	}
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, 64<<20)
	n, played, failed := 0, 0, 0
	for lines.Scan() {
		n++
		if len(strings.TrimSpace(lines.Text())) == 0 {
			continue
		}
		name, err := playLine(lines.Bytes())
		played++
		if err != nil {
			if failed++; failed <= 20 {
				t.Errorf("line %d, %s: %v", n, name, err)
			}
		}
	}
	if err := lines.Err(); err != nil {
		t.Fatalf("%s: line %d: %v", file, n+1, err)
	}
	if played == 0 {
		t.Errorf("%s holds no vector", file)
	}
	if failed > 20 {
		t.Errorf("%d of %d lines failed; the first 20 are shown", failed, played)
	}
}

func playLine(line []byte) (name string, err error) {
	var kind struct{ Kind string }
	if err := json.Unmarshal(line, &kind); err != nil {
		return "?", err
	}
	if kind.Kind != "" {
		var w wireVector
		if err := json.Unmarshal(line, &w); err != nil {
			return "?", err
		}
		return fmt.Sprintf("%s %s version %d", w.Kind, w.Case, w.Version), w.check()
	}
	var v vector
	if err := json.Unmarshal(line, &v); err != nil {
		return "?", err
	}
	return v.Assignor + " " + v.Case, v.check()
}

type vector struct {
	Case             string
	Assignor         string
	Match            string
	Sorted           bool
	Quirk            bool
	SubscriptionType string
	Topics           map[string]vectorTopic
	Members          []vectorMember
	Expect           placement
	Error            string
	Props            struct{ Assigned, Unassigned, MinLeaving int }
	Ranges           struct{ Spread, Moved, Unassigned [2]int }
}

type vectorTopic struct {
	ID         string
	Partitions int32
	Racks      [][]string
}

type vectorMember struct {
	ID         string
	InstanceID *string
	Rack       *string
	Topics     []string
	Owned      map[string][]int32
	Generation int32
	Version    *int16
	UserData   json.RawMessage // absent, null or hex
}

// placement is who got what: member, topic, partitions ascending.
type placement map[string]map[string][]int32

func (v vector) check() error {
	run := map[string]func(*rand.Rand) (placement, error){
		"range":              func(rng *rand.Rand) (placement, error) { return v.client(NewRange(), rng) },
		"roundrobin":         func(rng *rand.Rand) (placement, error) { return v.client(NewRoundRobin(), rng) },
		"sticky":             func(rng *rand.Rand) (placement, error) { return v.client(NewSticky(), rng) },
		"cooperative-sticky": func(rng *rand.Rand) (placement, error) { return v.client(NewCooperativeSticky(), rng) },
		"uniform":            func(rng *rand.Rand) (placement, error) { return v.server(NewUniform(), rng) },
		"server-range":       func(rng *rand.Rand) (placement, error) { return v.server(NewServerRange(), rng) },
	}[v.Assignor]
	if run == nil {
		return fmt.Errorf("unknown assignor %q", v.Assignor)
	}
	got, err := run(nil)
	shuffled, shuffledErr := run(rand.New(rand.NewPCG(1, 2)))
	if !reflect.DeepEqual(got, shuffled) || (err == nil) != (shuffledErr == nil) {
		return fmt.Errorf("the order of the input shows: %v %v, shuffled %v %v", got, err, shuffled, shuffledErr)
	}
	switch {
	case v.Quirk:
		// A defect of the original: we owe the right thing instead.
		if err != nil {
			return fmt.Errorf("quirk: %w", err)
		}
		_, err := v.figures(got)
		return err
	case v.Error != "":
		if err == nil {
			return fmt.Errorf("got %v, want an error as Kafka's %s", got, v.Error)
		}
		return nil
	case err != nil:
		return err
	case v.Match == "exact" || v.Match == "properties" && v.Sorted:
		if !reflect.DeepEqual(got, v.Expect) {
			return fmt.Errorf("got  %v\nwant %v", got, v.Expect)
		}
		return nil
	case v.Match == "properties":
		return v.checkFigures(got)
	}
	return fmt.Errorf("unknown match %q", v.Match)
}

func (v vector) checkFigures(got placement) error {
	f, err := v.figures(got)
	if err != nil {
		return err
	}
	switch r := v.Ranges; {
	case v.Assignor != "cooperative-sticky" && f.assigned != v.Props.Assigned:
		return fmt.Errorf("%d partitions assigned, want %d: %v", f.assigned, v.Props.Assigned, got)
	case f.unassigned < r.Unassigned[0] || f.unassigned > r.Unassigned[1]:
		return fmt.Errorf("%d partitions unassigned, want %v: %v", f.unassigned, r.Unassigned, got)
	case f.spread < r.Spread[0] || f.spread > r.Spread[1]:
		return fmt.Errorf("spread %d, want %v: %v", f.spread, r.Spread, got)
	case f.moved > r.Moved[1]:
		return fmt.Errorf("%d partitions moved, want at most %d: %v", f.moved, r.Moved[1], got)
	case v.Assignor == "uniform" && v.SubscriptionType == "homogeneous" && f.moved+f.withheld != v.Props.MinLeaving:
		return fmt.Errorf("%d moved and %d withheld, want %d together: %v", f.moved, f.withheld, v.Props.MinLeaving, got)
	}
	return nil
}

type figures struct{ assigned, unassigned, spread, moved, withheld int }

// figures also checks that every partition given exists, is given once, and to a subscriber.
func (v vector) figures(got placement) (f figures, err error) {
	owner, total, subscribed := map[TopicPartition]string{}, 0, map[string]bool{}
	most, least := 0, 1<<30
	for _, m := range v.Members {
		n := 0
		for topic, ps := range got[m.ID] {
			for _, p := range ps {
				tp := TopicPartition{topic, p}
				switch {
				case p < 0 || p >= v.Topics[topic].Partitions:
					return f, fmt.Errorf("%s got %v, which does not exist", m.ID, tp)
				case !slices.Contains(m.Topics, topic):
					return f, fmt.Errorf("%s got %v and does not subscribe to it", m.ID, tp)
				case owner[tp] != "":
					return f, fmt.Errorf("%s got %v, as did %s", m.ID, tp, owner[tp])
				}
				owner[tp] = m.ID
				n++
			}
		}
		most, least = max(most, n), min(least, n)
		for _, topic := range m.Topics {
			if !subscribed[topic] {
				subscribed[topic] = true
				total += max(0, int(v.Topics[topic].Partitions))
			}
		}
	}
	f.assigned, f.unassigned, f.spread = len(owner), total-len(owner), most-least
	newest, had, disputed := map[TopicPartition]int32{}, map[TopicPartition]string{}, map[TopicPartition]bool{}
	for _, m := range v.Members {
		for topic, ps := range m.Owned {
			for _, p := range ps {
				tp := TopicPartition{topic, p}
				if _, exists := v.Topics[topic]; !exists || p >= v.Topics[topic].Partitions {
					continue
				}
				switch {
				case had[tp] == "" || m.Generation > newest[tp]:
					had[tp], newest[tp], disputed[tp] = m.ID, m.Generation, false
				case m.Generation == newest[tp]:
					disputed[tp] = true
				}
			}
		}
	}
	for tp, m := range had {
		switch {
		case disputed[tp]:
		case owner[tp] == "":
			f.withheld++
		case owner[tp] != m:
			f.moved++
		}
	}
	return f, nil
}

func shuffle[T any](s []T, rng *rand.Rand) []T {
	if rng != nil {
		s = slices.Clone(s)
		rng.Shuffle(len(s), func(i, j int) { s[i], s[j] = s[j], s[i] })
	}
	return s
}

func (v vector) client(a Assignor, rng *rand.Rand) (placement, error) {
	g := Group{Topics: map[string]Topic{}}
	for name, t := range v.Topics {
		g.Topics[name] = Topic{Partitions: t.Partitions, Racks: t.Racks}
	}
	for _, vm := range v.Members {
		m := Member{ID: vm.ID, InstanceID: vm.InstanceID}
		s := Subscription{Topics: shuffle(vm.Topics, rng), Generation: vm.Generation, Rack: vm.Rack}
		var owned []TopicPartition
		for topic, ps := range vm.Owned {
			for _, p := range ps {
				owned = append(owned, TopicPartition{topic, p})
			}
		}
		slices.SortFunc(owned, compareTopicPartitions)
		owned = shuffle(owned, rng)
		if err := vm.userData(a, &s, owned); err != nil {
			return nil, err
		}
		version := int16(ConsumerProtocolVersion)
		if vm.Version != nil {
			version = *vm.Version
		}
		// As in Kafka, subscriptions and assignments pass over the wire.
		b, err := EncodeSubscription(s, version)
		if err != nil {
			return nil, err
		}
		if m.Subscription, err = DecodeSubscription(b); err != nil {
			return nil, err
		}
		g.Members = append(g.Members, m)
	}
	g.Members = shuffle(g.Members, rng)
	assignment, err := a.Assign(g)
	if err != nil {
		return nil, err
	}
	got := placement{}
	for id, tps := range assignment {
		b, err := EncodeAssignment(Assignment{Partitions: tps}, ConsumerProtocolVersion)
		if err != nil {
			return nil, err
		}
		back, err := DecodeAssignment(b)
		if err != nil {
			return nil, err
		}
		got[id] = map[string][]int32{}
		for _, tp := range back.Partitions {
			got[id][tp.Topic] = append(got[id][tp.Topic], tp.Partition)
		}
	}
	return got, nil
}

// userData fills in what a member with this assignor sends along.
func (vm vectorMember) userData(a Assignor, s *Subscription, owned []TopicPartition) (err error) {
	if a.Name() == "cooperative-sticky" {
		s.Owned = owned
	}
	switch {
	case len(vm.UserData) > 0 && string(vm.UserData) != "null":
		var text string
		if err := json.Unmarshal(vm.UserData, &text); err != nil {
			return err
		}
		s.UserData, err = hex.DecodeString(text)
	case len(vm.UserData) > 0:
	case a.Name() == "sticky" && (vm.Generation >= 0 || len(owned) > 0):
		s.UserData, err = EncodeStickyUserData(owned, vm.Generation)
	case a.Name() == "cooperative-sticky":
		s.UserData = EncodeCooperativeUserData(vm.Generation)
	}
	return err
}

func (v vector) server(a ServerAssignor, rng *rand.Rand) (placement, error) {
	in := ServerInput{Homogeneous: v.SubscriptionType == "homogeneous", Topics: map[TopicID]ServerTopic{}}
	ids, names := map[string]TopicID{}, map[TopicID]string{}
	for name, t := range v.Topics {
		b, err := base64.RawURLEncoding.DecodeString(t.ID)
		if err != nil || len(b) != len(TopicID{}) {
			return nil, fmt.Errorf("topic %s: id %q: %v", name, t.ID, err)
		}
		ids[name] = TopicID(b)
		names[TopicID(b)] = name
		in.Topics[TopicID(b)] = ServerTopic{Name: name, Partitions: t.Partitions, Racks: t.Racks}
	}
	for _, vm := range v.Members {
		m := ServerMember{ID: vm.ID, InstanceID: vm.InstanceID, Rack: vm.Rack}
		for _, topic := range vm.Topics {
			if id, ok := ids[topic]; ok {
				m.Topics = append(m.Topics, id)
			}
		}
		m.Topics = shuffle(m.Topics, rng)
		for topic, ps := range vm.Owned {
			if id, ok := ids[topic]; ok {
				if m.Target == nil {
					m.Target = Partitions{}
				}
				m.Target[id] = slices.Sorted(slices.Values(ps))
			}
		}
		in.Members = append(in.Members, m)
	}
	in.Members = shuffle(in.Members, rng)
	before := fmt.Sprint(in)
	targets, err := a.Assign(in)
	if fmt.Sprint(in) != before {
		return nil, fmt.Errorf("%s changed its input", a.Name())
	}
	if err != nil {
		return nil, err
	}
	got := placement{}
	for _, m := range in.Members {
		got[m.ID] = map[string][]int32{}
		for id, ps := range targets[m.ID] {
			got[m.ID][names[id]] = ps
		}
	}
	if extra := len(targets) - len(got); extra > 0 {
		return nil, fmt.Errorf("%s answers %d members the group does not have: %v", a.Name(), extra, slices.Collect(maps.Keys(targets)))
	}
	return got, nil
}

type wireVector struct {
	Kind    string
	Case    string
	Version int16
	In      *wireValue
	Bytes   *string
	Decoded *wireValue
}

type wireValue struct {
	Topics     []string
	UserData   *string
	Owned      []wirePartition
	Partitions []wirePartition
	Generation int32
	Rack       *string
	Error      string
}

type wirePartition TopicPartition

func (p *wirePartition) UnmarshalJSON(b []byte) error {
	return json.Unmarshal(b, &[]any{&p.Topic, &p.Partition})
}

func (v *wireValue) subscription() (s Subscription) {
	s = Subscription{Topics: v.Topics, UserData: unhex(v.UserData), Owned: plain(v.Owned), Generation: v.Generation, Rack: v.Rack}
	if len(s.Topics) == 0 {
		s.Topics = nil
	}
	return s
}

func plain(in []wirePartition) (out []TopicPartition) {
	for _, p := range in {
		out = append(out, TopicPartition(p))
	}
	return out
}

// unhex answers nil for null and for what is no hex, which then differs from everything.
func unhex(s *string) []byte {
	if s == nil {
		return nil
	}
	b, _ := hex.DecodeString(*s)
	return b
}

func (w wireVector) check() error {
	raw := unhex(w.Bytes)
	switch w.Kind {
	case "subscription":
		if w.In != nil {
			b, err := EncodeSubscription(w.In.subscription(), w.Version)
			if err != nil || !slices.Equal(b, raw) {
				return fmt.Errorf("wrote %x %v, want %x", b, err, raw)
			}
		}
		got, err := DecodeSubscription(raw)
		return w.compare(got, err, func() any { return w.Decoded.subscription() })
	case "assignment":
		if w.In != nil {
			b, err := EncodeAssignment(Assignment{Partitions: plain(w.In.Partitions), UserData: unhex(w.In.UserData)}, w.Version)
			if err != nil || !slices.Equal(b, raw) {
				return fmt.Errorf("wrote %x %v, want %x", b, err, raw)
			}
		}
		got, err := DecodeAssignment(raw)
		return w.compare(got, err, func() any {
			return Assignment{Partitions: plain(w.Decoded.Partitions), UserData: unhex(w.Decoded.UserData)}
		})
	case "sticky-user-data":
		if w.In != nil {
			b, err := EncodeStickyUserData(plain(w.In.Owned), w.In.Generation)
			if err != nil || !slices.Equal(b, raw) {
				return fmt.Errorf("wrote %x %v, want %x", b, err, raw)
			}
		}
		owned, generation, err := DecodeStickyUserData(raw)
		if w.Decoded == nil {
			if err != nil || owned != nil || generation != -1 {
				return fmt.Errorf("read %v %d %v, want nothing", owned, generation, err)
			}
			return nil
		}
		return w.compare(memoryOf{owned, generation}, err, func() any { return memoryOf{plain(w.Decoded.Owned), w.Decoded.Generation} })
	case "cooperative-sticky-user-data":
		if w.In != nil {
			if b := EncodeCooperativeUserData(w.In.Generation); !slices.Equal(b, raw) {
				return fmt.Errorf("wrote %x, want %x", b, raw)
			}
		}
		want := int32(-1)
		if w.Decoded != nil {
			want = w.Decoded.Generation
		}
		if got := decodeCooperativeUserData(raw); got != want {
			return fmt.Errorf("read generation %d, want %d", got, want)
		}
		return nil
	}
	return fmt.Errorf("unknown kind %q", w.Kind)
}

type memoryOf struct {
	owned      []TopicPartition
	generation int32
}

func (w wireVector) compare(got any, err error, want func() any) error {
	switch {
	case w.Decoded == nil:
		return fmt.Errorf("the vector does not tell what to read")
	case w.Decoded.Error != "":
		if err == nil {
			return fmt.Errorf("read %v, want an error as Kafka's %s", got, w.Decoded.Error)
		}
	case err != nil:
		return err
	case !reflect.DeepEqual(got, want()):
		return fmt.Errorf("read %#v, want %#v", got, want())
	}
	return nil
}

package main

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
)

const (
	connections = 4
	parkedAfter = 250 * time.Millisecond // without an answer from either broker
	answerLimit = 3 * time.Second        // for the second answer when the first is there
)

// side is one of the two brokers in a sequence.
type side struct {
	addr  string
	conns [connections]*conn
	world *world
	names *names
}

func newSide(addr, prefix string) (*side, error) {
	s := &side{addr: addr, world: newWorld(prefix), names: newNames()}
	for i := range s.conns {
		if err := s.dial(i); err != nil {
			s.close()
			return nil, err
		}
	}
	return s, nil
}

// dial replaces a connection.
func (s *side) dial(i int) (err error) {
	if s.conns[i] != nil {
		s.conns[i].close()
	}
	s.conns[i], err = dial(s.addr)
	return err
}

func (s *side) close() {
	for _, c := range s.conns {
		if c != nil {
			c.close()
		}
	}
}

// session runs one sequence on both sides.
type session struct {
	area        *area
	served      versions
	kafka, ours *side
	parked      [connections]*parkedRequest
	trace       func(string) // hears of every request and its answer; may be nil
	requests    int          // compared so far
	known       map[string]int
	over        bool // the brokers differ on purpose, and so they may from here on
}

// parkedRequest is one that neither broker has answered yet: a JoinGroup or SyncGroup that waits for others.
type parkedRequest struct{ kafka, ours kmsg.Request }

// run makes the area's preparation and then the steps; it ends at the first difference. An error says that it couldn't be run at all.
func (s *session) run(steps []step) (*difference, error) {
	trace := s.trace
	s.trace = nil
	if d, err := s.prepare(); d != nil || err != nil {
		return d, err
	}
	s.trace = trace
	for i, st := range steps {
		var d *difference
		var err error
		if s.area.pausesAt(st) {
			s.sayText(fmt.Sprintf("a pause of %v", s.area.pause))
			time.Sleep(s.area.pause)
			d, err = s.collect()
		}
		if d == nil && err == nil {
			d, err = s.step(st)
		}
		if d == nil && err == nil {
			d, err = s.collect()
		}
		if d != nil {
			d.step = i
		}
		if d != nil || err != nil || s.over {
			return d, err
		}
	}
	return nil, nil
}

func (s *session) step(st step) (*difference, error) {
	at := int(st.seed % connections)
	for range connections {
		if s.parked[at] == nil {
			break
		}
		at = (at + 1) % connections
	}
	if p := s.parked[at]; p != nil { // all wait: one gives up
		s.kafka.world.givesUp(p.kafka)
		s.ours.world.givesUp(p.ours)
		if err := s.redial(at); err != nil {
			return nil, err
		}
	}
	qk, hurt := s.area.request(st, s.kafka.world, s.served)
	qo, _ := s.area.request(st, s.ours.world, s.served)
	return s.ask(at, qk, qo, hurt)
}

// ask sends a request to both brokers and compares the answers.
func (s *session) ask(at int, qk, qo kmsg.Request, hurt []mutation) (*difference, error) {
	s.requests++
	frame, oursFrame, hurt := mutated(frameOf(qk), frameOf(qo), hurt)
	dk, do := readBack(frame, qk), readBack(oursFrame, qo)
	if (dk == nil) != (do == nil) || wild(dk) { // the first: where an id is read as something else, it isn't the same damage
		frame, oursFrame, hurt = frameOf(qk), frameOf(qo), nil
	} else if len(hurt) > 0 && dk != nil {
		qk, qo = dk, do
	}
	s.kafka.conns[at].send(frame)
	s.ours.conns[at].send(oursFrame)
	waits := qk.Key() == int16(kmsg.JoinGroup) || qk.Key() == int16(kmsg.SyncGroup)
	k, o := s.await(at, waits)
	if waits && k.what == silent && o.what == silent {
		s.say(qk, hurt, "waits")
		s.parked[at] = &parkedRequest{qk, qo}
		s.kafka.world.asks(qk)
		s.ours.world.asks(qo)
		return nil, nil
	}
	namesK, namesO := s.kafka.names.clone(), s.ours.names.clone()
	ak, ao := s.kafka.read(k, qk), s.ours.read(o, qo)
	for try := 0; try < 40 && (passing(ak, ao) || behind(qk.Key(), ak, ao)); try++ { // each side asks again until it isn't busy
		time.Sleep(25 * time.Millisecond)
		if isBusy(ao) && !isBusy(ak) {
			s.ours.names = namesO.clone()
			ao = s.ours.again(at, qo, oursFrame)
		} else {
			s.kafka.names = namesK.clone()
			ak = s.kafka.again(at, qk, frame)
		}
	}
	d := s.compare(at, qk, qo, ak, ao)
	if d != nil {
		d.frame, d.damage = frame, hurt
	}
	s.say(qk, hurt, ak.String())
	if d == nil {
		s.settle(qk, ak)
	}
	if ak.what != answered || ao.what != answered {
		if err := s.redial(at); err != nil {
			return nil, err
		}
	}
	return d, nil
}

func (a answer) String() string {
	if a.tree == nil {
		return a.what
	}
	return a.tree.String()
}

// await waits for both outcomes.
func (s *session) await(at int, waits bool) (kafka, ours outcome) {
	first := answerLimit
	if waits {
		first = parkedAfter
	}
	k, o := s.kafka.conns[at], s.ours.conns[at]
	if ours = o.await(first); ours.what == silent {
		if kafka = k.await(time.Millisecond); kafka.what != silent {
			ours = o.await(answerLimit)
		}
		return kafka, ours
	}
	return k.await(answerLimit), ours
}

// again repeats a request on one side.
func (s *side) again(at int, q kmsg.Request, frame []byte) answer {
	s.conns[at].send(frame)
	return s.read(s.conns[at].await(answerLimit), q)
}

// compare judges two answers, and lets the worlds learn from equal ones.
func (s *session) compare(at int, qk, qo kmsg.Request, k, o answer) *difference {
	where, want, got := differ(k, o)
	if where == "" {
		if k.what == answered && k.response != nil && o.response != nil {
			s.kafka.world.learn(qk, k.response)
			s.ours.world.learn(qo, o.response)
		}
		return nil
	}
	if row := onPurpose(qk, k, o, where); row != "" {
		s.known[row]++
		s.over = true
		return nil
	}
	return &difference{request: qk, prefix: s.kafka.world.prefix, kafka: k, ours: o, where: where, want: want, got: got}
}

// collect looks whether requests that waited have been answered.
func (s *session) collect() (*difference, error) {
	if !slices.ContainsFunc(s.parked[:], func(p *parkedRequest) bool { return p != nil }) {
		return nil, nil
	}
	time.Sleep(15 * time.Millisecond)
	for at, p := range s.parked {
		if p == nil {
			continue
		}
		k, o := s.kafka.conns[at].await(time.Millisecond), s.ours.conns[at].await(time.Millisecond)
		if k.what == silent && o.what == silent {
			continue
		}
		if k.what == silent {
			k = s.kafka.conns[at].await(answerLimit)
		}
		if o.what == silent {
			o = s.ours.conns[at].await(answerLimit)
		}
		s.parked[at] = nil
		ak, ao := s.kafka.read(k, p.kafka), s.ours.read(o, p.ours)
		s.say(p.kafka, nil, "after all: "+ak.String())
		if d := s.compare(at, p.kafka, p.ours, ak, ao); d != nil {
			d.late = true
			return d, nil
		}
		if ak.what != answered || ao.what != answered {
			if err := s.redial(at); err != nil {
				return nil, err
			}
		}
	}
	return nil, nil
}

func (s *session) redial(at int) error {
	s.parked[at] = nil
	if err := s.kafka.dial(at); err != nil {
		return err
	}
	return s.ours.dial(at)
}

func (s *session) say(q kmsg.Request, hurt []mutation, answer string) {
	if s.trace == nil {
		return
	}
	text := fmt.Sprintf("%s v%d %s", kmsg.NameForKey(q.Key()), q.GetVersion(), treeOf(q))
	for _, m := range hurt {
		text += "; " + m.text
	}
	s.sayText(fmt.Sprintf("%s\n    -> %s", short(text), short(answer)))
}

func (s *session) sayText(text string) {
	if s.trace != nil {
		s.trace(strings.ReplaceAll(text, s.kafka.world.prefix, "~"))
	}
}

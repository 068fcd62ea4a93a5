package main

import (
	"encoding/binary"
	"encoding/hex"
	"fmt"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// answer is an outcome that can be compared.
type answer struct {
	what     string // answered, closed or silent
	response kmsg.Response
	tree     *node
}

// read decodes an outcome as the answer to a request and names the broker's ids in it.
func (s *side) read(o outcome, q kmsg.Request) answer {
	if o.what != answered {
		return answer{what: o.what}
	}
	response, err := decode(q, o.frame)
	if err != nil {
		return answer{what: answered, tree: &node{text: err.Error() + ": " + hex.EncodeToString(o.frame)}}
	}
	tree := treeOf(response)
	leaveOut(response.Key(), tree, s.world)
	s.names.settle(tree, func(path string) bool { return ordered[at{response.Key(), path}] })
	return answer{answered, response, tree}
}

func decode(q kmsg.Request, frame []byte) (response kmsg.Response, err error) {
	defer func() { // kmsg trusts lengths in places
		if x := recover(); x != nil {
			err = fmt.Errorf("not an answer (%v)", x)
		}
	}()
	skip := 4 // the correlation id
	response = q.ResponseKind()
	if response.IsFlexible() && response.Key() != int16(kmsg.ApiVersions) {
		skip++
	}
	if len(frame) < skip || binary.BigEndian.Uint32(frame) != 1 {
		return nil, fmt.Errorf("not an answer")
	}
	if err := response.ReadFrom(frame[skip:]); err != nil {
		return nil, fmt.Errorf("not an answer (%w)", err)
	}
	return response, nil
}

// differ names the first place in which two answers differ and what stands there; "" if there is none.
func differ(kafka, ours answer) (where, want, got string) {
	switch {
	case kafka.what != ours.what:
		return "the outcome", kafka.what, ours.what
	case kafka.what != answered:
		return "", "", ""
	}
	return differAt("answer", kafka.tree, ours.tree)
}

func differAt(where string, kafka, ours *node) (string, string, string) {
	if kafka.scalar() != ours.scalar() || kafka.isList != ours.isList || kafka.scalar() && kafka.text != ours.text {
		return where, kafka.String(), ours.String()
	}
	a, b := kafka.kids(), ours.kids()
	for i := range min(len(a), len(b)) {
		step := a[i].name
		if !kafka.isList {
			step = "." + step
		}
		if w, want, got := differAt(where+step, a[i].value, b[i].value); w != "" {
			return w, want, got
		}
	}
	if len(a) != len(b) {
		return where, fmt.Sprintf("%d entries: %v", len(a), kafka), fmt.Sprintf("%d entries: %v", len(b), ours)
	}
	return "", "", ""
}

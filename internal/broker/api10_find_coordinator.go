package broker

import (
	"encoding/base64"
	"strconv"
	"strings"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/fakekafka/fakekafka/internal/wire"
)

// FindCoordinator, key 10, versions 0-6.
//   v1: key type; v3: flexible; v4: many keys (KIP-699); v6: share groups (KIP-932).

const (
	coordinatorGroup       = 0
	coordinatorTransaction = 1
	coordinatorShare       = 2
)

// found is the answer for one key.
type found struct {
	code wire.Code
	text string
	node int32
	host string
	port int32
}

func (r *request) findCoordinator() (answer, error) {
	req := r.body.(*kmsg.FindCoordinatorRequest)
	resp := req.ResponseKind().(*kmsg.FindCoordinatorResponse)
	keys := req.CoordinatorKeys
	if r.version < 4 {
		keys = []string{req.CoordinatorKey}
	}
	for _, key := range keys {
		f, err := r.coordinatorOf(req.CoordinatorType, key)
		if err != nil {
			return nil, err
		}
		// A member asks for its one group. Who asks for many looks at them, and the loop is spared a step for each.
		if len(keys) == 1 && req.CoordinatorType == coordinatorGroup && f.code == wire.None && !r.cluster.options.KafkaTimings {
			r.cluster.loop.post(func() { r.cluster.groups.lookedUp(f.node, key) })
		}
		if r.version < 4 {
			resp.ErrorCode, resp.NodeID, resp.Host, resp.Port = int16(f.code), f.node, f.host, f.port
			if f.code == wire.None {
				f.text = "NONE"
			}
			resp.ErrorMessage = &f.text
			continue
		}
		c := kmsg.NewFindCoordinatorResponseCoordinator()
		c.Key, c.ErrorCode, c.NodeID, c.Host, c.Port = key, int16(f.code), f.node, f.host, f.port
		c.ErrorMessage = kmsg.StringPtr("")
		if f.code == wire.InvalidRequest && req.CoordinatorType != coordinatorShare {
			c.ErrorMessage = &f.text // only the refusal of an unknown type has a text here
		}
		resp.Coordinators = append(resp.Coordinators, c)
	}
	return resp, nil
}

func findCoordinatorError(req *kmsg.FindCoordinatorRequest, code wire.Code, text string) *kmsg.FindCoordinatorResponse {
	resp := req.ResponseKind().(*kmsg.FindCoordinatorResponse)
	if text == "" {
		text = code.String() // never null
	}
	if req.Version < 4 {
		resp.ErrorCode, resp.ErrorMessage, resp.NodeID, resp.Port = int16(code), &text, -1, -1
		return resp
	}
	for _, key := range req.CoordinatorKeys {
		c := kmsg.NewFindCoordinatorResponseCoordinator()
		c.Key, c.ErrorCode, c.ErrorMessage, c.NodeID, c.Port = key, int16(code), &text, -1, -1
		resp.Coordinators = append(resp.Coordinators, c)
	}
	return resp
}

func notFound(code wire.Code, text string) found {
	return found{code: code, text: text, node: -1, port: -1}
}

func (r *request) coordinatorOf(kind int8, key string) (found, error) {
	var topicName string
	switch {
	case kind == coordinatorGroup:
		topicName = offsetsTopic
	case kind == coordinatorTransaction:
		topicName = transactionsTopic
	case kind == coordinatorShare && r.version >= 6:
		if !shareKey(key) {
			return notFound(wire.InvalidRequest, "Invalid share coordinator key: "+key), nil
		}
		topicName = shareStateTopic
	default:
		return notFound(wire.InvalidRequest, "Invalid coordinator type "+strconv.Itoa(int(kind))), nil
	}
	return r.leaderOf(topicName, key)
}

// leaderOf finds the broker that leads key's partition of an internal topic. A missing topic is created: under Kafka's
// timings the client is told to come back, as Kafka does while the creation goes on; else the answer waits for it.
func (r *request) leaderOf(topicName, key string) (found, error) {
	m := r.cluster.meta.Load()
	t := m.topics[topicName]
	if t == nil {
		create := func() { r.cluster.createInternal(topicName) }
		if r.cluster.options.KafkaTimings {
			r.cluster.loop.post(create)
		} else {
			if !r.cluster.loop.do(create) {
				return found{}, errClosed
			}
			m = r.cluster.meta.Load()
			t = m.topics[topicName]
		}
	}
	if t == nil {
		return notFound(wire.CoordinatorNotAvailable, "The coordinator is not available."), nil
	}
	p := t.partitions[groupPartition(key, len(t.partitions))]
	n := m.node(p.state.Load().leader)
	if n == nil || !n.alive {
		return notFound(wire.CoordinatorNotAvailable, "The coordinator is not available."), nil
	}
	return found{node: n.id, host: r.brokerHost(n), port: n.port}, nil
}

// shareKey tells whether a key has the form group:topicId:partition. The group may have colons of its own.
func shareKey(key string) bool {
	rest, partition, ok := cutLast(key, ":")
	if !ok {
		return false
	}
	group, topicID, ok := cutLast(rest, ":")
	if !ok || strings.TrimSpace(group) == "" {
		return false
	}
	id, err := base64.RawURLEncoding.DecodeString(topicID)
	if err != nil || len(id) != 16 {
		return false
	}
	_, err = strconv.ParseInt(partition, 10, 32)
	return err == nil
}

// cutLast is strings.Cut at the last separator.
func cutLast(s, sep string) (before, after string, found bool) {
	if i := strings.LastIndex(s, sep); i >= 0 {
		return s[:i], s[i+len(sep):], true
	}
	return s, "", false
}

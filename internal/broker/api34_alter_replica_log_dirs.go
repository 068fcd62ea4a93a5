package broker

import (
	"strconv"
	"unicode/utf16"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/fakekafka/fakekafka/internal/wire"
)

// AlterReplicaLogDirs, key 34, versions 1-2 (KIP-113). v2: flexible. A broker has one log directory, in name only, so every replica is
// where it could be moved to.

func (r *request) alterReplicaLogDirs() (answer, error) {
	req := r.body.(*kmsg.AlterReplicaLogDirsRequest)
	m := r.cluster.meta.Load()
	return alterLogDirsAnswer(req, func(dir, topic string, index int32) wire.Code {
		p := m.partition(topic, index)
		switch {
		case tooLongToMove(topic, index):
			return wire.InvalidTopicException
		case dir != r.cluster.logDir(r.node.id):
			return wire.LogDirNotFound
		case p == nil:
			return wire.UnknownTopicOrPartition
		case !p.state.Load().hosted(r.node.id):
			return wire.ReplicaNotAvailable // Kafka's word for NOT_LEADER_OR_FOLLOWER here
		}
		return wire.None
	}), nil
}

// tooLongToMove: the directory of a replica to come is "topic-partition.id-future", with an id of 32 digits, and must be a file's name.
func tooLongToMove(topic string, index int32) bool {
	const maxFileName = 255
	length := len(utf16.Encode([]rune(topic))) + len("-") + len(strconv.Itoa(int(index)))
	return length+len(".")+32+len("-future") > maxFileName
}

// alterLogDirsAnswer gives every partition of a request its code, once: where it is named again, the last directory counts.
func alterLogDirsAnswer(req *kmsg.AlterReplicaLogDirsRequest, code func(dir, topic string, index int32) wire.Code) *kmsg.AlterReplicaLogDirsResponse {
	resp := req.ResponseKind().(*kmsg.AlterReplicaLogDirsResponse)
	var named mentions
	for _, d := range req.Dirs {
		for _, w := range d.Topics {
			for _, index := range w.Partitions {
				at, i, _ := named.place(w.Topic, index)
				if at == len(resp.Topics) {
					t := kmsg.NewAlterReplicaLogDirsResponseTopic()
					t.Topic = w.Topic
					resp.Topics = append(resp.Topics, t)
				}
				t := &resp.Topics[at]
				if i == len(t.Partitions) {
					p := kmsg.NewAlterReplicaLogDirsResponseTopicPartition()
					p.Partition = index
					t.Partitions = append(t.Partitions, p)
				}
				t.Partitions[i].ErrorCode = int16(code(d.Dir, w.Topic, index))
			}
		}
	}
	return resp
}

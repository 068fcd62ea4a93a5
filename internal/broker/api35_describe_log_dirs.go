package broker

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/fakekafka/fakekafka/internal/wire"
)

// DescribeLogDirs, v1-5. There is one directory, which exists in name only; v4 asks for its size, v5 whether it is cordoned.

// diskBytes is what the directory claims to hold and to have free: an amount that no one runs out of.
const diskBytes = 1 << 40

func (r *request) describeLogDirs() (answer, error) {
	req := r.body.(*kmsg.DescribeLogDirsRequest)
	resp := req.ResponseKind().(*kmsg.DescribeLogDirsResponse)
	m := r.cluster.meta.Load()

	dir := kmsg.NewDescribeLogDirsResponseDir()
	dir.Dir = r.cluster.logDir(r.node.id)
	used := int64(0)
	wanted := wantedPartitions(req)
	for _, name := range m.names {
		rt := kmsg.NewDescribeLogDirsResponseDirTopic()
		rt.Topic = name
		for _, p := range m.topics[name].partitions {
			if !p.state.Load().hosted(r.node.id) || wanted != nil && !wanted[topicPartition{name, p.index}] {
				continue
			}
			rp := kmsg.NewDescribeLogDirsResponseDirTopicPartition()
			p.mu.Lock()
			rp.Partition, rp.Size = p.index, p.log.Size()
			p.mu.Unlock()
			used += rp.Size
			rt.Partitions = append(rt.Partitions, rp)
		}
		if len(rt.Partitions) > 0 {
			dir.Topics = append(dir.Topics, rt)
		}
	}
	dir.TotalBytes, dir.UsableBytes = diskBytes, max(0, diskBytes-used)
	resp.Dirs = append(resp.Dirs, dir)
	return resp, nil
}

// offlineLogDir has the error of a directory that can't be read, which stands at the directory; those of the request as a whole stand at the top, from v3 on.
func offlineLogDir(req *kmsg.DescribeLogDirsRequest, name string) *kmsg.DescribeLogDirsResponse {
	resp := req.ResponseKind().(*kmsg.DescribeLogDirsResponse)
	dir := kmsg.NewDescribeLogDirsResponseDir()
	dir.Dir, dir.ErrorCode = name, int16(wire.KafkaStorageError)
	resp.Dirs = append(resp.Dirs, dir)
	return resp
}

// wantedPartitions is the set a request asks for, nil for all.
func wantedPartitions(req *kmsg.DescribeLogDirsRequest) map[topicPartition]bool {
	if req.Topics == nil {
		return nil
	}
	wanted := map[topicPartition]bool{}
	for i := range req.Topics {
		for _, index := range req.Topics[i].Partitions {
			wanted[topicPartition{req.Topics[i].Topic, index}] = true
		}
	}
	return wanted
}

// logDir is the directory's name: the first of log.dirs, else log.dir.
func (c *Cluster) logDir(node int32) string {
	v := c.settings(node)
	if dirs := v.List("log.dirs"); len(dirs) > 0 && dirs[0] != "" {
		return dirs[0]
	}
	return v.String("log.dir")
}

package broker

import (
	"github.com/twmb/franz-go/pkg/kmsg"
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
	describe := func(rt *kmsg.DescribeLogDirsResponseDirTopic, p *partition) {
		if p == nil || !p.state.Load().hosted(r.node.id) {
			return
		}
		rp := kmsg.NewDescribeLogDirsResponseDirTopicPartition()
		p.mu.Lock()
		rp.Partition, rp.Size = p.index, p.log.Size()
		p.mu.Unlock()
		used += rp.Size
		rt.Partitions = append(rt.Partitions, rp)
	}
	add := func(name string, partitions func(rt *kmsg.DescribeLogDirsResponseDirTopic)) {
		rt := kmsg.NewDescribeLogDirsResponseDirTopic()
		rt.Topic = name
		partitions(&rt)
		if len(rt.Partitions) > 0 {
			dir.Topics = append(dir.Topics, rt)
		}
	}
	if req.Topics == nil {
		for _, name := range m.names {
			add(name, func(rt *kmsg.DescribeLogDirsResponseDirTopic) {
				for _, p := range m.topics[name].partitions {
					describe(rt, p)
				}
			})
		}
	}
	for i := range req.Topics {
		t := &req.Topics[i]
		add(t.Topic, func(rt *kmsg.DescribeLogDirsResponseDirTopic) {
			for _, index := range t.Partitions {
				describe(rt, m.partition(t.Topic, index))
			}
		})
	}
	dir.TotalBytes, dir.UsableBytes = diskBytes, max(0, diskBytes-used)
	resp.Dirs = append(resp.Dirs, dir)
	return resp, nil
}

// logDir is the directory's name: the first of log.dirs, else log.dir.
func (c *Cluster) logDir(node int32) string {
	v := c.settings(node)
	if dirs := v.List("log.dirs"); len(dirs) > 0 && dirs[0] != "" {
		return dirs[0]
	}
	return v.String("log.dir")
}

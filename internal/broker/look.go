package broker

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/fakekafka/fakekafka/groups"
	"github.com/fakekafka/fakekafka/internal/wire"
	"github.com/fakekafka/fakekafka/transactions"
)

// What the test may look at, beside groups (steer.go) and requests (requestlog.go).

// LogEnds are the log start offset and the high watermark of a partition.
func (c *Cluster) LogEnds(topicName string, index int32) (start, end int64, ok bool) {
	p := c.meta.Load().partition(topicName, index)
	if p == nil {
		return 0, 0, false
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.log.LogStart(), p.log.HighWatermark(), true
}

// LastStable is up to where read_committed consumers read a partition; ok is false where there is none.
func (c *Cluster) LastStable(topicName string, index int32) (offset int64, ok bool) {
	p := c.meta.Load().partition(topicName, index)
	if p == nil {
		return 0, false
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.log.LastStable(), true
}

// OnlyMarkers tells whether there is nothing from an offset on but markers of transactions, which no consumer is given.
func (c *Cluster) OnlyMarkers(topicName string, index int32, from int64) bool {
	p := c.meta.Load().partition(topicName, index)
	if p == nil {
		return false
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	for b := range p.log.Batches(from) {
		if !b.Control() {
			return false
		}
	}
	return true
}

// mostHeldUp is how many of the partitions that a transaction holds up are named.
const mostHeldUp = 5

// OpenTransactions says of each transaction that has not ended what it holds up, for messages. On the loop.
func (c *Cluster) OpenTransactions() (told []string) {
	now := c.clock.Now()
	c.txns.each(func(sh *txnShard) {
		for _, id := range sh.IDs() {
			d, _ := sh.Describe(id)
			var in []string
			offsets := false
			for _, tp := range d.Partitions {
				switch {
				case tp.Topic == offsetsTopic:
					offsets = true
				case len(in) < mostHeldUp:
					in = append(in, fmt.Sprintf("%s-%d", tp.Topic, tp.Partition))
				case len(in) == mostHeldUp:
					in = append(in, "…")
				}
			}
			if len(d.Partitions) == 0 || d.State != transactions.Ongoing && d.State != transactions.PrepareCommit && d.State != transactions.PrepareAbort {
				continue
			}
			held := "a group's offsets are pending"
			if len(in) > 0 {
				held = "read_committed consumers are given nothing from it on in " + strings.Join(in, ", ")
				if offsets {
					held += ", and a group's offsets are pending"
				}
			}
			told = append(told, fmt.Sprintf("transactional.id %q%s has been %s for %s: %s until it ends", LoggedName(id), c.txns.producerText(id), d.State, now.Sub(time.UnixMilli(d.StartTimestamp)).Round(time.Millisecond), held))
		}
	})
	return told
}

// HeldAt tells whether a group stands at a held step. On the loop.
func (c *Cluster) HeldAt(group string, step groups.Step) bool {
	t := c.meta.Load().topics[offsetsTopic]
	if t == nil {
		return false
	}
	sh := c.groups.shards[groupPartition(group, len(t.partitions))]
	return sh != nil && sh.Held(group, step)
}

// CheckFail refuses an error that Kafka never answers for an API.
func CheckFail(key wire.Key, code wire.Code) error {
	known := answersOf(key)
	switch {
	case known == nil:
		return fmt.Errorf("%s is not served here: there is no request to fail", key)
	case slices.Contains(known, code):
		return nil
	}
	api := key.String()
	if key == AnyKey {
		api = "every API"
	}
	return fmt.Errorf("%s is never answered to %s by Apache Kafka, which answers %v; Forced() sends it all the same", code, api, known)
}

// NamesTopics tells whether requests of an API name topics, so that a rule can go by them.
func NamesTopics(key wire.Key) bool {
	switch key {
	case AnyKey, wire.Produce, wire.Fetch, wire.ListOffsets, wire.OffsetForLeaderEpoch, wire.DeleteRecords, wire.OffsetCommit, wire.TxnOffsetCommit,
		wire.OffsetFetch, wire.Metadata, wire.CreateTopics, wire.CreatePartitions, wire.DeleteTopics, wire.AddPartitionsToTxn, wire.OffsetDelete,
		wire.WriteTxnMarkers, wire.DescribeProducers, wire.DescribeTopicPartitions, wire.ElectLeaders, wire.AlterPartitionReassignments,
		wire.ListPartitionReassignments, wire.AlterReplicaLogDirs, wire.DescribeLogDirs, wire.DescribeQuorum,
		wire.DescribeConfigs, wire.AlterConfigs, wire.IncrementalAlterConfigs:
		return true
	}
	return false
}

// NamesGroups tells whether requests of an API name groups.
func NamesGroups(key wire.Key) bool {
	switch key {
	case AnyKey, wire.JoinGroup, wire.SyncGroup, wire.Heartbeat, wire.LeaveGroup, wire.OffsetCommit, wire.TxnOffsetCommit, wire.AddOffsetsToTxn, wire.OffsetDelete,
		wire.ConsumerGroupHeartbeat, wire.ConsumerGroupDescribe, wire.DescribeGroups, wire.DeleteGroups, wire.FindCoordinator, wire.OffsetFetch:
		return true
	}
	return false
}

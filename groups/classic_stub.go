package groups

import (
	"errors"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
)

type classicGroup struct{ generation int32 }
type offsets struct{}

func (o *offsets) list() (a, b []CommittedOffset) { return nil, nil }

type commitRequest struct{}

var errStub = errors.New("groups: not there yet")

func (s *Shard) stub(c Command)                                              { s.reply(c.Ticket, Refuse(c.Request, errCoordinatorNotAvailable)) }
func (s *Shard) joinGroup(c Command, req *kmsg.JoinGroupRequest)             { s.stub(c) }
func (s *Shard) syncGroup(c Command, req *kmsg.SyncGroupRequest)             { s.stub(c) }
func (s *Shard) heartbeat(c Command, req *kmsg.HeartbeatRequest)             { s.stub(c) }
func (s *Shard) leaveGroup(c Command, req *kmsg.LeaveGroupRequest)           { s.stub(c) }
func (s *Shard) describeGroups(c Command, req *kmsg.DescribeGroupsRequest)   { s.stub(c) }
func (s *Shard) listGroups(c Command, req *kmsg.ListGroupsRequest)           { s.stub(c) }
func (s *Shard) deleteGroups(c Command, req *kmsg.DeleteGroupsRequest)       { s.stub(c) }
func (s *Shard) offsetCommit(c Command, req *kmsg.OffsetCommitRequest)       { s.stub(c) }
func (s *Shard) txnOffsetCommit(c Command, req *kmsg.TxnOffsetCommitRequest) { s.stub(c) }
func (s *Shard) offsetFetch(c Command, req *kmsg.OffsetFetchRequest)         { s.stub(c) }
func (s *Shard) offsetDelete(c Command, req *kmsg.OffsetDeleteRequest)       { s.stub(c) }

func (s *Shard) expire()                                             {}
func (s *Shard) dropDeletedTopics(old Metadata)                      {}
func (s *Shard) classicLoaded(g *group)                              {}
func (s *Shard) classicUnload(g *group)                              {}
func (s *Shard) classicState(g *group) State                         { return State{Protocol: "classic"} }
func (s *Shard) applyOffset(offset int64, r Record)                  {}
func (s *Shard) applyPending(offset, producerID int64, r Record)     {}
func (s *Shard) applyClassicGroup(r Record)                          {}
func (s *Shard) endTransaction(producerID int64, commit bool)        {}
func (s *Shard) evictClassic(g *group, memberID, cause string) error { return errStub }
func (s *Shard) fenceClassic(g *group, memberID string) error        { return errStub }
func (s *Shard) rebalanceClassic(g *group, cause string) error       { return errStub }
func (s *Shard) touchClassic(g *group, memberID string)              {}

// CompleteTransaction brings the outcome of a producer's transaction for its pending offsets; offset is that of the
// marker, which the driver writes.
func (s *Shard) CompleteTransaction(now time.Time, producerID int64, epoch int16, commit bool, offset int64) Effects {
	return Effects{}
}

// HasPendingOffsets says whether an open transaction of the producer has offsets in this shard.
func (s *Shard) HasPendingOffsets(producerID int64) bool { return false }

// ExpectMembers lets the first assignment of a group wait until n members have joined, at most limit from the first join on.
func (s *Shard) ExpectMembers(now time.Time, group string, n int, limit time.Duration) Effects {
	return Effects{}
}

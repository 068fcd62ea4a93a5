package groups

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/fakekafka/fakekafka/assignors"
	"github.com/fakekafka/fakekafka/internal/records"
)

func suffix(prefix, s string) string {
	if s == "" {
		return ""
	}
	return prefix + s
}

func showPartitions(m map[string][]int32) string {
	var words []string
	for topic, partitions := range m {
		for _, p := range partitions {
			words = append(words, fmt.Sprintf("%s-%d", topic, p))
		}
	}
	slices.Sort(words)
	return "(" + strings.Join(words, " ") + ")"
}

func showAssignment(b []byte) string {
	if len(b) == 0 {
		return "nothing"
	}
	if partitions, ok := assignedPartitions(b); ok {
		return showPartitions(partitions)
	}
	return fmt.Sprintf("%q", b)
}

func describeEvent(e Event) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s", e.Group, e.Kind)
	if e.Member != "" {
		fmt.Fprintf(&b, " %s", e.Member)
	}
	b.WriteString(suffix(" instance ", e.InstanceID))
	b.WriteString(suffix(" for ", e.Replaces))
	switch {
	case e.ClientID == "" && e.Member != "":
		b.WriteString(" of nobody")
	case e.Member != e.ClientID && !strings.HasPrefix(e.Member, e.ClientID+"-"):
		b.WriteString(" of " + e.ClientID)
	}
	if e.Epoch != 0 {
		fmt.Fprintf(&b, " @%d", e.Epoch)
	}
	if e.Partitions != nil {
		fmt.Fprintf(&b, " %s", showPartitions(e.Partitions))
	}
	switch e.Kind {
	case EventCommitted, EventOffsetsPending, EventOffsetsAborted:
		fmt.Fprintf(&b, " = %d", e.Offset)
	}
	if e.Cause != "" {
		fmt.Fprintf(&b, ": %s", e.Cause)
	}
	return b.String()
}

// describeRecord shows a record of the log.
func (w *script) describeRecord(r Record) string {
	kind, err := records.KeyType(r.Key)
	if err != nil {
		return "UNREADABLE"
	}
	switch kind {
	case records.TypeOffsetCommit:
		k, err := records.DecodeOffsetKey(r.Key)
		if err != nil {
			return err.Error()
		}
		if r.Value == nil {
			return fmt.Sprintf("offset %s %s-%d: tombstone", k.Group, k.Topic, k.Partition)
		}
		v, err := records.DecodeOffsetValue(r.Value)
		if err != nil {
			return err.Error()
		}
		out := fmt.Sprintf("offset %s %s-%d = %d%s%s", k.Group, k.Topic, k.Partition, v.Offset, showLeaderEpoch(v.LeaderEpoch), suffix(" ", v.Metadata))
		if v.Commit != w.now.UnixMilli() {
			out += " committed " + w.since(v.Commit)
		}
		if v.Expire != -1 {
			out += " expires " + w.since(v.Expire)
		}
		if v.TopicID == (assignors.TopicID{}) {
			out += " without topic id"
		}
		return out
	case records.TypeGroupMetadata:
		k, err := records.DecodeGroupKey(r.Key)
		if err != nil {
			return err.Error()
		}
		if r.Value == nil {
			return fmt.Sprintf("group %s: tombstone", k.Group)
		}
		v, err := records.DecodeGroupValue(r.Value)
		if err != nil {
			return err.Error()
		}
		out := fmt.Sprintf("group %s: %q generation %d protocol %s leader %s", k.Group, v.ProtocolType, v.Generation, orNone(v.Protocol), orNone(v.Leader))
		out += " since " + w.since(v.StateTime)
		for _, m := range v.Members {
			out += fmt.Sprintf("; %s %s", m.ID, showAssignment(m.Assignment))
			if m.InstanceID != nil {
				out += " instance " + *m.InstanceID
			}
			if !strings.HasPrefix(m.ID, m.ClientID+"-") {
				out += " of " + m.ClientID
			}
			if m.ClientHost != scriptHost {
				out += fmt.Sprintf(" at %q", m.ClientHost)
			}
			out += showTimeout(" session ", m.SessionTimeout, scriptSession) + showTimeout(" rebalance ", m.RebalanceTimeout, scriptRebalance)
			if subscribed := showSubscription(m.Subscription); subscribed != "[foo]" {
				out += " subscribed " + subscribed
			}
		}
		return out
	}
	return describeConsumerRecord(kind, r)
}

// since shows a time of a record as the script counts it.
func (w *script) since(ms int64) string {
	if ms < 0 {
		return "unknown"
	}
	return fmt.Sprintf("+%s", time.UnixMilli(ms).Sub(w.start))
}

func showTimeout(name string, ms int32, usual time.Duration) string {
	if d := millis(ms); d != usual {
		return name + d.String()
	}
	return ""
}

func showLeaderEpoch(epoch int32) string {
	if epoch < 0 {
		return ""
	}
	return fmt.Sprintf("@%d", epoch)
}

// showTopicID shows the id of one of the script's topics by its first byte.
func showTopicID(id assignors.TopicID) string { return fmt.Sprintf("t%d", id[0]) }

// showSubscription shows a member's metadata: the topics, or the bytes where it is no subscription.
func showSubscription(b []byte) string {
	if topics, err := subscribedTopics(b); err == nil {
		return fmt.Sprint(topics)
	}
	return fmt.Sprintf("%q", b)
}

// describeConsumerRecord shows a record of the types 3 to 8 and 16.
var describeConsumerRecord = func(kind int16, r Record) string {
	if r.Value == nil {
		return fmt.Sprintf("type %d %q: tombstone", kind, r.Key[2:])
	}
	return fmt.Sprintf("type %d %q: %q", kind, r.Key[2:], r.Value)
}

func orNone(s *string) string {
	if s == nil {
		return "none"
	}
	return *s
}

func code(c int16) string {
	names := map[int16]string{
		errNone: "ok", errUnknownServerError: "UNKNOWN_SERVER_ERROR", errUnknownTopicOrPartition: "UNKNOWN_TOPIC_OR_PARTITION",
		errOffsetMetadataTooLarge: "OFFSET_METADATA_TOO_LARGE", errCoordinatorLoadInProgress: "COORDINATOR_LOAD_IN_PROGRESS",
		errCoordinatorNotAvailable: "COORDINATOR_NOT_AVAILABLE", errNotCoordinator: "NOT_COORDINATOR", errIllegalGeneration: "ILLEGAL_GENERATION",
		errInconsistentGroupProtocol: "INCONSISTENT_GROUP_PROTOCOL", errInvalidGroupID: "INVALID_GROUP_ID", errUnknownMemberID: "UNKNOWN_MEMBER_ID",
		errInvalidSessionTimeout: "INVALID_SESSION_TIMEOUT", errRebalanceInProgress: "REBALANCE_IN_PROGRESS", errNonEmptyGroup: "NON_EMPTY_GROUP",
		errGroupIDNotFound: "GROUP_ID_NOT_FOUND", errMemberIDRequired: "MEMBER_ID_REQUIRED", errGroupMaxSizeReached: "GROUP_MAX_SIZE_REACHED",
		errFencedInstanceID: "FENCED_INSTANCE_ID", errGroupSubscribedToTopic: "GROUP_SUBSCRIBED_TO_TOPIC", errUnstableOffsetCommit: "UNSTABLE_OFFSET_COMMIT",
		errUnknownTopicID: "UNKNOWN_TOPIC_ID", errInvalidRegularExpression: "INVALID_REGULAR_EXPRESSION", errStaleMemberEpoch: "STALE_MEMBER_EPOCH", errUnsupportedAssignor: "UNSUPPORTED_ASSIGNOR", errUnreleasedInstanceID: "UNRELEASED_INSTANCE_ID", errFencedMemberEpoch: "FENCED_MEMBER_EPOCH", errInvalidRequest: "INVALID_REQUEST", errTopicAuthorizationFailed: "TOPIC_AUTHORIZATION_FAILED", errUnsupportedVersion: "UNSUPPORTED_VERSION",
	}
	if name, ok := names[c]; ok {
		return name
	}
	return fmt.Sprintf("error %d", c)
}

// givenMemberID has the form of the ids that the coordinator gives out: a random UUID behind the client's or the instance's id.
var givenMemberID = regexp.MustCompile(`-[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$`)

// describeReply shows an answer; the client keeps what it learns from it.
func (w *script) describeReply(c *scriptClient, resp kmsg.Response) string {
	switch r := resp.(type) {
	case *kmsg.JoinGroupResponse:
		if givenMemberID.MatchString(r.MemberID) {
			w.alias(c, r.MemberID)
		}
		if r.ErrorCode == errMemberIDRequired {
			c.member = r.MemberID
		}
		if r.ErrorCode != errNone {
			out := fmt.Sprintf("JoinGroup: %s, member %q", code(r.ErrorCode), r.MemberID)
			if r.Generation != -1 || r.ProtocolType != nil || r.Protocol != nil || r.LeaderID != "" || len(r.Members) > 0 {
				out += fmt.Sprintf(", with generation %d type %s protocol %s leader %s and %d members", r.Generation, orNone(r.ProtocolType), orNone(r.Protocol), r.LeaderID, len(r.Members))
			}
			return out
		}
		c.member, c.gen = r.MemberID, r.Generation
		out := fmt.Sprintf("JoinGroup: member %s generation %d protocol %s leader %s", r.MemberID, r.Generation, orNone(r.Protocol), r.LeaderID)
		if orNone(r.ProtocolType) != "consumer" {
			out += " type " + orNone(r.ProtocolType)
		}
		if r.SkipAssignment {
			out += " skip assignment"
		}
		for _, m := range r.Members {
			out += fmt.Sprintf("; %s %s", m.MemberID, showSubscription(m.ProtocolMetadata))
			if m.InstanceID != nil {
				out += " instance " + *m.InstanceID
			}
		}
		return out
	case *kmsg.SyncGroupResponse:
		if r.ErrorCode != errNone {
			return "SyncGroup: " + code(r.ErrorCode)
		}
		out := "SyncGroup: " + showAssignment(r.MemberAssignment)
		if kind, protocol := orNone(r.ProtocolType), orNone(r.Protocol); kind != "consumer" || protocol != "range" {
			out += fmt.Sprintf(" type %s protocol %s", kind, protocol)
		}
		return out
	case *kmsg.HeartbeatResponse:
		return "Heartbeat: " + code(r.ErrorCode)
	case *kmsg.LeaveGroupResponse:
		out := "LeaveGroup: " + code(r.ErrorCode)
		for _, m := range r.Members {
			out += fmt.Sprintf("; %s %s", m.MemberID, code(m.ErrorCode))
			if m.InstanceID != nil {
				out += " instance " + *m.InstanceID
			}
		}
		return out
	case *kmsg.OffsetCommitResponse:
		out := "OffsetCommit:"
		for _, t := range r.Topics {
			if r.Version >= 10 {
				t.Topic = showTopicID(t.TopicID)
			}
			for _, p := range t.Partitions {
				out += fmt.Sprintf(" %s-%d %s", t.Topic, p.Partition, code(p.ErrorCode))
			}
			if len(t.Partitions) == 0 {
				out += " no partition of " + t.Topic
			}
		}
		return out
	case *kmsg.TxnOffsetCommitResponse:
		out := "TxnOffsetCommit:"
		for _, t := range r.Topics {
			for _, p := range t.Partitions {
				out += fmt.Sprintf(" %s-%d %s", t.Topic, p.Partition, code(p.ErrorCode))
			}
			if len(t.Partitions) == 0 {
				out += " no partition of " + t.Topic
			}
		}
		return out
	case *kmsg.OffsetFetchResponse:
		out := "OffsetFetch:"
		groups := r.Groups
		if r.Version < 8 { // as one of later versions
			g := kmsg.NewOffsetFetchResponseGroup()
			g.ErrorCode = r.ErrorCode
			for _, old := range r.Topics {
				t := kmsg.NewOffsetFetchResponseGroupTopic()
				t.Topic = old.Topic
				for _, p := range old.Partitions {
					t.Partitions = append(t.Partitions, kmsg.OffsetFetchResponseGroupTopicPartition(p))
				}
				g.Topics = append(g.Topics, t)
			}
			groups = append(groups, g)
		}
		for _, g := range groups {
			out += suffix(" ", strings.TrimPrefix(g.Group, "g")) + " " + code(g.ErrorCode)
			for _, t := range g.Topics {
				if r.Version >= 10 {
					t.Topic = showTopicID(t.TopicID)
				}
				for _, p := range t.Partitions {
					out += fmt.Sprintf("; %s-%d %d%s%s", t.Topic, p.Partition, p.Offset, showLeaderEpoch(p.LeaderEpoch), suffix(" ", orNone(p.Metadata)))
					if p.ErrorCode != errNone {
						out += " " + code(p.ErrorCode)
					}
				}
			}
		}
		return out
	case *kmsg.OffsetDeleteResponse:
		out := "OffsetDelete: " + code(r.ErrorCode)
		for _, t := range r.Topics {
			for _, p := range t.Partitions {
				out += fmt.Sprintf("; %s-%d %s", t.Topic, p.Partition, code(p.ErrorCode))
			}
			if len(t.Partitions) == 0 {
				out += "; no partition of " + t.Topic
			}
		}
		return out
	case *kmsg.DescribeGroupsResponse:
		out := "DescribeGroups:"
		for _, g := range r.Groups {
			out += fmt.Sprintf(" %s %s %s %q %q", g.Group, code(g.ErrorCode), g.State, g.ProtocolType, g.Protocol)
			if g.ErrorMessage != nil {
				out += fmt.Sprintf(" %q", *g.ErrorMessage)
			}
			if g.AuthorizedOperations != -1<<31 {
				out += fmt.Sprintf(" operations %d", g.AuthorizedOperations)
			}
			for _, m := range g.Members {
				out += fmt.Sprintf("; %s %s%s %s", m.MemberID, m.ClientID, m.ClientHost, showAssignment(m.MemberAssignment))
				if m.InstanceID != nil {
					out += " instance " + *m.InstanceID
				}
				if len(m.ProtocolMetadata) > 0 {
					out += " subscribed " + showSubscription(m.ProtocolMetadata)
				}
			}
		}
		return out
	case *kmsg.ListGroupsResponse:
		out := "ListGroups: " + code(r.ErrorCode)
		for _, g := range r.Groups {
			out += fmt.Sprintf("; %s %s %q %s", g.Group, g.GroupType, g.ProtocolType, g.GroupState)
		}
		return out
	case *kmsg.DeleteGroupsResponse:
		out := "DeleteGroups:"
		for _, g := range r.Groups {
			out += fmt.Sprintf(" %s %s", g.Group, code(g.ErrorCode))
		}
		return out
	}
	return w.describeConsumerReply(c, resp)
}

// follow replays to a shadow what the effects of a live shard brought into the log from offset on, and what Kafka forgets without a record; it
// returns the next offset.
func (s *Shard) follow(fx Effects, offset int64) int64 {
	for _, e := range fx.Events {
		if e.Kind == EventGroupDeleted && e.Cause == causeDoomed {
			s.groups[e.Group].consumer = nil
			s.dropIfBare(s.groups[e.Group])
		}
	}
	for _, b := range fx.Batches {
		for _, r := range b.Records {
			s.Replay(offset, r, b.ProducerID)
			offset++
		}
	}
	return offset
}

// durable is all durable state of a shard as text: what a replay of its log must lead to.
func durable(s *Shard) string {
	var b strings.Builder
	for _, id := range s.GroupIDs() {
		g := s.groups[id]
		fmt.Fprintf(&b, "%s\n", id)
		if g.classic != nil {
			fmt.Fprintf(&b, "  classic")
			if v := g.classic.synced; v != nil {
				fmt.Fprintf(&b, " %q %d %s %s %d", v.ProtocolType, v.Generation, orNone(v.Protocol), orNone(v.Leader), v.StateTime)
				for _, m := range v.Members {
					fmt.Fprintf(&b, " [%s %s %s %s %d %d %q %q]", m.ID, orNone(m.InstanceID), m.ClientID, m.ClientHost, m.RebalanceTimeout, m.SessionTimeout, m.Subscription, m.Assignment)
				}
			}
			fmt.Fprintln(&b)
		}
		if g.consumer != nil {
			b.WriteString(durableConsumer(g.consumer))
		}
		committed, pending := g.offsets.list()
		for _, o := range slices.Concat(committed, pending) {
			fmt.Fprintf(&b, "  %+v\n", o)
		}
	}
	return b.String()
}

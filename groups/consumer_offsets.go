package groups

// Offsets under member epochs (KIP-848): who may commit and fetch in a consumer group.

// validateConsumerCommit is the check of OffsetCommit and TxnOffsetCommit. It answers the error of all partitions, or 0.
func (s *Shard) validateConsumerCommit(group *group, r commitRequest) int16 {
	g := group.consumer
	m := g.members[r.memberID]
	switch {
	case g.empty() && r.epoch < 0:
		return errNone
	case r.txn && r.memberID == "" && r.epoch == -1 && r.instanceID == nil:
		return errNone
	case m == nil:
		return errUnknownMemberID
	case !r.txn && r.version < 9 && !m.usesClassic():
		return errUnsupportedVersion // older versions don't know the errors of this protocol
	case r.epoch == m.epoch: // whether it owns the partitions is not looked at
		return errNone
	}
	if r.epoch < m.epoch && s.heldSince(m, r) {
		return errNone
	}
	if r.txn {
		return errIllegalGeneration
	}
	return m.staleEpoch()
}

// heldSince says whether an older epoch may still commit (KIP-1251): every partition has been the member's since that epoch or
// before. One that isn't fails all.
func (s *Shard) heldSince(m *consumerMember, r commitRequest) bool {
	for _, o := range r.offsets {
		if s.tooMuchMetadata(o) { // fails alone, without this question
			continue
		}
		topic, ok := s.meta.Topic(o.topic)
		if !ok {
			return false
		}
		since, owned := m.assigned.epochOf(topic.ID, o.partition)
		if !owned {
			since, owned = m.pending.epochOf(topic.ID, o.partition)
		}
		if !owned || r.epoch < since {
			return false
		}
	}
	return true
}

// validateConsumerFetch is the check of OffsetFetch: a request that names a member has to know its epoch exactly.
func (s *Shard) validateConsumerFetch(group *group, memberID *string, epoch int32) int16 {
	switch {
	case memberID == nil && epoch < 0:
		return errNone
	case memberID == nil:
		return errUnknownServerError // Kafka trips over the missing id
	}
	m := group.consumer.members[*memberID]
	switch {
	case m == nil:
		return errUnknownMemberID
	case epoch != m.epoch:
		return m.staleEpoch()
	}
	return errNone
}

// staleEpoch is the error for an epoch that is not the member's, in its own protocol.
func (m *consumerMember) staleEpoch() int16 {
	if m.usesClassic() {
		return errIllegalGeneration
	}
	return errStaleMemberEpoch
}

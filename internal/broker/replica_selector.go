package broker

// rackAwareSelector is the class of Kafka's own replica selector.
const rackAwareSelector = "org.apache.kafka.common.replica.RackAwareReplicaSelector"

// preferredReadReplica is KIP-392: the broker that the leader sends a consumer to, -1 for itself or without a selector. The
// rack-aware selector looks for an in-sync replica in the consumer's rack whose log covers the offset; here all replicas share
// one log, so those that cover it are as far as each other, and the lowest id is taken.
func (f *fetching) preferredReadReplica(s *partitionState, logStart, end, offset int64) int32 {
	if f.rack == "" || offset < logStart || offset > end {
		return -1
	}
	m := f.r.cluster.meta.Load()
	inRack := func(id int32) bool {
		n := m.node(id)
		return n != nil && n.rack == f.rack
	}
	if inRack(s.leader) {
		return -1
	}
	chosen := int32(-1)
	for _, id := range s.isr {
		if inRack(id) && (chosen < 0 || id < chosen) {
			chosen = id
		}
	}
	return chosen
}

// selectsReplicas tells whether a replica selector is configured on the node.
func (n *node) selectsReplicas() bool {
	return n.cluster.settings(n.id).String("replica.selector.class") == rackAwareSelector
}

package groups

import (
	"slices"
	"strings"

	"github.com/fakekafka/fakekafka/assignors"
)

// homogeneous says whether all members subscribe to the same topics, as Kafka counts them for the assignor.
func (g *consumerGroup) homogeneous() bool {
	members := len(g.members) + g.former
	if len(g.regexUsers) > 0 {
		for _, users := range g.regexUsers {
			return len(g.regexUsers) == 1 && users == members && len(g.nameUsers) == 0
		}
	}
	for _, users := range g.nameUsers {
		if users != members {
			return false
		}
	}
	for topic := range g.regexTopics { // of an expression that nobody has anymore and that is about to be forgotten
		if g.nameUsers[topic] != members {
			return false
		}
	}
	return true
}

// wasHomogeneous is homogeneous as Kafka keeps it: counted when the record of a member is read, with the expressions that were resolved then. The
// last member of an expression goes before the expression does.
func (g *consumerGroup) wasHomogeneous() bool {
	if g.counted != nil {
		return *g.counted
	}
	return g.homogeneous()
}

// keepCount is called before an expression is resolved or forgotten.
func (g *consumerGroup) keepCount() {
	if g.counted == nil {
		alike := g.homogeneous()
		g.counted = &alike
	}
}

// takeForHomogeneous gives all members the topics of one. Kafka counts subscriptions anew only when a heartbeat moves the epoch or
// looks at the metadata again. A target that was due before, and is computed by the join of a member that does neither (it names no
// topic, or has an expression that isn't resolved yet), is computed as for the members there were (wasHomogeneous), and its assignors look
// at the first one's topics alone. Nobody is assigned what it doesn't subscribe to, but somebody may lack what it does until the next epoch.
func takeForHomogeneous(in *assignors.ServerInput, assignor string) {
	first := in.Members[0]
	switch assignor {
	case "uniform":
	case "range": // static members first
		first = slices.MinFunc(in.Members, func(a, b assignors.ServerMember) int {
			switch {
			case a.InstanceID != nil && b.InstanceID != nil:
				return strings.Compare(*a.InstanceID, *b.InstanceID)
			case a.InstanceID != nil:
				return -1
			case b.InstanceID != nil:
				return 1
			}
			return strings.Compare(a.ID, b.ID)
		})
	default:
		return
	}
	for i := range in.Members {
		in.Members[i].Topics = first.Topics
	}
	in.Homogeneous = true
}

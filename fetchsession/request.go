package fetchsession

import "math"

// Session ids and epochs with a meaning of their own.
const (
	// NoSession is the id of requests and answers without a session.
	NoSession int32 = 0
	// InitialEpoch asks for a full answer and a new session.
	InitialEpoch int32 = 0
	// FinalEpoch closes a session, or asks for a full answer without one.
	FinalEpoch int32 = -1
)

// Kind is what a request's session id and epoch ask for.
type Kind uint8

const (
	// Sessionless answers the request's partitions without a session, and closes the one it names.
	Sessionless Kind = iota
	// Full answers the request's partitions, closes the session it names and tries to open a new one.
	Full
	// Incremental changes and reads the session it names.
	Incremental
)

func (k Kind) String() string {
	switch k {
	case Sessionless:
		return "sessionless"
	case Full:
		return "full"
	default:
		return "incremental"
	}
}

// KindOf reads a request's session epoch. Requests below version 7 have none; theirs is FinalEpoch.
func KindOf(epoch int32) Kind {
	switch epoch {
	case FinalEpoch:
		return Sessionless
	case InitialEpoch:
		return Full
	default:
		return Incremental
	}
}

// NextEpoch is the epoch that follows e in a session: after the largest number comes 1, since 0 has a meaning of its own.
func NextEpoch(e int32) int32 {
	switch {
	case e < 0:
		return FinalEpoch
	case e == math.MaxInt32:
		return 1
	default:
		return e + 1
	}
}

// Partition is one partition as a request names it: what to read, and from where.
type Partition struct {
	Topic     string   // empty when the request gave an id that has no name (yet)
	TopicID   [16]byte // zero in requests below version 13
	Partition int32

	FetchOffset        int64
	LogStartOffset     int64 // a follower's; -1 from consumers
	MaxBytes           int32
	CurrentLeaderEpoch int32 // -1: not to be checked
	LastFetchedEpoch   int32 // -1: not to be checked
}

// key is what makes a partition the same in two requests of a session: from version 13 on its topic's id, before its
// topic's name.
type key struct {
	id        [16]byte
	name      string
	partition int32
}

func keyOf(p *Partition, byID bool) key {
	if byID {
		return key{id: p.TopicID, partition: p.Partition}
	}
	return key{name: p.Topic, partition: p.Partition}
}

// Merge drops repeated partitions from a request's list, in place: the last entry's fields stand at the first one's
// place. byID says how topics are named (version 13 and up: by id).
func Merge(list []Partition, byID bool) []Partition {
	const few = 8
	if len(list) <= few { // a map would cost more than it saves
		n := 0
	next:
		for i := range list {
			k := keyOf(&list[i], byID)
			for j := range list[:n] {
				if keyOf(&list[j], byID) == k {
					list[j] = list[i]
					continue next
				}
			}
			list[n] = list[i]
			n++
		}
		return list[:n]
	}
	at := make(map[key]int, len(list))
	n := 0
	for i := range list {
		k := keyOf(&list[i], byID)
		if j, named := at[k]; named {
			list[j] = list[i]
			continue
		}
		at[k] = n
		list[n] = list[i]
		n++
	}
	return list[:n]
}

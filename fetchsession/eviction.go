package fetchsession

import (
	"cmp"
	"time"
)

// toEvict is Kafka's rule for a full shard: which session gives its place to a newcomer of that privilege and size, nil
// for none. Each choice is the smallest in an order that ends with the id, so the map's order decides nothing.
func (c *Shard) toEvict(privileged bool, size int, now time.Time) *Session {
	// First: the session that was left alone longest, if that is long enough.
	stalest := smallest(c.sessions, nil, func(a, b *Session) int {
		return cmp.Or(cmp.Compare(a.lastUsed, b.lastUsed), cmp.Compare(a.id, b.id))
	})
	if stalest == nil {
		return nil // no slots at all
	}
	if now.UnixMilli()-stalest.lastUsed > minAgeMs {
		return stalest
	}
	// Else: the least valuable among those that the newcomer may push out at all.
	candidate := smallest(c.sessions, func(s *Session) bool {
		return s.oldAtLastUse() || privileged && !s.privileged
	}, func(a, b *Session) int {
		return cmp.Or(comparePrivilege(a.privileged, b.privileged), cmp.Compare(a.size, b.size), cmp.Compare(a.id, b.id))
	})
	if candidate == nil {
		return nil
	}
	// The newcomer counts as having id 0, so with equal privilege it must be larger.
	worth := cmp.Or(comparePrivilege(privileged, candidate.privileged), cmp.Compare(size, candidate.size), -1)
	if worth < 0 {
		return nil
	}
	return candidate
}

// oldAtLastUse is judged when a session is used, not when a newcomer arrives: a session used at the age of 60 s and not
// since is no candidate at 119 s, though by then it is nearly stale.
func (s *Session) oldAtLastUse() bool { return s.lastUsed-s.created > minAgeMs }

func comparePrivilege(a, b bool) int {
	switch {
	case a == b:
		return 0
	case b:
		return -1
	default:
		return 1
	}
}

func smallest(sessions map[int32]*Session, may func(*Session) bool, compare func(a, b *Session) int) *Session {
	var least *Session
	for _, s := range sessions {
		if may != nil && !may(s) {
			continue
		}
		if least == nil || compare(s, least) < 0 {
			least = s
		}
	}
	return least
}

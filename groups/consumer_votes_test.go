package groups

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/fakekafka/fakekafka/assignors"
)

// What Kafka 4.3.1 does in ties is recorded in the scenarios tie-*.
func TestAssignorTies(t *testing.T) {
	t.Parallel()
	r, u := "range", "uniform"
	shard := func(names ...string) *Shard {
		s := &Shard{}
		for _, n := range names {
			s.cfg.Assignors = append(s.cfg.Assignors, map[string]assignors.ServerAssignor{r: assignors.NewServerRange(), u: assignors.NewUniform()}[n])
		}
		return s
	}
	for _, c := range []struct {
		name       string
		configured []string
		votes      map[string]int // with the request's
		vote       vote
		computes   string
		described  string
	}{
		{"nobody votes", []string{r, u}, nil, vote{}, r, r},
		{"the newcomer's", []string{u, r}, map[string]int{r: 1, u: 1}, vote{nil, &r}, r, u},
		{"the only one for its own, again", []string{u, r}, map[string]int{r: 1, u: 1}, vote{&r, &r}, r, u},
		{"one that votes for none", []string{u, r}, map[string]int{r: 1, u: 1}, vote{}, u, u},
		{"whatever is configured first", []string{r, u}, map[string]int{r: 1, u: 1}, vote{}, u, u},
		{"two for each", []string{u, r}, map[string]int{r: 2, u: 2}, vote{&r, &r}, u, u},
		{"most votes", []string{u, r}, map[string]int{r: 2, u: 1}, vote{&u, &u}, r, r},
		{"away from it", []string{u, r}, map[string]int{u: 1}, vote{&r, &u}, u, u},
		{"one that is not configured any more", []string{u}, map[string]int{r: 1}, vote{}, u, u},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s, g := shard(c.configured...), &consumerGroup{votes: c.votes}
			assert.Equal(t, c.computes, s.assignorFor(g, c.vote).Name(), "computes the target")
			assert.Equal(t, c.described, s.chosenAssignor(g).Name(), "described")
		})
	}
}

package main

import (
	"bytes"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// all serves every version that kmsg knows.
func all() versions {
	served := versions{}
	for key := int16(0); key <= kmsg.MaxKey; key++ {
		if q := kmsg.RequestForKey(key); q != nil {
			served[key] = [2]int16{0, q.MaxVersion()}
		}
	}
	return served
}

// known is a world in which everything has an id, drawn from a seed.
func known(seed uint64) *world {
	r := rand.New(rand.NewPCG(seed, 0))
	w := newWorld("p-")
	for _, topic := range []string{"p-t1", "p-t2"} {
		var id [16]byte
		for i := range id {
			id[i] = byte(r.IntN(256))
		}
		w.topics, w.ids[topic] = append(w.topics, topic), id
	}
	for _, name := range []string{"p-x1", "p-x2", "idempotent"} {
		w.producers[name] = &producer{id: r.Int64N(1000), next: map[partition]int32{}}
	}
	w.joined("p-g1", pick(r, idA, idB), nil, 3)
	w.joined("p-g1", pick(r, idC, idD), kmsg.StringPtr("i1"), 3)
	w.members["p-g1"][1].classic, w.members["p-g1"][1].phase = true, synced
	w.session.id, w.session.epoch = r.Int32(), 4
	return w
}

func TestASeedGivesTheSameRequests(t *testing.T) {
	t.Parallel()
	for _, a := range areas {
		for seed := range uint64(3) {
			steps := stepsOf(a.name, seed, 100)
			require.Equal(t, steps, stepsOf(a.name, seed, 100))
			for _, s := range steps {
				q, hurt := a.request(s, known(seed), all())
				again, hurtAgain := a.request(s, known(seed), all())
				require.Equal(t, frameOf(q), frameOf(again), "%s %d", a.name, s.seed)
				require.Equal(t, len(hurt), len(hurtAgain))
			}
		}
	}
}

// The two brokers get the same request but for the ids, so the frames are of one length.
func TestOtherIDsGiveTheSameRequest(t *testing.T) {
	t.Parallel()
	for _, a := range areas {
		for _, s := range stepsOf(a.name, 1, 300) {
			q, _ := a.request(s, known(1), all())
			other, _ := a.request(s, known(2), all())
			require.Equal(t, q.Key(), other.Key())
			require.Equal(t, q.GetVersion(), other.GetVersion())
			require.Len(t, frameOf(other), len(frameOf(q)), "%s: %v %v", a.name, treeOf(q), treeOf(other))
		}
	}
}

func TestEveryKindIsMade(t *testing.T) {
	t.Parallel()
	for _, a := range areas {
		want, got := map[int16]bool{}, map[int16]bool{}
		for _, k := range a.kinds {
			want[k.key] = true
		}
		for _, s := range stepsOf(a.name, 1, 3000) {
			q, _ := a.request(s, known(1), all())
			got[q.Key()] = true
		}
		require.Equal(t, want, got, a.name)
	}
}

func TestTameRequestsAreAnsweredByKafka(t *testing.T) {
	t.Parallel()
	for _, a := range areas {
		for _, s := range stepsOf(a.name, 2, 3000) {
			switch q, _ := a.request(s, known(1), all()); q := q.(type) {
			case *kmsg.ProduceRequest:
				require.NotZero(t, q.Acks)
			case *kmsg.FetchRequest:
				require.Zero(t, q.MaxWaitMillis)
			case *kmsg.UpdateFeaturesRequest:
				require.True(t, q.ValidateOnly)
			case *kmsg.AddPartitionsToTxnRequest:
				require.False(t, q.Version >= 4 && len(q.Transactions) == 0)
			}
		}
	}
}

func TestMutationsSpareIDs(t *testing.T) {
	t.Parallel()
	a, b := bytes.Repeat([]byte{7}, 60), bytes.Repeat([]byte{7}, 60)
	copy(a[30:], "0123456789abcdef")
	copy(b[30:], "fedcba9876543210")
	for seed := range uint64(2000) {
		r := rand.New(rand.NewPCG(seed, 0))
		x, y, applied := mutated(bytes.Clone(a), bytes.Clone(b), mutationsOf(r, len(a)))
		require.Len(t, y, len(x))
		require.Equal(t, a[4:header], x[4:header], "the header says how to read the answer")
		require.EqualValues(t, len(x)-4, uint32(x[2])<<8|uint32(x[3]))
		require.Contains(t, string(x), "0123456789abcdef", "%v", applied)
		require.Contains(t, string(y), "fedcba9876543210", "%v", applied)
	}
}

func TestReadBack(t *testing.T) {
	t.Parallel()
	q := kmsg.NewPtrHeartbeatRequest()
	q.Version, q.Group, q.Generation = 4, "g", 7
	frame := frameOf(q)
	require.Equal(t, treeOf(q).String(), treeOf(readBack(frame, q)).String())
	require.NotNil(t, readBack(append(frame, 0), q), "more than the request")
	require.Nil(t, readBack(frame[:len(frame)-2], q))
	require.Nil(t, readBack(frame[:header], q))
}

func TestShrink(t *testing.T) {
	t.Parallel()
	steps := stepsOf("log", 1, 30)
	needs := []uint64{steps[4].seed, steps[17].seed, steps[29].seed}
	runs := 0
	got := shrink(steps, 100, func(with []step) bool {
		runs++
		var have []uint64
		for _, s := range with {
			for _, n := range needs {
				if s.seed == n && !(n == needs[1] && s.sane) {
					have = append(have, n)
				}
			}
		}
		return len(have) == len(needs)
	})
	require.Equal(t, []step{{needs[0], true, true}, {needs[1], false, true}, {needs[2], true, true}}, got)
	require.LessOrEqual(t, runs, 100)
}

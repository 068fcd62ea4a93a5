package clienttests

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// A client is a Kafka client library as its users use it: its own default
// settings, save for where to connect, the codec, and to start at the earliest
// offset where nothing was committed (which three of them don't by default).
type client interface {
	create(ctx context.Context, addr, topic string, partitions int) error
	produce(ctx context.Context, addr, topic, codec string, recs []record) error
	// consume joins the group with so many members, receives n records between
	// them, commits what it received and closes.
	consume(ctx context.Context, addr, topic, group string, members, n int) ([]delivery, error)
}

// An emptyIsNull client cannot tell an empty value from none when it reads.
type emptyIsNull interface{ emptyIsNull() }

const (
	partitions = 6
	sentFirst  = 10_000
	sentLater  = 1_000
)

// stories runs the story of one client once for each codec.
func stories(t *testing.T, c client, codecs ...string) {
	t.Parallel()
	for _, codec := range codecs {
		t.Run(codec, func(t *testing.T) {
			t.Parallel()
			story(t, c, codec)
		})
	}
}

// story is the way of a topic that every user goes: create it, fill it, share
// it between two workers, commit, stop, and go on where they were.
func story(t *testing.T, c client, codec string) {
	b := broker(t)
	topic, group := b.topic(t, "orders"), b.group(t, "workers")

	require.NoError(t, c.create(b.ctx, b.addr, topic, partitions))
	b.awaitTopic(t, topic, partitions)

	// The records come when both members have their partitions: no rebalance
	// is under way then, so each record arrives exactly once.
	sent := makeRecords(0, sentFirst)
	received := background(b.ctx, func(ctx context.Context) ([]delivery, error) {
		return c.consume(ctx, b.addr, topic, group, 2, sentFirst)
	})
	require.NoError(t, b.awaitMembers(received.ctx, group, 2))
	require.NoError(t, c.produce(b.ctx, b.addr, topic, codec, sent))
	got, err := received.wait()
	require.NoError(t, err)

	requireSame(t, asRead(c, sent), got)
	perMember, next := map[int]int{}, map[int32]int64{}
	for _, d := range got {
		perMember[d.Member]++
		next[d.Partition] = d.Offset + 1
	}
	require.Len(t, perMember, 2, "both members must have received records, by member: %v", perMember)
	require.Equal(t, next, b.committed(t, group, topic), "committed offsets")

	// A member that comes later goes on at the committed offsets.
	later := makeRecords(sentFirst, sentLater)
	require.NoError(t, c.produce(b.ctx, b.addr, topic, codec, later))
	got, err = c.consume(b.ctx, b.addr, topic, group, 1, sentLater)
	require.NoError(t, err)
	requireSame(t, asRead(c, later), got)
	for _, d := range got {
		require.Equal(t, next[d.Partition], d.Offset, "partition %d: the next offset", d.Partition)
		next[d.Partition]++
	}
	require.Equal(t, next, b.committed(t, group, topic), "committed offsets")
}

// asRead returns the records as the client must show them.
func asRead(c client, recs []record) []record {
	if _, ok := c.(emptyIsNull); !ok {
		return recs
	}
	recs = slices.Clone(recs)
	for i := range recs {
		if len(recs[i].Value) == 0 {
			recs[i].Value = nil
		}
	}
	return recs
}

// A task runs beside the test. Its context ends with it, so that whoever waits
// for what the task was to bring about learns why that won't come.
type task struct {
	ctx context.Context
	out chan taskResult
}

type taskResult struct {
	got []delivery
	err error
}

func background(ctx context.Context, fn func(context.Context) ([]delivery, error)) task {
	ctx, end := context.WithCancelCause(ctx)
	r := task{ctx, make(chan taskResult, 1)}
	go func() {
		got, err := fn(ctx)
		r.out <- taskResult{got, err}
		if err == nil {
			err = errors.New("the consumers ended")
		}
		end(err)
	}()
	return r
}

func (r task) wait() ([]delivery, error) {
	x := <-r.out
	return x.got, x.err
}

// short says how far members got that could not finish.
func short(got []delivery, n int, err error) error {
	return fmt.Errorf("received %d of %d records: %w", len(got), n, err)
}

// gather runs the members and collects what they deliver until there are n
// records. It then ends their context: each commits what it delivered and
// leaves.
func gather(ctx context.Context, members, n int, member func(ctx context.Context, i int, deliver func(delivery)) error) ([]delivery, error) {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	done := errors.New("all records are here")
	ch := make(chan delivery)
	errs := make(chan error, members)
	for i := range members {
		go func() {
			errs <- member(ctx, i, func(d delivery) {
				d.Member = i
				select {
				case ch <- d:
				case <-ctx.Done():
				}
			})
		}()
	}
	var got []delivery
	var failed error
	for left := members; left > 0; {
		select {
		case d := <-ch:
			if got = append(got, d); len(got) == n {
				stop(done)
			}
		case err := <-errs:
			left--
			if err != nil && failed == nil {
				failed = err
				stop(err)
			}
		case <-ctx.Done():
			// Members see it too; go on until they have all left.
			for ; left > 0; left-- {
				if err := <-errs; err != nil && failed == nil {
					failed = err
				}
			}
		}
	}
	if failed == nil && len(got) < n {
		failed = context.Cause(ctx)
	}
	if failed != nil {
		return got, short(got, n, failed)
	}
	return got, nil
}

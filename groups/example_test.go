package groups_test

import (
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/fakekafka/fakekafka/groups"
)

// A classic member joins; time passes; the generation is made. Everything that happens comes back as effects.
func ExampleShard() {
	s := groups.NewShard(groups.DefaultConfig(), groups.Deps{})
	now := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	s.Loaded(now)

	join := kmsg.NewPtrJoinGroupRequest()
	join.Version, join.Group, join.ProtocolType = 3, "billing", "consumer"
	join.SessionTimeoutMillis, join.RebalanceTimeoutMillis = 10_000, 60_000
	join.Protocols = []kmsg.JoinGroupRequestProtocol{{Name: "range"}}
	fx := s.Handle(now, groups.Command{Ticket: 1, Client: groups.Client{ID: "worker-1", Host: "/127.0.0.1"}, Request: join})
	show(fx)

	at, _ := s.Deadline()
	fmt.Println("next deadline in", at.Sub(now))
	show(s.Tick(at))
	// Output:
	// 1 records, 0 replies
	// group created: first JoinGroup
	// joined
	// rebalance: worker-1 joined
	// next deadline in 3s
	// 0 records, 1 replies
	// generation: 1 of 1 members joined; protocol range
}

func show(fx groups.Effects) {
	records := 0
	for _, b := range fx.Batches {
		records += len(b.Records)
	}
	fmt.Printf("%d records, %d replies\n", records, len(fx.Replies))
	for _, e := range fx.Events {
		if e.Cause == "" {
			fmt.Println(e.Kind)
			continue
		}
		fmt.Printf("%s: %s\n", e.Kind, e.Cause)
	}
}

// Package assignors computes who owns which partition of a consumer group, partition by partition as Apache Kafka 4.3.1 does.
//
// A test that wants to know what a group will get asks [Predict] with plain values:
//
//	group := assignors.NewGroup(map[string]int32{"orders": 3}, "c1", "c2")
//	p, err := assignors.Predict(assignors.NewRange(), group)
//	fmt.Print(p)                                  // c1: orders[0 1], c2: orders[2]
//	p, err = assignors.Predict(assignors.NewRange(), p.After().Join("c3"))
//
// and [Explain], or [Round.Explain], why each partition is where it is and what moved.
//
// # The assignors
//
// Client side, where the leader of a classic group computes: [NewRange], [NewRoundRobin], [NewSticky], [NewCooperativeSticky].
// Server side, where the coordinator of a consumer group (KIP-848) does: [NewUniform], [NewServerRange]; [ServerSide] lets them be
// asked with the same plain values. An assignor of one's own is a [ServerAssignor]; [Checked] guards against what it may do wrong.
//
// [DecodeSubscription], [DecodeAssignment] and their counterparts read and write what classic members send each other.
//
// All of them are values without state, and nothing here depends on map order, clock or chance: equal input in any order gives equal
// output. Where Kafka's own result depends on the order of its hash maps, members are taken by id, topics by id (server) or name
// (client) and partitions by number, so the result is one of those Kafka could have computed. The group coordinator knows the order
// that Kafka would have, and gives it ([OrderedServerAssignor]). Strings are ordered as in Java, by UTF-16 code unit.
//
// # Where this differs from Kafka on purpose
//
// Defects of the original are not copied:
//   - The sticky assignors treat members without any topic as different from the others wherever they stand. Kafka does not notice
//     those it meets first, and gives them partitions they did not ask for.
//   - Claims on partitions that do not exist (the topic was created anew with fewer) are dropped. Kafka's client fails or lists
//     partitions twice. (Its uniform assignor fails, and so does this.)
//   - An outdated claim never pulls a partition to a member that no longer subscribes to the topic. Kafka does that, and fails if that
//     member cannot take part at all.
//   - With mixed subscriptions there are groups that Kafka's sticky assignors never finish: the records by which they avoid swapping
//     partitions send some round in a circle. Here the computation starts over without those records as soon as that shows.
//   - A member that claims a partition twice has it. In Kafka it loses it by that.
//   - With mixed subscriptions, uniform leaves a partition that stands in two previous targets with one of the members. Kafka leaves it
//     with both. (With equal subscriptions it fails, and so does this.)
package assignors

package main

import (
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// What differs between two brokers though both are right, or differs on purpose (../DIFFERENCES.md). Nothing else may stand here: a row
// names a field of one API, or a field that means the same in all of them, and why it isn't compared.

// at is a field of an API's answers: its path, or for anyAPI its name.
type at struct {
	key  int16
	path string
}

const anyAPI = -1

// free are the fields whose values aren't compared.
var free = map[at]string{
	{anyAPI, "ThrottleMillis"}:                              "a quota of request_percentage counts the time of the broker's threads",
	{anyAPI, "ClusterID"}:                                   "each cluster has its own",
	{anyAPI, "ControllerID"}:                                "a live controller is any of the brokers",
	{anyAPI, "Port"}:                                        "each listens on its own",
	{anyAPI, "Host"}:                                        "each listens on its own",
	{anyAPI, "ClientHost"}:                                  "Apache Kafka names it by what it is bound to",
	{anyAPI, "ClientInstanceID"}:                            "drawn at random",
	{35, "Dirs.Dir"}:                                        "a path of the machine",
	{35, "Dirs.TotalBytes"}:                                 "the machine's",
	{35, "Dirs.UsableBytes"}:                                "the machine's",
	{35, "Dirs.Topics.Partitions.Size"}:                     "markers and the broker's own topics are written when it likes",
	{32, "Resources.Configs.Documentation"}:                 "DIFFERENCES.md: the texts are Apache Kafka's own",
	{61, "Topics.Partitions.ActiveProducers.LastTimestamp"}: "the time of a marker is the broker's clock",
	{65, "TransactionStates.StartTimestamp"}:                "the broker's clock",
	{71, "SubscriptionID"}:                                  "a checksum over what is drawn at random",
	{71, "AcceptedCompressionTypes"}:                        "in the order of a hash table",
	{55, "Topics.Partitions.LeaderEpoch"}:                   "how often a controller was elected",
	{55, "Topics.Partitions.HighWatermark"}:                 "the log of the controller is its own",
	{55, "Topics.Partitions.CurrentVoters.LogEndOffset"}:    "the log of the controller is its own",
	{55, "Nodes"}:                                           "DIFFERENCES.md: there is no controller to connect to",
}

// texts are fields of which only matters whether they are null, empty or something: the wording is each one's own.
var texts = map[string]bool{"ErrorMessage": true, "StatusMessage": true}

// ordered are lists whose order is a rule of the protocol. Apache Kafka sends most others in the order of a hash table.
var ordered = map[at]bool{
	{1, "Topics"}:                                true,
	{1, "Topics.Partitions"}:                     true,
	{1, "Topics.Partitions.RecordBatches"}:       true,
	{1, "Topics.Partitions.AbortedTransactions"}: true,
	{3, "Topics.Partitions.Replicas"}:            true,
	{3, "Topics.Partitions.ISR"}:                 true,
	{8, "Topics"}:                                true,
	{8, "Topics.Partitions"}:                     true,
	{13, "Members"}:                              true,
	{19, "Topics"}:                               true,
	{75, "Topics"}:                               true,
	{75, "Topics.Partitions"}:                    true,
}

// listings are lists of everything that a broker has, and the field that names an entry. Those of other sequences are left out.
var listings = map[at]string{
	{3, "Topics"}:             "Topic",
	{16, "Groups"}:            "Group",
	{35, "Dirs.Topics"}:       "Topic",
	{43, "Topics"}:            "Topic",
	{46, "Topics"}:            "Topic",
	{48, "Entries"}:           "Name",
	{50, "Results"}:           "User",
	{66, "TransactionStates"}: "TransactionalID",
	{74, "ConfigResources"}:   "Name",
	{75, "Topics"}:            "Topic",
}

// internals are lists that say what stands in logs. The broker's own topics are left out: all sequences write to them.
var internals = map[at]bool{
	{1, "Topics"}:  true,
	{2, "Topics"}:  true,
	{21, "Topics"}: true,
	{23, "Topics"}: true,
	{61, "Topics"}: true,
}

// leaveOut takes out of an answer what isn't compared.
func leaveOut(key int16, n *node, w *world) {
	for _, f := range n.kids() {
		k, name := f.value, f.name
		_, everywhere := free[at{anyAPI, name}]
		_, here := free[at{key, k.path}]
		switch {
		case n.isList:
			leaveOut(key, k, w)
		case everywhere || here:
			*k = node{path: k.path, text: "*"}
		case texts[name] && k.text != "null" && k.text != `""`:
			k.text = `"..."`
		default:
			leaveOut(key, k, w)
			if by, ok := listings[at{key, k.path}]; ok {
				k.list = slices.DeleteFunc(k.list, func(e *node) bool {
					name := nameOf(e, by)
					if text, err := strconv.Unquote(name); err == nil && key == 35 && w.deleted[text] {
						return true // Apache Kafka takes its time to remove the files
					}
					return name != "null" && name != `""` && !strings.HasPrefix(name, `"`+w.prefix)
				})
			}
			if internals[at{key, k.path}] {
				k.list = slices.DeleteFunc(k.list, func(e *node) bool { return strings.HasPrefix(nameOf(e, "Topic"), `"__`) })
			}
			if k.isList && len(k.list) == 0 { // kmsg has nil for an empty list
				*k = node{path: k.path, text: "null"}
			}
		}
	}
}

// nameOf is the first field of that name in an entry; "null" if there is none.
func nameOf(e *node, field string) string {
	for _, f := range e.kids() {
		if f.name == field {
			return f.value.text
		}
		if name := nameOf(f.value, field); name != "null" {
			return name
		}
	}
	return "null"
}

// onPurpose names the row of DIFFERENCES.md that two different answers fall under, "" if none does.
func onPurpose(q kmsg.Request, kafka, ours answer, where string) string {
	field := path.Ext(where)
	switch q := q.(type) {
	case *kmsg.ProduceRequest:
		if kafka.what == silent && ours.what == answered && strings.Contains(ours.tree.String(), "ErrorCode:87 ") {
			return "Produce with null record data is answered"
		}
	case *kmsg.AlterConfigsRequest:
		if kafka.what == silent && ours.what == answered && strings.Contains(ours.tree.String(), "ErrorCode:42 ") {
			return "AlterConfigs that names a resource twice is answered"
		}
	case *kmsg.WriteTxnMarkersRequest, *kmsg.AddPartitionsToTxnRequest:
		if kafka.what == silent && ours.what == answered {
			return "what stands there twice, or not at all, is answered"
		}
	case *kmsg.JoinGroupRequest:
		unread := func(p kmsg.JoinGroupRequestProtocol) bool {
			return new(kmsg.ConsumerMemberMetadata).ReadFrom(p.Metadata) != nil
		}
		if kafka.what == silent && ours.what == answered && slices.ContainsFunc(q.Protocols, unread) {
			return "the first JoinGroup of a consumer whose subscription can't be read is answered"
		}
	case *kmsg.ApiVersionsRequest:
		if kafka.what == ours.what && (where == "answer.ApiKeys" || field == ".ApiKey") {
			return "share groups and streams groups are not served"
		}
	}
	return ""
}

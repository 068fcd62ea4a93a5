package broker

import (
	"reflect"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/fakekafka/fakekafka/internal/wire"
)

// Requests that name several topics, partitions or groups, and their answers. kmsg calls the same things by the same names in every API and version, so that one
// walk serves them all.

// entry is the smallest thing in a request that is answered by itself: a partition; a topic, where no partitions are named; or one of several groups.
type entry struct {
	parent      int // which of the request's groups or transactions it is in; 0 where there is one
	grouped     bool
	group       string // if grouped
	ofTopic     bool
	topic       string // or id
	id          [16]byte
	ofPartition bool
	partition   int32
}

// requestLists are the fields of requests, and of what is in their lists, that hold entries or lists of them.
var requestLists = []string{"Groups", "CoordinatorKeys", "Transactions", "Markers", "Dirs", "Topics", "TopicNames", "Partitions", "Resources"}

// part is a copy of a request with the entries that keep takes, and how many these are. A topic without partitions has no entry; it stays if bare.
func part(req kmsg.Request, bare bool, keep func(*entry) bool) (kmsg.Request, int) {
	p := reflect.New(reflect.TypeOf(req).Elem())
	p.Elem().Set(reflect.ValueOf(req).Elem())
	_, kept := keepIn(p.Elem(), entry{}, bare, keep)
	return p.Interface().(kmsg.Request), kept
}

// keepIn replaces the lists of a struct by what is kept of them.
func keepIn(v reflect.Value, around entry, bare bool, keep func(*entry) bool) (had, kept int) {
	for _, name := range requestLists {
		list := v.FieldByName(name)
		if !list.IsValid() || list.Len() == 0 {
			continue
		}
		rest := reflect.MakeSlice(list.Type(), 0, 0)
		for i := range list.Len() {
			// A copy, for its own lists change. Records and other bytes are shared.
			o := reflect.New(list.Type().Elem()).Elem()
			o.Set(list.Index(i))
			e := around
			inner := e.enter(name, i, o)
			if inner {
				h, k := keepIn(o, e, bare, keep)
				had, kept = had+h, kept+k
				if k > 0 || h == 0 && bare && name != "Groups" {
					rest = reflect.Append(rest, o)
				}
				if h > 0 || name != "Groups" { // a group that is asked for as a whole is an entry
					continue
				}
			}
			had++
			if keep(&e) {
				kept++
				rest = reflect.Append(rest, o)
			}
		}
		list.Set(rest)
	}
	return had, kept
}

// enter describes what stands at i in a list. It tells whether the entries are inside of it.
func (e *entry) enter(list string, i int, o reflect.Value) (inner bool) {
	switch list {
	case "Groups", "CoordinatorKeys":
		e.parent, e.grouped = i, true
		if o.Kind() == reflect.String {
			e.group = o.String()
			return false
		}
		e.group = o.FieldByName("Group").String()
		return true
	case "Transactions":
		e.parent = i
		return true
	case "Topics":
		e.ofTopic = true
		e.topic = textIn(o, "Topic")
		if id := o.FieldByName("TopicID"); id.IsValid() {
			e.id = id.Interface().([16]byte)
		}
		return o.FieldByName("Partitions").IsValid()
	case "TopicNames":
		e.ofTopic, e.topic = true, o.String()
	case "Resources":
		e.ofTopic = o.FieldByName("ResourceType").Int() == int64(kmsg.ConfigResourceTypeTopic)
		e.topic = textIn(o, "ResourceName")
	case "Partitions":
		e.ofPartition = true
		if o.Kind() == reflect.Struct {
			o = o.FieldByName("Partition")
		}
		e.partition = int32(o.Int())
	default: // Markers, Dirs
		return true
	}
	return false
}

// textIn is a field that is a string or a pointer to one, "" where there is none.
func textIn(v reflect.Value, field string) string {
	f := v.FieldByName(field)
	if f.IsValid() && f.Kind() == reflect.Pointer {
		f = f.Elem()
	}
	if !f.IsValid() {
		return ""
	}
	return f.String()
}

// answerLists are the lists of answers that answer the requests' entry by entry.
var answerLists = []string{"Groups", "Coordinators", "Transactions", "Markers", "Topics", "Partitions", "Resources"}

// join puts the entries of an answer to a part of a request into the answer to the rest of it: each where the answer like, to the whole, has it.
func join(ans, more, like kmsg.Response) {
	joinLists(reflect.ValueOf(ans).Elem(), reflect.ValueOf(more).Elem(), reflect.ValueOf(like).Elem())
}

func joinLists(ans, more, like reflect.Value) {
	for _, name := range answerLists {
		list := more.FieldByName(name)
		if !list.IsValid() || list.Len() == 0 {
			continue
		}
		order, into := like.FieldByName(name), ans.FieldByName(name)
		rank, have := places(order), places(into)
		var fresh []int // of list, in the order of the request
		for i := range list.Len() {
			at, known := have.find(list.Index(i))
			if !known {
				fresh = append(fresh, i)
			} else if o := list.Index(i); o.Kind() == reflect.Struct {
				if r, ranked := rank.find(o); ranked {
					joinLists(into.Index(at), o, order.Index(r))
				}
			}
		}
		out := reflect.MakeSlice(list.Type(), 0, into.Len()+len(fresh))
		for i := range into.Len() {
			r, _ := rank.find(into.Index(i))
			for len(fresh) > 0 {
				if first, _ := rank.find(list.Index(fresh[0])); first > r {
					break
				}
				out = reflect.Append(out, list.Index(fresh[0]))
				fresh = fresh[1:]
			}
			out = reflect.Append(out, into.Index(i))
		}
		for _, i := range fresh {
			out = reflect.Append(out, list.Index(i))
		}
		into.Set(out)
	}
}

// placeName is what tells an entry of an answer from the others in its list, beside a topic's id.
type placeName struct {
	text   string
	number int64
}

// index finds the entries of a list of an answer by what they are about.
type index map[any]int

func places(list reflect.Value) index {
	x := make(index, list.Len())
	for i := range list.Len() {
		byID, byName := nameIn(list.Index(i))
		for _, key := range []any{byID, byName} {
			if _, again := x[key]; key != nil && !again {
				x[key] = i
			}
		}
	}
	return x
}

// find: an entry of a topic may have its name, its id or both, whichever the answer was made from.
func (x index) find(o reflect.Value) (at int, ok bool) {
	byID, byName := nameIn(o)
	if at, ok = x[byID]; ok && byID != nil {
		return at, true
	}
	at, ok = x[byName]
	return at, ok && byName != nil
}

func nameIn(o reflect.Value) (byID, byName any) {
	if id := o.FieldByName("TopicID"); id.IsValid() && !id.IsZero() {
		byID = id.Interface()
	}
	var n placeName
	for _, field := range []string{"Topic", "Group", "Key", "TransactionalID", "ResourceName"} {
		n.text += textIn(o, field)
	}
	for _, field := range []string{"Partition", "ProducerID", "ResourceType"} {
		if f := o.FieldByName(field); f.IsValid() {
			n.number = f.Int()
		}
	}
	if byID != nil && n.text == "" {
		return byID, nil
	}
	return byID, n
}

// failsRequest tells of an error whether it is one of the request as a whole in Kafka, so that it can't be that of a part of it: it stands at the top of the
// answer, or of old versions at everything that is named.
func failsRequest(req kmsg.Request, code wire.Code) bool {
	switch req := req.(type) {
	case *kmsg.FetchRequest:
		switch code {
		case wire.FetchSessionIDNotFound, wire.InvalidFetchSessionEpoch, wire.FetchSessionTopicIDError, wire.UnknownServerError:
			return true
		}
	case *kmsg.ElectLeadersRequest, *kmsg.AlterPartitionAssignmentsRequest:
		return !aboutPartition(code)
	case *kmsg.ListPartitionReassignmentsRequest, *kmsg.DescribeLogDirsRequest, *kmsg.DescribeQuorumRequest:
		return true
	case *kmsg.OffsetDeleteRequest:
		return !aboutOffset(code)
	case *kmsg.OffsetFetchRequest:
		return req.Version < 8 && !aboutOffset(code)
	case *kmsg.AddPartitionsToTxnRequest:
		if req.Version < 4 {
			return !aboutAddedPartition(code)
		}
		return code == wire.ClusterAuthorizationFailed || code == wire.UnknownServerError
	}
	return false
}

// failsBeside is what the entries beside one that fails come to, in its group or transaction: NONE where each is on its own.
func failsBeside(req kmsg.Request, e *entry, code wire.Code) wire.Code {
	switch req := req.(type) {
	case *kmsg.OffsetFetchRequest:
		if !aboutOffset(code) {
			return code
		}
	case *kmsg.AddPartitionsToTxnRequest: // all of a transaction's partitions are added, or none
		switch {
		case aboutAddedPartition(code):
			return wire.OperationNotAttempted
		case req.Version >= 4 && req.Transactions[e.parent].VerifyOnly && (code == wire.TransactionAbortable || code == wire.InvalidTxnState):
			return wire.None // whether a partition is in the transaction is asked of each
		}
		return code
	}
	return wire.None
}

// aboutOffset tells of an error of OffsetFetch or OffsetDelete whether it is one of a partition, not of the group.
func aboutOffset(code wire.Code) bool {
	switch code {
	case wire.UnknownTopicOrPartition, wire.TopicAuthorizationFailed, wire.UnknownTopicID, wire.UnstableOffsetCommit, wire.GroupSubscribedToTopic:
		return true
	}
	return false
}

// aboutAddedPartition tells of an error of AddPartitionsToTxn whether it is one of a partition, not of the transaction.
func aboutAddedPartition(code wire.Code) bool {
	switch code {
	case wire.UnknownTopicOrPartition, wire.TopicAuthorizationFailed, wire.OperationNotAttempted:
		return true
	}
	return false
}

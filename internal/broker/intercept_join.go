package broker

import (
	"reflect"
	"slices"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// Answers to parts of a request, put together. As in requests, kmsg calls the same things by the same names everywhere.

// answerLists are the lists of answers that answer the requests' entry by entry.
var answerLists = []string{"Groups", "Coordinators", "Transactions", "Markers", "Topics", "Partitions", "Resources"}

// join merges more, the answer to a part of a request, into ans, the answer to the rest of it. like is an answer to the whole request: the merged
// entries stand in its order.
func join(ans, more, like kmsg.Response) {
	joinLists(reflect.ValueOf(ans).Elem(), reflect.ValueOf(more).Elem(), reflect.ValueOf(like).Elem())
}

func joinLists(ans, more, like reflect.Value) {
	for _, field := range answerLists {
		list := more.FieldByName(field)
		if !list.IsValid() || list.Len() == 0 {
			continue
		}
		order, into := like.FieldByName(field), ans.FieldByName(field)
		names, has := namesIn(list), namesIn(into)
		rank, have := spotsOf(namesIn(order)), spotsOf(has)
		var fresh []int // of list, in the order of the request
		for i, name := range names {
			at, known := have.of(name)
			r, ranked := rank.of(name)
			if known && ranked && hasLists(list.Type().Elem()) {
				joinLists(into.Index(at), list.Index(i), order.Index(r))
			} else {
				fresh = append(fresh, i)
			}
		}
		out := reflect.MakeSlice(list.Type(), 0, into.Len()+len(fresh))
		for i, name := range has {
			r, _ := rank.of(name)
			for len(fresh) > 0 {
				if first, _ := rank.of(names[fresh[0]]); first > r {
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

func hasLists(t reflect.Type) bool {
	return slices.ContainsFunc(answerLists, func(field string) bool { _, has := t.FieldByName(field); return has })
}

// spot is what an entry of an answer is about. A topic may have an id, a name or both, by what the answer was made from.
type spot struct {
	byID   named
	byName named
}

// named identifies an entry by its id, or by name and number; again says how many with the same stand before it in the list. The zero value is no
// name.
type named struct {
	is     bool
	id     [16]byte
	text   string
	number int64
	again  int
}

func namesIn(list reflect.Value) []spot {
	all, times := make([]spot, list.Len()), map[named]int{}
	nth := func(n named) named {
		n.is = true
		times[n]++
		n.again = times[n] - 1
		return n
	}
	for i := range all {
		o := list.Index(i)
		if id := o.FieldByName("TopicID"); id.IsValid() && !id.IsZero() {
			all[i].byID = nth(named{id: id.Interface().([16]byte)})
		}
		var n named
		for _, field := range []string{"Topic", "Group", "Key", "TransactionalID", "ResourceName"} {
			n.text += textIn(o, field)
		}
		for _, field := range []string{"Partition", "ProducerID", "ResourceType"} {
			if f := o.FieldByName(field); f.IsValid() {
				n.number = f.Int()
			}
		}
		if n.text != "" || !all[i].byID.is {
			all[i].byName = nth(n)
		}
	}
	return all
}

// spots finds entries of a list.
type spots map[named]int

func spotsOf(list []spot) spots {
	ss := make(spots, len(list))
	for i, s := range list {
		for _, n := range []named{s.byID, s.byName} {
			if n.is {
				ss[n] = i
			}
		}
	}
	return ss
}

func (ss spots) of(s spot) (i int, ok bool) {
	if i, ok = ss[s.byID]; !ok {
		i, ok = ss[s.byName]
	}
	return i, ok
}

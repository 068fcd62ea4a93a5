package broker

import (
	"reflect"
	"sync"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// Requests that name several topics, partitions or groups, taken apart. kmsg calls the same things by the same names in every API and version, so that one
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

// listsIn are the requestLists that a type of struct has, found once for each.
var listsIn sync.Map

// listField says which field is which list.
type listField struct{ list, field int }

func listsOf(t reflect.Type) []listField {
	if known, ok := listsIn.Load(t); ok {
		return known.([]listField)
	}
	var found []listField
	for i, name := range requestLists {
		if f, has := t.FieldByName(name); has {
			found = append(found, listField{i, f.Index[0]})
		}
	}
	listsIn.Store(t, found)
	return found
}

// part is a copy of a request with the entries that keep takes, and how many these are. A topic without partitions has no entry; it stays if bare.
func part(req kmsg.Request, bare bool, keep func(*entry) bool) (kmsg.Request, int) {
	p := reflect.New(reflect.TypeOf(req).Elem())
	p.Elem().Set(reflect.ValueOf(req).Elem())
	_, kept := keepIn(p.Elem(), entry{}, bare, keep)
	return p.Interface().(kmsg.Request), kept
}

// keepIn replaces the lists of a struct by what is kept of them. It answers how many entries there were, and how many were kept.
func keepIn(v reflect.Value, around entry, bare bool, keep func(*entry) bool) (had, kept int) {
	for _, f := range listsOf(v.Type()) {
		name, list := requestLists[f.list], v.Field(f.field)
		if list.Len() == 0 {
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

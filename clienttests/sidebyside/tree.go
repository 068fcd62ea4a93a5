package main

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// node is a value of a message in a form that can be compared and printed: a text, a list, or a struct with fields.
type node struct {
	path   string // fields from the top, dotted, lists left out: "Topics.Partitions.ErrorCode"
	text   string // of a scalar
	id     string // of a scalar that a broker chose: what kind of id it is
	list   []*node
	fields []field
	isList bool
}

type field struct {
	name  string
	value *node
}

// treeOf turns a kmsg struct into a tree. Fields that the message's version doesn't carry have kmsg's defaults.
func treeOf(message any) *node {
	return newNode(reflect.ValueOf(message), "", "")
}

func newNode(v reflect.Value, path, name string) *node {
	n := &node{path: path}
	switch v.Kind() {
	case reflect.Pointer:
		if v.IsNil() {
			n.text = "null"
			return n
		}
		return newNode(v.Elem(), path, name)
	case reflect.Struct:
		if tags, ok := v.Interface().(kmsg.Tags); ok {
			tags.Each(func(key uint32, value []byte) {
				n.fields = append(n.fields, field{fmt.Sprint(key), &node{text: hex.EncodeToString(value)}})
			})
			return n
		}
		for i := range v.NumField() {
			name := v.Type().Field(i).Name
			if name == "Version" && path == "" || !v.Type().Field(i).IsExported() {
				continue
			}
			child := newNode(v.Field(i), join(path, name), name)
			if name == "UnknownTags" && len(child.fields) == 0 {
				continue
			}
			n.fields = append(n.fields, field{name, child})
		}
	case reflect.Slice:
		if b, ok := v.Interface().([]byte); ok {
			return bytesNode(b, path, name)
		}
		if v.IsNil() {
			n.text = "null"
			return n
		}
		n.isList = true
		for i := range v.Len() {
			n.list = append(n.list, newNode(v.Index(i), path, name))
		}
	case reflect.Array:
		id := v.Interface().([16]byte)
		n.text = hex.EncodeToString(id[:])
		if id != ([16]byte{}) {
			n.id = "uuid"
		}
	case reflect.String:
		n.text = strconv.QuoteToASCII(v.String())
		n.id = idOfText(name, v.String())
	default:
		n.text = fmt.Sprint(v.Interface())
		switch {
		case v.Kind() == reflect.Int64 && isNow(v.Int()):
			n.text = "<now>"
		case name == "ProducerID" && v.Int() >= 0:
			n.id = "producer"
		case name == "SessionID" && v.Int() > 0:
			n.id = "session"
		}
	}
	return n
}

// isNow tells whether a number is a time of the broker's clock.
func isNow(millis int64) bool {
	d := time.Since(time.UnixMilli(millis))
	return d > -time.Hour && d < time.Hour
}

func bytesNode(b []byte, path, name string) *node {
	switch {
	case b == nil:
		return &node{path: path, text: "null"}
	case name == "RecordBatches" && len(b) > 0:
		return batchesNode(b, path)
	case name == "MemberAssignment" && len(b) > 0:
		a := kmsg.NewConsumerMemberAssignment() // of a member that a consumer group assigned, the topics are in no order
		if err := a.ReadFrom(b); err == nil && bytes.Equal(a.AppendTo(nil), b) {
			return newNode(reflect.ValueOf(a), path, name)
		}
	}
	return &node{path: path, text: "hex:" + hex.EncodeToString(b)}
}

func join(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}

// kids are the children of a list or struct, with the steps that lead to them.
func (n *node) kids() []field {
	if !n.isList {
		return n.fields
	}
	kids := make([]field, len(n.list))
	for i, k := range n.list {
		kids[i] = field{fmt.Sprintf("[%d]", i), k}
	}
	return kids
}

// scalar tells whether the node is a text.
func (n *node) scalar() bool { return !n.isList && n.fields == nil }

// String prints the tree in one line.
func (n *node) String() string {
	var b strings.Builder
	n.print(&b)
	return b.String()
}

func (n *node) print(b *strings.Builder) {
	if n.scalar() {
		b.WriteString(n.text)
		return
	}
	open, end := "{", "}"
	if n.isList {
		open, end = "[", "]"
	}
	b.WriteString(open)
	for i, k := range n.kids() {
		if i > 0 {
			b.WriteString(" ")
		}
		if !n.isList {
			b.WriteString(k.name + ":")
		}
		k.value.print(b)
	}
	b.WriteString(end)
}

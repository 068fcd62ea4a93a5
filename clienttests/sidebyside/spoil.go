package main

import (
	"reflect"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// spoil sets a field or two to something else.
func (g *gen) spoil(q kmsg.Request) {
	for range pick(g.r, 1, 1, 1, 2) {
		var leaves []leaf
		collect(reflect.ValueOf(q).Elem(), "", true, &leaves)
		if len(leaves) == 0 {
			return
		}
		l := leaves[g.r.IntN(len(leaves))]
		g.fill(l.value, l.name, 1)
	}
}

type leaf struct {
	name  string
	value reflect.Value
}

// collect lists every field that may be set to something else, in order.
func collect(v reflect.Value, name string, top bool, out *[]leaf) {
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			f := v.Type().Field(i)
			if !f.IsExported() || top && f.Name == "Version" || steady[f.Name] {
				continue
			}
			if v.Field(i).Type() == reflect.TypeFor[kmsg.Tags]() {
				continue
			}
			collect(v.Field(i), f.Name, false, out)
		}
	case reflect.Slice:
		*out = append(*out, leaf{name, v})
		if v.Type().Elem().Kind() != reflect.Uint8 {
			for i := range v.Len() {
				collect(v.Index(i), name, false, out)
			}
		}
	default:
		*out = append(*out, leaf{name, v})
	}
}

// steady are the fields that keep what they have: a short timeout would let the clock decide.
var steady = map[string]bool{
	"RebalanceTimeoutMillis": true,
	"SessionTimeoutMillis":   true,
	"MaxWaitMillis":          true,
}

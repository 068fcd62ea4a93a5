package main

import (
	"math"
	"reflect"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// fill sets a value of any kind to something that its field's name lets expect (values.go), and g.odd times of a hundred to something odd.
func (g *gen) fill(v reflect.Value, name string, depth int) {
	r := g.r
	switch v.Kind() {
	case reflect.Struct:
		g.fillStruct(v, depth)
	case reflect.Pointer:
		if r.IntN(4) == 0 {
			v.SetZero()
			return
		}
		v.Set(reflect.New(v.Type().Elem()))
		g.fill(v.Elem(), name, depth)
	case reflect.Slice:
		if v.Type().Elem().Kind() == reflect.Uint8 {
			v.SetBytes(g.bytes())
			return
		}
		g.fillList(v, name, depth)
	case reflect.Array:
		id := g.uuid()
		reflect.Copy(v, reflect.ValueOf(id[:]))
	case reflect.String:
		v.SetString(g.text(name))
	case reflect.Bool:
		v.SetBool(r.IntN(2) == 0)
	case reflect.Float64:
		v.SetFloat(pick(r, 1000, 1, 0, -1, 0.5, 1e18, math.NaN(), math.Inf(1), 1024.5))
	case reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		v.SetInt(g.number(name, v.Type().Bits()))
	case reflect.Uint16:
		v.SetUint(uint64(r.IntN(65536)))
	}
}

func (g *gen) fillStruct(v reflect.Value, depth int) {
	if tags, ok := v.Addr().Interface().(*kmsg.Tags); ok {
		if g.r.IntN(40) == 0 {
			tags.Set(pick[uint32](g.r, 100, 1, 0, 1<<31-1, 5), []byte("tag")[:g.r.IntN(4)])
		}
		return
	}
	if d, ok := v.Addr().Interface().(interface{ Default() }); ok && depth > 0 {
		d.Default()
	}
	for i := range v.NumField() {
		f := v.Type().Field(i)
		if !f.IsExported() || f.Name == "Version" && depth == 0 {
			continue
		}
		g.fill(v.Field(i), f.Name, depth+1)
	}
}

func (g *gen) fillList(v reflect.Value, name string, depth int) {
	n := pick(g.r, 0, 1, 1, 1, 1, 2, 2, 3)
	if n == 0 && g.r.IntN(2) == 0 {
		v.SetZero()
		return
	}
	s := reflect.MakeSlice(v.Type(), n, n)
	for i := range n {
		g.fill(s.Index(i), name, depth+1)
		if i > 0 && g.r.IntN(5) == 0 {
			s.Index(i).Set(s.Index(0)) // twice the same
		}
	}
	v.Set(s)
}

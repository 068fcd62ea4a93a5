package wire

import (
	_ "embed"
	"fmt"
	"strconv"
	"strings"
	"sync"
)

// requestSchemas has the body of every served request, one field a line:
//
//	Name type [versions] [?versions] [#tag]
//
// Types are i8, i16, u16, i32, i64, f64, bool, uuid, str, bytes, "[]" and a type
// for an array, "[]" alone for an array of the structure indented below, "{}" for
// a structure. Versions are from-to or from+; without them the field is in all.
// "?" says that the field may be null, from which version on if not always.
// "#" makes it a tagged field. From the flexible version on, every structure ends
// with a tag section.
//
//go:embed requests.txt
var requestSchemas string

type fieldType uint8

const (
	fixedField  fieldType = iota // size bytes
	stringField                  // int16 or compact length
	bytesField                   // int32 or compact length
	arrayField
	structField
)

// versions is an inclusive range; to is -1 where nothing is in it.
type versions struct{ from, to int16 }

func (v versions) has(version int16) bool { return v.from <= version && version <= v.to }

var (
	allVersions = versions{0, 1<<15 - 1}
	noVersions  = versions{0, -1}
)

// field is one line of the schema.
type field struct {
	name     string
	kind     fieldType
	size     int // of a fixedField
	versions versions
	nullable versions
	tag      int     // -1: not tagged
	elem     *field  // arrayField: what it is made of
	fields   []field // structField
}

// goSize is about what kmsg's Go value of this field takes, without what it points to.
func (f *field) goSize() int {
	nullable := f.nullable != noVersions
	switch f.kind {
	case fixedField:
		return f.size
	case stringField:
		if nullable {
			return 8
		}
		return 16
	case structField:
		if nullable {
			return 8
		}
		size := 8 // unknown tags
		for i := range f.fields {
			size += f.fields[i].goSize()
		}
		return (size + 7) &^ 7
	default:
		return 24
	}
}

var fixedSizes = map[string]int{"i8": 1, "bool": 1, "i16": 2, "u16": 2, "i32": 4, "i64": 8, "f64": 8, "uuid": 16}

// schemas parses requestSchemas once.
var schemas = sync.OnceValue(func() map[Key]*field {
	all := make(map[Key]*field)
	for _, block := range strings.Split(strings.TrimSpace(requestSchemas), "\n\n") {
		lines := strings.Split(block, "\n")
		key, ok := KeyNamed(lines[0])
		if !ok {
			panic("wire: requests.txt: no API named " + lines[0])
		}
		body := &field{name: lines[0], kind: structField, versions: allVersions, nullable: noVersions, tag: -1}
		rest := parseFields(lines[1:], 1, &body.fields)
		if len(rest) > 0 {
			panic(fmt.Sprintf("wire: requests.txt: %s: bad indentation at %q", lines[0], rest[0]))
		}
		all[key] = body
	}
	return all
})

// parseFields reads the lines at this depth and deeper into fields and returns the rest.
func parseFields(lines []string, depth int, fields *[]field) []string {
	for len(lines) > 0 {
		text := strings.TrimLeft(lines[0], " ")
		if len(lines[0])-len(text) != 2*depth {
			return lines
		}
		f, inner := parseField(text)
		lines = lines[1:]
		if inner {
			target := &f.fields
			if f.kind == arrayField {
				target = &f.elem.fields
			}
			lines = parseFields(lines, depth+1, target)
		}
		*fields = append(*fields, f)
	}
	return nil
}

// parseField reads one line; inner tells that a structure's fields follow.
func parseField(text string) (f field, inner bool) {
	words := strings.Fields(text)
	f = field{name: words[0], versions: allVersions, nullable: noVersions, tag: -1}
	typ, isArray := strings.CutPrefix(words[1], "[]")
	switch typ {
	case "", "{}":
		f.kind, inner = structField, true
	case "str":
		f.kind = stringField
	case "bytes":
		f.kind = bytesField
	default:
		f.kind, f.size = fixedField, fixedSizes[typ]
		if f.size == 0 {
			panic("wire: requests.txt: unknown type in " + text)
		}
	}
	if isArray {
		elem := f
		f = field{name: f.name, kind: arrayField, versions: allVersions, nullable: noVersions, tag: -1, elem: &elem}
	}
	for _, word := range words[2:] {
		switch word[0] {
		case '?':
			f.nullable = parseVersions(word[1:])
		case '#':
			f.tag, _ = strconv.Atoi(word[1:])
		default:
			f.versions = parseVersions(word)
		}
	}
	return f, inner
}

func parseVersions(s string) versions {
	if s == "" {
		return allVersions
	}
	from, to, isRange := strings.Cut(s, "-")
	v := versions{0, allVersions.to}
	n, err := strconv.Atoi(strings.TrimSuffix(from, "+"))
	v.from = int16(n)
	if isRange && err == nil {
		n, err = strconv.Atoi(to)
		v.to = int16(n)
	}
	if err != nil {
		panic("wire: requests.txt: bad versions " + s)
	}
	return v
}

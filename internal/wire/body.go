package wire

import (
	"encoding/binary"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"sync"
	"unicode/utf8"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// Decode decodes a request body that passed [CheckBody], whose text says whether all
// its strings are UTF-8. Byte fields (the records of a Produce request) point into
// body, strings are copies. The response belongs to req.ResponseKind().
func Decode(k Key, version int16, body []byte, text bool) (kmsg.Request, error) {
	req := kmsg.RequestForKey(int16(k))
	if req == nil {
		return nil, &UnsupportedError{k, version}
	}
	req.SetVersion(version)
	err := req.ReadFrom(body)
	if err == nil {
		err = checkACLCodes(req)
	}
	if err == nil && !text {
		err = retext(reflect.ValueOf(req))
	}
	if err != nil {
		return nil, fmt.Errorf("%v v%d: %w", k, version, err)
	}
	return req, nil
}

var errACLCode = errors.New("code 0 (unknown) for a resource type, pattern, operation or permission")

// checkACLCodes: Kafka takes the ACL requests apart while it parses them, and
// closes the connection on a code 0. Other codes it doesn't know are answered.
func checkACLCodes(req kmsg.Request) error {
	bad := false
	check := func(codes ...int8) { bad = bad || slices.Contains(codes, 0) }
	switch r := req.(type) {
	case *kmsg.DescribeACLsRequest:
		check(int8(r.ResourceType), int8(r.ResourcePatternType), int8(r.Operation), int8(r.PermissionType))
	case *kmsg.CreateACLsRequest:
		for _, c := range r.Creations {
			check(int8(c.ResourceType), int8(c.ResourcePatternType), int8(c.Operation), int8(c.PermissionType))
		}
	case *kmsg.DeleteACLsRequest:
		for _, f := range r.Filters {
			check(int8(f.ResourceType), int8(f.ResourcePatternType), int8(f.Operation), int8(f.PermissionType))
		}
	}
	if bad {
		return errACLCode
	}
	return nil
}

// CheckBody walks a request body without decoding it. It refuses one that is too
// short, has an array longer than the rest of the body, or a null where none may
// be. Such a request closes its connection. Bytes after the end are no error.
// What Kafka reads in several ways and kmsg in one becomes that one in the body: the mark of a null structure is -1, a length that Java takes for
// negative is that of a null, such a number of tags is 0, and the size of a known tag is what it takes.
//
// cost estimates how many bytes decoding the body will take beside the body itself:
// kmsg's structures can be some 30 times as large as the bytes that announce them, so
// many of them at once want a budget. text says that all strings are UTF-8.
func CheckBody(k Key, version int16, body []byte) (cost int, text bool, err error) {
	p := programFor(k, version)
	if p == nil {
		return 0, false, &UnsupportedError{k, version}
	}
	w := walker{rest: body, compact: p.compact}
	if err := w.run(p.ops); err != nil {
		return 0, false, fmt.Errorf("%v v%d: %w", k, version, err)
	}
	return w.cost, !w.odd, nil
}

// program is a schema at one version, with runs of fixed fields joined.
type program struct {
	ops     []op
	compact bool
}

type op struct {
	kind     opKind
	nullable bool
	name     string
	size     int    // skip: bytes; array: the least an element takes
	elemCost int    // array: what an element costs in memory
	flat     bool   // array: all elements have just size bytes
	ops      []op   // array, structure
	tags     []int  // tags: the numbers known
	tagOps   [][]op // tags: what each holds, nil where this version has it not
}

type opKind uint8

const (
	skipOp opKind = iota
	stringOp
	bytesOp
	arrayOp
	structOp
	tagsOp
)

// programs are compiled when first used: a test broker sees few of the 240.
var programs sync.Map // of programKey to *program

type programKey struct {
	key     Key
	version int16
}

func programFor(k Key, version int16) *program {
	if p, ok := programs.Load(programKey{k, version}); ok {
		return p.(*program)
	}
	if !Accepted(k, version) {
		return nil
	}
	compact := Flexible(k, version)
	p := &program{compact: compact, ops: compile(schemas()[k].fields, version, compact)}
	programs.Store(programKey{k, version}, p)
	return p
}

// compile makes the program of a structure's fields at one version.
func compile(fields []field, version int16, compact bool) []op {
	var ops []op
	tags := op{kind: tagsOp}
	for i := range fields {
		f := &fields[i]
		if !f.versions.has(version) {
			if f.tag >= 0 { // Kafka knows it, and refuses it where it doesn't belong
				tags.tags = append(tags.tags, f.tag)
				tags.tagOps = append(tags.tagOps, nil)
			}
			continue
		}
		one := compileField(f, version, compact)
		switch last := len(ops) - 1; {
		case f.tag >= 0:
			tags.tags = append(tags.tags, f.tag)
			tags.tagOps = append(tags.tagOps, []op{one})
		case one.kind == skipOp && last >= 0 && ops[last].kind == skipOp:
			ops[last].size += one.size
		default:
			ops = append(ops, one)
		}
	}
	if compact {
		ops = append(ops, tags)
	}
	return ops
}

func compileField(f *field, version int16, compact bool) op {
	o := op{name: f.name, nullable: f.nullable.has(version)}
	switch f.kind {
	case fixedField:
		o.kind, o.size = skipOp, f.size
	case stringField:
		o.kind = stringOp
	case bytesField:
		o.kind = bytesOp
	case structField:
		o.kind, o.ops = structOp, compile(f.fields, version, compact)
	case arrayField:
		o.kind = arrayOp
		o.ops = []op{compileField(f.elem, version, compact)}
		if f.elem.kind == structField { // an element of an array is never null
			o.ops = o.ops[0].ops
		}
		o.size, o.flat = leastSize(o.ops, compact)
		o.elemCost = f.elem.goSize()
	}
	return o
}

// leastSize gives the fewest bytes ops can take, and whether it is always as many.
func leastSize(ops []op, compact bool) (size int, flat bool) {
	flat = true
	for i := range ops {
		switch o := &ops[i]; o.kind {
		case skipOp:
			size += o.size
			continue
		case stringOp:
			size += lengthSize(2, compact)
		case bytesOp, arrayOp:
			size += lengthSize(4, compact)
		case structOp:
			if o.nullable {
				size++
			} else {
				inner, _ := leastSize(o.ops, compact)
				size += inner
			}
		case tagsOp:
			size++
		}
		flat = false
	}
	return size, flat
}

func lengthSize(size int, compact bool) int {
	if compact {
		return 1
	}
	return size
}

var (
	errShort = errors.New("the request ends too early")
	errNull  = errors.New("null where none may be")
)

func errAt(name string, err error) error { return fmt.Errorf("%s: %w", name, err) }

// walker goes over a body along a program.
type walker struct {
	rest    []byte
	compact bool
	odd     bool // a string is not UTF-8
	cost    int
}

func (w *walker) run(ops []op) error {
	for i := range ops {
		if err := w.step(&ops[i]); err != nil {
			return err
		}
	}
	return nil
}

func (w *walker) step(o *op) error {
	switch o.kind {
	case skipOp:
		if len(w.rest) < o.size {
			return errAt(o.name, errShort)
		}
		w.rest = w.rest[o.size:]
	case stringOp, bytesOp:
		n, err := w.length(o)
		if err != nil || n < 0 {
			return err
		}
		if o.kind == stringOp {
			if n > 1<<15-1 {
				return fmt.Errorf("%s: a string of %d bytes, the protocol allows 32767", o.name, n)
			}
			w.cost += n + 16
		}
		if n > len(w.rest) {
			return fmt.Errorf("%s: %d bytes announced, %d are left", o.name, n, len(w.rest))
		}
		if o.kind == stringOp && !utf8.Valid(w.rest[:n]) {
			w.odd = true
			w.cost += utf8.UTFMax * n // its Text
		}
		w.rest = w.rest[n:]
	case arrayOp:
		return w.array(o)
	case structOp:
		if o.nullable {
			if len(w.rest) == 0 {
				return errAt(o.name, errShort)
			}
			mark := w.rest
			w.rest = w.rest[1:]
			if int8(mark[0]) < 0 { // Kafka takes every negative mark for null, kmsg only this one
				mark[0] = 0xff
				return nil
			}
		}
		return w.run(o.ops)
	case tagsOp:
		return w.tagSection(o)
	}
	return nil
}

func (w *walker) array(o *op) error {
	n, err := w.length(o)
	if err != nil || n < 0 {
		return err
	}
	if n > len(w.rest)/o.size {
		return fmt.Errorf("%s: an array of %d elements of at least %d bytes, %d bytes are left", o.name, n, o.size, len(w.rest))
	}
	w.cost += n * o.elemCost
	if o.flat {
		w.rest = w.rest[n*o.size:]
		return nil
	}
	for range n {
		if err := w.run(o.ops); err != nil {
			return errAt(o.name, err)
		}
	}
	return nil
}

// length reads the length in front of a string, bytes or array; -1 is an allowed null.
func (w *walker) length(o *op) (int, error) {
	var n int
	switch {
	case w.compact:
		mark := w.rest
		u, err := w.uvarint()
		if err != nil {
			return 0, errAt(o.name, err)
		}
		if n = int(int32(u - 1)); n < -1 && o.nullable {
			copy(mark, longZero)
		}
	case o.kind == stringOp:
		if len(w.rest) < 2 {
			return 0, errAt(o.name, errShort)
		}
		n = int(int16(binary.BigEndian.Uint16(w.rest)))
		w.rest = w.rest[2:]
	default:
		if len(w.rest) < 4 {
			return 0, errAt(o.name, errShort)
		}
		n = int(int32(binary.BigEndian.Uint32(w.rest)))
		w.rest = w.rest[4:]
	}
	if n < 0 {
		if !o.nullable {
			return 0, errAt(o.name, errNull)
		}
		return -1, nil
	}
	return n, nil
}

// longZero is a zero as long as the varints that Java takes for negative numbers.
const longZero = "\x80\x80\x80\x80\x00"

// tagSection walks known tags by their schema and skips unknown ones. As in Kafka, a number of tags that is negative in Java is none, and the size of
// a known tag is not looked at.
func (w *walker) tagSection(o *op) error {
	counted := w.rest
	count, err := w.uvarint()
	if err != nil {
		return errAt("tags", err)
	}
	if int32(count) < 0 {
		copy(counted, longZero)
		return nil
	}
	if int(count) > len(w.rest)/2 {
		return fmt.Errorf("tags: %d announced, %d bytes are left", count, len(w.rest))
	}
	for range count {
		tag, err := w.uvarint()
		if err != nil {
			return errAt("tags", err)
		}
		sized := w.rest
		size, err := w.uvarint()
		if err != nil {
			return errAt("tags", err)
		}
		if at := slices.Index(o.tags, int(tag)); at >= 0 {
			if err := w.knownTag(tag, o.tagOps[at], sized, int(size)); err != nil {
				return err
			}
			continue
		}
		if int64(size) > int64(len(w.rest)) {
			return fmt.Errorf("tag %d: %d bytes announced, %d are left", tag, size, len(w.rest))
		}
		w.rest = w.rest[size:]
		w.cost += 64 // an entry of kmsg's map of unknown tags
	}
	return nil
}

// knownTag walks the value of a tag along ops. sized begins with the size, as a varint of what it announces.
func (w *walker) knownTag(tag uint32, ops []op, sized []byte, size int) error {
	if ops == nil {
		return fmt.Errorf("tag %d is not valid in this version", tag)
	}
	value := w.rest
	if err := w.run(ops); err != nil {
		return err
	}
	if took := len(value) - len(w.rest); took != size {
		n := len(sized) - len(value)
		if took>>(7*n) > 0 { // only one that is larger by far: nobody means that
			return fmt.Errorf("tag %d: %d bytes announced, it takes %d", tag, size, took)
		}
		for i := range n {
			sized[i] = byte(took>>(7*i))&0x7f | 0x80
		}
		sized[n-1] &= 0x7f
	}
	return nil
}

func (w *walker) uvarint() (uint32, error) {
	if len(w.rest) > 0 && w.rest[0] < 0x80 {
		v := w.rest[0]
		w.rest = w.rest[1:]
		return uint32(v), nil
	}
	v, n, err := readUvarint(w.rest)
	w.rest = w.rest[n:]
	return v, err
}

// readUvarint reads the unsigned varint at the start of b, and how long it is.
func readUvarint(b []byte) (v uint32, n int, err error) {
	for shift := 0; shift < 35; shift += 7 {
		if n == len(b) {
			return 0, n, errShort
		}
		c := b[n]
		n++
		v |= uint32(c&0x7f) << shift
		if c < 0x80 {
			if shift == 28 && c > 0xf {
				break
			}
			return v, n, nil
		}
	}
	return 0, n, errors.New("a varint of more than 32 bits")
}

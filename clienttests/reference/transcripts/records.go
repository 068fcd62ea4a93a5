package main

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"hash/crc32"
	"io"
	"reflect"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/klauspost/compress/snappy"
	"github.com/klauspost/compress/zstd"
	"github.com/pierrec/lz4/v4"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// Record batches in readable form. In a request, an array of batch objects may stand where a byte field is
// wanted (Produce's Records); in a Fetch answer, RecordBatches is shown in the same form (null stays null).
// NOTES.md lists the keys.

var rbTable = crc32.MakeTable(crc32.Castagnoli)

var rbCodecs = []string{"none", "gzip", "snappy", "lz4", "zstd"}

// rbSpec reads one batch or record object; the first mistake is kept in err.
type rbSpec struct {
	o    *obj
	used map[string]bool
	err  error
}

func (s *rbSpec) get(k string) (any, bool) {
	s.used[k] = true
	v, ok := s.o.vals[k]
	return v, ok
}

// num accepts a number, a substituted placeholder (a string of digits) or "now", "now+N", "now-N" (milliseconds).
func (s *rbSpec) num(k string, def int64) int64 {
	v, ok := s.get(k)
	if !ok || v == nil {
		return def
	}
	t := scalarText(v)
	if rest, ok := strings.CutPrefix(t, "now"); ok {
		n := time.Now().UnixMilli()
		if rest != "" {
			d, err := strconv.ParseInt(rest, 10, 64)
			if err != nil {
				s.err = fmt.Errorf("%s: %w", k, err)
			}
			n += d
		}
		return n
	}
	n, err := strconv.ParseInt(t, 10, 64)
	if err != nil && s.err == nil {
		s.err = fmt.Errorf("%s: %w", k, err)
	}
	return n
}

func (s *rbSpec) flag(k string) bool { v, _ := s.get(k); return v == true }

func (s *rbSpec) str(k string) string {
	v, _ := s.get(k)
	t, _ := v.(string)
	return t
}

// data gives nil for null or a missing key; "hex:..." is binary, anything else is the text itself.
func (s *rbSpec) data(k string) []byte {
	v, _ := s.get(k)
	t, ok := v.(string)
	if !ok {
		return nil
	}
	if h, isHex := strings.CutPrefix(t, "hex:"); isHex {
		b, err := hex.DecodeString(h)
		if err != nil && s.err == nil {
			s.err = fmt.Errorf("%s: %w", k, err)
		}
		return b
	}
	return []byte(t)
}

func (s *rbSpec) done() error {
	if s.err != nil {
		return s.err
	}
	for _, k := range s.o.keys {
		if !s.used[k] {
			return fmt.Errorf("unknown key %q", k)
		}
	}
	return nil
}

func rbSpecOf(j any) (*rbSpec, error) {
	o, ok := j.(*obj)
	if !ok {
		return nil, fmt.Errorf("want an object, have %s", scalarText(j))
	}
	return &rbSpec{o: o, used: map[string]bool{}}, nil
}

func rbEncodeAll(list []any) ([]byte, error) {
	out := []byte{}
	for i, j := range list {
		b, err := rbEncode(j)
		if err != nil {
			return nil, fmt.Errorf("batch %d: %w", i, err)
		}
		out = append(out, b...)
	}
	return out, nil
}

func rbEncode(j any) ([]byte, error) {
	s, err := rbSpecOf(j)
	if err != nil {
		return nil, err
	}
	magic := s.num("magic", 2)
	codec := 0
	if v, ok := s.get("compression"); ok {
		codec = -1
		for i, n := range rbCodecs {
			if v == n {
				codec = i
			}
		}
		if codec < 0 {
			codec = int(s.num("compression", 0))
		}
	}
	recs, _ := s.get("records")
	list, _ := recs.([]any)
	if n := s.num("count", 0); n > 0 { // count: n records like the first one, keys k0, k1, ...
		tmpl := newObj()
		if len(list) == 1 {
			tmpl = list[0].(*obj)
		}
		list = nil
		for i := range n {
			o := newObj()
			for _, k := range tmpl.keys {
				o.set(k, tmpl.vals[k])
			}
			if _, ok := o.vals["key"]; !ok {
				o.set("key", fmt.Sprintf("k%d", i))
			}
			list = append(list, o)
		}
	}
	baseOffset := s.num("base_offset", 0)
	baseTs := s.num("base_timestamp", 1700000000000)
	maxTs := int64(-1)
	var body []byte
	var legacy [][]byte
	for i, rj := range list {
		r, err := rbSpecOf(rj)
		if err != nil {
			return nil, err
		}
		delta := r.num("ts_delta", 0)
		maxTs = max(maxTs, baseTs+delta)
		key, value := r.data("key"), r.data("value")
		if n := r.num("value_size", 0); n > 0 {
			value = bytes.Repeat([]byte{'x'}, int(n))
		}
		var b []byte
		b = append(b, byte(r.num("attributes", 0)))
		b = binary.AppendVarint(b, delta)
		b = binary.AppendVarint(b, r.num("offset_delta", int64(i)))
		b = rbAppend(rbAppend(b, key), value)
		hs, _ := r.get("headers")
		hl, _ := hs.([]any)
		b = binary.AppendVarint(b, int64(len(hl)))
		for _, h := range hl {
			pair, ok := h.([]any)
			if !ok || len(pair) != 2 {
				return nil, fmt.Errorf("record %d: a header is [key, value]", i)
			}
			b = rbAppend(b, []byte(scalarText(pair[0])))
			if pair[1] == nil {
				b = binary.AppendVarint(b, -1)
			} else {
				b = rbAppend(b, []byte(scalarText(pair[1])))
			}
		}
		if err := r.done(); err != nil {
			return nil, fmt.Errorf("record %d: %w", i, err)
		}
		body = append(binary.AppendVarint(body, int64(len(b))), b...)
		legacy = append(legacy, rbLegacy(byte(magic), byte(codec), baseOffset+int64(i), baseTs+delta, key, value))
	}
	if h := s.str("body_hex"); h != "" {
		if body, err = hex.DecodeString(h); err != nil {
			return nil, err
		}
	}
	if body, err = rbCompress(codec, body); err != nil {
		return nil, err
	}
	attrs := int64(codec & 7)
	if s.str("timestamp_type") == "append" {
		attrs |= 8
	}
	if s.flag("transactional") {
		attrs |= 16
	}
	if s.flag("control") {
		attrs |= 32
	}
	attrs |= s.num("attributes_or", 0)
	n := int64(len(list))
	var tail []byte // what the checksum covers
	be := binary.BigEndian
	tail = be.AppendUint16(tail, uint16(attrs))
	tail = be.AppendUint32(tail, uint32(s.num("last_offset_delta", n-1)))
	tail = be.AppendUint64(tail, uint64(baseTs))
	tail = be.AppendUint64(tail, uint64(s.num("max_timestamp", maxTs)))
	tail = be.AppendUint64(tail, uint64(s.num("producer_id", -1)))
	tail = be.AppendUint16(tail, uint16(s.num("producer_epoch", -1)))
	tail = be.AppendUint32(tail, uint32(s.num("base_sequence", -1)))
	tail = be.AppendUint32(tail, uint32(s.num("records_count", n)))
	tail = append(tail, body...)
	var b []byte
	b = be.AppendUint64(b, uint64(baseOffset))
	b = be.AppendUint32(b, uint32(int64(9+len(tail))+s.num("length_delta", 0)))
	b = be.AppendUint32(b, uint32(s.num("leader_epoch", -1)))
	b = append(b, byte(magic))
	b = be.AppendUint32(b, crc32.Checksum(tail, rbTable)^uint32(s.num("crc_xor", 0)))
	b = append(b, tail...)
	if magic == 0 || magic == 1 {
		b = bytes.Join(legacy, nil)
	}
	b = b[:len(b)-int(s.num("cut_bytes", 0))]
	extra, err := hex.DecodeString(s.str("append_hex"))
	if err != nil {
		return nil, err
	}
	return append(b, extra...), s.done()
}

func rbAppend(b, v []byte) []byte {
	if v == nil {
		return binary.AppendVarint(b, -1)
	}
	return append(binary.AppendVarint(b, int64(len(v))), v...)
}

func rbLegacy(magic, codec byte, offset, ts int64, key, value []byte) []byte {
	be := binary.BigEndian
	tail := []byte{magic, codec}
	if magic == 1 {
		tail = be.AppendUint64(tail, uint64(ts))
	}
	for _, v := range [][]byte{key, value} {
		if v == nil {
			tail = be.AppendUint32(tail, 0xffffffff)
		} else {
			tail = append(be.AppendUint32(tail, uint32(len(v))), v...)
		}
	}
	b := be.AppendUint64(nil, uint64(offset))
	b = be.AppendUint32(b, uint32(len(tail)+4))
	b = be.AppendUint32(b, crc32.ChecksumIEEE(tail))
	return append(b, tail...)
}

func rbCompress(codec int, in []byte) ([]byte, error) {
	var out bytes.Buffer
	switch codec {
	case 1:
		w := gzip.NewWriter(&out)
		w.Write(in)
		err := w.Close()
		return out.Bytes(), err
	case 2: // the framing Java clients write
		blk := snappy.Encode(nil, in)
		out.WriteString("\x82SNAPPY\x00\x00\x00\x00\x01\x00\x00\x00\x01")
		out.Write(binary.BigEndian.AppendUint32(nil, uint32(len(blk))))
		out.Write(blk)
		return out.Bytes(), nil
	case 3:
		w := lz4.NewWriter(&out)
		if err := w.Apply(lz4.BlockSizeOption(lz4.Block64Kb)); err != nil {
			return nil, err
		}
		w.Write(in)
		err := w.Close()
		return out.Bytes(), err
	case 4:
		w, err := zstd.NewWriter(nil)
		if err != nil {
			return nil, err
		}
		return w.EncodeAll(in, nil), nil
	}
	return in, nil
}

func rbDecompress(codec int, in []byte) ([]byte, error) {
	switch codec {
	case 1:
		r, err := gzip.NewReader(bytes.NewReader(in))
		if err != nil {
			return nil, err
		}
		return io.ReadAll(r)
	case 2:
		if !bytes.HasPrefix(in, []byte("\x82SNAPPY\x00")) || len(in) < 16 {
			return snappy.Decode(nil, in)
		}
		var out []byte
		for in = in[16:]; len(in) >= 4; {
			n := int(binary.BigEndian.Uint32(in))
			if n > len(in)-4 {
				return nil, io.ErrUnexpectedEOF
			}
			d, err := snappy.Decode(nil, in[4:4+n])
			if err != nil {
				return nil, err
			}
			out, in = append(out, d...), in[4+n:]
		}
		return out, nil
	case 3:
		return io.ReadAll(lz4.NewReader(bytes.NewReader(in)))
	case 4:
		r, err := zstd.NewReader(nil)
		if err != nil {
			return nil, err
		}
		defer r.Close()
		return r.DecodeAll(in, nil)
	}
	return in, nil
}

// rbDecodeAll shows the records of a Fetch answer. Only what differs from the usual is printed, so that the
// transcripts stay short; size_bytes is left out for compressed batches (it depends on the compressor).
func rbDecodeAll(b []byte) any {
	out := []any{}
	for len(b) > 0 {
		n := len(b) + 1
		if len(b) >= 12 {
			n = 12 + int(int32(binary.BigEndian.Uint32(b[8:])))
		}
		if n < 17 || n > len(b) {
			o := newObj()
			o.set("partial_bytes", rbNum(int64(len(b))))
			return append(out, o)
		}
		out = append(out, rbDecode(b[:n]))
		b = b[n:]
	}
	return out
}

func rbNum(n int64) json.Number { return json.Number(strconv.FormatInt(n, 10)) }

func rbDecode(b []byte) *obj {
	be := binary.BigEndian
	o := newObj()
	o.set("base_offset", rbNum(int64(be.Uint64(b))))
	if b[16] != 2 || len(b) < 61 {
		o.set("magic", rbNum(int64(int8(b[16]))))
		o.set("size_bytes", rbNum(int64(len(b))))
		return o
	}
	attrs := int(be.Uint16(b[21:]))
	codec := attrs & 7
	o.set("last_offset_delta", rbNum(int64(int32(be.Uint32(b[23:])))))
	o.set("leader_epoch", rbNum(int64(int32(be.Uint32(b[12:])))))
	if crc32.Checksum(b[21:], rbTable) != be.Uint32(b[17:]) {
		o.set("crc", "wrong")
	}
	if codec == 0 {
		o.set("size_bytes", rbNum(int64(len(b))))
	} else if codec < len(rbCodecs) {
		o.set("compression", rbCodecs[codec])
	} else {
		o.set("compression", rbNum(int64(codec)))
	}
	if attrs&8 != 0 {
		o.set("timestamp_type", "append")
	}
	if attrs&16 != 0 {
		o.set("transactional", true)
	}
	if attrs&32 != 0 {
		o.set("control", true)
	}
	if attrs&64 != 0 {
		o.set("delete_horizon", true)
	}
	if u := attrs &^ 0x7f; u != 0 {
		o.set("unused_attributes", rbNum(int64(u)))
	}
	baseTs := int64(be.Uint64(b[27:]))
	o.set("base_timestamp", rbNum(baseTs))
	o.set("max_timestamp", rbNum(int64(be.Uint64(b[35:]))))
	if pid := int64(be.Uint64(b[43:])); pid != -1 {
		o.set("producer_id", rbNum(pid))
	}
	if e := int16(be.Uint16(b[51:])); e != -1 {
		o.set("producer_epoch", rbNum(int64(e)))
	}
	if q := int32(be.Uint32(b[53:])); q != -1 {
		o.set("base_sequence", rbNum(int64(q)))
	}
	count := int64(int32(be.Uint32(b[57:])))
	body, err := rbDecompress(codec, b[61:])
	if err != nil {
		o.set("records", "undecodable")
		return o
	}
	recs := []any{}
	rd := bytes.NewReader(body)
	for rd.Len() > 0 {
		n, err := binary.ReadVarint(rd)
		if err != nil || n < 0 || n > int64(rd.Len()) {
			recs = append(recs, "undecodable")
			break
		}
		rec := make([]byte, n)
		io.ReadFull(rd, rec)
		recs = append(recs, rbDecodeRecord(rec, int64(len(recs)), attrs&32 != 0))
	}
	if count != int64(len(recs)) {
		o.set("records_count", rbNum(count))
	}
	o.set("records", recs)
	return o
}

func rbDecodeRecord(rec []byte, pos int64, control bool) any {
	o := newObj()
	if len(rec) == 0 {
		return "undecodable"
	}
	if rec[0] != 0 {
		o.set("attributes", rbNum(int64(rec[0])))
	}
	rd := bytes.NewReader(rec[1:])
	bad := false
	vi := func() int64 {
		n, err := binary.ReadVarint(rd)
		bad = bad || err != nil
		return n
	}
	data := func() any {
		n := vi()
		if n < 0 {
			return nil
		}
		if n > int64(rd.Len()) {
			bad = true
			return nil
		}
		b := make([]byte, n)
		io.ReadFull(rd, b)
		switch {
		case control:
			return "hex:" + hex.EncodeToString(b)
		case n > 64 && len(bytes.Trim(b, "x")) == 0:
			return rbNum(n)
		case utf8.Valid(b):
			return string(b)
		}
		return "hex:" + hex.EncodeToString(b)
	}
	if d := vi(); d != 0 {
		o.set("ts_delta", rbNum(d))
	}
	if d := vi(); d != pos {
		o.set("offset_delta", rbNum(d))
	}
	key := data()
	o.set("key", key)
	v := data()
	if n, ok := v.(json.Number); ok {
		o.set("value_size", n)
	} else {
		o.set("value", v)
	}
	if control && len(rec) > 0 {
		switch k, _ := key.(string); k {
		case "hex:00000000":
			o.set("marker", "abort")
		case "hex:00000001":
			o.set("marker", "commit")
		}
	}
	var hs []any
	for n := vi(); n > 0 && !bad; n-- {
		hs = append(hs, []any{data(), data()})
	}
	if len(hs) > 0 {
		o.set("headers", hs)
	}
	if bad {
		return "undecodable"
	}
	return o
}

// rbFieldHook gives the JSON form of the fields that need their own.
func rbFieldHook(owner reflect.Type, name string, v reflect.Value) (any, bool) {
	if owner.Name() != "FetchResponseTopicPartition" {
		return nil, false
	}
	switch name {
	case "RecordBatches":
		if v.IsNil() {
			return nil, true
		}
		return rbDecodeAll(v.Bytes()), true
	case "AbortedTransactions": // null (read uncommitted) and empty (read committed) differ
		if v.IsNil() {
			return nil, true
		}
	}
	return nil, false
}

// leadersReady: metadata names a leader a moment before that broker serves the partition (until then its answers
// are NOT_LEADER_OR_FOLLOWER), so ask for the end offsets too.
func (r *runner) leadersReady(topics []kmsg.CreateTopicsRequestTopic) bool {
	req := kmsg.NewPtrListOffsetsRequest()
	req.Version = 7
	req.ReplicaID = -1
	for _, t := range topics {
		rt := kmsg.NewListOffsetsRequestTopic()
		rt.Topic = t.Topic
		for p := range max(t.NumPartitions, 1) {
			rp := kmsg.NewListOffsetsRequestTopicPartition()
			rp.Partition, rp.Timestamp = p, -1
			rt.Partitions = append(rt.Partitions, rp)
		}
		req.Topics = append(req.Topics, rt)
	}
	resp, _, err := r.call("setup", r.bootstrap, req, 10*time.Second)
	if err != nil {
		return true // not answered: the steps will tell
	}
	for _, t := range resp.(*kmsg.ListOffsetsResponse).Topics {
		for _, p := range t.Partitions {
			if p.ErrorCode == 6 {
				return false
			}
		}
	}
	return true
}

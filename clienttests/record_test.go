package clienttests

import (
	"bufio"
	"encoding/base64"
	"fmt"
	"io"
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
)

// A record is what a client is asked to send, in terms that every client has.
type record struct {
	Key     string
	Value   []byte // nil is a tombstone
	Headers []header
	Time    int64 // milliseconds since 1970
}

type header struct {
	Key   string
	Value string
}

// A delivery is a record as a group member received it.
type delivery struct {
	record
	Member    int
	Partition int32
	Offset    int64
}

const keys = 200

// makeRecords returns n records numbered from first, over 200 keys. Among them
// are tombstones, empty values, binary bytes and different numbers of headers.
// Timestamps are distinct and not in order, so that one taken from a
// neighbour, or from a batch as a whole, shows.
func makeRecords(first, n int) []record {
	base := time.Now().Add(-time.Hour).UnixMilli()
	recs := make([]record, n)
	for i := range recs {
		id := first + i
		r := record{
			Key:   fmt.Sprintf("key-%03d", id*7919%keys),
			Value: fmt.Appendf(nil, "record %d: %s", id, strings.Repeat("fakekafka ", id%12)),
			Time:  base + int64(i^0x15),
		}
		switch {
		case id%97 == 0:
			r.Value = nil
		case id%89 == 0:
			r.Value = []byte{}
		case id%83 == 0:
			r.Value = []byte{0, 0xff, 0xfe, '\n', '\t', 0x80, byte(id)}
		}
		for h := range id % 3 {
			r.Headers = append(r.Headers, header{fmt.Sprintf("header-%d", h), fmt.Sprintf("%d of record %d", h, id)})
		}
		recs[i] = r
	}
	return recs
}

// requireSame fails unless the deliveries are exactly the sent records: none
// lost, none twice, every field as sent, each key in one partition and in the
// order sent.
func requireSame(t testing.TB, sent []record, got []delivery) {
	t.Helper()
	require.Len(t, got, len(sent), "records received")
	want := map[string][]record{}
	for _, r := range sent {
		want[r.Key] = append(want[r.Key], r)
	}
	have := map[string][]record{}
	place := map[string]int32{}
	next := map[int32]int64{}
	for _, d := range got {
		if p, ok := place[d.Key]; ok && p != d.Partition {
			t.Fatalf("key %q arrived from partitions %d and %d; a key belongs to one", d.Key, p, d.Partition)
		}
		place[d.Key] = d.Partition
		if n, ok := next[d.Partition]; ok && d.Offset != n {
			t.Fatalf("partition %d: offset %d followed offset %d", d.Partition, d.Offset, n-1)
		}
		next[d.Partition] = d.Offset + 1
		have[d.Key] = append(have[d.Key], d.record)
	}
	for k, w := range want {
		h := have[k]
		for i := range min(len(w), len(h)) {
			require.Equal(t, show(w[i]), show(h[i]), "record %d of key %q", i, k)
		}
		require.Len(t, h, len(w), "records of key %q", k)
	}
}

// show renders a record for comparison; null and empty stay apart.
func show(r record) string {
	v := "null"
	if r.Value != nil {
		v = strconv.Quote(string(r.Value))
	}
	return fmt.Sprintf("key %q value %s headers %v timestamp %d", r.Key, v, r.Headers, r.Time)
}

// Programs in other languages read records from standard input and write
// deliveries to standard output, one a line, fields apart by tabs, bytes in
// base64, null as "-":
//
//	record:   timestamp key value [header-key header-value]...
//	delivery: member partition offset timestamp key value [header-key header-value]...

func writeRecords(w io.Writer, recs []record) error {
	b := bufio.NewWriter(w)
	for _, r := range recs {
		value := "-"
		if r.Value != nil {
			value = encode(string(r.Value))
		}
		fmt.Fprintf(b, "%d\t%s\t%s", r.Time, encode(r.Key), value)
		for _, h := range r.Headers {
			fmt.Fprintf(b, "\t%s\t%s", encode(h.Key), encode(h.Value))
		}
		b.WriteByte('\n')
	}
	return b.Flush()
}

func readDelivery(line string) (d delivery, err error) {
	f := strings.Split(line, "\t")
	if len(f) < 6 || len(f)%2 != 0 {
		return d, fmt.Errorf("%q is not a delivery: it has %d fields", line, len(f))
	}
	var n [4]int64
	for i := range n {
		if n[i], err = strconv.ParseInt(f[i], 10, 64); err != nil {
			return d, fmt.Errorf("%q is not a delivery: %w", line, err)
		}
	}
	d.Member, d.Partition, d.Offset, d.Time = int(n[0]), int32(n[1]), n[2], n[3]
	var text []string
	for _, s := range f[4:] {
		b, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(s, "-"))
		if err != nil {
			return d, fmt.Errorf("%q is not a delivery: %w", line, err)
		}
		text = append(text, string(b))
	}
	d.Key = text[0]
	if f[5] != "-" {
		d.Value = []byte(text[1])
	}
	for h := text[2:]; len(h) > 0; h = h[2:] {
		d.Headers = append(d.Headers, header{h[0], h[1]})
	}
	return d, nil
}

func encode(s string) string { return base64.StdEncoding.EncodeToString([]byte(s)) }

func TestRecordsSurviveTheLineFormat(t *testing.T) {
	recs := makeRecords(0, 300)
	var b strings.Builder
	require.NoError(t, writeRecords(&b, recs))
	require.True(t, utf8.ValidString(b.String()))
	for i, line := range strings.Split(strings.TrimSuffix(b.String(), "\n"), "\n") {
		d, err := readDelivery("1\t2\t3\t" + line)
		require.NoError(t, err)
		require.Equal(t, recs[i], d.record)
		require.Equal(t, []int64{1, 2, 3}, []int64{int64(d.Member), int64(d.Partition), d.Offset})
	}
}

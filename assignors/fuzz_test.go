package assignors

import (
	"math/rand/v2"
	"reflect"
	"testing"
)

// bytesDraw lets the fuzzer decide; when its bytes are used up, everything is 0.
func bytesDraw(b []byte) draw {
	return func(n int) int {
		if len(b) == 0 || n <= 1 {
			return 0
		}
		x := int(b[0]) % n
		b = b[1:]
		return x
	}
}

func fuzzAssign(f *testing.F, name string) {
	for seed := range uint64(8) {
		rng := rand.New(rand.NewPCG(seed, 3))
		b := make([]byte, 40*seed)
		for i := range b {
			b[i] = byte(rng.Uint32())
		}
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		if err := checkHostile(mustName(name), bytesDraw(b), rand.New(rand.NewPCG(1, 1))); err != nil {
			t.Error(err)
		}
		c := chain{a: mustName(name), d: bytesDraw(b), shuffle: rand.New(rand.NewPCG(1, 1))}
		for range 4 {
			if err := c.step(); err != nil {
				t.Fatal(err)
			}
		}
	})
}

func FuzzRange(f *testing.F)             { fuzzAssign(f, "range") }
func FuzzRoundRobin(f *testing.F)        { fuzzAssign(f, "roundrobin") }
func FuzzSticky(f *testing.F)            { fuzzAssign(f, "sticky") }
func FuzzCooperativeSticky(f *testing.F) { fuzzAssign(f, "cooperative-sticky") }
func FuzzUniform(f *testing.F)           { fuzzAssign(f, "uniform") }
func FuzzServerRange(f *testing.F)       { fuzzAssign(f, "server-range") }

// FuzzProtocol reads any bytes as each of the blobs; what can be read must survive being written and read again.
func FuzzProtocol(f *testing.F) {
	f.Add([]byte("\x00\x03\x00\x00\x00\x01\x00\x02t0\xff\xff\xff\xff\x00\x00\x00\x01\x00\x02t0\x00\x00\x00\x01\x00\x00\x00\x04\x00\x00\x00\x07\x00\x01r"))
	f.Add([]byte("\x00\x01\x00\x00\x00\x01\x00\x02t0\x00\x00\x00\x02\x00\x00\x00\x00\x00\x00\x00\x01\x00\x00\x00\x01x"))
	f.Add([]byte("\x00\x00\x00\x01\x00\x02t0\x00\x00\x00\x02\x00\x00\x00\x02\x00\x00\x00\x00\x00\x00\x00\x2a"))
	f.Add([]byte("\x00\x00\x7f\xff\xff\xff\x00\x02t0"))
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, b []byte) {
		if s, err := DecodeSubscription(b); err == nil {
			again, err := EncodeSubscription(s, ConsumerProtocolVersion)
			if err != nil {
				t.Fatal(err)
			}
			once, err := DecodeSubscription(again)
			if err != nil {
				t.Fatal(err)
			}
			// Writing sorts; from then on nothing changes any more.
			again, err = EncodeSubscription(once, ConsumerProtocolVersion)
			if err != nil {
				t.Fatal(err)
			}
			if twice, err := DecodeSubscription(again); err != nil || !reflect.DeepEqual(once, twice) {
				t.Fatalf("%+v became %+v, %v", once, twice, err)
			}
		}
		if a, err := DecodeAssignment(b); err == nil {
			again, err := EncodeAssignment(a, ConsumerProtocolVersion)
			if err != nil {
				t.Fatal(err)
			}
			if twice, err := DecodeAssignment(again); err != nil || len(twice.Partitions) != len(a.Partitions) {
				t.Fatalf("%+v became %+v, %v", a, twice, err)
			}
		}
		if owned, generation, err := DecodeStickyUserData(b); err == nil {
			again, err := EncodeStickyUserData(owned, generation)
			if err != nil {
				t.Fatal(err)
			}
			if twice, g, err := DecodeStickyUserData(again); err != nil || len(twice) != len(owned) || g != generation {
				t.Fatalf("%v %d became %v %d, %v", owned, generation, twice, g, err)
			}
		}
		if a := decodeCooperativeUserData(b); a < -1 {
			t.Fatalf("generation %d", a)
		}
	})
}

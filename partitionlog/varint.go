package partitionlog

// Varints of records are zigzag: small numbers of either sign are short.

// readVarint reads a number of at most 32 bits; n is 0 if b ends too early or the number is too long.
func readVarint(b []byte) (v int32, n int) {
	if len(b) > 0 && b[0] < 0x80 {
		u := uint32(b[0])
		return int32(u>>1) ^ -int32(u&1), 1
	}
	return readLongVarint(b)
}

// readLongVarint is readVarint without the short cut that is to be inlined.
func readLongVarint(b []byte) (v int32, n int) {
	var u uint32
	for i := 0; i < len(b) && i < 5; i++ {
		c := b[i]
		u |= uint32(c&0x7f) << (7 * i)
		if c < 0x80 {
			return int32(u>>1) ^ -int32(u&1), i + 1
		}
	}
	return 0, 0
}

// readVarlong reads a number of at most 64 bits; n is 0 if b ends too early or the number is too long.
func readVarlong(b []byte) (v int64, n int) {
	if len(b) > 0 && b[0] < 0x80 {
		u := uint64(b[0])
		return int64(u>>1) ^ -int64(u&1), 1
	}
	return readLongVarlong(b)
}

// readLongVarlong is readVarlong without the short cut that is to be inlined.
func readLongVarlong(b []byte) (v int64, n int) {
	var u uint64
	for i := 0; i < len(b) && i < 10; i++ {
		c := b[i]
		u |= uint64(c&0x7f) << (7 * i)
		if c < 0x80 {
			return int64(u>>1) ^ -int64(u&1), i + 1
		}
	}
	return 0, 0
}

func appendVarint(b []byte, v int64) []byte {
	u := uint64(v)<<1 ^ uint64(v>>63)
	for u >= 0x80 {
		b = append(b, byte(u)|0x80)
		u >>= 7
	}
	return append(b, byte(u))
}

func varintSize(v int64) int {
	u := uint64(v)<<1 ^ uint64(v>>63)
	n := 1
	for u >= 0x80 {
		u >>= 7
		n++
	}
	return n
}

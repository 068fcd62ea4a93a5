package partitionlog

import (
	"encoding/binary"
	"errors"
)

// LZ4 blocks, as the library of Kafka's brokers (liblz4, by way of lz4-java) takes them. It refuses what other decoders let pass: a block ends with
// literals, which are the last 5 bytes at least, and a match doesn't begin in its last 12. And it takes what others refuse: a match at offset 0
// is so many zeros. Where a producer's compressor keeps the rules of the format none of this shows, but a batch that a broker refuses has to
// be refused here.

const (
	lz4LastLiterals = 5  // bytes at a block's end that are literals
	lz4MatchLimit   = 12 // bytes before the end of what a block may unpack to where no match begins anymore
	lz4LeastMatch   = 4
	lz4Longest      = 15 // a length that more bytes follow for
	// lz4Room is what has to be left in the memory for the fast way: 14 literals and 18 bytes of a match, written as 16 and 18.
	lz4Room = 14 + 18
)

var errLZ4Block = errors.New("lz4: a block is corrupt")

// unpackLZ4 unpacks a block to dst, whose memory grows as needed, and to at most so many bytes. It answers dst's memory with what there is.
func unpackLZ4(dst, block []byte, most int) ([]byte, error) {
	dst = dst[:cap(dst)]
	if len(dst) > most {
		dst = dst[:most]
	}
	in, out := 0, 0 // where block is read and dst is written
	for in < len(block) {
		token := block[in]
		in++
		literals, match := int(token>>4), int(token&lz4Longest)
		// A short run of literals well before both ends is not judged, nor is a short match behind it that doesn't overlap itself much.
		short := literals != lz4Longest && in <= len(block)-17 && out <= most-lz4Room
		if short && out <= len(dst)-lz4Room {
			*(*[16]byte)(dst[out:]) = *(*[16]byte)(block[in:])
			in += literals
			out += literals
		} else {
			if literals == lz4Longest {
				if in >= len(block)-lz4Longest {
					return dst, errLZ4Block
				}
				var ok bool
				if literals, in, ok = lz4Length(block, in, len(block)-lz4Longest, literals); !ok {
					return dst, errLZ4Block
				}
			}
			if !short && (out+literals > most-lz4MatchLimit || in+literals > len(block)-2-1-lz4LastLiterals) {
				if in+literals != len(block) || out+literals > most {
					return dst, errLZ4Block
				}
				dst = grownLZ4(dst, out, literals, most)
				return dst[:out+copy(dst[out:], block[in:])], nil
			}
			dst = grownLZ4(dst, out, literals, most)
			out += copy(dst[out:out+literals], block[in:])
			in += literals
		}
		offset := int(binary.LittleEndian.Uint16(block[in:]))
		in += 2
		if offset > out {
			return dst, errLZ4Block
		}
		if match == lz4Longest {
			var ok bool
			if match, in, ok = lz4Length(block, in, len(block)-lz4LastLiterals+1, match); !ok {
				return dst, errLZ4Block
			}
			short = false
		}
		match += lz4LeastMatch
		if short && offset >= 8 && out <= len(dst)-18 {
			binary.LittleEndian.PutUint64(dst[out:], binary.LittleEndian.Uint64(dst[out-offset:]))
			binary.LittleEndian.PutUint64(dst[out+8:], binary.LittleEndian.Uint64(dst[out-offset+8:]))
			binary.LittleEndian.PutUint16(dst[out+16:], binary.LittleEndian.Uint16(dst[out-offset+16:]))
			out += match
			continue
		}
		if out+match > most-lz4LastLiterals && !(short && offset >= 8) {
			return dst, errLZ4Block
		}
		dst = grownLZ4(dst, out, match, most)
		copyLZ4(dst[:out+match], out, offset)
		out += match
	}
	return dst, errLZ4Block
}

// lz4Length adds the bytes behind a length: each but the last is 255. None but the last byte read may be at the limit.
func lz4Length(block []byte, in, limit, length int) (int, int, bool) {
	for in < len(block) {
		more := block[in]
		in++
		if length += int(more); in > limit {
			return 0, in, false
		}
		if more != 255 {
			return length, in, true
		}
	}
	return 0, in, false
}

// copyLZ4 fills dst from out on with what lies offset bytes before, which may be what it has just written.
func copyLZ4(dst []byte, out, offset int) {
	if offset == 0 {
		clear(dst[out:])
		return
	}
	from := out - offset
	for out < len(dst) {
		out += copy(dst[out:], dst[from:out])
	}
}

// grownLZ4 is dst with memory for n bytes more than out, and for the fast way if there may be as much.
func grownLZ4(dst []byte, out, n, most int) []byte {
	if out+n <= len(dst) {
		return dst
	}
	more := make([]byte, min(max(2*len(dst), out+n+lz4Room), most))
	copy(more, dst[:out])
	return more
}

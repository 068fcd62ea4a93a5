package partitionlog

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/bits"

	"github.com/pierrec/lz4/v4"
)

// lz4Reader reads one LZ4 frame as a broker does: independent blocks only, the descriptor's checksum and those of blocks are
// verified, that of the content is skipped, and what stands behind the frame is ignored. Blocks are unpacked as a whole into
// memory that is used again.
type lz4Reader struct {
	packed        []byte // what follows the last block read
	plain         []byte // the last block
	block         []byte
	largest       int // a block may unpack to
	blockChecksum bool
	endChecksum   bool
	finished      bool
}

const (
	lz4Magic     = 0x184D2204
	lz4Version   = 1
	lz4NotPacked = 1 << 31
)

var errLZ4Short = fmt.Errorf("lz4: the frame ends too early: %w", io.ErrUnexpectedEOF)

// reset reads the frame's descriptor.
func (r *lz4Reader) reset(packed []byte) error {
	*r = lz4Reader{block: r.block}
	if cap(r.block) > 2*keptScratch {
		r.block = nil
	}
	if len(packed) < 6 {
		return errLZ4Short
	}
	if binary.LittleEndian.Uint32(packed) != lz4Magic {
		return errors.New("lz4: no frame begins here")
	}
	flags, size := packed[4], packed[5]
	switch {
	case flags>>6 != lz4Version:
		return fmt.Errorf("lz4: frame version %d, 1 is known", flags>>6)
	case flags&0x20 == 0:
		return errors.New("lz4: blocks that depend on each other are not supported")
	case flags&0x03 != 0 || size&0x8f != 0:
		return errors.New("lz4: reserved bits are set")
	case size>>4 < 4:
		return fmt.Errorf("lz4: block size %d, 4 to 7 are known", size>>4)
	}
	r.blockChecksum, r.endChecksum = flags&0x10 != 0, flags&0x04 != 0
	r.largest = 1 << (2*(size>>4) + 8)
	end := 6
	if flags&0x08 != 0 {
		end += 8 // the content's size
	}
	if len(packed) < end+1 {
		return errLZ4Short
	}
	if packed[end] != byte(xxh32(packed[4:end])>>8) {
		return errors.New("lz4: the descriptor's checksum is wrong")
	}
	r.packed = packed[end+1:]
	return nil
}

func (r *lz4Reader) next() ([]byte, error) {
	for !r.finished {
		if err := r.nextBlock(); err != nil {
			return nil, err
		}
		if len(r.plain) > 0 {
			return r.plain, nil
		}
	}
	return nil, io.EOF
}

// nextBlock unpacks the next block, or finds the frame's end.
func (r *lz4Reader) nextBlock() error {
	if len(r.packed) < 4 {
		return errLZ4Short
	}
	head := binary.LittleEndian.Uint32(r.packed)
	r.packed = r.packed[4:]
	size := int(head &^ lz4NotPacked)
	switch {
	case size == 0:
		r.finished, r.plain = true, nil
		if r.endChecksum && len(r.packed) < 4 {
			return errLZ4Short
		}
		return nil
	case size > r.largest:
		return fmt.Errorf("lz4: a block of %d bytes, at most %d are allowed", size, r.largest)
	case size > len(r.packed):
		return errLZ4Short
	}
	block := r.packed[:size]
	r.packed = r.packed[size:]
	if head&lz4NotPacked != 0 {
		r.plain = block
	} else if err := r.unpackBlock(block); err != nil {
		return err
	}
	if r.blockChecksum {
		if len(r.packed) < 4 {
			return errLZ4Short
		}
		if binary.LittleEndian.Uint32(r.packed) != xxh32(block) {
			return errors.New("lz4: a block's checksum is wrong")
		}
		r.packed = r.packed[4:]
	}
	return nil
}

// unpackBlock begins with some memory for what the block unpacks to: it is only known to be no more than the descriptor says, which is mostly far too much.
func (r *lz4Reader) unpackBlock(block []byte) (err error) {
	if room := min(4*len(block), r.largest); cap(r.block) < room {
		r.block = make([]byte, room)
	}
	// The library's assembly is twice as fast, and what both take they unpack to the same.
	room := r.block[:min(cap(r.block), r.largest)]
	if n, err := lz4.UncompressBlock(block, room); err == nil && endsWithLiterals(room[:n], block) {
		r.plain = room[:n]
		return nil
	}
	r.plain, err = unpackLZ4(r.block, block, r.largest)
	r.block = r.plain[:0]
	return err
}

// endsWithLiterals tells whether a block that could be unpacked ends as compressors end one: with literals, which stand there as they are. Only a block made for it
// could end so with a match.
func endsWithLiterals(plain, block []byte) bool {
	return len(plain) > lz4MatchLimit && len(block) > lz4LastLiterals &&
		bytes.Equal(plain[len(plain)-lz4LastLiterals:], block[len(block)-lz4LastLiterals:])
}

// xxh32 is the 32-bit xxHash of b with seed 0.
func xxh32(b []byte) uint32 {
	const p1, p2, p3, p4, p5 = 2654435761, 2246822519, 3266489917, 668265263, 374761393
	var seed, h uint32
	n := uint32(len(b))
	if len(b) >= 16 {
		v1, v2, v3, v4 := seed+p1+p2, seed+p2, seed, seed-p1
		for ; len(b) >= 16; b = b[16:] {
			v1 = bits.RotateLeft32(v1+binary.LittleEndian.Uint32(b)*p2, 13) * p1
			v2 = bits.RotateLeft32(v2+binary.LittleEndian.Uint32(b[4:])*p2, 13) * p1
			v3 = bits.RotateLeft32(v3+binary.LittleEndian.Uint32(b[8:])*p2, 13) * p1
			v4 = bits.RotateLeft32(v4+binary.LittleEndian.Uint32(b[12:])*p2, 13) * p1
		}
		h = bits.RotateLeft32(v1, 1) + bits.RotateLeft32(v2, 7) + bits.RotateLeft32(v3, 12) + bits.RotateLeft32(v4, 18)
	} else {
		h = seed + p5
	}
	h += n
	for ; len(b) >= 4; b = b[4:] {
		h = bits.RotateLeft32(h+binary.LittleEndian.Uint32(b)*p3, 17) * p4
	}
	for _, c := range b {
		h = bits.RotateLeft32(h+uint32(c)*p5, 11) * p1
	}
	h = (h ^ h>>15) * p2
	h = (h ^ h>>13) * p3
	return h ^ h>>16
}

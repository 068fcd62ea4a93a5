package partitionlog

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/klauspost/compress/flate"
	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/s2"
	"github.com/klauspost/compress/zstd"
	"github.com/pierrec/lz4/v4"
)

// Codec numbers of a batch's attributes.
const (
	CodecNone   = 0
	CodecGzip   = 1
	CodecSnappy = 2
	CodecLZ4    = 3
	CodecZstd   = 4
)

// codecNames are the codecs by number, as compression.type names them.
var codecNames = [...]string{"uncompressed", "gzip", "snappy", "lz4", "zstd"}

const (
	// maxUnpacked bounds what a batch may unpack to. It is far above what clients send (Kafka has no limit here), and keeps a
	// small hostile batch from costing minutes of CPU.
	maxUnpacked = 256 << 20
	// maxWindow bounds the memory for one record of a compressed batch, and what a batch may claim to need before any byte of it
	// was unpacked.
	maxWindow = 64 << 20
	// keptScratch is how much scratch memory a Codecs holds on to between batches.
	keptScratch = 1 << 20
	// zstdStreamWindow is the largest window decoded as a stream; clients' levels up to 19 stay below.
	zstdStreamWindow = 8 << 20
	// xerialBlock is the block size of the Java clients' snappy framing.
	xerialBlock = 32 << 10
)

var (
	xerialMagic  = []byte{0x82, 'S', 'N', 'A', 'P', 'P', 'Y', 0}
	xerialHeader = append(slices.Clip(xerialMagic), 0, 0, 0, 1, 0, 0, 0, 1)
)

// Codecs is reusable memory for compressing and decompressing. The zero value is ready. It is not safe for concurrent use: a
// broker keeps one per connection or a pool of them.
type Codecs struct {
	window []byte // what of a compressed batch is unpacked just now
	in     bytes.Reader
	reader recordReader

	gzipR   gzipReader
	snappyR snappyReader
	lz4R    lz4Reader
	zstdR   zstdReader
	zstdBig *zstd.Decoder // for windows too large to reserve in advance

	gzipW      *gzip.Writer
	gzipWLevel int
	lz4W       *lz4.Writer
	zstdW      *zstd.Encoder
	zstdWLevel int
}

// unpacker gives out what a batch unpacks to: piece by piece where the codec has blocks, else as a stream.
type unpacker struct {
	blocks interface {
		// next is the next block, never empty and valid until next is called again, or io.EOF.
		next() ([]byte, error)
	}
	stream io.Reader // nil if there are blocks
}

// unpack returns what packed unpacks to. It is valid until the next call on c. What may stand behind a stream, or
// be missing, is for each codec what the Java libraries of a broker let pass.
func (c *Codecs) unpack(codec int, packed []byte) (u unpacker, err error) {
	c.in.Reset(packed)
	switch {
	case codec < CodecGzip || codec > CodecZstd:
		return u, fmt.Errorf("codec %d: there are 1 to 4", codec)
	case len(packed) == 0 && codec != CodecZstd:
		return u, fmt.Errorf("%s: %w", codecNames[codec], io.ErrUnexpectedEOF)
	}
	switch codec {
	case CodecGzip:
		if len(packed) > gzipFlags && packed[gzipFlags]&gzipReserved != 0 { // Java doesn't look at these flags, our decoder refuses them
			packed = slices.Clone(packed)
			packed[gzipFlags] &^= gzipReserved
			c.in.Reset(packed)
		}
		u.stream, err = c.gzipR.reset(&c.in)
	case CodecSnappy:
		c.snappyR.reset(packed)
		u.blocks = &c.snappyR
	case CodecLZ4:
		u.blocks, err = &c.lz4R, c.lz4R.reset(packed)
	case CodecZstd:
		u.stream = &c.in
		if len(packed) > 0 {
			u.stream, err = c.unpackZstd(packed)
		}
	}
	return u, err
}

// Where a gzip header has its flags, and those that mean nothing.
const (
	gzipFlags    = 3
	gzipReserved = 0xe0
)

// gzipReader reads members as long as a header follows; anything else behind a member is ignored.
type gzipReader struct {
	z  *gzip.Reader
	in *bytes.Reader
}

func (r *gzipReader) reset(in *bytes.Reader) (io.Reader, error) {
	r.in = in
	if r.z == nil {
		r.z = new(gzip.Reader)
	}
	if err := r.z.Reset(in); err != nil {
		return nil, fmt.Errorf("gzip: %w", noEOF(err))
	}
	r.z.Multistream(false)
	return r, nil
}

// member reads the current member. A broker unpacks so much at a time: what lies before a corrupt place among it is never seen.
func (r *gzipReader) member(p []byte) (n int, err error) {
	for n < len(p) && err == nil {
		var more int
		if more, err = r.z.Read(p[n:]); more == 0 {
			break
		}
		n += more
	}
	if _, corrupt := err.(flate.CorruptInputError); corrupt {
		return 0, err
	}
	return n, err
}

func (r *gzipReader) Read(p []byte) (int, error) {
	for {
		n, err := r.member(p)
		if n > 0 || err != io.EOF {
			return n, err
		}
		if r.z.Reset(r.in) != nil {
			return 0, io.EOF
		}
		r.z.Multistream(false)
	}
}

// zstdEnd is how a stream of zstd frames ends.
type zstdEnd int

const (
	zstdEndsWhole zstdEnd = iota
	zstdCutShort
	zstdCutLater // behind a whole frame, in what begins as one
)

// endOfZstd tells how frames end. Where that is inside a block that is not compressed, a broker's library hands out what is there of it and ours doesn't: what is returned
// then is a copy in which the block is as long as that.
func endOfZstd(packed []byte) ([]byte, zstdEnd) {
	cut := zstdCutShort
	for at := 0; at < len(packed); cut = zstdCutLater {
		var h zstd.Header
		if h.Decode(packed[at:]) != nil {
			if beginsFrame(packed[at:]) {
				return packed, cut
			}
			if len(packed)-at < 4 { // our decoder would take it for a frame's beginning
				packed = append(slices.Clone(packed), 0, 0, 0)
			}
			return packed, zstdEndsWhole
		}
		at += h.HeaderSize
		if h.Skippable {
			if uint64(h.SkippableSize) > uint64(len(packed)-at) {
				return packed, cut
			}
			at += int(h.SkippableSize)
			continue
		}
		for last := false; !last; {
			if len(packed)-at < zstdBlockHeader {
				return packed, cut
			}
			head := int(packed[at]) | int(packed[at+1])<<8 | int(packed[at+2])<<16
			kind, size, there := head>>1&3, head>>3, len(packed)-at-zstdBlockHeader
			last = head&1 != 0
			if kind == zstdRLE {
				size = 1
			}
			if size > there {
				if kind == zstdRaw && size <= zstdLargestBlock && (h.SingleSegment || uint64(size) <= h.WindowSize) {
					packed = slices.Clone(packed)
					packed[at], packed[at+1], packed[at+2] = byte(there<<3|zstdRaw<<1), byte(there>>5), byte(there>>13)
				}
				return packed, cut
			}
			at += zstdBlockHeader + size
		}
		if h.HasCheckSum {
			at += 4
		}
		if at > len(packed) {
			return packed, cut
		}
	}
	return packed, zstdEndsWhole
}

// beginsFrame says whether these bytes, which may be few, are the first of a zstd frame, or of one that is to be skipped.
func beginsFrame(b []byte) bool {
	b = slices.Clone(b[:min(4, len(b))])
	if b[0]&0xf0 == 0x50 {
		b[0] = 0x50
	}
	return bytes.HasPrefix([]byte{0x28, 0xb5, 0x2f, 0xfd}, b) || bytes.HasPrefix([]byte{0x50, 0x2a, 0x4d, 0x18}, b)
}

// Blocks of zstd.
const (
	zstdBlockHeader  = 3
	zstdRaw          = 0
	zstdRLE          = 1
	zstdLargestBlock = 128 << 10
)

func (c *Codecs) unpackZstd(packed []byte) (io.Reader, error) {
	packed, end := endOfZstd(packed)
	c.in.Reset(packed)
	var h zstd.Header
	if err := h.Decode(packed); err != nil {
		return nil, fmt.Errorf("zstd: %w", noEOF(err))
	}
	if h.WindowSize > zstdStreamWindow {
		// A stream decoder reserves the window at once. This way memory grows with what is there.
		if h.HasFCS && h.FrameContentSize > maxWindow {
			return nil, fmt.Errorf("zstd: the frame claims %d bytes; at most %d are taken", h.FrameContentSize, maxWindow)
		}
		if c.zstdBig == nil {
			d, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(maxWindow), zstd.WithDecoderMaxWindow(128<<20))
			if err != nil {
				return nil, fmt.Errorf("zstd: %w", err)
			}
			c.zstdBig = d
		}
		plain, err := c.zstdBig.DecodeAll(packed, nil)
		if err != nil {
			return nil, fmt.Errorf("zstd: %w", noEOF(err))
		}
		return bytes.NewReader(plain), nil
	}
	if c.zstdR.z == nil {
		// One goroutine's worth of concurrency decodes in the caller and starts none.
		d, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true),
			zstd.WithDecoderMaxWindow(zstdStreamWindow), zstd.WithDecodeBuffersBelow(0))
		if err != nil {
			return nil, fmt.Errorf("zstd: %w", err)
		}
		c.zstdR.z = d
	}
	if err := c.zstdR.z.Reset(&c.in); err != nil {
		return nil, fmt.Errorf("zstd: %w", noEOF(err))
	}
	c.zstdR.end = end
	return &c.zstdR, nil
}

// zstdReader unpacks so much at a time as a broker: what lies before a corrupt place among it is never seen, what lies before the end of a frame or of a
// stream that is cut short is. After a whole frame there may be some of another one: it ends the stream.
type zstdReader struct {
	z   *zstd.Decoder
	end zstdEnd
}

func (r *zstdReader) Read(p []byte) (n int, err error) {
	for n < len(p) && err == nil {
		var more int
		if more, err = r.z.Read(p[n:]); more == 0 {
			break
		}
		n += more
	}
	switch {
	case err == nil, err == io.EOF, errors.Is(err, zstd.ErrMagicMismatch):
	case !errors.Is(err, io.ErrUnexpectedEOF), r.end == zstdEndsWhole:
		n = 0
	case r.end == zstdCutLater:
		err = io.EOF
	}
	return n, err
}

// noEOF keeps a stream that ends too early apart from one that ends.
func noEOF(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

// snappyReader reads the Java clients' framing, or one raw block.
type snappyReader struct {
	packed []byte
	block  []byte // the last one, unpacked
	raw    bool
}

func (r *snappyReader) reset(packed []byte) {
	if cap(r.block) > keptScratch {
		r.block = nil
	}
	*r = snappyReader{packed: packed, block: r.block, raw: true}
	if len(packed) >= len(xerialHeader) && bytes.HasPrefix(packed, xerialMagic) {
		r.packed, r.raw = packed[len(xerialHeader):], false
	}
}

func (r *snappyReader) next() ([]byte, error) {
	for len(r.packed) > 0 {
		block := r.packed
		if r.raw {
			r.packed = nil
		} else {
			if len(block) < 4 {
				return nil, io.EOF // too few for a block are ignored
			}
			n := binary.BigEndian.Uint32(block)
			if bytes.HasPrefix(block, xerialMagic[:4]) && len(block) >= len(xerialHeader) {
				r.packed = block[len(xerialHeader):] // one stream behind another
				continue
			}
			block = block[4:]
			if uint64(n) > uint64(len(block)) {
				return nil, fmt.Errorf("snappy: a block of %d bytes with %d left", n, len(block))
			}
			block = block[:n]
			r.packed = r.packed[4+n:]
		}
		n, err := s2.DecodedLen(block)
		if err != nil {
			return nil, fmt.Errorf("snappy: %w", err)
		}
		if n > 22*len(block) { // three bytes yield at most 64
			return nil, fmt.Errorf("snappy: a block of %d bytes claims to unpack to %d", len(block), n)
		}
		if r.block, err = s2.Decode(r.block[:cap(r.block)], block); err != nil {
			return nil, fmt.Errorf("snappy: %w", err)
		}
		if len(r.block) > 0 {
			return r.block, nil
		}
	}
	return nil, io.EOF
}

// pack appends plain, compressed, to dst. level is in Kafka's terms; 0 is the codec's default.
func (c *Codecs) pack(dst []byte, codec, level int, plain []byte) ([]byte, error) {
	switch codec {
	case CodecNone:
		return append(dst, plain...), nil
	case CodecGzip:
		if level == 0 {
			level = gzip.DefaultCompression
		}
		out := bytes.NewBuffer(dst)
		if c.gzipW == nil || c.gzipWLevel != level {
			w, err := gzip.NewWriterLevel(out, level)
			if err != nil {
				return dst, fmt.Errorf("gzip: %w", err)
			}
			c.gzipW, c.gzipWLevel = w, level
		}
		c.gzipW.Reset(out)
		return finish(out, c.gzipW, plain)
	case CodecSnappy:
		dst = append(dst, xerialHeader...)
		for len(plain) > 0 {
			block := plain[:min(len(plain), xerialBlock)]
			plain = plain[len(block):]
			at := len(dst)
			dst = slices.Grow(dst, 4+s2.MaxEncodedLen(len(block)))
			n := len(s2.EncodeSnappy(dst[at+4:cap(dst)], block))
			binary.BigEndian.PutUint32(dst[at:at+4], uint32(n))
			dst = dst[:at+4+n]
		}
		return dst, nil
	case CodecLZ4:
		out := bytes.NewBuffer(dst)
		if c.lz4W == nil {
			c.lz4W = lz4.NewWriter(nil)
		}
		c.lz4W.Reset(out)
		if err := c.lz4W.Apply(lz4.BlockSizeOption(lz4.Block64Kb), lz4.ChecksumOption(false), lz4.ConcurrencyOption(1),
			lz4.CompressionLevelOption(lz4Level(level))); err != nil {
			return dst, fmt.Errorf("lz4: %w", err)
		}
		return finish(out, c.lz4W, plain)
	case CodecZstd:
		if level == 0 {
			level = 3
		}
		if c.zstdW == nil || c.zstdWLevel != level {
			w, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1), zstd.WithEncoderLevel(zstd.EncoderLevelFromZstd(level)))
			if err != nil {
				return dst, fmt.Errorf("zstd: %w", err)
			}
			c.zstdW, c.zstdWLevel = w, level
		}
		return c.zstdW.EncodeAll(plain, dst), nil
	}
	return dst, fmt.Errorf("codec %d: there are 0 to 4", codec)
}

func finish(out *bytes.Buffer, w io.WriteCloser, plain []byte) ([]byte, error) {
	if _, err := w.Write(plain); err != nil {
		return out.Bytes(), err
	}
	err := w.Close()
	return out.Bytes(), err
}

// lz4Level maps Kafka's levels to the library's: 9, the default, is the fast compressor in both worlds.
func lz4Level(level int) lz4.CompressionLevel {
	levels := [...]lz4.CompressionLevel{lz4.Level1, lz4.Level2, lz4.Level3, lz4.Level4, lz4.Level5, lz4.Level6, lz4.Level7, lz4.Level8, lz4.Level9}
	switch {
	case level <= 0 || level == 9:
		return lz4.Fast
	case level > len(levels):
		return lz4.Level9
	}
	return levels[level-1]
}

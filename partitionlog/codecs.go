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

// member reads the current member. What lies before a corrupt place is never seen.
func (r *gzipReader) member(p []byte) (n int, err error) {
	n, err = readMost(r.z, p)
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

// readMost fills p as far as there is something to read: as much at a time as a broker unpacks, so that what lies before a corrupt place among it can be
// left out, as there.
func readMost(r io.Reader, p []byte) (n int, err error) {
	for n < len(p) && err == nil {
		var more int
		if more, err = r.Read(p[n:]); more == 0 {
			break
		}
		n += more
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

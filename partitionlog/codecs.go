package partitionlog

// Codec numbers of a batch's attributes.
const (
	CodecNone   = 0
	CodecGzip   = 1
	CodecSnappy = 2
	CodecLZ4    = 3
	CodecZstd   = 4
)

// Codecs is reusable memory for compressing and decompressing. The zero value is ready. It is not safe for concurrent use: a
// broker keeps one per connection or a pool of them.
type Codecs struct{}

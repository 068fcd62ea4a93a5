package partitionlog

// Header is a record header; a nil value is null.
type Header struct {
	Key   string
	Value []byte
}

// Record is one record. Nil keys and values are null. Offset, LeaderEpoch and the producer fields are filled in by decoding and
// ignored by BuildBatch.
type Record struct {
	Offset    int64
	Timestamp int64 // milliseconds
	Key       []byte
	Value     []byte
	Headers   []Header

	LeaderEpoch   int32
	ProducerID    int64 // -1 none
	ProducerEpoch int16
	Sequence      int32 // -1 none
	Transactional bool
	Control       bool // a transaction marker: see ParseMarker
}

// BatchOptions are the fields of a batch to build. The zero value makes an uncompressed batch of CreateTime without a producer.
type BatchOptions struct {
	Codec int // CodecNone, CodecGzip, ...
	Level int // compression level in Kafka's terms; 0 is Kafka's default
	// Idempotent batches carry the producer fields; Transactional implies it.
	Idempotent    bool
	Transactional bool
	ProducerID    int64
	ProducerEpoch int16
	BaseSequence  int32
	LogAppendTime bool // set the timestamp type bit
	Codecs        *Codecs
}

// BuildBatch encodes records as one batch of format 2 at base offset 0, ready to be produced. Records get the offset deltas
// 0, 1, 2, ...
func BuildBatch(records []Record, o BatchOptions) ([]byte, error) { return nil, nil }

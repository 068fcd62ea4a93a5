package partitionlog

import "iter"

// Batches yields the kept batches from the one that holds offset from on. The log must not be changed meanwhile; the yielded
// slices stay valid.
func (l *Log) Batches(from int64) iter.Seq[[]byte] { return func(func([]byte) bool) {} }

// DecodeBatch appends the records of one batch to dst. Keys, values and headers of an uncompressed batch point into it. Memory
// is bounded: a batch that unpacks to more than 256 MiB is an error.
func DecodeBatch(dst []Record, batch []byte, c *Codecs) ([]Record, error) { return dst, nil }

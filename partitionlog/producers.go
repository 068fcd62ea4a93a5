package partitionlog

// ProducerState is what the log knows of a producer (DescribeProducers).
type ProducerState struct {
	ProducerID       int64
	Epoch            int16
	LastSequence     int32 // -1 after a marker with a new epoch
	LastTimestamp    int64
	CoordinatorEpoch int32 // -1 before the first marker
	TxnStart         int64 // first offset of the open transaction, or -1
}

// Producers lists the known producers by id.
func (l *Log) Producers() []ProducerState { return nil }

// ExpireProducers forgets producers without an open transaction whose last record timestamp is producer.id.expiration.ms old,
// and returns how many went.
func (l *Log) ExpireProducers(now int64) int { return 0 }

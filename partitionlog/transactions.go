package partitionlog

// Verification stands for a question to the transaction coordinator under way. The zero value is no verification.
type Verification uint64

// BeginVerification is to be called for each transactional batch before it is appended. needed is false when the producer's
// transaction is already open here at this epoch (or verification is switched off and nothing need be asked). Otherwise the
// caller asks the coordinator (Produce up to v11: verify, from v12: add) and then appends with the returned token. A marker
// that arrives in between makes the token worthless, so a late batch cannot reopen an ended transaction.
func (l *Log) BeginVerification(now int64, batch []byte, version int16) (v Verification, needed bool) {
	return 0, false
}

// Marker describes the end of a transaction.
type Marker struct {
	ProducerID       int64
	ProducerEpoch    int16
	Commit           bool
	CoordinatorEpoch int32
	// TransactionVersion is 2 when every end raises the epoch; then an epoch equal to the known one is refused unless nothing
	// is open.
	TransactionVersion int16
}

// AppendMarker appends the control batch that ends a transaction (WriteTxnMarkers). Errors: 47 for an old epoch, 52 for an old
// coordinator epoch.
func (l *Log) AppendMarker(now int64, m Marker) (AppendResult, *AppendError) { return AppendResult{}, nil }

// AbortedTxn is an entry of the index of aborted transactions.
type AbortedTxn struct {
	ProducerID  int64
	FirstOffset int64
	LastOffset  int64 // the marker's
	LastStable  int64 // last stable offset after the abort
}

// OpenTransaction is one that has no marker yet.
type OpenTransaction struct {
	ProducerID  int64
	FirstOffset int64
	Started     int64 // time of the producer's first batch in it, in ms
}

// OpenTransactions lists the open transactions by first offset.
func (l *Log) OpenTransactions() []OpenTransaction { return nil }

// AbortedTransactions lists the aborted transactions that overlap [from, to), in the order of their markers.
func (l *Log) AbortedTransactions(from, to int64) []AbortedTxn { return nil }

package transactions

// The codes that the coordinator answers, under Kafka's names.
const (
	codeUnknownServerError        int16 = -1
	codeNone                      int16 = 0
	codeCoordinatorNotAvailable   int16 = 15
	codeInvalidRequest            int16 = 42
	codeInvalidTxnState           int16 = 48
	codeInvalidProducerIDMapping  int16 = 49
	codeInvalidTransactionTimeout int16 = 50
	codeConcurrentTransactions    int16 = 51
	codeProducerFenced            int16 = 90
	codeTransactionalIDNotFound   int16 = 105
	codeTransactionAbortable      int16 = 120
)

package wire

import "strconv"

// Code is a Kafka error code as it stands in an answer. [None] is success.
type Code int16

// String gives Kafka's own name, such as NOT_LEADER_OR_FOLLOWER.
func (c Code) String() string {
	if i := int(c) + 1; i >= 0 && i < len(codes) {
		return codes[i].name
	}
	return "UNKNOWN_CODE_" + strconv.Itoa(int(c))
}

// Retriable tells whether Kafka's clients may repeat the request that got c.
func (c Code) Retriable() bool {
	i := int(c) + 1
	return i >= 0 && i < len(codes) && codes[i].retriable
}

// Codes lists every code Kafka 4.3.1 knows, ascending from -1.
func Codes() []Code {
	all := make([]Code, len(codes))
	for i := range all {
		all[i] = Code(i - 1)
	}
	return all
}

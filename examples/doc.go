// Package examples holds small, complete programs and tests that a user can
// copy. It is a module of its own, so that the client they use stays out of
// the go.mod of those who import fakekafka.
package examples

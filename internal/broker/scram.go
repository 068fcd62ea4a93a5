package broker

import (
	"crypto/hmac"
	"crypto/sha256"
	"crypto/sha512"
	"hash"

	"github.com/fakekafka/fakekafka/internal/wire"
)

// scramCredentials are the SCRAM credentials of users (KIP-554), by user and mechanism. Owned by the control loop.
type scramCredentials map[string]map[int8]scramCredential

// scramCredential is what a broker keeps of a password (RFC 5802).
type scramCredential struct {
	iterations           int32
	salt                 []byte
	storedKey, serverKey []byte
}

// scramMechanisms are the hashes of the mechanisms, by Kafka's numbers.
var scramMechanisms = map[int8]func() hash.Hash{
	1: sha256.New, // SCRAM-SHA-256
	2: sha512.New, // SCRAM-SHA-512
}

const (
	scramMinIterations = 4096
	scramMaxIterations = 16384
)

// newScramCredential derives what is kept from a salted password.
func newScramCredential(mechanism int8, iterations int32, salt, saltedPassword []byte) scramCredential {
	newHash := scramMechanisms[mechanism]
	mac := func(text string) []byte {
		m := hmac.New(newHash, saltedPassword)
		m.Write([]byte(text))
		return m.Sum(nil)
	}
	stored := newHash()
	stored.Write(mac("Client Key"))
	return scramCredential{
		iterations: iterations,
		salt:       append([]byte(nil), salt...),
		storedKey:  stored.Sum(nil),
		serverKey:  mac("Server Key"),
	}
}

func checkScramUser(user string, mechanism int8) *topicError {
	switch {
	case user == "":
		return refuse(wire.UnacceptableCredential, "Username must not be empty")
	case scramMechanisms[mechanism] == nil:
		return refuse(wire.UnsupportedSASLMechanism, "Unknown SCRAM mechanism")
	}
	return nil
}

func checkScramIterations(n int32) *topicError {
	switch {
	case n < scramMinIterations:
		return refuse(wire.UnacceptableCredential, "Too few iterations")
	case n > scramMaxIterations:
		return refuse(wire.UnacceptableCredential, "Too many iterations")
	}
	return nil
}

func (s scramCredentials) delete(user string, mechanism int8) {
	delete(s[user], mechanism)
	if len(s[user]) == 0 {
		delete(s, user)
	}
}

func (s scramCredentials) set(user string, mechanism int8, c scramCredential) {
	if s[user] == nil {
		s[user] = map[int8]scramCredential{}
	}
	s[user][mechanism] = c
}

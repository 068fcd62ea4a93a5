package broker

import (
	"math/rand/v2"
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"
)

// The form of a client's software name is KIP-511's regular expression.
func TestSoftwareNameIsTheRegularExpression(t *testing.T) {
	t.Parallel()
	form := regexp.MustCompile(`^[a-zA-Z0-9](?:[a-zA-Z0-9\-.]*[a-zA-Z0-9])?$`)
	check := func(s string) { require.Equal(t, form.MatchString(s), softwareName(s), "%q", s) }
	const odd = "azAZ09-./:@[`{\n\r\x00\x7f\x80\xc3\xa9\xff _"
	check("")
	for _, a := range []byte(odd) {
		check(string(a))
		check(string([]byte{a}))
		check("a" + string([]byte{a}))
		check(string([]byte{a}) + "a")
		for _, b := range []byte(odd) {
			check(string([]byte{a, b}))
			for _, c := range []byte(odd) {
				check(string([]byte{a, b, c}))
			}
		}
	}
	for b := range 256 {
		check(string([]byte{byte(b)}))
		check(string([]byte{'a', byte(b), 'a'}))
	}
	r := rand.New(rand.NewPCG(1, 2))
	for range 10_000 {
		s := make([]byte, r.IntN(12))
		for i := range s {
			s[i] = odd[r.IntN(min(8+r.IntN(len(odd)), len(odd)))]
		}
		check(string(s))
	}
}

package groups

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// kafka-go names itself to nobody: its subscriptions say to be of version 1, and end where those of version 0 do.
func TestLooksLikeKafkaGo(t *testing.T) {
	t.Parallel()
	like := "\x00\x01" + "\x00\x00\x00\x01" + "\x00\x01a" + "\xff\xff\xff\xff"
	for name, tc := range map[string]struct {
		metadata []string
		want     bool
	}{
		"one protocol":         {[]string{like}, true},
		"several":              {[]string{like, like}, true},
		"none":                 {nil, false},
		"of version 0":         {[]string{"\x00\x00" + like[2:]}, false},
		"of version 3":         {[]string{"\x00\x03" + like[2:]}, false},
		"with a list of owned": {[]string{like + "\x00\x00\x00\x00"}, false},
		"with one byte more":   {[]string{like + "\x00"}, false},
		"nonsense":             {[]string{"\x00\x01"}, false},
		"empty":                {[]string{""}, false},
		"another among them":   {[]string{like, "\x00\x00" + like[2:]}, false},
		"another first":        {[]string{"\x00\x00" + like[2:], like}, false},
	} {
		m := &classicMember{}
		for _, metadata := range tc.metadata {
			m.protocols = append(m.protocols, protocol{"range", []byte(metadata)})
		}
		require.Equal(t, tc.want, looksLikeKafkaGo(m), name)
	}
}

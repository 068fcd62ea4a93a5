package groups

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// The names in a subscription are read as the names of requests are, so that they are the same topics.
func TestSubscribedNamesThatAreNotUTF8(t *testing.T) {
	t.Parallel()
	b := subscriptionBytes([]string{"é", "a\xed\xa0z"}, []string{"b\xff-1", "a\xff-1"})
	sub, err := readSubscription(b)
	require.NoError(t, err)
	require.Equal(t, []string{"é", "a\ufffdz"}, sub.Topics)
	require.Equal(t, map[string][]int32{"a\ufffd": {1}, "b\ufffd": {1}}, byTopic(sub.Owned))
	names, err := subscribedTopics(b)
	require.NoError(t, err)
	require.Equal(t, sub.Topics, names)
}

// What is no subscription is told from one at every byte: its topics count as unknown, and so as every topic.
func TestSubscriptionsThatAreCutShort(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		b    string
		want []string // nil: none can be read
	}{
		"no topics, no user data":          {"\x00\x00" + "\x00\x00\x00\x00" + "\xff\xff\xff\xff", []string{}},
		"empty user data":                  {"\x00\x00" + "\x00\x00\x00\x00" + "\x00\x00\x00\x00", []string{}},
		"a topic without a name":           {"\x00\x00" + "\x00\x00\x00\x01" + "\x00\x00" + "\xff\xff\xff\xff", []string{""}},
		"two topics and user data":         {"\x00\x00" + "\x00\x00\x00\x02" + "\x00\x01a\x00\x02bc" + "\x00\x00\x00\x02uv", []string{"a", "bc"}},
		"a version that there is not":      {"\xff\x85" + "\x00\x00\x00\x01" + "\x00\x01a" + "\xff\xff\xff\xff", []string{"a"}},
		"fields of later versions behind":  {"\x00\x03" + "\x00\x00\x00\x01" + "\x00\x01a" + "\xff\xff\xff\xff" + "whatever", []string{"a"}},
		"as many nameless topics as bytes": {"\x00\x00" + "\x00\x00\x00\x03" + "\x00\x00\x00\x00\x00\x00" + "\xff\xff\xff\xff", []string{"", "", ""}},
		"nothing":                          {"", nil},
		"a version alone":                  {"\x00\x00", nil},
		"half a number of topics":          {"\x00\x00" + "\x00\x00\x00", nil},
		"no user data at all":              {"\x00\x00" + "\x00\x00\x00\x00", nil},
		"a null list of topics":            {"\x00\x00" + "\xff\xff\xff\xff" + "\xff\xff\xff\xff", nil},
		"more topics than bytes":           {"\x00\x00" + "\x7f\xff\xff\xff" + "\x00\x01a" + "\xff\xff\xff\xff", nil},
		"one topic too few":                {"\x00\x00" + "\x00\x00\x00\x03" + "\x00\x01a\x00\x01b", nil},
		"half a topic's length":            {"\x00\x00" + "\x00\x00\x00\x02" + "\x00\x01a\x00", nil},
		"half a topic's name":              {"\x00\x00" + "\x00\x00\x00\x01" + "\x00\x03ab", nil},
		"a null topic":                     {"\x00\x00" + "\x00\x00\x00\x01" + "\xff\xff" + "\xff\xff\xff\xff", nil},
		"a topic of less than none":        {"\x00\x00" + "\x00\x00\x00\x01" + "\xff\xfe" + "\xff\xff\xff\xff", nil},
		"half a length of user data":       {"\x00\x00" + "\x00\x00\x00\x01" + "\x00\x01a" + "\x00\x00\x00", nil},
		"user data that end early":         {"\x00\x00" + "\x00\x00\x00\x01" + "\x00\x01a" + "\x00\x00\x00\x03uv", nil},
		"user data longer than can be":     {"\x00\x00" + "\x00\x00\x00\x01" + "\x00\x01a" + "\x7f\xff\xff\xff" + strings.Repeat("u", 64), nil},
	} {
		topics, err := subscribedTopics([]byte(tc.b))
		if tc.want == nil {
			require.ErrorIs(t, err, errBadSubscription, name)
			continue
		}
		require.NoError(t, err, name)
		require.Equal(t, tc.want, topics, name)
	}
}

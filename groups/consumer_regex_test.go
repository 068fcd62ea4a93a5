package groups

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestRegexAsRE2J(t *testing.T) {
	t.Parallel()
	for expression, matches := range map[string]bool{
		`foo`:                    true,
		`fo`:                     false, // the whole name counts
		`\p{L}+`:                 true,
		`\pL+`:                   true,
		`\p{Latin}+`:             true,
		`\p{^Latin}+`:            false,
		`\P{Greek}+`:             true,
		`\p{Old_Italic}+`:        false, // Go has no scripts of two words
		`\P{Old_Italic}+`:        true,
		`\p{^Old_Italic}+`:       true,
		`[^\p{Ol_Chiki}\p{Yi}]+`: true,
		`\Q\p{Letter}\E|foo`:     true, // no class
		`\\p{Letter}|foo`:        true,
		`[\\p{Letter}]|foo`:      true,
		`foo|\Q\p{Letter}`:       true,
	} {
		require.Nil(t, checkRegex(expression), expression)
		re, err := wholeName(expression)
		require.NoError(t, err, expression)
		require.Equal(t, matches, re.MatchString("foo"), expression)
	}
	for expression, why := range map[string]string{
		`\p{Letter}`:         "invalid character class range", // which newer Go takes
		`\p{greek}`:          "invalid character class range",
		`\p{ L}`:             "invalid character class range",
		`\p{}`:               "invalid character class range",
		`\p{^}`:              "invalid character class range",
		`\p{Cn}`:             "invalid character class range",
		`[a\p{ASCII}]`:       "invalid character class range",
		`\p{Kawi}`:           "invalid character class range",
		`\p{Limbu Linear_B}`: "invalid character class range",
		`\p{L`:               "invalid character class range",
		`\p`:                 "invalid character class range",
		`(\p{Letter}`:        "invalid character class range", // the first mistake counts
		`(?z)\p{Letter}`:     "invalid or unsupported Perl syntax",
		`\Q\p{Letter}\E(`:    "missing closing )",
		`(?P<`:               "invalid named capture",
		`a(?<`:               "invalid named capture",
		`(?P`:                "invalid or unsupported Perl syntax",
		`(?P<n>a)|(?P<n>b)`:  "duplicate capture group name",
		`a)`:                 "regexp/syntax: internal error",
	} {
		r := checkRegex(expression)
		require.NotNil(t, r, expression)
		require.Equal(t, "SubscribedTopicRegex `"+expression+"` is not a valid regular expression: "+why+".", r.message)
	}
}

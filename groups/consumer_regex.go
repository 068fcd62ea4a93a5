package groups

import (
	"errors"
	"regexp"
	"regexp/syntax"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// The expressions that members subscribe with. Kafka's library for them, RE2J, and Go's are siblings; here is what Go's sees otherwise.

func checkRegex(expression string) *refusal {
	parsed, err := parseRegex(expression)
	if err == nil {
		_, err = wholeName(expression)
	}
	var why string
	var se *syntax.Error
	switch {
	case errors.As(err, &se) && se.Code == syntax.ErrUnexpectedParen:
		why = "regexp/syntax: internal error" // RE2J has no words for it
	case errors.As(err, &se) && (se.Expr == "(?P" && strings.HasSuffix(expression, "(?P<") || se.Expr == "(?<"):
		why = syntax.ErrInvalidNamedCapture.String() // Go wants to see something of the name first
	case errors.As(err, &se):
		why = se.Code.String()
	case err != nil:
		why = err.Error()
	case repeatsCaptureName(parsed):
		why = "duplicate capture group name" // which Go lets pass
	default:
		return nil
	}
	return refuse(errInvalidRegularExpression, "SubscribedTopicRegex `%s` is not a valid regular expression: %s.", expression, why)
}

func repeatsCaptureName(r *syntax.Regexp) bool {
	seen := make(map[string]bool)
	for _, name := range r.CapNames() {
		if name != "" && seen[name] {
			return true
		}
		seen[name] = true
	}
	return false
}

// wholeName compiles an expression so that it has to match the whole name of a topic. It is written anew first: an open \Q would take
// the end along.
func wholeName(expression string) (*regexp.Regexp, error) {
	parsed, err := parseRegex(expression)
	if err != nil {
		return nil, err
	}
	return regexp.Compile(`\A(?:` + parsed.String() + `)\z`)
}

func parseRegex(expression string) (*syntax.Regexp, error) {
	return syntax.Parse(withKnownClasses(expression), syntax.Perl)
}

// withKnownClasses replaces the names of Unicode classes, as \p{Greek}: by one that is invalid where RE2J has none of that name, and by
// the name of another script where Go doesn't know it. That may be any, as no topic name has a letter of either.
func withKnownClasses(expression string) string {
	if !strings.Contains(expression, `\p`) && !strings.Contains(expression, `\P`) {
		return expression
	}
	var out strings.Builder
	inClass := false
	for rest := expression; rest != ""; {
		n := 1 // bytes that are taken as they are
		switch {
		case rest[0] == '[':
			inClass = true
		case rest[0] == ']':
			inClass = false
		case strings.HasPrefix(rest, `\Q`) && !inClass:
			if n = strings.Index(rest, `\E`); n < 0 {
				n = len(rest)
			}
		case strings.HasPrefix(rest, `\p`), strings.HasPrefix(rest, `\P`):
			name, length, ok := className(rest[2:])
			if ok {
				out.WriteString(rest[:2] + knownClass(name))
				rest = rest[2+length:]
				continue
			}
		case rest[0] == '\\':
			n = min(2, len(rest))
		}
		out.WriteString(rest[:n])
		rest = rest[n:]
	}
	return out.String()
}

// className is the name that a text begins with, a letter or in braces, and its length with them.
func className(text string) (name string, length int, ok bool) {
	if !strings.HasPrefix(text, "{") {
		_, n := utf8.DecodeRuneInString(text)
		return text[:n], n, n > 0
	}
	end := strings.IndexByte(text, '}')
	if end < 0 {
		return "", 0, false
	}
	return text[1:end], end + 1, true
}

func knownClass(name string) string {
	plain := strings.TrimPrefix(name, "^")
	_, category := unicode.Categories[plain]
	switch {
	case plain == "Any", category && plain != "Cn" && plain != "LC":
	case !slices.Contains(classScripts, plain):
		return "{!}"
	case strings.Contains(plain, "_"):
		return "{" + strings.TrimSuffix(name, plain) + "Yi}"
	}
	return "{" + name + "}"
}

// classScripts are the scripts that RE2J knows: those of Unicode 6.0.
var classScripts = strings.Fields("Arabic Armenian Avestan Balinese Bamum Batak Bengali Bopomofo Brahmi Braille Buginese Buhid Canadian_Aboriginal Carian Cham Cherokee Common " +
	"Coptic Cuneiform Cypriot Cyrillic Deseret Devanagari Egyptian_Hieroglyphs Ethiopic Georgian Glagolitic Gothic Greek Gujarati Gurmukhi Han " +
	"Hangul Hanunoo Hebrew Hiragana Imperial_Aramaic Inherited Inscriptional_Pahlavi Inscriptional_Parthian Javanese Kaithi Kannada Katakana " +
	"Kayah_Li Kharoshthi Khmer Lao Latin Lepcha Limbu Linear_B Lisu Lycian Lydian Malayalam Mandaic Meetei_Mayek Mongolian Myanmar New_Tai_Lue " +
	"Nko Ogham Ol_Chiki Old_Italic Old_Persian Old_South_Arabian Old_Turkic Oriya Osmanya Phags_Pa Phoenician Rejang Runic Samaritan Saurashtra " +
	"Shavian Sinhala Sundanese Syloti_Nagri Syriac Tagalog Tagbanwa Tai_Le Tai_Tham Tai_Viet Tamil Telugu Thaana Thai Tibetan Tifinagh Ugaritic " +
	"Vai Yi")

package config

import (
	"cmp"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// value is a setting's value, parsed.
type value struct {
	set  bool // false is null
	num  int64
	real float64
	flag bool
	text string
	list []string
}

// refusal is Kafka's text for a setting it doesn't take.
type refusal string

func (r refusal) Error() string { return string(r) }

// invalid is Kafka's text for a bad value; reason is the part after the value.
func invalid(name, shown, reason string) error {
	text := fmt.Sprintf("Invalid value %s for configuration %s", shown, name)
	if reason != "" {
		text += ": " + reason
	}
	return refusal(text)
}

// parse reads a value as Kafka's ConfigDef does, and checks it.
func (d *def) parse(raw string) (value, error) {
	v, err := d.parseType(raw)
	if err != nil {
		return v, err
	}
	if d.valid != nil {
		err = d.valid(d.name, v, d.show(v))
	}
	return v, err
}

func (d *def) parseType(raw string) (value, error) {
	trimmed := strings.TrimSpace(raw)
	v := value{set: true, text: trimmed}
	var err error
	switch d.typ {
	case Boolean:
		v.flag = strings.EqualFold(trimmed, "true")
		if !v.flag && !strings.EqualFold(trimmed, "false") {
			return v, invalid(d.name, raw, "Expected value to be either true or false")
		}
	case Short:
		v.num, err = strconv.ParseInt(trimmed, 10, 16)
	case Int:
		v.num, err = strconv.ParseInt(trimmed, 10, 32)
	case Long:
		v.num, err = strconv.ParseInt(trimmed, 10, 64)
	case Double:
		v.real, err = parseJavaDouble(trimmed)
	case List:
		v.list = splitList(trimmed)
		if d.valid != nil && !d.emptyEntries && slices.Contains(v.list, "") {
			return v, refusal(fmt.Sprintf("Configuration '%s' values must not be empty.", d.name))
		}
	}
	if err != nil {
		return v, invalid(d.name, raw, "Not a number of type "+d.typ.String())
	}
	return v, nil
}

// splitList gives the entries of a list, each once.
func splitList(trimmed string) []string {
	if trimmed == "" {
		return []string{}
	}
	var list []string
	for entry := range strings.SplitSeq(trimmed, ",") {
		entry = strings.Trim(entry, " \t\n\f\r")
		if !slices.Contains(list, entry) {
			list = append(list, entry)
		}
	}
	return list
}

// parseJavaDouble also takes Java's suffixes of float literals.
func parseJavaDouble(s string) (float64, error) {
	if n := len(s); n > 1 && strings.ContainsRune("fFdD", rune(s[n-1])) && !strings.HasPrefix(strings.ToLower(s), "0x") {
		s = s[:n-1]
	}
	if strings.Contains(s, "_") {
		return 0, strconv.ErrSyntax
	}
	return strconv.ParseFloat(s, 64)
}

// show gives a value in the form DescribeConfigs has it.
func (d *def) show(v value) string {
	switch d.typ {
	case Boolean:
		return strconv.FormatBool(v.flag)
	case Int, Short, Long:
		return strconv.FormatInt(v.num, 10)
	case Double:
		return showJavaDouble(v.real)
	case List:
		return strings.Join(v.list, ",")
	}
	return v.text
}

// showJavaDouble is Java's Double.toString: at least one digit after the point,
// and an exponent below 10^-3 and from 10^7 on.
func showJavaDouble(f float64) string {
	switch {
	case math.IsNaN(f):
		return "NaN"
	case math.IsInf(f, 1):
		return "Infinity"
	case math.IsInf(f, -1):
		return "-Infinity"
	}
	if abs := math.Abs(f); abs != 0 && (abs < 1e-3 || abs >= 1e7) {
		mantissa, exponent, _ := strings.Cut(strconv.FormatFloat(f, 'E', -1, 64), "E")
		if !strings.Contains(mantissa, ".") {
			mantissa += ".0"
		}
		n, _ := strconv.Atoi(exponent)
		return mantissa + "E" + strconv.Itoa(n)
	}
	s := strconv.FormatFloat(f, 'f', -1, 64)
	if !strings.Contains(s, ".") {
		s += ".0"
	}
	return s
}

// validator checks a parsed value; shown is how the value stands in the text.
type validator func(name string, v value, shown string) error

var (
	rangeForm  = regexp.MustCompile(`^\[(-?[0-9.]+),\.\.\.(?:,(-?[0-9.]+))?\]( or -1)?$`)
	choiceForm = regexp.MustCompile(`^(\(case insensitive\) )?\[([^\]:]+)\]$`)
)

// parseValidator understands the way Kafka describes its validators.
func parseValidator(s string) validator {
	switch s {
	case "":
		return nil
	case "distinct":
		return func(string, value, string) error { return nil } // parse refuses empty entries and drops repeated ones
	case "distinct non-empty":
		return notEmpty("any non-empty value")
	case "non-empty string":
		return func(name string, v value, shown string) error {
			if v.text == "" {
				return invalid(name, shown, "String must be non-empty")
			}
			return nil
		}
	case "non-null string":
		return func(string, value, string) error { return nil } // a null never comes here
	case "non-empty list":
		// What it says of itself; its own default is the empty list, and no
		// broker refuses that.
		return func(string, value, string) error { return nil }
	case replicasOfPartitions:
		return validateReplicas
	case "[latest, earliest, by_duration:PnDTnHnMn.nS]":
		return validateOffsetReset
	}
	if choices, ok := strings.CutSuffix(s, " non-empty"); ok {
		filled, chosen := notEmpty(choices), parseValidator(choices)
		return func(name string, v value, shown string) error {
			return cmp.Or(filled(name, v, shown), chosen(name, v, shown))
		}
	}
	if m := choiceForm.FindStringSubmatch(s); m != nil && !rangeForm.MatchString(s) {
		return oneOf(strings.Split(m[2], ", "), m[1] != "")
	}
	m := rangeForm.FindStringSubmatch(s)
	if m == nil {
		panic("config: unknown validator " + s)
	}
	return between(m[1], m[2], m[3] != "")
}

// notEmpty is for lists of which choices can be entries.
func notEmpty(choices string) validator {
	return func(name string, v value, _ string) error {
		if len(v.list) == 0 {
			return refusal(fmt.Sprintf("Configuration '%s' must not be empty. Valid values include: %s", name, choices))
		}
		return nil
	}
}

func between(least, most string, orMinusOne bool) validator {
	lo, _ := strconv.ParseFloat(least, 64)
	hi := math.Inf(1)
	if most != "" {
		hi, _ = strconv.ParseFloat(most, 64)
	}
	return func(name string, v value, shown string) error {
		n := v.real + float64(v.num) // one of them is 0; the bounds are small
		switch {
		case orMinusOne:
			if n != -1 && (n < lo || n > hi) {
				return invalid(name, shown, "Value must be between "+least+" and "+most+" or equal to -1")
			}
		case n < lo:
			return invalid(name, shown, "Value must be at least "+least)
		case n > hi:
			return invalid(name, shown, "Value must be no more than "+most)
		}
		return nil
	}
}

func oneOf(choices []string, foldCase bool) validator {
	return func(name string, v value, _ string) error {
		entries := v.list
		if entries == nil {
			entries = []string{v.text}
		}
		for _, entry := range entries {
			if !slices.ContainsFunc(choices, func(c string) bool {
				return c == entry || foldCase && strings.EqualFold(c, entry)
			}) {
				reason := "String must be one of: "
				if foldCase {
					reason = "String must be one of (case insensitive): "
				}
				return invalid(name, entry, reason+strings.Join(choices, ", "))
			}
		}
		return nil
	}
}

// replicasOfPartitions is how Kafka describes the validator of the throttled replicas.
const replicasOfPartitions = "[partitionId]:[brokerId],[partitionId]:[brokerId],..."

var replicaForm = regexp.MustCompile(`^([0-9]+:[0-9]+)?$`)

// validateReplicas looks at the entries as they were written: an empty one is none, but the '*' must be the only one.
func validateReplicas(name string, v value, _ string) error {
	entries := strings.Split(v.text, ",")
	for i := range entries {
		entries[i] = strings.TrimSpace(entries[i])
	}
	if strings.Join(entries, "") == "*" {
		return nil
	}
	for _, entry := range entries {
		if !replicaForm.MatchString(entry) {
			return invalid(name, "["+strings.Join(v.list, ", ")+"]", name+" must be the literal '*' or a list of replicas in the following format: [partitionId]:[brokerId],[partitionId]:[brokerId],...")
		}
	}
	return nil
}

// isoDuration is the part of ISO 8601 that Java's Duration reads, without negative amounts.
var isoDuration = regexp.MustCompile(`^(?i:P(\d+D)?(T(\d+H)?(\d+M)?(\d+(\.\d{0,9})?S)?)?)$`)

func validateOffsetReset(name string, v value, shown string) error {
	if v.text == "latest" || v.text == "earliest" {
		return nil
	}
	period, ok := strings.CutPrefix(v.text, "by_duration:")
	if ok && isoDuration.MatchString(period) && !strings.HasSuffix(strings.ToUpper(period), "T") && len(period) > 1 {
		return nil
	}
	return invalid(name, shown, fmt.Sprintf("Invalid value `%s` for configuration %s. The value must be either 'earliest', 'latest' or of the format 'by_duration:<PnDTnHnMn.nS>'.", v.text, name))
}

package config

import (
	"strings"

	"github.com/fakekafka/fakekafka/internal/wire"
)

// Type of a value, in the numbers of DescribeConfigs v3+.
type Type int8

// The types of values.
const (
	Boolean  Type = 1
	String   Type = 2
	Int      Type = 3
	Short    Type = 4
	Long     Type = 5
	Double   Type = 6
	List     Type = 7
	Class    Type = 8
	Password Type = 9
)

// Source of a value, in the numbers of DescribeConfigs.
type Source int8

// Where a value comes from.
const (
	DynamicTopic         Source = 1
	DynamicBroker        Source = 2 // set at run time on one broker
	DynamicDefaultBroker Source = 3 // set at run time for all brokers
	StaticBroker         Source = 4 // given at the start
	Default              Source = 5
	DynamicBrokerLogger  Source = 6
	ClientMetrics        Source = 7
	DynamicGroup         Source = 8
)

// ResourceType is what configs belong to, in Kafka's numbers.
type ResourceType int8

// The kinds of resources that have configs.
const (
	TopicResource         ResourceType = 2
	BrokerResource        ResourceType = 4
	BrokerLoggerResource  ResourceType = 8
	ClientMetricsResource ResourceType = 16
	GroupResource         ResourceType = 32
)

// Error is a refusal: the code for the client and the text for its message field.
// An empty text is a null in the answers to alter requests, and an empty string in
// those to DescribeConfigs.
type Error struct {
	Code    wire.Code
	Message string
}

func (e *Error) Error() string { return e.Code.String() + ": " + e.Message }

// Setting is a name and a value; a nil value is a null on the wire.
type Setting struct {
	Name  string
	Value *string
}

// Entry is one config of a resource as DescribeConfigs shows it.
type Entry struct {
	Name      string
	Value     *string // nil for sensitive values
	Type      Type
	Source    Source
	ReadOnly  bool
	Sensitive bool
	Synonyms  []Synonym // highest first; the caller leaves them out if not asked for

	def *def // nil for a logger, and for a name that Kafka has no definition of
}

// Documentation is what a client is told that asks what the setting is, nil where
// Kafka says nothing. Kafka's texts are its own; these say what the definition
// says, since a client shows them, and some rely on there being one.
func (e Entry) Documentation() *string {
	if e.def == nil {
		return nil
	}
	text := "Type: " + strings.ToLower(e.def.typ.String()) + ". "
	switch {
	case e.def.required:
		text += "It has no default. "
	case e.def.fallback == nil:
		text += "Kafka's default: null. "
	default:
		text += "Kafka's default: \"" + *e.def.fallback + "\". "
	}
	if e.def.allowed != "" {
		text += "Valid: " + e.def.allowed + ". "
	}
	text += "What it does stands in the documentation of Apache Kafka."
	return &text
}

// Synonym is one place a value could come from.
type Synonym struct {
	Name   string
	Value  *string
	Source Source
}

// Op is an operation of IncrementalAlterConfigs.
type Op int8

// The operations.
const (
	Set      Op = 0
	Delete   Op = 1
	Append   Op = 2
	Subtract Op = 3
)

// Alteration is what an alter request asks for one resource.
type Alteration struct {
	Type     ResourceType
	Name     string
	Settings []AlterSetting
}

// AlterSetting is one operation; AlterConfigs knows Set only.
type AlterSetting struct {
	Name  string
	Op    Op
	Value *string
}

// Result is the answer for one resource of an alter request; Err is nil for success.
type Result struct {
	Type ResourceType
	Name string
	Err  *Error
}

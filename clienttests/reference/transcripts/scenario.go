package main

import (
	"encoding/json"
)

// A Scenario is one golden file.
type Scenario struct {
	Name    string                     `json:"name"`
	About   string                     `json:"about,omitempty"`
	Needs   map[string]string          `json:"needs,omitempty"`
	Topics  []Topic                    `json:"topics,omitempty"`
	Formats map[string]string          `json:"formats,omitempty"`
	Blobs   map[string]json.RawMessage `json:"blobs,omitempty"`
	Steps   []*Step                    `json:"steps"`

	// LooseMessages: recorded error messages become "$msg" (any string).
	LooseMessages bool `json:"loose_messages,omitempty"`
}

type Topic struct {
	Name       string            `json:"name"`
	Partitions int32             `json:"partitions"`
	Configs    map[string]string `json:"configs,omitempty"`
}

// A Step either sends a request, awaits an earlier asynchronous one, checks that one is still
// unanswered, drops a connection, or only waits.
type Step struct {
	Note      string            `json:"note,omitempty"`
	DelayMs   int               `json:"delay_ms,omitempty"`
	Client    string            `json:"client,omitempty"`
	API       string            `json:"api,omitempty"`
	Version   *int16            `json:"version,omitempty"`
	Request   json.RawMessage   `json:"request,omitempty"`
	Async     string            `json:"async,omitempty"`
	Await     string            `json:"await,omitempty"`
	Pending   string            `json:"pending,omitempty"`
	ForMs     int               `json:"for_ms,omitempty"`
	Drop      string            `json:"drop,omitempty"`
	Until     json.RawMessage   `json:"until,omitempty"`
	EveryMs   int               `json:"every_ms,omitempty"`
	TimeoutMs int               `json:"timeout_ms,omitempty"`
	ElapsedMs []int             `json:"elapsed_ms,omitempty"`
	Bind      map[string]string `json:"bind,omitempty"`
	Any       []string          `json:"any,omitempty"`
	OnlyMine  bool              `json:"only_mine,omitempty"`
	Ordered   bool              `json:"ordered,omitempty"`
	Closed    bool              `json:"closed,omitempty"`
	Times     int               `json:"times,omitempty"`
	Expect    json.RawMessage   `json:"expect,omitempty"`
}

// what names the step in messages.
func (s *Step) what() string {
	what := s.API
	if what == "" {
		what = s.Await + s.Pending + s.Drop
	}
	if s.Note != "" {
		what += " (" + s.Note + ")"
	}
	return what
}

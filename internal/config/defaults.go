package config

import (
	"maps"
	"sync/atomic"
)

// Defaults replace Kafka's defaults where nothing is set. They are checked and parsed once for all clusters that are started with them, and so are the
// values of brokers on which nothing else is set: a test starts many such clusters.
type Defaults struct {
	raw    map[string]string
	parsed []setting                             // ascending by name
	shared [sharedBrokers]atomic.Pointer[Values] // by node id; of brokers whose settings keep the rules
}

// sharedBrokers bounds what is kept for good: clusters of more brokers make the values of the others anew.
const sharedBrokers = 8

// NewDefaults checks the settings: an unknown name or a bad value is an error.
func NewDefaults(settings map[string]string) (*Defaults, error) {
	if err := checkAll(settings); err != nil {
		return nil, err
	}
	var v Values
	v.put(settings)
	return &Defaults{raw: maps.Clone(settings), parsed: v.set}, nil
}

// kafkas are no other defaults than Kafka's.
var kafkas = &Defaults{}

// values are what every cluster has that is started with these defaults and nothing else; nil until one has been.
func (d *Defaults) values(id int32) *Values {
	if id < 0 || id >= sharedBrokers {
		return nil
	}
	return d.shared[id].Load()
}

// share keeps values, which keep the rules, for the clusters to come.
func (d *Defaults) share(id int32, v *Values) {
	if id >= 0 && id < sharedBrokers {
		d.shared[id].CompareAndSwap(nil, v)
	}
}

package groups

import (
	"slices"

	"github.com/fakekafka/fakekafka/assignors"
)

// fakeMetadata is a picture of topics that tests can write down.
type fakeMetadata struct {
	byName  map[string]Topic
	version int64
	created int64
}

func (m *fakeMetadata) Topic(name string) (Topic, bool) { t, ok := m.byName[name]; return t, ok }
func (m *fakeMetadata) TopicByID(id assignors.TopicID) (Topic, bool) {
	for _, t := range m.byName {
		if t.ID == id {
			return t, true
		}
	}
	return Topic{}, false
}
func (m *fakeMetadata) TopicNames() []string {
	var names []string
	for name := range m.byName {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}
func (m *fakeMetadata) Version() int64     { return m.version }
func (m *fakeMetadata) LastCreated() int64 { return m.created }

// with answers another picture, in which the topic has n partitions, or is gone if n is 0.
func (m *fakeMetadata) with(name string, n int32) *fakeMetadata {
	next := &fakeMetadata{byName: map[string]Topic{}, version: m.version + 1, created: m.created}
	for k, v := range m.byName {
		next.byName[k] = v
	}
	if n == 0 {
		delete(next.byName, name)
		return next
	}
	t, ok := next.byName[name]
	if !ok {
		next.created = next.version
		t = Topic{Name: name, ID: assignors.TopicID{0: byte(next.version), 15: 1}}
	}
	t.Partitions = n
	next.byName[name] = t
	return next
}

package config

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func readJSON(t *testing.T, file string, into any) {
	t.Helper()
	data, err := os.ReadFile(file)
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(data, into))
}

// described is a recorded DescribeConfigs answer.
type described struct {
	Configs []struct {
		Name, Type, Source string
		Value              *string
		ReadOnly           bool `json:"read_only"`
		Sensitive          bool
		Synonyms           []struct {
			Name, Source string
			Value        *string
		}
	}
}

var sourceNames = map[string]Source{
	"DEFAULT_CONFIG": Default, "STATIC_BROKER_CONFIG": StaticBroker, "DYNAMIC_DEFAULT_BROKER_CONFIG": DynamicDefaultBroker,
}

// entries gives the recorded answer in our form; both are sorted by name.
func (d described) entries(t *testing.T) string {
	var out []Entry
	for _, c := range d.Configs {
		e := Entry{Name: c.Name, Value: c.Value, Type: typeNames[strings.ToLower(c.Type)], Source: sourceNames[c.Source],
			ReadOnly: c.ReadOnly, Sensitive: c.Sensitive}
		require.NotZero(t, e.Type, c.Name)
		require.NotZero(t, e.Source, c.Name)
		for _, s := range c.Synonyms {
			e.Synonyms = append(e.Synonyms, Synonym{s.Name, s.Value, sourceNames[s.Source]})
		}
		out = append(out, e)
	}
	return showEntries(out)
}

// startedLike gives a cluster with the static settings of a recorded broker.
func startedLike(t *testing.T, d described) *Cluster {
	static := map[string]string{}
	for _, c := range d.Configs {
		if c.Source == "STATIC_BROKER_CONFIG" {
			static[c.Name] = *c.Value
		}
	}
	return oneBroker(t, static)
}

func TestBrokerDefinitions(t *testing.T) {
	t.Parallel()
	var want []struct {
		Name, Type string
		Required   bool
		Default    *string
		Internal   bool
	}
	readJSON(t, "testdata/broker-config-defs.json", &want)
	require.Len(t, brokerDefs().sorted, len(want))
	for i, w := range want {
		d := brokerDefs().sorted[i]
		require.Equal(t, w.Name, d.name)
		require.Equal(t, typeNames[w.Type], d.typ, w.Name)
		require.Equal(t, w.Required, d.required, w.Name)
		require.Equal(t, w.Internal, d.internal, w.Name)
		if w.Name != "log.dir" { // the definition's text lost it; the broker shows /tmp/kafka-logs
			require.Equal(t, w.Default, d.fallback, w.Name)
		}
	}
}

func TestEveryDefaultIsValid(t *testing.T) {
	t.Parallel()
	for _, all := range []*defs{brokerDefs(), topicDefs(), groupDefs(), clientMetricsDefs()} {
		for _, d := range all.sorted {
			if d.fallback != nil {
				v, err := d.parse(*d.fallback)
				require.NoError(t, err)
				require.Equal(t, *d.fallback, d.show(v), d.name)
			}
			for _, s := range d.brokers {
				require.NotNil(t, brokerDefs().byName[s.name], "%s from %s", d.name, s.name)
			}
		}
	}
}

func TestARealBrokersDescriptions(t *testing.T) {
	t.Parallel()
	var broker described
	readJSON(t, "testdata/broker-configs.json", &broker)
	for _, c := range []struct {
		file string
		typ  ResourceType
		name string
	}{
		{"broker-configs.json", BrokerResource, "1"},
		{"topic-configs.json", TopicResource, "t"},
		{"group-configs.json", GroupResource, "g"},
		{"client-metrics-configs.json", ClientMetricsResource, "m"},
	} {
		var want described
		readJSON(t, "testdata/"+c.file, &want)
		got, err := startedLike(t, broker).Describe(1, c.typ, c.name, nil, func(string) bool { return true })
		require.Nil(t, err)
		require.Equal(t, want.entries(t), showEntries(got), c.file)
	}
}

package wire

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

// testdata/error-codes.json is a real broker's list.
func TestCodesAreKafkas(t *testing.T) {
	t.Parallel()
	var want []struct {
		Code      Code
		Name      string
		Retriable bool
	}
	readJSON(t, "testdata/error-codes.json", &want)
	require.Len(t, Codes(), len(want))
	for i, w := range want {
		require.Equal(t, w.Code, Codes()[i])
		require.Equal(t, w.Name, w.Code.String())
		require.Equal(t, w.Retriable, w.Code.Retriable(), w.Name)
	}
	require.Equal(t, "UNKNOWN_CODE_9999", Code(9999).String())
	require.Equal(t, "UNKNOWN_CODE_-2", Code(-2).String())
	require.Equal(t, "NOT_LEADER_OR_FOLLOWER", NotLeaderOrFollower.String())
}

// testdata/api-versions.json is a real broker's ApiVersions v4 answer.
func TestAPIsAreKafkas(t *testing.T) {
	t.Parallel()
	type level struct {
		Name     string
		Min, Max int16
	}
	var want struct {
		APIKeys []struct {
			Key      Key
			Name     string
			Min, Max int16
		} `json:"api_keys"`
		Supported []level `json:"supported_features"`
		Finalized []level `json:"finalized_features"`
	}
	readJSON(t, "testdata/api-versions.json", &want)

	var advertised []Key
	for _, k := range Keys() {
		if _, _, ok := Advertised(k); ok {
			advertised = append(advertised, k)
		}
	}
	require.Len(t, advertised, len(want.APIKeys))
	for i, w := range want.APIKeys {
		require.Equal(t, w.Key, advertised[i])
		lo, hi, ok := Advertised(w.Key)
		require.True(t, ok)
		require.Equal(t, [2]int16{w.Min, w.Max}, [2]int16{lo, hi}, w.Name)
		if w.Name != "AlterPartitionAssignments" { // kmsg's name of AlterPartitionReassignments
			require.True(t, strings.EqualFold(w.Name, w.Key.String()), w.Name)
		}
		byName, ok := KeyNamed(w.Key.String())
		require.True(t, ok)
		require.Equal(t, w.Key, byName)
	}

	var supported, finalized []level
	for _, f := range Features() {
		supported = append(supported, level{f.Name, f.Min, f.Max})
		if f.Finalized > 0 {
			finalized = append(finalized, level{f.Name, f.Finalized, f.Finalized})
		}
	}
	require.Equal(t, want.Supported, supported)
	require.Equal(t, want.Finalized, finalized)
}

func TestAccepted(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		key         Key
		version     int16
		want        bool
		explanation string
	}{
		{Produce, 2, false, "advertised, yet refused"},
		{Produce, 3, true, ""},
		{Produce, 13, true, ""},
		{Produce, 14, false, "above the range"},
		{Fetch, 3, false, "below the range"},
		{Fetch, -1, false, "negative"},
		{GetTelemetrySubscriptions, 0, true, "answered without being advertised"},
		{PushTelemetry, 0, true, "answered without being advertised"},
		{PushTelemetry, 1, false, ""},
		{InitProducerID, 6, false, "unstable in 4.3.1"},
		{4, 0, false, "removed"},
		{52, 0, false, "the controller listener's"},
		{59, 0, false, "the controller listener's"},
		{82, 0, false, "the controller listener's"},
		{93, 0, false, "unknown"},
		{-1, 0, false, "negative"},
	} {
		require.Equal(t, c.want, Accepted(c.key, c.version), "%v v%d: %s", c.key, c.version, c.explanation)
	}
	_, _, ok := Advertised(PushTelemetry)
	require.False(t, ok)
	require.Equal(t, "key 52", Key(52).String())
}

package broker

import (
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/fakekafka/fakekafka/internal/wire"
)

// An API that a rule can Fail has a table of its own, so that a new one can't be forgotten.
func TestEveryAPIHasATableOfErrors(t *testing.T) {
	t.Parallel()
	keys := wire.Keys()
	for key, handle := range handlers() {
		if handle != nil {
			require.Contains(t, keys, wire.Key(key))
		}
	}
	for _, key := range keys {
		codes := answersOf(key)
		if !Served(key) {
			require.Nil(t, codes, "%s", key)
			continue
		}
		require.Greater(t, len(codes), 1, "%s has no errors of its own", key)
		require.Contains(t, codes, wire.UnknownServerError, "%s", key)
		require.NotContains(t, codes, wire.None, "%s", key)
		for _, code := range wire.Codes() {
			err := CheckFail(key, code)
			if known := slices.Contains(codes, code); known {
				require.NoError(t, err, "%s %s", key, code)
				continue
			}
			require.ErrorContains(t, err, code.String()+" is never answered to "+key.String(), "%s", code)
			for _, known := range codes {
				require.ErrorContains(t, err, known.String())
			}
			require.ErrorContains(t, err, "Forced()")
		}
	}
	require.ErrorContains(t, CheckFail(52, wire.UnknownServerError), "key 52 is not served here")
}

// Every error that a real Kafka answered in a recording is in the table of its API.
func TestRecordedErrorsAreInTheTables(t *testing.T) {
	t.Parallel()
	apis := map[string]wire.Key{} // by kmsg's names, as in the recordings
	for _, key := range wire.Keys() {
		if !Served(key) {
			continue
		}
		name := reflect.TypeOf(kmsg.RequestForKey(int16(key))).Elem().Name()
		apis[strings.TrimSuffix(name, "Request")] = key
	}
	type step struct {
		API, Async, Await string
		Expect            any
	}
	recorded := map[wire.Key]map[wire.Code]bool{}
	root := filepath.Join("..", "..", "clienttests", "reference", "golden")
	require.NoError(t, filepath.WalkDir(root, func(path string, e fs.DirEntry, err error) error {
		if err != nil || filepath.Ext(path) != ".json" {
			return err
		}
		raw, err := os.ReadFile(path)
		require.NoError(t, err)
		var scenario struct{ Steps []step }
		require.NoError(t, json.Unmarshal(raw, &scenario), "%s", path)
		asked := map[string]string{} // by the label of what is answered later
		for i, st := range scenario.Steps {
			api := st.API
			if st.Async != "" {
				asked[st.Async] = api
			}
			if st.Await != "" {
				api = asked[st.Await]
			}
			key, ok := apis[api]
			if !ok { // not served, or a pseudo API of the player
				continue
			}
			eachErrorCode(st.Expect, func(code wire.Code) {
				if recorded[key] == nil {
					recorded[key] = map[wire.Code]bool{}
				}
				recorded[key][code] = true
				require.NoError(t, CheckFail(key, code), "%s, step %d", path, i)
			})
		}
		return nil
	}))
	require.GreaterOrEqual(t, len(recorded), 50, "APIs with an error in the recordings")
}

// eachErrorCode visits the error codes of a recorded answer other than NONE.
func eachErrorCode(v any, visit func(wire.Code)) {
	switch v := v.(type) {
	case map[string]any:
		for name, field := range v {
			if code, ok := field.(float64); ok && strings.HasSuffix(name, "ErrorCode") && code != 0 {
				visit(wire.Code(code))
				continue
			}
			eachErrorCode(field, visit)
		}
	case []any:
		for _, entry := range v {
			eachErrorCode(entry, visit)
		}
	}
}

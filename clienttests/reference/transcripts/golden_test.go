package main

import (
	"bytes"
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// Every recorded scenario must be readable, and have an answer to compare
// wherever a step asks for one.
func TestGoldenFilesAreWhole(t *testing.T) {
	names := map[string]bool{}
	require.NoError(t, fs.WalkDir(os.DirFS("../golden"), ".", func(path string, e fs.DirEntry, err error) error {
		if err != nil || filepath.Ext(path) != ".json" {
			return err
		}
		raw, err := os.ReadFile(filepath.Join("../golden", path))
		require.NoError(t, err)
		d := json.NewDecoder(bytes.NewReader(raw))
		d.DisallowUnknownFields()
		var sc Scenario
		require.NoError(t, d.Decode(&sc), "%s", path)
		require.NotEmpty(t, sc.Steps, "%s", path)
		name := filepath.Join(filepath.Dir(path), sc.Name)
		require.False(t, names[name], "%s has the name of another scenario of its folder", path)
		names[name] = true
		for i, st := range sc.Steps {
			if answered := st.Await != "" || st.API != "" && st.Async == ""; answered && !st.Closed {
				require.NotEmpty(t, st.Expect, "%s: step %d has no expected answer", path, i)
			}
		}
		return nil
	}))
	require.GreaterOrEqual(t, len(names), 824, "scenarios are added, not taken away")
}

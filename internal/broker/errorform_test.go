package broker

import (
	"reflect"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/fakekafka/fakekafka/internal/wire"
)

// withoutError are the answers in which an error has no place.
var withoutError = map[wire.Key]int16{ // up to this version
	wire.DescribeLogDirs: 2,
}

// TestErrorFormOfEveryRequest gives every array of every request one entry, and looks for the code in what arrives at the client.
func TestErrorFormOfEveryRequest(t *testing.T) {
	t.Parallel()
	for _, key := range wire.Keys() {
		for version := int16(0); version <= 20; version++ {
			if !wire.Accepted(key, version) {
				continue
			}
			req := kmsg.RequestForKey(int16(key))
			fill(reflect.ValueOf(req).Elem())
			req.SetVersion(version)
			a := errorResponse(req, wire.PolicyViolation)
			if key == wire.Fetch { // encoded by our own encoder
				f := a.(*wire.FetchResponse)
				require.Equal(t, wire.PolicyViolation, f.ErrorCode)
				require.Equal(t, version < 13, len(f.Topics) == 1 && f.Topics[0].Partitions[0].ErrorCode == wire.PolicyViolation)
				continue
			}
			resp := a.(kmsg.Response)
			require.Equal(t, version, resp.GetVersion(), "%s", key)
			sent := req.ResponseKind()
			require.NoError(t, sent.ReadFrom(resp.AppendTo(nil)), "%s v%d", key, version)
			errors := codesIn(reflect.ValueOf(sent).Elem())
			if last, ok := withoutError[key]; ok && version <= last {
				require.Empty(t, errors, "%s v%d", key, version)
				continue
			}
			require.NotEmpty(t, errors, "%s v%d tells no error", key, version)
			for _, code := range errors {
				require.EqualValues(t, wire.PolicyViolation, code, "%s v%d", key, version)
			}
		}
	}
}

// fill puts one entry into every array and a text into every string, down to the bottom.
func fill(v reflect.Value) {
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			if name := v.Type().Field(i).Name; v.Field(i).CanSet() && name != "UnknownTags" && name != "Version" {
				fill(v.Field(i))
			}
		}
	case reflect.Slice:
		if v.Type().Elem().Kind() == reflect.Uint8 {
			return
		}
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		fill(v.Index(0))
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(v.Elem())
	case reflect.String:
		v.SetString("x")
	}
}

// codesIn are the error codes of an answer that aren't 0.
func codesIn(v reflect.Value) (codes []int64) {
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			if f := v.Type().Field(i); f.Name == "ErrorCode" && v.Field(i).Int() != 0 {
				codes = append(codes, v.Field(i).Int())
			} else if f.IsExported() {
				codes = append(codes, codesIn(v.Field(i))...)
			}
		}
	case reflect.Slice:
		for i := range v.Len() {
			codes = append(codes, codesIn(v.Index(i))...)
		}
	case reflect.Pointer:
		if !v.IsNil() {
			codes = codesIn(v.Elem())
		}
	}
	return codes
}

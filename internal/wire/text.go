package wire

import (
	"fmt"
	"math"
	"reflect"

	"github.com/fakekafka/fakekafka/internal/javatext"
)

// writable is [javatext.Of] a string that may be answered or kept. Replacing makes a
// string up to three times as long; one that outgrows what a message or a record
// can hold is an error: a broker fails when it writes that, and leaves the client
// without an answer, or with one that has nothing to do with what it asked.
func writable(b []byte) (string, error) {
	s := javatext.Of(b)
	if len(s) > math.MaxInt16 {
		return "", fmt.Errorf("a string of %d bytes that is not UTF-8 takes %d bytes as text; Kafka writes none longer than %d", len(b), len(s), math.MaxInt16)
	}
	return s, nil
}

// retext passes every string of a decoded request through [writable].
func retext(v reflect.Value) (err error) {
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			return retext(v.Elem())
		}
	case reflect.String:
		var s string
		if s, err = writable([]byte(v.String())); err == nil {
			v.SetString(s)
		}
	case reflect.Slice:
		switch v.Type().Elem().Kind() {
		case reflect.Struct, reflect.String, reflect.Pointer:
			for i := 0; i < v.Len() && err == nil; i++ {
				err = retext(v.Index(i))
			}
		}
	case reflect.Struct:
		for i := 0; i < v.NumField() && err == nil; i++ {
			if f := v.Field(i); f.CanSet() {
				err = retext(f)
			}
		}
	}
	return err
}

// Writable tells whether no string of an answer is longer than a message can hold, which is 32767 bytes. One that quotes a request may be.
func Writable(answer any) bool { return fits(reflect.ValueOf(answer)) }

func fits(v reflect.Value) bool {
	switch v.Kind() {
	case reflect.Pointer:
		return v.IsNil() || fits(v.Elem())
	case reflect.String:
		return v.Len() <= math.MaxInt16
	case reflect.Slice:
		switch v.Type().Elem().Kind() {
		case reflect.Struct, reflect.String, reflect.Pointer:
			for i := range v.Len() {
				if !fits(v.Index(i)) {
					return false
				}
			}
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if !fits(v.Field(i)) {
				return false
			}
		}
	}
	return true
}

package fakekafka_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"
)

// recorder is a testing.TB that keeps what would have failed its test.
type recorder struct {
	testing.TB
	mu       sync.Mutex
	failures []string
	logs     []string
	cleanups []func()
}

func (r *recorder) fail(text string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.failures = append(r.failures, text)
}

func (r *recorder) Error(args ...any)                 { r.fail(fmt.Sprint(args...)) }
func (r *recorder) Errorf(format string, args ...any) { r.fail(fmt.Sprintf(format, args...)) }
func (r *recorder) Fatal(args ...any)                 { r.fail(fmt.Sprint(args...)); panic(r) }
func (r *recorder) Fatalf(format string, args ...any) { r.fail(fmt.Sprintf(format, args...)); panic(r) }
func (r *recorder) Log(args ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.logs = append(r.logs, fmt.Sprint(args...))
}
func (r *recorder) Logf(format string, args ...any) { r.Log(fmt.Sprintf(format, args...)) }
func (r *recorder) Failed() bool                    { return r.errors() != "" }
func (r *recorder) Cleanup(fn func())               { r.cleanups = append(r.cleanups, fn) }

func (r *recorder) errors() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return strings.Join(r.failures, "\n")
}

// end runs what the end of the test would, and answers what failed it.
func (r *recorder) end() string {
	for len(r.cleanups) > 0 {
		last := r.cleanups[len(r.cleanups)-1]
		r.cleanups = r.cleanups[:len(r.cleanups)-1]
		last()
	}
	return r.errors()
}

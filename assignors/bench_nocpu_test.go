//go:build !linux

package assignors

import "testing"

func reportCPU(*testing.B) (done func()) { return func() {} }

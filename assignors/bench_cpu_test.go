//go:build unix

package assignors

import (
	"syscall"
	"testing"
)

// reportCPU adds the CPU time of the whole process, garbage collector included: on a busy machine only that can be compared with
// the figures of the Java classes (which leave their collector's threads out).
func reportCPU(b *testing.B) (done func()) {
	cpu := func() int64 {
		var u syscall.Rusage
		if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
			b.Fatal(err)
		}
		return u.Utime.Nano() + u.Stime.Nano()
	}
	before := cpu()
	return func() { b.ReportMetric(float64(cpu()-before)/float64(b.N)/1e3, "cpu-µs/op") }
}

//go:build linux

package assignors

import (
	"runtime"
	"runtime/debug"
	"syscall"
	"testing"
)

// reportCPU adds two CPU times, which on a busy machine say more than the clock: that of the calling thread, which is what the
// Java harness measures, and that of the whole process, garbage collector included. The heap may grow to a size as that of a program
// with something in it (the Java harness gets gigabytes); with the 4 MB of an empty one the collector would run all the time.
func reportCPU(b *testing.B) (done func()) {
	runtime.LockOSThread()
	percent := debug.SetGCPercent(1600)
	cpu := func(who int) int64 {
		var u syscall.Rusage
		if err := syscall.Getrusage(who, &u); err != nil {
			b.Fatal(err)
		}
		return u.Utime.Nano() + u.Stime.Nano()
	}
	thread, process := cpu(syscall.RUSAGE_THREAD), cpu(syscall.RUSAGE_SELF)
	return func() {
		b.ReportMetric(float64(cpu(syscall.RUSAGE_THREAD)-thread)/float64(b.N)/1e3, "cpu-µs/op")
		b.ReportMetric(float64(cpu(syscall.RUSAGE_SELF)-process)/float64(b.N)/1e3, "process-cpu-µs/op")
		debug.SetGCPercent(percent)
		runtime.UnlockOSThread()
	}
}

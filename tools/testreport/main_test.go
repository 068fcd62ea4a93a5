package main

import (
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestReport(t *testing.T) {
	const in = `{"Action":"start","Package":"a"}
{"Action":"run","Package":"a","Test":"TestGood"}
{"Action":"output","Package":"a","Test":"TestGood","Output":"nobody needs this\n"}
{"Action":"pass","Package":"a","Test":"TestGood","Elapsed":0.1}
{"Action":"output","Package":"a","Test":"TestBad","Output":"=== RUN TestBad\n"}
{"Action":"output","Package":"a","Test":"TestBad","Output":"x_test.go:3: want 1, got 2\n"}
{"Action":"fail","Package":"a","Test":"TestBad","Elapsed":0.2}
{"Action":"output","Package":"a","Test":"TestOdd","Output":"x_test.go:9: no compiler\n"}
{"Action":"skip","Package":"a","Test":"TestOdd"}
{"Action":"output","Package":"a","Test":"TestElsewhere","Output":"x_test.go:9: not on this broker\n"}
{"Action":"skip","Package":"a","Test":"TestElsewhere"}
{"Action":"fail","Package":"a","Elapsed":0.3}
{"ImportPath":"b","Action":"build-output","Output":"b.go:1:1: undefined: x\n"}
{"ImportPath":"b","Action":"build-fail"}
{"Action":"output","Package":"b","Output":"FAIL b [build failed]\n"}
{"Action":"fail","Package":"b","Elapsed":0,"FailedBuild":"b"}
{"Action":"output","Package":"c","Output":"panic: test timed out\n"}
{"Action":"fail","Package":"c","Elapsed":1}
{"Action":"skip","Package":"no-tests"}
go: a line of the go command itself
`
	var out strings.Builder
	r := report{allow: regexp.MustCompile("not on this broker"), w: &out, output: map[string][]string{}, inside: map[string]int{}, started: map[string]int{}}
	require.NoError(t, r.read(strings.NewReader(in)))
	require.Equal(t, `FAIL a TestBad (0.20s)
    x_test.go:3: want 1, got 2
SKIP a TestOdd (0.00s)
    x_test.go:9: no compiler
fail a 4 tests 0.3s
b.go:1:1: undefined: x
FAIL b does not build
    panic: test timed out
fail c 0 tests 1.0s
go: a line of the go command itself
`, out.String())
	require.Equal(t, []int{1, 3, 1}, []int{r.passed, r.failed, r.skipped})
}

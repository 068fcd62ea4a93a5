// Command testreport reads the output of go test -json and prints what a
// person wants to see of it: one line a package, the output of what failed, and
// every skip by name with its reason.
//
//	go test -json ./... | testreport [-counts FILE] [-allow RE]
//
// It ends with exit status 1 if a test or a build failed, if a test was
// skipped (the machine it runs on is to have every toolchain), or if nothing
// ran. A skip whose reason matches -allow is none. -counts appends a line
// "PASSED FAILED" to a file.
package main

import (
	"bufio"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"regexp"
	"strings"
)

type event struct {
	Action     string
	Package    string
	ImportPath string
	Test       string
	Output     string
	// FailedBuild names the build whose failure was reported already.
	FailedBuild string
	Elapsed     float64
}

type report struct {
	passed, failed, skipped int

	allow   *regexp.Regexp // reasons for which a test may skip; nil: none
	w       io.Writer
	output  map[string][]string // by package and test, until its end
	inside  map[string]int      // failed tests of a package
	started map[string]int      // tests of a package that ended
}

func main() {
	counts := flag.String("counts", "", "append the numbers passed and failed to this file")
	allow := flag.String("allow", "", "reasons for which a test may skip, as a regular expression")
	flag.Parse()
	r := report{w: os.Stdout, output: map[string][]string{}, inside: map[string]int{}, started: map[string]int{}}
	if *allow != "" {
		r.allow = regexp.MustCompile(*allow)
	}
	if err := r.read(os.Stdin); err != nil {
		fmt.Fprintln(os.Stderr, "testreport:", err)
		os.Exit(2)
	}
	fmt.Printf("%d passed, %d failed, %d skipped\n", r.passed, r.failed, r.skipped)
	if *counts != "" {
		f, err := os.OpenFile(*counts, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
		if err == nil {
			_, err = fmt.Fprintln(f, r.passed, r.failed+r.skipped)
			f.Close()
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, "testreport:", err)
			os.Exit(2)
		}
	}
	if r.failed+r.skipped > 0 || r.passed == 0 {
		os.Exit(1)
	}
}

func (r *report) read(in io.Reader) error {
	lines := bufio.NewReader(in)
	for {
		line, err := lines.ReadBytes('\n')
		if len(line) > 0 {
			var ev event
			if json.Unmarshal(line, &ev) == nil && ev.Action != "" {
				r.add(ev)
			} else { // what go itself says, such as a package that is not there
				r.w.Write(line)
			}
		}
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

func (r *report) add(ev event) {
	key := ev.Package + " " + ev.Test
	switch ev.Action {
	case "build-output":
		io.WriteString(r.w, ev.Output)
	case "build-fail":
		r.failed++
		fmt.Fprintf(r.w, "FAIL %s does not build\n", ev.ImportPath)
	case "output":
		r.output[key] = append(r.output[key], ev.Output)
	case "pass", "fail", "skip":
		if ev.Test == "" {
			r.endPackage(ev, key)
		} else {
			r.endTest(ev, key)
		}
		delete(r.output, key)
	}
}

func (r *report) endTest(ev event, key string) {
	r.started[ev.Package]++
	switch ev.Action {
	case "pass":
		r.passed++
		return
	case "fail":
		r.failed++
		r.inside[ev.Package]++
	case "skip":
		if r.allow != nil && r.allow.MatchString(strings.Join(r.output[key], "")) {
			return
		}
		r.skipped++
	}
	fmt.Fprintf(r.w, "%s %s %s (%.2fs)\n%s", strings.ToUpper(ev.Action), ev.Package, ev.Test, ev.Elapsed, indent(r.output[key]))
}

func (r *report) endPackage(ev event, key string) {
	switch {
	case ev.Action == "skip": // no test files
		return
	case ev.FailedBuild != "":
		return
	case ev.Action == "fail" && r.inside[ev.Package] == 0:
		// Outside of any test: a panic, a time limit, TestMain.
		r.failed++
		io.WriteString(r.w, indent(r.output[key]))
	}
	fmt.Fprintf(r.w, "%-4s %s %d tests %.1fs\n", ev.Action, ev.Package, r.started[ev.Package], ev.Elapsed)
}

func indent(lines []string) string {
	var b strings.Builder
	for _, l := range lines {
		if !strings.HasPrefix(l, "=== ") {
			b.WriteString("    " + l)
		}
	}
	return b.String()
}

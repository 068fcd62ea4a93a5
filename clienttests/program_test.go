package clienttests

import (
	"bytes"
	"context"
	"crypto/sha256"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestJava(t *testing.T)             { stories(t, javaStory(t), "lz4", "zstd") }
func TestJavaTransactions(t *testing.T) { transactions(t, javaStory(t)) }

func javaStory(t *testing.T) program {
	dir, path := compiled(t, "Story")
	return program{dir: dir, argv: []string{
		"java", "-XX:TieredStopAtLevel=1", "-Xshare:auto", "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn", "-cp", path, "Story",
	}}
}

// compiled compiles a class of the folder java, and returns that folder's copy and the class path.
func compiled(t testing.TB, class string) (dir, path string) {
	t.Helper()
	need(t, "java", "-version")
	need(t, "javac", "-version")
	need(t, "mvn", "-version")
	dir = prepared(t, "java", "mvn", "-q", "-B", "dependency:copy-dependencies", "-DoutputDirectory=lib")
	lib, classes := filepath.Join(dir, "lib", "*"), t.TempDir()
	out, err := exec.Command("javac", "-cp", lib, "-d", classes, filepath.Join(dir, class+".java")).CombinedOutput()
	require.NoError(t, err, "%s", out)
	return dir, strings.Join([]string{classes, lib}, string(os.PathListSeparator))
}

func TestPython(t *testing.T) {
	python := need(t, "python3", "-m", "pip", "--version")
	dir := prepared(t, "python", python, "-m", "pip", "install", "-q", "--target", "lib", "-r", "requirements.txt")
	stories(t, program{dir: dir, argv: []string{python, "story.py"}, env: []string{"PYTHONPATH=" + filepath.Join(dir, "lib")}}, "gzip")
}

func TestNode(t *testing.T) {
	node := need(t, "node", "--version")
	dir := prepared(t, "node", need(t, "npm", "--version"), "install", "--silent", "--no-audit", "--no-fund")
	stories(t, program{dir: dir, argv: []string{node, "story.js"}, env: []string{"KAFKAJS_NO_PARTITIONER_WARNING=1"}}, "gzip")
}

// need skips the test unless the command runs, and returns its path.
func need(t testing.TB, name string, args ...string) string {
	t.Helper()
	path, err := exec.LookPath(name)
	if err == nil {
		err = exec.Command(path, args...).Run()
	}
	if err != nil {
		t.Skipf("%s needs %q to run here: %v", t.Name(), strings.Join(append([]string{name}, args...), " "), err)
	}
	return path
}

// prepared returns a folder outside the checkout with a copy of the program's
// sources and what the command fetched there. A later run with the
// same sources finds it ready. Where the package registry is out of reach the
// test skips.
func prepared(t testing.TB, name string, command ...string) string {
	t.Helper()
	cache, err := os.UserCacheDir()
	if err != nil {
		t.Skipf("%s needs a cache folder for the %s packages: %v", t.Name(), name, err)
	}
	src := os.DirFS(name)
	sum := sha256.New()
	fmt.Fprintln(sum, runtime.GOOS, runtime.GOARCH, command)
	require.NoError(t, fs.WalkDir(src, ".", func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		data, err := fs.ReadFile(src, path)
		fmt.Fprintln(sum, path, len(data))
		sum.Write(data)
		return err
	}))
	parent := filepath.Join(cache, "fakekafka-clienttests")
	ready := filepath.Join(parent, fmt.Sprintf("%s-%x", name, sum.Sum(nil)[:8]))
	if _, err := os.Stat(ready); err == nil {
		return ready
	}
	require.NoError(t, os.MkdirAll(parent, 0o755))
	work, err := os.MkdirTemp(parent, name+"-")
	require.NoError(t, err)
	defer os.RemoveAll(work)
	dir := filepath.Join(work, "x")
	require.NoError(t, os.CopyFS(dir, src))

	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, command[0], command[1:]...)
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Skipf("%s needs packages that %q could not bring: %v\n%s", t.Name(), strings.Join(command, " "), err, out)
	}
	if err := os.Rename(dir, ready); err != nil { // a run beside this one may have been first
		_, there := os.Stat(ready)
		require.NoError(t, there, "%v", err)
	}
	return ready
}

// A program is a client in another language: argv and the steps' arguments,
// run in dir.
type program struct {
	dir  string
	argv []string
	env  []string
}

func (p program) run(ctx context.Context, in []record, args ...string) (stdout []byte, err error) {
	argv := append(p.argv[1:len(p.argv):len(p.argv)], args...)
	cmd := exec.CommandContext(ctx, p.argv[0], argv...)
	cmd.Dir, cmd.Env, cmd.WaitDelay = p.dir, append(os.Environ(), p.env...), 5*time.Second
	var lines, out, errs bytes.Buffer
	if err := writeRecords(&lines, in); err != nil {
		return nil, err
	}
	cmd.Stdin, cmd.Stdout, cmd.Stderr = &lines, &out, &errs
	if err := cmd.Run(); err != nil {
		if ctx.Err() != nil {
			err = fmt.Errorf("%w (%w)", err, context.Cause(ctx))
		}
		return out.Bytes(), fmt.Errorf("%s: %w\n%s", strings.Join(args, " "), err, errs.Bytes())
	}
	return out.Bytes(), nil
}

func (p program) create(ctx context.Context, addr, topic string, partitions int) error {
	_, err := p.run(ctx, nil, addr, "create", topic, strconv.Itoa(partitions))
	return err
}

func (p program) produce(ctx context.Context, addr, topic, codec string, recs []record) error {
	_, err := p.run(ctx, recs, addr, "produce", topic, codec)
	return err
}

func (p program) transact(ctx context.Context, addr, id, topic, source, group string, rounds []round) error {
	var recs []record
	var spec []string
	for _, r := range rounds {
		recs = append(recs, r.recs...)
		end := "abort"
		if r.commit {
			end = "commit"
		}
		spec = append(spec, fmt.Sprintf("%d:%d:%s", len(r.recs), r.offset, end))
	}
	_, err := p.run(ctx, recs, addr, "transact", topic, id, source, group, strings.Join(spec, ","))
	return err
}

func (p program) consume(ctx context.Context, addr, topic, group string, members, n int) ([]delivery, error) {
	out, err := p.run(ctx, nil, addr, "consume", topic, group, strconv.Itoa(members), strconv.Itoa(n))
	var got []delivery
	for line := range strings.Lines(string(out)) {
		d, lerr := readDelivery(strings.TrimSuffix(line, "\n"))
		if lerr != nil {
			if err == nil {
				err = lerr
			}
			break
		}
		got = append(got, d)
	}
	if err != nil {
		return got, short(got, n, err)
	}
	return got, nil
}

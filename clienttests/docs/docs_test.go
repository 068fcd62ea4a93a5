// Package docs checks the Go code in the documents.
package docs

import (
	"bytes"
	"errors"
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	_ "github.com/twmb/franz-go/pkg/kgo"

	_ "github.com/fakekafka/fakekafka/fakekafka" // so that go test runs this again when it has changed
)

// What a snippet may take for granted.
const around = `package p

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/fakekafka/fakekafka/fakekafka"
	"github.com/fakekafka/fakekafka/groups"
)

func startWorker(*testing.T, ...string)

`

// The three ways in which a snippet can be one: declarations, a list of options, or a part of a test.
const (
	declared  = around + "%s"
	optional  = around + "var _ = []kgo.Opt{\n%s}"
	statement = around + "func _(t *testing.T, k *fakekafka.Cluster, g *fakekafka.Group, n int, d time.Duration, client string, opts []fakekafka.Option) { {\n%s\n} }"
)

var (
	blocks   = regexp.MustCompile("(?s)\n```go\n(.*?)```")
	spans    = regexp.MustCompile("`((?:k|g|t|fakekafka|groups|kgo)\\.[A-Z][^`…]*)`")
	indented = regexp.MustCompile(`(?m)^(//\t.*\n)+`)
	ellipses = regexp.MustCompile(`(?m)^\s*\.\.\.$`)
	leftOut  = regexp.MustCompile(`(?:, |(\{))\.\.\.`)
)

// TestGoInTheDocuments: what a reader copies compiles, but for what is left out, and for variables that only what is left out uses.
func TestGoInTheDocuments(t *testing.T) {
	t.Parallel()
	names, err := filepath.Glob("../../docs/*.md")
	require.NoError(t, err)
	c := newChecker(t)
	snippets := 0
	for _, name := range append(names, "../../README.md") {
		text, err := os.ReadFile(name)
		require.NoError(t, err)
		for _, s := range blocks.FindAllStringSubmatch(string(text), -1) {
			code := ellipses.ReplaceAllString(s[1], "")
			form := statement
			switch {
			case strings.HasPrefix(code, "func "):
				form = declared
			case strings.HasSuffix(strings.TrimSpace(code), ","):
				form = optional
			}
			_, err := c.check(fmt.Sprintf(form, code))
			require.NoError(t, err, "%s:\n%s", name, code)
			snippets++
		}
		for _, s := range spans.FindAllStringSubmatch(string(text), -1) {
			require.NoError(t, c.eval(leftOut.ReplaceAllString(s[1], "$1")), "%s: %s", name, s[1])
		}
	}
	text, err := os.ReadFile("../../fakekafka/doc.go")
	require.NoError(t, err)
	for _, s := range indented.FindAllString(string(text), -1) {
		if code := strings.ReplaceAll(s, "//\t", ""); !strings.HasPrefix(code, "group ") { // that is a timeline
			_, err := c.check(fmt.Sprintf(statement, code))
			require.NoError(t, err, "%s", code)
			snippets++
		}
	}
	require.Greater(t, snippets, 15)

	_, err = c.check(fmt.Sprintf(statement, "k.Topik(1)"))
	require.ErrorContains(t, err, "Topik undefined")
	require.ErrorContains(t, c.eval("g.AwaitLag(t)"), "not enough arguments")
}

// checker knows the types of what snippets import.
type checker struct {
	fset     *token.FileSet
	importer types.Importer
	inside   *types.Package // in which k, g and t are known
	at       token.Pos
}

func newChecker(t *testing.T) *checker {
	f, err := parser.ParseFile(token.NewFileSet(), "", around, parser.ImportsOnly)
	require.NoError(t, err)
	args := []string{"list", "-export", "-deps", "-f", "{{.ImportPath}}={{.Export}}"}
	for _, i := range f.Imports {
		args = append(args, strings.Trim(i.Path.Value, `"`))
	}
	cmd := exec.CommandContext(t.Context(), "go", args...)
	cmd.Stderr = new(bytes.Buffer)
	out, err := cmd.Output()
	require.NoError(t, err, "%s", cmd.Stderr)
	files := map[string]string{}
	for line := range strings.Lines(string(out)) {
		path, file, _ := strings.Cut(strings.TrimSpace(line), "=")
		files[path] = file
	}
	c := &checker{fset: token.NewFileSet()}
	c.importer = importer.ForCompiler(c.fset, "gc", func(path string) (io.ReadCloser, error) { return os.Open(files[path]) })
	source := fmt.Sprintf(statement, "")
	parsed, err := c.check(source)
	require.NoError(t, err)
	decls := parsed.Decls
	c.at = decls[len(decls)-1].(*ast.FuncDecl).Body.List[0].Pos() + 1
	return c
}

// check compiles a file.
func (c *checker) check(source string) (*ast.File, error) {
	f, err := parser.ParseFile(c.fset, "snippet.go", source, parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	var wrong []error
	conf := types.Config{Importer: c.importer, Error: func(err error) {
		var e types.Error
		if !errors.As(err, &e) || !e.Soft { // soft: what isn't used
			wrong = append(wrong, err)
		}
	}}
	p, _ := conf.Check("p", c.fset, []*ast.File{f}, nil)
	if c.inside == nil {
		c.inside = p
	}
	return f, errors.Join(wrong...)
}

// eval compiles an expression.
func (c *checker) eval(expression string) error {
	_, err := types.Eval(c.fset, c.inside, c.at, expression)
	return err
}

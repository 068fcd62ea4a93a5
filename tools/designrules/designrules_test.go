package designrules

import (
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const module = "github.com/fakekafka/fakekafka"

// rulePackages decide by their arguments alone: the time, the randomness and
// the topics are handed in. That makes a replay equal to the live run.
var rulePackages = []string{"partitionlog", "fetchsession", "groups", "assignors", "transactions"}

// bannedImports have no place in a rule package.
var bannedImports = map[string]string{
	"net":         "sockets belong to internal/broker",
	"sync":        "the broker decides who calls when; a rule package has no second goroutine",
	"os":          "a rule reads nothing but its arguments",
	"syscall":     "a rule reads nothing but its arguments",
	"log":         "what happened leaves as an event",
	"math/rand":   "randomness is handed in as a *rand.Rand of math/rand/v2",
	"crypto/rand": "randomness is handed in as a *rand.Rand of math/rand/v2",
}

// bannedNames are the parts of an allowed package that read the clock, wait,
// or draw from a global source.
var bannedNames = map[string]func(name string) bool{
	"time": func(name string) bool {
		return slices.Contains([]string{"Now", "Since", "Until", "Sleep", "After", "AfterFunc", "Tick", "NewTimer", "NewTicker"}, name)
	},
	"math/rand/v2": func(name string) bool {
		return !strings.HasPrefix(name, "New") && !slices.Contains([]string{"Rand", "Source", "PCG", "ChaCha8", "Zipf"}, name)
	},
}

// exceptions are findings that stay, each with its reason: "file: finding".
// One that no longer occurs fails the test.
var exceptions = map[string]string{}

// mayImport lists for a package of the module which others it may import; the
// packages below each name count too. It is the diagram of ARCHITECTURE.md, so
// what a package may import and doesn't fails the test as well.
var mayImport = map[string][]string{
	"cmd":               {"fakekafka"},
	"fakekafka":         {"internal/broker", "internal/memnet", "internal/wire", "groups", "fetchsession", "partitionlog", "assignors"},
	"internal/broker":   {"internal/memnet", "internal/wire", "internal/config", "internal/javatext", "groups", "transactions", "fetchsession", "partitionlog", "assignors"},
	"internal/config":   {"internal/wire", "internal/javatext"}, // an unknown setting has an error code; operations in the order of a map
	"internal/wire":     {"internal/javatext"},
	"internal/javatext": {},
	"internal/records":  {},
	"internal/memnet":   {},
	"groups":            {"assignors", "internal/records", "internal/javatext"}, // the names in a member's subscription; the order of maps
	"transactions":      {},
	"fetchsession":      {},
	"partitionlog":      {"internal/javatext"}, // a batch that is written anew
	"assignors":         {},
}

type sources struct {
	fset  *token.FileSet
	files map[string][]*ast.File // by folder, tests left out
}

func read(t *testing.T, root string) sources {
	s := sources{token.NewFileSet(), map[string][]*ast.File{}}
	err := fs.WalkDir(os.DirFS(root), ".", func(p string, e fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case e.IsDir() && p != ".":
			if _, err := os.Stat(filepath.Join(root, p, "go.mod")); err == nil || strings.HasPrefix(e.Name(), ".") || e.Name() == "testdata" {
				return fs.SkipDir
			}
		case strings.HasSuffix(p, ".go") && !strings.HasSuffix(p, "_test.go"):
			src, err := os.ReadFile(filepath.Join(root, p))
			if err != nil {
				return err
			}
			f, err := parser.ParseFile(s.fset, p, src, 0)
			if err != nil {
				return err
			}
			s.files[path.Dir(p)] = append(s.files[path.Dir(p)], f)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// within says whether a path is the package, or below it.
func within(p, pkg string) bool { return p == pkg || strings.HasPrefix(p, pkg+"/") }

func TestRulePackagesArePure(t *testing.T) {
	s := read(t, filepath.Join("..", ".."))
	used := map[string]bool{}
	for dir, files := range s.files {
		if !slices.ContainsFunc(rulePackages, func(p string) bool { return within(dir, p) }) {
			continue
		}
		for _, f := range impurities(s.fset, files) {
			key := f.file + ": " + f.what
			if exceptions[key] != "" {
				used[key] = true
				continue
			}
			t.Errorf("%s:%d: %s: %s", f.file, f.line, f.what, f.why)
		}
	}
	for key := range exceptions {
		if !used[key] {
			t.Errorf("the exception %q is not needed any more", key)
		}
	}
}

type finding struct {
	file      string
	line      int
	what, why string
}

// impurities lists what the files of one package use that a rule may not.
func impurities(fset *token.FileSet, files []*ast.File) (found []finding) {
	add := func(n ast.Node, what, why string) {
		p := fset.Position(n.Pos())
		found = append(found, finding{p.Filename, p.Line, what, why})
	}
	// Only names of this package need to be known, so imports stay unresolved.
	info := &types.Info{Uses: map[*ast.Ident]types.Object{}}
	conf := types.Config{Error: func(error) {}, Importer: noImports{}}
	pkg, _ := conf.Check("p", fset, files, info)

	for _, f := range files {
		names := map[string]string{}
		for _, imp := range f.Imports {
			p, _ := strconv.Unquote(imp.Path.Value)
			for banned, why := range bannedImports {
				if within(p, banned) && p != "math/rand/v2" {
					add(imp, "import of "+p, why)
				}
			}
			name := strings.TrimSuffix(p, "/v2")
			name = path.Base(name)
			if imp.Name != nil {
				name = imp.Name.Name
			}
			names[name] = p
		}
		global := func(e ast.Expr) (string, bool) {
			for {
				switch x := e.(type) {
				case *ast.IndexExpr:
					e = x.X
				case *ast.SelectorExpr:
					e = x.X
				case *ast.StarExpr:
					e = x.X
				case *ast.ParenExpr:
					e = x.X
				case *ast.Ident:
					v, ok := info.Uses[x].(*types.Var)
					return x.Name, ok && v.Parent() == pkg.Scope()
				default:
					return "", false
				}
			}
		}
		written := func(n ast.Node, e ast.Expr) {
			if name, ok := global(e); ok {
				add(n, "write to the global "+name, "state belongs to a value that the caller holds")
			}
		}
		inFunc := func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.GoStmt:
				add(n, "go statement", "a rule has no goroutine")
			case *ast.SelectorExpr:
				x, ok := n.X.(*ast.Ident)
				if !ok {
					break
				}
				_, isPkg := info.Uses[x].(*types.PkgName)
				isPkg = isPkg || info.Uses[x] == nil // the name of a package that was not loaded
				if banned := bannedNames[names[x.Name]]; isPkg && banned != nil && banned(n.Sel.Name) {
					add(n, x.Name+"."+n.Sel.Name, "time and randomness are arguments")
				}
			case *ast.AssignStmt:
				if n.Tok != token.DEFINE {
					for _, e := range n.Lhs {
						written(n, e)
					}
				}
			case *ast.IncDecStmt:
				written(n, n.X)
			case *ast.CallExpr:
				if fn, ok := n.Fun.(*ast.Ident); ok && (fn.Name == "delete" || fn.Name == "clear") && len(n.Args) > 0 {
					written(n, n.Args[0])
				}
			}
			return true
		}
		for _, d := range f.Decls {
			// init fills tables before anything runs.
			if fn, ok := d.(*ast.FuncDecl); ok && fn.Recv == nil && fn.Name.Name == "init" {
				continue
			}
			ast.Inspect(d, inFunc)
		}
	}
	return found
}

type noImports struct{}

func (noImports) Import(path string) (*types.Package, error) {
	return nil, errors.New("not needed")
}

func TestImportsPointDown(t *testing.T) {
	imported := map[string]bool{} // "importer imported", by the names of mayImport
	for dir, files := range read(t, filepath.Join("..", "..")).files {
		var importer string
		var allowed []string
		known := false
		for pkg, a := range mayImport {
			if within(dir, pkg) {
				importer, allowed, known = pkg, append(slices.Clone(a), pkg), true
			}
		}
		if !known {
			if !within(dir, "tools") {
				t.Errorf("%s is in no row of mayImport: say what it may know", dir)
			}
			continue
		}
		for _, f := range files {
			for _, imp := range f.Imports {
				p, _ := strconv.Unquote(imp.Path.Value)
				p, ours := strings.CutPrefix(p, module+"/")
				if !ours {
					continue
				}
				i := slices.IndexFunc(allowed, func(a string) bool { return within(p, a) })
				if i < 0 {
					t.Errorf("%s imports %s, which it may not know; it may know %s", dir, p, strings.Join(allowed, ", "))
					continue
				}
				imported[importer+" "+allowed[i]] = true
			}
		}
	}
	for importer, allowed := range mayImport {
		for _, pkg := range allowed {
			if !imported[importer+" "+pkg] {
				t.Errorf("%s may import %s by mayImport, and doesn't: take it out there and in ARCHITECTURE.md", importer, pkg)
			}
		}
	}
}

// The linter itself must see what it is for.
func TestImpuritiesAreSeen(t *testing.T) {
	const src = `package p
import ("math/rand/v2"; "sync"; stdtime "time")
var table = map[string]int{}
var other int
func init() { table["filled"] = 1 }
func f(r *rand.Rand, time T) {
	var mu sync.Mutex
	_ = mu
	stdtime.Sleep(1)
	time.Now()
	_ = rand.IntN(3)
	_ = r.IntN(3)
	_ = rand.New(nil)
	go f(nil, time)
	table["x"] = 1
	other++
	delete(table, "x")
	table := map[string]int{}
	table["local"] = 1
}
type T struct{}
func (T) Now() {}
`
	fset := token.NewFileSet()
	f, err := parser.ParseFile(fset, "p.go", src, 0)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, x := range impurities(fset, []*ast.File{f}) {
		got = append(got, fmt.Sprintf("%d %s", x.line, x.what))
	}
	want := []string{
		"2 import of sync", "9 stdtime.Sleep", "11 rand.IntN", "14 go statement",
		"15 write to the global table", "16 write to the global other", "17 write to the global table",
	}
	if !slices.Equal(got, want) {
		t.Errorf("found\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

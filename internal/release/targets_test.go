package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/corewalk/corewalk/internal/fixture"
)

// The sources of the programs are valid for each target: with all packages that they are made of, but without the bodies of others' functions.
// Building six targets from nothing would take a quarter of an hour.
func TestTargets(t *testing.T) {
	fixture.Long(t)
	for _, target := range targets {
		t.Run(target, func(t *testing.T) {
			n, err := (&sources{}).check(fixture.Root(t), target, "./cmd/...", nil)
			if err != nil {
				t.Error(err)
			}
			if n < 100 {
				t.Errorf("%d packages", n)
			}
		})
	}
}

// The sources of corewalk are valid for each port of Go to Linux, the BSDs, macOS and Windows, of which many have an int of 32 bits, and fields of
// other types in what the system tells.
func TestPorts(t *testing.T) {
	fixture.Long(t)
	out, err := exec.Command("go", "tool", "dist", "list").Output()
	if err != nil {
		t.Fatal(err)
	}
	var s sources
	n := 0
	for _, target := range strings.Fields(string(out)) {
		switch system, _, _ := strings.Cut(target, "/"); system {
		case "linux", "darwin", "windows", "freebsd", "netbsd", "openbsd", "dragonfly":
			n++
			t.Run(target, func(t *testing.T) {
				t.Parallel()
				if n, err := s.check(fixture.Root(t), target, "./cmd/corewalk", nil); err != nil || n < 100 {
					t.Errorf("%d packages: %v", n, err)
				}
			})
		}
	}
	if n < 30 {
		t.Errorf("%d ports", n)
	}
}

// What another system has is found in a function's body, and that a function has none.
func TestTargetsRefuse(t *testing.T) {
	fixture.Long(t)
	root := fixture.Root(t)
	for _, c := range []struct{ target, source, want string }{
		{"linux/386", "package main\nvar large int = 1 << 40\n", "overflows"},
		{"linux/mips64le", "package main\nimport \"syscall\"\nvar st syscall.Stat_t\nvar device uint64 = st.Rdev\n", "uint32"},
		{"windows/amd64", "package main\nimport \"syscall\"\nfunc ends() { _ = syscall.SIGUSR1 }\n", "SIGUSR1"},
		{"darwin/arm64", "package main\nfunc none()\n", "missing function body"},
	} {
		_, err := (&sources{}).check(root, c.target, "./cmd/corewalk", map[string]string{filepath.Join(root, "cmd/corewalk/added.go"): c.source})
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", c.target, err, c.want)
		}
	}
}

// A listed package is what the go command tells of one.
type listed struct {
	ImportPath, Dir string
	GoFiles, SFiles []string
	ImportMap       map[string]string
	Standard        bool
	Module          *struct {
		Main      bool
		GoVersion string
	}
	Error *struct{ Err string }
}

// sources are files that were parsed, for one target or several.
type sources struct {
	set   token.FileSet
	mu    sync.Mutex
	files map[string]*ast.File
}

// parse parses a file. Nobody changes the result.
func (s *sources) parse(path string) (*ast.File, error) {
	s.mu.Lock()
	f := s.files[path]
	s.mu.Unlock()
	if f != nil {
		return f, nil
	}
	f, err := parser.ParseFile(&s.set, path, nil, parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.files == nil {
		s.files = map[string]*ast.File{}
	}
	s.files[path] = f
	return f, nil
}

// check checks the types of the packages that programs are made of for a target, and returns how many packages these are. added has further
// files of them.
func (s *sources) check(root, target, programs string, added map[string]string) (n int, err error) {
	system, processor, _ := strings.Cut(target, "/")
	cmd := exec.Command("go", "list", "-deps", "-json=ImportPath,Dir,GoFiles,SFiles,ImportMap,Standard,Module,Error", "-tags", "nethttpomithttp2", programs)
	cmd.Dir = root
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS="+system, "GOARCH="+processor, "GOFLAGS=")
	out, err := cmd.Output()
	if err != nil {
		return 0, err
	}
	checked := map[string]*types.Package{"unsafe": types.Unsafe}
	for d := json.NewDecoder(bytes.NewReader(out)); ; n++ { // a package comes after those that it imports
		var p listed
		if err := d.Decode(&p); errors.Is(err, io.EOF) {
			return n, nil
		} else if err != nil {
			return n, err
		}
		if p.Error != nil {
			return n, fmt.Errorf("%s: %s", p.ImportPath, p.Error.Err)
		}
		if p.ImportPath == "unsafe" {
			continue
		}
		if checked[p.ImportPath], err = p.check(s, checked, processor, added); err != nil {
			return n, fmt.Errorf("%s: %w", p.ImportPath, err)
		}
	}
}

func (p *listed) check(s *sources, checked map[string]*types.Package, processor string, added map[string]string) (*types.Package, error) {
	own := p.Module != nil && p.Module.Main
	var files []*ast.File
	for _, name := range p.GoFiles {
		f, err := s.parse(filepath.Join(p.Dir, name))
		if err != nil {
			return nil, err
		}
		files = append(files, f)
	}
	for path, source := range added {
		if filepath.Dir(path) == p.Dir {
			f, err := parser.ParseFile(&s.set, path, source, parser.SkipObjectResolution)
			if err != nil {
				return nil, err
			}
			files = append(files, f)
		}
	}
	// The compiler, not go/types, wants a body, unless the package has assembly.
	for _, f := range files {
		for _, d := range f.Decls {
			if d, ok := d.(*ast.FuncDecl); ok && own && d.Body == nil && len(p.SFiles) == 0 {
				return nil, fmt.Errorf("%s: missing function body", s.set.Position(d.Pos()))
			}
		}
	}
	c := types.Config{IgnoreFuncBodies: !own, Sizes: types.SizesFor("gc", processor), Importer: importer(func(path string) (*types.Package, error) {
		if other, ok := p.ImportMap[path]; ok {
			path = other
		}
		if found := checked[path]; found != nil {
			return found, nil
		}
		return nil, fmt.Errorf("%s has not been checked", path)
	})}
	if p.Module != nil && p.Module.GoVersion != "" {
		c.GoVersion = "go" + p.Module.GoVersion
	}
	return c.Check(p.ImportPath, &s.set, files, nil)
}

type importer func(path string) (*types.Package, error)

func (i importer) Import(path string) (*types.Package, error) { return i(path) }

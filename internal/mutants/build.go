package main

import (
	"bytes"
	"encoding/json"
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
	"strconv"
	"strings"
)

const (
	modulePath = "github.com/corewalk/corewalk"
	mutPath    = modulePath + "/internal/mutants/mut"
)

// A subject is a package with all its mutants.
type subject struct {
	root    string // of the module
	dir     string // of the package, relative to root
	work    string // directory for the rewritten sources and the test binaries
	drop    map[string]bool
	mutants []*mutant
	overlay string
}

// listed is the output of go list for a package.
type listed struct {
	ImportPath string
	Export     string
	GoFiles    []string
}

// load finds the package's files and the export data of what it imports.
func (s *subject) load() (files []string, exports map[string]string, err error) {
	cmd := exec.Command("go", "list", "-export", "-deps", "-json=ImportPath,Export,GoFiles", "./"+s.dir)
	cmd.Dir = s.root
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, nil, fmt.Errorf("go list %s: %w", s.dir, err)
	}
	exports = map[string]string{}
	for dec := json.NewDecoder(bytes.NewReader(out)); ; {
		var p listed
		if err := dec.Decode(&p); err == io.EOF {
			return files, exports, nil
		} else if err != nil {
			return nil, nil, err
		}
		exports[p.ImportPath] = p.Export
		files = p.GoFiles // the last one is the package itself
	}
}

// mutate writes the package's sources with all mutants in them, except those in s.drop.
func (s *subject) mutate() error {
	names, exports, err := s.load()
	if err != nil {
		return err
	}
	fset := token.NewFileSet()
	sources := make([][]byte, len(names))
	parsed := make([]*ast.File, len(names))
	for i, name := range names {
		path := filepath.Join(s.root, s.dir, name)
		if sources[i], err = os.ReadFile(path); err != nil {
			return err
		}
		if parsed[i], err = parser.ParseFile(fset, path, sources[i], parser.ParseComments|parser.SkipObjectResolution); err != nil {
			return err
		}
	}
	info := &types.Info{Types: map[ast.Expr]types.TypeAndValue{}, Uses: map[*ast.Ident]types.Object{}}
	conf := types.Config{Importer: importer.ForCompiler(fset, "gc", func(path string) (io.ReadCloser, error) {
		return os.Open(exports[path])
	})}
	pkg, err := conf.Check(modulePath+"/"+s.dir, fset, parsed, info)
	if err != nil {
		return err
	}
	replace := map[string]string{}
	next := 0
	s.mutants = nil
	for i, name := range names {
		r := &rewriter{fset: fset, info: info, pkg: pkg, dir: s.dir, name: filepath.Join(s.dir, name), src: sources[i],
			next: &next, drop: s.drop, used: map[string]bool{}}
		text := r.file(parsed[i])
		if len(r.mutants) == 0 {
			continue
		}
		s.mutants = append(s.mutants, r.mutants...)
		to := filepath.Join(s.work, name)
		if err := os.WriteFile(to, text, 0o600); err != nil {
			return err
		}
		replace[filepath.Join(s.root, s.dir, name)] = to
	}
	s.overlay = filepath.Join(s.work, "overlay.json")
	text, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		return err
	}
	return os.WriteFile(s.overlay, text, 0o600)
}

// tries is how often to recompile a package without the mutants that do not compile.
const tries = 8

// prepare rewrites the package and compiles its own test binary. Mutants that do not
// compile are left out.
func (s *subject) prepare() (binary string, err error) {
	s.drop = map[string]bool{}
	for range tries {
		if err = s.mutate(); err != nil {
			return "", err
		}
		var out []byte
		if binary, out, err = s.compile(s.dir, "test0"); err == nil {
			return binary, nil
		}
		if !s.dropBad(out) {
			return "", fmt.Errorf("%s does not compile: %s", s.dir, out)
		}
	}
	return "", err
}

// compile makes the test binary of a package with the mutants in it.
func (s *subject) compile(dir, name string) (binary string, out []byte, err error) {
	binary = filepath.Join(s.work, name)
	cmd := exec.Command("go", "test", "-c", "-vet=off", "-gcflags=-e", "-overlay", s.overlay, "-o", binary, "./"+dir)
	cmd.Dir = s.root
	out, err = cmd.CombinedOutput()
	return binary, out, err
}

var atLine = regexp.MustCompile(`(?m)^(\S+?\.go):(\d+):`)

// dropBad drops the mutants on lines with errors. It reports whether it dropped any.
func (s *subject) dropBad(out []byte) bool {
	dropped := false
	for _, m := range atLine.FindAllSubmatch(out, -1) {
		line, _ := strconv.Atoi(string(m[2]))
		for _, mu := range s.mutants {
			if mu.Line == line && strings.HasSuffix(string(m[1]), filepath.Base(mu.File)) && !s.drop[mu.key()] {
				s.drop[mu.key()] = true
				dropped = true
			}
		}
	}
	return dropped
}

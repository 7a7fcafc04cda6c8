// Testsof prints arguments for "go test": the tests that use one of some names, themselves or through what their package's test files declare, and
// the packages that have such tests. So a run of those that take long, or that depend on who runs them, leaves out the others, which
// "go test ./..." has run.
//
//	go test $(go run ./internal/testsof Long IsLong)
//
// With -turn K/N it prints those whose turn it is in a run of a part (fixture.InTurn), and those that use a name of -each, whose subtests have turns.
package main

import (
	"cmp"
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/corewalk/corewalk/internal/fixture"
)

func main() {
	turn := flag.String("turn", "", "only the tests of `K/N`, the part K of N of the long run")
	each := flag.String("each", "", "`names`, with commas, of what asks for each subtest whether it is its turn")
	flag.Parse()
	if flag.NArg() == 0 {
		fmt.Fprintln(os.Stderr, "testsof: names are missing: testsof [-turn K/N] [-each NAME,...] NAME...")
		os.Exit(2)
	}
	s := selection{names: flag.Args(), each: strings.Split(*each, ","), parts: 1}
	if *turn != "" {
		if n, err := fmt.Sscanf(*turn, "%d/%d", &s.part, &s.parts); n != 2 || s.part >= s.parts {
			fmt.Fprintf(os.Stderr, "testsof: -turn %s is no K/N (%v)\n", *turn, err)
			os.Exit(2)
		}
	}
	args, err := s.arguments(".")
	if err != nil {
		fmt.Fprintln(os.Stderr, "testsof:", err)
		os.Exit(1)
	}
	fmt.Println(strings.Join(args, " "))
}

// A selection says which tests are wanted.
type selection struct {
	names, each []string
	part, parts uint32
}

// wanted are those tests of a package that are.
func (s *selection) wanted(files []string) ([]string, error) {
	list, err := using(files, s.names)
	if err != nil || s.parts == 1 {
		return list, err
	}
	each, err := using(files, s.each)
	return slices.DeleteFunc(list, func(test string) bool { return !fixture.InTurn(test, s.part, s.parts) && !slices.Contains(each, test) }), err
}

// arguments are -run, a pattern, and the directories with tests that are wanted.
func (s *selection) arguments(root string) ([]string, error) {
	perDir := map[string][]string{}
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && path != root && (d.Name() == "testdata" || strings.HasPrefix(d.Name(), ".")):
			return fs.SkipDir
		case strings.HasSuffix(path, "_test.go"):
			perDir[filepath.Dir(path)] = append(perDir[filepath.Dir(path)], path)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	var dirs []string
	tests := map[string]bool{}
	for dir, files := range perDir {
		found, err := s.wanted(files)
		if err != nil {
			return nil, err
		}
		if len(found) > 0 {
			rel, err := filepath.Rel(root, dir)
			if err != nil {
				return nil, err
			}
			dirs = append(dirs, "./"+filepath.ToSlash(rel))
		}
		for _, name := range found {
			tests[name] = true
		}
	}
	if len(dirs) == 0 {
		return nil, fmt.Errorf("no test uses %s", strings.Join(s.names, " or "))
	}
	slices.Sort(dirs)
	return append([]string{"-run", "^(" + strings.Join(slices.Sorted(maps.Keys(tests)), "|") + ")$"}, dirs...), nil
}

// using returns the tests of a package that use one of the names. What is declared is followed by its name alone, so that a test may be among them
// that uses another type's method of that name, but none is missing.
func using(files, names []string) ([]string, error) {
	uses := map[string]map[string]bool{} // of what a package declares, the identifiers in it
	tests := map[string]bool{}
	add := func(name string, n ast.Node) {
		if uses[name] == nil {
			uses[name] = map[string]bool{}
		}
		ast.Inspect(n, func(n ast.Node) bool {
			if id, ok := n.(*ast.Ident); ok {
				uses[name][id.Name] = true
			}
			return true
		})
	}
	for _, path := range files {
		f, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			return nil, err
		}
		for _, d := range f.Decls {
			switch d := d.(type) {
			case *ast.FuncDecl:
				if d.Body == nil {
					continue
				}
				add(d.Name.Name, d.Body)
				if d.Recv == nil && strings.HasPrefix(d.Name.Name, "Test") && d.Name.Name != "TestMain" {
					tests[d.Name.Name] = true
				}
			case *ast.GenDecl:
				for _, s := range d.Specs {
					if v, ok := s.(*ast.ValueSpec); ok {
						for _, id := range v.Names {
							for _, e := range v.Values {
								add(id.Name, e)
							}
						}
					}
				}
			}
		}
	}
	reached := map[string]bool{}
	for _, name := range names {
		reached[name] = true
	}
	for grown := true; grown; {
		grown = false
		for name, ids := range uses {
			if reached[name] || name == "_" {
				continue
			}
			for id := range ids {
				if reached[id] {
					reached[name], grown = true, true
					break
				}
			}
		}
	}
	var out []string
	for name := range tests {
		if reached[name] {
			out = append(out, name)
		}
	}
	slices.SortFunc(out, cmp.Compare[string])
	return out, nil
}

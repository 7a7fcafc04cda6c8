// Command layouts makes the table of where Go's runtime keeps what corewalk reads, from the
// real runtimes: it builds an empty program with each release and for each architecture, and
// reads the offsets in its DWARF; the words for states and reasons are in the runtime's source.
//
//	go run ./internal/runtimes/golang/layouts >internal/runtimes/golang/layouts.txt
package main

import (
	"bytes"
	"debug/dwarf"
	"debug/elf"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/corewalk/corewalk/internal/runtimes/golang"
)

// releases are the last ones of each version that there is.
var releases = []string{"1.18.10", "1.19.13", "1.20.14", "1.21.13", "1.22.12", "1.23.12", "1.24.13", "1.25.7", "1.26.8"}

var architectures = []string{"amd64", "arm64", "386"}

// source uses the types that are wanted, so that they are in the DWARF.
const source = `package main

import (
	"os"
	"sync"
	"time"
)

func main() {
	var mu sync.Mutex
	var rw sync.RWMutex
	var wg sync.WaitGroup
	var once sync.Once
	c := sync.NewCond(&mu)
	ch := make(chan int)
	wg.Add(1)
	go func() { once.Do(func() { ch <- 1 }); c.Signal(); wg.Done() }()
	select {
	case <-ch:
	case <-time.After(time.Hour):
	}
	rw.RLock()
	f, _ := os.Open("/")
	f.Close()
	mu.Lock()
	if len(os.Args) > 3 {
		c.Wait()
	}
	wg.Wait()
}
`

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "layouts:", err)
		os.Exit(1)
	}
}

func run() error {
	dir, err := os.MkdirTemp("", "layouts")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	if err := os.WriteFile(filepath.Join(dir, "main.go"), []byte(source), 0o644); err != nil {
		return err
	}
	fmt.Println("# Where Go's runtime keeps what is read of it: made by ./layouts, do not edit.")
	fmt.Println("# layout VERSION ARCHITECTURE, then STRUCT SIZE FIELD=OFFSET ...; reasons VERSION, then the words in order.")
	for _, r := range releases {
		version := r[:strings.LastIndex(r, ".")]
		if err := os.WriteFile(filepath.Join(dir, "go.mod"), []byte("module example\n\ngo "+version+"\n"), 0o644); err != nil {
			return err
		}
		words, err := words(dir, r)
		if err != nil {
			return fmt.Errorf("go%s: %w", r, err)
		}
		fmt.Printf("\n%s", words)
		for _, a := range architectures {
			fmt.Printf("\nlayout %s %s\n", version, a)
			if err := layout(dir, r, a); err != nil {
				return fmt.Errorf("go%s %s: %w", r, a, err)
			}
		}
	}
	return nil
}

func tool(dir, release, arch string, args ...string) ([]byte, error) {
	cmd := exec.Command("go", args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GOTOOLCHAIN=go"+release, "GOARCH="+arch, "GOOS=linux", "CGO_ENABLED=0", "GOFLAGS=")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		err = fmt.Errorf("%w: %s", err, stderr.String())
	}
	return out, err
}

// layout builds the program and prints the offsets.
func layout(dir, release, arch string) error {
	out := filepath.Join(dir, "program")
	if _, err := tool(dir, release, arch, "build", "-o", out, "main.go"); err != nil {
		return err
	}
	f, err := elf.Open(out)
	if err != nil {
		return err
	}
	defer f.Close()
	d, err := f.DWARF()
	if err != nil {
		return err
	}
	structs, err := readStructs(d)
	if err != nil {
		return err
	}
	for _, w := range golang.Structures() {
		var s *dwarf.StructType
		for name := range strings.SplitSeq(w.Of, "|") {
			if s == nil {
				s = structs[name]
			}
		}
		if s == nil {
			continue
		}
		fmt.Printf("%s %d", w.Name, s.ByteSize)
		for field := range strings.FieldsSeq(w.Fields) {
			first, _, _ := strings.Cut(field, "|")
			for alternative := range strings.SplitSeq(field, "|") {
				if off, ok := offset(s, strings.Split(alternative, ".")); ok {
					fmt.Printf(" %s=%d", strings.ToLower(first), off)
					break
				}
			}
		}
		fmt.Println()
	}
	// The table of semaphores is an array of padded roots.
	if s := structs["runtime.semaRoot"]; s != nil {
		if stride, n, ok := semtable(d); ok {
			fmt.Printf("semtable %d stride=%d count=%d\n", stride*n, stride, n)
		}
	}
	return nil
}

func readStructs(d *dwarf.Data) (map[string]*dwarf.StructType, error) {
	structs := map[string]*dwarf.StructType{}
	for r := d.Reader(); ; {
		e, err := r.Next()
		if err != nil || e == nil {
			return structs, err
		}
		if e.Tag != dwarf.TagStructType {
			if e.Tag != dwarf.TagCompileUnit {
				r.SkipChildren()
			}
			continue
		}
		r.SkipChildren()
		name, _ := e.Val(dwarf.AttrName).(string)
		if !slices.ContainsFunc(golang.Structures(), func(w golang.Structure) bool {
			return slices.Contains(strings.Split(w.Of, "|"), name)
		}) {
			continue
		}
		t, err := d.Type(e.Offset)
		if err != nil {
			return nil, err
		}
		if s, ok := t.(*dwarf.StructType); ok && structs[name] == nil {
			structs[name] = s
		}
	}
}

// offset follows a path of fields.
func offset(s *dwarf.StructType, path []string) (int64, bool) {
	for _, f := range s.Field {
		if f.Name != path[0] {
			continue
		}
		if len(path) == 1 {
			return f.ByteOffset, true
		}
		t := f.Type
		for {
			td, ok := t.(*dwarf.TypedefType)
			if !ok {
				break
			}
			t = td.Type
		}
		in, ok := t.(*dwarf.StructType)
		if !ok {
			return 0, false
		}
		off, ok := offset(in, path[1:])
		return f.ByteOffset + off, ok
	}
	return 0, false
}

// semtable finds the stride and the count of runtime.semtable's entries.
func semtable(d *dwarf.Data) (stride, n int64, ok bool) {
	for r := d.Reader(); ; {
		e, err := r.Next()
		if err != nil || e == nil {
			return 0, 0, false
		}
		if e.Tag == dwarf.TagVariable {
			if name, _ := e.Val(dwarf.AttrName).(string); name == "runtime.semtable" {
				off, _ := e.Val(dwarf.AttrType).(dwarf.Offset)
				t, err := d.Type(off)
				if err != nil {
					return 0, 0, false
				}
				for {
					td, is := t.(*dwarf.TypedefType)
					if !is {
						break
					}
					t = td.Type
				}
				a, is := t.(*dwarf.ArrayType)
				if !is {
					return 0, 0, false
				}
				return a.Type.Size(), a.Count, true
			}
		}
		if e.Tag != dwarf.TagCompileUnit {
			r.SkipChildren()
		}
	}
}

// words reads runtime.waitReasonStrings and the numbers of its keys from the source.
func words(dir, release string) (string, error) {
	root, err := tool(dir, release, "amd64", "env", "GOROOT")
	if err != nil {
		return "", err
	}
	file, err := parser.ParseFile(token.NewFileSet(), filepath.Join(strings.TrimSpace(string(root)), "src/runtime/runtime2.go"), nil, 0)
	if err != nil {
		return "", err
	}
	var b strings.Builder
	version := release[:strings.LastIndex(release, ".")]
	for _, table := range []struct{ kind, variable, first string }{{"reasons", "waitReasonStrings", "waitReasonZero"}, {"statuses", "", "_Gidle"}} {
		number := map[string]int{}
		text := map[string]string{}
		ast.Inspect(file, func(n ast.Node) bool {
			decl, ok := n.(*ast.GenDecl)
			if !ok {
				return true
			}
			if decl.Tok == token.CONST {
				if first := decl.Specs[0].(*ast.ValueSpec); first.Names[0].Name == table.first {
					for i, s := range decl.Specs {
						for _, name := range s.(*ast.ValueSpec).Names {
							number[name.Name] = i
						}
					}
				}
			}
			for _, s := range decl.Specs {
				v, ok := s.(*ast.ValueSpec)
				if !ok || table.variable == "" || v.Names[0].Name != table.variable || len(v.Values) == 0 {
					continue
				}
				for _, e := range v.Values[0].(*ast.CompositeLit).Elts {
					kv := e.(*ast.KeyValueExpr)
					text[kv.Key.(*ast.Ident).Name], err = strconv.Unquote(kv.Value.(*ast.BasicLit).Value)
				}
			}
			return true
		})
		if table.variable == "" {
			continue
		}
		fmt.Fprintf(&b, "%s %s\n", table.kind, version)
		names := make([]string, len(number))
		for name, n := range number {
			names[n] = name
		}
		for i, name := range names {
			fmt.Fprintf(&b, "%d %s\n", i, text[name])
		}
	}
	return b.String(), err
}

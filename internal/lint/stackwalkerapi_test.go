package lint

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// goNames collects the exported names of a package: types, functions, constants, and "Type.Member" for methods,
// fields and interface methods.
func goNames(t *testing.T, dir string) map[string]bool {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil || len(files) == 0 {
		t.Fatalf("%s: %d files, %v", dir, len(files), err)
	}
	names := map[string]bool{}
	for _, path := range files {
		if strings.HasSuffix(path, "_test.go") {
			continue
		}
		f, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range f.Decls {
			declared(names, d)
		}
	}
	return names
}

func declared(names map[string]bool, d ast.Decl) {
	switch d := d.(type) {
	case *ast.FuncDecl:
		name := d.Name.Name
		if d.Recv != nil && len(d.Recv.List) > 0 {
			typ := d.Recv.List[0].Type
			if star, ok := typ.(*ast.StarExpr); ok {
				typ = star.X
			}
			if id, ok := typ.(*ast.Ident); ok {
				name = id.Name + "." + name
			}
		}
		names[name] = true
	case *ast.GenDecl:
		for _, s := range d.Specs {
			switch s := s.(type) {
			case *ast.ValueSpec:
				for _, n := range s.Names {
					names[n.Name] = true
				}
			case *ast.TypeSpec:
				names[s.Name.Name] = true
				members(names, s)
			}
		}
	}
}

func members(names map[string]bool, s *ast.TypeSpec) {
	var list *ast.FieldList
	switch t := s.Type.(type) {
	case *ast.StructType:
		list = t.Fields
	case *ast.InterfaceType:
		list = t.Methods
	default:
		return
	}
	for _, f := range list.List {
		for _, n := range f.Names {
			names[s.Name.Name+"."+n.Name] = true
		}
	}
}

// publicRooms are the rooms that the table may name, by package name.
var publicRooms = map[string]string{"arch": "unwind/arch", "unwind": "unwind", "libstate": "libstate", "steppers": "steppers",
	"symlookup": "symlookup", "corestate": "corestate", "report": "report", "corewalk": ".",
	"dwarfvars": "dwarfvars", "livestate": "livestate"}

var quoted = regexp.MustCompile("`([a-z]+)\\.([A-Z][A-Za-z.]*)`")

func TestStackwalkerAPINamesExist(t *testing.T) {
	text, err := os.ReadFile("../../docs/stackwalkerapi.md")
	if err != nil {
		t.Fatal(err)
	}
	known := map[string]map[string]bool{}
	rows := 0
	for n, line := range strings.Split(string(text), "\n") {
		if strings.HasPrefix(line, "| `") {
			rows++
			cells := strings.Split(line, "|")
			if len(cells) < 5 || strings.TrimSpace(cells[2]) == "" {
				t.Errorf("line %d: a row without a Go name or a reason: %s", n+1, line)
			} else if strings.TrimSpace(cells[2]) == "none" && strings.TrimSpace(cells[3]) == "" {
				t.Errorf("line %d: no Go name and no reason: %s", n+1, line)
			}
		}
		for _, m := range quoted.FindAllStringSubmatch(line, -1) {
			room, ok := publicRooms[m[1]]
			if !ok {
				continue
			}
			if known[room] == nil {
				known[room] = goNames(t, filepath.Join("..", "..", room))
			}
			if !known[room][m[2]] {
				t.Errorf("line %d: %s.%s does not exist", n+1, m[1], m[2])
			}
		}
	}
	if rows < 100 {
		t.Errorf("only %d rows read", rows)
	}
}

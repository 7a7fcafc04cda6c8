package lint

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"slices"
	"testing"
)

// shadowed returns where a file declares a variable, constant, parameter, result, function,
// type or import with the name of a builtin, like max, len or error. Methods, fields and
// labels shadow nothing.
func shadowed(fset *token.FileSet, f *ast.File) []string {
	var found []string
	declare := func(what string, names ...*ast.Ident) {
		for _, n := range names {
			if n != nil && types.Universe.Lookup(n.Name) != nil {
				found = append(found, fmt.Sprintf("%d: the %s %s shadows the builtin", fset.Position(n.Pos()).Line, what, n.Name))
			}
		}
	}
	fields := func(what string, list *ast.FieldList) {
		if list == nil {
			return
		}
		for _, field := range list.List {
			declare(what, field.Names...)
		}
	}
	assigned := func(exprs ...ast.Expr) {
		for _, e := range exprs {
			if n, ok := e.(*ast.Ident); ok {
				declare("variable", n)
			}
		}
	}
	ast.Inspect(f, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.ImportSpec:
			declare("import", n.Name)
		case *ast.ValueSpec:
			declare("variable or constant", n.Names...)
		case *ast.TypeSpec:
			declare("type", n.Name)
			fields("type parameter", n.TypeParams)
		case *ast.FuncDecl:
			if n.Recv == nil {
				declare("function", n.Name)
			}
			fields("receiver", n.Recv)
		case *ast.FuncType: // of declarations, literals, types and methods of interfaces
			fields("type parameter", n.TypeParams)
			fields("parameter", n.Params)
			fields("result", n.Results)
		case *ast.AssignStmt:
			if n.Tok == token.DEFINE {
				assigned(n.Lhs...)
			}
		case *ast.RangeStmt:
			if n.Tok == token.DEFINE {
				assigned(n.Key, n.Value)
			}
		}
		return true
	})
	return found
}

func TestBuiltinsNotShadowed(t *testing.T) {
	for _, s := range sources(t) {
		for _, where := range shadowed(sourceSet, s.parsed) {
			t.Errorf("%s:%s", s.file, where)
		}
	}
}

// Each kind of declaration is found, and what shadows nothing is not.
func TestShadowedFindsBuiltins(t *testing.T) {
	const text = `package p
import max "fmt"
var len = 1
const iota = 2
type any int
func print[string any](cap int) (error int) {
	real := 3
	for min, new := range []int{} {
	}
	return func(copy int) int { return copy }(real)
}
type ok struct{ len int }
func (make ok) close() {}
func fine(ok ok) {
	ok.len = 4
	clear := func(_ int) {}
	switch string := 5; string {
	}
	goto len
len:
}
type i interface{ panic(delete int); max() }
`
	fset := token.NewFileSet()
	f, err := parser.ParseFile(fset, "made.go", text, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	got := shadowed(fset, f)
	want := []string{
		"2: the import max shadows the builtin",
		"3: the variable or constant len shadows the builtin",
		"4: the variable or constant iota shadows the builtin",
		"5: the type any shadows the builtin",
		"6: the function print shadows the builtin",
		"6: the type parameter string shadows the builtin",
		"6: the parameter cap shadows the builtin",
		"6: the result error shadows the builtin",
		"7: the variable real shadows the builtin",
		"8: the variable min shadows the builtin",
		"8: the variable new shadows the builtin",
		"10: the parameter copy shadows the builtin",
		"13: the receiver make shadows the builtin",
		"16: the variable clear shadows the builtin",
		"17: the variable string shadows the builtin",
		"22: the parameter delete shadows the builtin",
	}
	if !slices.Equal(got, want) {
		t.Errorf("found:\n%q\nnot:\n%q", got, want)
	}
}

package lint

import (
	"go/ast"
	"go/parser"
	"go/token"
	"slices"
	"testing"
)

// kinds are the types that a Target may have been opened from.
var kinds = []string{"corestate.ELFCore", "corestate.Minidump", "livestate.Process", "livestate.Snapshot", "livestate.SelfState", "minidump.File"}

// kindRooms may ask which kind a process is: the seam, the rooms that define the kinds, and corecheck, which
// accepts only a running process.
var kindRooms = []string{"internal/why/subject", "corestate", "livestate", "internal/live/corecheck"}

// accessors of Target return nil for other kinds. Core and Minidump are for callers outside; Live is for what
// can only be done with a running process, and does not count as a question.
var accessors = []string{"Core", "Minidump", "Live"}

// Nothing asks which kind of thing was opened: there is no type switch and no type assertion on the kinds, no
// call of Core or Minidump, and no comparison of Live with nil.
func TestNobodyAsksWhatWasOpened(t *testing.T) {
	for _, s := range sources(t) {
		if s.test || slices.Contains(testRooms, s.room) || slices.Contains(kindRooms, s.room) {
			continue
		}
		for _, q := range kindQuestions(s.parsed, s.room == "") {
			t.Errorf("%s: %s", sourceSet.Position(q.pos), q.text)
		}
	}
}

// The test above detects violations.
func TestKindQuestionsAreSeen(t *testing.T) {
	for _, body := range []string{
		"_, _ = p.(*corestate.ELFCore)",
		"switch p.(type) { case nil, *livestate.Snapshot: }",
		"_, _ = p.(interface{ File() *minidump.File })",
		"_ = t.Core()",
		"if m := t.Minidump(); m != nil {}",
		"_ = t.Live() == nil",
		"p := t.Live(); if p == nil {}",
	} {
		f, err := parser.ParseFile(token.NewFileSet(), "", "package p\nfunc f() {\n"+body+"\n}", 0)
		if err != nil {
			t.Fatal(err)
		}
		if len(kindQuestions(f, false)) == 0 {
			t.Errorf("not detected: %s", body)
		}
	}
	const fine = "package p\nfunc f() {\n_, _ = p.(unwind.TrapState)\np := t.Live()\nif err := p.StopAll(); err != nil {}\n}"
	f, err := parser.ParseFile(token.NewFileSet(), "", fine, 0)
	if err != nil {
		t.Fatal(err)
	}
	if q := kindQuestions(f, false); len(q) > 0 {
		t.Errorf("false positive: %v", q)
	}
}

type kindQuestion struct {
	pos  token.Pos
	text string
}

// kindQuestions finds where a file asks. accessorsThemselves says that the file may declare the accessors.
func kindQuestions(f *ast.File, accessorsThemselves bool) (out []kindQuestion) {
	add := func(n ast.Node, text string) { out = append(out, kindQuestion{n.Pos(), text}) }
	asserted := func(typ ast.Expr) {
		if typ == nil {
			return
		}
		ast.Inspect(typ, func(n ast.Node) bool {
			if e, ok := n.(*ast.SelectorExpr); ok {
				if pkg, ok := e.X.(*ast.Ident); ok && slices.Contains(kinds, pkg.Name+"."+e.Sel.Name) {
					add(e, "asks for a "+pkg.Name+"."+e.Sel.Name+"; use a method of subject.Subject instead")
				}
			}
			return true
		})
	}
	for _, d := range f.Decls {
		if fn, ok := d.(*ast.FuncDecl); ok && accessorsThemselves && slices.Contains(accessors, fn.Name.Name) {
			continue
		}
		live := map[string]bool{} // variables assigned from Live
		ast.Inspect(d, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.TypeAssertExpr:
				asserted(n.Type)
			case *ast.TypeSwitchStmt:
				for _, c := range n.Body.List {
					for _, typ := range c.(*ast.CaseClause).List {
						asserted(typ)
					}
				}
			case *ast.CallExpr:
				if name := accessorCall(n); name == "Core" || name == "Minidump" {
					add(n, name+"() is for callers outside; use a method of subject.Subject instead")
				}
			case *ast.AssignStmt:
				for i, right := range n.Rhs {
					if id, ok := n.Lhs[i].(*ast.Ident); ok && accessorCall(right) == "Live" {
						live[id.Name] = true
					}
				}
			case *ast.BinaryExpr:
				id, named := n.X.(*ast.Ident)
				null, ok := n.Y.(*ast.Ident)
				if ok && null.Name == "nil" && (accessorCall(n.X) == "Live" || named && live[id.Name]) {
					add(n, "asks whether it is a running process; use a method of subject.Subject instead")
				}
			}
			return true
		})
	}
	return out
}

// accessorCall returns the accessor that an expression calls; "" if none.
func accessorCall(e ast.Expr) string {
	call, ok := e.(*ast.CallExpr)
	if !ok || len(call.Args) > 0 {
		return ""
	}
	if sel, ok := call.Fun.(*ast.SelectorExpr); ok && slices.Contains(accessors, sel.Sel.Name) {
		return sel.Sel.Name
	}
	return ""
}

package main

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/constant"
	"go/token"
	"go/types"
	"slices"
	"strings"
)

// The kinds of mutants.
const (
	kindTrue   = "true"   // a condition is always true
	kindFalse  = "false"  // a condition is never true
	kindEdge   = "edge"   // < becomes <=, > becomes >=, and the other way round
	kindPlus   = "plus1"  // a constant is one more
	kindRemove = "remove" // a statement is removed
)

// A mutant is one small change of a source file.
type mutant struct {
	ID     int    // in the binary; from 1
	Dir    string // of the package, relative to the module
	File   string
	Line   int
	Func   string // "Type.method", "function", or "" outside of functions
	Kind   string
	Source string // the source line, with the changed part between « and »
	New    string // what replaces the changed part
}

// key identifies the mutant by words that stay valid when other parts of the file
// change.
func (m *mutant) key() string {
	return strings.Join([]string{m.Dir, m.Func, m.Kind, m.Source}, "\t")
}

// diff returns the change as a removed and an added line.
func (m *mutant) diff() string {
	before, rest, _ := strings.Cut(m.Source, "«")
	old, after, _ := strings.Cut(rest, "»")
	return "- " + before + old + after + "\n+ " + before + m.New + after
}

// An edit replaces source bytes [at, end) by text.
type edit struct {
	at, end int
	text    string
}

// A rewriter makes the mutants of one file.
type rewriter struct {
	fset    *token.FileSet
	info    *types.Info
	pkg     *types.Package
	dir     string
	name    string // of the file, relative to the module
	src     []byte
	next    *int
	drop    map[string]bool // keys of mutants that do not compile
	mutants []*mutant

	fn      string
	edits   []edit
	imports []string        // paths; the file has them as mutsw0, mutsw1 ...
	used    map[string]bool // of imports
}

// The name under which a rewritten file knows package mut.
const switches = "mutsw"

// file rewrites f and returns its text with all mutants in it. The lines keep their
// numbers.
func (r *rewriter) file(f *ast.File) []byte {
	for _, d := range f.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			if d.Body != nil && d.Name.Name != "_" {
				r.fn = funcName(d)
				r.node(d.Body)
			}
		case *ast.GenDecl:
			if d.Tok == token.VAR {
				r.fn = ""
				r.node(d)
			}
		}
	}
	if len(r.mutants) == 0 {
		return r.src
	}
	head := "; import " + switches + ` "` + mutPath + `"`
	for i, path := range r.imports {
		if !r.used[path] {
			continue // its mutant was dropped
		}
		head += fmt.Sprintf("; import %s%d %q", switches, i, path)
	}
	r.edits = append(r.edits, edit{r.offset(f.Name.End()), r.offset(f.Name.End()), head})
	return apply(r.src, r.edits)
}

func funcName(d *ast.FuncDecl) string {
	if d.Recv == nil || len(d.Recv.List) == 0 {
		return d.Name.Name
	}
	t := d.Recv.List[0].Type
	for {
		switch x := t.(type) {
		case *ast.StarExpr:
			t = x.X
			continue
		case *ast.IndexExpr:
			t = x.X
			continue
		case *ast.IndexListExpr:
			t = x.X
			continue
		case *ast.Ident:
			return x.Name + "." + d.Name.Name
		}
		return d.Name.Name
	}
}

// apply makes the edits. Edits at one place are applied in the order in which they were
// made.
func apply(src []byte, edits []edit) []byte {
	slices.SortStableFunc(edits, func(a, b edit) int { return a.at - b.at })
	var out bytes.Buffer
	at := 0
	for _, e := range edits {
		out.Write(src[at:e.at])
		out.WriteString(e.text)
		at = e.end
	}
	out.Write(src[at:])
	return out.Bytes()
}

func (r *rewriter) offset(p token.Pos) int { return r.fset.Position(p).Offset }

// add makes a mutant of the source between two positions; it returns 0 if the mutant is
// dropped.
func (r *rewriter) add(kind string, from, to token.Pos, with string) int {
	m := &mutant{Dir: r.dir, File: r.name, Line: r.fset.Position(from).Line, Func: r.fn, Kind: kind, New: with}
	a, b := r.offset(from), r.offset(to)
	start := bytes.LastIndexByte(r.src[:a], '\n') + 1
	mid := string(r.src[a:b])
	tail := ""
	if i := strings.IndexByte(mid, '\n'); i >= 0 {
		mid = mid[:i] + " …"
	} else if end := bytes.IndexByte(r.src[b:], '\n'); end >= 0 {
		tail = string(r.src[b : b+end])
	}
	if i := strings.Index(tail, " //"); i >= 0 {
		tail = tail[:i]
	}
	m.Source = strings.Join(strings.Fields(string(r.src[start:a])+"«"+mid+"»"+tail), " ")
	if r.drop[m.key()] {
		return 0
	}
	*r.next++
	m.ID = *r.next
	r.mutants = append(r.mutants, m)
	return m.ID
}

// wrap puts text before and after a node. It calls parts in between for the node's
// parts, so that the edits nest.
func (r *rewriter) wrap(n ast.Node, before, after string, parts func()) {
	at, end := r.offset(n.Pos()), r.offset(n.End())
	r.edits = append(r.edits, edit{at, at, before})
	parts()
	r.edits = append(r.edits, edit{end, end, after})
}

// node walks everything below n.
func (r *rewriter) node(n ast.Node) {
	ast.Inspect(n, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.GenDecl:
			return n.Tok == token.VAR
		case *ast.FuncType, *ast.StructType, *ast.InterfaceType, *ast.ArrayType, *ast.MapType:
			return false
		case *ast.BlockStmt:
			r.list(n.List)
			return false
		case *ast.CaseClause:
			for _, e := range n.List {
				r.caseExpr(e)
			}
			r.list(n.Body)
			return false
		case *ast.CommClause:
			if n.Comm != nil {
				r.node(n.Comm)
			}
			r.list(n.Body)
			return false
		case *ast.IfStmt:
			if n.Init != nil {
				r.node(n.Init)
			}
			r.cond(n.Cond, false)
			r.node(n.Body)
			if n.Else != nil {
				r.node(n.Else)
			}
			return false
		case *ast.ForStmt:
			if n.Init != nil {
				r.node(n.Init)
			}
			if n.Cond != nil {
				r.cond(n.Cond, true)
			}
			if n.Post != nil {
				r.node(n.Post)
			}
			r.node(n.Body)
			return false
		case *ast.ReturnStmt:
			r.results(n.Results)
			return false
		case ast.Expr:
			return r.expr(n)
		}
		return true
	})
}

// results handles what a return returns. What stands beside a last result that is the
// word false is nobody's to read: of constants there no mutants are made.
func (r *rewriter) results(list []ast.Expr) {
	none := len(list) > 1 && r.isFalse(list[len(list)-1])
	for i, e := range list {
		if none && i < len(list)-1 && r.info.Types[e].Value != nil {
			continue
		}
		r.node(e)
	}
}

func (r *rewriter) isFalse(e ast.Expr) bool {
	v := r.info.Types[e].Value
	return v != nil && v.Kind() == constant.Bool && !constant.BoolVal(v)
}

// caseExpr handles an expression of a switch case: a condition if the switch has no
// tag.
func (r *rewriter) caseExpr(e ast.Expr) {
	if tv, ok := r.info.Types[e]; ok && tv.IsType() {
		return
	}
	if r.isBool(e) {
		r.cond(e, false)
		return
	}
	r.node(e)
}

func (r *rewriter) isBool(e ast.Expr) bool {
	tv, ok := r.info.Types[e]
	if !ok || tv.Value != nil || tv.Type == nil {
		return false
	}
	b, ok := tv.Type.(*types.Basic)
	return ok && b.Info()&types.IsBoolean != 0
}

// list handles the statements of a block.
func (r *rewriter) list(stmts []ast.Stmt) {
	for _, s := range stmts {
		if !removable(s) {
			r.node(s)
			continue
		}
		if id := r.add(kindRemove, s.Pos(), s.End(), ""); id != 0 {
			r.wrap(s, fmt.Sprintf("if %s.Keep(%d) { ", switches, id), " }", func() { r.node(s) })
		} else {
			r.node(s)
		}
	}
}

// removable reports whether a program without the statement compiles, and may behave
// differently. Locks stay: any test finds a deadlock, no test finds a race.
func removable(s ast.Stmt) bool {
	switch s := s.(type) {
	case *ast.AssignStmt:
		return s.Tok != token.DEFINE && !blank(s.Lhs)
	case *ast.IncDecStmt:
		return true
	case *ast.BranchStmt:
		return s.Label == nil && (s.Tok == token.CONTINUE || s.Tok == token.BREAK)
	case *ast.ExprStmt:
		call, ok := s.X.(*ast.CallExpr)
		if !ok {
			return false
		}
		switch f := call.Fun.(type) {
		case *ast.Ident:
			return f.Name != "panic"
		case *ast.SelectorExpr:
			return !slices.Contains([]string{"Lock", "Unlock", "RLock", "RUnlock", "Wait", "Done"}, f.Sel.Name)
		}
		return true
	}
	return false
}

func blank(list []ast.Expr) bool {
	for _, e := range list {
		if id, ok := e.(*ast.Ident); !ok || id.Name != "_" {
			return false
		}
	}
	return true
}

// cond handles a condition. Each operand of && and || is a condition of its own. A
// loop's condition is not made true: the loop would never end.
func (r *rewriter) cond(e ast.Expr, loop bool) {
	switch x := e.(type) {
	case *ast.ParenExpr:
		r.cond(x.X, loop)
		return
	case *ast.UnaryExpr:
		if x.Op == token.NOT {
			if !loop {
				r.cond(x.X, false)
				return
			}
		}
	case *ast.BinaryExpr:
		if x.Op == token.LAND || x.Op == token.LOR {
			r.cond(x.X, loop)
			r.cond(x.Y, loop)
			return
		}
	}
	if tv, ok := r.info.Types[e]; !ok || tv.Value != nil {
		return
	}
	yes := 0
	if !loop {
		yes = r.add(kindTrue, e.Pos(), e.End(), "true")
	}
	no := r.add(kindFalse, e.Pos(), e.End(), "false")
	if yes == 0 && no == 0 {
		r.inside(e)
		return
	}
	r.wrap(e, fmt.Sprintf("%s.Cond(%d, %d, ", switches, yes, no), ")", func() { r.inside(e) })
}

var edges = map[token.Token]struct{ function, becomes string }{
	token.LSS: {"Less", "<="}, token.LEQ: {"LessEqual", "<"},
	token.GTR: {"Greater", ">="}, token.GEQ: {"GreaterEqual", ">"},
}

// inside handles the parts of a condition: the comparison, and its operands.
func (r *rewriter) inside(e ast.Expr) {
	x, ok := e.(*ast.BinaryExpr)
	if !ok {
		r.parts(e)
		return
	}
	edge, ordered := edges[x.Op]
	id := 0
	if ordered && !r.typeless(x.X) && !r.typeless(x.Y) {
		id = r.add(kindEdge, x.OpPos, x.OpPos+token.Pos(len(x.Op.String())), edge.becomes)
	}
	if id == 0 {
		r.node(x.X)
		r.node(x.Y)
		return
	}
	r.wrap(x, fmt.Sprintf("%s.%s(%d, ", switches, edge.function, id), ")", func() {
		r.node(x.X)
		at := r.offset(x.OpPos)
		r.edits = append(r.edits, edit{at, at + len(x.Op.String()), ","})
		r.node(x.Y)
	})
}

// typeless reports whether an operand takes its type from the other one although it is
// not a constant: 1<<n.
func (r *rewriter) typeless(e ast.Expr) bool {
	found := false
	ast.Inspect(e, func(n ast.Node) bool {
		if x, ok := n.(*ast.BinaryExpr); ok && (x.Op == token.SHL || x.Op == token.SHR) {
			found = found || r.info.Types[x.X].Value != nil && r.info.Types[x].Value == nil
		}
		return true
	})
	return found
}

// expr handles any expression. It reports whether its parts are still to be walked.
func (r *rewriter) expr(e ast.Expr) bool {
	tv, ok := r.info.Types[e]
	if ok && tv.IsType() {
		return false
	}
	if ok && tv.Value != nil {
		r.constant(e, tv)
		return false
	}
	switch x := e.(type) {
	case *ast.BinaryExpr:
		switch x.Op {
		case token.LAND, token.LOR, token.EQL, token.NEQ, token.LSS, token.LEQ, token.GTR, token.GEQ:
			if r.isBool(e) {
				r.cond(e, false)
				return false
			}
		}
	case *ast.UnaryExpr:
		if x.Op == token.NOT && r.isBool(e) {
			r.cond(e, false)
			return false
		}
	case *ast.CompositeLit, *ast.CallExpr, *ast.FuncLit, *ast.KeyValueExpr, *ast.SelectorExpr:
		r.parts(e)
		return false
	}
	return true
}

// parts handles the parts of an expression, except those that must not change.
func (r *rewriter) parts(e ast.Expr) {
	switch x := e.(type) {
	case *ast.FuncLit:
		r.node(x.Body)
	case *ast.SelectorExpr:
		r.node(x.X)
	case *ast.CompositeLit:
		keyed := false // the keys are names or, in arrays, must be constants
		if tv, ok := r.info.Types[x]; ok && tv.Type != nil {
			_, keyed = tv.Type.Underlying().(*types.Map)
		}
		for _, elt := range x.Elts {
			if kv, ok := elt.(*ast.KeyValueExpr); ok {
				if keyed {
					r.node(kv.Key)
				}
				elt = kv.Value
			}
			r.node(elt)
		}
	case *ast.CallExpr:
		args := x.Args
		if id, ok := x.Fun.(*ast.Ident); ok {
			if b, ok := r.info.Uses[id].(*types.Builtin); ok && (b.Name() == "make" || b.Name() == "new") {
				// The size of what is allocated in advance changes only the time.
				args = args[:min(len(args), 2)]
				if _, slice := r.info.Types[x].Type.Underlying().(*types.Slice); !slice {
					args = args[:1]
				}
			}
		}
		r.node(x.Fun)
		for _, a := range args {
			r.node(a)
		}
	default:
		// The node itself is already handled.
		first := true
		ast.Inspect(e, func(n ast.Node) bool {
			if first {
				first = false
				return true
			}
			if n != nil {
				r.node(n)
			}
			return false
		})
	}
}

// constant handles an expression that the compiler evaluates: a number becomes one
// more, a truth value is inverted.
func (r *rewriter) constant(e ast.Expr, tv types.TypeAndValue) {
	if tv.Value.Kind() == constant.Bool {
		if b, ok := tv.Type.(*types.Basic); !ok || b.Info()&types.IsBoolean == 0 {
			return
		}
		var yes, no int
		if constant.BoolVal(tv.Value) {
			no = r.add(kindFalse, e.Pos(), e.End(), "false")
		} else {
			yes = r.add(kindTrue, e.Pos(), e.End(), "true")
		}
		if yes != no {
			r.wrap(e, fmt.Sprintf("%s.Cond(%d, %d, ", switches, yes, no), ")", func() {})
		}
		return
	}
	if tv.Value.Kind() != constant.Int && tv.Value.Kind() != constant.Float {
		return
	}
	name, path, ok := r.typeName(tv.Type)
	if !ok {
		return
	}
	text := string(r.src[r.offset(e.Pos()):r.offset(e.End())])
	if id := r.add(kindPlus, e.Pos(), e.End(), "("+text+" + 1)"); id != 0 {
		r.used[path] = true
		r.wrap(e, fmt.Sprintf("%s.Number[%s](%d, ", switches, name, id), ")", func() {})
	}
}

// typeName returns the name of a number's type in the file, and the package that it is
// imported from.
func (r *rewriter) typeName(t types.Type) (name, path string, ok bool) {
	switch t := t.(type) {
	case *types.Basic:
		if t.Info()&(types.IsInteger|types.IsFloat) == 0 {
			return "", "", false
		}
		return types.Default(t).String(), "", true
	case *types.TypeParam:
		return t.Obj().Name(), "", true
	case *types.Alias:
		return r.typeName(types.Unalias(t))
	case *types.Named:
		b, ok := t.Underlying().(*types.Basic)
		if !ok || b.Info()&(types.IsInteger|types.IsFloat) == 0 || t.TypeArgs().Len() > 0 {
			return "", "", false
		}
		o := t.Obj()
		if o.Pkg() == r.pkg {
			return o.Name(), "", true
		}
		if !o.Exported() {
			return "", "", false
		}
		path := o.Pkg().Path()
		i := slices.Index(r.imports, path)
		if i < 0 {
			i = len(r.imports)
			r.imports = append(r.imports, path)
		}
		return fmt.Sprintf("%s%d.%s", switches, i, o.Name()), path, true
	}
	return "", "", false
}

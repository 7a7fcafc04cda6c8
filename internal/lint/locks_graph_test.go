package lint

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"math/big"
	"path/filepath"
	"slices"
	"strings"
)

// This file builds the graph of calls that locks_test.go asks: which function calls which, holding which locks.
//
// Functions are those of the packages that are added, function literals each by itself. A call of a function value leads
// to all functions that flow into the variable or the field in any of the packages; a call of a parameter, to what the
// callers pass there. A call of an interface's method leads to the methods of all types that have it. What a goroutine
// does is not done under the locks of who starts it.

// A lockKey names a lock: a field or variable, not an object. Two objects of a type have the same locks.
type lockKey string

// Keys of what may take long, instead of a lock.
const (
	waits lockKey = "waiting"         // for a channel, a group, another goroutine
	inOut lockKey = "input or output" // of files, processes, the network
	// unknown is a function in a variable or a field to which nothing in these packages is assigned.
	unknown lockKey = "an unknown function"
)

// A lockFunc is a function, or a literal.
type lockFunc struct {
	name  string
	calls []*lockCall
	// params are calls of the function's own parameters, by number, with what is held then.
	params map[int]lockSet
	// acquires are the locks that it may take, with what it calls.
	acquires lockSet
	edges    []lockEdge
}

// A lockCut is a call of a function, by its name, out of a room.
type lockCut struct{ room, to string }

// room is the room of a function.
func (f *lockFunc) room() string {
	name := strings.TrimLeft(f.name, "(*")
	slash := strings.LastIndexByte(name, '/') + 1
	dot := strings.IndexByte(name[slash:], '.')
	if dot < 0 {
		return ""
	}
	return name[:slash+dot]
}

// A lockSet is a set of locks. The value says nothing.
type lockSet map[lockKey]bool

func (s lockSet) with(more ...lockKey) lockSet {
	out := make(lockSet, len(s)+len(more))
	for k := range s {
		out[k] = true
	}
	for _, k := range more {
		out[k] = true
	}
	return out
}

// A lockCall is a call, or the taking of a lock.
type lockCall struct {
	pos     token.Pos
	held    lockSet
	take    lockKey     // the lock that is taken; "" for a call
	to      *types.Func // of a function or method, maybe of an interface; nil for a value
	values  []any       // what is called if to is nil
	args    [][]any     // what is passed
	results resultOf    // the call itself, as a source of values
}

// A lockEdge leads to a function that may be called with locks held.
type lockEdge struct {
	pos  token.Pos
	held lockSet
	to   *lockFunc
}

// A resultOf is a result of a function (a *types.Func, a literal) or of a call of a value, by number.
type resultOf struct {
	of any
	n  int
}

// A lockGraph has all functions.
type lockGraph struct {
	fset   *token.FileSet
	funcs  map[any]*lockFunc // by *types.Func or *ast.FuncLit, or the call of sync.OnceValue
	named  []*types.Named    // all types
	own    map[*types.Package]bool
	cuts   map[lockCut]string // calls that do not happen, and why
	judged func(lockKey) bool // whether the law is about a lock
	onces  map[lockKey]bool   // which locks are those of a sync.Once
	// flows says from which values those of a variable, field or result come.
	flows    map[any]map[any]bool
	paramOf  map[*types.Var]paramOf
	params   map[any][]*types.Var // of a function
	targets  map[any]map[any]bool
	methods  map[*types.Func][]any
	declared map[lockKey]token.Pos // where locks are declared, as far as they are fields or variables
}

type paramOf struct {
	fn any
	n  int
}

func newLockGraph(fset *token.FileSet) *lockGraph {
	return &lockGraph{fset: fset, funcs: map[any]*lockFunc{}, own: map[*types.Package]bool{}, onces: map[lockKey]bool{}, flows: map[any]map[any]bool{}, paramOf: map[*types.Var]paramOf{}, params: map[any][]*types.Var{}, methods: map[*types.Func][]any{}, declared: map[lockKey]token.Pos{}}
}

// add adds a package.
func (g *lockGraph) add(p *types.Package, info *types.Info, files []*ast.File) {
	g.own[p] = true
	for _, name := range p.Scope().Names() {
		if o, ok := p.Scope().Lookup(name).(*types.TypeName); ok && !o.IsAlias() {
			if n, ok := o.Type().(*types.Named); ok && !types.IsInterface(n) {
				g.named = append(g.named, n)
			}
		}
	}
	for _, f := range files {
		for _, d := range f.Decls {
			switch d := d.(type) {
			case *ast.FuncDecl:
				fn := info.Defs[d.Name].(*types.Func)
				w := g.enter(fn, shortName(fn), fn.Signature())
				w.info = info
				if d.Body != nil {
					w.block(d.Body.List)
				}
			case *ast.GenDecl:
				w := &lockWalk{g: g, info: info, fn: &lockFunc{}, held: lockSet{}}
				for _, s := range d.Specs {
					if v, ok := s.(*ast.ValueSpec); ok {
						w.spec(v)
					}
				}
			}
		}
	}
}

// shortName is a function's name without the module's.
func shortName(fn *types.Func) string { return strings.ReplaceAll(fn.FullName(), module+"/", "") }

func (g *lockGraph) enter(key any, name string, sig *types.Signature) *lockWalk {
	f := &lockFunc{name: name, params: map[int]lockSet{}}
	g.funcs[key] = f
	for i := range sig.Params().Len() {
		g.paramOf[sig.Params().At(i)] = paramOf{key, i}
		g.params[key] = append(g.params[key], sig.Params().At(i))
	}
	for i := range sig.Results().Len() {
		if r := sig.Results().At(i); r.Name() != "" && r.Name() != "_" {
			g.flow(resultOf{key, i}, r)
		}
	}
	return &lockWalk{g: g, fn: f, key: key, held: lockSet{}}
}

func (g *lockGraph) flow(to any, from ...any) {
	if to == nil {
		return
	}
	if g.flows[to] == nil {
		g.flows[to] = map[any]bool{}
	}
	for _, f := range from {
		if f != nil && f != to {
			g.flows[to][f] = true
		}
	}
}

// A lockWalk goes through one function.
type lockWalk struct {
	g    *lockGraph
	info *types.Info
	fn   *lockFunc
	key  any
	held lockSet
	up   *lockWalk // of the function around a literal
	lits int
}

// block walks statements, and reports whether the end is not reached.
func (w *lockWalk) block(list []ast.Stmt) (ends bool) {
	for _, s := range list {
		if w.stmt(s) {
			ends = true // what follows is behind a label, or dead
		}
	}
	return ends
}

// branches walks alternatives, each with what is held now. Afterwards is held what is after any of them, and after none if
// there may be none.
func (w *lockWalk) branches(none bool, list ...func() bool) (ends bool) {
	before, after := w.held, lockSet{}
	ends = !none
	if none {
		after = before
	}
	for _, b := range list {
		w.held = before
		if !b() {
			ends = false
			for k := range w.held {
				after = after.with(k)
			}
		}
	}
	w.held = after
	if ends {
		w.held = before
	}
	return ends
}

func (w *lockWalk) stmt(s ast.Stmt) (ends bool) {
	switch s := s.(type) {
	case *ast.ExprStmt:
		w.expr(s.X)
		if call, ok := s.X.(*ast.CallExpr); ok {
			id, ok := call.Fun.(*ast.Ident)
			return ok && id.Name == "panic"
		}
	case *ast.AssignStmt:
		w.assign(s.Lhs, s.Rhs)
	case *ast.DeclStmt:
		for _, spec := range s.Decl.(*ast.GenDecl).Specs {
			if v, ok := spec.(*ast.ValueSpec); ok {
				w.spec(v)
			}
		}
	case *ast.ReturnStmt:
		for i, e := range s.Results {
			w.expr(e)
			w.g.flow(resultOf{w.key, i}, w.values(e)...)
		}
		if len(s.Results) == 1 {
			if call, ok := ast.Unparen(s.Results[0]).(*ast.CallExpr); ok {
				if t, ok := w.info.TypeOf(call).(*types.Tuple); ok {
					for i := range t.Len() {
						w.g.flow(resultOf{w.key, i}, w.result(call, i)...)
					}
				}
			}
		}
		return true
	case *ast.BranchStmt:
		return s.Tok != token.FALLTHROUGH
	case *ast.BlockStmt:
		return w.block(s.List)
	case *ast.IfStmt:
		w.optional(s.Init)
		w.expr(s.Cond)
		list := []func() bool{func() bool { return w.block(s.Body.List) }}
		if s.Else != nil {
			list = append(list, func() bool { return w.stmt(s.Else) })
		}
		return w.branches(s.Else == nil, list...)
	case *ast.ForStmt:
		w.optional(s.Init)
		w.expr(s.Cond)
		w.branches(true, func() bool { w.block(s.Body.List); w.optional(s.Post); return false })
	case *ast.RangeStmt:
		w.expr(s.X)
		w.ranged(s)
		w.branches(true, func() bool { w.block(s.Body.List); return false })
	case *ast.SwitchStmt:
		w.optional(s.Init)
		w.expr(s.Tag)
		w.cases(s.Body)
	case *ast.TypeSwitchStmt:
		w.optional(s.Init)
		w.optional(s.Assign)
		w.cases(s.Body)
	case *ast.SelectStmt:
		blocks := true
		for _, c := range s.Body.List {
			blocks = blocks && c.(*ast.CommClause).Comm != nil
		}
		if blocks {
			w.take(s.Pos(), waits)
		}
		var list []func() bool
		for _, c := range s.Body.List {
			list = append(list, func() bool {
				c := c.(*ast.CommClause)
				switch comm := c.Comm.(type) {
				case *ast.SendStmt:
					w.expr(comm.Value)
				case *ast.AssignStmt, *ast.ExprStmt: // a receive: where, and its channel
				}
				return w.block(c.Body)
			})
		}
		w.branches(false, list...)
	case *ast.SendStmt:
		w.expr(s.Chan)
		w.expr(s.Value)
		w.take(s.Pos(), waits)
		for _, v := range w.variable(s.Chan) {
			w.g.flow(v, w.values(s.Value)...)
		}
	case *ast.GoStmt:
		w.apart(s.Call)
	case *ast.DeferStmt:
		if _, _, op := w.lockOp(s.Call); op == "Unlock" || op == "RUnlock" {
			return false // held to the end
		}
		w.expr(s.Call)
	case *ast.LabeledStmt:
		return w.stmt(s.Stmt)
	case *ast.IncDecStmt:
		w.expr(s.X)
	}
	return false
}

func (w *lockWalk) optional(s ast.Stmt) {
	if s != nil {
		w.stmt(s)
	}
}

func (w *lockWalk) cases(body *ast.BlockStmt) {
	none := true
	var list []func() bool
	for _, c := range body.List {
		c := c.(*ast.CaseClause)
		none = none && c.List != nil
		list = append(list, func() bool {
			for _, e := range c.List {
				w.expr(e)
			}
			return w.block(c.Body)
		})
	}
	w.branches(none, list...)
}

func (w *lockWalk) spec(v *ast.ValueSpec) {
	lhs := make([]ast.Expr, len(v.Names))
	for i, n := range v.Names {
		lhs[i] = n
	}
	if len(v.Values) > 0 {
		w.assign(lhs, v.Values)
	}
}

func (w *lockWalk) assign(lhs, rhs []ast.Expr) {
	for _, e := range lhs {
		if _, ok := e.(*ast.Ident); !ok {
			w.expr(e)
		}
	}
	for _, e := range rhs {
		w.expr(e)
	}
	for i, l := range lhs {
		var from []any
		if len(rhs) == len(lhs) {
			from = w.values(rhs[i])
		} else if call, ok := ast.Unparen(rhs[0]).(*ast.CallExpr); ok {
			from = w.result(call, i)
		} else if i == 0 { // v, ok := x[i], x.(T), <-x
			from = w.values(rhs[0])
		}
		for _, v := range w.variable(l) {
			w.g.flow(v, from...)
		}
	}
}

// ranged notes what a range over functions or a function calls.
func (w *lockWalk) ranged(s *ast.RangeStmt) {
	if t := w.info.TypeOf(s.X); t != nil {
		switch t.Underlying().(type) {
		case *types.Signature:
			w.add(&lockCall{pos: s.X.Pos(), values: w.values(s.X)})
		case *types.Chan:
			w.take(s.X.Pos(), waits)
		}
	}
	for _, e := range []ast.Expr{s.Value, s.Key} {
		if e != nil {
			for _, v := range w.variable(e) {
				w.g.flow(v, w.values(s.X)...)
			}
		}
	}
}

// expr notes the calls in an expression, in their order.
func (w *lockWalk) expr(e ast.Expr) {
	if e == nil {
		return
	}
	ast.Inspect(e, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncLit:
			w.literal(n)
			return false
		case *ast.CallExpr:
			w.call(n)
			return false
		case *ast.UnaryExpr:
			if n.Op == token.ARROW {
				w.expr(n.X)
				w.take(n.Pos(), waits)
				return false
			}
		case *ast.CompositeLit:
			w.composite(n)
		}
		return true
	})
}

// apart notes what a goroutine is started with.
func (w *lockWalk) apart(c *ast.CallExpr) {
	for _, a := range c.Args {
		w.expr(a)
	}
	if lit, ok := ast.Unparen(c.Fun).(*ast.FuncLit); ok {
		w.literal(lit)
	}
	if to, ok := w.callee(c).(*types.Func); ok {
		for i, a := range c.Args {
			if p := param(to.Signature(), i); p != nil {
				w.g.flow(p, w.values(a)...)
			}
		}
	}
}

// literal walks a function literal, once.
func (w *lockWalk) literal(n *ast.FuncLit) {
	if w.g.funcs[n] != nil {
		return
	}
	w.lits++
	sig := w.info.TypeOf(n).(*types.Signature)
	in := w.g.enter(n, fmt.Sprintf("%s.func%d", w.fn.name, w.lits), sig)
	in.info, in.up = w.info, w
	in.block(n.Body.List)
}

func (w *lockWalk) composite(n *ast.CompositeLit) {
	t := w.info.TypeOf(n)
	if t == nil {
		return
	}
	if p, ok := t.Underlying().(*types.Pointer); ok {
		t = p.Elem()
	}
	st, ok := t.Underlying().(*types.Struct)
	if !ok {
		return
	}
	for i, e := range n.Elts {
		if kv, ok := e.(*ast.KeyValueExpr); ok {
			if id, ok := kv.Key.(*ast.Ident); ok {
				if f, ok := w.info.Uses[id].(*types.Var); ok {
					w.g.flow(f.Origin(), w.values(kv.Value)...)
				}
			}
		} else if i < st.NumFields() {
			w.g.flow(st.Field(i).Origin(), w.values(e)...)
		}
	}
}

// callee returns what a call calls: a *types.Func, or an expression that is a function; nil for a conversion or a builtin.
func (w *lockWalk) callee(c *ast.CallExpr) any {
	fun := ast.Unparen(c.Fun)
	if tv, ok := w.info.Types[fun]; ok && (tv.IsType() || tv.IsBuiltin()) {
		return nil
	}
	switch x := fun.(type) {
	case *ast.IndexExpr:
		if _, ok := w.info.TypeOf(x.X).(*types.Signature); ok {
			fun = ast.Unparen(x.X)
		}
	case *ast.IndexListExpr:
		fun = ast.Unparen(x.X)
	}
	var id *ast.Ident
	switch x := fun.(type) {
	case *ast.Ident:
		id = x
	case *ast.SelectorExpr:
		id = x.Sel
	default:
		return fun
	}
	if f, ok := w.info.Uses[id].(*types.Func); ok {
		return f.Origin()
	}
	return fun
}

// lockOp returns what a call does to a lock: Lock, Unlock, RLock, RUnlock, Do, Wait; "" if it is no such call.
func (w *lockWalk) lockOp(c *ast.CallExpr) (k lockKey, pos token.Pos, op string) {
	sel, ok := ast.Unparen(c.Fun).(*ast.SelectorExpr)
	if !ok {
		return "", 0, ""
	}
	f, ok := w.info.Uses[sel.Sel].(*types.Func)
	if !ok || f.Pkg() == nil || f.Pkg().Path() != "sync" {
		return "", 0, ""
	}
	recv := f.Signature().Recv()
	if recv == nil {
		return "", 0, ""
	}
	t := strings.TrimPrefix(types.TypeString(recv.Type(), nil), "*")
	switch t {
	case "sync.Mutex", "sync.RWMutex", "sync.Once", "sync.WaitGroup", "sync.Cond", "sync.Locker":
	default:
		return "", 0, ""
	}
	k, pos = w.lockOf(sel)
	return k, pos, f.Name()
}

// lockOf names the lock of which a method is selected.
func (w *lockWalk) lockOf(sel *ast.SelectorExpr) (lockKey, token.Pos) {
	if s := w.info.Selections[sel]; s != nil && len(s.Index()) > 1 { // embedded
		t := s.Recv()
		if p, ok := t.Underlying().(*types.Pointer); ok {
			t = p.Elem()
		}
		if st, ok := t.Underlying().(*types.Struct); ok {
			f := st.Field(s.Index()[0])
			return lockKey(typeName(t) + "." + f.Name()), f.Pos()
		}
	}
	switch x := ast.Unparen(sel.X).(type) {
	case *ast.SelectorExpr:
		if s := w.info.Selections[x]; s != nil {
			t := s.Recv()
			if p, ok := t.Underlying().(*types.Pointer); ok {
				t = p.Elem()
			}
			return lockKey(typeName(t) + "." + x.Sel.Name), s.Obj().Pos()
		}
		if o := w.info.Uses[x.Sel]; o != nil {
			return lockKey(shortPath(o.Pkg()) + "." + o.Name()), o.Pos()
		}
	case *ast.Ident:
		if o := w.info.Uses[x]; o != nil {
			if o.Parent() == o.Pkg().Scope() {
				return lockKey(shortPath(o.Pkg()) + "." + o.Name()), o.Pos()
			}
			at := w.g.fset.Position(o.Pos())
			return lockKey(fmt.Sprintf("%s.%s in %s", shortPath(o.Pkg()), o.Name(), filepath.Base(at.Filename))), o.Pos()
		}
	}
	at := w.g.fset.Position(sel.Pos())
	return lockKey(fmt.Sprintf("a lock at %s:%d", filepath.Base(at.Filename), at.Line)), 0
}

func shortPath(p *types.Package) string { return strings.TrimPrefix(p.Path(), module+"/") }

func typeName(t types.Type) string {
	if n, ok := types.Unalias(t).(*types.Named); ok {
		return shortPath(n.Obj().Pkg()) + "." + n.Obj().Name()
	}
	return types.TypeString(t, shortPath)
}

func (w *lockWalk) take(pos token.Pos, k lockKey) {
	w.fn.calls = append(w.fn.calls, &lockCall{pos: pos, held: w.held, take: k})
}

func (w *lockWalk) add(c *lockCall) {
	c.held = w.held
	w.fn.calls = append(w.fn.calls, c)
}

// once makes a function of what sync.OnceValue and its like return.
func (w *lockWalk) once(c *ast.CallExpr) {
	at := w.g.fset.Position(c.Pos())
	k := lockKey(fmt.Sprintf("%s at %s:%d", "once", filepath.Base(at.Filename), at.Line))
	f := &lockFunc{name: string(k), params: map[int]lockSet{}}
	f.calls = []*lockCall{{pos: c.Pos(), take: k}, {pos: c.Pos(), held: lockSet{k: true}, values: w.values(c.Args[0])}}
	w.g.funcs[c], w.g.onces[k] = f, true
}

// apartFuncs run what they are given later, or in another goroutine.
var apartFuncs = []string{"(*sync.WaitGroup).Go", "time.AfterFunc", "context.AfterFunc", "runtime.SetFinalizer", "runtime.AddCleanup"}

func (w *lockWalk) call(c *ast.CallExpr) {
	fun := ast.Unparen(c.Fun)
	if sel, ok := fun.(*ast.SelectorExpr); ok {
		w.expr(sel.X)
	} else if lit, ok := fun.(*ast.FuncLit); ok {
		w.literal(lit)
	} else if _, ok := fun.(*ast.Ident); !ok {
		w.expr(fun)
	}
	for _, a := range c.Args {
		w.expr(a)
	}
	if k, pos, op := w.lockOp(c); op != "" {
		if pos != 0 {
			w.g.declared[k] = pos
		}
		switch op {
		case "Lock", "RLock":
			w.take(c.Pos(), k)
			w.held = w.held.with(k)
		case "Unlock", "RUnlock":
			w.held = w.held.with()
			delete(w.held, k)
		case "Do":
			w.g.onces[k] = true
			w.take(c.Pos(), k)
			before := w.held
			w.held = w.held.with(k)
			w.add(&lockCall{pos: c.Pos(), values: w.values(c.Args[0])})
			w.held = before
		case "Wait":
			w.take(c.Pos(), waits)
		}
		if op != "Go" {
			return
		}
	}
	call := &lockCall{pos: c.Pos(), results: resultOf{c, 0}}
	for _, a := range c.Args {
		call.args = append(call.args, w.values(a))
	}
	switch to := w.callee(c).(type) {
	case nil:
		return // a conversion, or a builtin function
	case *types.Func:
		call.to = to
		switch name := to.FullName(); {
		case name == "sync.OnceFunc" || name == "sync.OnceValue" || name == "sync.OnceValues":
			w.once(c)
			return
		case slices.Contains(apartFuncs, name):
			return
		case name == "time.Sleep":
			w.take(c.Pos(), waits)
		case to.Pkg() != nil && blocking(to):
			w.take(c.Pos(), inOut)
		}
		for i, a := range call.args {
			if p := param(to.Signature(), i); p != nil {
				w.g.flow(p, a...)
			}
		}
	case ast.Expr:
		call.values = w.values(to)
		// A parameter of this function, or of one around it: its callers say what that is.
		if id, ok := to.(*ast.Ident); ok {
			if v, ok := w.info.Uses[id].(*types.Var); ok {
				if p, ok := w.g.paramOf[v]; ok {
					f := w.g.funcs[p.fn]
					f.params[p.n] = f.params[p.n].with(keys(w.held)...)
					return
				}
			}
		}
	}
	w.add(call)
}

func keys(s lockSet) (list []lockKey) {
	for k := range s {
		list = append(list, k)
	}
	return list
}

// blocking reports whether a function of another module or of Go's own packages reads, writes or waits.
func blocking(f *types.Func) bool {
	switch f.Pkg().Path() {
	case "os":
		switch f.Name() {
		case "Getpid", "Getenv", "Environ", "Getuid", "Geteuid", "Getgid", "Getpagesize", "IsNotExist", "TempDir", "Name", "Fd", "Error", "Unwrap",
			"Mode", "Size", "IsDir", "ModTime", "Sys", "Perm", "IsRegular", "LookupEnv", "NewFile", "String", "Type", "UserHomeDir", "UserCacheDir", "ExpandEnv":
			return false
		}
		return true
	case "os/exec", "net", "net/http", "database/sql", "io/ioutil":
		switch f.Name() {
		case "Error", "String", "ParseIP", "SplitHostPort", "JoinHostPort", "Set", "Get", "Add", "Del", "Header", "StatusText", "Context", "IsLoopback", "Timeout", "Unwrap", "Command", "CommandContext", "Err":
			return false
		}
		return true
	case "path/filepath":
		return slices.Contains([]string{"Glob", "WalkDir", "Walk", "EvalSymlinks"}, f.Name())
	case "syscall", "golang.org/x/sys/unix":
		return slices.Contains([]string{"Open", "Openat", "Read", "Pread", "Write", "Pwrite", "Wait4", "Waitid", "Poll", "Fsync", "Stat", "Fstat", "Lstat", "Mmap"}, f.Name())
	}
	return false
}

// param returns a parameter that may be a function, by the number of the argument.
func param(sig *types.Signature, i int) any {
	n := sig.Params().Len()
	if i >= n {
		if !sig.Variadic() {
			return nil
		}
		i = n - 1
	}
	return sig.Params().At(i)
}

// result returns a result of a call as a value.
func (w *lockWalk) result(c *ast.CallExpr, i int) []any {
	switch to := w.callee(c).(type) {
	case nil:
		return nil
	case *types.Func:
		if w.g.funcs[c] != nil { // sync.OnceValue
			return []any{c}
		}
		if n := to.FullName(); n == "sync.OnceFunc" || n == "sync.OnceValue" || n == "sync.OnceValues" {
			return []any{c}
		}
		return []any{resultOf{to, i}}
	default:
		return []any{resultOf{c, i}}
	}
}

// variable returns the variable or field that is assigned to.
func (w *lockWalk) variable(e ast.Expr) []any {
	if e == nil || !functional(w.info.TypeOf(e), 0) {
		return nil
	}
	switch x := ast.Unparen(e).(type) {
	case *ast.Ident:
		if o, ok := w.object(x).(*types.Var); ok {
			return []any{o.Origin()}
		}
	case *ast.SelectorExpr:
		if o, ok := w.info.Uses[x.Sel].(*types.Var); ok {
			return []any{o.Origin()}
		}
	case *ast.IndexExpr:
		return w.variable(x.X)
	case *ast.StarExpr:
		return w.variable(x.X)
	}
	return nil
}

func (w *lockWalk) object(id *ast.Ident) types.Object {
	if o := w.info.Defs[id]; o != nil {
		return o
	}
	return w.info.Uses[id]
}

// functional reports whether values of a type are functions, or have some as elements.
func functional(t types.Type, depth int) bool {
	if t == nil || depth > 4 {
		return false
	}
	switch u := t.Underlying().(type) {
	case *types.Signature:
		return true
	case *types.Pointer:
		return functional(u.Elem(), depth+1)
	case *types.Slice:
		return functional(u.Elem(), depth+1)
	case *types.Array:
		return functional(u.Elem(), depth+1)
	case *types.Map:
		return functional(u.Elem(), depth+1)
	case *types.Chan:
		return functional(u.Elem(), depth+1)
	}
	return false
}

// values returns what an expression that is a function may be: functions, literals, variables, results of calls.
func (w *lockWalk) values(e ast.Expr) []any {
	e = ast.Unparen(e)
	if lit, ok := e.(*ast.FuncLit); ok {
		w.literal(lit)
		return []any{lit}
	}
	t := w.info.TypeOf(e)
	if !functional(t, 0) {
		return nil
	}
	switch x := e.(type) {
	case *ast.Ident:
		switch o := w.object(x).(type) {
		case *types.Func:
			return []any{o.Origin()}
		case *types.Var:
			return []any{o.Origin()}
		}
	case *ast.SelectorExpr:
		switch o := w.info.Uses[x.Sel].(type) {
		case *types.Func:
			return []any{o.Origin()}
		case *types.Var:
			return []any{o.Origin()}
		}
	case *ast.CallExpr:
		if tv, ok := w.info.Types[ast.Unparen(x.Fun)]; ok && tv.IsType() && len(x.Args) == 1 {
			return w.values(x.Args[0])
		}
		if id, ok := ast.Unparen(x.Fun).(*ast.Ident); ok && id.Name == "append" {
			var list []any
			for _, a := range x.Args {
				list = append(list, w.values(a)...)
			}
			return list
		}
		return w.result(x, 0)
	case *ast.IndexExpr:
		return w.values(x.X)
	case *ast.SliceExpr:
		return w.values(x.X)
	case *ast.StarExpr:
		return w.values(x.X)
	case *ast.UnaryExpr:
		return w.values(x.X)
	case *ast.TypeAssertExpr:
		return nil
	case *ast.CompositeLit:
		var list []any
		for _, el := range x.Elts {
			if kv, ok := el.(*ast.KeyValueExpr); ok {
				el = kv.Value
			}
			list = append(list, w.values(el)...)
		}
		return list
	}
	return nil
}

// solve finds what function values are, and what each function may take.
func (g *lockGraph) solve() {
	for changed := true; changed; {
		g.targets = map[any]map[any]bool{}
		changed = false
		for _, f := range g.funcs {
			for _, c := range f.calls {
				if c.to != nil || c.take != "" {
					continue
				}
				for t := range g.functionsOf(c.values) {
					changed = g.bind(c, t) || changed
				}
			}
		}
	}
	// What a function does to its parameters, it does through those that it passes them to, too.
	for changed := true; changed; {
		changed = false
		for key, f := range g.funcs {
			for _, c := range f.calls {
				if len(c.args) == 0 {
					continue
				}
				for _, t := range g.called(c) {
					callee := g.funcs[t]
					for i, held := range callee.params {
						for _, a := range arg(c, i) {
							v, ok := a.(*types.Var)
							if !ok {
								continue
							}
							p, ok := g.paramOf[v]
							if !ok {
								continue
							}
							owner := g.funcs[p.fn]
							_ = key
							before, had := owner.params[p.n]
							now := before.with(keys(held)...).with(keys(c.held)...)
							if !had || len(now) != len(before) {
								owner.params[p.n] = now
								changed = true
							}
						}
					}
				}
			}
		}
	}
	for _, f := range g.funcs {
		f.acquires = lockSet{}
		for _, c := range f.calls {
			if c.take != "" {
				f.acquires[c.take] = true
				continue
			}
			if c.to != nil && g.funcs[c.to] == nil && !isInterfaceMethod(c.to) { // outside the module
				for _, a := range c.args {
					for t := range g.functionsOf(a) {
						f.edges = append(f.edges, lockEdge{c.pos, c.held, g.funcs[t]})
					}
				}
				continue
			}
			for _, t := range g.called(c) {
				callee := g.funcs[t]
				if cut := (lockCut{f.room(), callee.name}); g.cuts[cut] != "" {
					continue
				}
				f.edges = append(f.edges, lockEdge{c.pos, c.held, callee})
				for i, held := range callee.params {
					for t := range g.functionsOf(g.given(c, i)) {
						f.edges = append(f.edges, lockEdge{c.pos, c.held.with(keys(held)...), g.funcs[t]})
					}
				}
			}
		}
	}
	callers := map[*lockFunc][]*lockFunc{}
	var todo []*lockFunc
	var locks []lockKey
	number := map[lockKey]int{}
	sets := map[*lockFunc]*big.Int{} // of numbers: sets of names take ten times as long
	for _, f := range g.funcs {
		for _, e := range f.edges {
			callers[e.to] = append(callers[e.to], f)
		}
		sets[f] = new(big.Int)
		for k := range f.acquires {
			n, ok := number[k]
			if !ok {
				n = len(locks)
				number[k], locks = n, append(locks, k)
			}
			sets[f].SetBit(sets[f], n, 1)
		}
		if len(f.acquires) > 0 {
			todo = append(todo, f)
		}
	}
	var both big.Int
	for len(todo) > 0 {
		to := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		for _, f := range callers[to] {
			if both.Or(sets[f], sets[to]); both.Cmp(sets[f]) != 0 {
				sets[f].Set(&both)
				todo = append(todo, f)
			}
		}
	}
	for f, set := range sets {
		for n, k := range locks {
			if set.Bit(n) == 1 {
				f.acquires[k] = true
			}
		}
	}
}

// arg returns what a call passes as a parameter.
func arg(c *lockCall, i int) []any {
	if i < len(c.args) {
		return c.args[i]
	}
	return nil
}

// given is arg without parameters of the caller: whoever calls that says what they are.
func (g *lockGraph) given(c *lockCall, i int) []any {
	return slices.DeleteFunc(slices.Clone(arg(c, i)), func(a any) bool {
		v, ok := a.(*types.Var)
		if ok {
			_, ok = g.paramOf[v]
		}
		return ok
	})
}

func isInterfaceMethod(f *types.Func) bool {
	r := f.Signature().Recv()
	return r != nil && types.IsInterface(r.Type())
}

// called returns the functions that a call may lead to.
func (g *lockGraph) called(c *lockCall) (list []any) {
	switch {
	case c.take != "":
	case c.to == nil:
		for t := range g.functionsOf(c.values) {
			list = append(list, t)
		}
	case isInterfaceMethod(c.to):
		return g.implementations(c.to)
	case g.funcs[c.to] != nil:
		return []any{c.to}
	}
	return list
}

// implementations returns the methods of all types that implement the interface of a method.
func (g *lockGraph) implementations(m *types.Func) (list []any) {
	if list, ok := g.methods[m]; ok {
		return list
	}
	iface, ok := m.Signature().Recv().Type().Underlying().(*types.Interface)
	if !ok || m.Pkg() == nil || !g.own[m.Pkg()] {
		return nil
	}
	for _, n := range g.named {
		if n.TypeParams().Len() > 0 {
			continue
		}
		p := types.NewPointer(n)
		if o, _, _ := types.LookupFieldOrMethod(p, false, m.Pkg(), m.Name()); o == nil || !types.Implements(p, iface) {
			continue
		}
		if s := types.NewMethodSet(p).Lookup(m.Pkg(), m.Name()); s != nil {
			if f := s.Obj().(*types.Func).Origin(); g.funcs[f] != nil {
				list = append(list, f)
			}
		}
	}
	g.methods[m] = list
	return list
}

// bind lets the arguments of a call of a value flow to the parameters of a function that it may be, and its results back. It reports whether that
// is new.
func (g *lockGraph) bind(c *lockCall, t any) (fresh bool) {
	add := func(to any, from ...any) {
		for _, f := range from {
			if to != nil && f != nil && !g.flows[to][f] {
				g.flow(to, f)
				fresh = true
			}
		}
	}
	var sig *types.Signature
	switch t := t.(type) {
	case *types.Func:
		sig = t.Signature()
	case *ast.FuncLit:
		for i, v := range g.params[t] {
			if i < len(c.args) {
				add(v, c.args[i]...)
			}
		}
	}
	if sig != nil {
		for i, a := range c.args {
			if p := param(sig, i); p != nil {
				add(p, a...)
			}
		}
	}
	if c.results.of != nil {
		for i := range 3 {
			if len(g.flows[resultOf{t, i}]) > 0 {
				add(resultOf{c.results.of, i}, resultOf{t, i})
			}
		}
	}
	return fresh
}

// functionsOf returns the functions that values may be.
func (g *lockGraph) functionsOf(values []any) map[any]bool {
	if len(values) == 1 {
		if t, ok := g.targets[values[0]]; ok {
			return t
		}
	}
	found, seen := map[any]bool{}, map[any]bool{}
	todo := slices.Clone(values)
	for len(todo) > 0 {
		v := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		if seen[v] {
			continue
		}
		seen[v] = true
		if f, ok := v.(*types.Func); ok && isInterfaceMethod(f) {
			for _, m := range g.implementations(f) {
				found[m] = true
			}
		} else if g.funcs[v] != nil {
			found[v] = true
		}
		for from := range g.flows[v] {
			todo = append(todo, from)
		}
	}
	if len(values) == 1 && g.targets != nil {
		g.targets[values[0]] = found
	}
	return found
}

// traced reports whether it is known which functions values may be; those of other modules, too.
func (g *lockGraph) traced(values []any) bool {
	seen := map[any]bool{}
	for todo := slices.Clone(values); len(todo) > 0; {
		v := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		if _, ok := v.(*types.Func); ok || g.funcs[v] != nil {
			return true
		}
		for from := range g.flows[v] {
			if !seen[from] {
				seen[from] = true
				todo = append(todo, from)
			}
		}
	}
	return false
}

// A lockOrder says that a lock may be taken while another is held.
type lockOrder struct{ held, taken lockKey }

// A lockPlace is where that happens: in a function, or in what it calls.
type lockPlace struct {
	pos      token.Pos
	from, to *lockFunc // to is nil if from takes it itself
}

// orders lists which locks are taken while others are held, with a place for each.
func (g *lockGraph) orders() map[lockOrder]lockPlace {
	list := map[lockOrder]lockPlace{}
	note := func(held, taken lockKey, p lockPlace) {
		o := lockOrder{held, taken}
		old, ok := list[o]
		if direct := p.to == nil; !ok || direct && old.to != nil || direct == (old.to == nil) && p.pos < old.pos {
			list[o] = p
		}
	}
	for _, f := range g.funcs {
		for _, c := range f.calls {
			for h := range c.held {
				switch {
				case c.take != "":
					note(h, c.take, lockPlace{c.pos, f, nil})
				case c.to == nil && !g.traced(c.values):
					note(h, unknown, lockPlace{c.pos, f, nil})
				}
			}
		}
		for _, e := range f.edges {
			for h := range e.held {
				for k := range e.to.acquires {
					note(h, k, lockPlace{e.pos, f, e.to})
				}
			}
		}
	}
	return list
}

// describe says where a lock is taken, and by which calls.
func (g *lockGraph) describe(p lockPlace, taken lockKey) string {
	calls := []string{p.from.name}
	if p.to != nil {
		calls = append(calls, g.path(p.to, taken)...)
	}
	at := g.fset.Position(p.pos)
	file := at.Filename
	if rel, err := filepath.Rel(root, file); err == nil {
		file = rel
	}
	return fmt.Sprintf("%s:%d: %s", file, at.Line, strings.Join(calls, ", "))
}

// path returns the calls by which a function takes a lock.
func (g *lockGraph) path(from *lockFunc, k lockKey) []string {
	type step struct {
		f  *lockFunc
		up int
	}
	list, seen := []step{{from, -1}}, map[*lockFunc]bool{from: true}
	for i := 0; i < len(list); i++ {
		f := list[i].f
		if slices.ContainsFunc(f.calls, func(c *lockCall) bool { return c.take == k }) {
			var names []string
			for at := i; at >= 0; at = list[at].up {
				names = append(names, list[at].f.name)
			}
			slices.Reverse(names)
			return names
		}
		for _, e := range f.edges {
			if !seen[e.to] && e.to.acquires[k] {
				seen[e.to] = true
				list = append(list, step{e.to, i})
			}
		}
	}
	return nil
}

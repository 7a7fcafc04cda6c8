package lint

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"maps"
	"slices"
	"strings"
	"testing"
)

// TestNoInternalTypeIsPublic: what a program outside the module can reach of a public
// package names no type of a package below internal/, which that program could not name.
func TestNoInternalTypeIsPublic(t *testing.T) {
	list := goList(t)
	names := map[string]string{}
	for _, p := range list {
		names[p.path] = p.name
	}
	read := exportImporter(list)
	public := 0
	for _, path := range slices.Sorted(maps.Keys(names)) {
		if path != module && !strings.HasPrefix(path, module+"/") || isInternal(path) || names[path] == "main" {
			continue
		}
		p, err := read.Import(path)
		if err != nil {
			t.Fatal(err)
		}
		public++
		for _, f := range internalNames(p) {
			t.Errorf("%s: %s", path, f)
		}
	}
	if public < 13 {
		t.Errorf("only %d public packages were read", public)
	}
}

func isInternal(path string) bool {
	return strings.HasSuffix(path, "/internal") || strings.Contains(path, "/internal/")
}

// internalNames lists the exported declarations of a package that lead to internal types,
// each as "declaration: type".
func internalNames(p *types.Package) []string {
	w := &exportWalk{pkg: p, seen: map[types.Type]bool{}}
	for _, name := range p.Scope().Names() {
		if o := p.Scope().Lookup(name); o.Exported() {
			w.object(o)
		}
	}
	slices.Sort(w.found)
	return slices.Compact(w.found)
}

// An exportWalk goes through what is reachable from outside.
type exportWalk struct {
	pkg   *types.Package
	seen  map[types.Type]bool
	found []string
}

func (w *exportWalk) object(o types.Object) {
	name, isType := o.(*types.TypeName)
	if !isType {
		w.mentions(o.Name(), o.Type())
		return
	}
	if a, ok := o.Type().(*types.Alias); ok {
		w.mentions(o.Name(), a.Rhs())
		return
	}
	w.named(name.Name(), o.Type().(*types.Named))
}

// named walks what a declared type of the package offers: its exported methods, and
// fields, promoted ones included.
func (w *exportWalk) named(at string, n *types.Named) {
	if w.seen[n] {
		return
	}
	w.seen[n] = true
	w.constraints(at, n.TypeParams())
	switch u := n.Underlying().(type) {
	case *types.Struct:
		w.fields(at, u)
	default:
		w.mentions(at, u)
	}
	methods := types.NewMethodSet(types.NewPointer(n))
	if types.IsInterface(n) {
		methods = types.NewMethodSet(n)
	}
	for m := range methods.Methods() {
		if m.Obj().Exported() {
			w.mentions(at+"."+m.Obj().Name(), m.Type())
		}
	}
}

// fields walks the fields of a struct that can be selected from outside: those of an
// embedded struct too, whatever its own name.
func (w *exportWalk) fields(at string, s *types.Struct) {
	for f := range s.Fields() {
		if f.Exported() {
			w.mentions(at+"."+f.Name(), f.Type())
		} else if f.Embedded() {
			t := f.Type()
			if p, ok := types.Unalias(t).(*types.Pointer); ok {
				t = p.Elem()
			}
			if inner, ok := t.Underlying().(*types.Struct); ok && !w.seen[t] {
				w.seen[t] = true
				w.fields(at, inner)
			}
		}
	}
}

func (w *exportWalk) constraints(at string, list *types.TypeParamList) {
	for p := range list.TypeParams() {
		w.mentions(at, p.Constraint())
	}
}

// mentions looks for names of internal types in a type as it is written.
func (w *exportWalk) mentions(at string, t types.Type) {
	switch t := t.(type) {
	case *types.Alias:
		if !w.isInternal(at, t.Obj()) {
			w.mentions(at, t.Rhs())
		}
	case *types.Named:
		for a := range t.TypeArgs().Types() {
			w.mentions(at, a)
		}
		// A type without a public name is reached through what returns it.
		if !w.isInternal(at, t.Obj()) && t.Obj().Pkg() == w.pkg && !t.Obj().Exported() {
			w.named(at, t)
		}
	case interface{ Elem() types.Type }: // pointer, slice, array, channel, map
		if m, ok := t.(*types.Map); ok {
			w.mentions(at, m.Key())
		}
		w.mentions(at, t.Elem())
	case *types.Tuple:
		for v := range t.Variables() {
			w.mentions(at, v.Type())
		}
	case *types.Signature:
		w.constraints(at, t.TypeParams())
		w.mentions(at, t.Params())
		w.mentions(at, t.Results())
	case *types.Struct:
		w.fields(at, t)
	case *types.Interface:
		for e := range t.EmbeddedTypes() {
			w.mentions(at, e)
		}
		for m := range t.ExplicitMethods() {
			if m.Exported() {
				w.mentions(at+"."+m.Name(), m.Type())
			}
		}
	case *types.Union:
		for term := range t.Terms() {
			w.mentions(at, term.Type())
		}
	}
}

// isInternal reports whether a type's name is internal, and notes it.
func (w *exportWalk) isInternal(at string, o *types.TypeName) bool {
	if o.Pkg() == nil || !isInternal(o.Pkg().Path()) {
		return false
	}
	w.found = append(w.found, fmt.Sprintf("%s: %s.%s", at, strings.TrimPrefix(o.Pkg().Path(), module+"/"), o.Name()))
	return true
}

// TestInternalNames: the walk finds every way to an internal type, and passes what cannot
// be reached.
func TestInternalNames(t *testing.T) {
	hidden := check(t, "m/internal/x", nil, `package x
type T struct{ Field int }
func (T) Method() {}
type U struct{ V T; w T }
func (*U) Give() T { return T{} }
func (*U) reach() T { return T{} }
type I interface{ M() }
type A = T
`)
	for name, tt := range map[string]struct {
		src  string
		want []string
	}{
		"function":           {`func F(*x.T) {}`, []string{"F: m/internal/x.T"}},
		"result":             {`func F() (int, []x.T) { return 0, nil }`, []string{"F: m/internal/x.T"}},
		"function type":      {`type F func(func(map[x.T]int))`, []string{"F: m/internal/x.T"}},
		"variable":           {`var V chan x.T`, []string{"V: m/internal/x.T"}},
		"alias":              {`type A = x.T`, []string{"A: m/internal/x.T"}},
		"alias of an alias":  {`type a = x.A; func F(a) {}`, []string{"F: m/internal/x.A"}},
		"method":             {`type T struct{}; func (*T) M() x.T { return x.T{} }`, []string{"T.M: m/internal/x.T"}},
		"promoted method":    {`type u = x.U; type T struct{ u }`, []string{"T.Give: m/internal/x.T", "T.V: m/internal/x.T"}},
		"field":              {`type T struct{ F struct { G [2]x.T } }`, []string{"T.F.G: m/internal/x.T"}},
		"embedded":           {`type T struct{ *x.T }`, []string{"T.T: m/internal/x.T"}},
		"interface method":   {`type T interface { M(x.I) }`, []string{"T.M: m/internal/x.I"}},
		"embedded interface": {`type T interface { x.I }`, []string{"T: m/internal/x.I"}},
		"type parameter":     {`func F[P x.I](P) {}`, []string{"F: m/internal/x.I"}},
		"type argument":      {`type G[P any] struct{ p P }; func F(G[x.T]) {}`, []string{"F: m/internal/x.T"}},
		"unexported result":  {`type t struct{}; func (t) M() x.T { return x.T{} }; func F() t { return t{} }`, []string{"F.M: m/internal/x.T"}},
		"defined from":       {`type T x.U`, []string{"T.V: m/internal/x.T"}},
		"unexported":         {`func f(x.T) {}; type t struct { F x.T }; type T struct { f x.T }; func (T) m(x.T) {}`, nil},
		"of another name":    {`type internal struct{}; func F(internal) {}; var _ x.T`, nil},
	} {
		p := check(t, "m", hidden, "package m\nimport \"m/internal/x\"\n"+tt.src)
		if got := internalNames(p); !slices.Equal(got, tt.want) {
			t.Errorf("%s: %q, want %q", name, got, tt.want)
		}
	}
}

// check compiles a package that may import one other.
func check(t *testing.T, path string, other *types.Package, src string) *types.Package {
	t.Helper()
	set := token.NewFileSet()
	f, err := parser.ParseFile(set, "a.go", src, 0)
	if err != nil {
		t.Fatal(err)
	}
	conf := types.Config{Importer: onePackage{other}}
	p, err := conf.Check(path, set, []*ast.File{f}, nil)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

type onePackage struct{ *types.Package }

func (o onePackage) Import(path string) (*types.Package, error) {
	if o.Package == nil || path != o.Path() {
		return nil, fmt.Errorf("no package %s", path)
	}
	return o.Package, nil
}

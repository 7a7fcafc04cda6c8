package dwarfvars

import (
	"bytes"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/corewalk/corewalk/internal/files/image"
	"github.com/corewalk/corewalk/internal/format/dwarf"
	"github.com/corewalk/corewalk/internal/format/dwarf/op"
	"github.com/corewalk/corewalk/internal/vars/paths"
	"github.com/corewalk/corewalk/internal/vars/types"
	"github.com/corewalk/corewalk/internal/vars/unknown"
	"github.com/corewalk/corewalk/internal/vars/values"
	"github.com/corewalk/corewalk/libstate"
	"github.com/corewalk/corewalk/unwind/arch"
)

// What a name means: a variable of the frame, a member of this, a variable of the program, a symbol.

const (
	arrayTag   = dwarf.TagArrayType
	typedefTag = dwarf.TagTypedef
)

// maxNamedSearch is how many bytes of debugging information are searched for a variable of the program.
const maxNamedSearch = 256 << 20

func (e *evaluation) ident(n *paths.Ident) (Object, error) {
	find := e.variable
	if n.Global {
		find = e.outside
	}
	t, err := find(n.Name)
	if lower := strings.ToLower(n.Name); errors.Is(err, errNoVariable) && !e.dialect.Calls() && lower != n.Name {
		return e.ident(&paths.Ident{Name: lower, Quoted: n.Quoted})
	}
	if errors.Is(err, errNoVariable) && e.dialect == paths.Pascal {
		if t, err := e.anyCase(n.Name); !errors.Is(err, errNoVariable) {
			return t, err
		}
	}
	if err == nil || !errors.Is(err, errNoVariable) {
		return t, err
	}
	if t, ok, err := e.enumerator(n.Name); ok || err != nil {
		return t, err
	}
	if t, ok, err := e.function(n); ok || err != nil {
		return t, err
	}
	if upper := strings.ToUpper(n.Name); e.dialect == paths.Pascal && upper != n.Name { // as debugging information of DWARF 2 has names
		if t, ok, err := e.enumerator(upper); ok || err != nil {
			return t, err
		}
		if t, ok, err := e.function(&paths.Ident{Name: upper}); ok || err != nil {
			return t, err
		}
	}
	if u := e.a.fn.Unit; u != nil && e.dialect == paths.Plain && !n.Quoted {
		if d, ok := unplaced(u, e.scoped(strings.TrimPrefix(n.Name, "::"))); ok {
			return e.leftOut(gather(d).typ, unknown.ErrOptimisedOut)
		}
	}
	if addr, ok := e.symbol(n.Name); ok {
		if lib := e.libraryOf(addr); lib != nil && lib != e.a.Library {
			e.other = lib
		}
		if e.a.r.mem.SymbolText(addr) != "" && e.executable(addr) {
			return e.word(e.pointerTo(e.a.r.types.Of(types.Ref{})), addr)
		}
		of := ""
		if e.other != nil {
			of = " of " + path.Base(e.other.Path)
		}
		return Object{}, fmt.Errorf("%s%s is at %#x, but no debugging information tells its type: write *(type *)&%s", n.Name, of, addr, n.Name)
	}
	return Object{}, e.unknownName(n.Name)
}

var errNoVariable = errors.New("no such variable")

// unknownName says which variables there are instead.
func (e *evaluation) unknownName(name string) error {
	const most = 10
	var names []string
	for _, s := range e.scopes {
		for _, list := range [...][]*LocalVar{s.Params, s.Locals} {
			for _, v := range list {
				if v.Name != "" && !v.Artificial && e.a.inScope(v) && len(names) < most {
					names = append(names, v.Name)
				}
			}
		}
	}
	switch {
	case len(names) > 0:
		return fmt.Errorf("no variable is called %s; the frame has %s", name, strings.Join(names, ", "))
	case e.a.fn.Unit == nil && e.a.rec == nil:
		return fmt.Errorf("no variable is called %s; the frame has no debugging information", name)
	}
	return fmt.Errorf("no variable is called %s", name)
}

// unresolved reports whether nothing has a name.
func (e *evaluation) unresolved(name string) bool {
	_, err := e.variable(name)
	return errors.Is(err, errNoVariable)
}

// variable finds a variable by its name. The error is errNoVariable if there is none.
func (e *evaluation) variable(name string) (Object, error) {
	var lost error
	var declared types.Ref // the type of what is lost
	for _, s := range e.scopes {
		for _, list := range [...][]*LocalVar{s.Locals, s.Params} {
			for _, v := range list {
				if v.Name != name || !e.a.inScope(v) {
					continue
				}
				ob, err := e.a.object(v)
				if err == nil {
					return e.object(e.deferred(ob, name), nil)
				}
				if lost == nil {
					lost, declared = err, v.attrs.typ
				}
			}
		}
	}
	if lost != nil {
		return e.leftOut(declared, lost)
	}
	if t, err := e.enclosing(name); !errors.Is(err, errNoVariable) {
		return t, err
	}
	if t, ok := e.ofThis(name); ok {
		return t, nil
	}
	if e.dialect == paths.Ada {
		for _, n := range e.scoped(name) {
			if _, inner, ok := strings.Cut(n, "__"); ok { // of a package in a procedure, whose name GNAT leaves out
				if t, err := e.enclosing(inner); !errors.Is(err, errNoVariable) {
					return t, err
				}
			}
			if t, err := e.global(n); !errors.Is(err, errNoVariable) {
				return t, err
			}
		}
		return e.ofNested(name)
	}
	if t, ok, err := e.templateValue(name); ok || err != nil {
		return t, err
	}
	return e.outside(name)
}

// outside finds a variable that no call has. The error is errNoVariable if there is none.
func (e *evaluation) outside(name string) (Object, error) {
	t, err := e.global(name)
	if !errors.Is(err, errNoVariable) {
		return t, err
	}
	class, member := outer(name), lastPart(name)
	if class == "" {
		return t, err
	}
	if of, ok := e.lookup(class); ok {
		if static, missing := e.object(e.x.Static(of, member)); missing == nil {
			return static, nil
		}
	}
	for _, n := range spellings(class) {
		if t, err := e.global(n + "::" + member); !errors.Is(err, errNoVariable) {
			return t, err
		}
	}
	for _, space := range e.usedIn(class) {
		if t, err := e.global(space + "::" + member); !errors.Is(err, errNoVariable) {
			return t, err
		}
	}
	return e.ofFunction(class, member)
}

// leftOut is a variable that has no value, for which err is the reason: where its type is asked for, it has one.
func (e *evaluation) leftOut(t types.Ref, err error) (Object, error) {
	if e.typesOnly && t.Valid() {
		return Object{in: e.in, ob: values.Object{Type: e.a.r.types.Of(t)}, at: true}, nil
	}
	return Object{}, err
}

// ofThis finds a member of the object whose method the function is.
func (e *evaluation) ofThis(name string) (Object, bool) {
	u := e.a.fn.Unit
	objc := u != nil && (u.Language == dwarf.LangObjC || u.Language == dwarf.LangObjCPlus)
	for _, s := range e.scopes {
		for _, v := range s.Params {
			if v.Name != "this" && !(objc && v.Name == "self") {
				continue
			}
			this, err := e.a.object(v)
			if err != nil {
				return Object{}, false
			}
			t, err := e.object(e.x.Member(&this, name))
			return t, err == nil
		}
	}
	return Object{}, false
}

// global finds a variable of the program: in the unit of the function, in the rest of its file, in other libraries. Of these
// only what they export, as the dynamic linker does, unless the name begins with that of the library: libc.so.6::rc. Of the program itself all, as who looks at a
// frame of a library asks about the program.
func (e *evaluation) global(name string) (Object, error) {
	name = strings.TrimPrefix(name, "::")
	of := ""
	if module, rest, ok := strings.Cut(name, "::"); ok && strings.Contains(module, ".") {
		of, name = module, rest
	}
	names := []string{name}
	if pkg, _, ok := strings.Cut(e.a.Name, "."); ok && e.a.fn.Unit != nil && e.a.fn.Unit.Language == dwarf.LangGo && !strings.Contains(name, ".") {
		names = append(names, pkg+"."+name)
	}
	left := uint64(maxNamedSearch)
	if u := e.a.fn.Unit; u != nil && of == "" {
		for _, n := range names {
			if d := globalIn(u, n, true); d.Valid() {
				return e.programVariable(e.a.Function, d)
			}
		}
	}
	all := e.libraries()
	q := &dwarf.NameQuery{Name: lastPart(name), Fits: func(t dwarf.Tag) bool { return t == dwarf.TagVariable || t == dwarf.TagConstant }}
	for i, lib := range all {
		if i > 0 && lib == e.a.Library {
			continue
		}
		im := e.a.r.file(lib)
		ofFile := of != "" && path.Base(lib.Path) != of // of a source file, perhaps
		if !im.HasDWARF() || ofFile && lib != e.a.Library {
			continue
		}
		foreign := lib != e.a.Library
		d := im.DWARF()
		if d == nil {
			continue
		}
		var found dwarf.DIE
		search := d.Listing(q).Search(func(u *dwarf.Unit) (ok, end bool) {
			if ofFile && !compiledFrom(u, of) {
				return false, false
			}
			for _, n := range names {
				if found = globalIn(u, n, i == 0 || of != ""); found.Valid() {
					if ok := !foreign || of != "" || lib.Kind == libstate.Executable || exported(im, found); ok {
						return true, true
					}
					found = dwarf.DIE{}
				}
			}
			return false, false
		}, nil)
		d.Units(func(u *dwarf.Unit) bool {
			if u.End-u.Off > left {
				return false
			}
			left -= u.End - u.Off
			return !search.Try(u)
		})
		if found.Valid() {
			if foreign {
				e.other = lib
			}
			return e.programVariable(&Function{r: e.a.r, Library: lib, im: im, bias: im.Bias(lib.LoadBias)}, found)
		}
	}
	return Object{}, errNoVariable
}

// compiledFrom reports whether a unit is that of a source file, by the end of its path.
func compiledFrom(u *dwarf.Unit, file string) bool {
	name := u.Name()
	return name == file || strings.HasSuffix(name, "/"+file)
}

// exported reports whether the file of a variable gives it to other modules.
func exported(im *image.Image, d dwarf.DIE) bool {
	at := gather(d)
	if !at.external {
		return false
	}
	v := d.Unit.Value(at.origin.Off, dwarf.AttrLinkageName)
	name := at.nameIn.Text(&at.name)
	if v.Present() && at.origin.Unit == d.Unit {
		name = d.Unit.Text(&v)
	}
	s, ok := im.SymbolByName(name)
	return ok && s.Bind != localSymbol && s.Other&3 != hiddenSymbol && s.Other&3 != internalSymbol
}

// Of symbols of ELF files: STB_LOCAL, STV_INTERNAL, STV_HIDDEN.
const (
	localSymbol    = 0
	internalSymbol = 1
	hiddenSymbol   = 2
)

// lastPart is a name without its scopes.
func lastPart(name string) string {
	if scope := outer(name); scope != "" {
		return name[len(scope)+2:]
	}
	return strings.TrimPrefix(name, "::")
}

// globalIn finds a variable with a place in a unit by its name with scopes, or, with bare, by its last part alone.
func globalIn(u *dwarf.Unit, name string, bare bool) (found dwarf.DIE) {
	name = strings.ReplaceAll(name, "(anonymous namespace)::", "") // what is in it has no other name
	last := lastPart(name)
	same := func(a, b string) bool { return a == b || u.Language == dwarf.LangPascal83 && strings.EqualFold(a, b) }
	var e dwarf.Entry
	var v dwarf.Value
	c := u.Cursor(u.Root())
	for c.Next(&e) && c.Level() > 0 {
		switch e.Tag {
		case 0, dwarf.TagCompileUnit, dwarf.TagPartialUnit, dwarf.TagTypeUnit, dwarf.TagNamespace, dwarf.TagModule:
			continue
		case dwarf.TagVariable, dwarf.TagConstant:
			own, ok := "", false
			if c.Find(dwarf.AttrName, &v) {
				b, _ := u.Bytes(&v)
				own, ok = string(b), true
			}
			if !ok || same(own, last) || same(own, name) {
				d := dwarf.DIE{Unit: u, Off: e.Off}
				at := gather(d)
				if at.nameIn == nil || at.locIn == nil && at.cstIn == nil {
					break
				}
				plain := at.nameIn.Text(&at.name)
				if !same(plain, last) && !same(plain, name) {
					break
				}
				full := plain
				if scopes, _, ok := at.origin.Scopes(); ok && !types.IsC(u.Language) {
					full = strings.Join(append(scopes, plain), "::")
				}
				full = strings.ReplaceAll(full, "(anonymous namespace)::", "")
				if same(full, name) || same(plain, name) {
					if same(full, name) || bare {
						return d
					}
				} else if strings.HasSuffix(full, "::"+name) {
					found = d
				}
			}
		}
		c.SkipChildren()
	}
	if !bare {
		return dwarf.DIE{}
	}
	return found
}

// unplaced returns the variable outside of functions with one of some names of which the compiler of a unit left nothing; false if there is none.
func unplaced(u *dwarf.Unit, names []string) (dwarf.DIE, bool) {
	last := lastPart(names[len(names)-1])
	var e dwarf.Entry
	var v dwarf.Value
	c := u.Cursor(u.Root())
	for c.Next(&e) && c.Level() > 0 {
		switch e.Tag {
		case 0, dwarf.TagCompileUnit, dwarf.TagPartialUnit, dwarf.TagTypeUnit, dwarf.TagNamespace, dwarf.TagModule:
			continue
		case dwarf.TagVariable:
			if !c.Find(dwarf.AttrName, &v) {
				break
			}
			if own, _ := u.Bytes(&v); string(own) != last {
				break
			}
			d := dwarf.DIE{Unit: u, Off: e.Off}
			full := fullName(d)
			plain := strings.ReplaceAll(full, "(anonymous namespace)::", "")
			if declared := u.Value(e.Off, dwarf.AttrDeclaration); declared.Present() && plain == full {
				break // what is in such a namespace is defined in no other file
			}
			if at := gather(d); at.locIn == nil && at.cstIn == nil && slices.Contains(names, plain) {
				return d, true
			}
		}
		c.SkipChildren()
	}
	return dwarf.DIE{}, false
}

// programVariable returns a variable that no function has. fn has the file that it is in.
func (e *evaluation) programVariable(fn *Function, d dwarf.DIE) (Object, error) {
	s := &scene{r: e.a.r, fn: fn, frames: e.in.frames, index: e.in.index}
	a := s.enter()
	defer a.Close()
	v := &LocalVar{fn: fn, die: d, attrs: gather(d)}
	if nowhere(v.attrs.loc.B) {
		return Object{}, errors.New("the program does not have it: the linker left it out")
	}
	a.e.unit = d.Unit
	ob, err := a.object(v)
	return Object{in: e.in, ob: ob, at: true}, err
}

// nowhere reports whether a location is the address 0, which linkers write for what they leave out: there is the file's header.
func nowhere(location []byte) bool {
	return len(location) > 4 && op.Op(location[0]) == op.Addr && len(bytes.Trim(location[1:], "\x00")) == 0
}

// libraries lists those of the process, that of the frame first.
func (e *evaluation) libraries() []*libstate.Library {
	libs := e.a.r.proc.LibraryTracker()
	if libs == nil {
		return nil
	}
	all, _ := libs.Libraries(false)
	if own := e.a.Library; own != nil {
		all = append([]*libstate.Library{own}, all...)
	}
	return all
}

// symbol returns the address of a symbol of the frame's library, or of another one.
func (e *evaluation) symbol(name string) (arch.Address, bool) {
	for _, lib := range e.libraries() {
		im := e.a.r.file(lib)
		if s, ok := im.SymbolByName(name); ok && s.Value != 0 {
			return s.Value + im.Bias(lib.LoadBias), true
		}
	}
	return 0, false
}

// libraryOf returns the library at an address; nil if there is none.
func (e *evaluation) libraryOf(addr arch.Address) *libstate.Library {
	if libs := e.a.r.proc.LibraryTracker(); libs != nil {
		if lib, ok := libs.LibraryAt(addr); ok {
			return lib
		}
	}
	return nil
}

// executable reports whether an address is one of code, by the function there.
func (e *evaluation) executable(addr arch.Address) bool {
	_, _, ok := (*readerWhere)(e.a.r).Bounds(addr)
	return ok
}

// maxExtended is how many types a type extends, one the other.
const maxExtended = 16

// extended returns the object that has a component: of a type that extends another one, which is its first component and has
// the name of that type, the part that is declared there.
func (e *evaluation) extended(ob values.Object, name string) values.Object {
	name = strings.ToLower(name)
	at := *e.referred(&ob)
	for range maxExtended {
		if t := at.Type.Strip(); t.Pointer() {
			to, err := e.x.Pointee(&at)
			if err != nil {
				break
			}
			at = to
		}
		fields := at.Type.Strip().Defined().Members().Fields
		if !at.Type.Strip().Aggregate() || len(fields) == 0 {
			break
		}
		if slices.ContainsFunc(fields, func(f types.Field) bool { return f.Name == name }) {
			return at
		}
		first := &fields[0]
		if parent := e.a.r.types.OfField(first).Strip(); !parent.Aggregate() || parent.BareName != first.Name {
			break
		}
		part, err := e.x.Member(&at, first.Name)
		if err != nil {
			break
		}
		at = part
	}
	return ob
}

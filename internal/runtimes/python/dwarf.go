package python

import (
	_ "embed"
	"strings"

	"github.com/corewalk/corewalk/internal/files/image"
	"github.com/corewalk/corewalk/internal/format/dwarf"
	"github.com/corewalk/corewalk/internal/vars/types"
	"github.com/corewalk/corewalk/libstate"
)

//go:embed fields.txt
var fieldsText string

// described reads the layout from the interpreter's own debug information: that of exactly this build. It is nil if there is none.
func (r *runtime) described(minor int) *layout {
	if r.p.Files == nil {
		return nil
	}
	im := (*image.Image)(r.p.Files.Image(r.lib))
	if im == nil || !im.HasDWARF() {
		return nil
	}
	d := im.DWARF()
	if d == nil {
		return nil
	}
	return r.layoutOf(minor, im, d)
}

func (r *runtime) layoutOf(minor int, im *image.Image, d *dwarf.Data) *layout {
	wanted := map[string]dwarf.DIE{}
	for line := range strings.Lines(fieldsText) {
		if f := strings.Fields(line); f[0] != "#" {
			for _, word := range f[1:] {
				if typeName(word) {
					wanted[word] = dwarf.DIE{}
				}
			}
		}
	}
	r.findTypes(d, wanted, r.evalUnit(d, im))
	set := types.NewSet(r.p.State.Arch(), oneLibrary{r.lib, im})
	l := &layout{minor: minor, offsets: map[string]uint64{}, source: "its debug information"}
	for line := range strings.Lines(fieldsText) {
		f := strings.Fields(line)
		if f[0] == "#" {
			continue
		}
		var in *types.Type
		for _, word := range f[1:] {
			if typeName(word) {
				if in = nil; wanted[word].Valid() {
					in = set.At(wanted[word]).Strip()
				}
				continue
			}
			if in == nil {
				continue
			}
			if v, ok := offsetIn(set, in, word); ok {
				l.offsets[f[0]] = v
				break
			}
		}
	}
	if !l.has("object.type") || !l.has("frame.code") || !l.has("thread.interp") || !l.has("object.size") {
		return nil
	}
	// Tasks are another module's: the table has them, after an object's head, which is all that differs between builds.
	if table := tableLayout(layoutsText, minor, ""); table != nil {
		for _, name := range [...]string{"task.waiter", "task.coro", "task.name"} {
			if table.has(name) {
				l.offsets[name] = table.at(name) - table.at("object.size") + l.at("object.size")
			}
		}
	}
	return l
}

// typeName reports whether a word of fields.txt is a type: of structures without a typedef the tag, which begins with _.
func typeName(word string) bool {
	return word[0] == '_' || strings.HasPrefix(word, "Py") || word == "pyruntimestate"
}

// evalUnit is the compilation unit that runs Python's instructions, which has most of the types; nil if it is not known.
func (r *runtime) evalUnit(d *dwarf.Data, im *image.Image) *dwarf.Unit {
	s, ok := r.p.Symbols.SymbolByName(r.lib, evalName)
	if !ok {
		return nil
	}
	u, err := d.UnitForPC(s.Addr - im.Bias(r.lib.LoadBias))
	if err != nil {
		return nil
	}
	return u
}

// findTypes looks for the definitions of types at the outermost level of units, first in one of them.
func (r *runtime) findTypes(d *dwarf.Data, wanted map[string]dwarf.DIE, first *dwarf.Unit) {
	left := len(wanted)
	in := func(u *dwarf.Unit) {
		var e dwarf.Entry
		var v dwarf.Value
		for c := u.Cursor(u.Root()); left > 0 && c.Next(&e) && c.Level() > 0; c.SkipChildren() {
			switch e.Tag {
			case dwarf.TagCompileUnit, dwarf.TagPartialUnit:
				c.Next(&e) // its first child
			}
			if e.Tag != dwarf.TagStructureType && e.Tag != dwarf.TagTypedef || !c.Find(dwarf.AttrName, &v) {
				continue
			}
			name, _ := u.Bytes(&v)
			at, ok := wanted[string(name)]
			if !ok || at.Valid() {
				continue
			}
			if declared := u.Value(e.Off, dwarf.AttrDeclaration); declared.Flag() {
				continue
			}
			wanted[string(name)] = dwarf.DIE{Unit: u, Off: e.Off}
			left--
		}
	}
	if first != nil {
		in(first)
	}
	_ = d.Units(func(u *dwarf.Unit) bool {
		if u != first {
			in(u)
		}
		return left > 0 && r.p.Spend(int(u.End-u.Off)/64) == nil
	})
}

// offsetIn returns where a member, ceval.gil.locked, is in a type; for @ the type's size.
func offsetIn(set *types.Set, in *types.Type, path string) (uint64, bool) {
	if path == "@" {
		return in.ByteSize, in.ByteSize != 0
	}
	off := uint64(0)
	for path != "" {
		name, rest, _ := strings.Cut(path, ".")
		path = rest
		m, ok := member(set, in, name, 0)
		if !ok {
			return 0, false
		}
		off += m.off
		in = m.typ
	}
	return off, true
}

// A place is a member of a type.
type place struct {
	off uint64
	typ *types.Type
}

// member finds a member, also in members without names.
func member(set *types.Set, in *types.Type, name string, depth int) (place, bool) {
	if in = in.Strip(); !in.Aggregate() || depth > 4 {
		return place{}, false
	}
	fields := in.Members().Fields
	for i := range fields {
		f := &fields[i]
		switch {
		case f.Static || f.Expr.Present():
		case f.Name == name && f.Bits == 0:
			return place{f.Off, set.OfField(f).Strip()}, true
		case f.Name == "":
			if m, ok := member(set, set.OfField(f), name, depth+1); ok {
				m.off += f.Off
				return m, true
			}
		}
	}
	return place{}, false
}

// oneLibrary is the interpreter's module alone.
type oneLibrary struct {
	lib *libstate.Library
	im  *image.Image
}

func (l oneLibrary) All() []*libstate.Library { return []*libstate.Library{l.lib} }
func (l oneLibrary) File(lib *libstate.Library) *image.Image {
	if lib == l.lib {
		return l.im
	}
	return nil
}

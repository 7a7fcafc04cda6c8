package dwarfvars

import (
	"testing"

	"github.com/corewalk/corewalk/internal/format/dwarf"
	"github.com/corewalk/corewalk/internal/format/dwarf/op"
	"github.com/corewalk/corewalk/internal/vars/types"
	"github.com/corewalk/corewalk/unwind/arch"
)

// TestCallSiteParameters: what a call site says of one place is told of no other one: not
// of another register, and not of what a register pointed to.
func TestCallSiteParameters(t *testing.T) {
	const reg4, reg5 = byte(op.Reg0 + 4), byte(op.Reg0 + 5)
	param := func(at []byte, attrs ...handAttr) *handDIE {
		return die(dwarf.TagCallSiteParameter, append([]handAttr{{dwarf.AttrLocation, at}}, attrs...)...)
	}
	lit := func(attr dwarf.Attr, n int) handAttr { return handAttr{attr, []byte{byte(op.Lit0) + byte(n)}} }
	pointed := func(reg int) []byte { return []byte{byte(op.Breg0) + byte(reg), 0, byte(op.Deref)} }
	call := die(dwarf.TagCallSite).with(
		die(dwarf.TagVariable, handAttr{dwarf.AttrName, "no parameter"}),
		param([]byte{reg4}, lit(dwarf.AttrCallValue, 4)),
		param(pointed(5), lit(dwarf.AttrCallValue, 9), lit(dwarf.AttrCallDataValue, 10)),
		param([]byte{reg5}, lit(dwarf.AttrCallValue, 5), lit(dwarf.AttrCallDataValue, 15)),
		param([]byte{byte(op.Reg0 + 6)}),
	)
	bare := die(dwarf.TagCallSite)
	p := newHand(arch.AMD64, 64)
	u := unit(t, p.arch.ByteOrder, 8, dwarf.LangC99, die(dwarf.TagSubprogram).with(call, bare))
	for name, c := range map[string]struct {
		site  *handDIE
		place []byte
		want  uint64
		known bool
	}{
		"a register":                       {call, []byte{reg4}, 4, true},
		"behind one of what it points to":  {call, []byte{reg5}, 5, true},
		"what a register pointed to":       {call, pointed(5), 15, true},
		"what it pointed to, not told":     {call, pointed(4), 0, false},
		"no value":                         {call, []byte{byte(op.Reg0 + 6)}, 0, false},
		"another register":                 {call, []byte{byte(op.Reg0 + 7)}, 0, false},
		"a call that tells of nothing":     {bare, []byte{reg4}, 0, false},
		"no register":                      {call, []byte{byte(op.Lit0)}, 0, false},
		"nowhere":                          {call, nil, 0, false},
		"at an offset of what is there":    {call, []byte{byte(op.Breg0) + 5, 8, byte(op.Deref)}, 0, false},
		"an address instead of its memory": {call, []byte{byte(op.Breg0) + 5, 0, byte(op.PlusUconst), 1}, 0, false},
		"more than a register":             {call, []byte{reg5, byte(op.Deref)}, 0, false},
		"by its long name":                 {call, []byte{byte(op.Regx), 5}, 5, true},
		"its memory, some bytes of it":     {call, []byte{byte(op.Breg0) + 5, 0, byte(op.DerefSize), 4}, 15, true},
	} {
		r := New(p, nil)
		fn := &Function{r: r, fn: dwarf.Func{DIE: dwarf.DIE{Unit: u, Off: u.Root()}}}
		frames := p.walk(t)
		a := r.activation(fn, frames, 0)
		a.e.by = &caller{fn: fn, index: 1, site: dwarf.DIE{Unit: u, Off: uint64(c.site.off)}}
		v, err := a.e.entryValue(c.place)
		if (err == nil) != c.known || c.known && v.Bits != c.want {
			t.Errorf("%s: %v, %v; want %d, known: %v", name, v, err, c.want, c.known)
		}
		a.Close()
	}
}

// TestPartsOfStructures: a bit-field, a static member and a member whose place is
// computed are no part that an address leads to.
func TestPartsOfStructures(t *testing.T) {
	integer, short := base("int", types.EncSigned, 4), base("short", types.EncSigned, 2)
	member := func(name string, typ *handDIE, at int, more ...handAttr) *handDIE {
		return die(dwarf.TagMember, append([]handAttr{{dwarf.AttrName, name}, {dwarf.AttrType, typ}, {dwarf.AttrDataMemberLoc, at}}, more...)...)
	}
	s := die(dwarf.TagStructureType, handAttr{dwarf.AttrName, "s"}, handAttr{dwarf.AttrByteSize, 16}).with(
		member("bits", integer, 0, handAttr{dwarf.AttrBitSize, 4}),
		member("whole", integer, 4),
		die(dwarf.TagMember, handAttr{dwarf.AttrName, "shared"}, handAttr{dwarf.AttrType, integer}, handAttr{dwarf.AttrDeclaration, true}, handAttr{dwarf.AttrExternal, true}),
		member("low", short, 8),
		member("high", short, 10),
		member("both", integer, 8),
	)
	p := newHand(arch.AMD64, 64)
	u := unit(t, p.arch.ByteOrder, 8, dwarf.LangC99, integer, short, s)
	typ := types.NewSet(p.arch, nil).Of(types.Ref{DIE: dwarf.DIE{Unit: u, Off: uint64(s.off)}})
	for _, c := range []struct {
		off, size uint64
		want      string // "" for none
	}{
		{0, 4, ""}, {0, 1, ""}, {4, 4, ".whole"}, {4, 2, ""}, {6, 4, ""}, {8, 2, ".low"}, {10, 2, ".high"}, {8, 4, ".both"}, {12, 4, ""}, {8, 8, ""},
	} {
		path, _, ok := typ.Part(c.off, c.size)
		if ok != (c.want != "") || ok && path != c.want {
			t.Errorf("%d bytes at %d are %q, %v; want %q", c.size, c.off, path, ok, c.want)
		}
	}
	if path, part, ok := typ.Part(0, 16); !ok || path != "" || part != typ {
		t.Errorf("all of it is %q, %v", path, ok)
	}
}

// DoubtTails makes all chains of tail calls that r has found ones that could have been
// others too, and forgets what followed from them. It returns how many there were.
func (r *Reader) DoubtTails() int {
	n := 0
	r.tails.Range(func(key, v any) bool {
		a := v.(tailAnswer)
		a.Complete = false
		r.tails.Store(key, a)
		n++
		return true
	})
	r.known.callers.Clear()
	r.known.values.Clear()
	return n
}

// DoubtCode makes all code that r has followed one that keeps no register, and forgets what
// followed from that. It returns how many places there were.
func (r *Reader) DoubtCode() int {
	n := 0
	r.untouched.Range(func(key, _ any) bool {
		r.untouched.Store(key, map[arch.Reg]arch.RegMask(nil))
		n++
		return true
	})
	r.known.values.Clear()
	return n
}

package dwarfvars

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"testing"

	"github.com/corewalk/corewalk/internal/format/dwarf"
	"github.com/corewalk/corewalk/internal/vars/types"
	"github.com/corewalk/corewalk/libstate"
	"github.com/corewalk/corewalk/unwind"
	"github.com/corewalk/corewalk/unwind/arch"
)

// Processes and debugging information made by hand, for machines and cases that
// no fixture has.

// A handProcess has one thread, one piece of memory and notes.
type handProcess struct {
	arch  *arch.Arch
	regs  arch.RegSet
	base  uint64
	mem   []byte
	notes map[note][]byte
	libs  libstate.LibraryState
	lost  bool // the registers cannot be read
}

func (p *handProcess) ReadMem(addr arch.Address, b []byte) (int, error) {
	if addr < p.base || addr-p.base >= uint64(len(p.mem)) {
		return 0, &arch.MemError{Addr: addr, Err: arch.ErrUnmapped}
	}
	n := copy(b, p.mem[addr-p.base:])
	if n < len(b) {
		return n, &arch.MemError{Addr: addr + uint64(n), Err: arch.ErrUnmapped}
	}
	return n, nil
}

func (p *handProcess) ReadWord(addr arch.Address) (uint64, error) {
	b := make([]byte, p.arch.WordSize)
	if _, err := p.ReadMem(addr, b); err != nil {
		return 0, err
	}
	return p.arch.Word(b), nil
}

// put writes an integer of size bytes into the memory.
func (p *handProcess) put(addr uint64, size int, v uint64) {
	copy(p.mem[addr-p.base:], bytesOf(p.arch.ByteOrder, v, size))
}

func bytesOf(order binary.ByteOrder, v uint64, size int) []byte {
	b := make([]byte, 8)
	order.PutUint64(b, v)
	if order == binary.ByteOrder(binary.BigEndian) {
		return b[8-size:]
	}
	return b[:size]
}

func (p *handProcess) Arch() *arch.Arch                        { return p.arch }
func (p *handProcess) ProcessID() int                          { return 1 }
func (p *handProcess) ThreadIDs() ([]unwind.ThreadID, error)   { return []unwind.ThreadID{1}, nil }
func (p *handProcess) DefaultThread() (unwind.ThreadID, error) { return 1, nil }
func (p *handProcess) IsFirstParty() bool                      { return false }
func (p *handProcess) LibraryTracker() libstate.LibraryState   { return p.libs }
func (p *handProcess) ExecutablePath() string                  { return "" }
func (p *handProcess) PreStackwalk(unwind.ThreadID) error      { return nil }
func (p *handProcess) PostStackwalk(unwind.ThreadID) error     { return nil }
func (p *handProcess) FPRegs(unwind.ThreadID) ([]byte, bool)   { return p.note(noteFP) }
func (p *handProcess) XState(unwind.ThreadID) ([]byte, bool)   { return p.note(noteXState) }
func (p *handProcess) note(n note) ([]byte, bool)              { b, ok := p.notes[n]; return b, ok }
func (p *handProcess) ThreadNote(_ unwind.ThreadID, owner string, typ uint32) ([]byte, bool) {
	if owner != "LINUX" {
		return nil, false
	}
	return p.note(note(typ))
}

func (p *handProcess) Registers(unwind.ThreadID) (arch.RegSet, error) {
	if p.lost {
		return p.regs, errors.New("no registers")
	}
	return p.regs, nil
}

// noLibraries is a LibraryState of none.
type noLibraries struct{ libstate.LibraryState }

func (noLibraries) LibraryAt(arch.Address) (*libstate.Library, bool) { return nil, false }
func (noLibraries) Libraries(bool) ([]*libstate.Library, error)      { return nil, nil }
func (noLibraries) Subscribe(func(*libstate.Library, libstate.Change)) func() {
	return func() {}
}

// handBase is where the memory of a handProcess begins.
const handBase = 0x10000

// newHand makes a process with n bytes of memory, which is at the first of them
// with its stack pointer.
func newHand(a *arch.Arch, n int) *handProcess {
	p := &handProcess{arch: a, base: handBase, mem: make([]byte, n), notes: map[note][]byte{}}
	p.regs.Set(a.PC, 0x1000)
	p.regs.Set(a.SP, handBase)
	return p
}

// A handStepper finds the callers of frames: it calls its first function for the youngest frame,
// the second one for the caller of that, and so on.
type handStepper struct {
	steps []func(in, out *unwind.Frame)
}

func (s *handStepper) CallerFrame(in, out *unwind.Frame) unwind.Status {
	n := 0
	for f := in; !f.IsTopFrame(); f = f.PrevFrame() {
		n++
	}
	if n >= len(s.steps) {
		return unwind.StatusStackBottom
	}
	out.SetRA(0x2000 + 0x1000*uint64(n))
	out.SetSP(handBase + 8*uint64(n+1))
	s.steps[n](in, out)
	return unwind.StatusSuccess
}
func (*handStepper) Priority() uint32 { return 1 }
func (*handStepper) Name() string     { return "hand" }

// interrupted makes a frame the one that a signal interrupted.
func interrupted(_, out *unwind.Frame) {
	out.SetNonCall(true)
	out.SetTrust(unwind.TrustSignal)
}

// called makes a frame an ordinary caller.
func called(_, _ *unwind.Frame) {}

// walk walks the process: a frame that returns from a signal's handler, and the
// one that the signal interrupted.
func (p *handProcess) walk(t *testing.T) []*unwind.Frame {
	t.Helper()
	frames := p.walkBy(t, interrupted)
	if !frames[0].IsTrampoline() {
		t.Fatal("no frame that returns from a signal's handler")
	}
	return frames
}

// walkBy walks the process with a handStepper.
func (p *handProcess) walkBy(t *testing.T, steps ...func(in, out *unwind.Frame)) []*unwind.Frame {
	t.Helper()
	w, err := unwind.NewWalker(p, unwind.WithGroup(unwind.NewAddrRangeGroup()))
	if err != nil {
		t.Fatal(err)
	}
	if err := w.AddStepper(&handStepper{steps}); err != nil {
		t.Fatal(err)
	}
	stack, _ := w.WalkStack(1)
	if len(stack.Frames) != len(steps)+1 {
		t.Fatalf("%d frames", len(stack.Frames))
	}
	return stack.Frames
}

// A handDIE is an entry of a unit made by hand.
type handDIE struct {
	tag   dwarf.Tag
	attrs []handAttr
	kids  []*handDIE
	ends  int // null entries behind it that end nothing
	off   uint32
}

// A handAttr is an attribute: the type of its value decides on the form. An
// integer is DW_FORM_data4, bytes are an expression, an entry is a reference, ranges
// are a list of them.
type handAttr struct {
	attr dwarf.Attr
	val  any
}

// Values of attributes with forms of their own.
type (
	handBlock []byte             // DW_FORM_block1
	handAddr  uint64             // DW_FORM_addr
	handFar   struct{ *handDIE } // DW_FORM_ref_addr, to an entry of any unit
	handLoc   struct {           // an entry of a location list, which is []handLoc
		low, high uint64
		expr      []byte
	}
	handRaw struct { // any form, as its bytes
		form  dwarf.Form
		bytes []byte
	}
)

//go:noinline
func die(tag dwarf.Tag, attrs ...handAttr) *handDIE { return &handDIE{tag: tag, attrs: attrs} }

//go:noinline
func (d *handDIE) with(kids ...*handDIE) *handDIE { d.kids = append(d.kids, kids...); return d }

func base(name string, enc types.Encoding, size int) *handDIE {
	return die(dwarf.TagBaseType, handAttr{dwarf.AttrName, name}, handAttr{dwarf.AttrEncoding, int(enc)}, handAttr{dwarf.AttrByteSize, size})
}

// A handUnit writes units of one file.
type handUnit struct {
	order                      binary.ByteOrder
	addr                       int
	info, abbrev, ranges, locs []byte
	codes                      uint64
	start                      int // of the unit that is being written
	refs                       []handRef
}

// A handRef is a reference, which is written when all entries have their places.
type handRef struct {
	at, start int
	to        *handDIE
}

// unit lays the entries out below a compilation unit of DWARF 4.
func unit(t *testing.T, order binary.ByteOrder, addrSize int, lang dwarf.Language, kids ...*handDIE) *dwarf.Unit {
	t.Helper()
	return units(t, order, addrSize, 4, lang, kids)[0]
}

// dwarf64 is added to the version of units in the 64-bit format.
const dwarf64 = 100

// units lays lists of entries out, each below a compilation unit of a version up to 4.
func units(t *testing.T, order binary.ByteOrder, addrSize, version int, lang dwarf.Language, lists ...[]*handDIE) []*dwarf.Unit {
	t.Helper()
	sections, starts := unitSections(order, addrSize, version, lang, lists...)
	data := dwarf.New(dwarf.SourceFunc(func(name string) ([]byte, error) { return sections[name], nil }), order)
	var all []*dwarf.Unit
	for _, start := range starts {
		u, err := data.UnitAt(dwarf.SecInfo, start)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, u)
	}
	return all
}

// unitSections returns the sections of units, and where in .debug_info the units begin. The first
// of a list may be the entry of the unit.
func unitSections(order binary.ByteOrder, addrSize, version int, lang dwarf.Language, lists ...[]*handDIE) (sections map[string][]byte, starts []uint64) {
	h := handUnit{order: order, addr: addrSize}
	word, mark := 4, 0
	if version > dwarf64 {
		word, mark = 8, 4
	}
	for _, kids := range lists {
		h.start = len(h.info)
		starts = append(starts, uint64(h.start))
		h.info = append(h.info, bytes.Repeat([]byte{0xff}, mark+word)...)
		h.info = append(h.info, bytesOf(order, uint64(version%dwarf64), 2)...)
		h.info = append(append(h.info, make([]byte, word)...), byte(addrSize))
		root := die(dwarf.TagCompileUnit)
		if len(kids) > 0 && kids[0].tag == dwarf.TagCompileUnit {
			root, kids = kids[0], kids[1:]
		}
		root.attrs = append(root.attrs, handAttr{dwarf.AttrLanguage, int(lang)})
		h.write(root.with(kids...))
		copy(h.info[h.start+mark:], bytesOf(order, uint64(len(h.info)-h.start-mark-word), word))
	}
	for _, r := range h.refs {
		copy(h.info[r.at:], bytesOf(order, uint64(int(r.to.off)-r.start), 4))
	}
	sections = map[string][]byte{".debug_info": h.info, ".debug_abbrev": append(h.abbrev, 0), ".debug_ranges": h.ranges, ".debug_loc": h.locs}
	for i := range uint64(200) {
		sections[".debug_addr"] = append(sections[".debug_addr"], bytesOf(order, handIndexed+16*i, addrSize)...)
	}
	return sections, starts
}

// handIndexed is number 0 of the addresses of a unit, which are 16 bytes apart.
const handIndexed = 0x300000

// in is the entry, which a unit of the same file has.
func (d *handDIE) in(u *dwarf.Unit) dwarf.DIE { return dwarf.DIE{Unit: u, Off: uint64(d.off)} }

func (h *handUnit) write(d *handDIE) {
	d.off = uint32(len(h.info))
	h.codes++
	children := byte(0)
	if len(d.kids) > 0 {
		children = 1
	}
	h.info = binary.AppendUvarint(h.info, h.codes)
	h.abbrev = append(binary.AppendUvarint(binary.AppendUvarint(h.abbrev, h.codes), uint64(d.tag)), children)
	for _, a := range d.attrs {
		h.abbrev = binary.AppendUvarint(h.abbrev, uint64(a.attr))
		switch v := a.val.(type) {
		case int:
			h.abbrev = append(h.abbrev, byte(dwarf.FormData4))
			h.info = append(h.info, bytesOf(h.order, uint64(v), 4)...)
		case string:
			h.abbrev = append(h.abbrev, byte(dwarf.FormString))
			h.info = append(append(h.info, v...), 0)
		case []byte:
			h.abbrev = append(h.abbrev, byte(dwarf.FormExprloc))
			h.info = append(append(h.info, byte(len(v))), v...)
		case func() []byte: // an expression that refers to entries before it
			h.abbrev = append(h.abbrev, byte(dwarf.FormExprloc))
			b := v()
			h.info = append(append(h.info, byte(len(b))), b...)
		case handBlock:
			h.abbrev = append(h.abbrev, byte(dwarf.FormBlock1))
			h.info = append(append(h.info, byte(len(v))), v...)
		case bool:
			h.abbrev = append(h.abbrev, byte(dwarf.FormFlagPresent))
		case *handDIE:
			h.abbrev = append(h.abbrev, byte(dwarf.FormRef4))
			h.refs = append(h.refs, handRef{len(h.info), h.start, v})
			h.info = append(h.info, 0, 0, 0, 0)
		case handFar:
			h.abbrev = append(h.abbrev, byte(dwarf.FormRefAddr))
			h.refs = append(h.refs, handRef{len(h.info), 0, v.handDIE})
			h.info = append(h.info, 0, 0, 0, 0)
		case handAddr:
			h.abbrev = append(h.abbrev, byte(dwarf.FormAddr))
			h.info = append(h.info, bytesOf(h.order, uint64(v), h.addr)...)
		case handRaw:
			h.abbrev = binary.AppendUvarint(h.abbrev, uint64(v.form))
			h.info = append(h.info, v.bytes...)
		case []handLoc:
			h.abbrev = append(h.abbrev, byte(dwarf.FormSecOffset))
			h.info = append(h.info, bytesOf(h.order, uint64(len(h.locs)), 4)...)
			for _, l := range v {
				h.locs = append(append(h.locs, bytesOf(h.order, l.low, h.addr)...), bytesOf(h.order, l.high, h.addr)...)
				h.locs = append(append(h.locs, bytesOf(h.order, uint64(len(l.expr)), 2)...), l.expr...)
			}
			h.locs = append(h.locs, make([]byte, 2*h.addr)...)
		case []dwarf.Range:
			h.abbrev = append(h.abbrev, byte(dwarf.FormSecOffset))
			h.info = append(h.info, bytesOf(h.order, uint64(len(h.ranges)), 4)...)
			for _, r := range append(v[:len(v):len(v)], dwarf.Range{}) {
				h.ranges = append(append(h.ranges, bytesOf(h.order, r.Low, h.addr)...), bytesOf(h.order, r.High, h.addr)...)
			}
		}
	}
	h.abbrev = append(h.abbrev, 0, 0)
	for _, k := range d.kids {
		h.write(k)
	}
	if children == 1 {
		h.info = append(h.info, 0)
	}
	h.info = append(h.info, make([]byte, d.ends)...)
}

// handValue reads a variable of a type at a place, in frame number index of a walk
// of p.
func handValue(t *testing.T, p *handProcess, frames []*unwind.Frame, index int, lang dwarf.Language, place []byte, typ *handDIE, more ...*handDIE) string {
	t.Helper()
	v := die(dwarf.TagVariable, handAttr{dwarf.AttrName, "v"}, handAttr{dwarf.AttrType, typ}, handAttr{dwarf.AttrLocation, place})
	u := unit(t, p.arch.ByteOrder, p.arch.WordSize, lang, append(more, typ, die(dwarf.TagSubprogram).with(v))...)
	a := handActivation(p, frames, index, dwarf.DIE{Unit: u, Off: u.Root()})
	defer a.Close()
	return a.Read(a.variable(v.in(u)), Options{}).String()
}

// result writes what a function returned: a number, or an error, with which the number is 0.
func result(n uint64, err error) string {
	if err == nil {
		return fmt.Sprintf("%x", n)
	}
	if n != 0 {
		return fmt.Sprintf("%x and %v", n, err)
	}
	return err.Error()
}

// handActivation is frame number index of a walk of p, in the function with an entry.
func handActivation(p *handProcess, frames []*unwind.Frame, index int, fn dwarf.DIE) *Activation {
	r := New(p, nil)
	return r.activation(&Function{Name: fn.FuncInfo().Name, r: r, fn: dwarf.Func{DIE: fn}}, frames, index)
}

// variable is the variable of the function with an entry.
func (a *Activation) variable(d dwarf.DIE) *LocalVar {
	return &LocalVar{Name: "v", fn: a.Function, block: &block{}, die: d, attrs: gather(d)}
}

package steppers_test

import (
	"encoding/binary"
	"testing"

	"github.com/corewalk/corewalk/internal/files/image"
	"github.com/corewalk/corewalk/libstate"
	"github.com/corewalk/corewalk/modules"
	"github.com/corewalk/corewalk/steppers"
	"github.com/corewalk/corewalk/unwind"
	"github.com/corewalk/corewalk/unwind/arch"
)

// Where the fake process has its parts.
const (
	bias     = 0x5555_0000_0000 // of the program
	stack    = 0x7ffe_0000_0000
	stackLen = 0x4000
	got      = bias + 0x4000
)

// A seg is a piece of memory.
type seg struct {
	m    libstate.Mapping
	data []byte
}

// proc is a process with one thread, made of segments.
type proc struct {
	segs []seg
	regs arch.RegSet
	libs *libstate.Table
}

func (p *proc) at(addr arch.Address) *seg {
	for i := range p.segs {
		if s := &p.segs[i]; addr >= s.m.Start && addr < s.m.End {
			return s
		}
	}
	return nil
}

func (p *proc) ReadMem(addr arch.Address, buf []byte) (int, error) {
	s := p.at(addr)
	if s == nil || addr-s.m.Start >= uint64(len(s.data)) {
		return 0, &arch.MemError{Addr: addr, Err: arch.ErrUnmapped}
	}
	if n := copy(buf, s.data[addr-s.m.Start:]); n < len(buf) {
		return n, &arch.MemError{Addr: addr + uint64(n), Err: arch.ErrUnmapped}
	}
	return len(buf), nil
}

func (p *proc) ReadWord(addr arch.Address) (uint64, error) {
	s := p.at(addr)
	if s == nil || addr-s.m.Start+8 > uint64(len(s.data)) {
		return 0, &arch.MemError{Addr: addr, Err: arch.ErrUnmapped}
	}
	return binary.LittleEndian.Uint64(s.data[addr-s.m.Start:]), nil
}

func (p *proc) Arch() *arch.Arch                               { return arch.AMD64 }
func (p *proc) ProcessID() int                                 { return 1 }
func (p *proc) ThreadIDs() ([]unwind.ThreadID, error)          { return []unwind.ThreadID{1}, nil }
func (p *proc) DefaultThread() (unwind.ThreadID, error)        { return 1, nil }
func (p *proc) Registers(unwind.ThreadID) (arch.RegSet, error) { return p.regs, nil }
func (p *proc) PreStackwalk(unwind.ThreadID) error             { return nil }
func (p *proc) PostStackwalk(unwind.ThreadID) error            { return nil }
func (p *proc) IsFirstParty() bool                             { return false }
func (p *proc) ExecutablePath() string                         { return "/bin/prog" }
func (p *proc) LibraryTracker() libstate.LibraryState {
	if p.libs == nil {
		return nil
	}
	return p.libs
}

// mapper is a proc that knows its mappings.
type mapper struct{ *proc }

func (p mapper) MappingAt(addr arch.Address) (libstate.Mapping, bool) {
	if s := p.at(addr); s != nil {
		return s.m, true
	}
	return libstate.Mapping{}, false
}

// add maps data at start.
func (p *proc) add(start arch.Address, perm libstate.Perm, data []byte) {
	p.segs = append(p.segs, seg{libstate.Mapping{Start: start, End: start + uint64(len(data)), Perm: perm}, data})
}

// put writes words to memory from addr on.
func (p *proc) put(addr arch.Address, words ...uint64) {
	s := p.at(addr)
	for i, w := range words {
		binary.LittleEndian.PutUint64(s.data[addr-s.m.Start+uint64(8*i):], w)
	}
}

// setRegs sets registers of the thread by name.
func (p *proc) setRegs(regs map[string]uint64) {
	for name, v := range regs {
		r, ok := arch.AMD64.RegByName(name)
		if !ok {
			panic(name)
		}
		p.regs.Set(r, v)
	}
}

// Code of the fake program, by address in the file.
const (
	fnCaller  = 0x1000 // standard frame; calls fnCallee
	raCaller  = 0x1009
	fnCallee  = 0x1020 // standard frame
	fnLeaf    = 0x1040 // no frame
	fnSpill   = 0x1050 // no frame pointer, 24 bytes of stack; indirect call
	raSpill   = 0x1056
	fnPLT     = 0x1060 // stub through the GOT
	fnViaPLT  = 0x1070 // calls fnPLT
	raViaPLT  = 0x1075
	fnTail    = 0x1080 // jumps to fnCallee
	fnViaTail = 0x1090 // calls fnTail
	raViaTail = 0x1095
	fnOther   = 0x10a0 // returns
	fnWrong   = 0x10b0 // calls fnOther
	raWrong   = 0x10b5
	restorer1 = 0x10c0
	restorer2 = 0x10d0
	fnStart   = 0x10e0 // calls fnCaller
	raStart   = 0x10e7
	endStart  = 0x10e8
	fnClone   = 0x10f0
	raClone   = 0x10f4
	fnMusl    = 0x1110
	raMusl    = 0x1112
	fnGoexit  = 0x1120
	fnContext = 0x1140
	fnGoClone = 0x1150
	raGoClone = 0x1152
	fnFiber   = 0x1170 // jumps; its function returns behind that
	raFiber   = 0x1173
	fnFiber2  = 0x1180 // the same with endbr64
	raFiber2  = 0x1183
	fnNoFiber = 0x1190 // calls, then the same
	raNoFiber = 0x1193
)

var text = map[int][]byte{
	fnCaller:  {0x55, 0x48, 0x89, 0xe5, 0xe8, 0x17, 0, 0, 0, 0x5d, 0xc3},
	fnCallee:  {0x55, 0x48, 0x89, 0xe5, 0x48, 0x83, 0xec, 0x10, 0x90, 0xc9, 0xc3},
	fnLeaf:    {0x31, 0xc0, 0xc3},
	fnSpill:   {0x48, 0x83, 0xec, 0x18, 0xff, 0x10, 0x48, 0x83, 0xc4, 0x18, 0xc3},
	fnPLT:     {0xff, 0x25, 0x9a, 0x2f, 0, 0},
	fnViaPLT:  {0xe8, 0xeb, 0xff, 0xff, 0xff, 0xc3},
	fnTail:    {0xe9, 0x9b, 0xff, 0xff, 0xff},
	fnViaTail: {0xe8, 0xeb, 0xff, 0xff, 0xff, 0xc3},
	fnOther:   {0xc3},
	fnWrong:   {0xe8, 0xeb, 0xff, 0xff, 0xff, 0xc3},
	restorer1: {0x48, 0xc7, 0xc0, 0x0f, 0, 0, 0, 0x0f, 0x05},
	restorer2: {0xb8, 0x0f, 0, 0, 0, 0x0f, 0x05},
	fnStart:   {0x31, 0xed, 0xe8, 0x19, 0xff, 0xff, 0xff, 0xf4},
	fnClone:   {0x0f, 0x05, 0xff, 0xd0, 0x48, 0x89, 0xc7, 0xb8, 60, 0, 0, 0, 0x0f, 0x05},
	fnMusl:    {0xff, 0xd0, 0x89, 0xc7, 0x31, 0xc0, 0xb0, 60, 0x0f, 0x05, 0xf4},
	fnContext: {0x48, 0x89, 0xdc, 0x48, 0x8b, 0x3c, 0x24, 0x48, 0x85, 0xff},
	fnGoClone: {0xff, 0xd0, 0xbf, 0x6f, 0, 0, 0, 0xb8, 60, 0, 0, 0, 0x0f, 0x05},
	fnFiber:   {0x55, 0xff, 0xe3, 0x48, 0x31, 0xff, 0xe8, 0, 0, 0, 0, 0xf4},
	fnFiber2:  {0x55, 0xff, 0xe3, 0xf3, 0x0f, 0x1e, 0xfa, 0x48, 0x31, 0xff, 0xe8, 0, 0, 0, 0, 0xf4},
	fnNoFiber: {0x55, 0xff, 0xd3, 0x48, 0x31, 0xff, 0xe8, 0, 0, 0, 0, 0xf4},
	fnGoexit:  {0x90, 0xe8, 0, 0, 0, 0, 0x90},
}

// names are the symbols of the fake program.
var names = []unwind.Symbol{
	{Name: "caller", Addr: fnCaller, Size: 11}, {Name: "callee", Addr: fnCallee, Size: 11}, {Name: "leaf", Addr: fnLeaf, Size: 3},
	{Name: "spill", Addr: fnSpill, Size: 11}, {Name: "viaplt", Addr: fnViaPLT, Size: 6}, {Name: "tail", Addr: fnTail, Size: 5},
	{Name: "viatail", Addr: fnViaTail, Size: 6}, {Name: "other", Addr: fnOther, Size: 1}, {Name: "wrong", Addr: fnWrong, Size: 6},
	{Name: "__restore_rt", Addr: restorer1, Size: 9}, {Name: "restore2", Addr: restorer2, Size: 7}, {Name: "_start", Addr: fnStart, Size: 8},
	{Name: "clone", Addr: fnClone, Size: 14}, {Name: "__clone", Addr: fnMusl, Size: 11}, {Name: "runtime.goexit.abi0", Addr: fnGoexit, Size: 7},
	{Name: "runtime.clone.abi0", Addr: fnGoClone, Size: 14},
}

// symbols answers symbols at a load bias.
type symbols []unwind.Symbol

func (s symbols) SymbolByName(lib *libstate.Library, name string) (unwind.Symbol, bool) {
	for _, y := range s {
		if y.Name == name {
			y.Addr += lib.LoadBias
			return y, true
		}
	}
	return unwind.Symbol{}, false
}

func (s symbols) SymbolAt(lib *libstate.Library, addr arch.Address) (unwind.Symbol, bool) {
	for _, y := range s {
		if a := addr - lib.LoadBias; a >= y.Addr && a < y.Addr+max(y.Size, 1) {
			y.Addr += lib.LoadBias
			return y, true
		}
	}
	return unwind.Symbol{}, false
}

// renamed is symbols with one name changed.
func (s symbols) renamed(from, to string) symbols {
	out := append(symbols(nil), s...)
	for i := range out {
		if out[i].Name == from {
			out[i].Name = to
		}
	}
	return out
}

// newProc maps the fake program and a stack, with the thread's registers.
func newProc(regs map[string]uint64) *proc {
	p := &proc{}
	header := make([]byte, 0x1000)
	copy(header, "\x7fELF\x02\x01\x01")
	binary.LittleEndian.PutUint64(header[0x18:], fnStart)
	code := make([]byte, 0x1000)
	for i := range code {
		code[i] = 0xcc
	}
	for at, b := range text {
		copy(code[at-0x1000:], b)
	}
	p.add(bias, libstate.Read, header)
	p.add(bias+0x1000, libstate.Read|libstate.Exec, code)
	p.add(got, libstate.Read|libstate.Write, make([]byte, 0x1000))
	p.put(got, bias+fnCallee)
	p.add(stack, libstate.Read|libstate.Write, make([]byte, stackLen))
	p.setRegs(regs)
	p.libs = libstate.NewTable([]*libstate.Library{p.program(libstate.Executable)}, 0)
	return p
}

// program describes the mapped fake program as a library of some kind.
func (p *proc) program(kind libstate.Kind) *libstate.Library {
	lib := &libstate.Library{Path: "/bin/prog", Kind: kind, LoadBias: bias, HeaderAddr: bias, Start: bias, End: got + 0x1000}
	for _, s := range p.segs {
		if s.m.Start >= bias && s.m.Start < lib.End {
			lib.Mappings = append(lib.Mappings, s.m)
		}
	}
	return lib
}

// A fileOfAll is the file of every library.
type fileOfAll struct{ im *image.Image }

func (f fileOfAll) Image(*libstate.Library) *modules.Image { return (*modules.Image)(f.im) }

// partsOf is a file of every library that has the parts given.
func partsOf(p image.Parts) fileOfAll { return fileOfAll{image.FromParts(p)} }

// noFile has the file of no library.
var noFile modules.Source = fileOfAll{}

// walker makes a walker over p with the given steppers.
func walker(tb testing.TB, p unwind.ProcessState, syms unwind.SymbolReader, list ...unwind.FrameStepper) *unwind.Walker {
	tb.Helper()
	opts := []unwind.Option{unwind.WithExplain()}
	if syms != nil {
		opts = append(opts, unwind.WithSymbolReader(syms))
	}
	w, err := unwind.NewWalker(p, opts...)
	if err != nil {
		tb.Fatal(err)
	}
	for _, s := range list {
		if err := w.AddStepper(s); err != nil {
			tb.Fatal(err)
		}
	}
	return w
}

// must unwraps a constructor.
func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// called makes a frame that made a call, to walk from.
func called(tb testing.TB, w *unwind.Walker, ra, sp, fp uint64) *unwind.Frame {
	tb.Helper()
	f, err := unwind.NewFrame(ra, sp, fp, w)
	if err != nil {
		tb.Fatal(err)
	}
	return f
}

// notes are what the steppers said of the walk from f.
func notes(f *unwind.Frame) []string {
	var all []string
	for _, a := range f.Attempts() {
		for _, n := range a.Notes {
			all = append(all, a.Stepper.Name()+": "+n)
		}
	}
	return all
}

var (
	_ unwind.ProcessState    = (*proc)(nil)
	_ steppers.Mapper        = mapper{}
	_ unwind.LibraryNotifier = (*steppers.BottomOfStackStepper)(nil)
)

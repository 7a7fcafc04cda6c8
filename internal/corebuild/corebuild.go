// Package corebuild makes core files and ELF headers in memory, for tests: of
// both classes and byte orders, with whatever a kernel writes and with what none
// would. Nothing is checked; a test that wants a broken file breaks it.
package corebuild

import (
	"bytes"
	"encoding/binary"

	"github.com/corewalk/corewalk/internal/elffile"
	"github.com/corewalk/corewalk/unwind/arch"
)

// Note types that tests write most.
const (
	PRStatus = 1
	FPRegSet = 2
	PRPSInfo = 3
	Auxv     = 6
	File     = 0x46494c45
	SigInfo  = 0x53494749
	XState   = 0x202
)

// A Core is a core file being built. Its fields may be changed before Bytes.
type Core struct {
	Class     int // 32 or 64
	Order     binary.ByteOrder
	Type      uint16
	Machine   uint16
	NoteAlign int // of names and descriptors; 4 unless set
	Sections  int // section headers to write, all null

	notes []byte
	loads []load
}

type load struct {
	vaddr, memsz uint64
	flags        uint32
	data         []byte
}

// New begins a core of 64-bit little-endian Linux on x86-64.
func New() *Core {
	return &Core{Class: 64, Order: binary.LittleEndian, Type: elffile.ET_CORE, Machine: elffile.EM_X86_64, NoteAlign: 4}
}

// New32 begins a core of a 32-bit machine.
func New32(machine uint16, order binary.ByteOrder) *Core {
	return &Core{Class: 32, Order: order, Type: elffile.ET_CORE, Machine: machine, NoteAlign: 4}
}

// Word appends words of the core's size to b.
func (c *Core) Word(b []byte, words ...uint64) []byte {
	for _, w := range words {
		if c.Class == 64 {
			b = c.append64(b, w)
		} else {
			b = c.append32(b, uint32(w))
		}
	}
	return b
}

func (c *Core) append16(b []byte, v uint16) []byte {
	return append(b, put(2, func(p []byte) { c.Order.PutUint16(p, v) })...)
}

func (c *Core) append32(b []byte, vs ...uint32) []byte {
	for _, v := range vs {
		b = append(b, put(4, func(p []byte) { c.Order.PutUint32(p, v) })...)
	}
	return b
}

func (c *Core) append64(b []byte, v uint64) []byte {
	return append(b, put(8, func(p []byte) { c.Order.PutUint64(p, v) })...)
}

func put(n int, f func([]byte)) []byte {
	p := make([]byte, n)
	f(p)
	return p
}

func pad(b []byte, to int) []byte { return append(b, make([]byte, (to-len(b)%to)%to)...) }

// Note adds a note.
func (c *Core) Note(owner string, typ uint32, desc []byte) {
	name := append([]byte(owner), 0)
	c.notes = c.append32(c.notes, uint32(len(name)), uint32(len(desc)), typ)
	c.notes = pad(append(c.notes, name...), c.NoteAlign)
	c.notes = pad(append(c.notes, desc...), c.NoteAlign)
}

// RawNotes adds bytes to the notes as they are.
func (c *Core) RawNotes(b []byte) { c.notes = append(c.notes, b...) }

// Status makes the descriptor of a NT_PRSTATUS: everything but the signal, the
// thread's id and its register block is zero.
func (c *Core) Status(tid int, signal int, regs []byte) []byte {
	pid, block := 32, 112
	if c.Class == 32 {
		pid, block = 24, 72
	}
	if c.Machine == elffile.EM_68K {
		pid, block = 22, 70
	}
	b := make([]byte, block)
	c.Order.PutUint32(b, uint32(signal))
	c.Order.PutUint16(b[12:], uint16(signal))
	c.Order.PutUint32(b[pid:], uint32(tid))
	return append(append(b, regs...), make([]byte, 8)...)
}

// Thread adds a NT_PRSTATUS.
func (c *Core) Thread(tid int, signal int, regs []byte) {
	c.Note("CORE", PRStatus, c.Status(tid, signal, regs))
}

// userRegs is the order of struct user_regs_struct on x86-64.
var userRegs = [...]arch.Reg{
	arch.R15, arch.R14, arch.R13, arch.R12, arch.RBP, arch.RBX, arch.R11, arch.R10, arch.R9, arch.R8, arch.RAX, arch.RCX,
	arch.RDX, arch.RSI, arch.RDI, arch.OrigRAX, arch.RIP, arch.CS, arch.EFLAGS, arch.RSP, arch.SS, arch.FSBase, arch.GSBase,
	arch.DS, arch.ES, arch.FS, arch.GS,
}

// AMD64Regs makes the register block of x86-64; registers not given are zero.
func AMD64Regs(values map[arch.Reg]uint64) []byte {
	b := make([]byte, 8*len(userRegs))
	for i, r := range userRegs {
		binary.LittleEndian.PutUint64(b[8*i:], values[r])
	}
	return b
}

// PSInfo adds a NT_PRPSINFO; a 32-bit core's has ids of 16 bits.
func (c *Core) PSInfo(pid int, name, args string) {
	var b []byte
	if c.Class == 64 {
		b = append(b, 0, 'R', 0, 0, 0, 0, 0, 0)
		b = c.append64(b, 0x400600)
		b = c.append32(b, 1000, 1001)
	} else {
		b = append(b, 0, 'R', 0, 0)
		b = c.append32(b, 0x400600)
		b = c.append16(c.append16(b, 1000), 1001)
	}
	b = c.append32(b, uint32(pid), uint32(pid-1), uint32(pid), 1)
	b = append(b, put(16, func(p []byte) { copy(p, name) })...)
	b = append(b, put(80, func(p []byte) { copy(p, args) })...)
	c.Note("CORE", PRPSInfo, b)
}

// SignalInfo adds a NT_SIGINFO with the words of its union.
func (c *Core) SignalInfo(signo, code int, union []byte) {
	b := c.append32(nil, uint32(signo), 0, uint32(int32(code)))
	if c.Class == 64 {
		b = append(b, 0, 0, 0, 0)
	}
	b = append(b, union...)
	c.Note("CORE", SigInfo, append(b, make([]byte, max(0, 128-len(b)))...))
}

// Ints makes bytes of 32-bit integers.
func (c *Core) Ints(vs ...uint32) []byte { return c.append32(nil, vs...) }

// AuxVector adds a NT_AUXV of keys and values in turn.
func (c *Core) AuxVector(kv ...uint64) {
	c.Note("CORE", Auxv, c.Word(c.Word(nil, kv...), 0, 0))
}

// A Mapping is one entry of NT_FILE; Offset in bytes.
type Mapping struct {
	Start, End, Offset uint64
	Path               string
}

// Files adds a NT_FILE whose offsets count pages of 4096 bytes.
func (c *Core) Files(list ...Mapping) {
	b := c.Word(nil, uint64(len(list)), 4096)
	for _, m := range list {
		b = c.Word(b, m.Start, m.End, m.Offset/4096)
	}
	for _, m := range list {
		b = append(append(b, m.Path...), 0)
	}
	c.Note("CORE", File, b)
}

// Load adds memory at vaddr of memsz bytes, the first of which are data and in
// the file. flags are PF_R and so on.
func (c *Core) Load(vaddr uint64, flags uint32, memsz uint64, data []byte) {
	c.loads = append(c.loads, load{vaddr, memsz, flags, data})
}

// Bytes is the core file: header, program headers, notes, memory in the order it
// was added, section headers.
func (c *Core) Bytes() []byte {
	progs := []elffile.Prog{{Type: elffile.PT_NOTE, Filesz: uint64(len(c.notes)), Align: uint64(c.NoteAlign)}}
	for _, l := range c.loads {
		progs = append(progs, elffile.Prog{
			Type: elffile.PT_LOAD, Flags: l.flags, Vaddr: l.vaddr, Memsz: l.memsz, Filesz: uint64(len(l.data)), Align: 4096,
		})
	}
	h := Header{Class: c.Class, Order: c.Order, Type: c.Type, Machine: c.Machine, Progs: progs, Sections: c.Sections}
	off := uint64(len(h.Bytes()))
	progs[0].Off = off
	off += uint64(len(c.notes))
	for i, l := range c.loads {
		progs[i+1].Off = off
		off += uint64(len(l.data))
	}
	h.SectionOffset = off
	out := bytes.NewBuffer(h.Bytes())
	out.Write(c.notes)
	for _, l := range c.loads {
		out.Write(l.data)
	}
	out.Write(make([]byte, c.Sections*64))
	return out.Bytes()
}

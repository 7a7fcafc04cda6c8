package gopclntab

import (
	"bytes"
	"strings"
)

// Offsets in a function's record, in bytes. The fields after recCU moved when the line of the declaration was
// added before them.
const (
	recEntry   = 0
	recName    = 4
	recPCSP    = 16
	recPCFile  = 20
	recPCLine  = 24
	recPCData  = 28 // number of tables of values by pc
	recCU      = 32
	recFlags   = 5 - 8 // these two from the end of the record
	recNumData = 7 - 8

	recordSize118 = 40
	recordSize120 = 44
)

// Flags of functions (internal/abi, FuncFlag).
const (
	flagTopFrame = 1 << iota
	_            // it changes the stack pointer in other ways than the table can say
	flagAsm
)

// Numbers of tables by pc and of function data (internal/abi, symtab.go).
const (
	pcdataInlTree   = 2
	funcdataInlTree = 3
)

// none is an offset of nothing.
const none = ^uint32(0)

// A Func is a function of a Table. Addresses are those of the module's file.
type Func struct {
	Entry, End uint64

	t    *Table
	rec  []byte // its record, and what follows
	size int    // of the record's fixed part
}

func (f *Func) u32(off int) uint32 { return f.t.order.Uint32(f.rec[off:]) }

// Name is the name that the program's own tracebacks print; type arguments are "[...]". It is "" if the table is
// damaged.
func (f *Func) Name() string { return f.t.name(f.u32(recName)) }

// Asm reports whether the function is written in assembly. Such a function has a wrapper of the same name for
// compiled callers, which is not.
func (f *Func) Asm() bool { return f.rec[f.size+recFlags]&flagAsm != 0 }

// TopFrame reports whether the function is the outermost of its stack.
func (f *Func) TopFrame() bool { return f.rec[f.size+recFlags]&flagTopFrame != 0 }

// maxName limits the length of names, in bytes.
const maxName = 1 << 16

// name returns the function name at an offset.
func (t *Table) name(off uint32) string { return text(t.names, off) }

func text(table []byte, off uint32) string {
	if uint64(off) >= uint64(len(table)) {
		return ""
	}
	b := table[off:]
	end := bytes.IndexByte(b[:min(len(b), maxName)], 0)
	if end < 0 {
		return ""
	}
	return string(b[:end])
}

// nameOffset finds a function's name.
func (t *Table) nameOffset(name string) (uint64, bool) {
	if name == "" || strings.IndexByte(name, 0) >= 0 {
		return 0, false
	}
	whole := []byte(name + "\x00")
	for from := 0; ; {
		i := bytes.Index(t.names[from:], whole)
		if i < 0 {
			return 0, false
		}
		if from += i; from == 0 || t.names[from-1] == 0 {
			return uint64(from), true
		}
		from++
	}
}

// maxFrame limits the size of a frame, in bytes. The runtime ends programs whose stacks grow to this.
const maxFrame = 1 << 30

// A Frame is the state of a function's stack frame in a range of its code.
type Frame struct {
	Start, End uint64 // the range of addresses
	// Size is by how many bytes the stack pointer is lower than right after the call of the function.
	Size uint64
}

// FrameAt returns the state of the frame at pc. It returns false if the table does not know it: of functions of
// other languages, and where it is damaged.
func (f *Func) FrameAt(pc uint64) (Frame, bool) {
	steps := maxSteps
	v, start, end, ok := f.value(f.u32(recPCSP), pc, &steps)
	if !ok || v < 0 || v > maxFrame || int(v)%4 != 0 {
		return Frame{}, false
	}
	return Frame{Start: start, End: end, Size: uint64(v)}, true
}

// position returns the file and the line at pc; "" and 0 if they are not known.
func (f *Func) position(pc uint64, steps *int) (file string, line int) {
	no, _, _, ok := f.value(f.u32(recPCFile), pc, steps)
	if ok && no >= 0 {
		file = f.file(uint32(no))
	}
	n, _, _, ok := f.value(f.u32(recPCLine), pc, steps)
	if !ok || n <= 0 || file == "" {
		return "", 0
	}
	return file, int(n)
}

// file returns the name of a file of the function's compilation unit.
func (f *Func) file(no uint32) string {
	at := (uint64(f.u32(recCU)) + uint64(no)) * 4
	if at+4 > uint64(len(f.t.cus)) {
		return ""
	}
	off := f.t.order.Uint32(f.t.cus[at:])
	if off == none {
		return ""
	}
	return text(f.t.files, off)
}

// maxSteps limits the entries that a lookup reads of all its tables. The functions of big programs have some
// thousands in each.
const maxSteps = 1 << 22

// value looks pc up in the table of values that begins at an offset; 0 for no table. It returns the value, and
// the range of addresses that have it. steps is how many entries may still be read.
func (f *Func) value(off uint32, pc uint64, steps *int) (v int32, start, end uint64, ok bool) {
	if off == 0 || uint64(off) >= uint64(len(f.t.pcs)) || pc < f.Entry || pc >= f.End {
		return 0, 0, 0, false
	}
	had := *steps
	defer func() { f.t.work.Add(int64(had - *steps)) }()
	b := f.t.pcs[off:]
	v = -1
	for start = f.Entry; ; start = end {
		d, n := uvarint(b)
		if *steps--; n == 0 || d == 0 && start != f.Entry || *steps < 0 {
			return 0, 0, 0, false
		}
		b = b[n:]
		v += int32(d>>1) ^ -int32(d&1)
		d, n = uvarint(b)
		if n == 0 {
			return 0, 0, 0, false
		}
		b = b[n:]
		end = start + uint64(d)*uint64(f.t.MinLC)
		if end <= start || end > f.End {
			return 0, 0, 0, false
		}
		if pc < end {
			return v, start, end, true
		}
	}
}

// uvarint decodes an unsigned LEB128 number of 32 bits; n is 0 if b does not hold one.
func uvarint(b []byte) (v uint32, n int) {
	for shift := 0; n < len(b) && shift < 35; shift += 7 {
		c := b[n]
		n++
		v |= uint32(c&0x7f) << shift
		if c&0x80 == 0 {
			return v, n
		}
	}
	return 0, 0
}

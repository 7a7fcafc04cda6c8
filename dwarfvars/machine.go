package dwarfvars

import (
	"fmt"

	"github.com/corewalk/corewalk/internal/format/pdb"
	"github.com/corewalk/corewalk/internal/vars/values"
	"github.com/corewalk/corewalk/unwind"
	"github.com/corewalk/corewalk/unwind/arch"
)

// A machine has the facts about an architecture that reading variables needs and unwind/arch does
// not have: registers other than the general ones, formats of floating-point numbers,
// thread-local storage. Each architecture has a file here. A field without a value is not known.
type machine struct {
	banks []bank
	// interrupted returns a block of registers that the kernel saved before it called a signal
	// handler, laid out as in the dump's note. tramp is the frame that returns from the handler.
	interrupted func(r *Reader, tramp *unwind.Frame, n note) ([]byte, bool)
	// steady are the DWARF numbers of registers that are the same in all frames of a thread, and
	// that frames do not keep.
	steady []uint64
	tls    *tlsABI
	// goroutine is the DWARF number of the register in which Go keeps the current goroutine; 0
	// for none.
	goroutine uint64

	// codeview finds a register of a PDB; nil if the architecture has no PDBs.
	codeview func(pdb.Register) (registerPart, bool)

	longDouble values.FloatFormat // of a long double of 16 bytes
	// maxAlign is the largest alignment of a scalar in a struct, in bytes.
	maxAlign uint64
	// virtualInAdjust says that the adjustment in a pointer to a member function tells whether
	// the function is virtual, since addresses of code may be odd (Itanium C++ ABI, 2.3).
	virtualInAdjust bool
}

// machineOf returns what is known of an architecture. It is made when first needed.
func machineOf(a *arch.Arch) *machine {
	if a == nil {
		return &machine{}
	}
	switch a.Name {
	case "x86-64", "x32":
		return amd64.Get()
	case "i386":
		return i386.Get()
	case "aarch64":
		return aarch64.Get()
	case "arm":
		return arm.Get()
	case "ppc64le", "ppc64":
		return ppc64.Get()
	case "ppc":
		return ppc.Get()
	case "s390x":
		return s390x.Get()
	case "s390":
		return s390.Get()
	case "mips", "mipsel":
		return mips32.Get()
	case "mips64", "mips64el":
		return mips64.Get()
	case "riscv64":
		return riscv64.Get()
	case "loongarch64":
		return loongarch64.Get()
	}
	return &machine{} // an unknown architecture
}

// A note is the type of an ELF note with a block of registers of a thread.
type note uint32

const (
	noteFP       note = 2 // NT_FPREGSET
	notePPCVMX   note = 0x100
	noteXState   note = 0x202
	noteS390High note = 0x30a // NT_S390_VXRS_HIGH
	noteS390Low  note = 0x309 // NT_S390_VXRS_LOW
	noteARMVFP   note = 0x400
	noteARMTLS   note = 0x401
	notePRXFP    note = 0x46e62b7f
)

// threadNotes is a ProcessState that has ELF notes of its threads.
type threadNotes interface {
	ThreadNote(tid unwind.ThreadID, owner string, typ uint32) ([]byte, bool)
}

// note returns a block of registers of a thread.
func (r *Reader) note(tid unwind.ThreadID, n note) ([]byte, bool) {
	switch n { // minidumps have one of the two
	case noteFP:
		if p, ok := r.proc.(interface {
			FPRegs(unwind.ThreadID) ([]byte, bool)
		}); ok {
			return p.FPRegs(tid)
		}
	case noteXState:
		if p, ok := r.proc.(interface {
			XState(unwind.ThreadID) ([]byte, bool)
		}); ok {
			return p.XState(tid)
		}
	}
	if t, ok := r.proc.(threadNotes); ok && n != noteFP {
		return t.ThreadNote(tid, "LINUX", uint32(n))
	}
	return nil, false
}

// A bank is a range of registers other than the general ones.
type bank struct {
	first, count uint64 // DWARF numbers
	name         string // a format for the i-th, with i+base: "xmm%d"
	base         int
	order        []int // if the numbers are not in order: the i-th register's
	read         func(s *savedRegs, i int) ([]byte, bool)

	// left says that on big-endian machines a narrower value is in the first bytes of the
	// register, not in the last.
	left bool
	// doubles says that the registers hold a float of 4 bytes as one of 8.
	doubles bool
}

func (b *bank) index(n uint64) int {
	if b.order != nil {
		return b.order[n-b.first]
	}
	return int(n - b.first)
}

// bank returns the bank of a DWARF number.
func (m *machine) bank(n uint64) *bank {
	for i := range m.banks {
		if b := &m.banks[i]; n-b.first < b.count { // not below first, either
			return b
		}
	}
	return nil
}

// plain returns a reader of registers of size bytes that are stride bytes apart in a block, from
// offset off.
func plain(n note, off, stride, size int) func(*savedRegs, int) ([]byte, bool) {
	return func(s *savedRegs, i int) ([]byte, bool) {
		b, _ := s.block(n)
		return slice(b, off+stride*i, size)
	}
}

func slice(b []byte, off, n int) ([]byte, bool) {
	if off+n > len(b) {
		return nil, false
	}
	return b[off : off+n : off+n], true
}

// savedRegs reads the registers other than the general ones, of a frame that has them: a thread's
// youngest, or one that a signal interrupted. In other frames calls may have changed them.
type savedRegs struct {
	r     *Reader
	frame *unwind.Frame
}

func (s *savedRegs) block(n note) ([]byte, bool) {
	if s.frame.IsTopFrame() {
		return s.r.note(s.frame.Thread(), n)
	}
	tramp := s.frame.PrevFrame()
	if tramp == nil || !tramp.IsTrampoline() || s.r.machine.interrupted == nil {
		return nil, false
	}
	return s.r.machine.interrupted(s.r, tramp, n)
}

// vector returns all bytes of a register other than a general one.
func (e *evaluator) vector(n uint64) (raw []byte, b *bank, ok bool) {
	if e.virtual {
		return nil, nil, false
	}
	if b = e.r.machine.bank(n); b == nil {
		return nil, nil, false
	}
	e.inputs.Other()
	s := savedRegs{e.r, e.frame()}
	raw, ok = b.read(&s, b.index(n))
	return raw, b, ok
}

// regName returns the name of a register by its DWARF number. Of numbers that mean two registers,
// as 108 of PowerPC does, it is the one that values are read from.
func (r *Reader) regName(n uint64) string {
	if b := r.machine.bank(n); b != nil {
		return fmt.Sprintf(b.name, b.index(n)+b.base)
	}
	if reg, ok := r.arch.FromDWARF(n); ok {
		return r.arch.RegName(reg)
	}
	return fmt.Sprintf("register %d", n)
}

// readBlock reads n bytes of the process's memory.
func (r *Reader) readBlock(addr arch.Address, n int) ([]byte, bool) {
	b := make([]byte, n)
	return b, r.mem.Read(addr, b) == nil
}

// kernelWord reads an integer of size bytes; 0 if it cannot.
func (r *Reader) kernelWord(addr arch.Address, size int) uint64 {
	v, _ := r.mem.Int(addr, size, false)
	return v
}

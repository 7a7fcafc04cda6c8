package dwarfvars

import (
	"fmt"

	"github.com/corewalk/corewalk/internal/format/pdb"
	"github.com/corewalk/corewalk/internal/vars/values"
	"github.com/corewalk/corewalk/unwind"
	"github.com/corewalk/corewalk/unwind/arch"
)

// A machine is what reading variables must know of an architecture beside what
// unwind/arch has of it: registers that are not general ones, the formats of
// floating-point numbers, thread-local storage. Each architecture is one file
// here; what a machine does not say is not known.
type machine struct {
	banks []bank
	// interrupted returns a block of registers as the kernel saved it for the
	// handler of a signal, laid out as in the dump's note; tramp is the frame
	// that returns from the handler.
	interrupted func(r *Reader, tramp *unwind.Frame, n note) ([]byte, bool)
	// steady are the DWARF numbers of registers that are the same in all frames
	// of a thread, but that no frame keeps.
	steady []uint64
	tls    *tlsABI
	// goroutine is the DWARF number of the register in which Go keeps the goroutine
	// it runs; 0 where Go is not known to.
	goroutine uint64

	// codeview says what a register of a PDB is; nil where PDBs are not known.
	codeview func(pdb.Register) (registerPart, bool)

	longDouble values.FloatFormat // of a long double of 16 bytes
	// maxAlign is the largest alignment of a scalar in a struct, in bytes.
	maxAlign uint64
	// virtualInAdjust: a pointer to a member function says in its adjustment
	// whether the function is virtual, because addresses of code may be odd
	// (Itanium C++ ABI, 2.3).
	virtualInAdjust bool
}

// machines are the architectures known here, by arch.Arch.Name.
var machines = map[string]*machine{
	"x86-64":      &amd64,
	"i386":        &i386,
	"aarch64":     &aarch64,
	"arm":         &arm,
	"ppc64le":     &ppc64,
	"ppc64":       &ppc64,
	"ppc":         &ppc,
	"s390x":       &s390x,
	"s390":        &s390,
	"mips":        &mips32,
	"x32":         &amd64,
	"mipsel":      &mips32,
	"mips64":      &mips64,
	"mips64el":    &mips64,
	"riscv64":     &riscv64,
	"loongarch64": &loongarch64,
}

func machineOf(a *arch.Arch) *machine {
	if a != nil {
		if m, ok := machines[a.Name]; ok {
			return m
		}
	}
	return &machine{} // of a dump whose architecture is not known
}

// A note is a block of registers that a dump has of each thread, by the type of
// its ELF note.
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

// threadNotes is a ProcessState that has notes of its threads.
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

// A bank is a run of registers outside the general file.
type bank struct {
	first, count uint64 // DWARF numbers
	name         string // of the i-th, printed with i+base: "xmm%d"
	base         int
	order        []int // where the numbers are not in order: the i-th register's
	read         func(s *savedRegs, i int) ([]byte, bool)

	// left: on big-endian machines a narrower value is in the first bytes of the
	// register, not in the last.
	left bool
	// doubles: a float of 4 bytes is kept as one of 8.
	doubles bool
}

func (b *bank) index(n uint64) int {
	if b.order != nil {
		return b.order[n-b.first]
	}
	return int(n - b.first)
}

// bank finds the bank of a DWARF number.
func (m *machine) bank(n uint64) *bank {
	for i := range m.banks {
		if b := &m.banks[i]; n >= b.first && n-b.first < b.count {
			return b
		}
	}
	return nil
}

// plain reads registers of size bytes, stride bytes apart from off on in a block.
func plain(n note, off, stride, size int) func(*savedRegs, int) ([]byte, bool) {
	return func(s *savedRegs, i int) ([]byte, bool) {
		b, ok := s.block(n)
		if !ok {
			return nil, false
		}
		return slice(b, off+stride*i, size)
	}
}

func slice(b []byte, off, n int) ([]byte, bool) {
	if off < 0 || off+n > len(b) {
		return nil, false
	}
	return b[off : off+n : off+n], true
}

// savedRegs are the registers outside the general file of a frame that has them
// all: a thread's youngest, or one that a signal interrupted. ABIs let every call
// change them, or most.
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

// vector returns the bytes of a register outside the general file, as many as it
// has.
func (e *evaluator) vector(n uint64) (raw []byte, b *bank, ok bool) {
	if e.virtual {
		return nil, nil, false
	}
	if b = e.r.machine.bank(n); b == nil {
		return nil, nil, false
	}
	s := savedRegs{e.r, e.frame()}
	raw, ok = b.read(&s, b.index(n))
	return raw, b, ok
}

// regName names a register by its DWARF number.
func (r *Reader) regName(n uint64) string {
	if reg, ok := r.arch.FromDWARF(n); ok {
		return r.arch.RegName(reg)
	}
	if b := r.machine.bank(n); b != nil {
		return fmt.Sprintf(b.name, b.index(n)+b.base)
	}
	return fmt.Sprintf("register %d", n)
}

// readBlock reads n bytes of the process that the kernel wrote.
func (r *Reader) readBlock(addr arch.Address, n int) ([]byte, bool) {
	b := make([]byte, n)
	return b, r.mem.Read(addr, b) == nil
}

// kernelWord reads an integer of size bytes.
func (r *Reader) kernelWord(addr arch.Address, size int) uint64 {
	v, err := r.mem.Int(addr, size, false)
	if err != nil {
		return ^uint64(0)
	}
	return v
}

package reason

import (
	"fmt"
	"strings"

	"github.com/corewalk/corewalk/internal/code/disasm"
	"github.com/corewalk/corewalk/libstate"
	"github.com/corewalk/corewalk/report"
	"github.com/corewalk/corewalk/unwind/arch"
)

// Codes of SIGSEGV and SIGBUS that say more than whether the address was mapped.
const (
	segvAccess   = 2
	segvBounds   = 3
	segvKey      = 4
	segvADIFirst = 5 // memory tags: first SPARC's, then ARM's
	segvMTEAsync = 8
	segvMTELast  = 9
	segvControl  = 10
	busAlign     = 1
	busNoPage    = 2
	busObject    = 3
	busMemoryAR  = 4
	busMemoryAO  = 5
	tagShift     = 56 // of a pointer's tag, on arm64
	tagMask      = 15
)

// pointerBits clears bits that are not part of the address. (The kernel reports some addresses with the top byte and some without.)
func (in *Input) pointerBits(v uint64) uint64 { return in.Arch.DataAddress(v) }

// canonical reports whether user or kernel code could have the address mapped: with the 48 bits that Linux uses
// on x86-64 unless a program asks for more, and with up to 52 bits on arm64.
func (in *Input) canonical(addr uint64) bool {
	shift := 47
	switch {
	case in.Arch == nil:
		return true
	case in.Arch.Family == arch.FamilyARM64:
		shift = 52
		addr = in.pointerBits(addr)
	case in.Arch != arch.AMD64:
		return true
	}
	top := int64(addr) >> shift
	return top == 0 || top == -1
}

// accesses returns the memory accesses of the instruction.
func (in *Input) accesses() []disasm.Access {
	if in.Inst == nil {
		return nil
	}
	return disasm.FaultAccess(nil, in.Inst, &in.Regs)
}

// access returns the instruction's access that touches addr, or its only one if that could touch it; otherwise
// the zero Access, which is not Known.
func (in *Input) access(addr uint64) disasm.Access {
	addr = in.pointerBits(addr)
	for _, a := range in.accesses() {
		if a.Known && addr-in.pointerBits(a.Addr) < uint64(max(a.Size, 1)) {
			return a
		}
	}
	if a := in.only(); !a.Known {
		return a
	}
	return disasm.Access{}
}

// only returns the instruction's access if it makes only one; otherwise the zero Access, which is not Known.
func (in *Input) only() disasm.Access {
	if all := in.accesses(); len(all) == 1 {
		return all[0]
	}
	return disasm.Access{}
}

// access returns the reason for an access at addr, still without text.
func access(a disasm.Access, addr uint64) Reason {
	return Reason{Access: direction(a), AccessSize: a.Size, Addr: addr, HasAddr: true, AtInst: true}
}

// direction returns "read" or "write"; "" if neither is known.
func direction(a disasm.Access) string {
	switch {
	case a.Write:
		return report.AccessWrite
	case a.Read:
		return report.AccessRead
	}
	return ""
}

// The kinds of an access, by its direction.
var (
	nullKinds         = [...]string{report.CrashNullRead, report.CrashNullWrite, report.CrashNullCall, report.CrashNullAccess}
	wildKinds         = [...]string{report.CrashWildRead, report.CrashWildWrite, report.CrashWildCall, report.CrashWildAccess}
	nonCanonicalKinds = [...]string{report.CrashNonCanonicalRead, report.CrashNonCanonicalWrite, report.CrashNonCanonicalCall, report.CrashNonCanonicalAccess}
	noAccessKinds     = [...]string{report.CrashNoAccessRead, report.CrashNoAccessWrite, report.CrashExecNoExec, report.CrashNoAccess}
	badKinds          = [...]string{report.CrashBadRead, report.CrashBadWrite, report.CrashBadCall, report.CrashBadAccess}
)

// of returns the kind for a direction.
func of(kinds *[4]string, direction string) string {
	switch direction {
	case report.AccessRead:
		return kinds[0]
	case report.AccessWrite:
		return kinds[1]
	case report.AccessExecute:
		return kinds[2]
	}
	return kinds[3]
}

// verb says what an access did: "read of 4 bytes".
func verb(a disasm.Access) string {
	what := "access"
	switch {
	case a.Read && a.Write:
		what = "read and write"
	case a.Write:
		what = "write"
	case a.Read:
		what = "read"
	}
	switch a.Size {
	case 0:
		return what
	case 1:
		return what + " of 1 byte"
	}
	return fmt.Sprintf("%s of %d bytes", what, a.Size)
}

// describe explains a failed access to addr.
func (in *Input) describe(a disasm.Access, addr uint64) Reason {
	r := access(a, addr)
	r.unmatched = !a.Known
	m, mapped := in.mapping(addr)
	off, null := in.nullOffset(a, addr, mapped)
	switch {
	case in.belowStack(addr, m):
		r.Kind = report.CrashStackOverflow
		r.Text = fmt.Sprintf("stack overflow: %s at %#x, below the stack%s", verb(a), addr, in.crowded(addr))
	case null:
		r.Kind = of(&nullKinds, r.Access)
		r.Text = verb(a) + " at " + nullPlus(off)
	case !in.special(&r, a, addr, m, mapped):
		in.refused(&r, a, addr, m, mapped)
	}
	return r
}

// special explains an access that failed for another reason than the memory map.
func (in *Input) special(r *Reason, a disasm.Access, addr uint64, m libstate.Mapping, mapped bool) bool {
	s := in.Signal
	code := s.Code
	at := fmt.Sprintf("%s at %#x, ", verb(a), addr)
	switch {
	case s.Number == sigBus && (code == busAlign || !s.HasInfo && mapped && a.Known && !in.isX86() && addr%uint64(min(max(a.Size, 1), in.Arch.WordSize)) != 0):
		r.Kind, r.Text = report.CrashMisaligned, at+"which is misaligned"
		if unit := min(a.Size, in.Arch.WordSize); unit > 1 && addr%uint64(unit) != 0 {
			r.Text = fmt.Sprintf("%swhich is not aligned to %d", at, unit)
		}
	case s.Number == sigBus && code == busNoPage && mapped && m.Path != "":
		r.Kind, r.Text = report.CrashBusTruncated, at+"past the end of the file mapped there"+place(m)
		if SharedMemory(m.Path) {
			r.Text = at + "which has no page: the mapped file is shorter, or no memory is left for it" + place(m)
		}
	case s.Number == sigBus && !s.HasInfo && s.HasAddr && mapped && m.Path != "" && a.Known:
		r.Kind, r.Text = report.CrashBusTruncated, at+"of which the file mapped there had no page"+place(m)
	case s.Number == sigBus && (code == busMemoryAR || code == busMemoryAO):
		r.Kind, r.Text = report.CrashHardware, at+"where the hardware reported a memory failure"+place(m)
	case s.Number == sigBus && (code == busNoPage || code == busObject):
		_, words := CodeName(s.Number, s.Code)
		r.Kind, r.Text = report.CrashBusError, at+words+place(m)
	case s.Number == sigSegv && code == segvBounds:
		r.Kind, r.Text = report.CrashBounds, at+"outside the bounds of its pointer"
	case s.Number == sigSegv && code == segvKey:
		r.Kind, r.Text = report.CrashProtectionKey, at+"whose protection key forbids it"+place(m)
	case s.Number == sigSegv && code >= segvADIFirst && code <= segvMTELast:
		r.Kind, r.Text = report.CrashMemoryTag, at+"whose memory tag differs from the pointer's"
		if in.Arch.Family == arch.FamilyARM64 && a.Known {
			r.Text += fmt.Sprintf(" (%#x)", a.Addr>>tagShift&tagMask)
		}
	default:
		return false
	}
	return true
}

// SharedMemory recognises files that are memory by the paths that Linux gives them.
func SharedMemory(path string) bool {
	for _, prefix := range []string{"/dev/shm/", "/memfd:", "/SYSV", "/anon_hugepage", "/dev/hugepages/"} {
		if strings.HasPrefix(path, prefix) {
			return true
		}
	}
	return false
}

// refused explains an access that the memory map does not allow.
func (in *Input) refused(r *Reason, a disasm.Access, addr uint64, m libstate.Mapping, mapped bool) {
	at := fmt.Sprintf("%s at %#x", verb(a), addr)
	switch {
	case !in.canonical(addr):
		r.Kind, r.Text = of(&nonCanonicalKinds, r.Access), at+impossible
	case in.Mapping == nil:
		r.Kind, r.Text = of(&badKinds, r.Access), at
		if s := in.Signal; s.Number == sigSegv && s.Code == segvAccess {
			r.Kind = of(&noAccessKinds, r.Access)
		}
	case !mapped && in.kernels(addr):
		r.Kind, r.Text = of(&wildKinds, r.Access), at+", which belongs to the kernel"
	case !mapped:
		r.Kind, r.Text = of(&wildKinds, r.Access), at+", which is not mapped"+in.behind(addr)
	case m.Perm == 0:
		r.Kind, r.Text = of(&noAccessKinds, r.Access), at+", which allows no access"+place(m)
		if in.guardPage(addr) {
			r.Text = at + ", in a guard page" + place(m)
		}
	case a.Write && m.Perm&libstate.Write == 0:
		r.Kind, r.Text = report.CrashWriteReadOnly, at+", which is not writable"+place(m)
	case m.Perm&libstate.Read == 0:
		r.Kind, r.Text = of(&noAccessKinds, r.Access), at+", which is not readable"+place(m)
	default:
		r.Kind, r.Text = of(&badKinds, r.Access), at+", "+in.otherwise()+place(m)
	}
}

// behind says that an address is the first one past mapped memory, where a buffer overrun ends.
func (in *Input) behind(addr uint64) string {
	if addr%pageSize != 0 {
		return ""
	}
	m, ok := in.Mapping(addr - 1)
	if !ok || m.Perm == 0 {
		return ""
	}
	return ", just past the end of mapped memory" + place(m)
}

// otherwise says why an access failed that the memory map allows.
func (in *Input) otherwise() string {
	if in.Signal.Number == sigBus && in.Signal.HasInfo {
		if _, words := CodeName(sigBus, in.Signal.Code); words != "" {
			return words
		}
	}
	return "which was not accessible"
}

const impossible = ", which no process can map (not canonical)"

// kernels reports whether addr lies in the upper half, which belongs to the kernel.
func (in *Input) kernels(addr uint64) bool {
	switch in.Arch.Family {
	case arch.FamilyX86, arch.FamilyARM64:
		return in.Arch.WordSize == 8 && int64(in.pointerBits(addr)) < 0
	}
	return false
}

// place returns the file of a mapping, in brackets.
func place(m libstate.Mapping) string {
	if m.Path == "" {
		return ""
	}
	return " (" + m.Path + ")"
}

// nullOffset reports whether an access went through a null pointer, and at which offset from null: the address
// is near null, or it is far and the instruction adds to a register that is null.
func (in *Input) nullOffset(a disasm.Access, addr uint64, mapped bool) (int64, bool) {
	if addr < nullZone {
		return int64(addr), true
	}
	off := int64(addr)
	if in.Arch != nil && in.Arch.WordSize == 4 {
		off = int64(int32(uint32(addr)))
	}
	if mapped || !in.nullBase(a) {
		return 0, false
	}
	return off, true
}

// nullBase reports whether the base register of an access is null. With an unscaled index nobody can tell which
// of the two registers is the pointer.
func (in *Input) nullBase(a disasm.Access) bool {
	m := &a.Operand
	if !a.Known || m.RIPRelative || m.Segment != arch.NoReg || m.Base == in.Arch.SP {
		return false
	}
	if m.Base == arch.NoReg && m.Index == arch.NoReg { // the compiler knew that the pointer is null
		return in.Arch.Truncate(-a.Addr) < nullZone
	}
	base, ok := in.Regs.Get(m.Base)
	if !ok || base != 0 {
		return false
	}
	return m.Index == arch.NoReg || m.Scale > 1 || a.Addr < nullZone
}

// nullPlus formats null with an offset.
func nullPlus(off int64) string {
	switch {
	case off == 0:
		return "null"
	case off < 0:
		return fmt.Sprintf("null-%#x", -uint64(off))
	}
	return fmt.Sprintf("null+%#x", off)
}

// listAccesses fills in the instruction's memory accesses, and what its operands say about the bad address.
func (in *Input) listAccesses(r *Reason) {
	if r.Access == report.AccessExecute && r.HasAddr {
		r.Accesses = append(r.Accesses, report.Access{Address: report.Addr(r.Addr), Kind: report.AccessExecute, GuardPage: in.guardPage(r.Addr)})
	}
	if !r.AtInst {
		return
	}
	for _, a := range in.accesses() {
		if !a.Known {
			continue
		}
		kind := direction(a)
		if a.Read && a.Write {
			kind = report.AccessReadWrite
		}
		r.Accesses = append(r.Accesses, report.Access{Address: report.Addr(a.Addr), Size: a.Size, Kind: kind, GuardPage: in.guardPage(a.Addr)})
		if r.Adjusted == nil && r.isNull() && in.nullBase(a) {
			r.Adjusted = &report.AdjustedAddress{Kind: report.AdjustedNullPointer, Offset: report.Addr(a.Addr)}
		}
	}
}

func (r *Reason) isNull() bool {
	switch r.Kind {
	case report.CrashNullRead, report.CrashNullWrite, report.CrashNullAccess:
		return true
	}
	return false
}

// largestGuard is the size from which memory without permissions is taken as reserved space, not as a guard
// page.
const largestGuard = 32 << 10

// guardPage reports whether addr is in a small area without permissions directly next to memory in use.
func (in *Input) guardPage(addr uint64) bool {
	m, ok := in.mapping(in.pointerBits(addr))
	if !ok || m.Perm != 0 || m.End-m.Start >= largestGuard {
		return false
	}
	if next, ok := in.Mapping(m.End); ok && next.Perm != 0 {
		return true
	}
	below, ok := in.Mapping(m.Start - 1)
	return ok && below.Perm != 0
}

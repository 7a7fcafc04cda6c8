package steppers

import (
	"fmt"
	"path"
	"strings"
	"sync"

	"github.com/corewalk/corewalk/internal/format/breakpad"
	"github.com/corewalk/corewalk/internal/format/unwindrules"
	"github.com/corewalk/corewalk/libstate"
	"github.com/corewalk/corewalk/modules"
	"github.com/corewalk/corewalk/unwind"
	"github.com/corewalk/corewalk/unwind/arch"
)

// SymCFIStepper walks by the STACK CFI records of Breakpad symbol files, on any
// architecture. They are call frame information written as text. A binary's own comes
// first: it has more than symbol files keep.
type SymCFIStepper struct {
	arch    *arch.Arch
	files   modules.Source
	flows   *flows
	scratch sync.Pool // *symScratch
}

// NewSymCFIStepper returns the stepper for an architecture; ErrBadParam without
// files.
func NewSymCFIStepper(a *arch.Arch, files modules.Source) (*SymCFIStepper, error) {
	if a == nil || files == nil {
		return nil, fmt.Errorf("stepper by symbol files needs an architecture and files: %w", unwind.ErrBadParam)
	}
	return &SymCFIStepper{arch: a, files: files, flows: &flows{files: files}}, nil
}

// Name implements unwind.FrameStepper.
func (s *SymCFIStepper) Name() string { return "SymCFI" }

// Priority implements unwind.FrameStepper: after all that goes by the binary itself.
func (s *SymCFIStepper) Priority() uint32 { return unwind.PriorityDebugStepper + 3 }

// A symScratch holds the buffers of one step, for the next to reuse.
type symScratch struct {
	found   [rowCache]foundRules
	machine unwindrules.Machine
	caller  breakpad.Caller
	frame   *unwind.Frame
	arch    *arch.Arch
}

// foundRules are rules and the address that they were looked up for.
type foundRules struct {
	file  *breakpad.File
	addr  uint64
	rules *breakpad.Rules
}

func (s *SymCFIStepper) newScratch() *symScratch {
	x := &symScratch{arch: s.arch}
	x.machine = unwindrules.Machine{WordSize: s.arch.RegSize, Reg: x.reg, Read: x.read}
	return x
}

// reg returns the frame's register of a name.
func (x *symScratch) reg(name string) (uint64, bool) {
	r, ok := symReg(x.arch, name)
	if !ok {
		return 0, false
	}
	v, _, ok := x.frame.Reg(r)
	return v, ok
}

func (x *symScratch) read(addr uint64) (uint64, error) {
	return x.arch.ReadReg(x.frame.Walker().ProcessState(), addr)
}

// rules returns the rules for an offset from the module's start; nil if there are none.
func (x *symScratch) rules(f *breakpad.File, addr uint64, out *unwind.Frame) *breakpad.Rules {
	c := &x.found[(addr^addr>>3)%rowCache]
	if c.file == f && c.addr == addr {
		return c.rules
	}
	before := f.Work()
	r, err := f.CFI(addr)
	if x.frame.Spend(int(f.Work()-before)) != nil {
		return nil
	}
	if err != nil {
		if out.Tracing() {
			out.Notef("symbol file of %s: %v", f.Name, err)
		}
		return nil
	}
	*c = foundRules{f, addr, r}
	return r
}

// CallerFrame implements unwind.FrameStepper.
func (s *SymCFIStepper) CallerFrame(in, out *unwind.Frame) unwind.Status {
	lib := libraryAt(in.Walker().ProcessState(), in.LookupAddr())
	if lib == nil {
		return unwind.StatusNotMe
	}
	f := fileOf(s.files, lib).Breakpad()
	if f == nil {
		return unwind.StatusNotMe
	}
	x, _ := s.scratch.Get().(*symScratch)
	if x == nil {
		x = s.newScratch()
	}
	x.frame = in
	status := s.step(x, f, lib, in, out)
	x.frame = nil
	s.scratch.Put(x)
	return status
}

func (s *SymCFIStepper) step(x *symScratch, f *breakpad.File, lib *libstate.Library, in, out *unwind.Frame) unwind.Status {
	lookup, pc := in.LookupAddr()-lib.Start, in.RA()-lib.Start
	rules := x.rules(f, lookup, out)
	if lookup != pc && (rules == nil || pc-rules.Start >= rules.Size) {
		// The kernel makes signal handlers return to the first byte of a trampoline.
		if r := x.rules(f, pc, out); r != nil && r.Start == pc && r.Apply(&x.caller, &x.machine) == nil && s.isSignal(&x.caller) {
			rules = r
		}
	}
	if rules == nil {
		return unwind.StatusNotMe
	}
	if out.Tracing() {
		out.Notef("STACK CFI of %s+%#x..%#x: %v", path.Base(lib.Path), rules.Start, rules.Start+rules.Size, rules)
	}
	if err := rules.Apply(&x.caller, &x.machine); err != nil {
		if out.Tracing() {
			out.Notef("%v", err)
		}
		return unwind.StatusNotMe
	}
	return s.restore(&x.caller, lib, in, out)
}

// isSignal reports whether the rules are those of a signal trampoline, which symbol
// files do not mark. Such rules read the stack pointer from memory as it was; where
// calls push the return address, the rules do not put it below that stack pointer.
// Functions that align their stack do.
func (s *SymCFIStepper) isSignal(c *breakpad.Caller) bool {
	return c.CFA.From == unwindrules.FromMemory && c.RA.From == unwindrules.FromMemory &&
		(s.arch.RA != arch.NoReg || c.RA.Addr != c.CFA.Bits-uint64(s.arch.RegSize))
}

// restore fills in the caller c.
func (s *SymCFIStepper) restore(c *breakpad.Caller, lib *libstate.Library, in, out *unwind.Frame) unwind.Status {
	if c.Outermost {
		note(out, "the return address is undefined: the outermost frame")
		return unwind.StatusStackBottom
	}
	ra, cfa, signal := c.RA, c.CFA.Bits, s.isSignal(c)
	sp, spLoc := cfa-s.arch.CFAOffset-s.arch.StackBias, unwind.Location{}
	if isPE(lib) && s.arch == arch.AMD64 {
		keep(in, out, winKept)
	}
	for i := range c.Regs {
		r, known := symReg(s.arch, c.Regs[i].Name)
		switch v := c.Regs[i].Value; {
		case !known:
		case r == s.arch.PC && !c.Regs[i].Lost:
			ra = v
		case r == s.arch.SP && !c.Regs[i].Lost:
			sp, spLoc = v.Bits, locate(s.arch, in, v)
		case c.Regs[i].Lost:
			out.ForgetReg(r)
		default:
			out.SetReg(r, v.Bits, locate(s.arch, in, v))
		}
	}
	loc := locate(s.arch, in, ra)
	if in.Walker().CodeAddress(ra.Bits) == 0 {
		return zeroReturn(cfa, loc, in, out)
	}
	out.SetPC(ra.Bits+s.arch.ReturnOffset, loc)
	if out.RA() < lowestCode {
		note(out, "the return address is not in code")
		return unwind.StatusNotMe
	}
	out.SetReg(s.arch.SP, sp, spLoc)
	if why := offStack(in, out); why != "" {
		note(out, why)
		return unwind.StatusNotMe
	}
	if isPE(lib) && !s.inModule(out.CodePointer(), in) {
		// Breakpad derives wrong rules from the tables of x64 images for functions with
		// a frame pointer.
		note(out, "the return address is in no module")
		return unwind.StatusNotMe
	}
	if derailed(out) && !s.codeAgrees(cfa, in) {
		// Symbol files leave out rules that are expressions, and the rule before stays:
		// for functions that align their stack, one by a register that they reuse.
		note(out, "the return address is not in code, and the function's code does not show that the rules are right")
		return unwind.StatusNotMe
	}
	out.SetCalleeCFA(cfa)
	out.SetTrust(unwind.TrustSymCFI)
	if signal {
		out.SetNonCall(true)
		out.SetTrust(unwind.TrustSignal)
	}
	return unwind.StatusSuccess
}

// inModule reports whether ra is in a module or in code outside of modules. At the end of
// either it must follow a call.
func (s *SymCFIStepper) inModule(ra arch.Address, in *unwind.Frame) bool {
	p := in.Walker().ProcessState()
	if libraryAt(p, ra-1) == nil && !isCode(p, ra-1) {
		return false
	}
	_, isCall := callBefore(p, ra)
	return isCall || libraryAt(p, ra) != nil || isCode(p, ra)
}

// codeAgrees reports whether the code of the frame's function shows the same CFA. Then
// something has overwritten the return address.
func (s *SymCFIStepper) codeAgrees(cfa arch.Address, in *unwind.Frame) bool {
	row, _ := s.flows.certain(nil, in.Walker(), in.LookupAddr(), modeOf(in))
	if row == nil {
		return false
	}
	seen, ok := cfaOf(s.arch, &row.CFA, in)
	return ok && seen == cfa
}

// locate returns the location in the process of a value that a program computed.
func locate(a *arch.Arch, in *unwind.Frame, v unwindrules.Value) unwind.Location {
	switch v.From {
	case unwindrules.FromMemory:
		return unwind.AtAddress(v.Addr)
	case unwindrules.FromRegister:
		if r, ok := symReg(a, v.Reg); ok {
			_, loc, _ := in.Reg(r)
			return loc
		}
	}
	return unwind.Location{}
}

// winKept are the registers of x64 that calls preserve on Windows, and not elsewhere.
var winKept = []arch.Reg{arch.RSI, arch.RDI}

// isPE reports whether a library is an image of Windows.
func isPE(lib *libstate.Library) bool {
	return lib.Module != nil && lib.Module.Format == libstate.FormatPE
}

// symReg returns the register that symbol files call by this name. Most names are ours;
// the others are those of the platform's assembler.
func symReg(a *arch.Arch, name string) (arch.Reg, bool) {
	if r, ok := a.RegByName(name); ok {
		return r, true
	}
	switch {
	case name == "pc", name == "srr0" && a.Family == arch.FamilyPPC:
		return a.PC, true
	case name == "sp":
		return a.SP, true
	case (name == "fp" || name == "s8") && a.Family != arch.FamilyX86:
		return a.FP, true
	case name == "lr", name == "ra":
		return a.RA, a.RA != arch.NoReg
	case a.Family == arch.FamilyARM64 && strings.HasPrefix(name, "v"):
		return a.RegByName("d" + name[1:]) // the lower half, which calls preserve
	case a.Family != arch.FamilyARM:
		return arch.NoReg, false
	case name == "ip":
		return arch.ARMIP, true
	case name == "r13":
		return a.SP, true
	case name == "r14":
		return a.RA, true
	case name == "r15":
		return a.PC, true
	}
	return arch.NoReg, false
}

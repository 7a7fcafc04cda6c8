package steppers

import (
	"errors"
	"fmt"
	"path"
	"sync"

	"github.com/corewalk/corewalk/internal/files/image"
	"github.com/corewalk/corewalk/internal/format/dwarf/cfi"
	"github.com/corewalk/corewalk/internal/format/dwarf/op"
	"github.com/corewalk/corewalk/internal/format/winunwind"
	"github.com/corewalk/corewalk/internal/procmem"
	"github.com/corewalk/corewalk/libstate"
	"github.com/corewalk/corewalk/modules"
	"github.com/corewalk/corewalk/unwind"
	"github.com/corewalk/corewalk/unwind/arch"
)

// fileOf is the file of a library; nil for none.
func fileOf(files modules.Source, lib *libstate.Library) *image.Image {
	return (*image.Image)(files.Image(lib))
}

// DebugStepper walks by call frame information. It looks in .eh_frame first, which the
// process itself would have used, and in .debug_frame if that has nothing (assembly,
// and C programs built without unwind tables). Without the library's file it looks for
// .eh_frame in the process's memory. For Go programs without .debug_frame it
// uses the pc-line table, from which their linker makes that section.
//
// It restores every register that has a rule, from the frames below and from memory. A
// return address that is undefined, or read as zero, is the bottom of the stack.
type DebugStepper struct {
	arch    *arch.Arch
	files   modules.Source
	memory  memoryTables
	scratch sync.Pool // *cfiScratch
}

// NewDebugStepper returns the stepper for an architecture, or ErrBadParam without
// files.
func NewDebugStepper(a *arch.Arch, files modules.Source) (*DebugStepper, error) {
	if a == nil || files == nil {
		return nil, fmt.Errorf("debug stepper needs an architecture and files: %w", unwind.ErrBadParam)
	}
	return &DebugStepper{arch: a, files: files}, nil
}

// Name implements unwind.FrameStepper.
func (s *DebugStepper) Name() string { return "Debug" }

// Priority implements unwind.FrameStepper.
func (s *DebugStepper) Priority() uint32 { return unwind.PriorityDebugStepper }

// A cfiScratch holds the buffers of one step, for the next to reuse.
type cfiScratch struct {
	found   [rowCache]*foundRow
	machine op.Machine
	regs    calleeRegs
}

// rowCache is how many rows walks remember: recursion returns to the same few addresses
// thousands of times, and hundreds of threads wait in the same functions.
const rowCache = 64

// rowSlot is where the row for a return address is remembered.
func rowSlot(ra arch.Address) uint64 { return ra * 0x9e3779b97f4a7c15 >> 58 }

// A foundRow is a row and the address that it was looked up for.
type foundRow struct {
	lib        *libstate.Library // nil for none
	lookup, ra arch.Address
	row        cfi.Row
	fn         image.GoFunc // set if the row alone does not lead to the caller
	pe         bool         // the library is a PE image
	mono       bool         // the library may contain Mono
	again      bool         // the row was found for an earlier frame
	repeat     repeatedRow  // see repeat.go
}

// calleeRegs returns the registers of a frame by DWARF number.
type calleeRegs struct {
	arch  *arch.Arch
	frame *unwind.Frame
	sp    arch.Address // the base for the row; differs from the frame's SP if that changed stacks
	doubt bool         // a register that was asked for is doubtful
}

var errNoRegister = errors.New("its value is not known in this frame")

// DWARFReg implements op.Registers.
func (c *calleeRegs) DWARFReg(n uint64) (uint64, error) {
	if r, ok := c.arch.FromDWARF(n); ok {
		if v, loc, ok := c.frame.Reg(r); ok {
			c.doubt = c.doubt || loc.Doubtful
			if r == c.arch.SP {
				v = c.sp
			}
			return v, nil
		}
	}
	return 0, errNoRegister
}

// CallerFrame implements unwind.FrameStepper.
func (s *DebugStepper) CallerFrame(in, out *unwind.Frame) unwind.Status {
	x, _ := s.scratch.Get().(*cfiScratch)
	if x == nil {
		x = &cfiScratch{}
	}
	status := s.step(x, in, out)
	x.regs = calleeRegs{}
	s.scratch.Put(x)
	return status
}

func (s *DebugStepper) step(x *cfiScratch, in, out *unwind.Frame) unwind.Status {
	found := s.findRow(x, in, out)
	if found == nil {
		return unwind.StatusNotMe
	}
	if found.again && !out.Tracing() && !found.mono {
		if r := s.repeated(found); r != nil && s.stepRepeated(r, in, out) {
			return unwind.StatusSuccess
		}
	}
	x.regs = calleeRegs{arch: s.arch, frame: in, sp: in.SP()}
	if found.fn != image.GoOther && !interrupted(in) {
		if status, done := s.goStep(x, found, in, out); done {
			return status
		}
	}
	status := s.apply(x, &found.row, in, out)
	if status == unwind.StatusSuccess && found.pe {
		s.preserve(&found.row, in, out)
	}
	if status == unwind.StatusSuccess && found.mono {
		resume(in, out)
	}
	return status
}

// preserve copies the registers that calls preserve only on Windows and that have no
// rule in the row: the function did not save them because it did not change them.
func (s *DebugStepper) preserve(row *cfi.Row, in, out *unwind.Frame) {
	more := winunwind.Nonvolatile(s.arch) &^ s.arch.CalleeSaved
	for n := range row.Rules() {
		if r, ok := s.arch.FromDWARF(n); ok {
			more &^= arch.Mask(r)
		}
	}
	for ; more != 0; more &= more - 1 {
		if v, loc, ok := in.Reg(more.First()); ok {
			out.SetReg(more.First(), v, loc)
		}
	}
}

// apply applies the row to find the caller. What its expressions cost is charged; the next frame notices when that
// was too much.
func (s *DebugStepper) apply(x *cfiScratch, row *cfi.Row, in, out *unwind.Frame) unwind.Status {
	status := s.applied(x, row, in, out)
	in.Spend(x.machine.Executed())
	return status
}

func (s *DebugStepper) applied(x *cfiScratch, row *cfi.Row, in, out *unwind.Frame) unwind.Status {
	cfa, err := row.CFAValue(&x.machine, &x.regs, in.Walker().ProcessState())
	if err != nil {
		if out.Tracing() {
			out.Notef("%v", err)
		}
		return unwind.StatusNotMe
	}
	return s.restore(x, row, cfa, in, out)
}

// stepAs steps from in as if it were at the process's address pc of lib, which has
// the same stack layout.
func (s *DebugStepper) stepAs(in, out *unwind.Frame, lib *libstate.Library, pc arch.Address) unwind.Status {
	im := fileOf(s.files, lib)
	if im == nil {
		return unwind.StatusNotMe
	}
	x := &cfiScratch{regs: calleeRegs{arch: s.arch, frame: in, sp: in.SP()}}
	row := new(cfi.Row)
	row.Bias = im.Bias(lib.LoadBias)
	if !s.rowAt(row, im, lib, pc, in, out) {
		return unwind.StatusNotMe
	}
	return s.apply(x, row, in, out)
}

// goStep steps from a function of Go's runtime that the row alone cannot step out of;
// false if the row can.
func (s *DebugStepper) goStep(x *cfiScratch, found *foundRow, in, out *unwind.Frame) (unwind.Status, bool) {
	p := in.Walker().ProcessState()
	g := goFrame{procmem.Of(p), in, out, p}
	var status unwind.Status
	switch found.fn {
	case image.GoMcall, image.GoMorestack:
		return g.leave(found.fn)
	case image.GoEntry:
		g.note("Go's start-up code: the outermost frame")
		return unwind.StatusStackBottom, true
	case image.GoSigtramp:
		if status = s.apply(x, &found.row, in, out); status == unwind.StatusStackBottom {
			status = unwind.StatusNotMe // the function's code shows where the return address is
		}
		if status == unwind.StatusSuccess {
			g.hostReturn()
		}
	case image.GoSigpanic:
		status = s.apply(x, &found.row, in, out)
		if status == unwind.StatusSuccess {
			out.SetNonCall(true)
			g.leavePanic()
		}
	case image.GoCrosscall2:
		if status = s.apply(x, &found.row, in, out); status == unwind.StatusSuccess {
			g.hostRegisters()
		}
	default:
		cfa, _ := found.row.CFAValue(&x.machine, &x.regs, g.p)
		if x.regs.sp, status = g.stackPointer(found.fn, found.row.FDE.Start+found.row.Bias, cfa-in.SP()); status == unwind.StatusSuccess {
			status = s.apply(x, &found.row, in, out)
		}
		if found.fn == image.GoCgocallback && status == unwind.StatusSuccess {
			if _, called := callBefore(g.p, out.RA()); !called { // where C's frames are left out the runtime puts the start of a function
				out.SetNonCall(true)
			}
		}
	}
	return status, true
}

// findRow returns the frame's row, or nil.
func (s *DebugStepper) findRow(x *cfiScratch, in, out *unwind.Frame) *foundRow {
	lookup, ra := in.LookupAddr(), in.RA()
	lib := libraryAt(in.Walker().ProcessState(), lookup)
	if lib == nil && lookup != ra {
		lib = libraryAt(in.Walker().ProcessState(), ra)
	}
	if lib == nil {
		if out.Tracing() {
			out.Notef("%#x is in no library", lookup)
		}
		return nil
	}
	slot := &x.found[rowSlot(ra)]
	f := *slot
	if f == nil {
		f = new(foundRow)
		*slot = f
	}
	if f.lib == lib && f.lookup == lookup && f.ra == ra {
		s.noteRow(out, &f.row, lib)
		f.again = true
		return f
	}
	f.lib, f.again, f.repeat.state = nil, false, repeatUnknown
	if !s.lookUp(f, lib, lookup, ra, in, out) {
		return nil
	}
	f.lib, f.lookup, f.ra = lib, lookup, ra
	im := fileOf(s.files, lib)
	f.fn, f.pe, f.mono = im.GoFunc(f.row.FDE.Start), im.PE() != nil, mayBeMono(s.arch, lib)
	return f
}

// lookUp looks up f.row for a frame at ra, with lookup as the address to look for.
func (s *DebugStepper) lookUp(f *foundRow, lib *libstate.Library, lookup, ra arch.Address, in, out *unwind.Frame) bool {
	im := fileOf(s.files, lib)
	if im == nil && out.Tracing() {
		out.Notef("no file that matches %s", lib.Path)
	}
	f.row.Bias = im.Bias(lib.LoadBias)
	found := s.rowAt(&f.row, im, lib, lookup, in, out)
	if lookup == ra || found && ra-f.row.Bias < f.row.FDE.End {
		return found
	}
	// The byte before the return address belongs to another function, or to none.
	// Either a call was that function's last instruction, or the return address is the
	// first byte of a signal trampoline, to which the kernel makes handlers return.
	if s.rowAt(&f.row, im, lib, ra, in, out) && f.row.Signal {
		return true
	}
	return found && s.rowAt(&f.row, im, lib, lookup, in, out)
}

// rowAt sets row to the row for the process's address pc.
func (s *DebugStepper) rowAt(row *cfi.Row, im *image.Image, lib *libstate.Library, pc arch.Address, in, out *unwind.Frame) bool {
	addr := pc - im.Bias(lib.LoadBias)
	var missed [2]error
	for i, t := range [...]*cfi.Table{im.EHFrame(), im.DebugFrame()} {
		if t == nil {
			continue
		}
		if missed[i] = t.Row(addr, row); missed[i] == nil {
			s.noteRow(out, row, lib)
			return true
		}
	}
	if s.goRow(row, im, addr, in) {
		s.noteRow(out, row, lib)
		return true
	}
	if im == nil || im.PE() == nil && im.ELF().DebugOnly() {
		if m := s.memory.of(in, lib); m.table != nil && m.bias == row.Bias && m.table.Row(addr, row) == nil {
			s.noteRow(out, row, lib)
			note(out, "the table is in the process's memory")
			return true
		}
		if t := s.said(im, lib, row.Bias); t != nil && t.Row(addr, row) == nil {
			s.noteRow(out, row, lib)
			note(out, "the dump has the rule")
			return true
		}
	}
	for _, err := range missed {
		if err != nil && out.Tracing() {
			out.Notef("%s+%#x: %v", lib.Path, addr, err)
		}
	}
	return false
}

// said returns the rules that the dump has of a library of which only a debug file is there, which has none; nil if it has none.
func (s *DebugStepper) said(im *image.Image, lib *libstate.Library, bias uint64) *cfi.Table {
	files, ok := s.files.(modules.SaidSource)
	if !ok || im == nil {
		return nil
	}
	said := (*image.Image)(files.SaidImage(lib))
	if said == nil || said.Bias(lib.LoadBias) != bias {
		return nil
	}
	return said.DebugFrame()
}

// goRow fills in row by the frame sizes in the pc-line table of a Go program, as Go's linker
// derives .debug_frame from it: stripping leaves the table.
func (s *DebugStepper) goRow(row *cfi.Row, im *image.Image, addr uint64, in *unwind.Frame) bool {
	fn, ok := im.GoFuncAt(addr)
	if !ok {
		return false
	}
	before := im.GoTable().Work()
	frame, ok := fn.FrameAt(addr)
	if in.Spend(int(im.GoTable().Work()-before)) != nil || !ok {
		return false
	}
	a := s.arch
	ra, saved := a.RA, cfi.Rule{Kind: cfi.Offset, Offset: -int64(frame.Size)}
	size := int64(frame.Size)
	switch {
	case ra == arch.NoReg: // calls push the return address
		ra, size = a.PC, size+int64(a.WordSize)
		saved.Offset = -int64(a.WordSize)
	case fn.TopFrame():
		saved = cfi.Rule{Kind: cfi.Undefined}
	case size == 0:
		saved = cfi.Rule{Kind: cfi.SameValue}
	}
	sp, column := uint64(a.DWARF(a.SP)), uint64(a.DWARF(ra)) // every architecture has these numbers
	row.SetFixed(cfi.FDE{Start: fn.Entry, End: fn.End}, frame.Start, frame.End, cfi.SourceGoTable, a.WordSize, sp, size, column, saved)
	return true
}

// noteRow adds a note that says which row was found.
func (s *DebugStepper) noteRow(out *unwind.Frame, row *cfi.Row, lib *libstate.Library) {
	if !out.Tracing() {
		return
	}
	name := "code that the process made, "
	if lib != nil {
		name = path.Base(lib.Path) + "+"
	}
	out.Notef("CFI: %s FDE %s%#x..%#x, row at %#x: CFA = %s", row.Source, name, row.FDE.Start, row.FDE.End, row.Start, row.Format(s.regName))
}

// regName returns the name of a register by DWARF number.
func (s *DebugStepper) regName(n uint64) string {
	if r, ok := s.arch.FromDWARF(n); ok {
		return s.arch.RegName(r)
	}
	return fmt.Sprintf("r%d", n)
}

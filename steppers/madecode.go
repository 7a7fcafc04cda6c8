package steppers

import (
	"fmt"
	"sync"

	"github.com/corewalk/corewalk/internal/format/dwarf/cfi"
	"github.com/corewalk/corewalk/unwind"
	"github.com/corewalk/corewalk/unwind/arch"
)

// MadeCodeStepper walks code of no library, which the process made itself, by the unwind tables that its compiler recorded of it
// (unwind.MadeTableReader). A table is used if it is of the function, and the caller that it leads to has made a call and is up the stack.
type MadeCodeStepper struct {
	debug   *DebugStepper // applies rows
	flows   *flows
	scratch sync.Pool // *madeScratch

	mu     sync.Mutex
	tables map[madeKey]*cfi.Table
}

// A madeKey tells tables apart: where a function begins another one may have been before, of which another record has the table.
type madeKey struct {
	start, end arch.Address
	first      *byte // of the table
}

// A madeScratch holds the buffers of one step, for the next to reuse.
type madeScratch struct {
	cfiScratch
	row cfi.Row
}

// NewMadeCodeStepper returns the stepper for an architecture; ErrBadParam without one.
func NewMadeCodeStepper(a *arch.Arch) (*MadeCodeStepper, error) {
	if a == nil {
		return nil, fmt.Errorf("stepper for code that the process made needs an architecture: %w", unwind.ErrBadParam)
	}
	return &MadeCodeStepper{debug: &DebugStepper{arch: a}, flows: &flows{}}, nil
}

// Name implements unwind.FrameStepper.
func (s *MadeCodeStepper) Name() string { return "MadeCode" }

// Priority implements unwind.FrameStepper: after the runtimes that know their own code, before what guesses.
func (s *MadeCodeStepper) Priority() uint32 { return unwind.PriorityFrame - 4 }

// CallerFrame implements unwind.FrameStepper.
func (s *MadeCodeStepper) CallerFrame(in, out *unwind.Frame) unwind.Status {
	if libraryAt(in.Walker().ProcessState(), in.LookupAddr()) != nil {
		return unwind.StatusNotMe
	}
	x, _ := s.scratch.Get().(*madeScratch)
	if x == nil {
		x = &madeScratch{}
	}
	status := unwind.StatusNotMe
	if s.lookUp(&x.row, in, out) {
		x.regs = calleeRegs{arch: s.debug.arch, frame: in, sp: in.SP()}
		if s.debug.apply(&x.cfiScratch, &x.row, in, out) == unwind.StatusSuccess && s.believes(in, out) {
			status = unwind.StatusSuccess
		} // records do not prove where a stack ends
	}
	x.regs = calleeRegs{}
	s.scratch.Put(x)
	return status
}

// lookUp looks up the row of a frame.
func (s *MadeCodeStepper) lookUp(row *cfi.Row, in, out *unwind.Frame) bool {
	lookup := in.LookupAddr()
	made, ok := in.Walker().SymbolReader().(unwind.MadeTableReader)
	if !ok {
		return false
	}
	m, ok := made.MadeTableAt(lookup)
	if !ok || len(m.EHFrame) == 0 {
		note(out, "no compiler recorded an unwind table of the code")
		return false
	}
	table := s.table(in, &m)
	if table == nil {
		return false
	}
	row.Bias = 0
	if err := table.Row(lookup, row); err != nil {
		if out.Tracing() {
			out.Notef("recorded unwind table: %v", err)
		}
		return false
	}
	s.debug.noteRow(out, row, nil)
	if row.FDE.Start < m.Start || row.FDE.End > m.End {
		note(out, "the recorded unwind table is of other code")
		return false
	}
	if row.Signal || !s.standardCFA(row) {
		note(out, "the recorded unwind table is not one of a function in which the CFA is the caller's stack pointer")
		return false
	}
	return true
}

// maxMadeTables is how many tables are kept.
const maxMadeTables = 1 << 10

// table returns the table of a function; nil if it costs more than may be spent.
func (s *MadeCodeStepper) table(f *unwind.Frame, m *unwind.MadeTable) *cfi.Table {
	key := madeKey{start: m.Start, end: m.End, first: &m.EHFrame[0]}
	s.mu.Lock()
	defer s.mu.Unlock()
	if found, ok := s.tables[key]; ok {
		return found
	}
	if f.Spend(len(m.EHFrame)/tableCost) != nil {
		return nil
	}
	if s.tables == nil || len(s.tables) >= maxMadeTables {
		s.tables = map[madeKey]*cfi.Table{}
	}
	a := s.debug.arch
	table := cfi.EHFrame(m.EHFrame, m.Addr, nil, 0, cfi.Config{Big: a.Big(), AddrSize: a.WordSize, AArch64: a.Family == arch.FamilyARM64})
	s.tables[key] = table
	return table
}

// standardCFA reports whether the CFA of a row can be the caller's stack pointer: it is at a distance from a register of which the function has not made
// something else, and all that is saved lies below it. On aarch64, V8's tables have the frame pointer itself, above which the function saves registers.
func (s *MadeCodeStepper) standardCFA(row *cfi.Row) bool {
	cfa := row.CFA()
	base, known := s.debug.arch.FromDWARF(cfa.Reg)
	if cfa.Kind != cfi.Register || !known {
		return false
	}
	own := base == s.debug.arch.SP
	for n, rule := range row.Rules() {
		if rule.Kind == cfi.Offset && rule.Offset >= 0 {
			return false
		}
		own = own || n == cfa.Reg && rule.Kind == cfi.Offset
	}
	return own
}

// believes reports whether a frame can be the caller: it has made a call, and is further up the stack. Of an interrupted callee the code must not show another
// caller's stack pointer: V8's tables are ahead of the instructions that take a frame down. If the code shows another one where the callee has made a call, the
// frame is in doubt.
func (s *MadeCodeStepper) believes(in, out *unwind.Frame) bool {
	p := in.Walker().ProcessState()
	if _, called := callBefore(p, out.CodePointer()); !called && !unreadCode(p, out.CodePointer()) {
		note(out, "the return address is not behind a call")
		return false
	}
	if why := offStack(in, out); why != "" {
		note(out, why)
		return false
	}
	row, _ := s.flows.certain(nil, in.Walker(), in.LookupAddr(), modeOf(in))
	if row == nil {
		return true
	}
	cfa, ok := cfaOf(s.debug.arch, &row.CFA, in)
	if !ok || cfa+uint64(row.CallerSP)-s.debug.arch.StackBias != out.SP() {
		note(out, "the code does not show the CFA of the recorded unwind table")
		if ok {
			out.SetDoubtful(true)
		}
		return !interrupted(in)
	}
	return true
}

package provenance

import (
	"cmp"
	"slices"

	"github.com/corewalk/corewalk/internal/code/disasm"
	"github.com/corewalk/corewalk/internal/code/stackflow"
	"github.com/corewalk/corewalk/unwind/arch"
)

// Limits on the analysis of one function.
const (
	maxCode   = 1 << 14 // instructions
	maxSteps  = 1 << 17 // instructions visited on the way back
	maxJoins  = 1 << 11 // places where paths meet
	maxNested = 1 << 8  // joins that wait for one another
)

// A Func is the code of a function. It is not safe for concurrent use.
type Func struct {
	arch  *arch.Arch
	abi   ABI
	code  stackflow.Code
	start uint64
	steps []stackflow.Step
	preds [][]int32 // by instruction
	// entry says whether control also reaches the first instruction from within the function.
	entry int
	flow  *stackflow.Func
	// opaque says that the target of some jump is not known and may be in this code.
	opaque bool
	// Object, if not nil, returns the range of frame offsets of the variable that contains CFA+off.
	Object func(off int64) (low, high int64, ok bool)

	in        disasm.Inst
	at        int // the instruction that in holds; -1 for none
	briefs    []brief
	rows      []*stackflow.Row
	known     map[key]*Value // where paths meet
	made      map[key]*Value // by an instruction
	left      int
	nested    int
	undecided []*Value                // joins of several values, of which some are joins that may turn out to be one value; see join
	called    map[uint64]arch.RegMask // registers that called functions change; see changes
	taken     []int64                 // frame offsets whose address the code takes
	scanned   bool
	opened    map[Place]bool
	offsets   map[key]frameOffset // of the stack and frame pointers, by instruction
}

type key struct {
	inst  int32
	place Place
}

// New analyses the function that begins at start and ends no later than end (0 if not known). It returns nil if
// the code cannot be followed.
func New(a *arch.Arch, abi ABI, code stackflow.Code, start, end uint64) *Func {
	flow, steps := stackflow.Follow(a, code, start, end, maxCode)
	f := &Func{arch: a, abi: abi, code: code, start: start, steps: steps, flow: flow, at: -1, entry: -1, left: maxSteps,
		known: map[key]*Value{}, made: map[key]*Value{}, opened: map[Place]bool{}, offsets: map[key]frameOffset{},
		called: map[uint64]arch.RegMask{}}
	f.connect()
	if f.entry < 0 { // also if there are no steps
		return nil
	}
	return f
}

// connect builds the predecessors of each instruction.
func (f *Func) connect() {
	f.preds = make([][]int32, len(f.steps))
	one := make([]int32, len(f.steps))
	add := func(to, from int) {
		if f.preds[to] == nil {
			one[to] = int32(from)
			f.preds[to] = one[to : to+1 : to+1]
		} else if !slices.Contains(f.preds[to], int32(from)) {
			f.preds[to] = append(f.preds[to], int32(from))
		}
	}
	for i := range f.steps {
		s := &f.steps[i]
		if s.Addr == f.start&^f.mode() {
			f.entry = i
		}
		f.opaque = f.opaque || s.Opaque
		for _, to := range s.To {
			if n, ok := f.index(to); ok && !(f.abi.Restarts && to == f.start && f.restarts(i)) {
				add(n, i)
			}
		}
		if s.Next {
			if n, ok := f.following(i); ok {
				add(n, i)
			}
		}
	}
}

// maxReload is how many instructions may load arguments again before a function begins again.
const maxReload = 40

// restarts reports whether instruction i, a jump to the function's start, makes the function begin again after a call that made the
// stack larger: the arguments, which were saved for that, are those of the caller then.
func (f *Func) restarts(i int) bool {
	for n := 0; n < maxReload && i > 0 && f.steps[i-1].Next; n++ {
		i--
		switch in := f.inst(i); {
		case in == nil:
			return false
		case in.Kind.IsCall():
			return true
		case in.Target != 0: // another way leads around what is before
			return false
		}
	}
	return false
}

// mode returns the bit of code pointers that selects the instruction set.
func (f *Func) mode() uint64 {
	if f.arch.Mode == arch.NoReg {
		return 0
	}
	return f.start & 1
}

// index returns the number of the instruction at addr.
func (f *Func) index(addr uint64) (int, bool) {
	return slices.BinarySearchFunc(f.steps, addr, func(s stackflow.Step, at uint64) int { return cmp.Compare(s.Addr, at) })
}

// following returns the number of the instruction behind instruction i in memory.
func (f *Func) following(i int) (int, bool) {
	next := f.steps[i].Addr + uint64(f.steps[i].Len)
	if i+1 < len(f.steps) && f.steps[i+1].Addr == next {
		return i + 1, true
	}
	return f.index(next)
}

// A brief says what most instructions are decoded for, again and again: which registers they change. It spares that.
type brief struct {
	writes arch.RegMask
	known  bool
	failed bool // it cannot be decoded
	calls  bool
	stores bool // or it is a system call
}

// brief returns what instruction i changes.
func (f *Func) brief(i int) brief {
	if f.briefs == nil {
		f.briefs = make([]brief, len(f.steps))
	}
	b := &f.briefs[i]
	if b.known {
		return *b
	}
	b.known = true
	in := f.inst(i)
	if in == nil {
		b.failed = true
		return *b
	}
	b.writes, b.calls, b.stores = in.Writes, in.Kind.IsCall(), in.Kind == disasm.Syscall
	for _, m := range in.Mems() {
		b.stores = b.stores || m.Write
	}
	return *b
}

// inst decodes instruction i; nil if that fails. The result is valid until the next call.
func (f *Func) inst(i int) *disasm.Inst {
	if f.at == i {
		return &f.in
	}
	f.at = -1
	addr := f.steps[i].Addr
	if disasm.DecodeInto(&f.in, f.arch, f.code.CodeAt(addr), addr|f.mode()) != nil {
		return nil
	}
	f.at = i
	return &f.in
}

// Inst returns the instruction at an address; false if the function has none there.
func (f *Func) Inst(addr uint64) (disasm.Inst, bool) {
	i, ok := f.index(addr)
	if !ok {
		return disasm.Inst{}, false
	}
	in := f.inst(i)
	if in == nil {
		return disasm.Inst{}, false
	}
	return *in, true
}

// CallBefore returns the address of the call that returns to ra; false if the function has none there.
func (f *Func) CallBefore(ra uint64) (uint64, bool) {
	i, _ := f.index(ra)
	for i--; i >= 0 && ra-f.steps[i].Addr <= disasm.MaxLen; i-- {
		if in := f.inst(i); in != nil && in.Kind.IsCall() && in.Next() == ra {
			return f.steps[i].Addr, true
		}
	}
	return 0, false
}

// reaches reports whether control can get from instruction from to instruction to.
func (f *Func) reaches(from, to int) bool { return from == to || f.comes(from, to, nil) }

// comes reports whether control can get from instruction from to instruction to, in at least one step, without those at which
// it stops; nil for none.
func (f *Func) comes(from, to int, stops func(i int) bool) bool {
	seen := make([]bool, len(f.steps))
	todo := []int32{int32(to)}
	for len(todo) > 0 {
		i := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		for _, p := range f.preds[i] {
			if int(p) == from {
				return true
			}
			if !seen[p] && (stops == nil || !stops(int(p))) {
				seen[p] = true
				todo = append(todo, p)
			}
		}
	}
	return false
}

// Reaches reports whether control can get from the instruction at one address to that at another, in at least one
// step, without those between them at which it stops.
func (f *Func) Reaches(from, to uint64, stops func(addr uint64) bool) bool {
	i, ok := f.index(from)
	j, ok2 := f.index(to)
	return ok && ok2 && f.comes(i, j, func(n int) bool { return stops(f.steps[n].Addr) })
}

// LastCall returns the address of the last call before the instruction at an address, if control gets there in no other way, and in no case elsewhere; false if that is not known.
func (f *Func) LastCall(addr uint64) (uint64, bool) {
	i, ok := f.index(addr)
	for n := 0; ok && n < maxDecided && len(f.preds[i]) == 1; n++ {
		i = int(f.preds[i][0])
		in := f.inst(i)
		if in == nil || f.branches(int32(i)) {
			break
		}
		if in.Kind.IsCall() {
			return f.steps[i].Addr, true
		}
	}
	return 0, false
}

// maxDecided is how many instructions Decided and LastCall go back.
const maxDecided = 16

// Decided returns the address of the conditional jump that decides whether control comes to the instruction at an address; addr if it
// comes there otherwise, too.
func (f *Func) Decided(addr uint64) uint64 {
	i, ok := f.index(addr)
	if !ok {
		return addr
	}
	for range maxDecided {
		if len(f.preds[i]) != 1 {
			break
		}
		i = int(f.preds[i][0])
		if in := f.inst(i); in == nil || in.Kind == disasm.CondJump {
			return f.steps[i].Addr
		} else if in.Kind.IsCall() {
			break
		}
	}
	return addr
}

// Calls yields the calls of the function, tail calls included, in the order of their addresses.
func (f *Func) Calls(yield func(disasm.Inst) bool) {
	for i := range f.steps {
		if in := f.inst(i); in != nil && (in.Kind.IsCall() || f.Leaves(in)) && !yield(*in) {
			return
		}
	}
}

// Leaves reports whether an instruction of the function is a jump out of it, mostly a tail call: a direct one, or one
// to where a pointer at a fixed address leads.
func (f *Func) Leaves(in *disasm.Inst) bool {
	if m := in.Mem(); in.Kind == disasm.JumpIndirect && m != nil {
		return m.RIPRelative && m.Index == arch.NoReg
	}
	if in.Kind != disasm.Jump {
		return false
	}
	_, within := f.index(in.Target)
	return !within
}

// Returns yields the addresses at which control leaves the function for its caller, directly or after a tail call.
func (f *Func) Returns(yield func(addr uint64) bool) {
	for i := range f.steps {
		if in := f.inst(i); in != nil && (in.Kind == disasm.Ret || f.Leaves(in)) && !yield(f.steps[i].Addr) {
			return
		}
	}
}

// Argument returns what the n-th integer or pointer argument of the call at an address was, by the calling convention: in a
// register or, where there are no registers for arguments, on the stack. It is Unknown beyond the registers.
func (f *Func) Argument(call uint64, n int) *Value {
	if n < len(f.abi.Args) {
		return f.Before(call, Reg(f.abi.Args[n]))
	}
	i, ok := f.index(call)
	if !ok || len(f.abi.Args) > 0 {
		return unknown
	}
	word := f.arch.WordSize
	if in := f.inst(i); in == nil || !in.Kind.IsCall() {
		n++ // a tail call leaves the return address below them
	}
	sp, ok := f.offsetOf(i, f.arch.SP)
	if !ok {
		return unknown
	}
	return f.Before(call, Frame(sp+int64(n*word), word))
}

// Start is where the function begins.
func (f *Func) Start() uint64 { return f.start }

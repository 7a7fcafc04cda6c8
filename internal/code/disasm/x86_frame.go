package disasm

import (
	"bytes"

	"github.com/corewalk/corewalk/unwind/arch"
)

const (
	prologueInsts = 64    // a frame is expected to be set up within this many instructions
	maxFrameScan  = 32768 // bytes analysed from a function's start
	epilogueInsts = 16    // instructions examined after pc
)

// A frameScan tracks a function's frame pointer through its instructions, in address order.
type frameScan struct {
	arch *arch.Arch
	in   Inst

	typ    FrameType
	state  FPState
	body   FPState // state in the function's body: the furthest one reached
	height int64   // bytes pushed since entry; -1 if unknown
	saved  bool    // SP has not moved since the push of FP
	stored bool    // FP was stored below the return address without a push
	align  bool    // the stack was realigned, and nothing pushed since
	guess  bool    // no known branch leads here: the state is the body's

	addr      uint64 // of the next instruction
	n         int    // how many were decoded
	reachable bool   // control can get there from the last one

	// Pending forward branches: control can arrive at their targets in these states.
	pending  [32]branchState
	npending int
}

type branchState struct {
	target uint64
	state  FPState
	height int64
}

func newFrameScan(a *arch.Arch, start uint64) frameScan {
	return frameScan{arch: a, state: FPUnset, body: FPUnset, typ: NoFrame, addr: start, reachable: true}
}

// frameState goes on from the function's start, or from a place before pc, which passed has of more of them.
func (s *frameScan) frameState(code []byte, start, pc uint64, passed *[]frameScan) (FrameType, FPState) {
	at := s.scan(code, start, pc, passed)
	if s.typ == NoFrame {
		if at == FPUnknown && pc-start < maxFrameScan {
			return UnknownFrame, FPUnknown
		}
		return NoFrame, FPUnset
	}
	if at == FPUnknown { // not at an instruction boundary, or too far away: the body's state
		at = FPSet
	}
	if verdict, _ := s.epilogue(code[pc-start:], pc); verdict != FPUnknown {
		at = verdict
	}
	if s.typ == SaveFPOnlyFrame && at == FPHalfSet {
		at = FPSet
	}
	return s.typ, at
}

// scan decodes the function until it knows the state at pc, and returns that state and the
// type. It returns FPUnknown if no instruction starts at pc.
func (s *frameScan) scan(code []byte, start, pc uint64, passed *[]frameScan) FPState {
	at := FPUnknown
	for ; s.addr-start < uint64(len(code)); s.n++ {
		if s.addr-start > maxFrameScan || s.addr > pc && (s.n >= prologueInsts || s.typ == StandardFrame) {
			break
		}
		if passed != nil && s.addr <= pc && s.addr-start >= uint64(len(*passed)+1)*framesApart {
			*passed = append(*passed, *s)
		}
		s.arrive(s.addr, s.reachable)
		if s.addr == pc {
			at = s.state
		}
		if decodeInto(&s.in, s.arch, code[s.addr-start:], s.addr) != nil {
			break
		}
		s.apply()
		s.reachable = s.flow()
		s.addr += uint64(s.in.Len)
		if !s.reachable && s.addr > pc && !s.awaits(s.addr) {
			break // apparently the end of the function
		}
	}
	return at
}

// arrive determines the state at addr: if control does not fall through, that of the branch
// that leads here, or that of the body.
func (s *frameScan) arrive(addr uint64, reachable bool) {
	found := false
	kept := 0
	for _, p := range s.pending[:s.npending] {
		switch {
		case p.target > addr:
			s.pending[kept] = p
			kept++
		case p.target == addr && (!reachable || s.guess) && !found:
			s.state, s.height, found = p.state, p.height, true
		}
	}
	s.npending = kept
	switch {
	case found:
		s.guess = false
	case !reachable:
		s.state, s.guess = s.body, true
		s.height = 0
		if s.body != FPUnset {
			s.height = -1
		}
	default:
		return
	}
	s.saved, s.align = false, false
}

// awaits reports whether a branch leads to addr or past it.
func (s *frameScan) awaits(addr uint64) bool {
	for _, p := range s.pending[:s.npending] {
		if p.target >= addr {
			return true
		}
	}
	return false
}

// flow records the successors of the instruction, and reports whether control can continue
// with the next one.
func (s *frameScan) flow() bool {
	in := &s.in
	if (in.Kind == CondJump || in.Kind == Jump) && in.Target > in.PC && in.Target-in.PC < maxFrameScan && s.npending < len(s.pending) {
		s.pending[s.npending] = branchState{in.Target, s.state, s.height}
		s.npending++
	}
	return in.Kind == CondJump || !in.Kind.EndsBlock()
}

// apply applies the effect of one instruction.
func (s *frameScan) apply() {
	in, fp := &s.in, s.arch.FP
	switch {
	case in.Kind == Push && in.Src == fp && s.state == FPUnset && s.height == 0:
		s.state, s.saved = FPHalfSet, true
		s.reach(SaveFPOnlyFrame)
		s.move()
		s.saved = true
		return
	case in.Kind == Push && in.Src == fp && s.state == FPUnset:
		s.state = FPHalfSet
		s.reach(SaveFPOnlyFrame)
	case in.Kind == MovSPtoFP && s.state == FPHalfSet && s.saved, in.Kind == Enter:
		s.state = FPSet
		s.reach(StandardFrame)
	case s.state == FPUnset && in.Kind == Store && in.Src == fp && s.belowReturn(in.Mem()):
		s.stored = true
	case s.stored && in.Kind == Lea && in.Dst == fp && s.belowReturn(in.Mem()):
		s.state = FPSet
		s.reach(StandardFrame)
	case in.Kind == Leave, in.Kind == Pop && in.Dst == fp, s.stored && s.reloads():
		s.state = FPUnset
	}
	s.move()
}

// belowReturn reports whether m is the word below the return address, in which a function
// that has moved SP first stores FP (Go assembly does).
func (s *frameScan) belowReturn(m *MemOperand) bool {
	return m != nil && s.height > 0 && s.plainSP(m) && m.Disp == s.height-int64(s.arch.RegSize)
}

// plainSP reports whether m is at a constant offset from SP.
func (s *frameScan) plainSP(m *MemOperand) bool {
	return m.Base == s.arch.SP && m.Index > 63 && m.Segment > 63 && !m.RIPRelative
}

// reloads reports whether the instruction loads FP from the stack.
func (s *frameScan) reloads() bool {
	return s.in.Kind == Load && s.in.Dst == s.arch.FP && s.in.Mem() != nil && s.plainSP(s.in.Mem())
}

func (s *frameScan) reach(t FrameType) {
	if t == StandardFrame || s.typ == NoFrame {
		s.typ = t
	}
	s.body = max(s.body, s.state)
}

// move tracks the stack pointer.
func (s *frameScan) move() {
	in := &s.in
	if !in.Writes.Has(s.arch.SP) {
		return
	}
	s.saved = false
	delta, known := in.StackDelta()
	switch {
	case in.Kind.IsCall():
		return // the callee pops its return address
	case in.Kind == AndSP:
		s.height, s.align = -1, true
		return
	case s.align && in.Kind == Push && in.Mem() != nil:
		// A function that aligns its stack first pushes a copy of its return address, as if
		// it had been called with the aligned stack.
		s.height, s.align = 0, false
		return
	case in.Kind == Leave:
		s.height = 0
	case known && s.height >= 0:
		s.height -= delta
	default:
		s.height = -1
	}
	s.align = false
}

// epilogue decodes from pc on. It returns FPUnset if the function returns without restoring
// FP, which means that it is restored already; FPSet if FP is restored before the return;
// FPUnknown if control leaves the straight line, or a prologue follows, before either.
// leave says that the restoring instruction uses FP's value.
func (s *frameScan) epilogue(code []byte, pc uint64) (state FPState, leave bool) {
	for range epilogueInsts {
		if decodeInto(&s.in, s.arch, code, pc) != nil {
			break
		}
		in := &s.in
		switch {
		case in.Kind == Ret:
			return FPUnset, false
		case in.Kind == Leave || in.Kind == MovFPtoSP:
			return FPSet, true
		case in.Kind == Pop && in.Dst == s.arch.FP, s.reloads():
			return FPSet, false
		case in.Kind.EndsBlock(), in.Kind.IsCall(), in.Kind == MovSPtoFP, in.Kind == Enter, in.Kind == Endbr,
			in.Kind == Push && in.Src == s.arch.FP:
			return FPUnknown, false
		}
		code = code[in.Len:]
		pc += uint64(in.Len)
	}
	return FPUnknown, false
}

// Encodings, as compilers write them, of the push of the frame pointer and its copy from
// SP; 32-bit code (i386, x32) omits the leading 48.
var pushThenMov = [][]byte{{0x55, 0x48, 0x89, 0xe5}, {0x55, 0x48, 0x8b, 0xec}}

func x86FrameNear(a *arch.Arch, before, after []byte, pc uint64) (FrameType, FPState) {
	s := frameScan{arch: a}
	for _, p := range pushThenMov {
		if a != arch.X86 && bytes.HasSuffix(before, p) || a != arch.AMD64 && bytes.HasSuffix(before, append(p[:1:1], p[2:]...)) {
			return StandardFrame, FPSet
		}
	}
	if t, st := s.near(after, pc, bytes.HasSuffix(before, []byte{0x55})); st != FPUnknown {
		return t, st
	}
	state, leave := s.epilogue(after, pc)
	if leave {
		return StandardFrame, state
	}
	return UnknownFrame, state
}

// near recognises a prologue at pc. pushed says that the byte before pc is a push of the
// frame pointer, if it is an instruction.
func (s *frameScan) near(code []byte, pc uint64, pushed bool) (FrameType, FPState) {
	first := FPUnset
	for n := range 4 {
		if decodeInto(&s.in, s.arch, code, pc) != nil {
			break
		}
		in := &s.in
		switch {
		case in.Kind == MovSPtoFP && n == 0 && pushed:
			return StandardFrame, FPHalfSet
		case in.Kind == MovSPtoFP && s.saved:
			return StandardFrame, first
		case in.Kind == Push && in.Src == s.arch.FP:
			s.saved = true
		case in.Kind.EndsBlock(), in.Kind.IsCall():
			return UnknownFrame, FPUnknown
		case in.Kind == Endbr && n == 0:
		case in.Writes.Has(s.arch.SP):
			return UnknownFrame, FPUnknown
		}
		code = code[in.Len:]
		pc += uint64(in.Len)
	}
	return UnknownFrame, FPUnknown
}

package golang

import (
	"maps"
	"slices"
	"strings"

	"github.com/corewalk/corewalk/internal/code/disasm"
	"github.com/corewalk/corewalk/internal/format/gopclntab"
	"github.com/corewalk/corewalk/unwind/arch"
)

// Go's locks do not record who holds them, but code that called Lock and not yet Unlock does
// hold one: a function's calls of both, mostly inlined, are found in its code, and where the
// lock's address is in its frame. That is evidence, not proof: what one function locks another may unlock.

// A heldLock is a lock that a function holds at some place: which, as an expression over its frame.
type heldLock struct {
	rw, reader bool
	at         value
	taken      uint64 // the instruction that takes it; 0 if there are several
}

// A value is how to compute an address from a frame: from a word of the frame, from the
// frame's stack pointer, or from a constant; then each step adds, or reads a word.
type value struct {
	from  valueFrom
	start uint64
	steps []step
}

type valueFrom uint8

const (
	fromConstant valueFrom = iota
	fromSP
	fromSlot // the word at SP+start
)

type step struct {
	load bool
	add  uint64
}

// lockCall says what a function of package sync does to a lock; false for other functions.
func lockCall(name string) (e lockEvent, ok bool) {
	name = strings.TrimPrefix(name, "internal/")
	method, ok := strings.CutPrefix(name, "sync.(*Mutex).")
	if !ok {
		if method, e.rw = strings.CutPrefix(name, "sync.(*RWMutex)."); !e.rw {
			return e, false
		}
	}
	switch method {
	case "Lock", "TryLock":
	case "Unlock":
		e.unlocks = true
	case "RLock", "TryRLock":
		e.reader = true
	case "RUnlock":
		e.reader, e.unlocks = true, true
	default:
		return e, false
	}
	return e, true
}

// A lockEvent is a place in a function's code that locks or unlocks.
type lockEvent struct {
	rw, reader, unlocks bool
	any                 bool   // unlocks something, nobody knows what
	part                uint64 // of a helper: where the lock is in what its first argument points to
	line                int    // of the call of what was inlined; 0 if nothing was
	lock                int    // what: a number of the numbering; 0 for unknown
}

// maxSteps limits how a lock's address is computed.
const maxSteps = 8

// decode decodes the code of a function; nil if it is not worth it, or cannot be read. index has the instructions by their addresses.
func (r *runtime) decode(f gopclntab.Func, most uint64) (insts []disasm.Inst, index map[uint64]int) {
	if f.End <= f.Entry || f.End-f.Entry > most {
		return nil, nil
	}
	entry := f.Entry + r.lib.LoadBias
	code := r.bytes(entry, f.End-f.Entry)
	if code == nil || r.p.Spend(len(code)/8) != nil {
		return nil, nil
	}
	insts, index = make([]disasm.Inst, 0, len(code)/4), map[uint64]int{}
	for at := uint64(0); at < uint64(len(code)); {
		in, err := disasm.Decode(r.Arch, code[at:], entry+at)
		if err != nil || in.Len == 0 {
			break
		}
		index[in.PC] = len(insts)
		insts = append(insts, in)
		at += uint64(in.Len)
	}
	return insts, index
}

// isLockCode reports whether a function is of those that make up locks.
func isLockCode(name string) bool {
	return strings.HasPrefix(name, "runtime.") || strings.HasPrefix(name, "sync.(*Mutex)") ||
		strings.HasPrefix(name, "sync.(*RWMutex)") || strings.HasPrefix(name, "internal/sync.")
}

// findHeld returns the locks that the function at an address of code holds there. Nothing is found in the
// functions that lock themselves.
func (r *runtime) findHeld(pc uint64, known helpers) []heldLock {
	f, ok := r.im.GoFuncAt(pc - r.lib.LoadBias)
	if !ok || isLockCode(f.Name()) {
		return nil
	}
	insts, index := r.decode(f, maxCode)
	events := r.lockEvents(f, insts, known)
	locks := slices.ContainsFunc(slices.Collect(maps.Values(events)), func(e lockEvent) bool { return !e.unlocks })
	if !locks {
		return nil
	}
	target := -1
	for i := range insts {
		if insts[i].PC <= pc && pc < insts[i].PC+uint64(insts[i].Len) {
			target = i
		}
	}
	if target < 0 {
		return nil
	}
	n := r.number(insts, index, events, target)
	here, own := r.lockLine(f, insts[target].PC), 0
	for i := target; i >= 0 && here != 0 && own == 0; i-- {
		if e, ok := events[i]; ok && !e.unlocks && e.line == here {
			own = e.lock
		}
	}
	var held []heldLock
	lines := map[int]int{} // of the calls that take a lock; -1 for several
	for _, i := range slices.Sorted(maps.Keys(events)) {
		e := events[i]
		if e.unlocks || i == target || own != 0 && e.lock == own && e.line == here || !reaches(insts, index, events, i, target) {
			continue
		}
		v, ok := n.resolve(e.lock, map[int]bool{})
		if !ok {
			continue
		}
		if line, twice := lines[e.lock]; twice && (e.line == 0 || line != e.line) {
			lines[e.lock] = -1
		} else if !twice {
			lines[e.lock] = e.line
		}
		held = append(held, heldLock{rw: e.rw, reader: e.reader, at: v, taken: insts[i].PC})
		if lines[e.lock] < 0 {
			for k := range held {
				if held[k].at.equal(&v) {
					held[k].taken = 0
				}
			}
		}
	}
	return held
}

// equal reports whether two values are computed alike.
func (v *value) equal(w *value) bool {
	return v.from == w.from && v.start == w.start && slices.Equal(v.steps, w.steps)
}

// maxBack is how many instructions there are at most from the atomic one of an inlined Lock to the call of the slow way.
const maxBack = 24

// lockEvents finds where a function locks and unlocks: at calls, and where such calls were inlined at the atomic instruction and at
// the call of the slow way. Releases before 1.25 do not always record that the first is of the inlined code, so the one before the second counts.
// A function that locks or unlocks for its caller, one of known, is like a call of those; nil known finds none.
func (r *runtime) lockEvents(f gopclntab.Func, insts []disasm.Inst, known helpers) map[int]lockEvent {
	events := map[int]lockEvent{}
	for i := range insts {
		in := &insts[i]
		callee := ""
		if in.Kind == disasm.Call {
			if g, ok := r.im.GoFuncAt(in.Target - r.lib.LoadBias); ok {
				callee = g.Name()
				if e, ok := r.helper(g, known); ok {
					events[i] = e
					continue
				}
			}
			if !strings.HasPrefix(callee, "sync.") && !strings.HasPrefix(callee, "internal/sync.") {
				continue
			}
		} else if !isAtomicWrite(r.Arch, in) {
			continue
		}
		name := ""
		_, whole := lockCall(callee) // on i386 internal/sync's is not inlined
		if whole {
			name = callee
		}
		inlined := false
		for _, c := range r.callsAt(f, in.PC) { // innermost first: the outermost lock counts
			if _, ok := lockCall(c.Name); ok && c.Inlined {
				name, inlined = c.Name, true
			}
		}
		e, ok := lockCall(name)
		if !ok {
			continue
		}
		e.line = r.lockLine(f, in.PC)
		if callee == "" || !inlined || whole || strings.HasSuffix(callee, "lockSlow") || strings.HasSuffix(callee, "UnlockSlow") {
			events[i] = e
		}
		for j := i - 1; callee != "" && inlined && !whole && j >= max(0, i-maxBack); j-- {
			if isAtomicWrite(r.Arch, &insts[j]) {
				if _, ok := events[j]; !ok {
					events[j] = e
				}
				break
			}
		}
	}
	return events
}

// callsAt are the calls at an address of the process in a function, as Func.Calls has them.
func (r *runtime) callsAt(f gopclntab.Func, pc uint64) []gopclntab.Call {
	t := r.im.GoTable()
	before := t.Work()
	calls := f.Calls(pc - r.lib.LoadBias)
	if r.p.Spend(int(t.Work()-before)) != nil {
		return nil
	}
	return calls
}

// lockLine returns the line of the call of Lock that an address is in the inlined code of, 0 if it is in none: who waits in
// one does not yet hold that lock.
func (r *runtime) lockLine(f gopclntab.Func, pc uint64) int {
	line, in := 0, false
	for _, c := range r.callsAt(f, pc) {
		if in {
			line, in = c.Line, false
		}
		k, ok := lockCall(c.Name)
		in = ok && c.Inlined && !k.unlocks
	}
	return line
}

// isAtomicWrite reports whether an instruction changes memory atomically: one of them is in each inlined Lock and Unlock.
func isAtomicWrite(a *arch.Arch, in *disasm.Inst) bool {
	if a != arch.ARM64 {
		return in.Lock
	}
	_, ok := atomicBase(in)
	return ok
}

// atomicBase returns the register with the address that arm64's atomic instructions write to.
func atomicBase(in *disasm.Inst) (arch.Reg, bool) {
	b := in.Bytes()
	if len(b) != 4 {
		return 0, false
	}
	w := uint32(b[0]) | uint32(b[1])<<8 | uint32(b[2])<<16 | uint32(b[3])<<24
	switch {
	case w&0xbfe0fc00 == 0x8800fc00, // STLXR
		w&0xbfe0fc00 == 0x88e0fc00, // CASAL
		w&0xbfe0fc00 == 0xb8e00000: // LDADDAL
		return arch.Reg(w >> 5 & 31), true
	}
	return 0, false
}

// reaches reports whether code can get from the lock at one instruction to another without
// unlocking what it locked. An unlock of something else that is locked in the function is passed.
func reaches(insts []disasm.Inst, index map[uint64]int, events map[int]lockEvent, from, to int) bool {
	lock := events[from]
	others := map[int]bool{}
	for _, e := range events {
		if !e.unlocks && e.lock != lock.lock {
			others[e.lock] = true
		}
	}
	return search(insts, index, from, to, func(i int) bool {
		e, ok := events[i]
		if ok && e.any {
			return true
		}
		return ok && e.unlocks && e.rw == lock.rw && e.reader == lock.reader && (e.lock == lock.lock || !others[e.lock])
	})
}

// avoids reports whether code can get from its start to an instruction without another one.
func avoids(insts []disasm.Inst, index map[uint64]int, other, to int) bool {
	return search(insts, index, 0, to, func(i int) bool { return i == other })
}

// search reports whether code can get from one instruction to another, without those where it stops.
func search(insts []disasm.Inst, index map[uint64]int, from, to int, stops func(int) bool) bool {
	seen := make([]bool, len(insts))
	todo := []int{from}
	for len(todo) > 0 {
		i := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		if i >= len(insts) || seen[i] || stops(i) {
			continue
		}
		seen[i] = true
		if i == to && i != from {
			return true
		}
		switch in := &insts[i]; in.Kind {
		case disasm.Ret, disasm.RetFar, disasm.JumpIndirect, disasm.Trap:
			continue
		case disasm.Jump, disasm.CondJump:
			if j, ok := index[in.Target]; ok {
				todo = append(todo, j)
			}
			if in.Kind == disasm.Jump {
				continue
			}
		}
		todo = append(todo, i+1)
	}
	return false
}

// A quantity is a value that code computes. Equal ones have equal numbers.
type quantity struct {
	op numberOp
	of int // of an addition or a load
	k  uint64
}

type numberOp uint8

const (
	opUnknown  numberOp = iota // k tells unknown values apart
	opConstant                 // k
	opSP                       // the stack pointer plus k
	opAdd                      // of plus k
	opLoad                     // the word at of plus k
)

// A slot is a word of the frame: its value, and the instruction that stored it; -1 if it was there from the start.
type slot struct{ number, stored int }

// A numbering numbers the values in the code of one function, in the order of its addresses.
// Where paths join, what the code before the join says counts.
type numbering struct {
	all   []quantity
	known map[quantity]int
	regs  map[arch.Reg]int
	slots map[uint64]slot // by their distance from the stack pointer
	then  map[uint64]slot // those that have their value at the place that counts, whichever way code took there
	word  uint64
	arg   int // the first argument
}

func (n *numbering) get(v quantity) int {
	if v.op == opAdd && v.k == 0 {
		return v.of
	}
	if v.op == opAdd {
		switch of := n.all[v.of]; of.op {
		case opConstant, opSP:
			v = quantity{op: of.op, k: of.k + v.k}
		case opAdd:
			v = quantity{op: opAdd, of: of.of, k: of.k + v.k}
		}
	}
	if i, ok := n.known[v]; ok {
		return i
	}
	n.all = append(n.all, v)
	n.known[v] = len(n.all) - 1
	return len(n.all) - 1
}

func (n *numbering) fresh() int { return n.get(quantity{op: opUnknown, k: uint64(len(n.all))}) }

func (n *numbering) reg(r arch.Reg) int {
	v, ok := n.regs[r]
	if !ok {
		v = n.fresh()
		n.regs[r] = v
	}
	return v
}

// address numbers what a memory operand refers to; false if it has an index.
func (n *numbering) address(a *arch.Arch, m *disasm.MemOperand) (int, bool) {
	switch {
	case m == nil || m.Index != arch.NoReg || m.Segment != arch.NoReg:
		return 0, false
	case m.Base == arch.NoReg || m.RIPRelative:
		return n.get(quantity{op: opConstant, k: a.Truncate(uint64(m.Disp))}), true
	case m.Base == a.SP:
		return n.get(quantity{op: opSP, k: uint64(m.Disp)}), true
	}
	return n.get(quantity{op: opAdd, of: n.reg(m.Base), k: uint64(m.Disp)}), true
}

// load numbers the word at an address.
func (n *numbering) load(at int) int {
	if v := n.all[at]; v.op == opSP {
		s, ok := n.slots[v.k]
		if !ok {
			s = slot{n.fresh(), -1}
			n.slots[v.k] = s
		}
		return s.number
	}
	of, k := at, uint64(0)
	if v := n.all[at]; v.op == opAdd {
		of, k = v.of, v.k
	}
	return n.get(quantity{op: opLoad, of: of, k: k})
}

// number finds out which lock each event is about, and which slots have values at the target.
func (r *runtime) number(insts []disasm.Inst, index map[uint64]int, events map[int]lockEvent, target int) *numbering {
	n := &numbering{all: make([]quantity, 1, 64), known: map[quantity]int{}, regs: map[arch.Reg]int{}, slots: map[uint64]slot{}, word: uint64(r.Arch.WordSize)}
	if reg := r.argument(); reg != arch.NoReg {
		n.arg = n.reg(reg)
	}
	for i := range insts {
		in := &insts[i]
		if i == target {
			n.then = map[uint64]slot{}
			for k, s := range n.slots {
				if s.stored < 0 || r.p.Spend(len(insts)/8) == nil && !avoids(insts, index, s.stored, target) {
					n.then[k] = s
				}
			}
		}
		if e, ok := events[i]; ok {
			e.lock = r.lockOf(n, in, e)
			events[i] = e
		}
		var dst arch.Reg = arch.NoReg
		v := 0
		at, hasAddress := n.address(r.Arch, in.Mem())
		switch in.Kind {
		case disasm.Call, disasm.CallIndirect:
			clear(n.regs)
			continue
		case disasm.Mov:
			dst, v = in.Dst, n.reg(in.Src)
			if in.Src == r.Arch.SP {
				v = n.get(quantity{op: opSP})
			}
		case disasm.MovImm:
			dst, v = in.Dst, n.get(quantity{op: opConstant, k: r.Arch.Truncate(uint64(in.Imm))})
		case disasm.Lea:
			if dst, v = in.Dst, at; !hasAddress {
				v = n.fresh()
			}
		case disasm.Load:
			if dst, v = in.Dst, n.fresh(); hasAddress && uint64(in.Size) == n.word && in.Dst2 == arch.NoReg && in.List == 0 {
				v = n.load(at)
			}
		case disasm.Store:
			if hasAddress && n.all[at].op == opSP {
				k := n.all[at].k
				delete(n.slots, k)
				if uint64(in.Size) == n.word && in.Src != arch.NoReg {
					n.slots[k] = slot{n.reg(in.Src), i}
				}
				if in.Src2 != arch.NoReg {
					n.slots[k+n.word] = slot{n.reg(in.Src2), i}
				}
			}
		default:
			if op, d, a, _, imm := in.ALU(); op == disasm.ALUAddImm {
				if uint64(in.Size) == n.word {
					dst, v = d, n.get(quantity{op: opAdd, of: n.reg(a), k: uint64(imm)})
				}
			}
		}
		for reg := range n.regs {
			if in.Writes.Has(reg) && reg != dst {
				delete(n.regs, reg)
			}
		}
		if dst != arch.NoReg && dst != r.Arch.SP {
			n.regs[dst] = v
		}
	}
	return n
}

// lockOf numbers the address of the lock that an instruction is about: what an inlined Lock or Unlock writes to, or the argument of a call.
func (r *runtime) lockOf(n *numbering, in *disasm.Inst, e lockEvent) int {
	if in.Kind == disasm.Call {
		at := 0
		if reg := r.argument(); reg != arch.NoReg {
			at = n.reg(reg)
		} else {
			at = n.load(n.get(quantity{op: opSP}))
		}
		if e.any {
			return 0
		}
		return n.get(quantity{op: opAdd, of: at, k: e.part})
	}
	at, ok := n.address(r.Arch, in.Mem())
	if base, atomic := atomicBase(in); r.Arch == arch.ARM64 && atomic {
		at, ok = n.reg(base), true
	}
	if !ok {
		return 0
	}
	if e.rw {
		off, _ := r.of("rwmutex").off("readercount")
		at = n.get(quantity{op: opAdd, of: at, k: -off})
	}
	return at
}

// argument is the register with a function's first argument; NoReg where that is on the stack.
func (r *runtime) argument() arch.Reg {
	switch r.Arch {
	case arch.AMD64:
		return arch.RAX
	case arch.ARM64:
		return 0
	}
	return arch.NoReg
}

// resolve says how to compute a number from the frame at the place that counts.
func (n *numbering) resolve(v int, seen map[int]bool) (value, bool) {
	if v == 0 || seen[v] || len(seen) > maxSteps {
		return value{}, false
	}
	seen[v] = true
	best, found := uint64(0), false
	for at, s := range n.then {
		if s.number == v && (!found || at < best) {
			best, found = at, true
		}
	}
	if found {
		return value{from: fromSlot, start: best}, true
	}
	switch x := n.all[v]; x.op {
	case opConstant:
		return value{from: fromConstant, start: x.k}, true
	case opSP:
		return value{from: fromSP, start: x.k}, true
	case opAdd, opLoad:
		of, ok := n.resolve(x.of, seen)
		of.steps = append(of.steps, step{x.op == opLoad, x.k})
		return of, ok
	}
	return value{}, false
}

// compute computes a value in a frame with this stack pointer.
func (r *runtime) compute(v value, sp uint64) (uint64, bool) {
	at, ok := v.start, true
	switch v.from {
	case fromSP:
		at += sp
	case fromSlot:
		at, ok = r.word(r.Arch.Truncate(sp + at))
	}
	for _, s := range v.steps {
		at = r.Arch.Truncate(at + s.add)
		if s.load && ok {
			at, ok = r.word(at)
		}
	}
	return at, ok && at != 0
}

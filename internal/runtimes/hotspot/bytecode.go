package hotspot

// A bytecodes is the bytecode of a method in memory, where the virtual machine has rewritten some of it.
type bytecodes struct {
	code     []byte
	handlers []handlerEntry
	steps    int // that may still be made
}

// A handlerEntry is a row of a method's exception table: what is thrown in [start, end) goes on at pc.
type handlerEntry struct{ start, end, pc int }

// maxBytecodeSteps bounds the work on one method.
const maxBytecodeSteps = 1 << 20

// taken is what the steps that were made cost of a budget.
func (b *bytecodes) taken() int { return maxBytecodeSteps - max(b.steps, 0) }

// Bytecodes.
const (
	opBipush          = 16
	opSipush          = 17
	opLdc             = 18
	opLdcW            = 19
	opLdc2W           = 20
	opIload           = 21 // lload, fload, dload, aload
	opIload0          = 26
	opAload0          = 42
	opIstore          = 54 // lstore, fstore, dstore, astore
	opAstore          = 58
	opIstore0         = 59 // four of each type
	opAstore0         = 75
	opIinc            = 132
	opIfeq            = 153
	opGoto            = 167
	opJsr             = 168
	opRet             = 169
	opTableswitch     = 170
	opLookupswitch    = 171
	opIreturn         = 172
	opReturn          = 177
	opGetstatic       = 178 // putstatic, getfield, putfield, invokevirtual, invokespecial
	opInvokestatic    = 184
	opInvokeinterface = 185
	opInvokedynamic   = 186
	opNew             = 187
	opNewarray        = 188
	opAnewarray       = 189
	opAthrow          = 191
	opCheckcast       = 192
	opInstanceof      = 193
	opWide            = 196
	opMultianewarray  = 197
	opIfnull          = 198
	opIfnonnull       = 199
	opGotoW           = 200
	opJsrW            = 201
	opBreakpoint      = 202
)

// bytecodeSize is the bytes of a bytecode that Java's compilers make; 0 where it depends, or there is none.
func bytecodeSize(op byte) int {
	switch {
	case op == opBipush, op == opLdc, op >= opIload && op < opIload0, op >= opIstore && op < opIstore0, op == opRet, op == opNewarray:
		return 2
	case op == opMultianewarray:
		return 4
	case op == opInvokeinterface, op == opInvokedynamic, op == opGotoW, op == opJsrW:
		return 5
	case op == opSipush, op == opLdcW, op == opLdc2W, op == opIinc, op >= opIfeq && op <= opJsr, op >= opGetstatic && op <= opInvokestatic,
		op == opNew, op == opAnewarray, op == opCheckcast, op == opInstanceof, op == opIfnull, op == opIfnonnull:
		return 3
	case op == opTableswitch, op == opLookupswitch, op == opWide, op >= opBreakpoint:
		return 0
	}
	return 1
}

// rewritten are what the virtual machine's own bytecodes stand for, from the first behind breakpoint on: those that stand
// for two have changed the first only.
var rewritten = [...]byte{
	opGetstatic, opGetstatic, opGetstatic, opGetstatic, opGetstatic, opGetstatic, opGetstatic, opGetstatic, // fields of each type
	opGetstatic, opGetstatic, opGetstatic, opGetstatic, opGetstatic, opGetstatic, opGetstatic, opGetstatic, opGetstatic,
	opAload0, opAload0, opAload0, opAload0, opIload, opIload, opIload, opInvokestatic, opLookupswitch, opLookupswitch,
	opLdc, opLdcW, opReturn, opInvokestatic, opGetstatic, opGetstatic, opAload0, opIload,
}

// An instruction is one bytecode.
type instruction struct {
	op     byte
	size   int
	jumps  []int
	falls  bool // goes on behind it
	loads  int  // the slot that it reads; -1 if none
	stores int  // the slot that it changes; -1 if none
	wide   bool // and the one behind
}

// at decodes the bytecode at an index; false if that is not possible.
func (b *bytecodes) at(i int) (in instruction, ok bool) {
	if i < 0 || i >= len(b.code) {
		return in, false
	}
	rest := b.code[i:]
	op := rest[0]
	if op > opBreakpoint {
		n := int(op) - opBreakpoint - 1
		if n >= len(rewritten) {
			return in, false
		}
		op = rewritten[n]
	}
	in = instruction{op: op, size: bytecodeSize(op), falls: true, loads: -1, stores: -1}
	s4 := func(at int) (int, bool) {
		if at < 0 || at+4 > len(rest) {
			return 0, false
		}
		return int(int32(uint32(rest[at])<<24 | uint32(rest[at+1])<<16 | uint32(rest[at+2])<<8 | uint32(rest[at+3]))), true
	}
	wide := false
	switch op {
	case opWide:
		if len(rest) < 4 {
			return in, false
		}
		in.op, in.size, wide = rest[1], 4, true
		if in.op == opIinc {
			in.size = 6
		}
	case opTableswitch, opLookupswitch:
		at := 4 - i%4
		miss, ok := s4(at)
		n, ok2 := s4(at + 4)
		step, first := 8, at+12
		if op == opTableswitch {
			high, ok := s4(at + 8)
			if !ok || high < n {
				return in, false
			}
			n, step, first = high-n+1, 4, at+12
		}
		if !ok || !ok2 || n < 0 || n > len(rest) {
			return in, false
		}
		in.falls = false
		in.jumps = append(in.jumps, i+miss)
		for k := range n {
			to, ok := s4(first + k*step)
			if !ok {
				return in, false
			}
			in.jumps = append(in.jumps, i+to)
		}
		in.size = at + 8 + n*8
		if op == opTableswitch {
			in.size = at + 12 + n*4
		}
	}
	if in.size == 0 || in.size > len(rest) {
		return in, false
	}
	switch op = in.op; {
	case wide && op != opIinc && (op < opIload || op >= opIload0) && (op < opIstore || op > opAstore):
		return in, false
	case op >= opIfeq && op <= opGoto, op == opIfnull, op == opIfnonnull:
		in.jumps = []int{i + int(int16(uint16(rest[1])<<8|uint16(rest[2])))}
		in.falls = op != opGoto
	case op == opGotoW:
		to, _ := s4(1)
		in.jumps, in.falls = []int{i + to}, false
	case op == opJsr, op == opRet, op == opJsrW: // subroutines: no compiler makes them any more
		return in, false
	case op >= opIreturn && op <= opReturn, op == opAthrow:
		in.falls = false
	case op == opIinc, op >= opIload && op < opIload0:
		in.loads = int(rest[1])
		if wide {
			in.loads = int(rest[2])<<8 | int(rest[3])
		}
	case op >= opIload0 && op < opAload0+4:
		in.loads = int(op-opIload0) % 4
	case op >= opIstore && op <= opAstore:
		in.stores, in.wide = int(rest[1]), (op-opIstore)%2 == 1
		if wide {
			in.stores = int(rest[2])<<8 | int(rest[3])
		}
	case op >= opIstore0 && op < opAstore0+4:
		in.stores, in.wide = int(op-opIstore0)%4, (op-opIstore0)/4%2 == 1
	}
	return in, true
}

// whole reports whether the bytecode can be read from its beginning to its end, and all handlers begin with one. The
// first releases of JDK 8 number the virtual machine's own bytecodes in another way.
func (b *bytecodes) whole() bool {
	begins := make([]bool, len(b.code)+1)
	i := 0
	for i < len(b.code) {
		begins[i] = true
		in, ok := b.at(i)
		if b.steps--; !ok || b.steps < 0 {
			return false
		}
		i += in.size
	}
	for _, h := range b.handlers {
		if !begins[h.pc] {
			return false
		}
	}
	return i == len(b.code)
}

// reach marks what can run after the bytecodes at from, those themselves with it. Nothing goes on behind one that stop
// names. false if the bytecode cannot be read.
func (b *bytecodes) reach(from []int, stop func(at int, in instruction) bool) (seen []bool, ok bool) {
	seen = make([]bool, len(b.code))
	var todo []int
	push := func(i int) bool {
		if i < 0 || i >= len(seen) {
			return false
		}
		if !seen[i] {
			seen[i] = true
			todo = append(todo, i)
		}
		return true
	}
	for _, i := range from {
		if !push(i) {
			return nil, false
		}
	}
	for len(todo) > 0 {
		i := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		in, ok := b.at(i)
		if b.steps -= 1 + len(in.jumps) + len(b.handlers)/8; !ok || b.steps < 0 {
			return nil, false
		}
		if stop(i, in) {
			continue
		}
		for _, to := range in.jumps {
			if !push(to) {
				return nil, false
			}
		}
		if in.falls && !push(i+in.size) {
			return nil, false
		}
		for _, h := range b.handlers {
			if h.start <= i && i < h.end && !push(h.pc) {
				return nil, false
			}
		}
	}
	return seen, true
}

// handling is the slot with the exception that the code at an index handles: of a catch or a finally through which
// all ways lead there, the innermost. false if there is none, or if the slot may have something else by now.
func (b *bytecodes) handling(at int) (slot int, ok bool) {
	if at < 0 || at >= len(b.code) || !b.whole() {
		return 0, false
	}
	best, tried := -1, map[int]bool{}
	var around []bool // what runs without the best one
	for _, h := range b.handlers {
		if tried[h.pc] || h.pc == 0 {
			continue
		}
		tried[h.pc] = true
		if best >= 0 && around[h.pc] { // not within the best one
			continue
		}
		others, ok := b.reach([]int{0}, func(i int, _ instruction) bool { return i == h.pc })
		if !ok {
			return 0, false
		}
		if others[at] {
			continue
		}
		best, around = h.pc, others
	}
	if best < 0 {
		return 0, false
	}
	first, ok := b.at(best)
	if !ok || first.op != opAstore && (first.op < opAstore0 || first.op >= opAstore0+4) {
		return 0, false
	}
	var after []int // what follows another use of the slot
	kept, ok := b.reach([]int{best}, func(i int, in instruction) bool {
		if i == best || in.stores < 0 || in.stores != first.stores && (!in.wide || in.stores+1 != first.stores) {
			return false
		}
		if in.falls {
			after = append(after, i+in.size)
		}
		return true
	})
	if !ok || !kept[at] {
		return 0, false
	}
	lost, ok := b.reach(after, func(i int, _ instruction) bool { return i == best })
	return first.stores, ok && !lost[at]
}

// live reports whether what a slot has before the code at an index may still be read: some way from there leads to a
// bytecode that reads the slot, before one that changes it. known is false if the bytecode cannot be read.
func (b *bytecodes) live(at, slot int) (live, known bool) {
	_, known = b.reach([]int{at}, func(_ int, in instruction) bool {
		live = live || in.loads == slot
		return live || in.stores == slot || in.wide && in.stores+1 == slot
	})
	return live, known || live
}

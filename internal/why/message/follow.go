package message

import (
	"github.com/corewalk/corewalk/internal/code/disasm"
	"github.com/corewalk/corewalk/unwind/arch"
)

// A follower executes the code of a small function on the dump's memory to learn what it returns: moves,
// additions, loads of words, calls. Anything else, above all a branch, ends it without an answer. The dump is
// not changed: stores are recorded separately.
type follower struct {
	*Process
	// call, if set, answers calls instead of following them.
	call func(*follower) (uint64, bool)

	abi    callABI
	regs   arch.RegSet
	tested tested
	stored map[arch.Address]stored
	steps  int
}

// A stored is a stored word; ok is false if its value is not known.
type stored struct {
	v  uint64
	ok bool
}

// A callABI says where a function gets its first argument and returns its result.
type callABI struct{ arg, result arch.Reg }

// abiOf knows the architectures whose code can be followed: functions get arguments in registers, and return
// addresses are in a register or on the stack.
func abiOf(a *arch.Arch, windows bool) (callABI, bool) {
	arg, result := "", ""
	switch {
	case a == arch.AMD64 && windows:
		arg, result = "rcx", "rax"
	case a == arch.AMD64:
		arg, result = "rdi", "rax"
	case a == arch.ARM64:
		arg, result = "x0", "x0"
	case a == arch.ARM:
		arg, result = "r0", "r0"
	default:
		return callABI{}, false
	}
	in, ok1 := a.RegByName(arg)
	out, ok2 := a.RegByName(result)
	return callABI{in, out}, ok1 && ok2
}

// Limits on the code that is followed.
const (
	maxSteps = 256 // instructions
	maxDepth = 4   // calls within calls
)

// farStack is where the followed code has its stack: no process can have memory there.
const farStack = 0x7fff_ff00_0000_0000

// run follows the function at entry, called with arg, until it returns. It returns the result.
func (f *follower) run(entry, arg arch.Address) (uint64, bool) {
	abi, ok := abiOf(f.Arch, f.Windows)
	if !ok {
		return 0, false
	}
	f.abi, f.stored, f.steps, f.tested = abi, map[arch.Address]stored{}, 0, tested{}
	f.regs = arch.RegSet{}
	if len(f.Stack) > 0 { // for the base of thread-local storage
		now := f.Stack[0].Registers()
		if fs, ok := f.Arch.RegByName("fs_base"); ok {
			if v, ok := now.Get(fs); ok {
				f.regs.Set(fs, v)
			}
		}
	}
	f.regs.Set(f.Arch.SP, farStack)
	f.regs.Set(f.abi.arg, arg)
	if !f.function(entry, 0) {
		return 0, false
	}
	return f.regs.Get(f.abi.result)
}

// function follows code until it returns.
func (f *follower) function(pc arch.Address, depth int) bool {
	if depth > maxDepth {
		return false
	}
	for {
		if f.steps++; f.steps > maxSteps {
			return false
		}
		// The lowest bit of an ARM code pointer selects the instruction set.
		mode := pc &^ f.Arch.CodeAddress(pc)
		code := f.Some(pc-mode, disasm.MaxLen)
		inst, err := disasm.Decode(f.Arch, code, pc)
		if err != nil || inst.Conditional || inst.Delayed {
			return false
		}
		switch inst.Kind {
		case disasm.Ret:
			return true
		case disasm.CondJump:
			taken, ok := f.decide(&inst)
			if !ok {
				return false
			}
			if taken {
				pc = inst.Target
				continue
			}
		case disasm.Jump:
			if inst.Switches {
				return false
			}
			pc = inst.Target | mode
			continue
		case disasm.JumpIndirect:
			to, ok := f.target(&inst)
			if !ok {
				return false
			}
			pc = to
			continue
		case disasm.Call, disasm.CallIndirect:
			if !f.follow(&inst, mode, depth) {
				return false
			}
		default:
			if !f.step(&inst) {
				return false
			}
		}
		pc = inst.Next() | mode
	}
}

// target returns the target of an indirect jump or call.
func (f *follower) target(inst *disasm.Inst) (arch.Address, bool) {
	if inst.Mem() != nil {
		addr, ok := inst.EffectiveAddress(&f.regs)
		if !ok {
			return 0, false
		}
		return f.load(addr, f.Arch.WordSize)
	}
	return f.regs.Get(inst.Src)
}

// follow follows a call. The caller relies only on the result register afterwards; the others stay as the
// callee left them.
func (f *follower) follow(inst *disasm.Inst, mode arch.Address, depth int) bool {
	if f.call != nil {
		v, ok := f.call(f)
		if ok {
			f.regs.Set(f.abi.result, v)
		}
		return ok
	}
	to := inst.Target | mode
	if inst.Switches {
		to ^= 1
	}
	if inst.Kind == disasm.CallIndirect {
		var ok bool
		if to, ok = f.target(inst); !ok {
			return false
		}
	}
	sp, ok := f.regs.Get(f.Arch.SP)
	if !ok || !f.function(to, depth+1) {
		return false
	}
	f.regs.Set(f.Arch.SP, sp)
	return true
}

// step executes an instruction that does not change the control flow.
func (f *follower) step(inst *disasm.Inst) bool {
	word := uint64(f.Arch.WordSize)
	sp, _ := f.regs.Get(f.Arch.SP)
	switch inst.Kind {
	case disasm.Nop, disasm.Endbr:
		return true
	case disasm.Push:
		if inst.Src == arch.NoReg || inst.Mem() != nil || uint64(inst.Size) != word {
			return false
		}
		v, ok := f.regs.Get(inst.Src)
		f.regs.Set(f.Arch.SP, sp-word)
		f.keep(sp-word, v, ok)
		return true
	case disasm.Pop:
		if inst.Dst == arch.NoReg || uint64(inst.Size) != word {
			return false
		}
		v, ok := f.load(sp, f.Arch.WordSize)
		f.regs.Set(f.Arch.SP, sp+word)
		f.set(inst.Dst, v, ok)
		return true
	case disasm.MovSPtoFP:
		f.regs.Set(f.Arch.FP, sp)
		return true
	case disasm.MovFPtoSP, disasm.Mov:
		if inst.Kind == disasm.MovFPtoSP {
			v, ok := f.regs.Get(f.Arch.FP)
			f.set(f.Arch.SP, v, ok)
			return true
		}
		v, ok := f.regs.Get(inst.Src)
		return f.sized(inst, v, ok)
	case disasm.Leave:
		fp, ok := f.regs.Get(f.Arch.FP)
		if !ok {
			return false
		}
		v, ok := f.load(fp, f.Arch.WordSize)
		f.regs.Set(f.Arch.SP, fp+word)
		f.set(f.Arch.FP, v, ok)
		return true
	case disasm.SubSP:
		f.regs.Set(f.Arch.SP, sp-uint64(inst.Imm))
		return true
	case disasm.AddSP:
		f.regs.Set(f.Arch.SP, sp+uint64(inst.Imm))
		return true
	case disasm.MovImm:
		return f.sized(inst, uint64(inst.Imm), true)
	case disasm.Lea, disasm.LeaSP:
		addr, ok := inst.EffectiveAddress(&f.regs)
		dst := inst.Dst
		if inst.Kind == disasm.LeaSP {
			dst = f.Arch.SP
		}
		f.set(dst, addr, ok)
		return true
	case disasm.Load:
		return f.loadInto(inst)
	case disasm.Store:
		return f.store(inst)
	}
	return f.sum(inst)
}

// sized sets the destination of a move. A move of four bytes clears the upper half.
func (f *follower) sized(inst *disasm.Inst, v uint64, ok bool) bool {
	switch int(inst.Size) {
	case f.Arch.WordSize:
	case 4:
		v &= 1<<32 - 1
	default:
		return false
	}
	f.set(inst.Dst, v, ok)
	return true
}

func (f *follower) loadInto(inst *disasm.Inst) bool {
	m := inst.Mem()
	if m == nil || inst.Dst == arch.NoReg || inst.List != 0 {
		return false
	}
	addr, ok := inst.EffectiveAddress(&f.regs)
	if !ok {
		return false
	}
	size := f.Arch.WordSize
	if inst.Dst2 != arch.NoReg {
		v, ok := f.load(addr+uint64(size), size)
		f.set(inst.Dst2, v, ok)
	} else if int(m.Size) != size {
		return false
	}
	v, ok := f.load(addr, size)
	f.writeback(inst, m)
	f.set(inst.Dst, v, ok)
	return true
}

func (f *follower) store(inst *disasm.Inst) bool {
	m := inst.Mem()
	if m == nil || inst.Src == arch.NoReg || inst.List != 0 {
		return false
	}
	addr, ok := inst.EffectiveAddress(&f.regs)
	if !ok {
		return false
	}
	size := f.Arch.WordSize
	if inst.Src2 != arch.NoReg {
		v, ok := f.regs.Get(inst.Src2)
		f.keep(addr+uint64(size), v, ok)
	} else if int(m.Size) != size {
		return false
	}
	v, ok := f.regs.Get(inst.Src)
	f.keep(addr, v, ok)
	f.writeback(inst, m)
	return true
}

// writeback updates the base register of an access with writeback.
func (f *follower) writeback(inst *disasm.Inst, m *disasm.MemOperand) {
	if inst.Writeback == 0 {
		return
	}
	v, ok := f.regs.Get(m.Base)
	f.set(m.Base, v+uint64(inst.Writeback), ok)
}

// sum executes additions.
func (f *follower) sum(inst *disasm.Inst) bool {
	op, dst, a, b, imm := inst.ALU()
	x, ok := f.regs.Get(a)
	switch op {
	case disasm.ALUAddImm:
		return ok && f.sizedTo(inst, dst, x+uint64(imm))
	case disasm.ALUAdd:
		y, ok2 := f.regs.Get(b)
		return ok && ok2 && f.sizedTo(inst, dst, x+y)
	}
	return f.test(inst)
}

func (f *follower) sizedTo(inst *disasm.Inst, dst arch.Reg, v uint64) bool {
	if int(inst.Size) != f.Arch.WordSize {
		return false
	}
	f.set(dst, v, true)
	return true
}

// set sets a register to a value, or to unknown.
func (f *follower) set(r arch.Reg, v uint64, ok bool) {
	if r == arch.NoReg {
		return
	}
	if !ok {
		f.regs.Clear(r)
		return
	}
	f.regs.Set(r, f.Arch.Truncate(v))
}

// keep records a store.
func (f *follower) keep(addr arch.Address, v uint64, ok bool) { f.stored[addr] = stored{v, ok} }

func (f *follower) load(addr arch.Address, size int) (uint64, bool) {
	if s, ok := f.stored[addr]; ok {
		return s.v, s.ok
	}
	if f.onStack(addr) {
		return 0, false
	}
	return f.Uint(addr, size)
}

// onStack reports whether an address is on the stack given to the code.
func (f *follower) onStack(addr arch.Address) bool {
	return addr >= farStack-1<<20 && addr < farStack+1<<20
}

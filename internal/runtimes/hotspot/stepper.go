package hotspot

import (
	"github.com/corewalk/corewalk/internal/code/disasm"
	"github.com/corewalk/corewalk/unwind"
	"github.com/corewalk/corewalk/unwind/arch"
)

// Where an interpreted frame has its values on x86-64, in bytes from its frame pointer.
const (
	interpretedSender = -8  // the stack pointer of the caller
	interpretedMethod = -24 // the Method
	interpretedBCP    = -64 // the address of the bytecode that runs
	oldBCP            = -56 // the same before JDK 9
)

// Where the stub by which C++ calls Java saved the registers of its caller, in bytes from its frame pointer.
var stubSaved = [...]struct {
	reg    arch.Reg
	offset int64
}{{arch.RBX, -0x38}, {arch.R12, -0x40}, {arch.R13, -0x48}, {arch.R14, -0x50}, {arch.R15, -0x58}}

// maxFrame bounds the stack of one frame, in bytes.
const maxFrame = 1 << 24

// callerFrame walks a Java frame.
func (vm *VM) callerFrame(in, out *unwind.Frame) unwind.Status {
	pc := in.LookupAddr()
	b := vm.blobAt(pc)
	if b == nil {
		return unwind.StatusNotMe
	}
	if s, ok := vm.crossing(b, in); ok {
		return vm.crossed(s, in, out)
	}
	switch b.kind {
	case kindInterpreter:
		return vm.interpreted(in, out)
	case kindRoutines:
		if in.RA() == vm.callers && vm.callers != 0 {
			return vm.entry(in, out)
		}
	case kindTable:
		if interrupted(in) {
			return vm.returnsAt(in, out, in.SP(), false)
		}
	case kindCompiled, kindNative, kindStub:
		return vm.sized(b, in, out)
	}
	return unwind.StatusNotMe
}

// interpreted walks a frame of the interpreter: a method is in it, and the stack pointer of its caller.
func (vm *VM) interpreted(in, out *unwind.Frame) unwind.Status {
	fp := in.FP()
	if fp < in.SP() || fp%8 != 0 || vm.methodAt(vm.Word(at(fp, interpretedMethod))) == nil {
		return unwind.StatusNotMe
	}
	sp := vm.Word(at(fp, interpretedSender))
	if sp < maxFrame/8 { // in a chunk: words
		sp = fp + 8*sp
	}
	if sp < fp+8 || sp-fp > maxFrame {
		return unwind.StatusNotMe
	}
	sp = max(sp, fp+16) // until JDK 11, calls by method handles leave the place of the argument that they drop
	return vm.caller(out, fp+8, fp, sp)
}

// entry walks the frame of the stub by which C++ called Java.
func (vm *VM) entry(in, out *unwind.Frame) unwind.Status {
	fp := in.FP()
	if fp < in.SP() || fp%8 != 0 {
		return unwind.StatusNotMe
	}
	for _, r := range stubSaved {
		addr := at(fp, r.offset)
		if v, err := vm.ReadWord(addr); err == nil {
			out.SetReg(r.reg, v, unwind.AtAddress(addr))
		} else {
			out.ForgetReg(r.reg)
		}
	}
	return vm.setCaller(out, fp+8, fp, fp+16)
}

// sized walks a frame of a size that its code has.
func (vm *VM) sized(b *blob, in, out *unwind.Frame) unwind.Status {
	sp := in.SP()
	if interrupted(in) {
		if depth, saved, ok := vm.leaving(in.RA()); ok {
			return vm.returnsAt(in, out, sp+depth, saved)
		}
		if b.hasComplete && in.RA()-b.begin < b.complete {
			return vm.starting(b, in, out)
		}
		if b.kind == kindCompiled && vm.inCallStub(in.RA()) {
			return vm.returnsAt(in, out, sp, false)
		}
		if b.kind == kindStub && !b.hasComplete {
			if depth, ok := vm.made(b, in.RA()); ok && depth+8 < b.frameSize {
				return vm.returnsAt(in, out, sp+depth, false)
			}
		}
		if i, ok := vm.instruction(in.RA()); ok && i.Kind == disasm.Pop && i.Mem() != nil && i.Dst == arch.NoReg { // arguments are moved through the stack
			sp += 8
		}
	}
	if b.frameSize < 16 || b.frameSize > maxFrame {
		return unwind.StatusNotMe
	}
	sender := sp + b.frameSize
	return vm.caller(out, sender-8, sender-16, sender)
}

// returnsAt walks a frame whose return address is at an address, with the caller's frame pointer right below it
// if saved, and else still in its register.
func (vm *VM) returnsAt(in, out *unwind.Frame, at uint64, saved bool) unwind.Status {
	if saved {
		return vm.caller(out, at, at-8, at+8)
	}
	if fp, l, ok := in.Reg(arch.RBP); ok {
		out.SetReg(arch.RBP, fp, l)
	}
	return vm.caller(out, at, 0, at+8)
}

// caller fills in a caller in Java: no register is kept for it but the frame pointer, which is saved at fp if that is not 0.
func (vm *VM) caller(out *unwind.Frame, ra, fp, sp uint64) unwind.Status {
	for _, r := range stubSaved {
		out.ForgetReg(r.reg)
	}
	return vm.setCaller(out, ra, fp, sp)
}

func (vm *VM) setCaller(out *unwind.Frame, ra, fp, sp uint64) unwind.Status {
	v, err := vm.ReadWord(ra)
	if err != nil {
		return unwind.StatusNotMe
	}
	chunk, inChunk := vm.chunks.containing(sp)
	if handled, status := vm.returnsTo(out, v, sp, chunk, inChunk); handled {
		return status
	}
	if v == 0 {
		return unwind.StatusNotMe
	}
	if fp != 0 {
		saved, err := vm.ReadWord(fp)
		if err != nil {
			return unwind.StatusNotMe
		}
		if inChunk {
			saved = vm.framePointer(fp)
		}
		out.SetFP(saved)
		out.SetFPLocation(unwind.AtAddress(fp))
	}
	out.SetRA(v)
	out.SetRALocation(unwind.AtAddress(ra))
	out.SetSP(sp)
	out.SetTrust(unwind.TrustCFI)
	return unwind.StatusSuccess
}

// at is the address of what is so many bytes from a frame pointer.
func at(fp uint64, offset int64) uint64 { return fp + uint64(offset) }

// interrupted reports whether a frame was not left by a call.
func interrupted(f *unwind.Frame) bool { return f.LookupAddr() == f.RA() }

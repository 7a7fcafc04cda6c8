package php

import (
	"bytes"
	"slices"

	"github.com/corewalk/corewalk/internal/runtimes/jitcode"
	"github.com/corewalk/corewalk/tasks"
	"github.com/corewalk/corewalk/unwind"
	"github.com/corewalk/corewalk/unwind/arch"
)

// Compiled walks the code that PHP's compiler made, which has no unwind tables. That code runs in the frame of execute_ex, which jumped to it: the
// stack pointer is that of execute_ex, and the registers of its caller are where execute_ex saved them. It looks for PHP when it is first asked about
// code of no library.
type Compiled struct {
	jitcode.Stepper[runtime]
	shape frameShape
}

// NewCompiled returns the stepper of a process; process is called once, if at all.
func NewCompiled(process func() *tasks.Process) *Compiled {
	c := &Compiled{}
	c.Process, c.Find = process, c.find
	return c
}

// Name implements unwind.FrameStepper and tasks.Runtime.
func (c *Compiled) Name() string { return "PHP" }

// Priority implements unwind.FrameStepper: after unwind tables, before what guesses.
func (c *Compiled) Priority() uint32 { return unwind.PriorityDebugStepper + 7 }

// CallerFrame implements unwind.FrameStepper.
func (c *Compiled) CallerFrame(in, out *unwind.Frame) unwind.Status {
	r, libs := c.Of(in)
	if r == nil {
		return unwind.StatusNotMe
	}
	current, _, ok := in.Reg(arch.R14)
	if !ok {
		return unwind.StatusNotMe
	}
	if call, _, err := r.callAt(current); err != nil || call.f == nil || call.f.kind == funcInternal {
		return unwind.StatusNotMe
	}
	at := in.SP() + c.shape.size - 8
	ra, ok := r.LookupWord(at)
	if lib, found := libs.LibraryAt(ra - 1); !ok || !found || lib != r.lib {
		return unwind.StatusNotMe
	}
	restore := func(reg arch.Reg, where uint64) {
		v, ok := r.LookupWord(where)
		switch {
		case !ok:
			out.ForgetReg(reg)
		case reg == arch.RBP:
			out.SetFP(v)
			out.SetFPLocation(unwind.AtAddress(where))
		default:
			out.SetReg(reg, v, unwind.AtAddress(where))
		}
	}
	for i, reg := range c.shape.saved {
		restore(reg, at-8*uint64(i+1))
	}
	if c.shape.call != 0 {
		restore(arch.R14, at+8-c.shape.call)
	}
	if c.shape.instruction != 0 {
		restore(arch.R15, at+8-c.shape.instruction)
	}
	out.SetRA(ra)
	out.SetRALocation(unwind.AtAddress(at))
	out.SetSP(at + 8)
	out.SetTrust(unwind.TrustCFI)
	return unwind.StatusSuccess
}

// find finds PHP, and reads what execute_ex saves; nil without it.
func (c *Compiled) find(p *tasks.Process) *runtime {
	found, _ := Find(p)
	r, ok := found.(*runtime)
	if !ok {
		return nil
	}
	if c.shape, ok = prologue(r.Some(r.symbol(runsCode), maxPrologue)); !ok {
		return nil
	}
	return r
}

// A frameShape is how execute_ex begins: what it saves, and where.
type frameShape struct {
	saved []arch.Reg // that it pushes, in order
	size  uint64     // of its frame, with the return address
	// Where it keeps the two registers that it uses for itself, in bytes below its caller's stack pointer: 0 if that is not known. Unwind tables
	// do not tell.
	call, instruction uint64
}

// maxPrologue is how many bytes of a function are read for what it saves.
const maxPrologue = 96

// pushed are the registers that functions save, by the last byte of the instruction that pushes them: with 0x41 before those from r8 on.
var pushed = [...]struct {
	code byte
	high bool
	reg  arch.Reg
}{{0x53, false, arch.RBX}, {0x55, false, arch.RBP}, {0x54, true, arch.R12}, {0x55, true, arch.R13}, {0x56, true, arch.R14}, {0x57, true, arch.R15}}

// prologue reads how a function begins: false if not with pushes and a subtraction from the stack pointer.
func prologue(b []byte) (s frameShape, ok bool) {
	b = bytes.TrimPrefix(b, landing)
	for !ok {
		if len(b) < 8 {
			return frameShape{}, false
		}
		i := 0
		if b[0] == 0x41 {
			i = 1
		}
		k := slices.IndexFunc(pushed[:], func(p struct {
			code byte
			high bool
			reg  arch.Reg
		}) bool {
			return p.code == b[i] && p.high == (i == 1)
		})
		pushes := 8 * uint64(len(s.saved)+1)
		switch {
		case k >= 0:
			s.saved = append(s.saved, pushed[k].reg)
			b = b[i+1:]
		case b[0] == 0x48 && b[1] == 0x83 && b[2] == 0xec && b[3] < 0x80: // sub rsp, a byte
			s.size, ok = pushes+uint64(b[3]), true
		case b[0] == 0x48 && b[1] == 0x81 && b[2] == 0xec && b[5] == 0 && b[6] == 0: // sub rsp, four bytes
			s.size, ok = pushes+uint64(b[3])+uint64(b[4])<<8, true
		case b[0] >= 0x48 && b[0] <= 0x4c && b[1] == 0x89 && b[2] >= 0xc0: // a move between registers
			b = b[3:]
		default:
			return frameShape{}, false
		}
	}
	for i := 0; i+5 <= len(b); i++ { // mov [rsp+n], r14 or r15; mov [rbp-n], r14 or r15
		if b[i] != 0x4c || b[i+1] != 0x89 {
			continue
		}
		at := uint64(0)
		switch {
		case (b[i+2] == 0x74 || b[i+2] == 0x7c) && b[i+3] == 0x24 && b[i+4] < 0x80:
			at = s.size - uint64(b[i+4])
		case b[i+2] == 0x75 || b[i+2] == 0x7d:
			at = 16 - uint64(int64(int8(b[i+3])))
		}
		if at < 8 || at > s.size {
			continue
		}
		if b[i+2]&8 == 0 {
			s.call = at
		} else {
			s.instruction = at
		}
	}
	return s, true
}

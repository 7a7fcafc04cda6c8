package reason

import (
	"encoding/hex"
	"fmt"
	"testing"

	"github.com/corewalk/corewalk/internal/code/disasm"
	"github.com/corewalk/corewalk/libstate"
	"github.com/corewalk/corewalk/unwind/arch"
)

const (
	rd  = libstate.Read
	rw  = libstate.Read | libstate.Write
	rx  = libstate.Read | libstate.Exec
	all = libstate.Read | libstate.Write | libstate.Exec
)

func area(start, end uint64, perm libstate.Perm) libstate.Mapping {
	return libstate.Mapping{Start: start, End: end, Perm: perm}
}

// The process of most tests: its addresses fit into 32 bits.
const (
	text     = 0x401000   // executable
	ro       = 0x403000   // readable, of a file
	data     = 0x404000   // writable, of a file
	none     = 0x405000   // mapped without permissions
	lowStack = 0xbf000000 // writable, 0x10000 bytes
)

var process = []libstate.Mapping{
	{Start: text, End: text + 0x1000, Perm: rx, Path: "/bin/prog"},
	{Start: ro, End: ro + 0x1000, Perm: rd, Path: "/bin/prog"},
	{Start: data, End: data + 0x1000, Perm: rw, Path: "/bin/prog"},
	area(none, none+0x1000, 0),
	area(lowStack, lowStack+0x10000, rw),
}

// mapped looks an address up. What comes with false means nothing.
func mapped(ms []libstate.Mapping) func(uint64) (libstate.Mapping, bool) {
	return func(addr uint64) (libstate.Mapping, bool) {
		for _, m := range ms {
			if addr >= m.Start && addr < m.End {
				return m, true
			}
		}
		return libstate.Mapping{Start: addr, End: addr + 1, Perm: all, Path: "/none"}, false
	}
}

// regs are values of registers by name.
type regs map[string]uint64

func (known regs) set(in *Input) {
	for name, v := range known {
		r, ok := in.Arch.RegByName(name)
		if !ok {
			panic(fmt.Sprintf("%s has no register %s", in.Arch.Name, name))
		}
		in.Regs.Set(r, v)
	}
}

// over is a process with these mappings and registers, and nothing else.
func over(a *arch.Arch, known regs, ms ...libstate.Mapping) *Input {
	in := &Input{Arch: a, Mapping: mapped(ms)}
	known.set(in)
	return in
}

// An at is a process at one instruction.
type at struct {
	a     *arch.Arch // AMD64 if nil
	code  string     // hexadecimal, in memory order; not known if ""
	regs  regs       // pc is text and sp in the middle of the stack unless they are here
	words map[uint64]uint64
	// What the dump does not have: the memory, and the map of it.
	noWords, blind bool
}

func (p at) input(t *testing.T) Input {
	t.Helper()
	if p.a == nil {
		p.a = arch.AMD64
	}
	in := Input{Arch: p.a, Mapping: mapped(process), Word: func(addr uint64) (uint64, bool) {
		v, ok := p.words[addr]
		return v, ok
	}}
	if p.noWords {
		in.Word = nil
	}
	if p.blind {
		in.Mapping = nil
	}
	in.Regs.Set(p.a.PC, text)
	in.Regs.Set(p.a.SP, lowStack+0x8000)
	p.regs.set(&in)
	if p.code != "" {
		code, err := hex.DecodeString(p.code)
		if err != nil {
			t.Fatal(err)
		}
		pc, _ := in.Regs.Get(p.a.PC)
		inst, err := disasm.Decode(p.a, code, pc)
		if err != nil {
			t.Fatal(err)
		}
		in.Inst = &inst
	}
	return in
}

// Instructions of x86.
const (
	storeRAX  = "8910"     // mov [rax], edx
	loadRAX   = "8b10"     // mov edx, [rax]
	loadRAX8  = "8b5008"   // mov edx, [rax+8]
	incRAX    = "ff00"     // inc dword ptr [rax]
	byteRAX   = "8a10"     // mov dl, [rax]
	movaps    = "0f2800"   // movaps xmm0, [rax]
	movEBPEAX = "89c5"     // mov ebp, eax
	idivECX   = "f7f9"     // idiv ecx
	idivMem   = "f738"     // idiv dword ptr [rax]
	callRAX   = "ffd0"     // call rax
	jmpMem    = "ff20"     // jmp [rax]
	ret       = "c3"       // ret
	hlt       = "f4"       // hlt
	ud2       = "0f0b"     // ud2
	nop       = "90"       // nop
	pushRBP   = "55"       // push rbp
	storeFP24 = "897ddc"   // mov [rbp-0x24], edi
	loadFP    = "8b4500"   // mov eax, [rbp]
	movsb     = "a4"       // movsb
	lockCmp   = "f00fb110" // lock cmpxchg [rax], edx
)

func sig(number, code int) Signal { return Signal{Number: number, Code: code, HasInfo: true} }

func segv(code int, addr uint64) Signal {
	return Signal{Number: sigSegv, Code: code, HasInfo: true, Addr: addr, HasAddr: true, OwnPID: 7}
}

func bus(code int, addr uint64) Signal {
	return Signal{Number: sigBus, Code: code, HasInfo: true, Addr: addr, HasAddr: true}
}

func from(signo, code, pid int) Signal {
	return Signal{Number: signo, Code: code, HasInfo: true, PID: pid, UID: 1000, OwnPID: 7}
}

func win(code uint32, params ...uint64) Exception { return Exception{Code: code, Params: params} }

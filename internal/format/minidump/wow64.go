package minidump

import (
	"encoding/binary"
	"strings"

	"github.com/corewalk/corewalk/unwind/arch"
)

// Of a 32-bit process, a 64-bit writer records what runs in 64 bits: the layer that
// makes the system calls (wow64cpu.dll). The 32-bit registers lie in memory: the
// second of the thread-local slots of the 64-bit TEB points at a WOW64_CPURESERVED,
// flags and machine (2 bytes each), and behind them a CONTEXT of x86.
const (
	teb64TLSSlots  = 0x1480
	wow64CPUSlot   = 1
	wow64ContextAt = 4
)

// WOW64 reports whether the dump is of a 32-bit process of 64-bit Windows with the
// registers of its 64-bit side.
func (f *File) WOW64() bool {
	if f.System.CPU != CPUAMD64 || !f.System.Platform.Windows() {
		return false
	}
	for i := range f.Modules {
		switch strings.ToLower(f.Modules[i].Name()) {
		case "wow64.dll", "wow64cpu.dll":
			return true
		}
	}
	return false
}

// WOW64Context is the CONTEXT record of the thread's 32-bit side; nil when the dump
// does not have it.
func (f *File) WOW64Context(t *Thread) []byte {
	if t.TEB == 0 || t.TEB+teb64TLSSlots < t.TEB {
		return nil
	}
	var ptr [8]byte
	if f.Memory.Read(t.TEB+teb64TLSSlots+8*wow64CPUSlot, ptr[:]) < len(ptr) {
		return nil
	}
	at := binary.LittleEndian.Uint64(ptr[:])
	if at == 0 {
		return nil
	}
	rec := make([]byte, contextX86().size)
	n := f.Memory.Read(at+wow64ContextAt, rec)
	if n < contextX86().need {
		return nil
	}
	return rec[:n]
}

// code32 is the selector of the segment of 32-bit code (KGDT64_R3_CMCODE).
const code32 = 0x23

// WOW64Registers are the registers of the thread's 32-bit side: those of its 64-bit
// record, cut to 32 bits, where it ran 32-bit code, as it does when it crashes; else
// those that the layer between saved.
func (f *File) WOW64Registers(t *Thread) (Context, error) {
	records := [][]byte{t.Context}
	if e := f.Exception; e != nil && e.ThreadID == t.ID {
		records = [][]byte{e.Context, t.Context}
	}
	for _, rec := range records {
		c, err := f.DecodeContext(rec)
		if err != nil {
			continue
		}
		if c.Arch == arch.X86 {
			return c, nil
		}
		if cs, _ := c.Regs.Get(arch.CS); cs == code32 {
			return narrow(c), nil
		}
	}
	return f.DecodeContext(f.WOW64Context(t))
}

// halves are the registers of amd64 whose lower halves 32-bit code sees.
var halves = [...]struct{ wide, narrow arch.Reg }{
	{arch.RAX, arch.EAX}, {arch.RCX, arch.ECX}, {arch.RDX, arch.EDX}, {arch.RBX, arch.EBX}, {arch.RSP, arch.ESP}, {arch.RBP, arch.EBP},
	{arch.RSI, arch.ESI}, {arch.RDI, arch.EDI}, {arch.RIP, arch.EIP}, {arch.EFLAGS, arch.X86EFLAGS}, {arch.CS, arch.X86CS}, {arch.SS, arch.X86SS},
	{arch.DS, arch.X86DS}, {arch.ES, arch.X86ES}, {arch.FS, arch.X86FS}, {arch.GS, arch.X86GS},
}

// narrow makes a context of 32-bit code of the processor's in 64 bits.
func narrow(c Context) Context {
	out := Context{Arch: arch.X86, Flags: c.Flags, Vector: c.Vector, XState: c.XState}
	for _, h := range halves {
		if v, ok := c.Regs.Get(h.wide); ok {
			out.Regs.Set(h.narrow, v&0xffffffff)
		}
	}
	return out
}

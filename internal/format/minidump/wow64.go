package minidump

import (
	"encoding/binary"
	"strings"

	"github.com/corewalk/corewalk/unwind/arch"
)

// For a 32-bit process, a 64-bit writer records the registers of 64-bit code: the layer
// that makes the system calls (wow64cpu.dll). The 32-bit registers are in memory: the
// second thread-local slot of the 64-bit TEB points to a WOW64_CPURESERVED, which consists
// of flags and machine (2 bytes each) and an x86 CONTEXT.
const (
	teb64TLSSlots  = 0x1480
	wow64CPUSlot   = 1
	wow64ContextAt = 4
)

// WOW64 reports whether the dump is of a 32-bit process on 64-bit Windows and has the
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

// WOW64Context returns the CONTEXT record of the thread's 32-bit side, or nil if the dump
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
	rec := make([]byte, contextX86.Get().size)
	n := f.Memory.Read(at+wow64ContextAt, rec)
	if n < contextX86.Get().need {
		return nil
	}
	return rec[:n]
}

// code32 is the segment selector of 32-bit code (KGDT64_R3_CMCODE).
const code32 = 0x23

// WOW64Registers returns the registers of the thread's 32-bit side. If the thread was
// running 32-bit code, as it does when that crashes, they are the lower halves of its
// 64-bit registers; otherwise they are those that the wow64cpu layer saved.
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

// halves are the amd64 registers whose lower halves 32-bit code uses.
var halves = [...]struct{ wide, narrow arch.Reg }{
	{arch.RAX, arch.EAX}, {arch.RCX, arch.ECX}, {arch.RDX, arch.EDX}, {arch.RBX, arch.EBX}, {arch.RSP, arch.ESP}, {arch.RBP, arch.EBP},
	{arch.RSI, arch.ESI}, {arch.RDI, arch.EDI}, {arch.RIP, arch.EIP}, {arch.EFLAGS, arch.X86EFLAGS}, {arch.CS, arch.X86CS}, {arch.SS, arch.X86SS},
	{arch.DS, arch.X86DS}, {arch.ES, arch.X86ES}, {arch.FS, arch.X86FS}, {arch.GS, arch.X86GS},
}

// narrow converts a 64-bit context in 32-bit code to the context of that code.
func narrow(c Context) Context {
	out := Context{Arch: arch.X86, Flags: c.Flags, Vector: c.Vector, XState: c.XState}
	for _, h := range halves {
		if v, ok := c.Regs.Get(h.wide); ok {
			out.Regs.Set(h.narrow, v&0xffffffff)
		}
	}
	return out
}

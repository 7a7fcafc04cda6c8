package minidump

import (
	"encoding/binary"
	"strings"
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
	rec := make([]byte, contextX86.size)
	n := f.Memory.Read(at+wow64ContextAt, rec)
	if n < contextX86.need {
		return nil
	}
	return rec[:n]
}

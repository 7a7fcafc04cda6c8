package pdb

import (
	"fmt"
	"strings"

	"github.com/corewalk/corewalk/internal/format/unwindrules"
)

// VirtualFrame computes the virtual frame pointer of 32-bit code at an RVA: the value that
// its FrameData program assigns to $T0. Without a program it is ret, the address of the
// return address. reg returns registers of the frame by name ("$ebp"), read the 32-bit word
// at an address.
func (f *File) VirtualFrame(rva, ret uint32, reg func(name string) (uint32, bool), read func(addr uint64) (uint64, error)) (uint32, error) {
	w, err := f.WinFrame(rva)
	if err != nil {
		return 0, err
	}
	const name = "$T0"
	if w == nil || !strings.Contains(w.Program, name) {
		return ret, nil
	}
	m := unwindrules.Machine{WordSize: 4, Read: read}
	for _, r := range [...]string{"$eip", "$esp", "$ebp", "$ebx", "$esi", "$edi"} {
		if v, ok := reg(r); ok {
			m.Set(r, uint64(v))
		}
	}
	for _, v := range [...]struct {
		name string
		v    uint32
	}{{".cbParams", w.Params}, {".cbSavedRegs", w.SavedRegs}, {".cbLocals", w.Locals}, {".raSearch", ret}, {".raSearchStart", ret}} {
		m.Set(v.name, uint64(v.v))
	}
	if err := m.Exec(w.Program); err != nil {
		if v, ok := m.Var(name); ok { // later instructions restore registers
			return uint32(v.Bits), nil
		}
		return 0, fmt.Errorf("frame program: %w", err)
	}
	v, ok := m.Var(name)
	if !ok {
		return 0, fmt.Errorf("frame program does not set %s: %w", name, ErrFormat)
	}
	return uint32(v.Bits), nil
}

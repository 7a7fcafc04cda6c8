package postfix

import (
	"fmt"
	"strings"
)

// A WinFrame says how code of 32-bit x86 in a range uses its frame: a STACK WIN
// record of a Breakpad symbol file, or a record of a PDB's FPO or FrameData
// stream. Addresses are relative to the module's base; sizes are in bytes.
type WinFrame struct {
	Start, Size  uint32
	Prolog       uint32
	Epilog       uint32
	Params       uint32 // of the function's parameters on the stack
	SavedRegs    uint32
	Locals       uint32
	MaxStack     uint32
	Program      string // empty: the fields above alone say it
	UsesBP       bool   // without a program: EBP is a general register, saved by the function
	FunctionHead bool   // the range begins a function (known for FrameData only)
}

// A WinCall is what is known of the frame that a WinFrame is applied to.
type WinCall struct {
	EIP, ESP, EBP, EBX uint32
	HasEBP, HasEBX     bool
	CalleeParams       uint32 // WinFrame.Params of the next younger frame, 0 for the youngest
}

// WinRegs are the registers that a program or the FPO fields say of the caller.
// A register that is not in Has is not said to be anything.
type WinRegs struct {
	EIP, ESP, EBP, EBX, ESI, EDI uint32
	Has                          WinRegSet
}

// A WinRegSet is a set of registers.
type WinRegSet uint8

// The registers of a WinRegSet.
const (
	HasEBP WinRegSet = 1 << iota
	HasEBX
	HasESI
	HasEDI
)

// FrameSize is the distance in bytes from ESP to the return address, as the
// record's fields have it.
func (w *WinFrame) FrameSize(calleeParams uint32) uint32 {
	return w.Locals + w.SavedRegs + calleeParams
}

// RaSearch is where the search for the return address begins: behind the locals
// and saved registers, or right above EBP's slot in functions that align their
// stack, whose distance from ESP no field knows.
func (w *WinFrame) RaSearch(c WinCall) uint32 {
	if c.HasEBP && strings.Contains(w.Program, "@") {
		return c.EBP + 4
	}
	return c.ESP + w.FrameSize(c.CalleeParams)
}

// Caller answers the caller's registers. read answers the 32-bit word at an
// address. Nothing is searched for: whether the EIP found is code is for the
// caller to judge.
func (w *WinFrame) Caller(c WinCall, read func(addr uint64) (uint64, error)) (WinRegs, error) {
	if w.Program == "" {
		return w.fpo(c, read)
	}
	m := Machine{WordSize: 4, Read: read}
	for _, v := range []struct {
		name string
		v    uint32
		on   bool
	}{
		{"$eip", c.EIP, true}, {"$esp", c.ESP, true}, {"$ebp", c.EBP, c.HasEBP}, {"$ebx", c.EBX, c.HasEBX},
		{".cbParams", w.Params, true}, {".cbCalleeParams", c.CalleeParams, true}, {".cbSavedRegs", w.SavedRegs, true},
		{".cbLocals", w.Locals, true},
		{".raSearch", w.RaSearch(c), true}, {".raSearchStart", w.RaSearch(c), true},
	} {
		if v.on {
			m.Set(v.name, uint64(v.v))
		}
	}
	if err := m.Exec(w.Program); err != nil {
		return WinRegs{}, err
	}
	return results(&m)
}

func results(m *Machine) (WinRegs, error) {
	var r WinRegs
	eip, ok := m.Var("$eip")
	esp, ok2 := m.Var("$esp")
	if !ok || !ok2 {
		return r, fmt.Errorf("the program removes $eip or $esp: %w", ErrUndefined)
	}
	r.EIP, r.ESP = uint32(eip), uint32(esp)
	for _, x := range []struct {
		name string
		to   *uint32
		bit  WinRegSet
	}{{"$ebp", &r.EBP, HasEBP}, {"$ebx", &r.EBX, HasEBX}, {"$esi", &r.ESI, HasESI}, {"$edi", &r.EDI, HasEDI}} {
		if v, ok := m.Var(x.name); ok {
			*x.to = uint32(v)
			r.Has |= x.bit
		}
	}
	return r, nil
}

// fpo is the reading of records without a program: the return address lies
// above locals, saved registers and the callee's parameters.
func (w *WinFrame) fpo(c WinCall, read func(addr uint64) (uint64, error)) (WinRegs, error) {
	at := c.ESP + w.FrameSize(c.CalleeParams)
	eip, err := read(uint64(at))
	if err != nil {
		return WinRegs{}, fmt.Errorf("return address at %#x: %w: %w", at, ErrMemory, err)
	}
	r := WinRegs{EIP: uint32(eip), ESP: at + 4, EBP: c.EBP, EBX: c.EBX}
	if c.HasEBX {
		r.Has |= HasEBX
	}
	if !w.UsesBP {
		if c.HasEBP {
			r.Has |= HasEBP
		}
		return r, nil
	}
	slot := c.ESP + c.CalleeParams + w.SavedRegs - 8
	if ebp, err := read(uint64(slot)); err == nil {
		r.EBP = uint32(ebp)
		r.Has |= HasEBP
	}
	return r, nil
}

package unwindrules

import (
	"fmt"
	"strings"
)

// A WinFrame says how 32-bit x86 code in a range uses its frame: a STACK WIN record of a
// Breakpad symbol file, or a record of a PDB's FPO or FrameData stream. Addresses are
// relative to the module's base; sizes are in bytes.
type WinFrame struct {
	Start, Size  uint32
	Prolog       uint32
	Epilog       uint32
	Params       uint32 // of the function's parameters on the stack
	SavedRegs    uint32
	Locals       uint32
	MaxStack     uint32
	Program      string // "" means that the fields above are sufficient
	UsesBP       bool   // no program: EBP is used as a general register and was saved by the function
	FunctionHead bool   // the range begins a function (FrameData only)
}

// A WinCall is what is known about the frame to which a WinFrame is applied.
type WinCall struct {
	EIP, ESP           uint32
	EBP, EBX, ESI, EDI uint32    // valid if in Has
	Has                WinRegSet // of EBP, EBX, ESI and EDI
	CalleeParams       uint32    // WinFrame.Params of the next younger frame, 0 for the youngest
	// RaAt is where the return address was found; 0 means where the record says.
	RaAt uint32
}

// WinRegs are the caller's registers. EBP, EBX, ESI and EDI are unknown if not in Has.
type WinRegs struct {
	EIP, ESP           Value
	EBP, EBX, ESI, EDI Value
	Has                WinRegSet
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

// FrameSize is the distance in bytes from ESP to the return address, according to the
// record's fields.
func (w *WinFrame) FrameSize(calleeParams uint32) uint32 {
	return w.Locals + w.SavedRegs + calleeParams
}

// Searches reports whether the return address is at RaSearch, or must be searched for from
// there on, because it is not found through EBP.
func (w *WinFrame) Searches() bool {
	return w.Program == "" || strings.Contains(w.Program, ".raSearch")
}

// RaSearch is where the search for the return address begins: after the locals and saved
// registers, or, in functions that align their stack (where no field has the distance from
// ESP), right above EBP's slot.
func (w *WinFrame) RaSearch(c WinCall) uint32 {
	if c.RaAt != 0 {
		return c.RaAt
	}
	if c.Has&HasEBP != 0 && strings.Contains(w.Program, "@") {
		return c.EBP + 4
	}
	return c.ESP + w.FrameSize(c.CalleeParams)
}

// Caller returns the caller's registers. m must have words of 4 bytes and read the
// process's memory; its variables are lost. Caller does not search: the caller of this
// method must judge whether the EIP found is code.
func (w *WinFrame) Caller(c WinCall, m *Machine) (WinRegs, error) {
	if w.Program == "" {
		return w.fpo(c, m.Read)
	}
	m.Reset()
	m.SetReg("$eip", uint64(c.EIP))
	m.SetReg("$esp", uint64(c.ESP))
	for i, v := range [...]uint32{c.EBP, c.EBX, c.ESI, c.EDI} {
		if c.Has&(1<<i) != 0 {
			m.SetReg(winRegNames[i], uint64(v))
		}
	}
	for _, v := range [...]struct {
		name string
		v    uint32
	}{
		{".cbParams", w.Params}, {".cbCalleeParams", c.CalleeParams}, {".cbSavedRegs", w.SavedRegs},
		{".cbLocals", w.Locals}, {".raSearch", w.RaSearch(c)}, {".raSearchStart", w.RaSearch(c)},
	} {
		m.Set(v.name, uint64(v.v))
	}
	if err := m.Exec(w.Program); err != nil {
		return WinRegs{}, err
	}
	return w.results(m)
}

// winRegNames are the variables for the registers of a WinRegSet, in order.
var winRegNames = [...]string{"$ebp", "$ebx", "$esi", "$edi"}

func (w *WinFrame) results(m *Machine) (r WinRegs, err error) {
	var ok, ok2 bool
	r.EIP, ok = m.Var("$eip")
	r.ESP, ok2 = m.Var("$esp")
	if !ok || !ok2 {
		return WinRegs{}, fmt.Errorf("program removes $eip or $esp: %w", ErrUndefined)
	}
	restored := uint32(0)
	for i, to := range [...]*Value{&r.EBP, &r.EBX, &r.ESI, &r.EDI} {
		if v, ok := m.Var(winRegNames[i]); ok {
			*to = v
			r.Has |= 1 << i
			if v.From == FromMemory {
				restored += 4
			}
		}
	}
	if restored < w.SavedRegs {
		r.forgetKept()
	}
	return r, nil
}

// forgetKept forgets registers for which neither program nor fields say whether and where
// the function saved them. Compilers describe EBP.
func (r *WinRegs) forgetKept() {
	for i, v := range [...]*Value{&r.EBX, &r.ESI, &r.EDI} {
		if v.From == FromRegister {
			*v = Value{}
			r.Has &^= HasEBX << i
		}
	}
}

// fpo interprets records without a program: the return address lies above locals, saved
// registers and the callee's parameters.
func (w *WinFrame) fpo(c WinCall, read func(addr uint64) (uint64, error)) (WinRegs, error) {
	word := func(at uint32) (Value, error) {
		v, err := read(uint64(at))
		return Value{Bits: v, From: FromMemory, Addr: uint64(at)}, err
	}
	at := w.RaSearch(c)
	eip, err := word(at)
	if err != nil {
		return WinRegs{}, fmt.Errorf("return address at %#x: %w: %w", at, ErrMemory, err)
	}
	kept := func(name string, v uint32) Value {
		return Value{Bits: uint64(v), From: FromRegister, Reg: name}
	}
	r := WinRegs{EIP: eip, ESP: Value{Bits: uint64(at) + 4}, EBP: kept("ebp", c.EBP), EBX: kept("ebx", c.EBX),
		ESI: kept("esi", c.ESI), EDI: kept("edi", c.EDI), Has: c.Has}
	saved := w.SavedRegs
	if w.UsesBP {
		// Compilers push EBX first and EBP second.
		if r.EBP, err = word(c.ESP + c.CalleeParams + max(w.SavedRegs, 8) - 8); err == nil {
			r.Has |= HasEBP
		} else {
			r.EBP = Value{}
			r.Has &^= HasEBP
		}
		saved -= min(saved, 4)
	}
	if saved > 0 {
		r.forgetKept()
	}
	return r, nil
}

package cfi

// A Plain is a row in the form that nearly all code of compilers has: the CFA is a register and a number, and each
// register with a rule is saved in memory, at a fixed distance from the CFA.
type Plain struct {
	Base   uint64 // DWARF number of the register that the CFA is computed from
	Offset uint64 // what to add to it, modulo 2 to the 64
	RA     uint64 // distance of the return address from the CFA, likewise
	Saved  []PlainRule
}

// A PlainRule says where a register is saved.
type PlainRule struct {
	Reg    uint64 // DWARF number
	Offset uint64 // distance from the CFA, modulo 2 to the 64
}

// Plain returns the row in the plain form, without the return address among Saved; false if it has another, or if its
// addresses do not have 8 bytes.
func (r *Row) Plain() (Plain, bool) {
	i := -1
	if r.RetAddrReg <= maxRegister {
		i = r.set.find(uint16(r.RetAddrReg))
	}
	if r.Signal || r.addrSize != 8 || r.cfa.kind != Register || i < 0 || r.set.rules[i].kind != Offset {
		return Plain{}, false
	}
	p := Plain{Base: uint64(r.cfa.from), Offset: uint64(r.cfa.n), RA: uint64(r.set.rules[i].n)}
	for j, e := range r.set.rules {
		switch {
		case j == i || e.kind == Unspecified:
		case e.kind == Offset:
			p.Saved = append(p.Saved, PlainRule{uint64(e.reg), uint64(e.n)})
		default:
			return Plain{}, false
		}
	}
	return p, true
}

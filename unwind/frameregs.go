package unwind

import "github.com/corewalk/corewalk/unwind/arch"

// Registers of a frame.
//
// A stack may be a quarter of a million frames deep, so a frame stores only what differs
// from its callee: the registers that the step restored, and which of the others it left
// alone. Every checkpointEvery frames the whole set is stored, so that looking up a
// register stays cheap.

const checkpointEvery = 32

type regChange struct {
	value uint64
	addr  Address
	reg   arch.Reg
	kind  Storage
	loc   arch.Reg // the Location's register
	doubt bool     // the Location is doubtful
}

func (c *regChange) location() Location {
	return Location{Kind: c.kind, Addr: c.addr, Reg: c.loc, Doubtful: c.doubt}
}

// fullRegs is a checkpoint: every register that is known, in ascending order.
type fullRegs struct {
	valid arch.RegMask
	regs  []regChange
}

// at returns register r, which must be valid.
func (u *fullRegs) at(r arch.Reg) *regChange {
	return &u.regs[(u.valid & (arch.Mask(r) - 1)).Count()]
}

// Reg returns the value of register r in this frame and where it was found. It returns
// false if the value is unknown.
func (f *Frame) Reg(r arch.Reg) (uint64, Location, bool) {
	v, l, ok := f.reg(r)
	l.Doubtful = ok && (l.Doubtful || f.has(flagAllDoubtful))
	return v, l, ok
}

func (f *Frame) reg(r arch.Reg) (uint64, Location, bool) {
	if r == f.arch().SP && f.has(flagPlainSP) {
		return f.sp, Location{Doubtful: f.has(flagDoubtfulSP)}, true
	}
	for n := f; n != nil; n = n.prev {
		for i := range n.changes {
			if c := &n.changes[i]; c.reg == r {
				return c.value, c.location(), true
			}
		}
		if n.full != nil {
			if !n.full.valid.Has(r) {
				return 0, Location{}, false
			}
			c := n.full.at(r)
			return c.value, c.location(), true
		}
		if !n.inherit.Has(r) {
			break
		}
	}
	return 0, Location{}, false
}

// Registers returns all known registers of the frame.
func (f *Frame) Registers() arch.RegSet {
	var s arch.RegSet
	for r := range arch.Reg(f.arch().NumRegs()) {
		if v, _, ok := f.Reg(r); ok {
			s.Set(r, v)
		}
	}
	return s
}

// SetReg sets a register of the frame and where it was found. It returns false once the
// Walker has accepted the frame.
func (f *Frame) SetReg(r arch.Reg, v uint64, l Location) bool {
	if f.has(flagAccepted) || int(r) >= f.numRegs() {
		return false
	}
	switch r {
	case f.arch().PC:
		f.ra = v
		f.flags |= flagHasRA
	case f.arch().SP:
		f.sp = v
		f.flags = f.flags&^(flagPlainSP|flagDoubtfulSP) | flagHasSP
		if l == (Location{Doubtful: l.Doubtful}) {
			// SP is almost always computed: there is no change to record.
			f.flags |= flagPlainSP
			if l.Doubtful {
				f.flags |= flagDoubtfulSP
			}
			return true
		}
	case f.arch().FP:
		f.fp = v
	}
	c := regChange{value: v, addr: l.Addr, reg: r, kind: l.Kind, loc: l.Reg, doubt: l.Doubtful}
	for i := range f.changes {
		if f.changes[i].reg == r {
			f.changes[i] = c
			return true
		}
	}
	f.changes = append(f.changes, c)
	return true
}

// SetPC sets RA from a code pointer as the process stores it. Bits that are not part of the
// address are stripped (Walker.CodeAddress); the bit that selects the instruction set goes
// to the register Arch.Mode.
func (f *Frame) SetPC(raw uint64, l Location) bool {
	a := f.arch()
	if a.Mode != arch.NoReg {
		f.SetReg(a.Mode, raw&1, l)
	}
	return f.SetReg(a.PC, f.codeAddress(raw), l)
}

func (f *Frame) codeAddress(raw uint64) Address {
	if f.walker == nil {
		return f.arch().CodeAddress(raw)
	}
	return f.walker.CodeAddress(raw)
}

// CodePointer is RA as the process would store it in a code pointer: the lowest bit is set
// if the register Arch.Mode is.
func (f *Frame) CodePointer() Address {
	if a := f.arch(); a.Mode != arch.NoReg {
		if v, _, ok := f.Reg(a.Mode); ok {
			return f.ra | v&1
		}
	}
	return f.ra
}

// ForgetReg marks the register's value in this frame as unknown.
func (f *Frame) ForgetReg(r arch.Reg) bool {
	if f.has(flagAccepted) {
		return false
	}
	f.inherit &^= arch.Mask(r)
	f.dropChange(r)
	switch r {
	case f.arch().FP:
		f.fp = 0
	case f.arch().SP:
		f.flags &^= flagHasSP | flagPlainSP
	case f.arch().PC:
		f.flags &^= flagHasRA
	}
	return true
}

func (f *Frame) dropChange(r arch.Reg) {
	for i := range f.changes {
		if f.changes[i].reg == r {
			f.changes = append(f.changes[:i], f.changes[i+1:]...)
			return
		}
	}
}

// ForgetRegs marks all registers of this frame as unknown, except those set afterwards. A
// stepper that cannot tell what the callee saved must call it.
func (f *Frame) ForgetRegs() bool {
	if f.has(flagAccepted) {
		return false
	}
	f.inherit, f.changes, f.fp = 0, f.changes[:0], 0
	f.flags &^= flagHasRA | flagHasSP | flagPlainSP
	return true
}

func (f *Frame) locationOf(r arch.Reg) Location {
	_, l, _ := f.Reg(r)
	return l
}

// setLocation sets where a register was found, whether or not the register itself has been
// set.
func (f *Frame) setLocation(r arch.Reg, l Location) bool {
	v, _, _ := f.Reg(r)
	had := f.flags & (flagHasRA | flagHasSP)
	if !f.SetReg(r, v, l) {
		return false
	}
	f.flags = f.flags&^(flagHasRA|flagHasSP) | had
	if !f.has(flagHasSP) {
		f.flags &^= flagPlainSP
	}
	return true
}

// checkpoint stores the whole register set in f. It finds what Reg finds, of all registers in one pass.
func (f *Frame) checkpoint() {
	var regs [arch.MaxRegs]regChange
	var valid arch.RegMask
	left := arch.RegMask(1)<<f.numRegs() - 1 // not found so far
	keep := func(c *regChange) {
		if left.Has(c.reg) {
			regs[c.reg] = *c
			valid |= arch.Mask(c.reg)
			left &^= arch.Mask(c.reg)
		}
	}
	if f.has(flagPlainSP) {
		keep(&regChange{value: f.sp, reg: f.arch().SP, doubt: f.has(flagDoubtfulSP)})
	}
	for n := f; n != nil; n = n.prev {
		for i := range n.changes {
			keep(&n.changes[i])
		}
		if n.full != nil {
			for rest := left & n.full.valid; rest != 0; rest &= rest - 1 {
				keep(n.full.at(rest.First()))
			}
			break
		}
		left &= n.inherit
	}
	full := &fullRegs{valid: valid, regs: make([]regChange, 0, valid.Count())}
	for ; valid != 0; valid &= valid - 1 {
		full.regs = append(full.regs, regs[valid.First()])
	}
	f.full, f.changes = full, nil
}

// setAll stores a thread's registers in a frame that has none, as SetReg and checkpoint do.
func (f *Frame) setAll(regs *arch.RegSet) {
	valid := regs.Valid & (arch.RegMask(1)<<f.numRegs() - 1)
	full := &fullRegs{valid: valid, regs: make([]regChange, 0, valid.Count())}
	for ; valid != 0; valid &= valid - 1 {
		r := valid.First()
		v, _ := regs.Get(r)
		switch r {
		case f.arch().PC:
			f.ra, f.flags = v, f.flags|flagHasRA
		case f.arch().SP:
			f.sp, f.flags = v, f.flags|flagHasSP
		case f.arch().FP:
			f.fp = v
		}
		full.regs = append(full.regs, regChange{value: v, reg: r, kind: LocRegister, loc: r})
	}
	f.full = full
}

// sameRegs reports whether two frames hold the same registers.
func sameRegs(a, b *Frame) bool {
	if a.ra != b.ra || a.sp != b.sp || a.fp != b.fp {
		return false
	}
	for r := range arch.Reg(a.arch().NumRegs()) {
		va, _, oka := a.Reg(r)
		vb, _, okb := b.Reg(r)
		if oka != okb || va != vb {
			return false
		}
	}
	return true
}

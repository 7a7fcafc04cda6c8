package stackflow

import "github.com/corewalk/corewalk/unwind/arch"

// address returns the address of o's memory operand.
func (s *state) address(o *op) value {
	if o.index != arch.NoReg || o.base == absolute {
		return value{}
	}
	return s.get(o.base).plus(o.k)
}

// exec executes o on s.
func (m *machine) exec(s *state, o *op) {
	sp := m.arch.SP
	switch o.kind {
	case opNone:
		s.lose(o.mask)
	case opSet:
		s.lose(o.mask)
		s.put(o.dst, s.get(o.base).plus(o.k))
	case opConst:
		s.lose(o.mask)
		s.put(o.dst, value{kind: constant, k: o.k})
	case opAlign:
		v := m.align(s, o)
		s.lose(o.mask)
		s.put(o.dst, v)
	case opAdd, opSub:
		v := sum(s.get(o.base), s.get(o.src), o.kind == opSub)
		s.lose(o.mask)
		s.put(o.dst, v)
	case opStore:
		m.store(s, o)
	case opLoad:
		m.load(s, o)
	case opTable:
		v := s.get(o.base).plus(o.k)
		switch {
		case o.base == absolute:
			v = value{kind: constant, k: o.k}
		case v.kind != constant && o.swaps:
			v = s.get(o.index).plus(o.k)
		}
		added := s.get(o.src)
		s.lose(o.mask)
		s.put(o.dst, value{})
		if v.kind != constant {
			break
		}
		if v = (value{kind: tableEntry, k: v.k, size: o.size}); o.src != arch.NoReg {
			v = sum(v, added, false)
		}
		s.put(o.dst, v)
	case opPush:
		v := s.get(o.src)
		if int64(o.size) != m.word {
			v = value{}
		}
		m.push(s, v, int64(o.size))
	case opPop:
		m.pop(s, o)
	case opEnter:
		m.push(s, s.get(m.arch.FP), m.word)
		s.put(m.arch.FP, s.get(sp))
		s.put(sp, s.get(sp).plus(-o.k))
	case opLeave:
		fp := s.get(m.arch.FP)
		s.put(m.arch.FP, s.slotAt(fp))
		s.put(sp, fp.plus(m.word))
	case opHere:
		m.push(s, value{}, m.word)
	case opCall:
		m.call(s, o.k)
	default:
		s.lose(o.mask)
	}
}

// align returns the result of clearing low bits of o's operand.
func (m *machine) align(s *state, o *op) value {
	v := s.get(o.base)
	if neg := -o.k; neg <= 0 || neg&(neg-1) != 0 || neg > pageSize {
		return value{}
	}
	if v.kind != aligned && (v.kind != entry || v.reg != m.arch.SP) {
		return value{}
	}
	v = value{kind: aligned, id: o.num}
	s.keep(func(x *slot) bool { return !x.at.sameBase(v) }) // forget words addressed by the previous result of this alignment
	return v
}

// sum returns a+b, or a-b.
func sum(a, b value, minus bool) value {
	switch {
	case minus && b.kind == constant:
		return a.plus(-b.k)
	case minus:
		return value{}
	case b.kind == tableEntry:
		a, b = b, a
		fallthrough
	case a.kind == tableEntry && b.kind == constant:
		if a.kind == tableEntry && b.kind == constant {
			if d := b.k - a.k; d == int64(int32(d)) {
				a.kind, a.id = tableTarget, int32(d)
				return a
			}
		}
		return value{}
	case b.kind == constant:
		return a.plus(b.k)
	case a.kind == constant:
		return b.plus(a.k)
	}
	return value{}
}

// onStack reports whether v is an address in the function's frame.
func (m *machine) onStack(v value) bool {
	return v.kind == aligned || v.kind == entry && v.reg == m.arch.SP
}

// save records that the word at addr has the value v.
func (m *machine) save(s *state, addr, v value, size int64) {
	if !m.onStack(addr) {
		return
	}
	s.overwrite(addr, size, m.word)
	if v.inRows() && size >= m.word && len(s.slots) < maxSlots {
		s.save(addr, v)
	}
}

func (m *machine) push(s *state, v value, size int64) {
	sp := s.get(m.arch.SP).plus(-size)
	s.put(m.arch.SP, sp)
	m.save(s, sp, v, size)
}

func (m *machine) pop(s *state, o *op) {
	sp := s.get(m.arch.SP)
	v := s.slotAt(sp)
	switch {
	case o.k != 0:
		v = value{kind: constant, k: o.k}
	case int64(o.size) != m.word:
		v = value{}
	}
	s.lose(o.mask)
	s.put(m.arch.SP, sp.plus(int64(o.size)))
	s.put(o.dst, v)
}

func (m *machine) store(s *state, o *op) {
	addr := s.address(o)
	size := int64(o.size)
	if !m.onStack(addr) {
		s.lose(o.mask)
		if o.wb != 0 {
			s.put(o.base, s.get(o.base).plus(o.wb))
		}
		return
	}
	if o.src == arch.NoReg && o.list == 0 {
		if size = int64(o.bulk); size == 0 {
			size = m.word
		}
		m.save(s, addr, value{}, size)
	}
	if o.src != arch.NoReg {
		m.save(s, addr, s.get(o.src), size)
	}
	if o.src2 != arch.NoReg {
		m.save(s, addr.plus(size), s.get(o.src2), size)
	}
	for r := arch.Reg(0); r < arch.MaxRegs && o.list>>r != 0; r++ {
		if o.list.Has(r) {
			m.save(s, addr, s.get(r), size)
			addr = addr.plus(size)
		}
	}
	s.lose(o.mask)
	if o.wb != 0 {
		s.put(o.base, s.get(o.base).plus(o.wb))
	}
}

func (m *machine) load(s *state, o *op) {
	addr := s.address(o)
	base := s.get(o.base).plus(o.wb)
	size := int64(o.size)
	whole := size >= m.word
	var first, second value
	if whole && m.onStack(addr) {
		first, second = s.slotAt(addr), s.slotAt(addr.plus(size))
	}
	s.lose(o.mask)
	if o.wb != 0 {
		s.put(o.base, base)
	}
	if o.dst != arch.NoReg {
		s.put(o.dst, first)
	}
	if o.dst2 != arch.NoReg {
		s.put(o.dst2, second)
	}
	for r := arch.Reg(0); r < arch.MaxRegs && o.list>>r != 0; r++ {
		if o.list.Has(r) {
			s.put(r, s.slotAt(addr))
			addr = addr.plus(max(size, m.word))
		}
	}
}

// call applies the effect of a call of a function that pops pops bytes of arguments.
func (m *machine) call(s *state, pops int64) {
	s.lose(^m.kept)
	if !m.arch.StackGrowsUp {
		s.dropBelow(s.get(m.arch.SP))
	}
	if pops != 0 {
		s.put(m.arch.SP, s.get(m.arch.SP).plus(pops))
	}
}

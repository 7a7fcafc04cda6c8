package dwarf

// The functions of a unit. They are found by a pass that reads only the attributes of functions
// with code (see outline). It skips the contents of functions and types whose entries say where
// they end. Only if an address is not found does another pass read these, too, for nested
// functions and for compilers that define methods inside their class.

// The id of a function's span combines the entry's offset from the unit's start and whether
// the entry is directly below the first one, that is, outside all scopes.
func funcID(off uint64, top bool) uint64 {
	if top {
		return off<<1 | 1
	}
	return off << 1
}

// allFunctions returns the functions of the unit, also those inside others and inside types.
func (u *Unit) allFunctions() *spanIndex {
	x := &u.outline
	x.deepOnce.Do(func() {
		var spans []span
		var e Entry
		budget := 1 << 16
		for c := u.Cursor(u.entries); c.Next(&e) && c.Level() >= 0; {
			if e.Tag == TagSubprogram && c.ab != nil && c.ab.hasPC {
				budget += maxFuncRanges
				u.eachFuncSpan(&c, funcID(e.Off-u.Off, e.Depth == 1), &budget, func(s span) { spans = append(spans, s) })
			}
		}
		x.deep = newSpanIndex(spans)
	})
	return &x.deep
}

// A Func is a function with code of its own.
type Func struct {
	DIE
	// Range is the part of the function that contains the requested address. Entry is where
	// the function begins; for the cold part of a split function it is elsewhere.
	Range
	Entry uint64
	top   bool
}

// FuncAt returns the function whose code contains pc. For a skeleton unit it is an entry of
// the attached split unit.
func (u *Unit) FuncAt(pc uint64) (Func, bool) {
	if u.Type == UnitSkeleton {
		s, err := u.Split()
		if err != nil || s == nil {
			return Func{}, false
		}
		u = s
	}
	s, ok := u.functionAt(pc)
	if !ok {
		return Func{}, false
	}
	s.id &^= leftover
	f := Func{DIE: DIE{u, u.Off + s.id>>1}, Range: Range{s.low, s.high}, top: s.id&1 != 0}
	f.Entry = u.entryOf(f.Off, s.low)
	return f, true
}

// findFunction returns the span of the function with the code at pc.
func (u *Unit) findFunction(pc uint64) (span, bool) {
	s, ok := u.outline.function(u, pc)
	if !ok && u.outline.skips() {
		skip := 0
		s, ok = u.allFunctions().find(pc, &skip, &u.Data.work)
	}
	return s, ok
}

// entryOf returns where the code of the entry at off begins: DW_AT_entry_pc, or
// DW_AT_low_pc, or the first of its ranges; otherwise low.
func (u *Unit) entryOf(off, low uint64) uint64 {
	var e Entry
	var v, entry Value
	var p pcAttrs
	c := u.Cursor(off)
	if !c.Next(&e) {
		return low
	}
	for c.Attr(&v) {
		if v.Attr == AttrEntryPC {
			entry = v
		}
		p.take(&v)
	}
	return u.entryFrom(&p, &entry, low)
}

func (u *Unit) entryFrom(p *pcAttrs, entry *Value, low uint64) uint64 {
	if a, ok := u.Address(entry); ok {
		return a
	}
	if a, ok := u.Address(&p.low); ok {
		low = a
	} else if p.ranges.Present() {
		it := u.rangesOf(p, maxFuncRanges)
		if r, ok := it.next(); ok {
			low = r.Low
		}
	}
	if entry.Form.Class() == ClassConstant { // DWARF 5: an offset from the base
		return low + entry.U
	}
	return low
}

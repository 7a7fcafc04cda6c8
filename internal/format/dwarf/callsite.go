package dwarf

// Call sites (DWARF 5, 3.4): the calls that a function makes, and their targets.

// A CallSite is a DW_TAG_call_site or DW_TAG_GNU_call_site. Its parameters are children of
// the entry.
type CallSite struct {
	DIE
	// ReturnPC is the address after the call: the return address, or for a tail call the
	// address after the jump. It is 0 if not recorded.
	ReturnPC uint64
	// PC is the address of the call instruction if recorded (for tail calls, clang records
	// only this).
	PC uint64
	// Origin is the entry of the called function, which may be a declaration or an abstract
	// instance; it is not Valid for an indirect call.
	Origin DIE
	// Target is the expression that computes the callee's address in an indirect call, if
	// recorded.
	Target []byte
	// Tail says that the call is a jump: the callee returns to the caller's caller.
	Tail bool
}

// LookupPC returns an address inside the call instruction, for looking up its line.
func (s *CallSite) LookupPC() uint64 {
	if s.PC == 0 && s.ReturnPC > 0 {
		return s.ReturnPC - 1
	}
	return s.PC
}

// maxCallSites limits the call sites of one function.
const maxCallSites = 1 << 16

// CallSites appends to buf the call sites of the function at off, including those of
// inlined calls.
func (u *Unit) CallSites(off uint64, buf []CallSite) []CallSite {
	u.eachCallSite(off, func(c *Cursor, e *Entry) bool {
		s, _ := u.callSite(c, e, 0)
		buf = append(buf, s)
		return len(buf) < maxCallSites
	})
	return buf
}

// findCallSite implements CallSiteAt by reading the function's entries up to the call.
func (u *Unit) findCallSite(off, pc uint64) (site CallSite, ok bool) {
	u.eachCallSite(off, func(c *Cursor, e *Entry) bool {
		s, there := u.callSite(c, e, pc)
		if there && s.ReturnPC == pc && !s.Tail {
			site, ok = s, true
		}
		return !ok
	})
	return site, ok
}

// eachCallSite calls yield for the entries of a function's call sites until yield returns false. It
// skips functions nested in it, which have their own call sites.
func (u *Unit) eachCallSite(off uint64, yield func(*Cursor, *Entry) bool) {
	var e Entry
	c := u.Cursor(off)
	if !c.Next(&e) {
		return
	}
	for c.Level() > 0 && c.Next(&e) {
		switch e.Tag {
		case 0, TagInlinedSubroutine, TagLexicalBlock, TagTryBlock, TagCatchBlock, TagWithStmt:
		case TagCallSite, TagGNUCallSite:
			if !yield(&c, &e) {
				return
			}
			c.SkipChildren()
		default:
			c.SkipChildren()
		}
	}
}

// callSite reads the call site at c. If to is not 0, it stops, and returns false, where the site turns out to return to
// another address.
func (u *Unit) callSite(c *Cursor, e *Entry, to uint64) (s CallSite, ok bool) {
	s.DIE = DIE{u, e.Off}
	var v Value
	for c.Attr(&v) {
		switch v.Attr {
		case AttrCallReturnPC, AttrLowPC: // AttrLowPC in the GNU form
			if s.ReturnPC, _ = u.Address(&v); to != 0 && s.ReturnPC != to {
				return s, false
			}
		case AttrCallPC:
			s.PC, _ = u.Address(&v)
		case AttrCallOrigin, AttrAbstractOrigin:
			s.Origin, _ = u.Ref(&v)
		case AttrCallTarget, AttrGNUCallSiteTarget, AttrCallTargetClobber, AttrGNUCallSiteTargetCl:
			s.Target = v.B
		case AttrCallTailCall, AttrGNUTailCall:
			s.Tail = v.Flag()
		}
	}
	return s, true
}

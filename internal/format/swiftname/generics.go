package swiftname

// param reads a parameter of a generic declaration.
func (m *machine) param() *node {
	n := m.make(kParam, "")
	if n == nil {
		return nil
	}
	switch {
	case m.nextIs('d'):
		n.depth = m.number() + 1
		n.index = m.number()
		if n.depth == 0 {
			return nil
		}
	case m.nextIs('z'):
	case m.nextIs('s'):
		n.text = "Self"
	default:
		if n.index = m.number() + 1; n.index == 0 {
			return nil
		}
	}
	if n.index < 0 {
		return nil
	}
	return n
}

// signature reads how many parameters a generic declaration has, and takes what is asked of them from the stack.
func (m *machine) signature(counted bool) *node {
	n := m.make(kSignature, "")
	if n == nil {
		return nil
	}
	if counted {
		for !m.nextIs('l') {
			count := 0
			if !m.nextIs('z') {
				if count = m.number() + 1; count == 0 {
					return nil
				}
			}
			if n.ints = append(n.ints, count); len(n.ints) > maxDepth {
				return nil
			}
		}
	} else {
		n.ints = append(n.ints, 1)
	}
	for r := m.pop(isRequirement); r != nil; r = m.pop(isRequirement) {
		n.kids = append(n.kids, r)
	}
	return n
}

// requirement reads what is asked of a parameter; of it only packs and values are shown.
func (m *machine) requirement() *node {
	const (
		generic = iota
		associated
		compound
		substituted
	)
	of, what := generic, byte('p')
	switch c := m.next(); c {
	case 'v', 'V', 'b', 's', 'l', 'h', 'i':
		what = c
	case 'c', 't', 'm', 'p', 'j':
		of, what = associated, c
	case 'C', 'T', 'M', 'P', 'J':
		of, what = compound, c+'a'-'A'
	case 'B', 'S', 'L', 'Q', 'I':
		of, what = substituted, c
	default:
		m.pos--
	}
	switch what { // the same in other places
	case 'Q':
		what = 'p'
	case 'c', 'B', 't', 'S':
		what = 's' // a type is taken
	case 'b':
		what = 's'
	case 'm', 'L':
		what = 'l'
	case 'j', 'I':
		what = 'i'
	}
	if what == 'i' && m.number() < 0 {
		return nil
	}
	var t *node
	switch of {
	case generic:
		t = m.param()
	case associated:
		t = m.referable(m.member(m.param()))
	case compound:
		t = m.referable(m.members(m.param()))
	case substituted:
		t = m.popType()
	}
	if t == nil {
		return nil
	}
	switch what {
	case 'v':
		return m.make(kPack, "", t)
	case 'V':
		return m.make(kValueParm, "", t, m.popType())
	case 'p':
		return m.make(kRequirement, "", t, m.popProtocol())
	case 's', 'h':
		return m.make(kRequirement, "", t, m.popType())
	case 'l':
		switch m.next() {
		case 'U', 'R', 'N', 'C', 'D', 'T', 'B', 'S':
		case 'E', 'M': // size and alignment
			if m.number() < 0 {
				return nil
			}
			fallthrough
		case 'e', 'm':
			if m.number() < 0 {
				return nil
			}
		default:
			return nil
		}
	}
	return m.make(kRequirement, "", t)
}

func (m *machine) assocName() *node {
	protocol := m.pop(func(k kind) bool { return k == kProtocol })
	name := m.popKind(kIdent)
	return m.make(kAssocName, "", name, orNone(protocol))
}

// member is an associated type of a type, which lies on the stack if base is nil.
func (m *machine) member(base *node) *node {
	name := m.assocName()
	if base == nil {
		base = m.popType()
	}
	return m.make(kMember, "", base, name)
}

func (m *machine) members(base *node) *node {
	names, ok := m.list(m.assocName)
	if !ok {
		return nil
	}
	if base == nil {
		base = m.popType()
	}
	for _, name := range names {
		base = m.make(kMember, "", base, name)
	}
	return base
}

func (m *machine) archetype() *node {
	switch m.next() {
	case 'a':
		name := m.make(kAssocName, "", m.popKind(kIdent), &none)
		return m.referable(m.make(kMember, "", m.popType(), name))
	case 'x':
		return m.referable(m.member(nil))
	case 'X':
		return m.referable(m.members(nil))
	case 'y':
		if p := m.param(); p != nil {
			return m.referable(m.member(p))
		}
	case 'Y':
		if p := m.param(); p != nil {
			return m.referable(m.members(p))
		}
	case 'z':
		return m.referable(m.member(m.make(kParam, "")))
	case 'Z':
		return m.referable(m.members(m.make(kParam, "")))
	case 'r', 'u':
		return m.make(kSomeType, "")
	case 'R', 'U':
		if m.number() >= 0 {
			return m.make(kSomeType, "")
		}
	case 'O':
		return m.make(kOpaqueOf, "", m.popContext())
	case 'o':
		if m.number() < 0 {
			return nil
		}
		m.retroactive()
		for {
			for m.popType() != nil {
			}
			if m.popKind(kEmptyList) != nil {
				break
			}
			if m.popKind(kFirst) == nil {
				return nil
			}
		}
		return m.referable(m.make(kOpaque, "", m.pop(func(k kind) bool { return k == kOpaqueOf })))
	case 'p':
		count := m.popType()
		return m.make(kPackExpansion, "", m.popType(), count)
	case 'e':
		if m.number() >= 0 {
			return m.make(kPackElement, "", m.popType())
		}
	case 'P':
		return m.listOf(kPackType, "", m.popType)
	case 'S':
		c := m.next()
		if c == 'd' || c == 'i' {
			return m.listOf(kPackType, "", m.popType)
		}
	}
	return nil
}

// existential reads "any P & Q".
func (m *machine) existential() *node { return m.listOf(kExistential, "", m.popProtocol) }

package swiftname

import "strconv"

func isClass(n *node) bool { return n != nil && n.kind == kClass }

// thunk reads functions that lead to others, and specializations.
func (m *machine) thunk() *node {
	attribute := func(text string) *node { return m.make(kAttribute, text) }
	switch c := m.next(); c {
	case 'c':
		return m.prefix("curry thunk of ", m.popEntity())
	case 'j':
		return m.prefix("dispatch thunk of ", m.popEntity())
	case 'q':
		return m.prefix("method descriptor for ", m.popEntity())
	case 'o':
		return attribute("@objc ")
	case 'O':
		return attribute("@nonobjc ")
	case 'D':
		return attribute("dynamic ")
	case 'd':
		return attribute("super ")
	case 'E', 'F', 'm', 'X', 'x', 'I':
		return attribute("") // thunks that lead to the function itself
	case 'a', 'A':
		return m.make(kPartialApply, "partial apply")
	case 'Y', 'Q':
		if m.number() < 0 {
			return nil
		}
		return attribute("")
	case 'u':
		return attribute("async function pointer to ")
	case 'w':
		switch m.next() {
		case 'b', 'B':
			return attribute("")
		case 'S':
			return attribute("#_hasSymbol query for ")
		case 'c':
			return attribute("coro function pointer to ")
		case 'd':
			return attribute("default override of ")
		}
	case 'U':
		return m.make(kAttribute, "reabstraction thunk for global actor ", m.popType())
	case 'C':
		return m.prefix("coroutine continuation prototype for ", m.popType())
	case 'z', 'Z':
		m.number()
		m.popKind(kSignature)
		result := m.popType()
		return m.make(kJoined, "@objc completion handler block implementation for | with result type ", m.popType(), result)
	case 'V':
		base := m.popEntity()
		return m.make(kJoined, "vtable thunk for | dispatching to ", base, m.popEntity())
	case 'W':
		entity := m.popEntity()
		return m.make(kWitness, "", m.popConformanceOf(), entity)
	case 'S':
		return m.prefix("protocol self-conformance witness for ", m.popEntity())
	case 'R', 'r', 'y':
		m.popKind(kSignature)
		if c == 'y' && m.popType() == nil {
			return nil
		}
		to := m.popType()
		from := m.popType()
		if from == nil {
			return nil
		}
		_ = to
		return m.prefix("thunk for ", from)
	case 'g', 'G', 'B', 's', 'i':
		return m.specialized(true)
	case 't':
		for {
			if c := m.peek(); c >= '0' && c <= '9' {
				m.natural()
			}
			if !m.nextIs('t') {
				break
			}
		}
		switch m.next() {
		case 'g', 'G', 'B':
			return m.specialized(true)
		}
	case 'J':
		return m.derivative()
	case 'p', 'P':
		n := m.specialized(false)
		if m.popType() == nil {
			return nil
		}
		return n
	case 'f':
		return m.specializedArgs()
	case 'K', 'k':
		return m.keyPath(c)
	case 'H', 'h':
		return m.keyPathIndex(c)
	case 'l':
		return m.prefix("associated type descriptor for ", m.assocName())
	case 'L':
		return m.prefix("protocol requirements base descriptor for ", m.popProtocol())
	case 'M':
		return m.prefix("default associated type metadata accessor for ", m.assocName())
	case 'n', 'N':
		requirement := m.popProtocol()
		of := m.pathOrType()
		text := "associated conformance descriptor for |.|: "
		if c == 'N' {
			text = "default associated conformance accessor for |.|: "
		}
		return m.make(kJoined, text, m.popType(), of, requirement)
	case 'b':
		requirement := m.popProtocol()
		return m.make(kJoined, "base conformance descriptor for |: ", m.popType(), requirement)
	case 'v':
		i := m.number()
		if i < 0 {
			return nil
		}
		text := "outlined variable #"
		if m.nextIs('r') {
			text = "outlined read-only object #"
		}
		return attribute(text + strconv.Itoa(i) + " of ")
	case 'e':
		from := m.pos
		for m.pos < len(m.text) && m.text[m.pos] != '_' {
			m.pos++
		}
		text := m.text[from:m.pos]
		if m.next() != '_' || len(text) > 64 {
			return nil
		}
		return attribute("outlined bridged method (" + text + ") of ")
	}
	return nil
}

func (m *machine) pathOrType() *node {
	if len(m.stack) > 0 && isType(m.stack[len(m.stack)-1].kind) && m.stack[len(m.stack)-1].kind != kProtocol {
		return m.popType()
	}
	return m.assocPath()
}

// derivative reads functions that the compiler derives for differentiable ones.
func (m *machine) derivative() *node {
	if m.nextIs('O') {
		switch m.next() {
		case 'f', 'r', 'd', 'p':
			m.popKind(kSignature)
			m.popType()
			return m.prefix("autodiff self-reordering reabstraction thunk for ", m.popType())
		}
		return nil
	}
	text := ""
	switch m.next() {
	case 'f':
		text = "forward-mode derivative of "
	case 'r':
		text = "reverse-mode derivative of "
	case 'd':
		text = "differential of "
	case 'p':
		text = "pullback of "
	default:
		return nil
	}
	for _, end := range []byte("pr") {
		for m.nextIs('S') || m.nextIs('U') {
		}
		if m.next() != end {
			return nil
		}
	}
	m.popKind(kSignature)
	return m.make(kAttribute, text)
}

// specialized reads that the function is one for certain types; the types are a list on the stack.
func (m *machine) specialized(types bool) *node {
	m.nextIs('m')
	m.nextIs('q')
	m.nextIs('a')
	m.nextIs('r')
	if c := m.next(); c < '0' || c > '9' {
		return nil
	}
	if types {
		if _, ok := m.list(m.popType); !ok {
			return nil
		}
	}
	return m.make(kSpecialized, "")
}

// specializedArgs reads that the function is one for certain arguments.
func (m *machine) specializedArgs() *node {
	n := m.specialized(false)
	if n == nil {
		return nil
	}
	// Those that have a text, and perhaps types, take them from the stack, the last first.
	var texts []bool // whether there may be types
	arg := func() bool {
		switch m.next() {
		case 'n', 'i', 's', 'r':
		case 'c', 'E':
			texts = append(texts, true)
		case 'C':
			return m.natural() >= 0
		case 'p':
			return m.constant(&texts)
		case 'e', 'd', 'g', 'x', 'o', 'O':
			for m.nextIs('D') || m.nextIs('G') || m.nextIs('O') || m.nextIs('X') {
			}
		default:
			return false
		}
		return len(texts) < maxRepeat
	}
	for !m.nextIs('_') {
		if !arg() {
			return nil
		}
	}
	if !m.nextIs('n') && !arg() {
		return nil
	}
	for i := len(texts) - 1; i >= 0; i-- {
		for texts[i] && m.popType() != nil {
		}
		if m.popKind(kIdent) == nil {
			return nil
		}
	}
	return n
}

func (m *machine) constant(texts *[]bool) bool {
	switch m.next() {
	case 'f', 'g':
		*texts = append(*texts, false)
	case 'i', 'd':
		return m.natural() >= 0
	case 's':
		switch m.next() {
		case 'b', 'w', 'c':
			*texts = append(*texts, false)
		default:
			return false
		}
	case 'k':
		*texts = append(*texts, true)
	default:
		return false
	}
	return true
}

// keyPath reads functions that a key path's part is made of.
func (m *machine) keyPath(c byte) *node {
	text := "key path getter for | : "
	if c == 'k' {
		text = "key path setter for | : "
		switch {
		case m.nextIs('m') && m.nextIs('u'):
			text = "key path unapplied method | : "
		case m.nextIs('M') && m.nextIs('A'):
			text = "key path applied method | : "
		}
	}
	m.nextIs('q')
	var types []*node
	for t := m.popType(); t != nil; t = m.popType() {
		types = append(types, t)
	}
	n := m.popAny()
	if n == nil || len(types) == 0 {
		return nil
	}
	if n.kind == kSignature {
		n = m.popAny()
	}
	if n == nil || !isEntity(n.kind) {
		return nil
	}
	if len(types) > 1 {
		text += "|, "
	}
	list := []*node{n}
	for i := range types {
		list = append(list, types[len(types)-1-i])
	}
	return m.make(kJoined, text, list[:min(3, len(list))]...)
}

func (m *machine) keyPathIndex(c byte) *node {
	m.nextIs('q')
	m.popKind(kSignature)
	var types []*node
	for t := m.popType(); t != nil; t = m.popType() {
		types = append([]*node{t}, types...)
	}
	if len(types) == 0 {
		return nil
	}
	text := "key path index equality operator for "
	if c == 'h' {
		text = "key path index hash operator for "
	}
	return m.prefix(text, m.make(kWords, ", ", types...))
}

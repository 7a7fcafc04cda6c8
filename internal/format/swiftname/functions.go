package swiftname

// function reads a function: name, labels, results and parameters, signature.
func (m *machine) function() *node {
	sig := m.popKind(kSignature)
	t := m.funcType("")
	labels := m.labels(t)
	name := m.pop(isName)
	ctx := m.popContext()
	if t == nil {
		return nil
	}
	if sig != nil {
		t = m.make(kGeneric, "", sig, t)
	}
	return m.make(kFunc, "", ctx, name, orNone(labels), t)
}

// funcType reads a type of function; text is its convention.
func (m *machine) funcType(text string) *node {
	note := ""
	throws, sendable, async := (*node)(nil), false, false
	for more := true; more; {
		n := m.pop(func(k kind) bool { return k >= kThrows && k <= kFuncOther })
		switch {
		case n == nil:
			more = false
		case n.kind == kAsync:
			async = true
		case n.kind == kSendable:
			sendable = true
		case n.kind == kFuncOther && n.text != "sending":
			note = n.text + " " + note
			if len(n.kids) == 1 {
				note = n.text
			}
		case n.kind == kThrows || n.kind == kTypedThrows:
			throws = n
		}
	}
	if sendable {
		note += "@Sendable "
	}
	params := m.popKind(kEmptyList)
	if params != nil {
		params = m.make(kTuple, "")
	} else {
		params = m.popType()
	}
	result := m.popKind(kEmptyList)
	if result != nil {
		result = m.make(kTuple, "")
	} else {
		result = m.popType()
	}
	n := m.make(kFuncType, text+note, params, result)
	if n == nil {
		return nil
	}
	if async {
		n.index = 1
	}
	if throws != nil {
		n.kids = append(n.kids, throws)
	}
	return n
}

// labels takes the labels of a function's parameters from the stack.
func (m *machine) labels(t *node) *node {
	if m.popKind(kEmptyList) != nil {
		return m.make(kLabels, "")
	}
	if t != nil && t.kind == kGeneric {
		t = t.kid(1)
	}
	if t == nil || t.kind != kFuncType {
		return nil
	}
	params := t.kid(0)
	n := 1
	if params.kind == kTuple {
		n = len(params.kids)
	}
	if n == 0 {
		return nil
	}
	list, named := make([]*node, n), false
	for i := range list {
		l := m.pop(func(k kind) bool { return k == kIdent || k == kFirst })
		if l == nil {
			return nil
		}
		list[n-1-i] = l
		named = named || l.kind == kIdent
	}
	if !named {
		return m.make(kLabels, "")
	}
	return m.make(kLabels, "", list...)
}

// list takes a list whose first part is marked from the stack; one returns a part, which takes itself from there.
func (m *machine) list(one func() *node) ([]*node, bool) {
	if m.popKind(kEmptyList) != nil {
		return nil, true
	}
	var list []*node
	for {
		first := m.popKind(kFirst) != nil
		n := one()
		if n == nil {
			return nil, false
		}
		list = append(list, n)
		if first {
			break
		}
	}
	for i, j := 0, len(list)-1; i < j; i, j = i+1, j-1 {
		list[i], list[j] = list[j], list[i]
	}
	return list, true
}

func (m *machine) listOf(k kind, text string, one func() *node) *node {
	list, ok := m.list(one)
	if !ok {
		return nil
	}
	return m.make(k, text, list...)
}

func (m *machine) tuple() *node {
	return m.listOf(kTuple, "", func() *node {
		variadic := m.popKind(kVariadic) != nil
		name := m.popKind(kIdent)
		n := m.make(kElement, "", orNone(name), m.popType())
		if n != nil && variadic {
			n.text = "..."
		}
		return n
	})
}

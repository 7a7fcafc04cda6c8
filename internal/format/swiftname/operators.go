package swiftname

import "strconv"

// operator reads the next operator and what it takes from the stack.
func (m *machine) operator() *node {
	switch c := m.next(); c {
	case 'A':
		return m.multiple()
	case 'B':
		return m.builtin()
	case 'C':
		return m.nominal(kClass)
	case 'D':
		return m.prefix("", m.popType())
	case 'E':
		sig := m.popKind(kSignature)
		module := m.popModule()
		t := m.pop(func(k kind) bool { return isNominal(k) || k == kBound })
		return m.make(kExtension, "", t, module, orNone(sig))
	case 'F':
		return m.function()
	case 'G':
		return m.bound()
	case 'H':
		return m.conformance()
	case 'I':
		return m.implFunc()
	case 'K':
		return m.make(kThrows, "")
	case 'L':
		return m.local()
	case 'M':
		return m.metadata()
	case 'N':
		return m.prefix("type metadata for ", m.popType())
	case 'O':
		return m.nominal(kEnum)
	case 'P':
		return m.nominal(kProtocol)
	case 'Q':
		return m.archetype()
	case 'R':
		return m.requirement()
	case 'S':
		return m.standard()
	case 'T':
		return m.thunk()
	case 'V':
		return m.nominal(kStruct)
	case 'W':
		return m.witness()
	case 'X':
		return m.special()
	case 'Y':
		return m.annotation()
	case 'Z':
		return m.make(kStatic, "", m.pop(isEntity))
	case 'a':
		return m.nominal(kAlias)
	case 'c':
		return m.funcType("")
	case 'd':
		return m.make(kVariadic, "")
	case 'f':
		return m.functionEntity()
	case 'g':
		i := m.number()
		if i < 0 {
			return nil
		}
		return m.make(kRetroactive, "", m.popConformance())
	case 'h':
		return m.make(kSpecifier, "__shared ", m.popType())
	case 'i':
		m.popKind(kPrivate)
		t := m.popType()
		labels := m.labels(t)
		ctx := m.popContext()
		if t == nil {
			return nil
		}
		return m.accessor(m.make(kSub, "", ctx, orNone(labels), t))
	case 'l':
		return m.signature(false)
	case 'm':
		return m.make(kMetatype, "", m.popType())
	case 'n':
		return m.make(kSpecifier, "__owned ", m.popType())
	case 'o':
		return m.operatorName()
	case 'p':
		return m.existential()
	case 'q':
		return m.param()
	case 'r':
		return m.signature(true)
	case 's':
		return m.make(kModule, "Swift")
	case 't':
		return m.tuple()
	case 'u':
		sig := m.popKind(kSignature)
		return m.make(kGeneric, "", sig, m.popType())
	case 'v':
		t := m.popType()
		labels := m.labels(t)
		name := m.pop(isName)
		ctx := m.popContext()
		if t == nil {
			return nil
		}
		return m.accessor(m.make(kVar, "", ctx, name, orNone(labels), t))
	case 'w':
		return m.valueWitness()
	case 'x':
		return m.make(kParam, "")
	case 'y':
		return m.make(kEmptyList, "")
	case 'z':
		return m.make(kSpecifier, "inout ", m.popType())
	case '_':
		return m.make(kFirst, "")
	case '.':
		m.pos = len(m.text)
		return m.make(kSuffix, "")
	case '$':
		negative := m.nextIs('n')
		n := m.number()
		if n < 0 {
			return nil
		}
		s := strconv.Itoa(n)
		if negative {
			s = "-" + s
		}
		return m.make(kInteger, s)
	}
	m.pos--
	return m.identifier()
}

var none = node{kind: kNone}

// orNone is a part that may be missing.
func orNone(n *node) *node {
	if n == nil {
		return &none
	}
	return n
}

// prefix is a whole symbol: words before a part.
func (m *machine) prefix(text string, n *node) *node { return m.make(kPrefix, text, n) }

func (m *machine) popModule() *node {
	if n := m.popKind(kIdent); n != nil {
		return m.make(kModule, n.text)
	}
	return m.popKind(kModule)
}

func (m *machine) popContext() *node {
	if n := m.popModule(); n != nil {
		return n
	}
	return m.pop(isContext)
}

func (m *machine) popProtocol() *node {
	if n := m.pop(func(k kind) bool { return k == kProtocol || k == kOtherType }); n != nil {
		return n
	}
	name := m.pop(isName)
	if name == nil {
		return nil
	}
	return m.make(kProtocol, "", m.popContext(), name)
}

func (m *machine) nominal(k kind) *node {
	name := m.pop(isName)
	if name == nil {
		return nil
	}
	return m.referable(m.make(k, "", m.popContext(), name))
}

// local reads names that are known in a file, a function or through another declaration alone.
func (m *machine) local() *node {
	switch c := m.peek(); {
	case c == 'L':
		m.pos++
		m.popKind(kIdent) // which file
		return m.make(kPrivate, "", m.pop(isName))
	case c == 'l':
		m.pos++
		if m.popKind(kIdent) == nil {
			return nil
		}
		return m.make(kPrivate, "")
	case c >= 'a' && c <= 'j' || c >= 'A' && c <= 'J':
		m.pos++
		return m.make(kRelated, string(c), m.pop(isName))
	}
	i := m.number()
	name := m.pop(isName)
	if i < 0 || name == nil {
		return nil
	}
	n := m.make(kLocal, "", name)
	if n != nil {
		n.index = i
	}
	return n
}

func (m *machine) operatorName() *node {
	id := m.popKind(kIdent)
	if id == nil {
		return nil
	}
	const letters = "& @/= >    <*!|+?%-~   ^ ."
	out := make([]byte, 0, len(id.text))
	for i := range len(id.text) {
		c := id.text[i]
		if c < 0x80 {
			if c < 'a' || c > 'z' || letters[c-'a'] == ' ' {
				return nil
			}
			c = letters[c-'a']
		}
		out = append(out, c)
	}
	switch m.next() {
	case 'i':
		return m.make(kOperator, string(out)+" infix")
	case 'p':
		return m.make(kOperator, string(out)+" prefix")
	case 'P':
		return m.make(kOperator, string(out)+" postfix")
	}
	return nil
}

// bound reads a generic type with its arguments: one list for it and for each type around it.
func (m *machine) bound() *node {
	m.retroactive()
	var lists [][]*node
	for {
		var list []*node
		for t := m.popType(); t != nil; t = m.popType() {
			list = append([]*node{t}, list...)
		}
		lists = append(lists, list)
		if m.popKind(kEmptyList) != nil {
			break
		}
		if m.popKind(kFirst) == nil {
			return nil
		}
	}
	return m.referable(m.bind(m.pop(isNominal), lists))
}

// bind gives a type and those around it their arguments.
func (m *machine) bind(n *node, lists [][]*node) *node {
	if n == nil || len(n.kids) == 0 || !isContext(n.kind) {
		return nil
	}
	var args []*node
	takes := n.kind != kVar && n.kind != kSub && n.kind != kIn && n.kind != kOf && n.kind != kStatic && n.kind != kAccessor
	if takes {
		args, lists = lists[0], lists[1:]
	}
	if len(lists) > 0 {
		outer := n.kids[0]
		var parent *node
		switch {
		case outer.kind == kModule:
			return nil
		case outer.kind == kExtension:
			parent = m.make(kExtension, "", m.bind(outer.kids[0], lists), outer.kids[1], outer.kids[2])
		default:
			parent = m.bind(outer, lists)
		}
		if parent == nil {
			return nil
		}
		same := m.make(n.kind, n.text, append([]*node{parent}, n.kids[1:]...)...)
		if same == nil {
			return nil
		}
		same.index = n.index
		n = same
	}
	if len(args) == 0 {
		return n
	}
	return m.make(kBound, "", append([]*node{n}, args...)...)
}

func (m *machine) retroactive() {
	for m.popKind(kRetroactive) != nil {
	}
}

// standard reads the names of the standard library that have two letters.
func (m *machine) standard() *node {
	switch m.peek() {
	case 'o':
		m.pos++
		return m.make(kModule, "__C")
	case 'C':
		m.pos++
		return m.make(kModule, "__C_Synthesized")
	case 'g':
		m.pos++
		optional := m.make(kEnum, "", m.make(kModule, "Swift"), m.make(kIdent, "Optional"))
		return m.referable(m.make(kBound, "", optional, m.popType()))
	}
	repeat := m.natural()
	if repeat > maxRepeat {
		return nil
	}
	k, name := kNone, ""
	if m.nextIs('c') {
		k, name = second(m.next())
	} else {
		k, name = first(m.next())
	}
	if k == kNone {
		return nil
	}
	n := m.make(k, "", m.make(kModule, "Swift"), m.make(kIdent, name))
	for ; n != nil && repeat > 1; repeat-- {
		m.push(n)
	}
	return n
}

func (m *machine) builtin() *node {
	name := ""
	switch c := m.next(); c {
	case 'A':
		name = "ImplicitActor"
	case 'b':
		name = "BridgeObject"
	case 'B':
		name = "UnsafeValueBuffer"
	case 'c':
		name = "RawUnsafeContinuation"
	case 'D':
		name = "DefaultActorStorage"
	case 'd':
		name = "NonDefaultDistributedActorStorage"
	case 'e':
		name = "Executor"
	case 'I':
		name = "IntLiteral"
	case 'j':
		name = "Job"
	case 'O':
		name = "UnknownObject"
	case 'o':
		name = "NativeObject"
	case 'p':
		name = "RawPointer"
	case 'P':
		name = "PackIndex"
	case 't':
		name = "SILToken"
	case 'w':
		name = "Word"
	case 'f', 'i':
		n := m.number()
		if n <= 0 {
			return nil
		}
		name = "Int" + strconv.Itoa(n-1)
		if c == 'f' {
			name = "FPIEEE" + strconv.Itoa(n-1)
		}
	case 'v':
		n := m.number()
		of := m.popKind(kBuiltin)
		if n <= 0 || of == nil || len(of.text) > 64 {
			return nil
		}
		name = "Vec" + strconv.Itoa(n-1) + "x" + of.text[len("Builtin."):]
	case 'V':
		element := m.popType()
		return m.make(kFixedArray, "", m.popType(), element)
	default:
		return nil
	}
	return m.make(kBuiltin, "Builtin."+name)
}

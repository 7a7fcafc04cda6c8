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

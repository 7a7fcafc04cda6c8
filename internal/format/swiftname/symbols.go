package swiftname

import "strconv"

func (m *machine) popNominal() *node {
	return m.pop(func(k kind) bool { return isNominal(k) || k == kBound })
}

func (m *machine) popEntity() *node { return m.pop(isEntity) }

func (m *machine) popAny() *node { return m.pop(nil) }

// metadata reads what the compiler makes for a type.
func (m *machine) metadata() *node {
	c := m.next()
	if c == 'X' {
		switch m.next() {
		case 'M':
			return m.prefix("module descriptor ", m.popModule())
		case 'E':
			return m.prefix("extension descriptor ", m.popContext())
		case 'X':
			return m.prefix("anonymous descriptor ", m.popContext())
		case 'Y':
			m.popKind(kIdent)
			return m.prefix("anonymous descriptor ", m.popContext())
		}
		return nil
	}
	of, text := metadataOf(c)
	var n *node
	switch of {
	case 't':
		n = m.popType()
	case 'c':
		n = m.popConformanceOf()
	case 'n':
		n = m.popNominal()
	case 'p':
		n = m.popProtocol()
	case 'e':
		n = m.popEntity()
	case 'a':
		n = m.popAny()
	}
	return m.prefix(text, n)
}

// metadataOf returns what a letter says, and of what: a type, a nominal type, a conformance, a protocol, an entity, anything.
func metadataOf(c byte) (of byte, text string) {
	switch c {
	case 'a':
		return 't', "type metadata accessor for "
	case 'A':
		return 'c', "reflection metadata associated type descriptor "
	case 'b':
		return 't', "canonical specialized generic type metadata accessor for "
	case 'B':
		return 't', "reflection metadata builtin descriptor "
	case 'c':
		return 'c', "protocol conformance descriptor for "
	case 'C':
		return 'n', "reflection metadata superclass descriptor "
	case 'D':
		return 't', "demangling cache variable for type metadata for "
	case 'f':
		return 't', "full type metadata for "
	case 'F':
		return 't', "reflection metadata field descriptor "
	case 'g':
		return 'a', "opaque type descriptor accessor for "
	case 'h':
		return 'a', "opaque type descriptor accessor impl for "
	case 'i':
		return 't', "type metadata instantiation function for "
	case 'I':
		return 't', "type metadata instantiation cache for "
	case 'j':
		return 'a', "opaque type descriptor accessor key for "
	case 'J':
		return 't', "cache variable for noncanonical specialized generic type metadata for "
	case 'k':
		return 'a', "opaque type descriptor accessor var for "
	case 'K':
		return 'a', "metadata instantiation cache for "
	case 'l':
		return 't', "type metadata singleton initialization cache for "
	case 'L':
		return 't', "lazy cache variable for type metadata for "
	case 'm':
		return 't', "metaclass for "
	case 'M':
		return 't', "canonical specialized generic metaclass for "
	case 'n':
		return 't', "nominal type descriptor for "
	case 'N':
		return 't', "noncanonical specialized generic type metadata for "
	case 'o':
		return 't', "class metadata base offset for "
	case 'p':
		return 'p', "protocol descriptor for "
	case 'P':
		return 't', "generic type metadata pattern for "
	case 'q':
		return 'a', ""
	case 'Q':
		return 'a', "opaque type descriptor for "
	case 'r':
		return 't', "type metadata completion function for "
	case 's':
		return 't', "ObjC resilient class stub for "
	case 'S':
		return 'p', "protocol self-conformance descriptor for "
	case 't':
		return 't', "full ObjC resilient class stub for "
	case 'u':
		return 't', "method lookup function for "
	case 'U':
		return 't', "ObjC metadata update function for "
	case 'V':
		return 'e', "property descriptor for "
	case 'z':
		return 't', "flag for loading of canonical specialized generic type metadata for "
	}
	return 0, ""
}

// popConformanceOf takes a type's conformance to a protocol from the stack.
func (m *machine) popConformanceOf() *node {
	sig := m.popKind(kSignature)
	m.popModule()
	protocol := m.popProtocol()
	t := m.popType()
	if t == nil {
		m.popKind(kIdent)
		t = m.popType()
	}
	return m.make(kConformance, "", t, protocol, orNone(sig))
}

// outlined has what code that was moved out of functions does with a value.
func outlined(c byte) string {
	switch c {
	case 'y':
		return "copy"
	case 'e':
		return "consume"
	case 'r':
		return "retain"
	case 's':
		return "release"
	case 'b', 'B':
		return "init with take"
	case 'c', 'C':
		return "init with copy"
	case 'd', 'D':
		return "assign with take"
	case 'f', 'F':
		return "assign with copy"
	case 'h', 'H':
		return "destroy"
	case 'i':
		return "enum tag store"
	case 'g':
		return "enum get tag"
	case 'j':
		return "enum project data for load"
	}
	return ""
}

// witness reads tables of protocols, offsets of fields, and code that was moved out.
func (m *machine) witness() *node {
	switch m.next() {
	case 'C':
		return m.prefix("enum case for ", m.popEntity())
	case 'V':
		return m.prefix("value witness table for ", m.popType())
	case 'v':
		switch m.next() {
		case 'd':
			return m.prefix("direct field offset for ", m.popEntity())
		case 'i':
			return m.prefix("indirect field offset for ", m.popEntity())
		}
	case 'S':
		return m.prefix("protocol self-conformance witness table for ", m.popProtocol())
	case 'P':
		return m.prefix("protocol witness table for ", m.popConformanceOf())
	case 'p':
		return m.prefix("protocol witness table pattern for ", m.popConformanceOf())
	case 'G':
		return m.prefix("generic protocol witness table for ", m.popConformanceOf())
	case 'I':
		return m.prefix("instantiation function for generic protocol witness table for ", m.popConformanceOf())
	case 'r':
		return m.prefix("resilient protocol witness table for ", m.popConformanceOf())
	case 'l':
		c := m.popConformanceOf()
		return m.make(kJoined, "lazy protocol witness table accessor for type | and conformance ", m.popType(), c)
	case 'L':
		c := m.popConformanceOf()
		return m.make(kJoined, "lazy protocol witness table cache variable for type | and conformance ", m.popType(), c)
	case 'a':
		return m.prefix("protocol witness table accessor for ", m.popConformanceOf())
	case 't':
		name := m.pop(isName)
		c := m.popConformanceOf()
		return m.make(kJoined, "associated type metadata accessor for | in ", name, c)
	case 'T':
		protocol := m.popType()
		of := m.assocPath()
		return m.make(kJoined, "associated type witness table accessor for | : | in ", of, protocol, m.popConformanceOf())
	case 'b':
		protocol := m.popType()
		return m.make(kJoined, "base witness table accessor for | in ", protocol, m.popConformanceOf())
	case 'O':
		c := m.next()
		what := outlined(c)
		if what == "" || (c == 'i' || c == 'j') && m.number() < 0 {
			return nil
		}
		m.popKind(kSignature)
		t := m.popType()
		m.popKind(kSignature)
		return m.prefix("outlined "+what+" of ", t)
	case 'Z', 'z':
		token := m.text[m.pos-1] == 'z'
		var names []*node
		for m.popKind(kFirst) != nil {
			name := m.pop(isName)
			if name == nil {
				return nil
			}
			names = append([]*node{name}, names...)
		}
		if len(names) == 0 {
			return nil
		}
		text := "one-time initialization function for "
		if token {
			text = "one-time initialization token for "
		}
		return m.make(kOnce, text, append([]*node{orNone(m.popContext())}, names...)...)
	}
	return nil
}

func (m *machine) assocPath() *node {
	names, ok := m.list(m.assocName)
	if !ok {
		return nil
	}
	return m.make(kWords, ".", names...)
}

func (m *machine) valueWitness() *node {
	if m.pos+2 > len(m.text) {
		return nil
	}
	code := m.text[m.pos : m.pos+2]
	m.pos += 2
	what := ""
	switch code {
	case "al":
		what = "allocateBuffer"
	case "ca":
		what = "assignWithCopy"
	case "ta":
		what = "assignWithTake"
	case "de":
		what = "deallocateBuffer"
	case "xx":
		what = "destroy"
	case "XX":
		what = "destroyBuffer"
	case "Xx":
		what = "destroyArray"
	case "CP":
		what = "initializeBufferWithCopyOfBuffer"
	case "Cp":
		what = "initializeBufferWithCopy"
	case "cp":
		what = "initializeWithCopy"
	case "TK":
		what = "initializeBufferWithTakeOfBuffer"
	case "Tk":
		what = "initializeBufferWithTake"
	case "tk":
		what = "initializeWithTake"
	case "pr":
		what = "projectBuffer"
	case "xs":
		what = "storeExtraInhabitant"
	case "xg":
		what = "getExtraInhabitantIndex"
	case "Cc":
		what = "initializeArrayWithCopy"
	case "Tt":
		what = "initializeArrayWithTakeFrontToBack"
	case "tT":
		what = "initializeArrayWithTakeBackToFront"
	case "ug":
		what = "getEnumTag"
	case "up":
		what = "destructiveProjectEnumData"
	case "ui":
		what = "destructiveInjectEnumTag"
	case "et":
		what = "getEnumTagSinglePayload"
	case "st":
		what = "storeEnumTagSinglePayload"
	default:
		return nil
	}
	return m.prefix(what+" for ", m.popType())
}

// accessor reads which of its functions a variable's or subscript's is.
func (m *machine) accessor(of *node) *node {
	text := ""
	switch c := m.next(); c {
	case 'p':
		return of
	case 'm':
		text = "materializeForSet"
	case 's':
		text = "setter"
	case 'g', 'G':
		text = "getter"
	case 'w':
		text = "willset"
	case 'W':
		text = "didset"
	case 'r':
		text = "read"
	case 'M':
		text = "modify"
	case 'i':
		text = "init"
	case 'x':
		text = "modify2"
	case 'y':
		text = "read2"
	case 'b':
		text = "borrow"
	case 'z':
		text = "mutate"
	case 'a', 'l':
		d := m.next()
		switch {
		case c == 'a' && d == 'O':
			text = "owningMutableAddressor"
		case c == 'a' && d == 'o':
			text = "nativeOwningMutableAddressor"
		case c == 'a' && d == 'p':
			text = "nativePinningMutableAddressor"
		case c == 'a' && d == 'u':
			text = "unsafeMutableAddressor"
		case d == 'O':
			text = "owningAddressor"
		case d == 'o':
			text = "nativeOwningAddressor"
		case d == 'p':
			text = "nativePinningAddressor"
		case d == 'u':
			text = "unsafeAddressor"
		}
	}
	if text == "" {
		return nil
	}
	return m.make(kAccessor, text, of)
}

// functionEntity reads functions that have no name of their own.
func (m *machine) functionEntity() *node {
	plain := func(text string) *node { return m.make(kPlain, text, m.popContext()) }
	of := func(text string) *node { return m.make(kOf, text, m.popContext()) }
	switch c := m.next(); c {
	case 'D':
		n := plain("deinit")
		if n != nil && isClass(n.kids[0]) {
			n.text = "__deallocating_deinit"
		}
		return n
	case 'd':
		return plain("deinit")
	case 'Z':
		return plain("__isolated_deallocating_deinit")
	case 'E':
		return plain("__ivar_destroyer")
	case 'e':
		return plain("__ivar_initializer")
	case 'i':
		return of("variable initialization expression")
	case 'P':
		return of("property wrapper backing initializer")
	case 'W':
		return of("property wrapper init from projected value")
	case 'F':
		return of("property wrapped field init accessor")
	case 'C', 'c':
		m.popKind(kPrivate)
		t := m.popType()
		labels := m.labels(t)
		ctx := m.popContext()
		if t == nil || ctx == nil {
			return nil
		}
		text := "init"
		if c == 'C' && isClass(ctx) {
			text = "__allocating_init"
		}
		return m.make(kInit, text, ctx, orNone(labels), t)
	case 'U', 'u':
		i := m.number()
		t := m.popType()
		if i < 0 || t == nil {
			return nil
		}
		text := "closure #" + strconv.Itoa(i+1)
		if c == 'u' {
			text = "implicit " + text
		}
		return m.make(kIn, text, m.popContext())
	case 'A':
		if i := m.number(); i >= 0 {
			return of("default argument " + strconv.Itoa(i))
		}
	case 'a':
		return m.make(kOf, "runtime attribute generator", m.popContext())
	case 'm':
		t := m.popType()
		labels := m.labels(t)
		name := m.pop(isName)
		return m.make(kFunc, "", m.popContext(), name, orNone(labels), orNone(t))
	case 'p':
		t := m.popType()
		name := m.pop(isName)
		return m.make(kParameterDecl, "", m.popContext(), name, orNone(t))
	case 'M':
		return m.macro()
	}
	return nil
}

// macro reads code that a macro made.
func (m *machine) macro() *node {
	what, attached := "", true
	switch m.next() {
	case 'a':
		what = "accessor macro"
	case 'r':
		what = "member attribute macro"
	case 'f':
		what, attached = "freestanding macro", false
	case 'm':
		what = "member macro"
	case 'p':
		what = "peer macro"
	case 'c':
		what = "conformance macro"
	case 'e':
		what = "extension macro"
	case 'q':
		what = "preamble macro"
	case 'b':
		what = "body macro"
	case 'u':
		what, attached = "unique name", false
	default:
		return nil
	}
	name := m.popKind(kIdent)
	i := m.number()
	if name == nil || i < 0 {
		return nil
	}
	if attached {
		if m.pop(isName) == nil {
			return nil
		}
		what += " @" + name.text
	} else if what != "unique name" {
		what += " " + name.text
	}
	m.popKind(kPrivate)
	return m.make(kIn, what+" expansion #"+strconv.Itoa(i+1), m.popContext())
}

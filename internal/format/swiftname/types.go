package swiftname

// conformance reads how a type conforms to a protocol, and records of the runtime.
func (m *machine) conformance() *node {
	switch m.next() {
	case 'A':
		if m.number() < 0 {
			return nil
		}
		m.popProtocol()
		m.popType()
		return m.make(kAnyConformance, "", m.popConformance())
	case 'C':
		if _, ok := m.list(m.popConformance); !ok {
			return nil
		}
		if m.popKind(kConformanceRef) == nil {
			m.popModule()
			if m.popProtocol() == nil {
				return nil
			}
		}
		return m.make(kAnyConformance, "", m.popType())
	case 'D':
		if m.number() < 0 || m.popProtocol() == nil {
			return nil
		}
		return m.make(kAnyConformance, "", m.popType())
	case 'I':
		if m.number() < 0 || m.popProtocol() == nil {
			return nil
		}
		return m.make(kAnyConformance, "", m.popConformance())
	case 'O':
		if m.popType() == nil {
			return nil
		}
		return m.make(kAnyConformance, "", m.popConformance())
	case 'P', 'p':
		return m.make(kConformanceRef, "", m.popProtocol())
	case 'X':
		return m.listOf(kAnyConformance, "", m.popConformance)
	case 'c':
		return m.prefix("protocol conformance descriptor runtime record for ", m.popConformanceOf())
	case 'n':
		return m.prefix("nominal type descriptor runtime record for ", m.popType())
	case 'o':
		return m.prefix("opaque type descriptor runtime record for ", m.popAny())
	case 'r':
		return m.prefix("protocol descriptor runtime record for ", m.popProtocol())
	case 'F':
		return m.make(kAttribute, "accessible function runtime record for ")
	}
	return nil
}

func (m *machine) popConformance() *node { return m.popKind(kAnyConformance) }

// special reads types that are less common.
func (m *machine) special() *node {
	switch c := m.next(); c {
	case 'E':
		return m.funcType("")
	case 'A':
		return m.funcType("@autoclosure ")
	case 'f':
		return m.funcType("@convention(thin) ")
	case 'K':
		return m.funcType("@autoclosure ")
	case 'U':
		return m.funcType("")
	case 'L':
		return m.funcType("@escaping @convention(block) ")
	case 'B':
		return m.funcType("@convention(block) ")
	case 'C':
		return m.funcType("@convention(c) ")
	case 'z':
		text := "@convention(c) "
		if m.next() == 'B' {
			text = "@convention(block) "
		}
		n := m.natural()
		if n <= 0 || n > len(m.text)-m.pos {
			return nil
		}
		m.pos += n
		return m.funcType(text)
	case 'o':
		return m.make(kSpecifier, "unowned ", m.popType())
	case 'u':
		return m.make(kSpecifier, "unowned(unsafe) ", m.popType())
	case 'w':
		return m.make(kSpecifier, "weak ", m.popType())
	case 'b':
		return m.make(kSpecifier, "@box ", m.popType())
	case 'D':
		return m.make(kDynamicSelf, "", m.popType())
	case 'M', 'm':
		text := ""
		switch m.next() {
		case 't':
			text = "@thin "
		case 'T':
			text = "@thick "
		case 'o':
			text = "@objc_metatype "
		default:
			return nil
		}
		if c == 'm' {
			return m.make(kMetatypeOfAny, text, m.popType())
		}
		return m.make(kMetatype, text, m.popType())
	case 'p':
		return m.make(kMetatypeOfAny, "", m.popType())
	case 'c':
		class := m.popType()
		return m.make(kClassAnd, "", class, m.existential())
	case 'l':
		n := m.existential()
		if n != nil {
			n.text = "AnyObject"
		}
		return n
	case 'P':
		// Requirements, the first of which is marked.
		for {
			first := m.popKind(kFirst) != nil
			if m.pop(isRequirement) == nil {
				return nil
			}
			if first {
				break
			}
		}
		return m.make(kConstrained, "", m.popType())
	case 'X', 'x':
		if c == 'X' {
			m.popKind(kSignature)
			if _, ok := m.list(m.popType); !ok {
				return nil
			}
		}
		return m.listOf(kBoxType, "", m.popType)
	case 'Y':
		return m.nominal(kOtherType)
	case 'Z':
		if _, ok := m.list(m.popType); !ok || m.popKind(kIdent) == nil {
			return nil
		}
		return m.make(kAnonymous, "", m.popContext())
	case 'e':
		return m.make(kErrorType, "")
	case 'S':
		switch m.next() {
		case 'q':
			return m.make(kSugarOptional, "", m.popType())
		case 'a':
			return m.make(kSugarArray, "", m.popType())
		case 'D':
			value := m.popType()
			return m.make(kSugarDict, "", m.popType(), value)
		case 'p':
			return m.popType()
		}
	}
	return nil
}

// annotation reads what is said of functions and their parameters.
func (m *machine) annotation() *node {
	switch m.next() {
	case 'a':
		return m.make(kAsync, "")
	case 'A':
		return m.make(kFuncOther, "@isolated(any)")
	case 'b':
		return m.make(kSendable, "")
	case 'c':
		return m.make(kFuncOther, "", m.popType())
	case 'C':
		return m.make(kFuncOther, "nonisolated(nonsending)")
	case 'i':
		return m.make(kSpecifier, "isolated ", m.popType())
	case 'j':
		switch m.next() {
		case 'f':
			return m.make(kFuncOther, "@differentiable(_forward)")
		case 'r':
			return m.make(kFuncOther, "@differentiable(reverse)")
		case 'l':
			return m.make(kFuncOther, "@differentiable(_linear)")
		case 'd':
			return m.make(kFuncOther, "@differentiable")
		}
	case 'k':
		return m.make(kSpecifier, "@noDerivative ", m.popType())
	case 'K':
		return m.make(kTypedThrows, "", m.popType())
	case 't':
		return m.make(kSpecifier, "_const ", m.popType())
	case 'T':
		return m.make(kFuncOther, "sending")
	case 'u':
		return m.make(kSpecifier, "sending ", m.popType())
	}
	return nil
}

// implFunc reads the type of a function as the compiler sees it, with what becomes of each argument.
func (m *machine) implFunc() *node {
	if m.nextIs('s') || m.peek() == 'I' {
		return m.implSubstituted()
	}
	m.popKind(kSignature)
	return m.implRest()
}

// implSubstituted reads those whose types are given for the parameters of a pattern, which are written instead of them.
func (m *machine) implSubstituted() *node {
	lists := 0
	if m.text[m.pos-1] == 's' {
		lists++
	}
	if m.nextIs('I') {
		lists++
	}
	for range lists {
		m.retroactive()
		for m.popType() != nil {
		}
		if m.popKind(kEmptyList) == nil {
			return nil
		}
		m.popKind(kSignature)
	}
	return m.implRest()
}

func (m *machine) implRest() *node {
	m.nextIs('P')
	text := ""
	if m.nextIs('e') {
		text = "@escaping "
	}
	if m.nextIs('A') {
		text += "@isolated(any) "
	}
	switch m.peek() {
	case 'd':
		m.pos++
		text += "@differentiable "
	case 'l':
		m.pos++
		text += "@differentiable(_linear) "
	case 'f':
		m.pos++
		text += "@differentiable(_forward) "
	case 'r':
		m.pos++
		text += "@differentiable(reverse) "
	}
	switch m.next() {
	case 'y':
		text += "@callee_unowned "
	case 'g':
		text += "@callee_guaranteed "
	case 'x':
		text += "@callee_owned "
	case 't':
		text += "@convention(thin) "
	default:
		return nil
	}
	switch m.peek() {
	case 'B':
		m.pos++
		text += "@convention(block) "
	case 'C':
		m.pos++
		text += "@convention(c) "
	case 'M':
		m.pos++
		text += "@convention(method) "
	case 'J':
		m.pos++
		text += "@convention(objc_method) "
	case 'K':
		m.pos++
		text += "@convention(closure) "
	case 'W':
		m.pos++
		text += "@convention(witness_method) "
	case 'z':
		m.pos++
		if c := m.next(); c != 'B' && c != 'C' {
			return nil
		} else if c == 'B' {
			text += "@convention(block) "
		} else {
			text += "@convention(c) "
		}
		n := m.natural()
		if n <= 0 || n > len(m.text)-m.pos {
			return nil
		}
		m.pos += n
	}
	switch {
	case m.nextIs('A'):
		text += "@yield_once "
	case m.nextIs('I'):
		text += "@yield_once_2 "
	case m.nextIs('G'):
		text += "@yield_many "
	}
	if m.nextIs('h') {
		text += "@Sendable "
	}
	if m.nextIs('H') {
		text += "@async "
	}
	if m.nextIs('T') {
		text += "sending "
	}
	var parts []*node
	add := func(k kind, text string) bool {
		n := m.make(k, text)
		parts = append(parts, n)
		return n != nil && len(parts) < maxRepeat
	}
	for {
		conv := paramConvention(m.peek())
		if conv == "" {
			break
		}
		m.pos++
		if m.nextIs('w') {
			conv += " @noDerivative"
		}
		if m.nextIs('T') {
			conv += " sending"
		}
		if m.nextIs('I') {
			conv += " isolated"
		}
		if m.nextIs('L') {
			conv += " @sil_implicit_leading_param"
		}
		if !add(kImplParam, conv) {
			return nil
		}
	}
	for {
		conv := resultConvention(m.peek())
		if conv == "" {
			break
		}
		m.pos++
		if m.nextIs('w') {
			conv += " @noDerivative"
		}
		if !add(kImplResult, conv) {
			return nil
		}
	}
	for m.nextIs('Y') {
		conv := paramConvention(m.next())
		if conv == "" || !add(kImplResult, "@yields "+conv) {
			return nil
		}
	}
	if m.nextIs('z') {
		conv := resultConvention(m.next())
		if conv == "" || !add(kImplResult, "@error "+conv) {
			return nil
		}
		m.nextIs('w')
	}
	if !m.nextIs('_') {
		return nil
	}
	for i := len(parts) - 1; i >= 0; i-- {
		t := m.popType()
		if t == nil {
			return nil
		}
		parts[i].kids = []*node{t}
	}
	return m.make(kImplFunc, text, parts...)
}

func paramConvention(c byte) string {
	switch c {
	case 'i':
		return "@in"
	case 'c':
		return "@in_constant"
	case 'l':
		return "@inout"
	case 'b':
		return "@inout_aliasable"
	case 'n':
		return "@in_guaranteed"
	case 'X':
		return "@in_cxx"
	case 'x':
		return "@owned"
	case 'g':
		return "@guaranteed"
	case 'e':
		return "@deallocating"
	case 'y':
		return "@unowned"
	case 'v':
		return "@pack_owned"
	case 'p':
		return "@pack_guaranteed"
	case 'm':
		return "@pack_inout"
	}
	return ""
}

func resultConvention(c byte) string {
	switch c {
	case 'r':
		return "@out"
	case 'o':
		return "@owned"
	case 'd':
		return "@unowned"
	case 'u':
		return "@unowned_inner_pointer"
	case 'a':
		return "@autoreleased"
	case 'k':
		return "@pack_out"
	}
	return ""
}

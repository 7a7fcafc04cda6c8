package v8

import (
	"strconv"
	"strings"
)

// What the size of an object follows from, besides its map.
type sizeRule uint8

const (
	sizeOfMap    sizeRule = iota // nothing
	sizeElements                 // a count of words
	sizeWords                    // a count of words, perhaps with others between; or something that is not known
	sizeBytes                    // a count of bytes
	sizeOneByte                  // a string's length
	sizeTwoByte
	sizeCapacity // of a list, which has its length, too
	sizeProps    // a count with a hash
	sizeEntries  // a count of entries of three words
	sizeFree     // a count of bytes, with the head
	sizeDigits   // of a BigInt
	sizeCode     // what the Code says
	sizeNext     // nothing that is known: up to where the next object begins
	sizeFeedback // a count of slots, up to there
)

// Which words of an object are references that keep something alive.
type refRule uint8

const (
	refsAll refRule = iota
	refsNone
	refsHead  // those before what is no reference
	refsWeak  // all but one
	refsTable // of a table by objects that it does not keep: none; what it has for an object, that object keeps
)

// Groups of what is no object of the program, as DevTools shows them.
const (
	groupSystem = "(system)"
	groupArray  = "(array)"
	groupString = "(string)"
	groupCode   = "(compiled code)"
	groupShape  = "(object shape)"
)

// A jsMap is what the map of objects says of them.
type jsMap struct {
	at    uint64
	typ   uint16
	size  uint64 // 0 if that varies
	rule  sizeRule
	refs  refRule
	head  uint64 // bytes: of refsHead the references, of refsWeak where the weak one is, of sizeBytes what is before the bytes
	more  uint64 // of refsWeak another
	group string
	names map[uint64]string // of references, by offset; nil until they are asked for
}

const (
	maxMaps      = 1 << 22
	ephemeronsAt = 16 + 8*3 // before it are counts
	weakTarget   = 24       // of a WeakRef
	cellTarget   = 16       // of a WeakCell, and its token
	bigNative    = 120      // variables: so many has only a NativeContext
)

// heapTypes are numbers of types, by what is known of their objects.
type heapTypes struct {
	rules                                              map[uint16]jsMap
	weakRef, weakCell, weakMap, weakSet, global, proxy uint16
	free, buffer, bound, propertyCell                  uint16
	bufferData                                         uint64
}

// readHeapTypes reads what V8 has of types. Those that a version does not have, have no objects.
func (e *engine) readHeapTypes(v *variables) (t heapTypes, missing string) {
	t.rules = map[uint16]jsMap{}
	opt := func(name string) uint16 {
		x, _ := v.get("type_" + name + "_TYPE")
		return uint16(x)
	}
	rule := func(m jsMap, names ...string) {
		for _, n := range names {
			if x := opt(n); x != 0 {
				t.rules[x] = m
			}
		}
	}
	rule(jsMap{rule: sizeElements, group: groupArray}, "FixedArray__FIXED_ARRAY", "TrustedFixedArray__TRUSTED_FIXED_ARRAY", "ProtectedFixedArray__PROTECTED_FIXED_ARRAY")
	rule(jsMap{rule: sizeElements, refs: refsNone, group: groupArray}, "FixedDoubleArray__FIXED_DOUBLE_ARRAY")
	rule(jsMap{rule: sizeBytes, refs: refsNone, head: 16, group: groupArray}, "ByteArray__BYTE_ARRAY")
	rule(jsMap{rule: sizeBytes, refs: refsNone, head: 16, group: groupCode}, "TrustedByteArray__TRUSTED_BYTE_ARRAY")
	rule(jsMap{rule: sizeWords, group: groupSystem}, "EmbedderDataArray__EMBEDDER_DATA_ARRAY")
	rule(jsMap{rule: sizeWords, group: groupCode}, "WeakFixedArray__WEAK_FIXED_ARRAY", "TrustedWeakFixedArray__TRUSTED_WEAK_FIXED_ARRAY",
		"ProtectedWeakFixedArray__PROTECTED_WEAK_FIXED_ARRAY")
	rule(jsMap{rule: sizeCapacity, group: groupSystem}, "WeakArrayList__WEAK_ARRAY_LIST")
	rule(jsMap{rule: sizeProps, group: groupSystem}, "PropertyArray__PROPERTY_ARRAY")
	rule(jsMap{rule: sizeEntries, group: groupShape}, "DescriptorArray__DESCRIPTOR_ARRAY", "StrongDescriptorArray__STRONG_DESCRIPTOR_ARRAY")
	rule(jsMap{rule: sizeFree, refs: refsNone, head: 1}, "FreeSpace__FREE_SPACE")
	rule(jsMap{rule: sizeNext, group: groupCode}, "ScopeInfo__SCOPE_INFO")
	rule(jsMap{rule: sizeNext, refs: refsNone, group: groupCode}, "PreparseData__PREPARSE_DATA")
	rule(jsMap{rule: sizeFeedback, group: groupCode}, "FeedbackVector__FEEDBACK_VECTOR")
	rule(jsMap{rule: sizeNext, group: groupSystem}, "SmallOrderedHashMap__SMALL_ORDERED_HASH_MAP", "SmallOrderedHashSet__SMALL_ORDERED_HASH_SET",
		"SmallOrderedNameDictionary__SMALL_ORDERED_NAME_DICTIONARY", "SwissNameDictionary__SWISS_NAME_DICTIONARY", "CoverageInfo__COVERAGE_INFO")
	rule(jsMap{group: groupCode}, "AllocationSite__ALLOCATION_SITE", "ArrayBoilerplateDescription__ARRAY_BOILERPLATE_DESCRIPTION", "FeedbackCell__FEEDBACK_CELL",
		"InterpreterData__INTERPRETER_DATA", "RegExpBoilerplateDescription__REG_EXP_BOILERPLATE_DESCRIPTION", "TemplateObjectDescription__TEMPLATE_OBJECT_DESCRIPTION",
		"UncompiledDataWithPreparseDataAndJob__UNCOMPILED_DATA_WITH_PREPARSE_DATA_AND_JOB", "UncompiledDataWithPreparseData__UNCOMPILED_DATA_WITH_PREPARSE_DATA",
		"UncompiledDataWithoutPreparseDataWithJob__UNCOMPILED_DATA_WITHOUT_PREPARSE_DATA_WITH_JOB",
		"UncompiledDataWithoutPreparseData__UNCOMPILED_DATA_WITHOUT_PREPARSE_DATA",
		"Script__SCRIPT", "SharedFunctionInfo__SHARED_FUNCTION_INFO")
	rule(jsMap{rule: sizeWords, group: groupCode}, "ClosureFeedbackCellArray__CLOSURE_FEEDBACK_CELL_ARRAY", "ObjectBoilerplateDescription__OBJECT_BOILERPLATE_DESCRIPTION")
	if e.atLeast(13) {
		rule(jsMap{group: groupCode}, "BytecodeWrapper__BYTECODE_WRAPPER", "CodeWrapper__CODE_WRAPPER")
	}
	rule(jsMap{group: groupShape}, "Map__MAP", "PrototypeInfo__PROTOTYPE_INFO", "EnumCache__ENUM_CACHE")
	rule(jsMap{refs: refsNone, group: "(number)"}, "HeapNumber__HEAP_NUMBER")
	t.rules[uint16(e.bigIntType)] = jsMap{rule: sizeDigits, refs: refsNone, group: "(bigint)"}
	t.rules[e.types.symbol] = jsMap{group: "(symbol)"}
	t.rules[e.types.bytecode] = jsMap{rule: sizeBytes, refs: refsHead, head: e.bytecodeData, group: groupCode}
	t.rules[e.types.code] = jsMap{group: groupCode}
	t.rules[e.types.stream] = jsMap{rule: sizeCode, refs: refsHead, head: e.header, group: groupCode}
	t.weakRef, t.weakCell = opt("JSWeakRef__JS_WEAK_REF"), opt("WeakCell__WEAK_CELL")
	t.weakMap, t.weakSet = opt("JSWeakMap__JS_WEAK_MAP"), opt("JSWeakSet__JS_WEAK_SET")
	t.global, t.proxy = v.typ("JSGlobalObject", "JS_GLOBAL_OBJECT"), opt("JSGlobalProxy__JS_GLOBAL_PROXY")
	t.free, t.buffer, t.bound = opt("FreeSpace__FREE_SPACE"), v.typ("JSArrayBuffer", "JS_ARRAY_BUFFER"), opt("JSBoundFunction__JS_BOUND_FUNCTION")
	t.propertyCell = v.typ("PropertyCell", "PROPERTY_CELL")
	t.bufferData = v.need("class_JSArrayBuffer__backing_store__uintptr_t")
	return t, v.missing
}

// atLeast reports whether V8 is of a major version or a later one.
func (e *engine) atLeast(major int) bool {
	n, _, _ := strings.Cut(e.version, ".")
	v, _ := strconv.Atoi(n)
	return v >= major
}

// A mapCache has maps that were just looked at.
type mapCache [1 << 12]struct {
	word uint64
	m    *jsMap
}

// mapOf is the map to which the first word of an object leads; nil if it leads to none.
func (h *jsHeap) mapOf(word uint64) *jsMap {
	if word&3 != 1 || word < firstAddress || word >= behindAddress {
		return nil
	}
	c := &h.cache[word>>3%uint64(len(h.cache))]
	if c.word == word {
		return c.m
	}
	m, ok := h.maps[word]
	if !ok {
		if len(h.maps) >= maxMaps || h.e.p.Spend(1) != nil {
			return nil
		}
		m = h.readMap(word)
		h.maps[word] = m // also that it is none
	}
	c.word, c.m = word, m
	return m
}

// jsMapAt is the map of the object at an address.
func (h *jsHeap) jsMapAt(at uint64) *jsMap { return h.mapOf(h.word(at)) }

// readMap reads a map.
func (h *jsHeap) readMap(word uint64) *jsMap {
	const head = 16
	e, at := h.e, word-1
	meta := h.word(at)
	if at%8 != 0 || !isObject(meta) || e.mapType+2 > head || h.short(meta-1+e.mapType) != e.types.meta {
		return nil
	}
	var b [head]byte
	if h.mem.Fill(at, b[:]) < head {
		return nil
	}
	m := &jsMap{at: at, typ: littleEndian.Uint16(b[e.mapType:]), size: 8 * uint64(b[8])}
	t := &h.types
	if r, ok := t.rules[m.typ]; ok {
		m.rule, m.refs, m.head, m.group = r.rule, r.refs, r.head, r.group
	} else {
		h.describe(m)
	}
	if m.size != 0 {
		m.rule = sizeOfMap
	} else if m.rule == sizeOfMap {
		m.rule = sizeWords
	}
	return m
}

// describe says what the objects of a map are of whose type V8 has no variable.
func (h *jsHeap) describe(m *jsMap) {
	e, t := h.e, &h.types
	switch {
	case m.typ < stringTypes:
		m.group = groupString
		switch m.typ & stringKind {
		case 0:
			m.refs, m.rule = refsNone, sizeTwoByte
			if m.typ&stringOneByte != 0 {
				m.rule = sizeOneByte
			}
		case 1:
			m.group = "(concatenated string)"
		case 2:
			m.refs = refsNone
		case 3:
			m.group = "(sliced string)"
		}
	case m.size == 8: // what fills one word
		m.group, m.refs = groupSystem, refsNone
		if h.filler = m.typ; h.types.free == 0 { // from 13 on there is no variable; the type is the next, and the count is of words
			h.types.free = m.typ + 1
			h.types.rules[m.typ+1] = jsMap{rule: sizeFree, refs: refsNone, head: 8}
		}
	case m.typ >= e.types.firstContext && m.typ <= e.types.lastContext:
		m.group, m.rule = "system / Context", sizeElements
	case m.typ >= e.types.firstFunction && m.typ <= e.types.lastFunction || m.typ == t.bound:
		m.group = "(closure)"
	case m.typ == e.types.regExp:
		m.group = "(regexp)"
	case m.typ == t.weakRef:
		m.refs, m.head = refsWeak, weakTarget
		m.group = "WeakRef"
	case m.typ == t.weakCell:
		m.refs, m.head, m.more, m.group = refsWeak, cellTarget, cellTarget+8, groupSystem
	case m.typ >= e.types.firstObject && m.size != 0:
		m.group = "" // until it is asked for
	case m.size == 0:
		m.group = groupArray
	default:
		m.group = groupSystem
	}
}

// isNative reports whether a context with so many variables is a NativeContext, which has V8's own.
func (h *jsHeap) isNative(m *jsMap, n int) bool {
	return n >= bigNative && m.typ >= h.e.types.firstContext && m.typ <= h.e.types.lastContext
}

// findFiller finds the map of what fills one word: it is among the first, which cannot be written to.
func (h *jsHeap) findFiller() {
	const most = 16 << 10
	for _, own := range []bool{false, true} {
		for i := range h.pages {
			p := &h.pages[i]
			if (p.heap != 0) != own {
				continue
			}
			for at := p.start; at < min(p.end, p.start+most) && h.filler == 0 && h.e.p.Spend(1) == nil; at += 8 {
				if m := h.jsMapAt(at); m != nil && m.typ == h.e.types.meta {
					h.mapOf(at + 1)
				}
			}
		}
	}
	h.maps, h.cache = map[uint64]*jsMap{}, mapCache{} // what was read before it was known
}

// isFiller reports whether a map is that of what fills gaps between objects.
func (h *jsHeap) isFiller(m *jsMap) bool {
	return m.rule == sizeFree || m.typ == h.filler && m.size != 0 && m.size <= 16 && m.typ < h.e.types.firstObject
}

// groupOf is what DevTools shows the objects of a map as.
func (h *jsHeap) groupOf(m *jsMap, obj uint64) string {
	if m.group != "" {
		return m.group
	}
	m.group = h.constructorName(m, obj)
	return m.group
}

// Bits of a Map.
const (
	mapOwnClass     = 1 << 0  // of bit_field2: what made the objects is the class itself, not one that it extends
	bitField2       = 3       // bytes behind the type
	mapPrototypeBit = 1 << 20 // of bit_field3: the objects are prototypes
)

// constructorName is the name of the class of the objects of a map, found as V8 does for its snapshots.
func (h *jsHeap) constructorName(m *jsMap, obj uint64) string {
	e := h.e
	if m.typ == h.types.global || m.typ == h.types.proxy {
		return "Object"
	}
	bits2, _ := e.U8(m.at + e.mapType + bitField2)
	bits3, _ := e.U32(m.at + e.mapField3)
	if bits2&mapOwnClass != 0 && bits3&mapPrototypeBit == 0 {
		if name := e.maker(m.at + 1); name != "" && name != "Object" {
			return name
		}
	}
	name := ""
	take := func(at uint64, inherited bool) bool {
		e.each(at, func(k, v uint64, accessor bool) bool {
			switch {
			case accessor:
			case e.typeOf(k) == e.types.symbol:
				if e.isString(v) && e.reads(e.at(k, e.symbolName), "Symbol.toStringTag") {
					name, _ = e.text(v)
				}
			case inherited && name == "" && e.isFunction(v) && e.reads(k, "constructor"): // the own one of a prototype is that of others
				if f := e.functionOf(e.at(v, e.shared)); f != nil {
					name = f.name
				}
			}
			return true
		})
		return name != ""
	}
	if !take(obj+1, false) {
		for at := range e.prototypes(obj + 1) {
			if take(at, true) {
				break
			}
		}
	}
	if name == "" {
		name = "Object"
	}
	return strings.ToValidUTF8(name, "?")
}

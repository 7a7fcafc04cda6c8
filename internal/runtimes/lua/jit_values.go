package lua

// jitTypes are LuaJIT's types of objects, by the tags of Lua.
var jitTypes = [...]byte{tagString: 4, tagThread: 6, tagPrototype51: 7, tagFunction: 8, tagTable: 11, tagData: 12}

// tagPrototype51 is the tag of what functions are made of, until 5.3.
const tagPrototype51 = 9

// Types of LuaJIT that Lua does not have.
const (
	jitTrace = 9
	jitData  = 10 // of the ffi
)

// jitType is LuaJIT's type of objects for one of Lua's; one that is none for others.
func jitType(tag byte) byte {
	if int(tag) < len(jitTypes) && jitTypes[tag] != 0 {
		return jitTypes[tag]
	}
	return 0xff
}

// addressBits of a value have the address of an object, where references have 64 bits.
const addressBits = 47

// packed makes a value of 8 bytes: a number, or one that is none by IEEE 754 and has a type and an address in it.
func (m *memory) packed(bits uint64) value {
	kind := ^(int64(bits) >> addressBits)
	at := bits & (1<<addressBits - 1)
	if m.layout["values.narrow"] != 0 {
		tag := int32(bits >> 32)
		if tag>>15 == -2 {
			return value{m.light(at), kindLight}
		}
		kind, at = int64(^tag), bits&(1<<32-1)
		if uint32(tag) <= 0xfffeffff {
			kind = -1
		}
	}
	switch kind {
	case 0:
		return value{0, kindNil}
	case 1:
		return value{0, kindFalse}
	case 2:
		return value{1, kindTrue}
	case 3:
		return value{m.light(at), kindLight}
	case 4:
		return value{at, kindString}
	case 6:
		return value{at, kindThread}
	case 8:
		if which, ok := m.U8(at + m.at("closure.kind")); ok && which == 0 {
			return value{at, kindFunction}
		}
		return value{at, kindNative}
	case 10:
		return value{at, kindForeign}
	case 11:
		return value{at, kindTable}
	case 12:
		return value{at, kindData}
	case 5, 7, 9: // what programs do not see
		return value{}
	}
	return value{bits, kindFloat}
}

// Where a pointer of the program is kept in pieces: the lower bits, and the number of the upper ones.
const (
	lightLow  = 39
	lightNone = 1<<8 - 1
)

// light is a pointer of the program.
func (m *memory) light(bits uint64) uint64 {
	if _, pieces := m.layout["global.segments"]; !pieces {
		return bits
	}
	n := bits >> lightLow & lightNone
	if n == lightNone {
		return 0
	}
	upper, _ := m.U32(m.field(m.globalState, "global.segments") + 4*n)
	return uint64(upper)<<32 | bits&(1<<lightLow-1)
}

// eachNode goes through the nodes of a table of LuaJIT.
func (m *memory) eachNode(nodes, mask uint64, do func(entry) bool) bool {
	if mask >= 1<<maxNodes {
		return false
	}
	size := m.at("node.size")
	for i := range mask + 1 {
		if m.p.Spend(1) != nil {
			return false
		}
		b := m.Bytes(nodes+i*size, int(size))
		if b == nil {
			return false
		}
		v := m.packed(m.Arch.Word(b))
		if v.kind == kindNil || v.kind == kindNone {
			continue
		}
		key := m.packed(m.Arch.Word(b[m.at("node.key"):]))
		if key.kind == kindNone || key.kind == kindNil {
			continue
		}
		if !do(entry{key, v}) {
			return true
		}
	}
	return true
}

package v8

import (
	"fmt"
	"strconv"
	"unicode/utf8"

	"github.com/corewalk/corewalk/internal/procmem"
	"github.com/corewalk/corewalk/internal/runtimes/remote"
	"github.com/corewalk/corewalk/tasks"
)

// Where frames of WebAssembly, and what belongs to their modules, have what.
const (
	frameInstance   = -16 // from the frame pointer
	foreignAddress  = 8   // of a Foreign: of what manages the module in C++
	managedShared   = 24  // there: the shared pointer to the module
	wireJumpTable   = 16  // behind the pointer to a module's bytes: the code of its jump table
	mapRoot         = 16  // of a std::map of libstdc++
	mapLeft         = 16  // of a node
	mapRight        = 24
	mapKey          = 32
	maxWasmDepth    = 128     // of a tree of code
	maxWasmCodes    = 1 << 18 // that are not in the tree yet
	maxWasmBytes    = 1 << 28 // of a module
	maxWasmSections = 1 << 12
	maxWasmWords    = 96      // of an instance, in which its module is looked for
	maxWasmInlined  = 1 << 12 // functions in one
)

// wasmTypes are the types of the objects on the way from a frame to its module.
type wasmTypes struct {
	module, instance uint16
	scriptModule     uint64 // where a Script has what manages its module
}

// readWasm reads what names of WebAssembly's functions need; without it they are not shown.
func (l *layout) readWasm(v *variables) {
	l.wasm.module = v.typ("WasmModuleObject", "WASM_MODULE_OBJECT")
	l.wasm.scriptModule = v.field("Script", "wasm_managed_native_module__Object", "wasm_managed_native_module__Tagged_Object_")
	if x, ok := v.get("type_WasmInstanceObject__WASM_INSTANCE_OBJECT_TYPE"); ok { // before 12 a frame has the instance itself
		l.wasm.instance = uint16(x)
	}
}

// A wasmModule is a compiled module.
type wasmModule struct {
	procmem.Reader
	at     uint64 // the NativeModule
	wire   uint64 // its bytes
	size   uint64
	script *script
	spend  func(int) error

	names     remote.Kept[string]
	positions remote.Kept[uint64]
}

// wasmUnknown is what a frame shows whose function is not known.
var wasmUnknown = []tasks.Call{{Language: "wasm", Kind: tasks.CallJIT, Function: "<wasm function>"}}

// wasmCalls are the functions of WebAssembly that a frame executes, innermost first.
func (e *engine) wasmCalls(fp, pc uint64) []tasks.Call {
	if e.noWasm != "" {
		return wasmUnknown
	}
	m := e.wasmModuleOf(e.Word(from(fp, frameInstance)))
	if m == nil {
		return wasmUnknown
	}
	c := e.wasmCodeAt(m, pc)
	if c == nil {
		return wasmUnknown
	}
	var out []tasks.Call
	pos, inlined, ok := lookUp(c.positions, int(pc-c.start))
	if !ok {
		pos, inlined = -1, -1
	}
	for tail := false; ; {
		index := c.index
		entry := c.inlinedAt(inlined)
		if entry != nil {
			index = int32(littleEndian.Uint32(entry))
		}
		if !tail { // a function that ended with a call is gone
			out = append(out, m.call(uint64(index), pos))
		}
		if entry == nil || len(out) == maxWasmInlined {
			return out
		}
		tail = len(entry) > 12 && entry[4] != 0
		v := littleEndian.Uint64(entry[len(entry)-8:])
		next := int(v>>31&0xffff) - 1
		if next >= inlined { // they were inlined into what was there before
			return []tasks.Call{m.call(uint64(c.index), -1)}
		}
		pos, inlined = int(v>>1&(1<<30-1))-1, next
	}
}

// wasmModuleOf is the module of a frame's instance; nil if it is none.
func (e *engine) wasmModuleOf(instance uint64) *wasmModule {
	return e.wasms.Get(instance, func() *wasmModule {
		object := e.wasmModuleObject(instance, 2)
		if object == 0 {
			return nil
		}
		size, _ := e.U8(e.Word(object-1) - 1 + 8) // in words
		for i := range uint64(size) {
			if s := e.at(object, 8*i); e.typeOf(s) == e.types.script {
				return e.wasmModuleOfScript(s)
			}
		}
		return nil
	})
}

// wasmModuleOfScript is the module that a Script stands for; nil if it is that of JavaScript.
func (e *engine) wasmModuleOfScript(s uint64) *wasmModule {
	return e.wasms.Get(s, func() *wasmModule {
		managed := e.at(s, e.wasm.scriptModule)
		if e.typeOf(managed) == 0 {
			return nil
		}
		at := e.Word(e.Word(e.at(managed, foreignAddress) + managedShared))
		wire := e.Word(at + e.wasmWire)
		m := &wasmModule{Reader: e.Reader, at: at, wire: e.Word(wire), size: e.Word(wire + 8), script: e.scriptAt(s), spend: e.p.Spend}
		if e.Word(e.Word(at+e.wasmWire+wireJumpTable)) != at || m.size > maxWasmBytes || string(e.Bytes(m.wire, 4)) != "\x00asm" || m.script == nil {
			return nil
		}
		return m
	})
}

// wasmModuleObject is the object of the module to which an instance, or what is trusted of it, leads; 0 if to none.
func (e *engine) wasmModuleObject(instance uint64, depth int) uint64 {
	if e.typeOf(instance) == 0 || depth == 0 {
		return 0
	}
	for b := e.Some(instance-1, 8*maxWasmWords); len(b) >= 8; b = b[8:] { // its size is not known, and memory may end behind it
		w := littleEndian.Uint64(b)
		switch t := e.typeOf(w); {
		case t == 0:
		case t == e.wasm.module:
			return w
		case t == e.wasm.instance && w != instance:
			return e.wasmModuleObject(w, depth-1)
		}
	}
	return 0
}

// wasmCode is the compiled code of a function of WebAssembly.
type wasmCode struct {
	start     uint64
	index     int32
	positions []byte
	inlined   []byte // a function, whether it is gone, a position; whether it is gone is not there before 12
	entry     int    // bytes of each of these
}

// inlinedAt is what is said of a function that was inlined; nil if there is none.
func (c *wasmCode) inlinedAt(i int) []byte {
	if i < 0 || c.entry == 0 || (i+1)*c.entry > len(c.inlined) {
		return nil
	}
	return c.inlined[i*c.entry:][:c.entry]
}

// wasmCodeAt is the code of a module that contains an address; nil if there is none. Most code is in a tree, by address;
// what was compiled last in an array.
func (e *engine) wasmCodeAt(m *wasmModule, pc uint64) *wasmCode {
	return e.wasmCodes.Get(pc, func() *wasmCode {
		tree := m.at + e.wasmOwned
		node, best := e.Word(tree+mapRoot), uint64(0)
		for range maxWasmDepth {
			if node == 0 {
				break
			}
			if e.Word(node+mapKey) <= pc {
				best = node
				node = e.Word(node + mapRight)
			} else {
				node = e.Word(node + mapLeft)
			}
		}
		if best != 0 {
			if c := e.readWasmCode(m, e.Word(best+mapKey+8), pc); c != nil {
				return c
			}
		}
		begin, end := e.Word(tree+48), e.Word(tree+56)
		if begin%8 != 0 || end < begin || end-begin > 8*maxWasmCodes || e.p.Spend(int((end-begin)/8)) != nil {
			return nil
		}
		for b := e.Bytes(begin, int(end-begin)); len(b) >= 8; b = b[8:] {
			if c := e.readWasmCode(m, littleEndian.Uint64(b), pc); c != nil {
				return c
			}
		}
		return nil
	})
}

// readWasmCode reads a WasmCode; nil if it is not of the module, or does not contain an address.
func (e *engine) readWasmCode(m *wasmModule, at, pc uint64) *wasmCode {
	start := e.Word(at + 8)
	if e.Word(at) != m.at || pc < start || pc-start >= maxCode {
		return nil
	}
	b := e.Bytes(at+e.wasmSizes, int(e.wasmProtected-e.wasmSizes)+8)
	if b == nil {
		return nil
	}
	number := func(i uint64) uint64 { return uint64(littleEndian.Uint32(b[4*i:])) }
	last := (e.wasmProtected - e.wasmSizes) / 4
	size, reloc, positions, protected := number(0), number(1), number(2), number(last)
	c := &wasmCode{start: start, index: int32(number(last + 1))}
	if pc-start >= size || c.index < 0 || reloc > maxTable || positions > maxTable || protected > maxTable {
		return nil
	}
	meta := e.Word(at+e.wasmMeta) + protected + reloc
	c.positions = e.Bytes(meta, int(positions))
	if n := number(3); e.wasmInlined != 0 && n <= maxTable { // before 11 nothing is inlined
		c.entry, c.inlined = int(e.wasmInlined), e.Bytes(meta+positions, int(n))
	}
	return c
}

// call is a call of a function of the module, at a position in its body; -1 if that is not known.
func (m *wasmModule) call(index uint64, pos int) tasks.Call {
	c := tasks.Call{Language: "wasm", Kind: tasks.CallJIT, Function: m.names.Get(index, func() string { return m.name(uint32(index)) }), File: m.script.name}
	if c.Function == "" {
		c.Function = "wasm-function[" + strconv.FormatUint(index, 10) + "]"
	}
	if c.File == "" {
		c.File = "wasm://wasm"
	}
	c.File += fmt.Sprintf(":wasm-function[%d]", index)
	if start := m.positions.Get(index, func() uint64 { return m.body(index) }); start != 0 && pos >= 0 {
		c.File += fmt.Sprintf(":%#x", start+uint64(pos))
	}
	return c
}

// Sections of a module.
const (
	wasmCustom   = 0
	wasmImports  = 2
	wasmExports  = 7
	wasmCodeBody = 10
)

// A wasmReader reads the bytes of a module in order. What is behind damage is 0.
type wasmReader struct {
	m       *wasmModule
	at, end uint64 // in the module
	block   []byte
	base    uint64 // of the block
}

// wasmBlock is how many bytes are read at once.
const wasmBlock = 1 << 12

func (r *wasmReader) byte() byte {
	if r.at >= r.end {
		return 0
	}
	if r.at < r.base || r.at-r.base >= uint64(len(r.block)) {
		r.base = r.at
		if r.block = nil; r.m.spend(8) == nil {
			r.block = r.m.Bytes(r.m.wire+r.at, int(min(wasmBlock, r.m.size-r.at)))
		}
		if r.block == nil {
			r.end = r.at
			return 0
		}
	}
	r.at++
	return r.block[r.at-1-r.base]
}

// number reads an unsigned number of at most 32 bits.
func (r *wasmReader) number() uint64 {
	v := uint64(0)
	for shift := 0; shift < 35; shift += 7 {
		c := r.byte()
		if v |= uint64(c&0x7f) << shift; c < 0x80 {
			return v
		}
	}
	r.at = r.end
	return 0
}

func (r *wasmReader) skip(n uint64) { r.at = min(r.end, r.at+n) }

// text reads a text, before which is how many bytes it has.
func (r *wasmReader) text() string { return r.bytes(r.number()) }

// bytes reads a text of so many bytes, or its beginning.
func (r *wasmReader) bytes(n uint64) string {
	var out []byte
	for range min(n, maxText, r.end-r.at) {
		out = append(out, r.byte())
	}
	r.skip(n - min(n, maxText))
	if !utf8.Valid(out) {
		return ""
	}
	return string(out)
}

// section finds the first section of a kind; of a custom one that of a name.
func (m *wasmModule) section(kind byte, name string) *wasmReader {
	r := &wasmReader{m: m, at: 8, end: m.size}
	for range maxWasmSections {
		if r.at >= r.end {
			break
		}
		k, n := r.byte(), r.number()
		s := &wasmReader{m: m, at: r.at, end: min(r.end, r.at+n), block: r.block, base: r.base}
		if k == kind && (kind != wasmCustom || s.text() == name) {
			return s
		}
		r.skip(n)
	}
	return &wasmReader{m: m}
}

// Parts of the section of names.
const (
	namesModule    = 0
	namesFunctions = 1
)

// name is the name of a function: as the section of names has it, with that of the module before it, else by which it is exported.
func (m *wasmModule) name(index uint32) string {
	module, name := "", ""
	for r := m.section(wasmCustom, "name"); r.at < r.end; {
		kind, n := r.byte(), r.number()
		s := &wasmReader{m: m, at: r.at, end: min(r.end, r.at+n), block: r.block, base: r.base}
		switch kind {
		case namesModule:
			module = s.text()
		case namesFunctions:
			for range s.number() {
				i, length := s.number(), s.number()
				if s.at >= s.end {
					break
				}
				if i == uint64(index) {
					name = s.bytes(length)
					break
				}
				s.skip(length)
			}
		}
		r.skip(n)
	}
	if name == "" {
		name = m.exported(index)
	}
	if name != "" && module != "" {
		name = module + "." + name
	}
	return name
}

// exported is the first name by which a function is exported.
func (m *wasmModule) exported(index uint32) string {
	r := m.section(wasmExports, "")
	for range r.number() {
		if r.at >= r.end {
			break
		}
		name, kind, i := r.text(), r.byte(), r.number()
		if kind == 0 && i == uint64(index) {
			return name
		}
	}
	return ""
}

// body is where the body of a function begins in the module; 0 if it is not known.
func (m *wasmModule) body(index uint64) uint64 {
	imported := uint64(0)
	r := m.section(wasmImports, "")
	for range r.number() {
		if r.at >= r.end {
			break
		}
		r.text()
		r.text()
		switch r.byte() {
		case 0: // a function
			r.number()
			imported++
		case 1: // a table
			r.valueType()
			r.limits()
		case 2: // memory
			r.limits()
		case 3: // a global
			r.valueType()
			r.byte()
		case 4: // a tag
			r.byte()
			r.number()
		default:
			return 0
		}
	}
	r = m.section(wasmCodeBody, "")
	if n := r.number(); index-imported >= n {
		return 0
	}
	for i := imported; r.at < r.end; i++ {
		n := r.number()
		if i == index {
			return r.at
		}
		r.skip(n)
	}
	return 0
}

// valueType skips a type of values, which may have a type of the heap behind it.
func (r *wasmReader) valueType() {
	if c := r.byte(); c == 0x63 || c == 0x64 { // (ref null ht), (ref ht)
		r.number()
	}
}

// limits skips how large a table or memory may be.
func (r *wasmReader) limits() {
	flags := r.byte()
	big := func() {
		for range 10 {
			if r.byte() < 0x80 {
				return
			}
		}
	}
	if big(); flags&1 != 0 {
		big()
	}
}

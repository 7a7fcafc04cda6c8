package v8

import (
	_ "embed"
	"encoding/binary"
	"fmt"
	"strconv"
	"strings"
)

//go:embed layouts.txt
var layoutsText string

// layout says where objects have what.
type layout struct {
	// From layouts.txt.
	header, codeStart, codeSize, codeFlags, codeDeopt, codePositions     uint64
	bytecodePositions, functionData, evalShared, evalPosition, scopeGap  uint64
	frameSize, parameterUnit, firstRegister, bigIntType, dateDouble      uint64
	reactionNext, asyncPromise                                           uint64
	wasmWire, wasmOwned, wasmMeta, wasmSizes, wasmProtected, wasmInlined uint64

	// From V8's own variables.
	shared, sharedName, sharedScript                     uint64
	scriptSource, scriptName, scriptLineEnds             uint64
	bytecodeData, properties                             uint64
	mapType, mapField3, mapDescriptors, mapConstructor   uint64
	mapPrototype                                         uint64 // 0 if not known
	kindInterpreted, kindBaseline                        uint32
	deoptCount, deoptLiterals, deoptShared, deoptInlined uint64
	noValues                                             string // what values need and is not known; "" if all is
	functionContext, elementsAt, numberValue             uint64
	oddballKind, symbolName, dateValue, viewLength       uint64
	oddballs                                             map[uint64]string // by kind: "undefined"
	types                                                typeNumbers
	noAsync                                              string // what async functions need and is not known
	async                                                asyncTypes
	noWasm                                               string // what names of WebAssembly's functions need and is not known
	wasm                                                 wasmTypes
	frames                                               map[uint64]string // by marker: "Exit"
}

// typeNumbers are the types of objects, by what they are.
type typeNumbers struct {
	meta, bytecode, code, stream, feedbackCell, feedbackVector, script, sharedInfo, scopeInfo, debugInfo, jsError uint16
	firstFunction, lastFunction                                                                                   uint16
	byteArrays, fixedArrays                                                                                       []uint16
	hole, oddball, heapNumber, bigInt, symbol, fixedDoubles, firstContext, lastContext                            uint16
	array, jsMap, jsSet, date, promise, regExp, typedArray                                                        uint16
	firstObject                                                                                                   uint16
}

// variables reads V8's own variables.
type variables struct {
	value   func(name string) (uint32, bool)
	missing string
}

// get reads the first of some variables that is there.
func (v *variables) get(names ...string) (uint64, bool) {
	for _, n := range names {
		if x, ok := v.value(n); ok && int32(x) >= 0 {
			return uint64(x), true
		}
	}
	return 0, false
}

// need is get for what there must be.
func (v *variables) need(names ...string) uint64 {
	x, ok := v.get(names...)
	if !ok && v.missing == "" {
		v.missing = names[0]
	}
	return x
}

// field is the offset of a field, by the names that it has had in V8's versions.
func (v *variables) field(class string, fields ...string) uint64 {
	names := make([]string, len(fields))
	for i, f := range fields {
		names[i] = "class_" + class + "__" + f
	}
	return v.need(names...)
}

// typ is the number of a type.
func (v *variables) typ(class, name string) uint16 {
	return uint16(v.need("type_" + class + "__" + name + "_TYPE"))
}

// markers are V8's frames that are told apart.
const markers = "Entry ConstructEntry Exit Wasm WasmToJs JsToWasm WasmToJsFunction BuiltinExit ApiCallbackExit ApiAccessorExit Internal Construct FastConstruct" +
	" Stub BuiltinContinuation JavaScriptBuiltinContinuation JavaScriptBuiltinContinuationWithCatch Builtin Native Irregexp WasmExit CWasmEntry" +
	" TurbofanStubWithContext WasmDebugBreak WasmLiftoffSetup WasmSegmentStart StackSwitch WasmCompileLazy Interpreted Baseline Maglev Turbofan TurbofanJS Optimized"

// readLayout reads the layout of a version.
func readLayout(v *variables, version string) (*layout, error) {
	l := &layout{frames: map[uint64]string{}}
	if size, ok := v.get("TaggedSize"); ok && size != 8 { // of any version
		return nil, fmt.Errorf("V8 with pointers compressed to %d bytes is not read", size)
	}
	if shift, ok := v.get("SmiShiftSize"); ok && shift != 31 {
		return nil, fmt.Errorf("V8 whose small integers are shifted by %d is not read", shift+1)
	}
	if err := l.table(version); err != nil {
		return nil, err
	}
	l.shared = v.field("JSFunction", "shared__SharedFunctionInfo")
	l.sharedName = v.field("SharedFunctionInfo", "name_or_scope_info__Object", "name_or_scope_info__Tagged_Object_", "name_or_scope_info__Tagged_NameOrScopeInfoT_")
	l.sharedScript = v.field("SharedFunctionInfo", "raw_script__Tagged_Object_", "script__Tagged_HeapObject_", "script_or_debug_info__HeapObject")
	l.scriptSource = v.field("Script", "source__Object")
	l.scriptName = v.field("Script", "name__Object")
	l.scriptLineEnds = v.field("Script", "line_ends__Object")
	l.bytecodeData = v.field("BytecodeArray", "data__uintptr_t")
	l.properties = v.field("JSReceiver", "raw_properties_or_hash__Object", "raw_properties_or_hash__Tagged_Object_")
	l.mapType = v.field("Map", "instance_type__uint16_t")
	l.mapField3 = v.field("Map", "bit_field3__int")
	l.mapDescriptors = v.field("Map", "instance_descriptors__DescriptorArray", "instance_descriptors__Tagged_DescriptorArray_")
	l.mapConstructor = v.field("Map", "constructor_or_back_pointer__Object", "constructor_or_back_pointer__Tagged_Object_")
	l.mapPrototype, _ = v.get("class_Map__prototype__HeapObject", "class_Map__prototype__Tagged_HeapObject_", "class_Map__prototype__Tagged_JSPrototype_", "class_Map__prototype__Object")
	l.kindInterpreted, l.kindBaseline = uint32(v.need("CodeKindInterpretedFunction")), uint32(v.need("CodeKindBaseline"))
	l.deoptCount, l.deoptLiterals, l.deoptShared, l.deoptInlined = 1, 2, 6, 7
	for to, name := range map[*uint64]string{&l.deoptCount: "InlinedFunctionCount", &l.deoptLiterals: "LiteralArray", &l.deoptShared: "SharedFunctionInfo", &l.deoptInlined: "InliningPositions"} {
		if x, ok := v.get("DeoptimizationData"+name+"Index", "DeoptimizationDataWrapped"+name+"Index"); ok && x < 64 {
			*to = x
		}
	}
	t := &l.types
	t.meta, t.bytecode, t.code = v.typ("Map", "MAP"), v.typ("BytecodeArray", "BYTECODE_ARRAY"), v.typ("Code", "CODE")
	t.feedbackCell, t.feedbackVector = v.typ("FeedbackCell", "FEEDBACK_CELL"), v.typ("FeedbackVector", "FEEDBACK_VECTOR")
	t.script, t.sharedInfo, t.scopeInfo = v.typ("Script", "SCRIPT"), v.typ("SharedFunctionInfo", "SHARED_FUNCTION_INFO"), v.typ("ScopeInfo", "SCOPE_INFO")
	t.debugInfo, t.jsError = v.typ("DebugInfo", "DEBUG_INFO"), v.typ("JSError", "JS_ERROR")
	t.stream = t.code
	if x, ok := v.get("type_InstructionStream__INSTRUCTION_STREAM_TYPE"); ok {
		t.stream = uint16(x)
	}
	first, ok := v.get("FirstJSFunctionType")
	last, ok2 := v.get("LastJSFunctionType")
	if !ok || !ok2 { // before 12: all classes of functions follow JSFunction
		first = uint64(v.typ("JSFunction", "JS_FUNCTION"))
		last = first + 17
	}
	t.firstFunction, t.lastFunction = uint16(first), uint16(last)
	for _, n := range []string{"ByteArray__BYTE_ARRAY", "TrustedByteArray__TRUSTED_BYTE_ARRAY"} {
		if x, ok := v.get("type_" + n + "_TYPE"); ok {
			t.byteArrays = append(t.byteArrays, uint16(x))
		}
	}
	for _, n := range []string{"FixedArray__FIXED_ARRAY", "TrustedFixedArray__TRUSTED_FIXED_ARRAY", "ProtectedFixedArray__PROTECTED_FIXED_ARRAY"} {
		if x, ok := v.get("type_" + n + "_TYPE"); ok {
			t.fixedArrays = append(t.fixedArrays, uint16(x))
		}
	}
	for _, m := range strings.Fields(markers) {
		if x, ok := v.get("frametype_" + m + "Frame"); ok && x < 64 {
			l.frames[x] = m
		}
	}
	if v.missing != "" {
		return nil, fmt.Errorf("v8dbg_%s is not among its symbols", v.missing)
	}
	of := *v
	l.readValues(&of)
	l.noValues = of.missing
	of = *v
	l.readAsync(&of)
	l.noAsync = of.missing
	of = *v
	l.readWasm(&of)
	l.noWasm = of.missing
	return l, nil
}

// readValues reads what values need: without it, calls are known all the same.
func (l *layout) readValues(v *variables) {
	l.functionContext = v.field("JSFunction", "context__Context", "context__Tagged_Context_")
	l.elementsAt = v.field("JSObject", "elements__Object")
	l.numberValue = v.field("HeapNumber", "value__double")
	l.oddballKind = v.field("Oddball", "kind_offset__int", "kind__int")
	l.symbolName = v.field("Symbol", "name__Object")
	l.dateValue = v.field("JSDate", "value__Object")
	l.viewLength = v.field("JSArrayBufferView", "byte_length__size_t")
	l.oddballs = map[uint64]string{v.need("OddballTrue"): "true", v.need("OddballFalse"): "false", v.need("OddballNull"): "null", v.need("OddballUndefined"): "undefined"}
	t := &l.types
	t.oddball, t.heapNumber, t.symbol = v.typ("Oddball", "ODDBALL"), v.typ("HeapNumber", "HEAP_NUMBER"), v.typ("Symbol", "SYMBOL")
	t.fixedDoubles, t.bigInt = v.typ("FixedDoubleArray", "FIXED_DOUBLE_ARRAY"), uint16(l.bigIntType)
	t.firstContext, t.lastContext = uint16(v.need("FirstContextType")), uint16(v.need("LastContextType"))
	t.array, t.jsMap, t.jsSet, t.date = v.typ("JSArray", "JS_ARRAY"), v.typ("JSMap", "JS_MAP"), v.typ("JSSet", "JS_SET"), v.typ("JSDate", "JS_DATE")
	t.promise, t.regExp, t.typedArray = v.typ("JSPromise", "JS_PROMISE"), v.typ("JSRegExp", "JS_REG_EXP"), v.typ("JSTypedArray", "JS_TYPED_ARRAY")
	t.firstObject = min(v.typ("JSProxy", "JS_PROXY"), v.typ("JSGlobalObject", "JS_GLOBAL_OBJECT"), v.typ("JSGlobalProxy", "JS_GLOBAL_PROXY"), v.typ("JSModuleNamespace", "JS_MODULE_NAMESPACE"))
	if x, ok := v.get("type_Hole__HOLE_TYPE"); ok { // before 12 it is an oddball
		t.hole = uint16(x)
	}
}

// table takes what layouts.txt has of a version.
func (l *layout) table(version string) error {
	var known []string
	for line := range strings.Lines(layoutsText) {
		f := strings.Fields(line)
		if len(f) == 0 || f[0] == "#" || strings.HasPrefix(f[0], "#") {
			continue
		}
		known = append(known, f[0])
		if f[0] != version {
			continue
		}
		to := []*uint64{&l.header, &l.codeStart, &l.codeSize, &l.codeFlags, &l.codeDeopt, &l.codePositions, &l.bytecodePositions, &l.functionData, &l.evalShared, &l.evalPosition, &l.scopeGap, &l.frameSize, &l.parameterUnit, &l.firstRegister, &l.bigIntType, &l.dateDouble, &l.reactionNext, &l.asyncPromise, &l.wasmWire, &l.wasmOwned, &l.wasmMeta, &l.wasmSizes, &l.wasmProtected, &l.wasmInlined}
		for i, p := range to {
			*p, _ = strconv.ParseUint(f[i+2], 10, 32)
		}
		return nil
	}
	return fmt.Errorf("no layout is known for V8 %s, but for %s", version, strings.Join(known, ", "))
}

// littleEndian reads what bytes have.
var littleEndian = binary.LittleEndian

// Command layouts makes the table of layouts.txt from sources of Node, one directory for each release, and writes it to
// standard output:
//
//	go run ./testdata/layouts node-18 node-20 node-22 node-24 > table
//
// Debian has them: apt-get source nodejs, of bookworm (18), trixie (20) and sid (22, 24). Only deps/v8/src, deps/v8/include and
// src/node_version.h are read. Offsets are those of x86-64 without compressed pointers and without the sandbox, which is how Node is built.
package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
)

// columns are those of the table.
var columns = []string{"header", "start", "size", "flags", "deopt", "positions", "bytecode_positions", "function_data", "script_eval", "script_eval_at", "scope_start",
	"frame_size", "parameter_unit", "first_register", "bigint_type", "date_double", "reaction_next", "async_promise",
	"wasm_wire", "wasm_owned", "wasm_meta", "wasm_sizes", "wasm_protected", "wasm_inlined"}

func main() {
	fmt.Println("V8 node", strings.Join(columns, " "))
	for _, dir := range os.Args[1:] {
		row, err := layout(dir)
		if err != nil {
			fmt.Fprintf(os.Stderr, "%s: %v\n", dir, err)
			os.Exit(1)
		}
		fmt.Println(row)
	}
}

// A source is V8's.
type source struct {
	dir     string
	torque  map[string]string // the bodies of classes, by name; before the body is that of the class which they extend, and a line
	missing []string
}

func layout(dir string) (string, error) {
	s := &source{dir: filepath.Join(dir, "deps/v8"), torque: map[string]string{}}
	err := filepath.WalkDir(filepath.Join(s.dir, "src"), func(path string, _ os.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, ".tq") {
			return err
		}
		for _, m := range torqueClass.FindAllStringSubmatch(uncomment(read(path)), -1) {
			s.torque[m[1]] = m[2] + "\n" + m[3]
		}
		return nil
	})
	if err != nil {
		return "", err
	}
	v := map[string]int{}
	// Objects that V8's own language describes.
	v["bytecode_positions"] = s.field("BytecodeArray", "source_position_table")
	v["frame_size"] = s.field("BytecodeArray", "frame_size")
	v["parameter_unit"] = 8
	if strings.Contains(s.torque["BytecodeArray"], "parameter_size: uint16") { // a count, and no longer bytes
		v["parameter_unit"] = 1
	}
	v["function_data"] = s.field("SharedFunctionInfo", "function_data|trusted_function_data")
	v["script_eval"] = s.field("Script", "eval_from_shared_or_wrapped_arguments.*")
	v["script_eval_at"] = s.field("Script", "eval_from_position")
	scope := s.torque["ScopeInfo"]
	if i := strings.Index(scope, "position_info: "); i >= 0 && i < strings.Index(scope, "context_local_names") {
		v["scope_start"] = 3
	}
	if strings.Contains(s.torque["JSDate"], " value: float64") {
		v["date_double"] = 1
	}
	v["reaction_next"] = s.field("PromiseReaction", "next")
	v["async_promise"] = s.field("JSAsyncFunctionObject", "promise")
	v["bigint_type"] = 129 // behind the types of strings, which are below 128, and that of symbols

	// Code.
	code := uncomment(s.read("src/objects/code.h") + s.read("src/objects/instruction-stream.h"))
	fields := macros(code, "Code")
	v["deopt"], v["positions"] = s.of(fields, "kDeoptimizationDataOrInterpreterDataOffset"), s.of(fields, "kPositionTableOffset")
	v["size"], v["flags"] = s.of(fields, "kInstructionSizeOffset"), s.of(fields, "kFlagsOffset")
	if stream := macros(code, "InstructionStream"); stream != nil {
		v["header"] = s.of(stream, "kHeaderSize")
		for _, n := range []string{"kInstructionStartOffset", "kCodeEntryPointOffset"} {
			if at, ok := fields[n]; ok {
				v["start"] = at
			}
		}
	} else { // the code is in the Code itself
		v["header"] = s.of(fields, "kHeaderSize")
		v["start"] = v["header"]
	}

	// Frames: function, context and the count of arguments are before what the interpreter adds.
	m := regexp.MustCompile(`DEFINE_STANDARD_FRAME_SIZES\((\d)\);[^}]*?kRegisterFileFromFp =\s*-kFixedFrameSizeFromFp - kSystemPointerSize`).FindStringSubmatch(s.read("src/execution/frame-constants.h"))
	if m == nil {
		s.missing = append(s.missing, "kRegisterFileFromFp")
	} else {
		n, _ := strconv.Atoi(m[1])
		v["first_register"] = 3*8 + 8*n + 8
	}

	// WebAssembly's code: classes of C++.
	header := uncomment(s.read("src/wasm/wasm-code-manager.h"))
	wasm := members(header, "WasmCode", nil)
	sizes := map[string]int{"WasmCodeAllocator": members(header, "WasmCodeAllocator", nil)["sizeof"]}
	if strings.Contains(s.read("src/base/platform/mutex.h"), "  absl::Mutex native_handle_;") { // one word, and two numbers before it
		sizes["base::Mutex"], sizes["base::RecursiveMutex"] = 8, 16
	}
	if strings.Contains(s.read("src/wasm/wasm-features.h"), "  std::string constants_module_;") { // behind a set
		sizes["CompileTimeImports"] = 8 + 32
	}
	native := members(header, "NativeModule", sizes)
	v["wasm_meta"], v["wasm_sizes"], v["wasm_protected"] = s.of(wasm, "meta_data_"), s.of(wasm, "instructions_size_"), s.of(wasm, "protected_instructions_size_")
	v["wasm_wire"], v["wasm_owned"] = s.of(native, "wire_bytes_"), s.of(native, "owned_code_")
	switch inlined := s.read("src/wasm/wasm-code-manager.cc"); {
	case strings.Contains(inlined, "sizeof(int) + sizeof(bool) + sizeof(SourcePosition)"):
		v["wasm_inlined"] = 13
	case strings.Contains(inlined, "sizeof(int) + sizeof(SourcePosition)"):
		v["wasm_inlined"] = 12
	}
	if len(s.missing) > 0 {
		return "", fmt.Errorf("not found: %s", strings.Join(s.missing, ", "))
	}
	version := s.read("include/v8-version.h")
	row := define(version, "V8_MAJOR_VERSION") + "." + define(version, "V8_MINOR_VERSION") + " " + define(read(filepath.Join(dir, "src/node_version.h")), "NODE_MAJOR_VERSION")
	for _, c := range columns {
		row += " " + strconv.Itoa(v[c])
	}
	return row, nil
}

func read(path string) string {
	b, _ := os.ReadFile(path)
	return string(b)
}

func (s *source) read(path string) string { return read(filepath.Join(s.dir, path)) }

func define(text, name string) string {
	m := regexp.MustCompile(`#define ` + name + ` (\d+)`).FindStringSubmatch(text)
	if m == nil {
		return "?"
	}
	return m[1]
}

var comments = regexp.MustCompile(`(?s)//[^\n]*|/\*.*?\*/`)

func uncomment(text string) string { return comments.ReplaceAllString(text, "") }

// of is an offset that there must be.
func (s *source) of(offsets map[string]int, name string) int {
	at, ok := offsets[name]
	if !ok {
		s.missing = append(s.missing, name)
	}
	return at
}

var (
	torqueClass = regexp.MustCompile(`(?s)class (\w+)(?:\s+generates '[^']*')?\s+extends (\w+)[^{;]*?\{(|.*?\n)\}`)
	torqueIf    = regexp.MustCompile(`@(if|ifnot)\((\w+)\)\s*`)
	torqueOther = regexp.MustCompile(`@\w+(\([^)]*\))?\s*`)
)

// on are the options that are set.
var on = map[string]bool{"TAGGED_SIZE_8_BYTES": true, "V8_ENABLE_CONTINUATION_PRESERVED_EMBEDDER_DATA": true, "V8_ENABLE_LEAPTIERING": true}

// field is the offset of a field of a class, whose name matches a pattern.
func (s *source) field(class, pattern string) int {
	name := regexp.MustCompile("^(" + pattern + ")$")
	at := -1
	s.walk(class, func(field string, offset int) {
		if at < 0 && name.MatchString(field) {
			at = offset
		}
	})
	if at < 0 {
		s.missing = append(s.missing, class+"."+pattern)
	}
	return at
}

// walk tells the fields of a class and of those that it extends, and returns the size.
func (s *source) walk(class string, tell func(field string, offset int)) int {
	text, ok := s.torque[class]
	if !ok {
		return 0
	}
	base, body, _ := strings.Cut(text, "\n")
	at := s.walk(base, tell)
	for field := range strings.SplitSeq(body, ";") {
		field = strings.TrimSpace(field)
		set := true
		for {
			m := torqueIf.FindStringSubmatch(field)
			if m == nil || !strings.HasPrefix(field, m[0]) {
				break
			}
			set = set && on[m[2]] == (m[1] == "if")
			field = field[len(m[0]):]
		}
		field = strings.TrimPrefix(torqueOther.ReplaceAllString(field, ""), "const ")
		name, typ, ok := strings.Cut(field, ":")
		if !ok || !set || strings.ContainsAny(name, "( \n") {
			continue
		}
		if n, indexed := strings.CutSuffix(name, "]"); indexed || strings.Contains(n, "[") {
			continue
		}
		tell(strings.TrimSuffix(name, "?"), at)
		switch strings.TrimSpace(typ) {
		case "void":
		case "int8", "uint8", "bool":
			at++
		case "int16", "uint16":
			at += 2
		case "int32", "uint32", "float32":
			at += 4
		default:
			at += 8
		}
	}
	return at
}

var (
	macro = regexp.MustCompile(`V\((k\w+),\s*((?:[^()]|\([^()]*\))*)\)`)
	units = map[string]int{"0": 0, "kTaggedSize": 8, "kSystemPointerSize": 8, "kCodePointerSize": 8, "kProtectedPointerSize": 8, "kIntSize": 4, "kInt32Size": 4,
		"kUInt32Size": 4, "kInt16Size": 2, "kUInt16Size": 2, "kUInt8Size": 1, "kJSDispatchHandleSize": 4}
)

// macros are the offsets that the list of fields within a class of C++ has; nil if there is no such class.
func macros(text, class string) map[string]int {
	body := classOf(text, class)
	i := strings.Index(body, "(V)")
	end := strings.Index(body, "DEFINE_FIELD_OFFSET_CONSTANTS")
	if i < 0 || end < i {
		return nil
	}
	out := map[string]int{}
	at := 8 // the map
	for _, m := range macro.FindAllStringSubmatch(strings.ReplaceAll(body[i:end], "\\\n", ""), -1) {
		size := strings.TrimSpace(m[2])
		if test, values, ok := strings.Cut(size, " ? "); ok {
			yes, no, _ := strings.Cut(values, " : ")
			if size = no; on[strings.TrimSuffix(strings.TrimSpace(test), "_BOOL")] {
				size = yes
			}
		}
		switch size = strings.TrimSpace(size); {
		case strings.HasPrefix(size, "CODE_POINTER_PADDING"):
			at = (at + 63) &^ 63
		case strings.HasPrefix(size, "OBJECT_POINTER_PADDING"):
			at = (at + 7) &^ 7
		}
		out[m[1]] = at
		at += units[size]
	}
	return out
}

// classOf is the body of a class of C++.
func classOf(text, class string) string {
	loc := regexp.MustCompile(`(?m)^class (?:V8_EXPORT_PRIVATE )?` + class + `\b[^;{]*\{`).FindStringIndex(text)
	if loc == nil {
		return ""
	}
	body, _, _ := strings.Cut(text[loc[1]:], "\n};")
	return body
}

var member = regexp.MustCompile(`(?s)^(?:mutable\s+|const\s+)*(.+?)\s*\b(\w+_)(?:\s*=.*|\s*\{.*\})?$`)

// members are the offsets of the members of a class of C++, which are at its end; "sizeof" is its size. Sizes are of libstdc++; others are given.
func members(text, class string, sizes map[string]int) map[string]int {
	body := classOf(text, class)
	if i := strings.LastIndex(body, " private:"); i >= 0 {
		body = body[i:]
	}
	body = regexp.MustCompile(`(?m)^ (private|public):`).ReplaceAllString(body, "")
	body = regexp.MustCompile(`(?s)struct \w+ \{.*?\n  \};`).ReplaceAllString(body, "")
	out := map[string]int{}
	at, most := 0, 1
	for part := range strings.SplitSeq(body, ";") {
		part = strings.TrimSpace(regexp.MustCompile(`(?m)^\s*#.*$`).ReplaceAllString(part, ""))
		m := member.FindStringSubmatch(part)
		if m == nil || strings.HasPrefix(part, "static ") || strings.HasPrefix(part, "return ") || strings.HasPrefix(part, "friend ") || strings.Contains(part, "(") && !strings.Contains(part, "<") ||
			strings.HasPrefix(part, "using ") {
			continue
		}
		typ := strings.TrimSpace(strings.TrimSuffix(strings.TrimSuffix(strings.TrimSpace(m[1]), "const"), " "))
		size, align := sizeOf(typ, sizes)
		if size == 0 {
			continue
		}
		at = (at + align - 1) / align * align
		out[m[2]] = at
		at, most = at+size, max(most, align)
	}
	out["sizeof"] = (at + most - 1) / most * most
	return out
}

// sizeOf is the size and the alignment of a type of C++; 0 if it is not known.
func sizeOf(typ string, sizes map[string]int) (size, align int) {
	if n, ok := sizes[typ]; ok {
		return n, 8
	}
	switch {
	case strings.HasSuffix(typ, "*"), strings.HasPrefix(typ, "std::unique_ptr<"), strings.HasSuffix(typ, "::Token"), typ == "size_t", typ == "uint64_t",
		typ == "std::atomic<size_t>":
		return 8, 8
	case strings.HasPrefix(typ, "std::shared_ptr<"):
		return 16, 8
	case strings.HasPrefix(typ, "std::vector<"):
		return 24, 8
	case strings.HasPrefix(typ, "std::map<"), strings.HasPrefix(typ, "std::set<"), typ == "DisjointAllocationPool": // a set of regions
		return 48, 8
	case typ == "base::RecursiveMutex", typ == "base::Mutex": // those of pthreads
		return 40, 8
	case typ == "WasmImportWrapperCache": // a mutex and an unordered_map
		return 40 + 56, 8
	case typ == "int", typ == "uint32_t", typ == "CompileTimeImports", strings.HasPrefix(typ, "Wasm") && strings.HasSuffix(typ, "Features"):
		return 4, 4
	case typ == "bool", typ == "uint8_t", typ == "std::atomic<bool>":
		return 1, 1
	}
	return 0, 1
}

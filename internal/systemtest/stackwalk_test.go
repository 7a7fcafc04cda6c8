package systemtest

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/corewalk/corewalk"
	"github.com/corewalk/corewalk/internal/fixture"
	"github.com/corewalk/corewalk/internal/format/minidump/dumpbuild"
	"github.com/corewalk/corewalk/report"
)

// stackwalkSchema is the shape of minidump-stackwalk's JSON, as its json-schema.md and
// its output have it: the path of each field, and its type. hex is a string of
// hexadecimal digits as wide as a pointer; any is anything; a type with ? may be null;
// a path with ? may be absent.
const stackwalkSchema = `
status string
pid number?
process_uptime number?
crash_info object
crash_info.type string?
crash_info.address hex?
crash_info.adjusted_address object?
crash_info.adjusted_address.kind string
crash_info.adjusted_address.address? hex
crash_info.adjusted_address.offset? hex
crash_info.instruction string?
crash_info.memory_accesses list?
crash_info.memory_accesses[] object
crash_info.memory_accesses[].address hex
crash_info.memory_accesses[].size number?
crash_info.memory_accesses[].is_likely_guard_page? bool
crash_info.memory_accesses[].access_type? string
crash_info.instruction_pointer_update object?
crash_info.instruction_pointer_update.address hex
crash_info.instruction_pointer_update.is_likely_guard_page? bool
crash_info.possible_bit_flips list?
crash_info.possible_bit_flips[] object
crash_info.possible_bit_flips[].address hex
crash_info.possible_bit_flips[].source_register string?
crash_info.possible_bit_flips[].details object
crash_info.possible_bit_flips[].details.was_non_canonical bool
crash_info.possible_bit_flips[].details.is_null bool
crash_info.possible_bit_flips[].details.was_low bool
crash_info.possible_bit_flips[].details.nearby_registers number
crash_info.possible_bit_flips[].details.poison_registers bool
crash_info.possible_bit_flips[].confidence number?
crash_info.crash_inconsistencies list?
crash_info.crash_inconsistencies[] string
crash_info.crashing_thread number?
crash_info.assertion string?
system_info object
system_info.os string?
system_info.os_ver string?
system_info.cpu_arch string
system_info.cpu_info string?
system_info.cpu_count number?
system_info.cpu_microcode_version string?
linux_memory_map_count number?
thread_count number
threads list
crashing_thread object?
main_module number?
modules_contains_cert_info bool
modules list
modules[] object
modules[].base_addr hex
modules[].end_addr hex
modules[].debug_file string
modules[].debug_id string
modules[].filename string
modules[].code_id string
modules[].version string?
modules[].cert_subject string?
modules[].missing_symbols bool
modules[].loaded_symbols bool
modules[].corrupt_symbols bool
modules[].symbol_url string?
unloaded_modules list
unloaded_modules[] object
unloaded_modules[].base_addr hex
unloaded_modules[].end_addr hex
unloaded_modules[].code_id string
unloaded_modules[].filename string
unloaded_modules[].cert_subject string?
handles list?
handles[] object
handles[].handle number
handles[].type_name string?
handles[].object_name string?
lsb_release object?
lsb_release.id string
lsb_release.release string
lsb_release.codename string
lsb_release.description string
mac_crash_info object?
mac_crash_info.num_records number
mac_crash_info.records list
mac_crash_info.records[] object
mac_crash_info.records[].thread hex?
mac_crash_info.records[].dialog_mode hex?
mac_crash_info.records[].abort_cause hex?
mac_crash_info.records[].module string?
mac_crash_info.records[].message string?
mac_crash_info.records[].signature_string string?
mac_crash_info.records[].backtrace string?
mac_crash_info.records[].message2 string?
mac_boot_args string?
proc_limits object?
proc_limits.limits list
proc_limits.limits[] object
proc_limits.limits[].name string
proc_limits.limits[].soft limit
proc_limits.limits[].hard limit
proc_limits.limits[].unit string
soft_errors any
crashpad_info object?
crashpad_info.version number
crashpad_info.report_id string?
crashpad_info.client_id string?
crashpad_info.simple_annotations strings
crashpad_info.module_list list
crashpad_info.module_list[] object
crashpad_info.module_list[].module_index number?
crashpad_info.module_list[].module string?
crashpad_info.module_list[].list_annotations list
crashpad_info.module_list[].list_annotations[] string
crashpad_info.module_list[].simple_annotations strings
crashpad_info.module_list[].annotation_objects strings
`

// threadSchema is that of a thread: in threads, and as crashing_thread.
const threadSchema = `
THREAD.thread_name string?
THREAD.thread_id number
THREAD.last_error_value string?
THREAD.frame_count number
THREAD.frames list
THREAD.frames[] object
THREAD.frames[].frame number
THREAD.frames[].trust trust
THREAD.frames[].offset hex
THREAD.frames[].module string?
THREAD.frames[].module_offset hex?
THREAD.frames[].unloaded_modules list?
THREAD.frames[].unloaded_modules[] object
THREAD.frames[].unloaded_modules[].module string
THREAD.frames[].unloaded_modules[].offsets list
THREAD.frames[].unloaded_modules[].offsets[] hex
THREAD.frames[].inlines list?
THREAD.frames[].inlines[] object
THREAD.frames[].inlines[].function string?
THREAD.frames[].inlines[].file string?
THREAD.frames[].inlines[].line number?
THREAD.frames[].function string?
THREAD.frames[].function_offset hex?
THREAD.frames[].file string?
THREAD.frames[].line number?
THREAD.frames[].missing_symbols bool
`

// crashingSchema is what crashing_thread has besides.
const crashingSchema = `
threads[] object
crashing_thread.threads_index number
crashing_thread.frames[].registers? hexes
`

type schemaField struct {
	kind               string
	nullable, optional bool
}

// schemaChecker holds documents against the schema, and knows which fields had a value.
type schemaChecker struct {
	fields map[string]schemaField
	hex    *regexp.Regexp
	seen   map[string]bool
}

func newSchemaChecker() *schemaChecker {
	s := &schemaChecker{fields: map[string]schemaField{}, seen: map[string]bool{}}
	text := stackwalkSchema + strings.ReplaceAll(threadSchema, "THREAD", "threads[]") + strings.ReplaceAll(threadSchema, "THREAD", "crashing_thread") + crashingSchema
	for line := range strings.Lines(text) {
		path, kind, ok := strings.Cut(strings.TrimSpace(line), " ")
		if ok {
			bare := strings.TrimSuffix(path, "?")
			s.fields[bare] = schemaField{strings.TrimSuffix(kind, "?"), strings.HasSuffix(kind, "?"), bare != path}
		}
	}
	return s
}

// check wants doc to be one JSON document of the schema.
func (s *schemaChecker) check(t *testing.T, doc []byte) map[string]any {
	t.Helper()
	var v map[string]any
	if err := json.Unmarshal(doc, &v); err != nil {
		t.Fatalf("%v in\n%s", err, doc)
	}
	digits := 16
	if info, ok := v["system_info"].(map[string]any); ok && slices.Contains([]any{"x86", "arm", "ppc", "mips"}, info["cpu_arch"]) {
		digits = 8
	}
	s.hex = regexp.MustCompile(fmt.Sprintf(`^0x[0-9a-f]{%d}$`, digits))
	s.object(t, "", v)
	return v
}

func (s *schemaChecker) object(t *testing.T, path string, v map[string]any) {
	t.Helper()
	for key := range v {
		if _, ok := s.fields[strings.TrimPrefix(path+"."+key, ".")]; !ok {
			t.Errorf("%s.%s is not in the schema", path, key)
		}
	}
	for full, f := range s.fields {
		parent, key := "", full
		if i := strings.LastIndexByte(full, '.'); i >= 0 {
			parent, key = full[:i], full[i+1:]
		}
		if parent != path || strings.HasSuffix(key, "[]") {
			continue
		}
		x, ok := v[key]
		if !ok && !f.optional {
			t.Errorf("%s is absent", full)
		} else if ok {
			s.value(t, full, f, x)
		}
	}
}

func (s *schemaChecker) value(t *testing.T, path string, f schemaField, v any) {
	t.Helper()
	if v == nil {
		if !f.nullable && f.kind != "any" {
			t.Errorf("%s is null", path)
		}
		return
	}
	s.seen[path] = true
	ok := true
	switch f.kind {
	case "string":
		_, ok = v.(string)
	case "bool":
		_, ok = v.(bool)
	case "number":
		_, ok = v.(float64)
	case "hex":
		text, is := v.(string)
		ok = is && s.hex.MatchString(text)
	case "trust":
		ok = slices.Contains([]any{"context", "cfi", "cfi_scan", "frame_pointer", "scan", "prewalked", "none"}, v)
	case "limit":
		_, is := v.(float64)
		ok = is || v == "unlimited"
	case "strings", "hexes":
		m, is := v.(map[string]any)
		ok = is
		for _, x := range m {
			text, is := x.(string)
			ok = ok && is && (f.kind == "strings" || s.hex.MatchString(text))
		}
	case "object":
		m, is := v.(map[string]any)
		if ok = is; is {
			s.object(t, path, m)
		}
	case "list":
		list, is := v.([]any)
		ok = is
		for _, x := range list {
			s.value(t, path+"[]", s.fields[path+"[]"], x)
		}
	}
	if !ok {
		t.Errorf("%s is %v (%T), want %s", path, v, v, f.kind)
	}
}

// stackwalkOf is a target's document.
func stackwalkOf(t *testing.T, target *corewalk.Target) []byte {
	t.Helper()
	r, err := target.Analyze(context.Background(), corewalk.AnalyzeOptions{Include: corewalk.Include{Details: true}})
	if err != nil {
		t.Fatal(err)
	}
	return stackwalkText(t, r)
}

func stackwalkText(t *testing.T, r *report.Report) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := report.WriteStackwalk(&b, r); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// TestStackwalkSchema holds the names and types of all fields, for cores, minidumps,
// and a report that has everything.
func TestStackwalkSchema(t *testing.T) {
	s := newSchemaChecker()
	for _, name := range []string{"amd64-abort", "amd64-inline-tail-O2", "amd64-signal-altstack", "i386-crash-O0", "arm-crash-O0", "aarch64-crash-O0", "amd64-clang-O2-fault", "amd64-mingw-deep"} {
		t.Run(name, func(t *testing.T) { s.check(t, stackwalkOf(t, openCase(t, fixture.Get(t, name)))) })
	}
	for name, data := range dumpbuild.Samples() {
		t.Run(name, func(t *testing.T) { s.check(t, stackwalkOf(t, openBytes(t, name, data))) })
	}
	t.Run("everything", func(t *testing.T) { s.check(t, stackwalkText(t, fullReport())) })
	t.Run("not canonical", func(t *testing.T) {
		r := fullReport()
		r.Crash.AdjustedAddress = &report.AdjustedAddress{Kind: report.AdjustedNonCanonical, Address: 0xdead000000000000}
		s.check(t, stackwalkText(t, r))
	})
	t.Run("nothing", func(t *testing.T) { s.check(t, stackwalkText(t, &report.Report{})) })
	if strings.Contains(flag.Lookup("test.run").Value.String(), "/") {
		return // not all of the documents
	}
	for path, f := range s.fields {
		if !s.seen[path] && path != "modules[].cert_subject" && path != "modules[].symbol_url" && path != "unloaded_modules[].cert_subject" {
			t.Errorf("no document had %s, which is %+v", path, f)
		}
	}
}

func openBytes(t *testing.T, name string, data []byte) *corewalk.Target {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, data, 0o644); err != nil {
		t.Fatal(err)
	}
	target, err := corewalk.Open(context.Background(), path, corewalk.WithSysroot(t.TempDir()), corewalk.WithDebugDir(t.TempDir()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { target.Close() })
	return target
}

// fullReport has what no fixture has all of.
func fullReport() *report.Report {
	addr, index, up := report.Addr(0x48), 1, 12
	return &report.Report{
		Dump: report.Dump{Arch: "x86-64", OS: "linux", PID: 7},
		Crash: &report.Crash{Signal: "SIGSEGV", Code: "SEGV_MAPERR", Address: &addr, Thread: 7, Message: "assertion failed",
			AdjustedAddress: &report.AdjustedAddress{Kind: report.AdjustedNullPointer, Offset: 0x48},
			Instruction:     &report.Instruction{Text: "call [rax+0x48]", Access: "read"},
			Accesses: []report.Access{{Address: 0x48, Size: 8, Kind: report.AccessReadWrite, GuardPage: true},
				{Address: 0x10, Kind: report.AccessExecute, GuardPage: true}},
			BitFlips:        []report.BitFlip{{Address: 0x1000, Register: "rax", Confidence: 0.25}},
			Inconsistencies: []string{report.InconsistentAccess},
		},
		Modules: []report.Module{{Path: `C:\w\b.dll`, Base: 0x7000, End: 0x8000, CodeID: "5F5F2C8817000", DebugID: "5A9832E5287241C1838ED98914E9B7FF1", DebugName: "b.pdb", Version: "1.2.3.4", Symbols: report.SymbolsPDB},
			{Path: "/bin/a", Base: 0x9000, End: 0xa000, BuildID: "f1c3bcc0279865fe3058404b2831d9e64135386c", Symbols: report.SymbolsNone, Main: true}},
		Threads: []report.Thread{{ID: 7, Name: "main", LastError: "ERROR_ACCESS_DENIED", Registers: report.Registers{{Name: "rax"}, {Name: "rip", Value: 0x7010}, {Name: "fs_base", Value: 1}},
			Frames: []report.Frame{
				{PC: 0x7010, Lookup: 0x7010, Module: `C:\w\b.dll`, Function: "inner", Inlined: true, Source: report.Source{File: "b.c", Line: 3}, Trust: report.TrustContext},
				{PC: 0x7010, Lookup: 0x7010, Module: `C:\w\b.dll`, Function: "outer", Entry: 0x7000, Source: report.Source{File: "b.c", Line: 9}, Trust: report.TrustContext},
				{PC: 0x9005, Lookup: 0x9004, Module: "/bin/a", Function: "left", Tail: true, Physical: 1, Trust: report.TrustCFI},
				{PC: 0x9005, Lookup: 0x9004, Module: "/bin/a", Physical: 1, Trust: report.TrustCFI},
				{PC: 0x5005, Lookup: 0x5004, Physical: 2, Trust: report.TrustScan},
			}}},
		Details: &report.Details{
			System:          report.System{Version: "5.4.0", CPU: "family 6", CPUs: 4, Microcode: "0xf0", Distribution: &report.Distribution{ID: "Debian"}},
			Uptime:          &up,
			Mappings:        35,
			UnloadedModules: []report.UnloadedModule{{Path: `C:\old.dll`, Base: 0x5000, End: 0x6000, CodeID: "B1054D2A1000"}, {Path: `D:\old.dll`, Base: 0x4000, End: 0x6000}},
			Handles:         []report.Handle{{Value: 4, Type: "File", Object: `\Device\Null`}},
			Crashpad:        &report.Crashpad{Version: 1, ReportID: "r", ClientID: "c"},
			Annotations: []report.Annotation{{Kind: report.AnnotationSimple, Key: "k", Value: "v"}, {Kind: report.AnnotationList, ModuleIndex: &index, Module: "/bin/a", Value: "line"},
				{Kind: report.AnnotationObject, ModuleIndex: &index, Module: "/bin/a", Key: "o", Value: "x"}},
			Limits:     []report.Limit{{Name: "Max open files", Soft: "1024", Hard: "unlimited", Unit: "files"}},
			MacCrashes: []report.MacCrash{{Module: "m", Message: "a", Message2: "b", Signature: "s", Backtrace: "t", Thread: 1, DialogMode: 2, AbortCause: 3}},
			BootArgs:   "-v",
			SoftErrors: `[{"InitErrors": ["\u202ex", 1, null, true]}]`,
		},
	}
}

// TestStackwalkDocument compares parts of the documents with what minidump-stackwalk
// writes for the same.
func TestStackwalkDocument(t *testing.T) {
	doc := stackwalkText(t, fullReport())
	for _, want := range []string{
		`"type": "SIGSEGV / SEGV_MAPERR"`, `"address": "0x0000000000000048"`, `{"kind": "null-pointer", "offset": "0x0000000000000048"}`,
		`{"address": "0x0000000000000048", "size": 8, "is_likely_guard_page": true, "access_type": "readwrite"}`,
		`"instruction_pointer_update": {"address": "0x0000000000000010", "is_likely_guard_page": true}`, `"main_module": 0`,
		`"debug_file": "a", "debug_id": "C0BCC3F19827FE653058404B2831D9E60", "filename": "a", "code_id": "f1c3bcc0279865fe3058404b2831d9e64135386c"`,
		`"debug_file": "b.pdb", "debug_id": "5A9832E5287241C1838ED98914E9B7FF1", "filename": "b.dll", "code_id": "5f5f2c8817000", "version": "1.2.3.4"`,
		`"registers": {"rax": "0x0000000000000000", "rip": "0x0000000000007010"}`,
		`"inlines": [{"function": "inner", "file": "b.c", "line": 3}], "function": "outer", "function_offset": "0x0000000000000010", "file": "b.c", "line": 9`,
		`"frame": 1, "trust": "cfi", "offset": "0x0000000000009004", "module": "a", "module_offset": "0x0000000000000004", "unloaded_modules": null, "inlines": null, "function": null`,
		`"unloaded_modules": [{"module": "old.dll", "offsets": ["0x0000000000000004", "0x0000000000001004"]}]`,
		`"frame_count": 3`, `"soft": 1024, "hard": "unlimited"`, `"soft_errors": [{"InitErrors": ["\u202ex", 1, null, true]}]`,
	} {
		if !bytes.Contains(doc, []byte(want)) {
			t.Errorf("no %s in\n%s", want, doc)
		}
	}
	if i, j := bytes.Index(doc, []byte(`"filename": "a"`)), bytes.Index(doc, []byte(`"filename": "b.dll"`)); i > j {
		t.Error("the main module does not come first")
	}
}

// TestStackwalkCorpus compares the documents of other projects' dumps with facts that
// minidump-stackwalk's own tests record of them.
func TestStackwalkCorpus(t *testing.T) {
	files := foreignDumps(t)
	found, _ := filepath.Glob(filepath.Join(files, "*", "*.dmp"))
	more, _ := filepath.Glob(filepath.Join(files, "*", "*", "*.dmp"))
	all := newSchemaChecker()
	for _, path := range append(found, more...) {
		target, err := corewalk.Open(context.Background(), path, corewalk.WithSysroot(t.TempDir()), corewalk.WithDebugDir(t.TempDir()))
		if err != nil {
			if target != nil {
				target.Close()
			}
			continue // refused, which another test is about
		}
		t.Run(filepath.Base(path), func(t *testing.T) { all.check(t, stackwalkOf(t, target)) })
		target.Close()
	}
	if len(found) == 0 {
		t.Error("no dumps")
	}
	for name, facts := range map[string]map[string]any{
		"rust-minidump/test.dmp": {
			"status": "OK", "pid": 3932.0, "thread_count": 2.0, "main_module": 0.0, "linux_memory_map_count": nil, "lsb_release": nil,
			"crash_info.type": "EXCEPTION_ACCESS_VIOLATION_WRITE", "crash_info.address": "0x00000045", "crash_info.crashing_thread": 0.0,
			"system_info.os": "Windows NT", "system_info.os_ver": "5.1.2600 Service Pack 2", "system_info.cpu_arch": "x86",
			"system_info.cpu_info": "GenuineIntel family 6 model 13 stepping 8", "system_info.cpu_count": 1.0,
			"crashing_thread.thread_id": 3060.0, "crashing_thread.frame_count": 4.0, "crashing_thread.last_error_value": nil,
			"crashing_thread.frames.0.registers.eip": "0x0040429e", "crashing_thread.frames.0.registers.eflags": "0x00010246",
			"crashing_thread.frames.0.trust": "context", "crashing_thread.frames.1.trust": "frame_pointer",
			"crashing_thread.frames.1.offset": "0x004041ff", "crashing_thread.frames.1.module_offset": "0x000041ff",
			"crashing_thread.frames.3.module": "kernel32.dll", "crashing_thread.frames.3.offset": "0x7c816fd6",
			"modules.0.filename": "test_app.exe", "modules.0.base_addr": "0x00400000", "modules.0.end_addr": "0x0042d000", "modules.0.version": nil,
			"modules.0.debug_file": "test_app.pdb", "modules.0.debug_id": "5A9832E5287241C1838ED98914E9B7FF1", "modules.0.code_id": "45d35f6c2d000",
		},
		"rust-minidump/linux-mini.dmp": {
			"pid": 1304.0, "thread_count": 1.0, "linux_memory_map_count": 35.0, "crash_info.type": "SIGSEGV", "crash_info.address": "0x0000000000000045",
			"crash_info.memory_accesses.0.address": "0x0000000000000045", "crash_info.memory_accesses.0.size": 4.0, "crash_info.memory_accesses.0.access_type": "write",
			"system_info.os": "Linux", "system_info.os_ver": "4.9.60-linuxkit-aufs #1 SMP Mon Nov 6 16:00:12 UTC 2017", "system_info.cpu_arch": "amd64",
			"system_info.cpu_info": "family 6 model 70 stepping 1", "system_info.cpu_count": 4.0,
			"lsb_release.id": "Ubuntu", "lsb_release.release": "16.04", "lsb_release.codename": "xenial", "lsb_release.description": "Ubuntu 16.04.3 LTS",
			"crashing_thread.thread_id": 1304.0, "crashing_thread.frames.0.module_offset": "0x0000000000001d72",
			"crashing_thread.frames.0.registers.rip": "0x0000000000401d72", "crashing_thread.frames.0.registers.r15": "0x0000000000000000",
			"modules.0.filename": "crash", "modules.0.debug_id": "C0BCC3F19827FE653058404B2831D9E60", "modules.0.code_id": "f1c3bcc0279865fe3058404b2831d9e64135386c",
		},
	} {
		t.Run(name, func(t *testing.T) {
			data, err := os.ReadFile(filepath.Join(files, name))
			if err != nil {
				t.Fatal(err)
			}
			doc := newSchemaChecker().check(t, stackwalkOf(t, openBytes(t, "x.dmp", data)))
			for path, want := range facts {
				if got := at(doc, path); got != want {
					t.Errorf("%s is %v, want %v", path, got, want)
				}
			}
		})
	}
}

// at follows a path of keys and indexes.
func at(v any, path string) any {
	for key := range strings.SplitSeq(path, ".") {
		switch x := v.(type) {
		case map[string]any:
			v = x[key]
		case []any:
			i, err := strconv.Atoi(key)
			if err != nil || i >= len(x) {
				return "nothing at " + path
			}
			v = x[i]
		default:
			return "nothing at " + path
		}
	}
	return v
}

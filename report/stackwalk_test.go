package report

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"strings"
	"testing"
)

// hostileEverywhere sets all strings in v.
func hostileEverywhere(v reflect.Value) {
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				hostileEverywhere(v.Field(i))
			}
		}
	case reflect.Slice:
		for i := range v.Len() {
			hostileEverywhere(v.Index(i))
		}
	case reflect.Pointer:
		if !v.IsNil() {
			hostileEverywhere(v.Elem())
		}
	case reflect.String:
		v.SetString(hostile)
	}
}

// TestHostileInfo checks that nothing in a dump reaches the terminal as a command.
func TestHostileInfo(t *testing.T) {
	in := filled[Info]()
	hostileEverywhere(reflect.ValueOf(in).Elem())
	for _, format := range []string{FormatMinidump, hostile} {
		in.Dump.Format = format
		var text, doc bytes.Buffer
		if err := WriteInfoText(&text, in, TextOptions{}); err != nil {
			t.Fatal(err)
		}
		if format == FormatMinidump {
			checkText(t, text.String(), false, 4000)
		}
		if err := WriteInfoJSON(&doc, in); err != nil {
			t.Fatal(err)
		}
		obeyed(t, doc.Bytes())
	}
}

// TestHostileStackwalk is the same for minidump-stackwalk's JSON.
func TestHostileStackwalk(t *testing.T) {
	r := filled[Report]()
	hostileEverywhere(reflect.ValueOf(r).Elem())
	for _, soft := range []string{hostile, `{"\u202e": ["\u202e\u001b[31m", {"a": 1e999}]}`, "{", strings.Repeat("[", 20000)} {
		r.Details.SoftErrors = soft
		var doc bytes.Buffer
		if err := WriteStackwalk(&doc, r); err != nil {
			t.Fatal(err)
		}
		obeyed(t, doc.Bytes())
	}
	if err := WriteStackwalk(brokenWriter{}, r); !errors.Is(err, errBroken) {
		t.Errorf("error %v", err)
	}
}

// obeyed requires valid JSON without anything that a terminal obeys.
func obeyed(t *testing.T, doc []byte) {
	t.Helper()
	if !json.Valid(doc) {
		t.Errorf("no JSON: %s", doc)
	}
	for line := range strings.Lines(string(doc)) {
		if line = strings.TrimSuffix(line, "\n"); clean(line) != line {
			t.Errorf("not clean: %q", line)
		}
	}
}

// TestRegisterNames checks registers that have another name in minidump-stackwalk.
// Of a deep stack the copy of the crashing thread has the youngest and the oldest frames; the list of threads has all.
func TestStackwalkCopy(t *testing.T) {
	for _, n := range []int{2 * maxCopied, 2*maxCopied + 3} {
		th := Thread{ID: 1, Crashed: true}
		for i := range n {
			th.Frames = append(th.Frames, Frame{Index: i, Physical: i, PC: Addr(i)})
		}
		var out bytes.Buffer
		if err := WriteStackwalk(&out, &Report{Threads: []Thread{th}, Crash: &Crash{Thread: 1}}); err != nil {
			t.Fatal(err)
		}
		type thread struct {
			Count  int `json:"frame_count"`
			Frames []struct{ Frame int }
		}
		var doc struct {
			Threads []thread
			Copy    thread `json:"crashing_thread"`
		}
		if err := json.Unmarshal(out.Bytes(), &doc); err != nil {
			t.Fatal(err)
		}
		if w := doc.Threads[0]; w.Count != n || len(w.Frames) != n {
			t.Errorf("%d frames, %d in all", len(w.Frames), w.Count)
		}
		c := doc.Copy
		if c.Count != 2*maxCopied || len(c.Frames) != c.Count || c.Frames[maxCopied-1].Frame != maxCopied-1 || c.Frames[maxCopied].Frame != n-maxCopied {
			t.Errorf("of %d frames %d, %d", n, c.Count, len(c.Frames))
		}
	}
}

func TestRegisterNames(t *testing.T) {
	for _, tt := range []struct{ arch, name, want string }{
		{"x86-64", "rax", "rax"}, {"x86-64", "r15", "r15"}, {"x86-64", "rip", "rip"}, {"x86-64", "rflags", ""}, {"x86-64", "fs_base", ""},
		{"i386", "eax", "eax"}, {"i386", "eflags", "eflags"}, {"i386", "gs_base", ""}, {"i386", "es", ""},
		{"aarch64", "x28", "x28"}, {"aarch64", "x29", "fp"}, {"aarch64", "x30", "lr"}, {"aarch64", "sp", "sp"}, {"aarch64", "cpsr", ""}, {"aarch64", "d8", ""},
		{"arm", "r11", "fp"}, {"arm", "r12", "r12"}, {"arm", "lr", "lr"}, {"arm", "cpsr", ""}, {"arm", "orig_r0", ""}, {"arm", "thumb", ""},
		{"ppc64le", "r1", "r1"}, {"riscv64", "a0", "a0"},
	} {
		if got := registerName(tt.arch, tt.name); got != tt.want {
			t.Errorf("%s %s is %q, want %q", tt.arch, tt.name, got, tt.want)
		}
	}
}

// TestInstruction checks how far before its return address a frame's instruction is.
func TestInstruction(t *testing.T) {
	for _, tt := range []struct {
		arch             string
		pc, lookup, want Addr
	}{
		{"x86-64", 0x1000, 0x1000, 0x1000}, {"x86-64", 0x1000, 0xfff, 0xfff}, {"aarch64", 0x1000, 0xfff, 0xffc}, {"arm", 0x1000, 0xfff, 0xffe},
		{"mipsel", 0x1000, 0xfff, 0xff8}, {"aarch64", 2, 1, 0}, {"x86-64", 0, 0, 0}, {"x86-64", 0x1000, 0, 0x1000},
	} {
		f := Frame{PC: tt.pc, Lookup: tt.lookup}
		if got := instruction(&f, tt.arch); got != tt.want {
			t.Errorf("%+v: %v", tt, got)
		}
	}
}

// TestWanted checks which files are listed for each kind of module.
func TestWanted(t *testing.T) {
	for _, tt := range []struct {
		m    Module
		want string
	}{
		{Module{Path: "/lib/a.so", BuildID: "c0ffee", Status: ModuleMissing}, "c0ffee"},
		{Module{Path: `C:\a b$(x).dll`, CodeID: "5F5F2C8817000", DebugID: "0000000100020003040000000000000a", DebugName: "../a.pdb", Status: ModuleMissing},
			"a%20b%24%28x%29.dll/5F5F2C8817000/a%20b%24%28x%29.dll ..%2Fa.pdb/0000000100020003040000000000000A/..%2Fa.pdb"},
		{Module{Path: `C:\a.dll`, CodeID: "5F5F2C8817000", DebugID: "01", DebugName: "a.pdb", Status: ModuleMatched, File: "/b/a.dll", Symbols: SymbolsExports}, "a.pdb/01/a.pdb"},
		{Module{Path: `C:\a.dll`, CodeID: "5F5F2C8817000", DebugID: "01", DebugName: "a.pdb", Status: ModuleMatched, File: "/b/a.dll", Symbols: SymbolsPDB}, ""},
		{Module{Path: `C:\..`, CodeID: "5F5F2C8817000", Status: ModuleMissing}, ""},
		{Module{Path: "/usr/lib/dyld", CodeID: "EF1091E381DA369B9039EA1591D07E0B", DebugID: "EF1091E381DA369B9039EA1591D07E0B0", Status: ModuleMissing}, "EF1091E381DA369B9039EA1591D07E0B0"},
		{Module{Path: "x", BuildID: "$(reboot)", Status: ModuleMissing}, ""},
	} {
		if got := strings.Join(tt.m.Wanted(), " "); got != tt.want {
			t.Errorf("%+v:\nhave %s\nwant %s", tt.m, got, tt.want)
		}
	}
}

// The paths of what is missing become parts of commands: they have nothing in them that a shell takes for more than text.
func TestStorePaths(t *testing.T) {
	const id = "00112233445566778899AABBCCDDEEFF0"
	for _, x := range []struct {
		m    Module
		want string
	}{
		{Module{Path: "/a/b", BuildID: "abcd", Status: ModuleMatched, File: "/a/b"}, "[buildid/abcd/debuginfo]"},
		{Module{Path: "/a/b", BuildID: "abcd", Status: ModuleMismatched, File: "/a/b"}, "[buildid/abcd/executable buildid/abcd/debuginfo]"},
		{Module{Path: "/a/b", BuildID: "abcd", Status: ModuleMatched, File: "/a/b", Symbols: SymbolsDWARF}, "[]"},
		{Module{Path: "C:\\a b.exe", CodeID: "1"}, "[a%20b.exe/1/a%20b.exe]"},
		{Module{Path: "/Applications/Shop.app/Shop", DebugID: strings.ToLower(id)}, "[Shop/" + id + "/Shop.sym]"},
		{Module{Path: "/tmp/$(reboot)", DebugID: id}, "[]"},
		{Module{Path: "/tmp/a b", DebugID: id}, "[]"},
		{Module{Path: "/tmp/..", DebugID: id}, "[]"},
		{Module{Path: "/tmp/'", DebugID: id}, "[]"},
	} {
		if got := fmt.Sprint(x.m.StorePaths()); got != x.want {
			t.Errorf("%+v: %s, want %s", x.m, got, x.want)
		}
	}
}

func BenchmarkWriteStackwalk(b *testing.B) {
	for _, n := range []int{12_000, 262_144} {
		r := deepReport(n)
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				WriteStackwalk(io.Discard, r)
			}
		})
	}
}

// Modules are in the order of the dump's list, with its names and sizes. Symbols are missing where frames needed
// some. The thread that wrote the dump has no frames.
func TestStackwalkModules(t *testing.T) {
	frame := func(module string, pc Addr) Frame {
		return Frame{PC: pc, Lookup: pc, Module: module, Trust: TrustContext}
	}
	r := &Report{Dump: Dump{Arch: "x86-64", OS: "linux"}, Details: &Details{WritingThread: 8, Exception: &ExceptionRecord{Thread: 7, Code: 8, Address: 0x1234}},
		Crash: &Crash{Signal: "SIGFPE", SignalNumber: 8, Thread: 7},
		Modules: []Module{
			{Path: "/usr/lib/libb.so.1.2.3", Base: 0x1000, End: 0x9000, Symbols: SymbolsNone, Listed: &ListedModule{3, "libb.so.1", 0x2000}},
			{Path: "/bin/a", Base: 0x10000, End: 0x20000, Main: true, Symbols: SymbolsNone, Listed: &ListedModule{1, "/bin/a", 0x8000}},
			{Path: "[vdso]", Base: 0x30000, End: 0x31000, Symbols: SymbolsNone},
			{Path: "/lib/c.so", Base: 0x40000, End: 0x41000, Symbols: SymbolsDWARF, Listed: &ListedModule{2, "c.so", 0x1000}},
		},
		Threads: []Thread{{ID: 7, Frames: []Frame{frame("/usr/lib/libb.so.1.2.3", 0x1100), frame("/lib/c.so", 0x40010)}}, {ID: 8, Frames: []Frame{frame("/bin/a", 0x10010)}}}}
	var doc bytes.Buffer
	if err := WriteStackwalk(&doc, r); err != nil {
		t.Fatal(err)
	}
	var got struct {
		CrashInfo struct{ Address *string } `json:"crash_info"`
		Modules   []struct {
			Filename string
			End      string `json:"end_addr"`
			Missing  bool   `json:"missing_symbols"`
		}
		Threads []struct {
			Count  int `json:"frame_count"`
			Frames []struct{ Module string }
		}
	}
	if err := json.Unmarshal(doc.Bytes(), &got); err != nil {
		t.Fatal(err)
	}
	text := fmt.Sprint(got.Modules)
	if want := "[{a 0x0000000000018000 false} {c.so 0x0000000000041000 false} {libb.so.1 0x0000000000003000 true} {[vdso] 0x0000000000031000 false}]"; text != want {
		t.Errorf("%s, not %s", text, want)
	}
	if got.CrashInfo.Address == nil || *got.CrashInfo.Address != "0x0000000000001234" {
		t.Errorf("address %v", got.CrashInfo.Address)
	}
	if th := got.Threads; th[0].Count != 2 || th[0].Frames[0].Module != "libb.so.1" || th[1].Count != 0 || len(th[1].Frames) != 0 {
		t.Errorf("%+v", th)
	}
	// The number in the record of a signal that was sent is not an address.
	for _, c := range []Crash{{Signal: "SIGFPE", Code: "SI_USER"}, {Signal: "SIGABRT", Code: "SI_TKILL"}, {Signal: "SIGSEGV", Code: "SI_QUEUE"}, {Signal: "SIGTERM"}} {
		c.Thread = 7
		r.Crash = &c
		doc.Reset()
		if err := WriteStackwalk(&doc, r); err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(doc.Bytes(), &got); err != nil || got.CrashInfo.Address != nil {
			t.Errorf("%s: address %v, %v", c.Signal, *got.CrashInfo.Address, err)
		}
	}
}

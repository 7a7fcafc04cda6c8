package minidump_test

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/corewalk/corewalk/internal/format/minidump"
	"github.com/corewalk/corewalk/internal/format/minidump/dumpbuild"
	"github.com/corewalk/corewalk/unwind/arch"
)

func parse(t *testing.T, d *dumpbuild.Dump) *minidump.File {
	t.Helper()
	f, err := minidump.Parse(d.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// warned checks that there are exactly the given warnings, each identified by part of its
// text.
func warned(t *testing.T, f *minidump.File, want ...string) {
	t.Helper()
	if len(f.Warnings) != len(want) {
		t.Errorf("warnings %q, want %q", f.Warnings, want)
		return
	}
	for i, w := range want {
		if !strings.Contains(f.Warnings[i], w) {
			t.Errorf("warning %q, want %q", f.Warnings[i], w)
		}
	}
}

const (
	cpuX86, cpuAMD64 = 0, 9
	winNT, linux     = 2, 0x8201
)

// windows begins a dump of Windows on amd64.
func windows() *dumpbuild.Dump {
	d := dumpbuild.New(false)
	d.System(cpuAMD64, winNT, 10, 0, 19045, "Service Pack 1")
	return d
}

func TestHeader(t *testing.T) {
	good := windows().Bytes()
	for _, tt := range []struct {
		name string
		data []byte
		want error
	}{
		{"whole", good, nil},
		{"empty", nil, minidump.ErrNotMinidump},
		{"elf", []byte("\x7fELF................................"), minidump.ErrNotMinidump},
		{"header cut off", good[:31], minidump.ErrTruncated},
		{"no directory", good[:32], minidump.ErrTruncated},
		{"directory cut off", good[:40], minidump.ErrTruncated},
	} {
		if _, err := minidump.Parse(tt.data); !errors.Is(err, tt.want) {
			t.Errorf("%s: %v, want %v", tt.name, err, tt.want)
		}
	}
	d := windows()
	d.Version, d.Time, d.Flags = 0x1234a793, 1000, 5
	f := parse(t, d)
	if f.Time != 1000 || f.Flags != 5 || f.Big {
		t.Errorf("time %d flags %d big %v", f.Time, f.Flags, f.Big)
	}
	warned(t, f)
	d.Version = 1
	warned(t, parse(t, d), "header has version 0x1")
	// More streams than there is room for.
	many := windows().Bytes()
	copy(many[8:], []byte{0xff, 0xff, 0xff, 0xff})
	f, err := minidump.Parse(many)
	if err != nil || len(f.Warnings) == 0 || !strings.Contains(f.Warnings[0], "4294967295 streams") {
		t.Errorf("%v %q", err, f.Warnings)
	}
}

func TestStreams(t *testing.T) {
	d := windows()
	d.Stream(0, nil)
	d.Stream(0, nil)
	d.Misc(1, 11, 0)
	d.Misc(1, 12, 0)
	d.Stream(15, nil)               // an empty one is no other
	d.Stream(0x12345678, []byte{1}) // unknown
	d.StreamAt(17, dumpbuild.Loc{Size: 100, Off: 1 << 30})
	f := parse(t, d)
	if f.ProcessID() != 12 || len(f.Streams) != 8 {
		t.Errorf("pid %d, %d streams", f.ProcessID(), len(f.Streams))
	}
	if got := f.Streams[6].Type.String(); got != "0x12345678" {
		t.Errorf("unknown stream %s", got)
	}
	warned(t, f, "ThreadInfoList: has 100 bytes at offset 0x40000000, but only 0", "MiscInfo: occurs several times")
}

func TestSystem(t *testing.T) {
	for _, tt := range []struct {
		cpu                 uint16
		platform            uint32
		big                 bool
		arch                *arch.Arch
		name, version, proc string
	}{
		{0, 2, false, arch.X86, "Windows", "10.0.7 sp", "GenuineIntel family 6 model 26 stepping 5"},
		{9, 2, false, arch.AMD64, "Windows", "10.0.7 sp", "family 6 model 26 stepping 5"},
		{10, 1, false, arch.X86, "Windows", "10.0.7 sp", "family 6 model 26 stepping 5"},
		{12, 0x8102, false, arch.ARM64, "iOS", "10.0.7 sp", "aarch64"},
		{0x8003, 0x8203, false, arch.ARM64, "Android", "10.0.7 sp", "aarch64"},
		{5, 0x8203, false, arch.ARM, "Android", "10.0.7 sp", "arm"},
		{3, 0x8101, true, arch.PPC, "macOS", "10.0.7 sp", "ppc"},
		{0x8002, 0x8101, true, arch.PPC64, "macOS", "10.0.7 sp", "ppc64"},
		{1, 0x8201, true, arch.MIPS, "Linux", "10.0.7 sp", "mips"},
		{1, 0x8201, false, arch.MIPSEL, "Linux", "10.0.7 sp", "mips"},
		{0x8004, 0x8201, false, arch.MIPS64EL, "Linux", "10.0.7 sp", "mips64"},
		{0x8001, 0x8202, true, arch.SPARC64, "Solaris", "10.0.7 sp", "sparc64"},
		{0x8006, 0x8206, false, arch.RISCV64, "Fuchsia", "10.0.7 sp", "riscv64"},
		{6, 2, false, nil, "Windows", "10.0.7 sp", "ia64"},
		{0x77, 0x9999, false, nil, "platform 0x9999", "10.0.7 sp", "processor 0x77"},
	} {
		d := dumpbuild.New(tt.big)
		d.System(tt.cpu, tt.platform, 10, 0, 7, "sp")
		f := parse(t, d)
		if s := &f.System; f.Arch() != tt.arch || s.Platform.String() != tt.name || s.Version() != tt.version || s.Processor() != tt.proc || f.Big != tt.big {
			t.Errorf("%+v: %v %s %q %q", tt, f.Arch(), s.Platform, s.Version(), s.Processor())
		}
	}
	d := dumpbuild.New(false)
	d.System(cpuAMD64, linux, 0, 0, 0, "Linux 5.4.12-generic #30 SMP x86_64")
	if s := parse(t, d).System; s.Major != 5 || s.Minor != 4 || s.Build != 12 {
		t.Errorf("kernel %d.%d.%d", s.Major, s.Minor, s.Build)
	}
	none := parse(t, dumpbuild.New(false).With(0x99, []byte{1}))
	if none.Arch() != nil || none.System.Platform.String() != "unknown" {
		t.Errorf("no SystemInfo: %v %v", none.Arch(), none.System.Platform)
	}
	warned(t, none, "no SystemInfo")
}

func TestStrings(t *testing.T) {
	d := windows()
	d.Modules(
		dumpbuild.Module{Base: 1 << 20, Size: 16, Name: `C:\ünï\日本.exe`},
		dumpbuild.Module{Base: 2 << 20, Size: 16, NameAt: d.UTF16([]uint16{'a', 0xd800, 'b'})}, // half a character
		dumpbuild.Module{Base: 3 << 20, Size: 16, NameAt: d.UTF16([]uint16{'a', 'b', 0, 'c'})},
		dumpbuild.Module{Base: 4 << 20, Size: 16, NameAt: d.Blob([]byte{3, 0, 0, 0, 'x', 0, 'y'}).Off}, // odd length
		dumpbuild.Module{Base: 5 << 20, Size: 16, NameAt: 0xfffffff0},
		dumpbuild.Module{Base: 6 << 20, Size: 16, NameAt: d.Blob([]byte{0xff, 0xff, 0xff, 0xff, 'x', 0}).Off}, // too long
	)
	f := parse(t, d)
	var got []string
	for _, m := range f.Modules {
		got = append(got, m.Path)
	}
	got[5] = got[5][:1]
	if want := []string{`C:\ünï\日本.exe`, "a\xed\xa0\x80b", "ab", "x", "", "x"}; !slices.Equal(got, want) {
		t.Errorf("names %q, want %q", got, want)
	}
	if f.Modules[0].Name() != "日本.exe" {
		t.Errorf("base name %q", f.Modules[0].Name())
	}
	warned(t, f, "its name at offset 0xfffffff0", "has 4294967295 bytes")
}

// Many entries that refer to one long string must not multiply its cost.
func TestStringsBounded(t *testing.T) {
	d := windows()
	at := d.String(strings.Repeat("long ", 12000))
	list := make([]dumpbuild.Module, 4000)
	for i := range list {
		list[i] = dumpbuild.Module{Base: uint64(i) << 20, Size: 1, NameAt: at}
	}
	d.Modules(list...)
	f := parse(t, d)
	total := 0
	for _, m := range f.Modules {
		total += len(m.Path)
	}
	if limit := 1<<20 + 4*len(f.Data); total > limit || len(f.Modules) != len(list) {
		t.Errorf("%d bytes of names in %d modules, limit %d", total, len(f.Modules), limit)
	}
}

func TestThreads(t *testing.T) {
	for _, pad := range []bool{false, true} {
		d := windows()
		stack := d.Blob([]byte("stack bytes"))
		ctx := d.Blob(d.AMD64(0x10000b, 0x401000, 0x7000, 0))
		d.Threads(pad,
			dumpbuild.Thread{ID: 5, Suspend: 1, Class: 32, Priority: 8, TEB: 0x7ff0, StackStart: 0x7000, Stack: stack, Context: ctx},
			dumpbuild.Thread{ID: 6},
		)
		d.ThreadNames([]uint32{6, 99, 5}, []string{"worker", "nobody", ""})
		f := parse(t, d)
		if len(f.Threads) != 2 {
			t.Fatalf("pad %v: %d threads", pad, len(f.Threads))
		}
		th := f.Threads[0]
		if th.ID != 5 || th.Suspend != 1 || th.PriorityClass != 32 || th.Priority != 8 || th.TEB != 0x7ff0 || th.StackStart != 0x7000 || len(th.Context) != 1232 {
			t.Errorf("pad %v: %+v", pad, th)
		}
		// The stack counts as memory even if no memory list has it.
		if got := f.Memory.At(0x7000); string(got) != "stack bytes" {
			t.Errorf("stack %q", got)
		}
		if f.Threads[1].Name != "worker" || f.Threads[0].Name != "" || f.Threads[1].Context != nil {
			t.Errorf("names %q %q", f.Threads[0].Name, f.Threads[1].Name)
		}
		if _, err := f.DecodeContext(f.Threads[1].Context); !errors.Is(err, minidump.ErrNoContext) {
			t.Errorf("thread without context: %v", err)
		}
		warned(t, f)
	}
}

func TestThreadsCutOff(t *testing.T) {
	d := windows()
	d.Stream(3, d.W().U32(1000).U32(7, 0, 0, 0).U64(0, 0).U32(0, 0, 100, 0xffffff00).U32(8).B)
	f := parse(t, d)
	if len(f.Threads) != 1 || f.Threads[0].ID != 7 || f.Threads[0].Context != nil {
		t.Fatalf("%+v", f.Threads)
	}
	warned(t, f, "ThreadList: has 1000 entries, but room for only 1", "thread 7: its context")
}

func TestThreadEx(t *testing.T) {
	d := windows()
	d.Stream(8, d.W().U32(1).U32(7, 0, 0, 0).U64(0, 0).U32(0, 0, 0, 0).U64(0x9000).Loc(d.Blob([]byte("register stack"))).B)
	f := parse(t, d)
	if len(f.Threads) != 1 || string(f.Memory.At(0x9000)) != "register stack" {
		t.Errorf("%+v", f.Threads)
	}
}

func TestThreadInfo(t *testing.T) {
	d := windows()
	d.Threads(false, dumpbuild.Thread{ID: 5}, dumpbuild.Thread{ID: 6})
	w := d.W().U32(12, 72, 1).U32(6, 4, 0, 3).U64(1, 2, 3, 4, 0x401000, 15).Zeros(8)
	d.Stream(17, w.B)
	f := parse(t, d)
	if i := f.Threads[1].Info; i == nil || i.Flags != 4 || i.ExitStatus != 3 || i.UserTime != 4 || i.StartAddress != 0x401000 || i.Affinity != 15 {
		t.Errorf("%+v", i)
	}
	if f.Threads[0].Info != nil {
		t.Error("the other thread has information")
	}
	// Entries smaller than the known structure.
	d.Stream(17, d.W().U32(12, 8, 1).Zeros(8).B)
	warned(t, parse(t, d), "ThreadInfoList: occurs several times", "entries have 8 bytes, need 64")
}

func TestModules(t *testing.T) {
	id := []byte{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20}
	d := windows()
	d.Modules(
		dumpbuild.Module{Base: 0x400000, Size: 0x2d000, Stamp: 0x45d35f6c, Checksum: 9, Name: `c:\test_app.exe`, FileHi: 1<<16 | 2, FileLo: 3<<16 | 4,
			CodeView: d.PDB70(0x5a9832e5, 0x2872, 0x41c1, [8]byte{0x83, 0x8e, 0xd9, 0x89, 0x14, 0xe9, 0xb7, 0xff}, 31, `c:\test_app.pdb`)},
		dumpbuild.Module{Base: 0x500000, Size: 0x1000, Stamp: 1, Name: "old.dll", CodeView: d.PDB20(0x3a4b5c6d, 2, "old.pdb")},
		dumpbuild.Module{Base: 0x600000, Size: 0x1000, Name: "/lib/x.so", CodeView: d.BuildID(id)},
		dumpbuild.Module{Base: 0x700000, Size: 0x1000, Name: "none", CodeView: d.BuildID(make([]byte, 20))},
		dumpbuild.Module{Base: 0x800000, Size: 0, Name: "nosize"},
		dumpbuild.Module{Base: 0xfffffffffffff000, Size: 0x2000, Name: "wraps", CodeView: []byte("RSDS short")},
		dumpbuild.Module{Base: 0x900000, Size: 0x1000, Name: "other", CodeView: []byte("NB11....")},
	)
	f := parse(t, d)
	var got []string
	for i := range f.Modules {
		m := &f.Modules[i]
		got = append(got, fmt.Sprintf("%s %#x+%#x v%s debug %s code %s pdb %s", m.Path, m.Base, m.Size, m.Version, m.DebugID(), m.CodeID(), m.DebugFile))
	}
	want := []string{
		`c:\test_app.exe 0x400000+0x2d000 v1.2.3.4 debug 5A9832E5287241C1838ED98914E9B7FF1f code 45D35F6C2d000 pdb c:\test_app.pdb`,
		"old.dll 0x500000+0x1000 v0.0.0.0 debug 3A4B5C6D2 code 000000011000 pdb old.pdb",
		"/lib/x.so 0x600000+0x1000 v0.0.0.0 debug 0403020106050807090A0B0C0D0E0F100 code 0102030405060708090a0b0c0d0e0f1011121314 pdb ",
		"none 0x700000+0x1000 v0.0.0.0 debug  code 000000001000 pdb ",
		"nosize 0x800000+0x0 v0.0.0.0 debug  code  pdb ",
		"wraps 0xfffffffffffff000+0x1000 v0.0.0.0 debug  code 000000001000 pdb ",
		"other 0x900000+0x1000 v0.0.0.0 debug  code 000000001000 pdb ",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	warned(t, f, "nosize: has size 0", "wraps: its CodeView", "wraps: its 0x2000 bytes")
}

// Old Linux dumps have the first 16 bytes of the build-id as a GUID, and plain numbers as
// version.
func TestModulesOfLinux(t *testing.T) {
	d := dumpbuild.New(false)
	d.System(cpuAMD64, linux, 0, 0, 0, "")
	d.Modules(dumpbuild.Module{Base: 0x1000, Size: 0x1000, Name: "/bin/a", FileHi: 1, FileLo: 2, PHi: 3, PLo: 4,
		CodeView: d.PDB70(0x04030201, 0x0605, 0x0807, [8]byte{9, 10, 11, 12, 13, 14, 15, 16}, 0, "a")})
	m := parse(t, d).Modules[0]
	if m.CodeID() != "0102030405060708090a0b0c0d0e0f10" || m.DebugID() != "0403020106050807090A0B0C0D0E0F100" || m.Version != "1.2.3.4" || !m.PartialID {
		t.Errorf("%s %s %s %v", m.CodeID(), m.DebugID(), m.Version, m.PartialID)
	}
	mac := dumpbuild.New(false)
	mac.System(cpuAMD64, 0x8101, 10, 15, 0, "")
	mac.Modules(dumpbuild.Module{Base: 0x1000, Size: 0x1000, Name: "/usr/lib/a.dylib", CodeView: mac.PDB70(0x04030201, 0x0605, 0x0807, [8]byte{9}, 0, "a")})
	if m := parse(t, mac).Modules[0]; m.CodeID() != "04030201060508070900000000000000" || m.DebugID() != m.CodeID()+"0" {
		t.Errorf("macOS: %s %s", m.CodeID(), m.DebugID())
	}
}

func TestUnloaded(t *testing.T) {
	d := windows()
	w := d.W().U32(12, 28, 2)
	w.U64(0x1000).U32(0x1000, 0, 7, d.String("gone.dll"), 0)
	w.U64(0x1800).U32(0x1000, 0, 8, d.String("again.dll"), 0)
	d.Stream(14, w.B)
	f := parse(t, d)
	if n := len(f.UnloadedAt(0x1900)); n != 2 {
		t.Errorf("%d unloaded modules at 0x1900", n)
	}
	if l := f.UnloadedAt(0x2000); len(l) != 1 || l[0].Path != "again.dll" || l[0].Timestamp != 8 {
		t.Errorf("%+v", l)
	}
}

func TestException(t *testing.T) {
	d := windows()
	own := d.Blob(d.AMD64(0x10005f, 0x1111, 0x7000, 0))
	d.Threads(false, dumpbuild.Thread{ID: 1}, dumpbuild.Thread{ID: 2, Context: d.Blob(d.AMD64(0x10005f, 0x2222, 0x7000, 0))})
	d.Exception(dumpbuild.Exception{Thread: 2, Code: 0xc0000005, Address: 0x1111, Params: []uint64{1, 0x45}, Context: own})
	f := parse(t, d)
	e := f.Exception
	if e.ThreadID != 2 || e.Code != 0xc0000005 || e.Address != 0x1111 || !slices.Equal(e.Params, []uint64{1, 0x45}) || f.CrashedThread() != 1 {
		t.Errorf("%+v, thread %d", e, f.CrashedThread())
	}
	if c, err := f.DecodeContext(e.Context); err != nil {
		t.Error(err)
	} else if pc, _ := c.Regs.Get(arch.RIP); pc != 0x1111 {
		t.Errorf("pc %#x", pc)
	}
	warned(t, f)

	d = windows()
	d.Threads(false, dumpbuild.Thread{ID: 1})
	d.Exception(dumpbuild.Exception{Thread: 9, Code: 1, Count: 1000, Params: []uint64{7}, Context: d.Blob(d.AMD64(0x10005f, 1, 2, 3))})
	f = parse(t, d)
	if len(f.Exception.Params) != 15 || len(f.Threads) != 2 || f.CrashedThread() != 1 || f.Threads[1].ID != 9 {
		t.Errorf("%d parameters, threads %+v", len(f.Exception.Params), f.Threads)
	}
	warned(t, f, "1000 parameters", "not in the thread list; adding it")

	d = windows()
	d.Threads(false, dumpbuild.Thread{ID: 1}, dumpbuild.Thread{ID: 2}, dumpbuild.Thread{ID: 3})
	d.Stream(6, []byte{1, 2, 3})
	d.Stream(0x47670001, d.W().U32(3, 1, 3).B)
	f = parse(t, d)
	if f.Exception != nil || f.CrashedThread() != 2 || *f.Breakpad != (minidump.BreakpadInfo{DumpThread: 1, RequestingThread: 3}) {
		t.Errorf("%+v %+v", f.Exception, f.Breakpad)
	}
	warned(t, f, "Exception: truncated")
	// Without a requesting thread, it is the first that did not write the dump.
	d.Stream(0x47670001, d.W().U32(1, 1, 0).B)
	if f = parse(t, d); f.CrashedThread() != 1 {
		t.Errorf("thread %d", f.CrashedThread())
	}
}

func TestAssertion(t *testing.T) {
	d := windows()
	text := func(s string) []byte {
		return d.W().Bytes(bytes.Join(bytes.SplitAfter([]byte(s), nil), []byte{0})).U8(0).Pad(256).B
	}
	d.Stream(0x47670002, d.W().Bytes(text("p != 0")).Bytes(text("f")).Bytes(text("a.c")).U32(12, 1).B)
	if a := parse(t, d).Assertion; *a != (minidump.Assertion{Expression: "p != 0", Function: "f", File: "a.c", Line: 12, Type: 1}) {
		t.Errorf("%+v", a)
	}
}

func TestMisc(t *testing.T) {
	d := windows()
	d.Time = 1100
	d.Misc(1|2, 77, 1000)
	f := parse(t, d)
	up, ok := f.Uptime()
	if f.ProcessID() != 77 || up != 100 || !ok || f.Misc.UserTime != 7 {
		t.Errorf("pid %d uptime %d %v", f.ProcessID(), up, ok)
	}
	// The flags for the times are not set.
	d.Misc(1, 78, 1000)
	f = parse(t, d)
	if _, ok := f.Uptime(); ok || f.ProcessID() != 78 {
		t.Errorf("uptime without its flag, pid %d", f.ProcessID())
	}
	// Version 4 has a build string, version 5 a cookie.
	w := d.W().U32(1364, 1|0x100|0x200|4, 5, 0, 0, 0).U32(3000, 2000).Zeros(12).Zeros(16 + 172)
	w.U16('b', 'u', 'i', 'l', 'd').Pad(832)
	w.U32(528, 1999).U64(0x800).Zeros(11*8).U32(576, 16).Pad(832 + 528).U32(0xc00c1e)
	d.Stream(15, w.B)
	m := parse(t, d).Misc
	if m.BuildString != "build" || m.Cookie != 0xc00c1e || m.MaxMHz != 3000 || m.XState.Enabled != 0x800 || m.XState.Features[11] != (minidump.XStateFeature{Offset: 576, Size: 16}) {
		t.Errorf("%q %#x %d %+v", m.BuildString, m.Cookie, m.MaxMHz, m.XState.Features[11])
	}
}

func TestRegions(t *testing.T) {
	for _, size := range []int{48, 56} {
		d := windows()
		d.MemoryInfo(size,
			dumpbuild.Region{Base: 0x1000, Size: 0x1000, State: 0x1000, Protect: 0x20, Type: 0x1000000},
			dumpbuild.Region{Base: 0x2000, Size: 0x1000, State: 0x1000, Protect: 0x104, Type: 0x20000},
			dumpbuild.Region{Base: 0x3000, Size: 0x1000, State: 0x1000, Protect: 0x08, Type: 0x20000},
			dumpbuild.Region{Base: 0x4000, Size: 0, State: 0x1000},
		)
		f := parse(t, d)
		var got []string
		for i := range f.Regions {
			r := &f.Regions[i]
			got = append(got, fmt.Sprintf("%#x r%v w%v x%v g%v", r.Base, r.Readable(), r.Writable(), r.Executable(), r.Guard()))
		}
		want := []string{"0x1000 rtrue wfalse xtrue gfalse", "0x2000 rfalse wfalse xfalse gtrue", "0x3000 rtrue wtrue xfalse gfalse"}
		if !slices.Equal(got, want) {
			t.Errorf("entries of %d bytes: %q", size, got)
		}
	}
}

func TestHandles(t *testing.T) {
	d := windows()
	// The information loops.
	at := d.Blob(make([]byte, 16))
	loop := d.Blob(d.W().U32(at.Off+2, 1, 3).Bytes([]byte("abc")).B)
	_ = loop
	w := d.W().U32(16, 40, 2, 0)
	w.U64(0x44).U32(d.String("File"), d.String(`\Device\x`), 1, 2, 3, 4, loop.Off, 0)
	w.U64(0x48).U32(0, 0, 0, 0, 0, 0, 0, 0)
	d.Stream(12, w.B)
	f := parse(t, d)
	if len(f.Handles) != 2 || f.Handles[0].String() != `0x44 File \Device\x` || len(f.Handles[0].Info) == 0 || f.Handles[0].Points != 4 {
		t.Errorf("%+v", f.Handles)
	}
	self := d.Blob(make([]byte, 12))
	b := d.Bytes()
	copy(b[self.Off:], d.W().U32(self.Off, 1, 0).B)
	copy(b[bytes.LastIndex(b, d.W().U32(loop.Off, 0).U64(0x48).B):], d.W().U32(self.Off).B)
	f, err := minidump.Parse(b)
	if err != nil || len(f.Handles[0].Info) > 64 || len(f.Handles[0].Info) < 2 {
		t.Errorf("%v, %d pieces of information", err, len(f.Handles[0].Info))
	}
}

func TestComments(t *testing.T) {
	d := windows()
	d.Stream(10, []byte("plain\x00rest"))
	d.Stream(11, d.W().U16('w', 'i', 'd', 'e').B)
	if f := parse(t, d); !slices.Equal(f.Comments, []string{"plain", "wide"}) {
		t.Errorf("%q", f.Comments)
	}
}

package minidump_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/corewalk/corewalk/internal/format/minidump"
	"github.com/corewalk/corewalk/internal/format/minidump/dumpbuild"
)

func linuxDump(cpu uint16) *dumpbuild.Dump {
	d := dumpbuild.New(false)
	d.System(cpu, linux, 5, 0, 0, "")
	return d
}

func TestLinuxTexts(t *testing.T) {
	d := linuxDump(cpuAMD64)
	d.Stream(0x47670004, []byte("Name:\tcrash me\nPid:\t1304\nPPid:\t1\n\x00"))
	d.Stream(0x47670005, []byte("DISTRIB_ID=Ubuntu\nDISTRIB_RELEASE=16.04\nDISTRIB_CODENAME=xenial\nDISTRIB_DESCRIPTION=\"Ubuntu 16.04.3 LTS\"\n"))
	d.Stream(0x47670006, []byte("./crash\x00-x\x00\x00"))
	d.Stream(0x47670007, []byte("A=1\x00B=2 3"))
	d.Stream(0x47670009, []byte("00400000-0041a000 r-xp 00001000 08:01 1234                    /srv/my crash (deleted)\n"+
		"rubbish\n7fff5ae4a000-7fff5ae4d000 rw-p 00000000 00:00 0 \n7fff5ae4e000-7fff5ae4e000 r--p 0 0 0\n7fff5a"))
	f := parse(t, d)
	l := &f.Linux
	if f.ProcessID() != 1304 || l.StatusField("Name") != "crash me" || l.StatusField("None") != "" {
		t.Errorf("pid %d, name %q", f.ProcessID(), l.StatusField("Name"))
	}
	if !slices.Equal(l.Args(), []string{"./crash", "-x"}) || !slices.Equal(l.Env(), []string{"A=1", "B=2 3"}) {
		t.Errorf("%q %q", l.Args(), l.Env())
	}
	if r := l.Release(); r != (minidump.Release{ID: "Ubuntu", Version: "16.04", Codename: "xenial", Description: "Ubuntu 16.04.3 LTS"}) {
		t.Errorf("%+v", r)
	}
	want := []minidump.LinuxMap{{Start: 0x400000, End: 0x41a000, Perm: "r-xp", Offset: 0x1000, Inode: 1234, Path: "/srv/my crash (deleted)"},
		{Start: 0x7fff5ae4a000, End: 0x7fff5ae4d000, Perm: "rw-p"}}
	if !slices.Equal(l.Maps, want) {
		t.Errorf("%+v", l.Maps)
	}
	warned(t, f, "LinuxMaps: 3 lines are not mappings")
}

func TestDSODebug(t *testing.T) {
	check := func(name string, d *dumpbuild.Dump) {
		t.Helper()
		f := parse(t, d)
		got := f.Linux.DSODebug
		if got == nil || got.Break != 0x1111 || got.LDBase != 0x2222 || got.Dynamic != 0x3333 || len(got.Links) != 2 || got.Links[1] != (minidump.LinkMap{Addr: 0x5000, Dynamic: 0x6000, Name: "/lib/a.so"}) {
			t.Errorf("%s: %+v", name, got)
			return
		}
		warned(t, f)
	}
	d := linuxDump(cpuAMD64)
	list := d.Blob(d.W().U64(0x1000).U32(d.String("")).U64(0x2000).U64(0x5000).U32(d.String("/lib/a.so")).U64(0x6000).B)
	d.Stream(0x4767000a, d.W().U32(1, list.Off, 2).U64(0x1111, 0x2222, 0x3333).Zeros(48).B)
	check("packed", d)
	d = linuxDump(cpuAMD64)
	list = d.Blob(d.W().U64(0x1000).U32(d.String(""), 0).U64(0x2000).U64(0x5000).U32(d.String("/lib/a.so"), 0).U64(0x6000).B)
	d.Stream(0x4767000a, d.W().U32(1, list.Off, 2, 0).U64(0x1111, 0x2222, 0x3333).Zeros(48).B)
	check("aligned", d)
	d = linuxDump(cpuX86)
	list = d.Blob(d.W().U32(0x1000, d.String(""), 0x2000, 0x5000, d.String("/lib/a.so"), 0x6000).B)
	d.Stream(0x4767000a, d.W().U32(1, list.Off, 2, 0x1111, 0x2222, 0x3333).Zeros(48).B)
	check("32 bits", d)
}

func TestCrashpad(t *testing.T) {
	d := linuxDump(12)
	simple := d.Blob(d.W().U32(2, d.UTF8("key"), d.UTF8("välue"), d.UTF8("k2"), d.UTF8("v2")).B)
	list := d.Blob(d.W().U32(1, d.UTF8("abort() called")).B)
	objects := d.Blob(d.W().U32(2, d.UTF8("name")).U16(1, 0).U32(d.UTF8("text")).U32(d.UTF8("own")).U16(0x8001, 0).U32(d.UTF8("\x01\x02")).B)
	mod := d.Blob(d.W().U32(1).Loc(list).Loc(simple).Loc(objects).B)
	mods := d.Blob(d.W().U32(1, 3).Loc(mod).B)
	base := d.W().U32(1, 0x04030201).U16(0x0605, 0x0807).Zeros(8).Zeros(16).Loc(simple).Loc(mods)
	short := slices.Clone(base.B)
	d.Stream(0x43500001, base.U32(0).U64(0xffff800000000000).B)
	f := parse(t, d)
	c := f.Crashpad
	if c == nil || c.ReportID.String() != "04030201-0605-0807-0000-000000000000" || c.AddressMask != 0xffff800000000000 || len(c.Modules) != 1 {
		t.Fatalf("%+v", c)
	}
	m := c.Modules[0]
	if m.Index != 3 || !slices.Equal(m.List, []string{"abort() called"}) || len(m.Annotations) != 2 || len(m.Objects) != 2 || string(m.Objects[1].Value) != "\x01\x02" {
		t.Errorf("%+v", m)
	}
	for key, want := range map[string]string{"key": "välue", "name": "text", "own": "", "none": ""} {
		if got, _ := c.Annotation(key); got != want {
			t.Errorf("annotation %s: %q", key, got)
		}
	}
	warned(t, f)
	d.Stream(0x43500001, append(slices.Clone(short), 0, 0, 0, 0, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0, 0))
	if c := parse(t, d).Crashpad; c.AddressMask != 0 {
		t.Errorf("mask %#x, which would clear an address", c.AddressMask)
	}
	d.Stream(0x43500001, short)
	if c := parse(t, d).Crashpad; c.AddressMask != 0 || len(c.Annotations) != 2 {
		t.Errorf("without the mask: %+v", c)
	}
	d.Stream(0x43500001, make([]byte, 52))
	if parse(t, d).Crashpad != nil {
		t.Error("version 0 is taken")
	}
}

func TestMozilla(t *testing.T) {
	d := dumpbuild.New(false)
	d.System(cpuAMD64, 0x8101, 12, 0, 0, "")
	rec := d.Blob(d.W().U64(0x4d7a0001, 5, 1, 2, 3).Bytes([]byte("/lib/m\x00boom\x00sig\x00\x00m2\x00")).B)
	w := d.W().U32(0x4d7a0001, 1, 40).Loc(rec)
	d.Stream(0x4d7a0001, w.Pad(12+160).B)
	d.Stream(0x4d7a0002, d.W().U32(0).U64(uint64(d.String("-v"))).B)
	d.Stream(0x4d7a0004, []byte(`[{"a": 1}]`))
	f := parse(t, d)
	if len(f.Mac.CrashInfo) != 1 || f.Mac.CrashInfo[0] != (minidump.MacCrashInfo{Version: 5, Thread: 1, DialogMode: 2, AbortCause: 3, ModulePath: "/lib/m", Message: "boom", Signature: "sig", More2: "m2"}) {
		t.Errorf("%+v", f.Mac.CrashInfo)
	}
	if f.Mac.BootArgs != "-v" || string(f.SoftErrors) != `[{"a": 1}]` {
		t.Errorf("%q %s", f.Mac.BootArgs, f.SoftErrors)
	}
	d.Stream(0x4d7a0001, d.W().U32(0, 0xffffffff, 1<<31).B)
	d.Stream(0x4d7a0004, []byte(`{`))
	warned(t, parse(t, d), "occurs several times", "occurs several times", "has 4294967295 records", "truncated record", "not JSON")
}

const microHead = "F/google-breakpad( 3745): "

func micro(lines ...string) []byte {
	var b strings.Builder
	b.WriteString("unrelated\n")
	for _, l := range append(append([]string{"-----BEGIN BREAKPAD MICRODUMP-----"}, lines...), "-----END BREAKPAD MICRODUMP-----") {
		b.WriteString(microHead + l + "\n")
	}
	return []byte(b.String())
}

func TestMicrodump(t *testing.T) {
	d := linuxDump(cpuX86)
	ctx := strings.ToUpper(hexOf(d.X86(0x1000f, 0x401000, 0xffb44bd0, 0xffb45444)))
	data := micro("V product:1.0", "O A x86 04 i686 some build", "P renderer", "R 0000000B SIGSEGV 00000045", "G UNKNOWN", "H 1 2 3 4 5",
		"S 0 FFB44BD0 FFB44000 00000010", "S FFB44000 0102030405060708", "S FFB44008 090A0B0C0D0E0F10", "S FFB45000 AA", "S FFB45001 ZZ", "C "+ctx,
		"M F77C5000 00000000 0000D000 50D89C8096239F07B843A4C5C35923170 name with spaces.so", "M F77C5000 nonsense")
	f, err := minidump.ParseMicrodump(data)
	if err != nil {
		t.Fatal(err)
	}
	if f.Product != "product:1.0" || f.System.Platform != minidump.Android || f.System.Processors != 4 || f.ProcessID() != 3745 || f.System.ServicePack != "i686 some build" {
		t.Errorf("%q %+v %d", f.Product, f.System, f.ProcessID())
	}
	if read(f, 0xffb44000, 100) != "\x01\x02\x03\x04\x05\x06\x07\x08\x09\x0a\x0b\x0c\x0d\x0e\x0f\x10" || read(f, 0xffb45000, 9) != "\xaa" {
		t.Error("wrong memory")
	}
	if e := f.Exception; e == nil || e.Code != 11 || e.Address != 0x45 || e.ThreadID != 3745 || f.CrashedThread() != 0 {
		t.Errorf("%+v", e)
	}
	if m := f.Modules[0]; m.Path != "name with spaces.so" || m.DebugID() != "50D89C8096239F07B843A4C5C35923170" || m.Base != 0xf77c5000 || !m.PartialID || len(f.Modules) != 1 {
		t.Errorf("%+v", f.Modules)
	}
	if _, err := f.DecodeContext(f.Threads[0].Context); err != nil {
		t.Error(err)
	}
	warned(t, f, "cannot parse 2 lines")
	cut, err := minidump.ParseMicrodump(data[:len(data)-60])
	if err != nil {
		t.Fatal(err)
	}
	warned(t, cut, "has no end", "cannot parse")
	if _, err := minidump.ParseMicrodump([]byte("google-breakpad")); err == nil {
		t.Error("a log without a microdump is read")
	}
}

func hexOf(b []byte) string {
	const digits = "0123456789abcdef"
	var s strings.Builder
	for _, c := range b {
		s.WriteByte(digits[c>>4])
		s.WriteByte(digits[c&15])
	}
	return s.String()
}

// The context reveals that a microdump is big-endian.
func TestMicrodumpOrder(t *testing.T) {
	for _, big := range []bool{false, true} {
		d := dumpbuild.New(big)
		ctx := d.Context(600).Put(0, 4, 0x4000e).Put(312, 8, 0x1234).B
		f, err := minidump.ParseMicrodump(micro("O A mips 02 mips x", "C "+hexOf(ctx)))
		if err != nil || f.Big != big {
			t.Errorf("big-endian %v: %v %v", big, f.Big, err)
		}
		c, err := f.DecodeContext(f.Threads[0].Context)
		if err != nil {
			t.Error(err)
		} else if pc, _ := c.Regs.Get(c.Arch.PC); pc != 0x1234 {
			t.Errorf("pc %#x", pc)
		}
	}
}

// Each format of Android's log, in which the times differ and other messages stand between.
func TestMicrodumpLogcat(t *testing.T) {
	d := linuxDump(cpuX86)
	lines := []string{"-----BEGIN BREAKPAD MICRODUMP-----", "V product (beta): 1.0", "O A x86 04 i686 build", "R 0000000B SIGSEGV 00000045",
		"S 0 FFB44BD0 FFB44000 00000010", "S FFB44000 0102030405060708", "S FFB44008 090A0B0C0D0E0F10", "C " + hexOf(d.X86(0x1000f, 0x401000, 0xffb44bd0, 0xffb45444)),
		"M F77C5000 00000000 0000D000 50D89C8096239F07B843A4C5C35923170 name: with (1) spaces.so", "-----END BREAKPAD MICRODUMP-----"}
	for name, format := range map[string]struct {
		entry, other string // SS stands for the second, TEXT for the message
		pid          uint32
	}{
		"brief":         {"F/google-breakpad( 3745): TEXT", "I/other( 99): M at second SS", 3745},
		"same process":  {"F/google-breakpad( 3745): TEXT", "I/chatty( 3745): V wrong SS", 3745},
		"time":          {"11-22 10:00:SS.123 F/google-breakpad( 3745): TEXT", "11-22 10:00:SS.124 D/other   (  99): V wrong", 3745},
		"threadtime":    {"11-22 10:00:SS.123  3745  3746 F google-breakpad: TEXT", "11-22 10:00:SS.124    99   100 W other   : V wrong", 3745},
		"year and zone": {"2026-11-22 10:00:SS.123456 +0100  3745  3746 F google-breakpad: TEXT", "2026-11-22 10:00:SS.123456 +0100  3745  3747 I other: V wrong", 3745},
		"user":          {"11-22 10:00:SS.123 u0_a12  3745  3746 F google-breakpad: TEXT", "11-22 10:00:SS.123 root   1  1 I other: V wrong", 3745},
		"process":       {"F( 3745) TEXT  (google-breakpad)", "I(   99) V wrong SS  (other)", 3745},
		"thread":        {"F( 3745: 3746) TEXT", "I(   99:   99) V wrong SS", 3745},
		"tag":           {"F/google-breakpad: TEXT", "I/other: V wrong SS", 0},
		"long":          {"[ 11-22 10:00:SS.123  3745: 3746 F/google-breakpad ]\nTEXT\n", "[ 11-22 10:00:SS.123    99:   99 I/other ]\nV wrong\n", 3745},
		"raw":           {"TEXT", "", 0},
		"other":         {"kernel> TEXT", "", 0},
	} {
		for _, end := range []string{"\n", "\r\n"} {
			var b strings.Builder
			for i, line := range lines {
				fill := strings.NewReplacer("SS", fmt.Sprintf("%02d", i), "TEXT", line)
				if format.other != "" {
					b.WriteString(fill.Replace(format.other) + "\n")
				}
				b.WriteString(fill.Replace(format.entry) + "\n")
			}
			f, err := minidump.ParseMicrodump([]byte(strings.ReplaceAll(b.String(), "\n", end)))
			if err != nil {
				t.Errorf("%s: %v", name, err)
				continue
			}
			if len(f.Warnings) > 0 || f.Product != "product (beta): 1.0" || f.Misc.PID != format.pid || f.Exception == nil || f.Exception.Code != 11 || len(f.Threads) != 1 ||
				read(f, 0xffb44000, 16) != "\x01\x02\x03\x04\x05\x06\x07\x08\x09\x0a\x0b\x0c\x0d\x0e\x0f\x10" ||
				len(f.Modules) != 1 || f.Modules[0].Path != "name: with (1) spaces.so" {
				t.Errorf("%s: %q, %q, pid %d, %d threads, %+v", name, f.Warnings, f.Product, f.Misc.PID, len(f.Threads), f.Modules)
			}
		}
	}
}

// Of several exceptions, as LLDB writes one for each thread that was stopped, the first that is a fault is the dump's.
func TestSeveralExceptions(t *testing.T) {
	const lldb = 0x4c4c4442
	text := []uint64{0x6c616e676973, 0} // "signal"
	for _, c := range []struct {
		name string
		of   uint32 // system
		list []dumpbuild.Exception
		want uint32
		said string
	}{
		{"one", linux, []dumpbuild.Exception{{Thread: 1, Code: 11}}, 1, ""},
		{"a stop before the fault", linux, []dumpbuild.Exception{{Thread: 1, Code: 19, Flags: lldb, Params: text}, {Thread: 2, Code: 11, Flags: lldb, Params: text}}, 2, "signal"},
		{"a stop behind the fault", linux, []dumpbuild.Exception{{Thread: 1, Code: 6}, {Thread: 2, Code: 19}}, 1, ""},
		{"two faults", linux, []dumpbuild.Exception{{Thread: 1, Code: 11}, {Thread: 2, Code: 6}}, 1, ""},
		{"nothing, and a stop", linux, []dumpbuild.Exception{{Thread: 1}, {Thread: 2, Code: 19}, {Thread: 3, Code: 19}}, 2, ""},
		{"asked for, and a fault", linux, []dumpbuild.Exception{{Thread: 1, Code: 0xffffffff}, {Thread: 2, Code: 8}}, 2, ""},
		{"of Windows", winNT, []dumpbuild.Exception{{Thread: 1, Code: 0x80000003}, {Thread: 2, Code: 0xc0000005}}, 1, ""},
	} {
		d := dumpbuild.New(false)
		d.System(cpuAMD64, c.of, 5, 0, 0, "")
		var threads []dumpbuild.Thread
		for _, e := range c.list {
			threads = append(threads, dumpbuild.Thread{ID: e.Thread, Context: d.Blob(d.AMD64(0x10000b, 1, 2, 3))})
			d.Exception(e)
		}
		d.Threads(false, threads...)
		f := parse(t, d)
		if f.Exception == nil || f.Exception.ThreadID != c.want || f.Exception.Description != c.said || f.Exception.Flags != 0 || c.said != "" && f.Exception.Params != nil {
			t.Errorf("%s: %+v", c.name, f.Exception)
		}
		if len(c.list) > 1 {
			warned(t, f, fmt.Sprintf("stream Exception: occurs %d times, using that of thread %d", len(c.list), c.want))
		}
	}
	d := linuxDump(cpuAMD64)
	for range 3 {
		d.Stream(6, d.W().U32(1, 0).B)
	}
	d.Exception(dumpbuild.Exception{Thread: 5, Code: 11})
	f := parse(t, d)
	if f.Exception == nil || f.Exception.ThreadID != 5 {
		t.Errorf("behind broken ones: %+v", f.Exception)
	}
}

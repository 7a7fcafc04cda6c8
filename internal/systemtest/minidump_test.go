package systemtest

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/corewalk/corewalk"
	"github.com/corewalk/corewalk/corestate"
	"github.com/corewalk/corewalk/internal/fixture"
	"github.com/corewalk/corewalk/internal/format/minidump/dumpbuild"
	"github.com/corewalk/corewalk/libstate"
	"github.com/corewalk/corewalk/report"
	"github.com/corewalk/corewalk/unwind/arch"
)

// A recordKind is how the registers of an architecture lie in a CONTEXT record.
type recordKind struct {
	cpu    uint16
	size   int
	flagAt int
	flags  uint64
	offs   map[string]int
	width  int
}

// numberedRegs adds registers with a prefix and a number, one after the other.
func numberedRegs(offs map[string]int, prefix string, n, off, step int) map[string]int {
	for i := range n {
		offs[fmt.Sprint(prefix, i)] = off + i*step
	}
	return offs
}

func recordOf(a *arch.Arch) recordKind {
	switch a {
	case arch.AMD64:
		return recordKind{9, 1232, 0x30, 0x10000b, map[string]int{"rax": 0x78, "rcx": 0x80, "rdx": 0x88, "rbx": 0x90, "rsp": 0x98, "rbp": 0xa0, "rsi": 0xa8, "rdi": 0xb0,
			"r8": 0xb8, "r9": 0xc0, "r10": 0xc8, "r11": 0xd0, "r12": 0xd8, "r13": 0xe0, "r14": 0xe8, "r15": 0xf0, "rip": 0xf8}, 8}
	case arch.X86:
		return recordKind{0, 716, 0, 0x1000f, map[string]int{"edi": 0x9c, "esi": 0xa0, "ebx": 0xa4, "edx": 0xa8, "ecx": 0xac, "eax": 0xb0, "ebp": 0xb4, "eip": 0xb8, "esp": 0xc4,
			"gs": 0x8c, "fs": 0x90}, 4}
	case arch.ARM64:
		return recordKind{12, 912, 0, 0x400007, numberedRegs(map[string]int{"sp": 0x100, "pc": 0x108}, "x", 31, 8, 8), 8}
	case arch.ARM:
		return recordKind{5, 368, 0, 0x40000006, numberedRegs(map[string]int{"sp": 4 + 13*4, "lr": 4 + 14*4, "pc": 4 + 15*4, "cpsr": 0x44}, "r", 13, 4, 4), 4}
	case arch.MIPS64EL:
		offs := map[string]int{"pc": 312, "hi": 264, "lo": 272}
		for r := range arch.Reg(32) {
			offs[a.RegName(r)] = 8 + 8*int(r)
		}
		return recordKind{0x8004, 600, 0, 0x80002, offs, 8}
	case arch.RISCV64:
		offs := map[string]int{"pc": 8}
		for r := arch.Reg(1); r < 32; r++ {
			offs[a.RegName(r)] = 8 + 8*int(r)
		}
		return recordKind{0x8006, 528, 0, 0x8000001, offs, 8}
	}
	return recordKind{}
}

func (k recordKind) record(d *dumpbuild.Dump, a *arch.Arch, regs arch.RegSet) []byte {
	c := d.Context(k.size).Put(k.flagAt, 4, k.flags)
	for r := range arch.Reg(a.NumRegs()) {
		if off, ok := k.offs[a.RegName(r)]; ok {
			v, _ := regs.Get(r)
			c.Put(off, k.width, v)
		}
	}
	return c.B
}

// asMinidump writes what a core holds as Breakpad would. lean leaves out the list of
// mappings, what the process could not write to, and the end of build-ids: what most
// minidumps, and old ones, lack.
func asMinidump(t *testing.T, core *corestate.ELFCore, libs libstate.LibraryState, lean bool) []byte {
	t.Helper()
	a := core.Arch()
	k := recordOf(a)
	d := dumpbuild.New(a.Big())
	d.System(k.cpu, 0x8201, 5, 10, 0, "")
	d.Misc(1, uint32(core.ProcessID()), 0)
	ids, err := core.ThreadIDs()
	if err != nil {
		t.Fatal(err)
	}
	var threads []dumpbuild.Thread
	for _, id := range slices.Backward(ids) { // the dump says otherwise who died
		regs, err := core.Registers(id)
		if err != nil {
			t.Fatal(err)
		}
		threads = append(threads, dumpbuild.Thread{ID: uint32(id), Context: d.Blob(k.record(d, a, regs))})
	}
	d.Threads(false, threads...)
	s := core.Signal()
	addr := s.Addr
	if s.HasSender { // in the same place
		addr = uint64(s.UID)<<32 | uint64(s.PID)
	}
	d.Exception(dumpbuild.Exception{Thread: uint32(ids[0]), Code: uint32(s.Signo), Flags: uint32(s.Code), Address: addr, Context: threads[len(threads)-1].Context})
	d.Modules(moduleList(d, libs, lean)...)
	var mem []dumpbuild.Memory
	for _, seg := range core.Segments() {
		// No file stands in for the vDSO.
		lib, _ := libs.LibraryAt(seg.Start)
		vdso := lib != nil && lib.Kind == libstate.VDSO
		if lean && seg.Perm&libstate.Write == 0 && !vdso || seg.InDump == 0 {
			continue
		}
		b := make([]byte, seg.InDump)
		if _, err := core.DumpMemory().ReadMem(seg.Start, b); err != nil {
			t.Fatal(err)
		}
		mem = append(mem, dumpbuild.Memory{Start: seg.Start, Data: b})
	}
	if !lean {
		addLinuxStreams(d, core)
	}
	d.Memory64(mem...)
	return d.Bytes()
}

// moduleList lists the libraries, the program first. Old writers made a GUID of the
// first 16 bytes of a build-id.
func moduleList(d *dumpbuild.Dump, libs libstate.LibraryState, old bool) []dumpbuild.Module {
	var list []dumpbuild.Module
	all, _ := libs.Libraries(false)
	for _, l := range all {
		m := dumpbuild.Module{Base: l.Start, Size: uint32(l.End - l.Start), Name: l.Path}
		switch {
		case l.BuildID == nil:
		case old:
			m.CodeView = append(append(append([]byte("RSDS"), l.BuildID...)[:4+16:4+16], 0, 0, 0, 0), "name\x00"...)
		default:
			m.CodeView = d.BuildID(l.BuildID)
		}
		switch l.Kind {
		case libstate.VDSO:
			m.Name = "linux-gate.so"
		case libstate.Executable:
			list = slices.Insert(list, 0, m)
			continue
		}
		list = append(list, m)
	}
	return list
}

func addLinuxStreams(d *dumpbuild.Dump, core *corestate.ELFCore) {
	var maps strings.Builder
	for _, m := range core.Mappings() {
		perm := []byte("---p")
		for i, c := range []byte("rwx") {
			if m.Perm>>i&1 != 0 {
				perm[i] = c
			}
		}
		fmt.Fprintf(&maps, "%x-%x %s %08x 08:01 7 %s\n", m.Start, m.End, perm, m.Offset, m.Path)
	}
	d.Stream(0x47670009, []byte(maps.String()))
	aux := d.W()
	for _, e := range core.Auxv() {
		if core.Arch().WordSize == 8 {
			aux.U64(e.Key, e.Value)
		} else {
			aux.U32(uint32(e.Key), uint32(e.Value))
		}
	}
	d.Stream(0x47670008, aux.B)
}

// TestMinidumpOfCore walks processes that are there as a core and as a minidump: the
// stacks must be the same.
func TestMinidumpOfCore(t *testing.T) {
	t.Parallel()
	for i, name := range []string{"amd64-so-linked", "amd64-signal-altstack", "amd64-pie", "amd64-no-pie", "amd64-static", "amd64-threads", "amd64-sigfpe", "amd64-stripped",
		"amd64-no-tables-fp", "amd64-null-call", "amd64-noncanonical-call", "i386-crash-O1", "i386-threads", "aarch64-crash-O1", "aarch64-threads", "arm-crash-O0", "arm-thumb-crash-O1",
		"mips64el-crash-O0", "riscv64-crash-O1"} {
		for _, lean := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s/lean=%v", name, lean), func(t *testing.T) {
				if lean == (i%2 == 0) && !slices.Contains([]string{"mips64el", "riscv64"}, fixture.Get(t, name).Arch()) { // one of the two at every change
					fixture.Long(t)
				}
				checkMinidumpOfCore(t, fixture.Get(t, name), lean)
			})
		}
	}
}

func checkMinidumpOfCore(t *testing.T, c fixture.Case, lean bool) {
	target := openCase(t, c)
	want, err := target.Analyze(context.Background(), corewalk.AnalyzeOptions{Locals: corewalk.LocalsNone})
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "x.dmp")
	if err := os.WriteFile(path, asMinidump(t, target.Core(), target.Core().LibraryTracker(), lean), 0o600); err != nil {
		t.Fatal(err)
	}
	mini, err := corewalk.Open(context.Background(), path, corewalk.WithSysroot(c.Sysroot(t)), corewalk.WithExecutable(c.Binary(t)), corewalk.WithDebugDir(t.TempDir()), corewalk.WithSearch(c.Dir))
	if err != nil {
		t.Fatal(err)
	}
	defer mini.Close()
	got, err := mini.Analyze(context.Background(), corewalk.AnalyzeOptions{Locals: corewalk.LocalsNone})
	if err != nil {
		t.Fatal(err)
	}
	if g, w := crashText(got), crashText(want); g != w && !lean {
		t.Errorf("crash: %s, want %s", g, w)
	}
	if g, w := stacksOf(got), stacksOf(want); g != w {
		t.Errorf("got\n%s\nwant\n%s", g, w)
	}
}

func crashText(r *report.Report) string {
	if r.Crash == nil {
		return "none"
	}
	return fmt.Sprintf("%s %s: %s", r.Crash.Signal, r.Crash.Code, r.Crash.Reason)
}

func stacksOf(r *report.Report) string {
	var b strings.Builder
	for _, th := range r.Threads {
		fmt.Fprintf(&b, "thread %d crashed %v\n", th.ID, th.Crashed)
		for _, f := range th.Frames {
			fmt.Fprintf(&b, "  %#x %s %s:%d\n", uint64(f.PC), f.Function, filepath.Base(f.Source.File), f.Source.Line)
		}
	}
	return b.String()
}

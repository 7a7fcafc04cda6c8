package reason

import (
	"strings"
	"testing"

	"github.com/corewalk/corewalk/internal/code/disasm"
	"github.com/corewalk/corewalk/libstate"
	"github.com/corewalk/corewalk/report"
	"github.com/corewalk/corewalk/unwind/arch"
)

func TestPointerBits(t *testing.T) {
	for _, c := range []struct {
		a       *arch.Arch
		v, want uint64
	}{
		{nil, 0xb400007100000001, 0xb400007100000001}, {arch.AMD64, 0xb400007100000001, 0xb400007100000001},
		{arch.ARM64, 0xb400007100000001, 0x7100000001}, {arch.ARM64, 0x00ff800000000001, 0xffff800000000001}, {arch.ARM64, 0x007f800000000001, 0x007f800000000001},
	} {
		if got := (&Input{Arch: c.a}).pointerBits(c.v); got != c.want {
			t.Errorf("%#x: %#x, want %#x", c.v, got, c.want)
		}
	}
}

func TestCanonical(t *testing.T) {
	for _, c := range []struct {
		a    *arch.Arch
		addr uint64
		want bool
	}{
		{nil, 1 << 60, true}, {arch.RISCV64, 1 << 60, true}, {arch.PPC64, 1 << 63, true},
		{arch.AMD64, 1<<47 - 1, true}, {arch.AMD64, 1 << 47, false}, {arch.AMD64, 0xffff800000000000, true}, {arch.AMD64, 0xffff7fffffffffff, false},
		{arch.ARM64, 1<<52 - 1, true}, {arch.ARM64, 1 << 52, false}, {arch.ARM64, 0xfff0000000000000, true}, {arch.ARM64, 0xffefffffffffffff, false},
		{arch.ARM64, 0xb400007100000000, true},
	} {
		if got := (&Input{Arch: c.a}).canonical(c.addr); got != c.want {
			t.Errorf("%#x: %v", c.addr, got)
		}
	}
}

func TestKernels(t *testing.T) {
	for _, c := range []struct {
		a    *arch.Arch
		addr uint64
		want bool
	}{
		{arch.AMD64, 0xffff888000000000, true}, {arch.AMD64, 0x7fffffffffff, false}, {arch.AMD64, 0, false},
		{arch.ARM64, 0xffff000000000000, true}, {arch.ARM64, 0xb400007100000000, false},
		{arch.X86, 0xffffffff80000000, false}, {arch.RISCV64, 0xffffffff80000000, false},
	} {
		if got := (&Input{Arch: c.a}).kernels(c.addr); got != c.want {
			t.Errorf("%s, %#x: %v", c.a.Name, c.addr, got)
		}
	}
}

// TestKindOfDirection: each group of kinds by the direction of the access.
func TestKindOfDirection(t *testing.T) {
	for _, direction := range []string{"read", "write", "execute", ""} {
		for kinds, want := range map[*[4]string]map[string]string{
			&nullKinds:         {"read": "null-read", "write": "null-write", "execute": "null-call", "": "null-access"},
			&wildKinds:         {"read": "wild-read", "write": "wild-write", "execute": "wild-call", "": "wild-access"},
			&nonCanonicalKinds: {"read": "non-canonical-read", "write": "non-canonical-write", "execute": "non-canonical-call", "": "non-canonical-access"},
			&noAccessKinds:     {"read": "no-access-read", "write": "no-access-write", "execute": "exec-no-exec", "": "no-access"},
			&badKinds:          {"read": "bad-read", "write": "bad-write", "execute": "bad-call", "": "bad-access"},
		} {
			if got := of(kinds, direction); got != want[direction] {
				t.Errorf("%q of %q is %s", direction, kinds, got)
			}
		}
	}
}

// TestSpecial: what the code of the signal says, and where it says nothing.
func TestSpecial(t *testing.T) {
	file := libstate.Mapping{Start: 0x10000, End: 0x20000, Perm: rw, Path: "/lib/x.so"}
	shared := libstate.Mapping{Start: 0x10000, End: 0x20000, Perm: rw, Path: "/dev/shm/x"}
	read := func(size int) disasm.Access { return disasm.Access{Known: true, Read: true, Size: size} }
	noInfo := func(number, code int) Signal { return Signal{Number: number, Code: code} }
	tagged := disasm.Access{Known: true, Read: true, Addr: 0x0a00000000010000}
	for _, c := range []struct {
		name   string
		a      *arch.Arch
		s      Signal
		acc    disasm.Access
		addr   uint64
		m      libstate.Mapping
		mapped bool
		kind   string // "" if nothing is special
		text   string // how it ends
	}{
		{"aligned, no code", arch.AMD64, noInfo(sigBus, 0), read(8), 0x10000, file, true, "", ""},
		{"a code that is not known to be one", arch.AMD64, noInfo(sigBus, 2), read(8), 0x10000, file, true, "", ""},
		{"not aligned, no code", arch.ARM, noInfo(sigBus, 0), read(8), 0x10001, file, true, report.CrashMisaligned, "which is not aligned to 4"},
		{"not aligned, no code, x86 does not mind", arch.AMD64, noInfo(sigBus, 0), read(8), 0x10001, file, true, "", ""},
		{"a page that the file has not", arch.AMD64, Signal{Number: sigBus, Addr: 0x10001, HasAddr: true}, read(8), 0x10001, file, true, report.CrashBusTruncated, "read of 8 bytes at 0x10001, of which the file mapped there had no page (/lib/x.so)"},
		{"a page of no file", arch.AMD64, Signal{Number: sigBus, Addr: 0x10001, HasAddr: true}, read(8), 0x10001, libstate.Mapping{Start: 0x10000, End: 0x20000, Perm: rw}, true, "", ""},
		{"a page that is not mapped", arch.AMD64, Signal{Number: sigBus, Addr: 0x10001, HasAddr: true}, read(8), 0x10001, file, false, "", ""},
		{"a page, access not known", arch.AMD64, Signal{Number: sigBus, Addr: 0x10001, HasAddr: true}, disasm.Access{Size: 8}, 0x10001, file, true, "", ""},
		{"a page, SIGSEGV", arch.AMD64, Signal{Number: sigSegv, Addr: 0x10001, HasAddr: true}, read(8), 0x10001, file, true, "", ""},
		{"not aligned, another code", arch.ARM64, sig(sigBus, 2), read(8), 0x10001, file, true, report.CrashBusTruncated, "past the end of the file mapped there (/lib/x.so)"},
		{"not aligned, not mapped, no code", arch.ARM64, noInfo(sigBus, 0), read(8), 0x10001, file, false, "", ""},
		{"not aligned, access not known", arch.ARM64, noInfo(sigBus, 0), disasm.Access{Size: 8}, 0x10001, file, true, "", ""},
		{"size not known, no code", arch.ARM64, noInfo(sigBus, 0), read(0), 0x10001, file, true, "", ""},
		{"vector aligned to words, no code", arch.ARM64, noInfo(sigBus, 0), read(16), 0x10008, file, true, "", ""},
		{"two bytes", arch.AMD64, sig(sigBus, 1), read(2), 0x10001, file, true, report.CrashMisaligned, "which is not aligned to 2"},
		{"one byte", arch.AMD64, sig(sigBus, 1), read(1), 0x10001, file, true, report.CrashMisaligned, "which is misaligned"},
		{"aligned to its word", arch.AMD64, sig(sigBus, 1), read(8), 0x10008, file, true, report.CrashMisaligned, "which is misaligned"},
		{"another mapping's file", arch.AMD64, sig(sigBus, 2), read(8), 0x10000, file, false, report.CrashBusError, "no memory behind the address (/lib/x.so)"},
		{"shared memory", arch.AMD64, sig(sigBus, 2), read(8), 0x10000, shared, true, report.CrashBusTruncated, "which has no page: the mapped file is shorter, or no memory is left for it (/dev/shm/x)"},
		{"object", arch.AMD64, sig(sigBus, 3), read(8), 0x10000, file, true, report.CrashBusError, "object-specific hardware error (/lib/x.so)"},
		{"broken, action required", arch.AMD64, sig(sigBus, 4), read(8), 0x10000, file, true, report.CrashHardware, "reported a memory failure (/lib/x.so)"},
		{"broken, action optional", arch.AMD64, sig(sigBus, 5), read(8), 0x10000, file, true, report.CrashHardware, "reported a memory failure (/lib/x.so)"},
		{"no such code", arch.AMD64, sig(sigBus, 6), read(8), 0x10000, file, true, "", ""},
		{"bounds", arch.AMD64, sig(sigSegv, 3), read(8), 0x10000, file, true, report.CrashBounds, "outside the bounds of its pointer"},
		{"key", arch.AMD64, sig(sigSegv, 4), read(8), 0x10000, file, true, report.CrashProtectionKey, "whose protection key forbids it (/lib/x.so)"},
		{"tags not enabled, SPARC", arch.SPARC64, sig(sigSegv, 5), tagged, 0x10000, file, true, report.CrashMemoryTag, "differs from the pointer's"},
		{"tag", arch.ARM64, sig(sigSegv, 9), tagged, 0x10000, file, true, report.CrashMemoryTag, "differs from the pointer's (0xa)"},
		{"tag, access not known", arch.ARM64, sig(sigSegv, 9), disasm.Access{}, 0x10000, file, true, report.CrashMemoryTag, "differs from the pointer's"},
		{"control flow", arch.ARM64, sig(sigSegv, 10), tagged, 0x10000, file, true, "", ""},
		{"access not permitted", arch.AMD64, sig(sigSegv, 2), read(8), 0x10000, file, true, "", ""},
		{"another signal, 3", arch.AMD64, sig(sigFPE, 3), read(8), 0x10000, file, true, "", ""},
		{"another signal, 4", arch.AMD64, sig(sigFPE, 4), read(8), 0x10000, file, true, "", ""},
		{"another signal, 6", arch.AMD64, sig(sigFPE, 6), read(8), 0x10000, file, true, "", ""},
	} {
		in := Input{Arch: c.a, Signal: c.s.linux()}
		var r Reason
		if got := in.special(&r, c.acc, c.addr, c.m, c.mapped); got != (c.kind != "") || r.Kind != c.kind || !strings.HasSuffix(r.Text, c.text) || c.kind == "" && r.Text != "" {
			t.Errorf("%s: %v, %s: %q; want %s: %q", c.name, got, r.Kind, r.Text, c.kind, c.text)
		}
	}
}

func TestSharedMemory(t *testing.T) {
	for path, want := range map[string]bool{
		"/dev/shm/x": true, "/memfd:x (deleted)": true, "/SYSV00000001 (deleted)": true, "/anon_hugepage (deleted)": true, "/dev/hugepages/x": true,
		"/dev/zero": false, "/tmp/memfd:x": false, "": false,
	} {
		if SharedMemory(path) != want {
			t.Errorf("%q: %v", path, !want)
		}
	}
}

// TestRefused: what the memory map says about an access.
func TestRefused(t *testing.T) {
	read, write := disasm.Access{Known: true, Read: true}, disasm.Access{Known: true, Write: true}
	in := over(arch.AMD64, nil, area(0x10000, 0x11000, 0), area(0x11000, 0x12000, rw), area(0x100000, 0x200000, 0), area(0x300000, 0x301000, rd),
		area(0x400000, 0x401000, libstate.Exec), area(0xffffffffff600000, 0xffffffffff601000, libstate.Exec))
	blind := over(arch.AMD64, nil)
	blind.Mapping = nil
	for _, c := range []struct {
		in   *Input
		s    Signal
		a    disasm.Access
		addr uint64
		kind string
		text string
	}{
		{blind, segv(2, 0), read, 0x11000, report.CrashNoAccessRead, "read at 0x11000"},
		{blind, segv(1, 0), read, 0x11000, report.CrashBadRead, "read at 0x11000"},
		{blind, bus(2, 0), read, 0x11000, report.CrashBadRead, "read at 0x11000"},
		{blind, Signal{Number: sigSegv, Code: 2}, read, 0x11000, report.CrashBadRead, "read at 0x11000"},
		{in, segv(2, 0), read, 0x10000, report.CrashNoAccessRead, "read at 0x10000, in a guard page"},
		{in, segv(2, 0), read, 0x100000, report.CrashNoAccessRead, "read at 0x100000, which allows no access"},
		{in, segv(2, 0), write, 0x300000, report.CrashWriteReadOnly, "write at 0x300000, which is not writable"},
		{in, segv(2, 0), read, 0x400000, report.CrashNoAccessRead, "read at 0x400000, which is not readable"},
		{in, segv(2, 0), read, 0xffffffffff600000, report.CrashNoAccessRead, "read at 0xffffffffff600000, which is not readable"}, // vsyscall
		{in, segv(1, 0), read, 0xffffffffff601000, report.CrashWildRead, "read at 0xffffffffff601000, which belongs to the kernel"},
		{in, segv(1, 0), read, 0x12000, report.CrashWildRead, "read at 0x12000, which is not mapped, just past the end of mapped memory"},
		{in, segv(1, 0), read, 0x12001, report.CrashWildRead, "read at 0x12001, which is not mapped"},
		{in, segv(1, 0), read, 0x301000, report.CrashWildRead, "read at 0x301000, which is not mapped, just past the end of mapped memory"},
		{in, segv(1, 0), read, 0x200000, report.CrashWildRead, "read at 0x200000, which is not mapped"}, // behind reserved space
		{in, segv(1, 0), read, 0x13000, report.CrashWildRead, "read at 0x13000, which is not mapped"},
		{in, segv(2, 0), read, 0x11000, report.CrashBadRead, "read at 0x11000, which was not accessible"},
		{in, bus(0x80, 0), read, 0x11000, report.CrashBadRead, "read at 0x11000, sent by the kernel"},
		{in, bus(99, 0), read, 0x11000, report.CrashBadRead, "read at 0x11000, which was not accessible"},
		{in, Signal{Number: sigBus, Code: 2}, read, 0x11000, report.CrashBadRead, "read at 0x11000, which was not accessible"},
		{in, bus(3, 0), read, 0x11000, report.CrashBadRead, "read at 0x11000, object-specific hardware error"},
	} {
		c.in.Signal = c.s.linux()
		r := Reason{Access: direction(c.a)}
		m, mapped := c.in.mapping(c.addr)
		c.in.refused(&r, c.a, c.addr, m, mapped)
		if r.Kind != c.kind || r.Text != c.text {
			t.Errorf("signal %d, code %d: %s: %q; want %s: %q", c.s.Number, c.s.Code, r.Kind, r.Text, c.kind, c.text)
		}
	}
}

// TestBehind: only the page after memory, to the byte, is behind it. The memory of a
// minidump may end anywhere.
func TestBehind(t *testing.T) {
	in := over(arch.AMD64, nil, area(0x10000, 0x10800, rw), area(0x20fff, 0x21000, rw))
	for addr, want := range map[uint64]bool{0x10800: false, 0x11000: false, 0x21000: true, 0x22000: false} {
		if got := in.behind(addr) != ""; got != want {
			t.Errorf("%#x: %v", addr, got)
		}
	}
}

// TestNullOffset: a null pointer with an offset, near or far.
func TestNullOffset(t *testing.T) {
	op := func(base, index arch.Reg, scale uint8) disasm.MemOperand {
		return disasm.MemOperand{Base: base, Index: index, Segment: arch.NoReg, BitIndex: arch.NoReg, Scale: scale}
	}
	to := func(addr uint64, m disasm.MemOperand) disasm.Access {
		return disasm.Access{Known: true, Addr: addr, Operand: m}
	}
	with := func(m disasm.MemOperand, change func(*disasm.MemOperand)) disasm.MemOperand {
		change(&m)
		return m
	}
	const none = arch.NoReg
	minus := func(v uint64) uint64 { return -v }
	base := op(arch.RAX, none, 0) // rax is null, rcx is not, rdx is not known
	for _, c := range []struct {
		name   string
		a      *arch.Arch
		acc    disasm.Access
		mapped bool
		want   int64 // 0 if none
	}{
		{"last near address", arch.AMD64, to(nullZone-1, op(arch.RCX, none, 0)), false, nullZone - 1},
		{"first far address", arch.AMD64, to(nullZone, op(arch.RCX, none, 0)), false, 0},
		{"no architecture", nil, disasm.Access{Addr: 0x20000}, false, 0},
		{"base is null", arch.AMD64, to(0x20000, base), false, 0x20000},
		{"below null", arch.AMD64, to(minus(8), base), false, -8},
		{"4 GB above null", arch.AMD64, to(0xfffffff8, base), false, 0xfffffff8},
		{"below null, 32 bits", arch.X86, to(0xfffffff8, op(arch.EAX, none, 0)), false, -8},
		{"mapped", arch.AMD64, to(0x20000, base), true, 0},
		{"address not known", arch.AMD64, disasm.Access{Addr: 0x20000, Operand: base}, false, 0},
		{"base not known", arch.AMD64, to(0x20000, op(arch.RDX, none, 0)), false, 0},
		{"base is not null", arch.AMD64, to(0x20000, op(arch.RCX, none, 0)), false, 0},
		{"relative to pc", arch.AMD64, to(minus(8), with(op(none, none, 0), func(m *disasm.MemOperand) { m.RIPRelative = true })), false, 0},
		{"in a segment", arch.AMD64, to(0x20000, with(base, func(m *disasm.MemOperand) { m.Segment = arch.FSBase })), false, 0},
		{"stack pointer", arch.AMD64, to(0x20000, op(arch.RSP, none, 0)), false, 0},
		{"absolute, just below null", arch.AMD64, to(minus(nullZone-1), op(none, none, 0)), false, -nullZone + 1},
		{"absolute, too far below", arch.AMD64, to(minus(nullZone), op(none, none, 0)), false, 0},
		{"absolute", arch.AMD64, to(0x5000000, op(none, none, 0)), false, 0},
		{"index alone", arch.AMD64, to(minus(8), op(none, arch.RCX, 8)), false, 0},
		{"index of 2 bytes", arch.AMD64, to(0x20000, op(arch.RAX, arch.RCX, 2)), false, 0x20000},
		{"index of 1 byte, far", arch.AMD64, to(nullZone, op(arch.RAX, arch.RCX, 1)), false, 0},
	} {
		in := &Input{Arch: c.a}
		in.Regs.Set(arch.RAX, 0)
		in.Regs.Set(arch.EAX, 0)
		in.Regs.Set(arch.RCX, 0x1000)
		in.Regs.Set(arch.RSP, 0)
		if off, ok := in.nullOffset(c.acc, c.acc.Addr, c.mapped); ok != (c.want != 0) || off != c.want {
			t.Errorf("%s: %#x, %v; want %#x", c.name, off, ok, c.want)
		}
	}
	in := &Input{Arch: arch.AMD64}
	in.Regs.Set(arch.RAX, 0)
	if !in.nullBase(to(nullZone-1, op(arch.RAX, arch.RCX, 1))) {
		t.Error("an index of one byte near null")
	}
}

// TestListedAccesses: the accesses that a report lists, and what it says about a null base.
func TestListedAccesses(t *testing.T) {
	load := func(v uint64) Input { return at{a: arch.AMD64, code: loadRAX8, regs: regs{"rax": v}}.input(t) }
	one := []report.Access{{Address: 8, Size: 4, Kind: report.AccessRead}}
	null := &report.AdjustedAddress{Kind: report.AdjustedNullPointer, Offset: 8}
	other := &report.AdjustedAddress{Kind: report.AdjustedNonCanonical, Address: 1 << 60}
	unknown := at{a: arch.AMD64, code: loadRAX8}.input(t)
	for _, c := range []struct {
		name     string
		in       Input
		r        Reason
		accesses []report.Access
		adjusted *report.AdjustedAddress
	}{
		{"null", load(0), Reason{Kind: report.CrashNullRead, AtInst: true}, one, null},
		{"adjusted already", load(0), Reason{Kind: report.CrashNullRead, AtInst: true, Adjusted: other}, one, other},
		{"not of null", load(0), Reason{Kind: report.CrashWildRead, AtInst: true}, one, nil},
		{"near null", load(8), Reason{Kind: report.CrashNullRead, AtInst: true}, []report.Access{{Address: 16, Size: 4, Kind: report.AccessRead}}, nil},
		{"register not known", unknown, Reason{Kind: report.CrashNullRead, AtInst: true}, nil, nil},
		{"another instruction", load(0), Reason{Kind: report.CrashNullRead}, nil, nil},
		{"execution", load(0), Reason{Access: report.AccessExecute, HasAddr: true, Addr: none}, []report.Access{{Address: none, Kind: report.AccessExecute, GuardPage: true}}, nil},
		{"execution, address not known", load(0), Reason{Access: report.AccessExecute}, nil, nil},
		{"read of another instruction", load(0), Reason{Access: report.AccessRead, HasAddr: true, Addr: none}, nil, nil},
	} {
		c.in.listAccesses(&c.r)
		if len(c.r.Accesses) != len(c.accesses) || len(c.accesses) > 0 && c.r.Accesses[0] != c.accesses[0] {
			t.Errorf("%s: %+v, want %+v", c.name, c.r.Accesses, c.accesses)
		}
		if (c.r.Adjusted == nil) != (c.adjusted == nil) || c.adjusted != nil && *c.r.Adjusted != *c.adjusted {
			t.Errorf("%s: %+v, want %+v", c.name, c.r.Adjusted, c.adjusted)
		}
	}
}

// TestGuardPage: a small area without permissions, next to memory in use.
func TestGuardPage(t *testing.T) {
	guard := area(0x100000, 0x101000, 0)
	for _, c := range []struct {
		name  string
		areas []libstate.Mapping
		want  bool
	}{
		{"below memory", []libstate.Mapping{guard, area(0x101000, 0x102000, rd)}, true},
		{"above memory", []libstate.Mapping{guard, area(0xff000, 0x100000, rd)}, true},
		{"above one byte of memory", []libstate.Mapping{guard, area(0xfffff, 0x100000, rd)}, true},
		{"alone", []libstate.Mapping{guard}, false},
		{"below another guard", []libstate.Mapping{guard, area(0x101000, 0x102000, 0)}, false},
		{"above another guard", []libstate.Mapping{guard, area(0xff000, 0x100000, 0)}, false},
		{"largest", []libstate.Mapping{area(0x100000, 0x107000, 0), area(0x107000, 0x108000, rd)}, true},
		{"too large", []libstate.Mapping{area(0x100000, 0x108000, 0), area(0x108000, 0x109000, rd)}, false},
		{"in use", []libstate.Mapping{area(0x100000, 0x101000, rd), area(0x101000, 0x102000, rd)}, false},
		{"not mapped", []libstate.Mapping{area(0x101000, 0x102000, rd)}, false},
	} {
		if got := over(arch.AMD64, nil, c.areas...).guardPage(0x100800); got != c.want {
			t.Errorf("%s: %v", c.name, got)
		}
	}
}

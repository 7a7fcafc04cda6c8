package reason

import (
	"encoding/hex"
	"testing"

	"github.com/corewalk/corewalk/libstate"
	"github.com/corewalk/corewalk/report"
	"github.com/corewalk/corewalk/unwind/arch"
)

// TestCannotRun: code runs where the map has code; without a map, where the dump has its bytes.
func TestCannotRun(t *testing.T) {
	known, unknown := at{a: arch.AMD64, code: nop, blind: true}.input(t), at{a: arch.AMD64, blind: true}.input(t)
	for _, c := range []struct {
		name string
		in   *Input
		pc   uint64
		want bool
	}{
		{"code", over(arch.AMD64, nil, area(text, text+0x1000, rx)), text, false},
		{"data", over(arch.AMD64, nil, area(text, text+0x1000, rw)), text, true},
		{"nothing", over(arch.AMD64, nil), text, true},
		{"no map", &known, text, false},
		{"no map and no bytes", &unknown, text, true},
	} {
		if got := c.in.cannotRun(c.pc); got != c.want {
			t.Errorf("%s: %v", c.name, got)
		}
	}
}

// TestRanInto: an instruction that begins in the last bytes of a page of code, and ends in a page without.
func TestRanInto(t *testing.T) {
	const end = text + 0x1000
	code, odd := area(text, end, rx), area(text, end-0x80, rx)
	for _, c := range []struct {
		name     string
		code     string // no bytes of it if ""
		pc, addr uint64
		areas    []libstate.Mapping
		want     bool
	}{
		{"its last byte", loadRAX8, end - 2, end, []libstate.Mapping{code}, true},
		{"its first byte", loadRAX8, end - 1, end, []libstate.Mapping{code}, true},
		{"behind it", loadRAX8, end - 3, end, []libstate.Mapping{code}, false},
		{"bytes not known", "", end - 14, end, []libstate.Mapping{code}, true},
		{"bytes not known, too far", "", end - 15, end, []libstate.Mapping{code}, false},
		{"before it", loadRAX8, text, text - 1, []libstate.Mapping{code}, false},
		{"itself", loadRAX8, text, text, []libstate.Mapping{code}, false},
		{"into code", loadRAX8, end - 2, end, []libstate.Mapping{code, area(end, end+0x1000, rx)}, false},
		{"into data", loadRAX8, end - 2, end, []libstate.Mapping{code, area(end, end+0x1000, rw)}, true},
		{"from data", loadRAX8, end - 2, end, []libstate.Mapping{area(text, end, rw)}, false},
		{"not the start of a page", loadRAX8, end - 0x82, end - 0x80, []libstate.Mapping{odd}, false},
	} {
		in := at{a: arch.AMD64, code: c.code}.input(t)
		in.Mapping = over(arch.AMD64, nil, c.areas...).Mapping
		if got := in.ranInto(c.pc, c.addr); got != c.want {
			t.Errorf("%s: %v", c.name, got)
		}
	}
	in := at{a: arch.AMD64, code: loadRAX8, blind: true}.input(t)
	if in.ranInto(end-2, end) {
		t.Error("no map")
	}
}

// TestJump: why no code can run at an address.
func TestJump(t *testing.T) {
	for _, c := range []struct {
		a     *arch.Arch
		pc    uint64
		blind bool
		kind  string
		text  string
	}{
		{arch.AMD64, 0, false, report.CrashNullCall, "jump to null"},
		{arch.AMD64, nullZone - 1, false, report.CrashNullCall, "jump to null+0xffff"},
		{arch.AMD64, nullZone, false, report.CrashWildCall, "jump to 0x10000, which is not mapped"},
		{arch.AMD64, nullZone, true, report.CrashBadCall, "jump to 0x10000, where no code can run"},
		{arch.AMD64, 1 << 60, false, report.CrashNonCanonicalCall, "jump to 0x1000000000000000, which no process can map (not canonical)"},
		{arch.ARM64, 1 << 52, true, report.CrashNonCanonicalCall, "jump to 0x10000000000000, which no process can map (not canonical)"},
		{arch.ARM64, 1<<52 - 1, true, report.CrashBadCall, "jump to 0xfffffffffffff, where no code can run"},
		{arch.AMD64, data, false, report.CrashExecNoExec, "jump to 0x404000, which is not executable (/bin/prog)"},
		{arch.AMD64, text, false, report.CrashBadCall, "jump to 0x401000, which was not accessible (/bin/prog)"},
	} {
		in := at{a: c.a, regs: regs{c.a.RegName(c.a.PC): c.pc}, blind: c.blind}.input(t)
		want := Reason{Kind: c.kind, Text: c.text, Access: report.AccessExecute, Addr: c.pc, HasAddr: true}
		if r := in.jump(c.pc); r.Kind != want.Kind || r.Text != want.Text || r.Access != want.Access || r.Addr != want.Addr || r.HasAddr != want.HasAddr {
			t.Errorf("%#x of %s: %+v; want %+v", c.pc, c.a.Name, r, want)
		}
	}
}

// TestHow: a call and a return differ from a jump by the return address, in a register or on the stack.
func TestHow(t *testing.T) {
	const (
		sp, ra, wild = lowStack + 0x8000, uint64(text + 0x20), 0x5000000

		blrX0, blxR3 = "00003fd6", "9847"
		callNext     = "e800000000" // call ra
		callWild     = "e8e0efbf04" // call wild
	)
	words := func(above, below uint64) map[uint64]uint64 {
		return map[uint64]uint64{sp: above, sp - 8: below, sp - 4: below}
	}
	for _, c := range []struct {
		name string
		p    at
		call string // the instruction before the return address, in hexadecimal
		pc   uint64
		want string
	}{
		{"return", at{a: arch.AMD64, words: words(0, wild)}, "", wild, "return to"},
		{"return, i386", at{a: arch.X86, words: words(0, wild)}, "", wild, "return to"},
		{"return, x32", at{a: arch.X32, words: map[uint64]uint64{sp - 8: wild}}, "", wild, "return to"},
		{"another word", at{a: arch.AMD64, words: words(0, wild+1)}, "", wild, "jump to"},
		{"return next to null", at{a: arch.AMD64, words: words(0, 1)}, "", 1, "return to"},
		{"null, over zeros", at{a: arch.AMD64, words: words(0, 0)}, "", 0, "jump to"},
		{"a word below the stack that is no return address", at{a: arch.ARM64, words: words(0, wild)}, "", wild, "jump to"},
		{"no memory", at{a: arch.AMD64, noWords: true}, "", wild, "jump to"},
		{"call", at{a: arch.AMD64, words: words(ra, 0)}, callRAX, wild, "call to"},
		{"call of null", at{a: arch.AMD64, words: words(ra, 0)}, callRAX, 0, "call to"},
		{"no call", at{a: arch.AMD64, words: words(ra, 0)}, nop, wild, "jump to"},
		{"call of another, which jumped", at{a: arch.AMD64, words: words(ra, 0)}, callNext, wild, "jump to"},
		{"call by its address", at{a: arch.AMD64, words: words(ra, 0)}, callWild, wild, "call to"},
		{"call, odd address", at{a: arch.AMD64, words: words(ra+1, 0)}, callRAX, wild, "call to"},
		{"call, arm64", at{a: arch.ARM64, regs: regs{"x30": ra}}, blrX0, wild, "call to"},
		{"call, arm64, a return address on the stack", at{a: arch.ARM64, words: words(ra, 0)}, blrX0, wild, "jump to"},
		{"call, Thumb", at{a: arch.ARM, regs: regs{"lr": ra | 1}}, blxR3, wild, "call to"},
		{"call, SPARC", at{a: arch.SPARC64, regs: regs{"o7": ra - 8}}, "9fc0400001000000", wild, "call to"},
	} {
		in := c.p.input(t)
		code, err := hex.DecodeString(c.call)
		if err != nil {
			t.Fatal(err)
		}
		end := ra // of the call
		if v, ok := c.p.words[sp]; ok && v > ra {
			end = v
		}
		in.Bytes = func(addr uint64, buf []byte) int {
			for i := range buf {
				at := addr + uint64(i) - (end - uint64(len(code)))
				if buf[i] = 0; at < uint64(len(code)) {
					buf[i] = code[at]
				}
			}
			return len(buf)
		}
		if got := in.how(c.pc); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
		whole := in.Bytes
		for name, bytes := range map[string]func(uint64, []byte) int{"no bytes": nil, "too few bytes": func(addr uint64, buf []byte) int { return whole(addr, buf) - 1 }} {
			if in.Bytes = bytes; in.how(c.pc) == "call to" {
				t.Errorf("%s, %s: call to", c.name, name)
			}
		}
	}

	// What is known of the stack means nothing without the stack pointer, and a word that cannot be read is none.
	in := Input{Arch: arch.AMD64, Word: func(uint64) (uint64, bool) { return ra, true }, Bytes: func(_ uint64, buf []byte) int {
		buf[len(buf)-2], buf[len(buf)-1] = 0xff, 0xd0
		return len(buf)
	}}
	for name, pc := range map[string]uint64{"return": ra, "call": wild} {
		if got := in.how(pc); got != "jump to" {
			t.Errorf("%s, stack pointer not known: %q", name, got)
		}
	}
	in.Regs.Set(arch.RSP, sp)
	if got := in.how(wild); got != "call to" {
		t.Errorf("stack pointer known: %q", got)
	}
	in.Word = func(uint64) (uint64, bool) { return ra, false }
	for name, pc := range map[string]uint64{"return": ra, "call": wild} {
		if got := in.how(pc); got != "jump to" {
			t.Errorf("%s, word not known: %q", name, got)
		}
	}
}

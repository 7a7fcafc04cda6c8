package reason

import (
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/corewalk/corewalk/libstate"
	"github.com/corewalk/corewalk/report"
	"github.com/corewalk/corewalk/unwind/arch"
)

// TestFlippable: which bad addresses a flipped bit could explain.
func TestFlippable(t *testing.T) {
	in := over(arch.AMD64, nil, area(none, none+0x1000, 0), area(none+0x1000, none+0x2000, rw))
	for _, c := range []struct {
		kind string
		addr uint64
		want bool
	}{
		{report.CrashWildRead, 0x5000000, true}, {report.CrashWildRead, nullZone, true}, {report.CrashWildRead, nullZone - 1, false},
		{report.CrashNoAccessRead, none, false}, {report.CrashNoAccessRead, none + 0x1000, true},
		{report.CrashWildRead, 0xffff888000000000, false}, {report.CrashNonCanonicalRead, 0x8000000000000000, true},
		{report.CrashBadRead, 0x5000000, false}, {report.CrashNullRead, 0x5000000, false},
		{report.CrashWriteReadOnly, 0x5000000, true}, {report.CrashMisaligned, 0x5000000, false},
	} {
		if got := in.flippable(&Reason{Kind: c.kind, Addr: c.addr}); got != c.want {
			t.Errorf("%s at %#x: %v", c.kind, c.addr, got)
		}
	}
}

// TestOverruns: up to 64 KB beside memory in use.
func TestOverruns(t *testing.T) {
	const addr = 0x10000000
	for _, c := range []struct {
		name string
		m    libstate.Mapping
		want bool
	}{
		{"before memory", area(addr+overrun, addr+overrun+0x1000, rd), true},
		{"too far before", area(addr+overrun+0x1000, addr+overrun+0x2000, rd), false},
		{"behind memory", area(addr-overrun, addr-overrun+0x1000, rd), true},
		{"too far behind", area(addr-overrun-0x1000, addr-overrun, rd), false},
		{"in it", area(addr, addr+1, rd), true},
		{"reserved", area(addr, addr+0x1000, 0), false},
	} {
		if got := over(arch.AMD64, nil, c.m).overruns(addr); got != c.want {
			t.Errorf("%s: %v", c.name, got)
		}
	}
}

func TestAllows(t *testing.T) {
	for _, perm := range []libstate.Perm{0, rd, libstate.Write, libstate.Exec, rw, rx, all} {
		in := over(arch.AMD64, nil, area(0x1000, 0x2000, perm))
		for access, need := range map[string]libstate.Perm{report.AccessRead: libstate.Read, report.AccessWrite: libstate.Write, report.AccessExecute: libstate.Exec, "": libstate.Read} {
			if got := in.allows(0x1000, access); got != (perm&need != 0) {
				t.Errorf("%q of memory with permissions %d: %v", access, perm, got)
			}
			if in.allows(0x3000, access) {
				t.Errorf("%q where nothing is mapped", access)
			}
		}
	}
}

// TestFlippedRegisters: the bit may have flipped in a register that the address was computed
// from, or in the address if those do not tell.
func TestFlippedRegisters(t *testing.T) {
	const good, bad = 0x10100000, 0x10100000 | 1<<33
	memory := area(good, good+0x1000, rw)
	wild := func(addr uint64) Reason {
		return Reason{Kind: report.CrashWildRead, Access: report.AccessRead, Addr: addr, HasAddr: true, AtInst: true}
	}
	sent := wild(bad)
	sent.AtInst = false
	called := wild(good ^ 1<<33)
	called.Kind, called.Access = report.CrashWildCall, report.AccessExecute
	toNull := called
	toNull.Addr = 1 << 33
	unknown := wild(bad)
	unknown.HasAddr = false
	for _, c := range []struct {
		name string
		code string
		regs regs
		r    Reason
		perm libstate.Perm
		want string // register and bit
	}{
		{"base", loadRAX, regs{"rax": bad}, wild(bad), rw, "rax 33"},
		{"base, with an index", "8b0490", regs{"rax": bad, "rdx": 1}, wild(bad + 4), rw, "rax 33"},
		{"index", "8b0410", regs{"rax": good, "rdx": 1<<33 | 0x40}, wild(bad | 0x40), rw, "rdx 33"},
		{"index of two bytes", "8b0450", regs{"rax": good, "rdx": 1<<32 | 0x20}, wild(bad | 0x40), rw, ""},
		{"index of four bytes", "8b0490", regs{"rax": good, "rdx": 1<<31 | 0x10}, wild(bad | 0x40), rw, ""},
		{"program counter", "8b05fa0f0000", regs{"rip": good | 1<<33 - 0x1000}, wild(bad), rw, ""},
		{"another address", loadRAX, regs{"rax": 0x7000000}, wild(bad), rw, " 33"},
		{"register not known", loadRAX, nil, wild(bad), rw, " 33"},
		{"another instruction", loadRAX, regs{"rax": bad}, sent, rw, " 33"},
		{"execution", loadRAX, regs{"rax": bad}, called, rx, " 33"},
		{"execution of null", "", nil, toNull, rx, ""},
		{"address not known", loadRAX, regs{"rax": bad}, unknown, rw, ""},
		{"the lowest bit", "488b8000000020", regs{"rax": 1}, wild(0x20000001), rw, "rax 0"},
		{"the lowest impossible bit, of a possible address", "488b8000f0ffff", regs{"rax": 1 << 47}, wild(1<<47 - 0x1000), rw, ""},
	} {
		in := at{a: arch.AMD64, code: c.code, regs: c.regs}.input(t)
		memory.Perm = c.perm
		in.Mapping = over(arch.AMD64, nil, memory).Mapping
		in.bitFlips(&c.r)
		got := ""
		if len(c.r.BitFlips) > 0 {
			b := c.r.BitFlips[0]
			got = b.Register + " " + strconv.Itoa(b.Bit)
		}
		if got != c.want || len(c.r.BitFlips) > 1 {
			t.Errorf("%s: %+v, want %q", c.name, c.r.BitFlips, c.want)
		}
	}
}

// TestBestFlipsFirst: the likeliest guesses come first, and there are not too many.
func TestBestFlipsFirst(t *testing.T) {
	const bad = 1<<46 | 0x10000
	r := Reason{Kind: report.CrashWildRead, Access: report.AccessRead, Addr: bad, HasAddr: true}
	in := over(arch.AMD64, regs{"rbx": bad ^ 1<<40 + 0x20})
	in.Mapping = func(addr uint64) (libstate.Mapping, bool) {
		return area(0, 1<<47, rw), addr-bad+1<<17 > 1<<18
	}
	in.bitFlips(&r)
	if len(r.BitFlips) != maxBitFlips || r.BitFlips[0].Bit != 40 || r.BitFlips[0].Confidence <= r.BitFlips[1].Confidence {
		t.Errorf("%d: %+v", len(r.BitFlips), r.BitFlips)
	}
	if !slices.IsSortedFunc(r.BitFlips, func(a, b report.BitFlip) int {
		if a.Confidence > b.Confidence {
			return -1
		}
		return 0
	}) {
		t.Errorf("not in order: %+v", r.BitFlips)
	}
}

// TestFlipDetails: what speaks for a guess.
func TestFlipDetails(t *testing.T) {
	const guess = 0x10000000
	near := report.BitFlipDetails{NearbyRegisters: 1}
	for _, c := range []struct {
		name         string
		value, guess uint64
		regs         regs
		register     string
		want         report.BitFlipDetails
	}{
		{"nothing", guess ^ 1<<33, guess, nil, "rax", report.BitFlipDetails{}},
		{"null, low", low, 0, nil, "rax", report.BitFlipDetails{IsNull: true, WasLow: true}},
		{"null, not low", low + 1, 0, nil, "rax", report.BitFlipDetails{IsNull: true}},
		{"low, not null", low, guess, nil, "rax", report.BitFlipDetails{}},
		{"above", guess ^ 1<<33, guess, regs{"rbx": guess + nearby}, "rax", near},
		{"too far above", guess ^ 1<<33, guess, regs{"rbx": guess + nearby + 1}, "rax", report.BitFlipDetails{}},
		{"below", guess ^ 1<<33, guess, regs{"rbx": guess - nearby}, "rax", near},
		{"too far below", guess ^ 1<<33, guess, regs{"rbx": guess - nearby - 1}, "rax", report.BitFlipDetails{}},
		{"the register itself", guess + 1, guess, regs{"rax": guess + 1}, "rax", report.BitFlipDetails{}},
		{"a small guess", low ^ 1<<33, low, regs{"rbx": low}, "rax", report.BitFlipDetails{}},
		{"the smallest guess that counts", low + 1, low + 1, regs{"rbx": low}, "rax", near},
		{"pattern", guess ^ 1<<33, guess, regs{"rbx": 0xe5e5e5e5e5e5e5e5}, "rax", report.BitFlipDetails{PoisonRegisters: true}},
	} {
		f := flipper{in: over(arch.AMD64, c.regs)}
		if got := f.details(c.value, c.guess, c.register); got != c.want {
			t.Errorf("%s: %+v, want %+v", c.name, got, c.want)
		}
	}
}

// TestBitFlipCause: only a good guess is a cause, and only if there is no better one.
func TestBitFlipCause(t *testing.T) {
	const good = 0x10000000
	anonymous, file := area(good, good+0x1000, rw), libstate.Mapping{Start: good, End: good + 0x1000, Perm: rw, Path: "/lib/x.so"}
	for _, c := range []struct {
		name  string
		flips []report.BitFlip
		had   []report.Cause
		m     libstate.Mapping
		want  string
	}{
		{"good", []report.BitFlip{{Address: good, Bit: 33, Register: "rax", Confidence: 0.51}}, nil, anonymous, "single-bit error in rax: with bit 33 flipped it is 0x10000000, in mapped memory"},
		{"in a file", []report.BitFlip{{Address: good, Bit: 33, Confidence: 0.51}}, nil, file, "single-bit error in the address: with bit 33 flipped it is 0x10000000, in /lib/x.so"},
		{"beside memory", []report.BitFlip{{Address: good - 8, Bit: 33, Register: "rax", Confidence: 0.51}}, nil, anonymous, "it is 0xffffff8, near mapped memory"},
		{"null", []report.BitFlip{{Bit: 33, Register: "rax", Confidence: 0.51}}, nil, anonymous, "it is 0x0, a null pointer"},
		{"not good enough", []report.BitFlip{{Address: good, Bit: 33, Confidence: 0.5}}, nil, anonymous, ""},
		{"explained", []report.BitFlip{{Address: good, Bit: 33, Confidence: 0.9}}, []report.Cause{{Text: "freed"}}, anonymous, "freed"},
		{"none", nil, nil, anonymous, ""},
	} {
		r := Reason{BitFlips: c.flips, Causes: c.had}
		over(arch.AMD64, nil, c.m).bitFlipCause(&r)
		if c.want == "" && len(r.Causes) > 0 || c.want != "" && (len(r.Causes) != 1 || !strings.HasSuffix(r.Causes[0].Text, c.want)) {
			t.Errorf("%s: %v, want %q", c.name, r.Causes, c.want)
		}
	}
}

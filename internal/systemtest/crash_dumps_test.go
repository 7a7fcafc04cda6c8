package systemtest

import (
	"context"
	"encoding/hex"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/corewalk/corewalk"
	"github.com/corewalk/corewalk/internal/format/minidump/dumpbuild"
	"github.com/corewalk/corewalk/report"
	"github.com/corewalk/corewalk/unwind/arch"
)

// Where things are in the dumps of these tests.
const (
	dumpCode  = 0x10001000 // readable and executable
	dumpData  = 0x10002000 // writable
	dumpConst = 0x10003000 // readable
	dumpStack = 0x20010000 // writable, 64 kB, a guard page below
)

// A foreignCrash is a process of a system without signals at the instruction that
// failed.
type foreignCrash struct {
	arch     *arch.Arch
	platform uint32 // of the system information
	code     string // the instruction in hexadecimal
	regs     map[string]uint64
	e        dumpbuild.Exception
	maps     bool // the dump has the list of mappings
}

func (c foreignCrash) dump(t *testing.T) []byte {
	t.Helper()
	var regs arch.RegSet
	regs.Set(c.arch.PC, dumpCode+0x10)
	regs.Set(c.arch.SP, dumpStack+0x8000)
	for name, v := range c.regs {
		r, ok := c.arch.RegByName(name)
		if !ok {
			t.Fatalf("no register %s", name)
		}
		regs.Set(r, v)
	}
	code, err := hex.DecodeString(c.code)
	if err != nil {
		t.Fatal(err)
	}
	k := recordOf(c.arch)
	d := dumpbuild.New(false)
	d.System(k.cpu, c.platform, 10, 0, 19045, "")
	record := d.Blob(k.record(d, c.arch, regs))
	d.Threads(false, dumpbuild.Thread{ID: 1, Context: record})
	d.Modules(dumpbuild.Module{Base: 0x10000000, Size: 0x4000, Name: "app"})
	c.e.Thread, c.e.Context = 1, record
	d.Exception(c.e)
	if c.maps {
		d.MemoryInfo(48,
			dumpbuild.Region{Base: dumpCode, Size: 0x1000, State: 0x1000, Protect: 0x20, Type: 0x1000000},
			dumpbuild.Region{Base: dumpData, Size: 0x1000, State: 0x1000, Protect: 4, Type: 0x1000000},
			dumpbuild.Region{Base: dumpConst, Size: 0x1000, State: 0x1000, Protect: 2, Type: 0x1000000},
			dumpbuild.Region{Base: dumpStack - 0x1000, Size: 0x1000, State: 0x1000, Protect: 1, Type: 0x20000},
			dumpbuild.Region{Base: dumpStack, Size: 0x10000, State: 0x1000, Protect: 4, Type: 0x20000})
	}
	d.Memory64(dumpbuild.Memory{Start: dumpCode + 0x10, Data: append(code, make([]byte, 16)...)},
		dumpbuild.Memory{Start: dumpStack + 0x8000, Data: make([]byte, 256)})
	return d.Bytes()
}

// TestForeignCrashes tells what programs on Windows and macOS died of, by dumps alone.
func TestForeignCrashes(t *testing.T) {
	const windows, macOS = 2, 0x8101
	x64, x86, a64 := arch.AMD64, arch.X86, arch.ARM64
	av := func(params ...uint64) dumpbuild.Exception {
		return dumpbuild.Exception{Code: 0xc0000005, Address: dumpCode + 0x10, Params: params}
	}
	win := func(code uint32, params ...uint64) dumpbuild.Exception {
		return dumpbuild.Exception{Code: code, Address: dumpCode + 0x10, Params: params}
	}
	mach := func(kind, code uint32, addr uint64) dumpbuild.Exception {
		return dumpbuild.Exception{Code: kind, Flags: code, Address: addr}
	}
	type regs = map[string]uint64
	const load = "488b4010" // mov rax, [rax+16]
	for _, c := range []struct {
		name  string
		c     foreignCrash
		kind  string
		text  string
		cause string
	}{
		{"null", foreignCrash{x64, windows, load, regs{"rax": 0}, av(0, 0x10), true}, report.CrashNullRead, "read of 8 bytes at null+0x10", ""},
		{"wild", foreignCrash{x64, windows, load, regs{"rax": 0x5000000}, av(0, 0x5000010), true}, report.CrashWildRead, "which is not mapped", ""},
		{"wild, no mappings", foreignCrash{x64, windows, load, regs{"rax": 0x5000000}, av(0, 0x5000010), false}, report.CrashBadRead, "read of 8 bytes at 0x5000010", ""},
		{"freed", foreignCrash{x86, windows, "8b4008", regs{"eax": 0xfeeefeee}, av(0, 0xfeeefef6), true}, report.CrashWildRead, "read of 4 bytes", "fill pattern of freed memory (Windows)"},
		{"not canonical", foreignCrash{x64, windows, load, regs{"rax": 0xdddddddddddddddd}, av(0, ^uint64(0)), true}, report.CrashNonCanonicalRead, "0xdddddddddddddded", "freed memory"},
		{"the last byte", foreignCrash{x64, windows, "8a40ff", regs{"rax": 0}, av(0, ^uint64(0)), true}, report.CrashNullRead, "read of 1 byte at null-0x1", ""},
		{"constant", foreignCrash{x64, windows, "c70001000000", regs{"rax": dumpConst}, av(1, dumpConst), true}, report.CrashWriteReadOnly, "not writable", ""},
		{"data", foreignCrash{x64, windows, "", regs{"rip": dumpData}, av(8, dumpData), true}, report.CrashExecNoExec, "not executable", ""},
		{"bit", foreignCrash{x64, windows, load, regs{"rax": (dumpData + 0x100) ^ 1<<40, "rbx": dumpData + 0x80}, av(0, (dumpData+0x110)^1<<40), true}, report.CrashWildRead, "not mapped", "single-bit error in rax: with bit 40"},
		{"stack", foreignCrash{x64, windows, "", regs{"rsp": dumpStack}, win(0xc00000fd, 1, dumpStack-8), true}, report.CrashStackOverflow, "stack overflow", ""},
		{"division", foreignCrash{x64, windows, "f7f9", regs{"rcx": 0}, win(0xc0000094), true}, report.CrashDivZero, "by zero", ""},
		{"quotient", foreignCrash{x64, windows, "f7f9", regs{"rax": 1 << 31, "rdx": 0xffffffff, "rcx": 0xffffffff}, win(0xc0000095), true}, report.CrashDivOverflow, "divided by -1", ""},
		{"ud2", foreignCrash{x64, windows, "0f0b", nil, win(0xc000001d), true}, report.CrashTrap, "must not be reached", ""},
		{"fastfail", foreignCrash{x64, windows, "cd29", nil, win(0xc0000409, 2), true}, report.CrashStackOverrun, "stack buffer overrun", ""},
		{"heap", foreignCrash{x64, windows, "", nil, win(0xc0000374), false}, report.CrashHeapCorruption, "corrupted heap", ""},
		{"memory", foreignCrash{x64, windows, "", nil, win(0xe0000008, 4096), false}, report.CrashOutOfMemory, "4096 bytes requested", ""},
		{"C++", foreignCrash{x86, windows, "", nil, win(0xe06d7363, 0x19930520), false}, report.CrashException, "uncaught C++ exception", ""},
		{"arm64", foreignCrash{a64, windows, "000840f9", regs{"x0": 0}, av(0, 0x10), true}, report.CrashNullRead, "read of 8 bytes at null+0x10", ""},
		{"arm64, fastfail", foreignCrash{a64, windows, "60003ed4", nil, win(0xc0000409, 8), true}, report.CrashBounds, "subscript", ""},

		{"mac, null", foreignCrash{a64, macOS, "000840f9", regs{"x0": 0}, mach(1, 1, 0x10), false}, report.CrashNullRead, "read of 8 bytes at null+0x10", ""},
		{"mac, pointer authentication", foreignCrash{a64, macOS, "000840f9", regs{"x0": 0x0020000110002000}, mach(1, 0x105, 0x0020000110002010), false}, report.CrashControlFlow, "signature is wrong", ""},
		{"mac, trap", foreignCrash{a64, macOS, "200020d4", nil, mach(6, 1, 0), false}, report.CrashTrap, "brk #0x1", ""},
		{"mac, not canonical", foreignCrash{x64, macOS, load, regs{"rax": 0x6f77206f6c6c6568}, mach(1, 13, 0), false}, report.CrashNonCanonicalRead, "not canonical", `text: "hello wo"`},
		{"mac, division", foreignCrash{x64, macOS, "f7f9", regs{"rcx": 0}, mach(3, 1, 0), false}, report.CrashDivZero, "by zero", ""},
		{"mac, ud2", foreignCrash{x64, macOS, "0f0b", nil, mach(2, 1, 0), false}, report.CrashTrap, "ud2", ""},
		{"mac, abort", foreignCrash{a64, macOS, "", nil, mach(5, 0x10002, 0), false}, report.CrashAbort, "abort", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "x.dmp")
			if err := os.WriteFile(path, c.c.dump(t), 0o600); err != nil {
				t.Fatal(err)
			}
			target, err := corewalk.Open(context.Background(), path, corewalk.WithDebugDir(t.TempDir()))
			if err != nil {
				t.Fatal(err)
			}
			defer target.Close()
			r, err := target.Analyze(context.Background(), corewalk.AnalyzeOptions{})
			if err != nil || r.Crash == nil {
				t.Fatal(r.Crash, err)
			}
			cause := ""
			if len(r.Crash.Causes) > 0 {
				cause = r.Crash.Causes[0].Text
			}
			if r.Crash.Kind != c.kind || !strings.Contains(r.Crash.Reason, c.text) || !strings.Contains(cause, c.cause) || (cause == "") != (c.cause == "") {
				t.Errorf("%s: %s, cause %q; want %s, %q, %q", r.Crash.Kind, r.Crash.Reason, cause, c.kind, c.text, c.cause)
			}
			if len(r.Crash.Inconsistencies) > 0 || !slices.Contains(report.CrashKinds(), r.Crash.Kind) {
				t.Errorf("%+v", r.Crash)
			}
		})
	}
}

package systemtest

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/corewalk/corewalk"
	"github.com/corewalk/corewalk/internal/format/minidump/dumpbuild"
	"github.com/corewalk/corewalk/report"
)

// wow64Dump is the dump of a 32-bit program that a 64-bit one wrote. Thread 2 waits,
// thread 3 has no 32-bit registers, and thread 1 or 3 crashed.
func wow64Dump(t *testing.T, crashed uint32) string {
	t.Helper()
	const teb, reserved, stack = 0x2000, 0x80000, 0x7000
	d := dumpbuild.New(false)
	d.System(9, 2, 10, 0, 19045, "")
	d.Modules(dumpbuild.Module{Base: 0x400000, Size: 0x10000, Name: `C:\a.exe`}, dumpbuild.Module{Base: 0x74000000, Size: 0x1000, Name: `C:\Windows\System32\wow64cpu.dll`})
	layer := d.Blob(d.AMD64(0x10001f, 0x74000500, 0x9000, 0))
	d.Threads(false, dumpbuild.Thread{ID: 1, Context: layer}, dumpbuild.Thread{ID: 2, TEB: teb, Context: layer}, dumpbuild.Thread{ID: 3, Context: layer})
	at := d.Context(1232).Put(0x30, 4, 0x10001f).Put(0x38, 2, 0x23).Put(0xf8, 8, 0x401999).Put(0x98, 8, stack).Put(0xa0, 8, stack+0x10).B
	if crashed == 3 {
		at = d.AMD64(0x10001f, 0x74000500, 0x9000, 0)
	}
	d.Exception(dumpbuild.Exception{Thread: crashed, Code: 0xc0000005, Address: 0x401999, Params: []uint64{1, 0}, Context: d.Blob(at)})
	code := append(bytes.Repeat([]byte{0x90}, 0x55), 0xe8, 0, 0, 0, 0) // a call, up to 0x40105a
	d.MemoryList(dumpbuild.Memory{Start: teb + 0x1488, Data: d.W().U64(reserved).B},
		dumpbuild.Memory{Start: reserved, Data: d.W().U16(0, 0x14c).Bytes(d.X86(0x1003f, 0x401234, stack+0x100, stack+0x110)).B},
		dumpbuild.Memory{Start: 0x401000, Data: code},
		dumpbuild.Memory{Start: 0x401999, Data: []byte{0xc7, 0, 1, 0, 0, 0}}, // mov dword ptr [eax], 1
		dumpbuild.Memory{Start: stack, Data: d.W().U32(1, 2, 3, 4, stack+0x40, 0x40105a).Pad(0x80).B})
	path := filepath.Join(t.TempDir(), "wow64.dmp")
	if err := os.WriteFile(path, d.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestWOW64(t *testing.T) {
	for _, tt := range []struct {
		crashed uint32
		arch    string
		threads int
		pc      []report.Addr
		info    string
	}{
		{1, "i386", 2, []report.Addr{0x401999, 0x40105a}, "32-bit, dumped from its 64-bit side (WOW64)"},
		{3, "x86-64", 3, []report.Addr{0x74000500}, "the registers are those of the layer between"},
	} {
		target, err := corewalk.Open(context.Background(), wow64Dump(t, tt.crashed), corewalk.WithDebugDir(t.TempDir()))
		if err != nil {
			t.Fatal(err)
		}
		r, err := target.Analyze(context.Background(), corewalk.AnalyzeOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if r.Dump.Arch != tt.arch || len(r.Threads) != tt.threads || r.Crash == nil || r.Crash.Thread != int(tt.crashed) {
			t.Errorf("%d crashed: %s, %d threads, %+v", tt.crashed, r.Dump.Arch, len(r.Threads), r.Crash)
			continue
		}
		for i, want := range tt.pc {
			if f := r.Threads[0].Frames; len(f) <= i || f[i].PC != want {
				t.Errorf("%d crashed: frame %d of %+v, want %#x", tt.crashed, i, f, want)
			}
		}
		var text bytes.Buffer
		if err := report.WriteInfoText(&text, target.Info(), report.TextOptions{}); err != nil {
			t.Fatal(err)
		}
		flat := strings.Join(strings.Fields(text.String()), " ")
		if !strings.Contains(flat, tt.info) {
			t.Errorf("%d crashed: no %q in\n%s", tt.crashed, tt.info, text.String())
		}
		target.Close()
	}
}

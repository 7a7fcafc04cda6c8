package systemtest

import (
	"bytes"
	"context"
	"encoding/binary"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/corewalk/corewalk"
	"github.com/corewalk/corewalk/internal/corebuild"
	"github.com/corewalk/corewalk/internal/format/elffile"
	"github.com/corewalk/corewalk/report"
)

// freeBSDDump is a core of FreeBSD on x86-64, whose first thread stored through a
// pointer into read-only memory, in a handler of SIGUSR1.
func freeBSDDump() []byte {
	const text, stack = 0x201000, 0x7fffffffd000
	words := func(b []byte, vs ...uint64) []byte {
		for _, v := range vs {
			b = binary.LittleEndian.AppendUint64(b, v)
		}
		return b
	}
	put := func(b []byte, at int, v uint64) { binary.LittleEndian.PutUint64(b[at:], v) }

	code := make([]byte, 0x1000)
	copy(code[0x10:], []byte{0x55, 0x48, 0x89, 0xe5, 0x89, 0x07, 0x5d, 0xc3})                                                    // push; mov; mov %eax,(%rdi)
	copy(code[0x30:], []byte{0xff, 0x14, 0x24, 0x48, 0x8d, 0x7c, 0x24, 0x10, 0x6a, 0, 0x48, 0xc7, 0xc0, 0xa1, 1, 0, 0, 0x0f, 5}) // sigcode
	copy(code[0x60:], []byte{0x90, 0x90})                                                                                        // interrupted

	mem := make([]byte, 0x1000)
	put(mem, 0x100, stack+0x800)   // saved rbp of the handler
	put(mem, 0x108, text+0x33)     // its return address, in the code that calls handlers
	put(mem, 0x110+192, text+0x61) // in the signal frame: rip and rsp
	put(mem, 0x110+216, stack+0x800)

	regs := make([]byte, 22*8)
	put(regs, 8*8, text)         // rdi
	put(regs, 10*8, stack+0x100) // rbp
	put(regs, 17*8, text+0x14)   // rip
	put(regs, 20*8, stack+0x100) // rsp

	c := corebuild.New()
	status := words(nil, 1, 48+22*8, 22*8, 512)
	status = binary.LittleEndian.AppendUint32(status, 1400097)
	status = binary.LittleEndian.AppendUint32(status, 10) // SIGBUS
	status = append(binary.LittleEndian.AppendUint32(status, 100101), 0, 0, 0, 0)
	c.Note("FreeBSD", 1, append(status, regs...))
	c.Note("FreeBSD", 7, append([]byte("worker"), make([]byte, 18)...))
	lwp := make([]byte, 200)
	binary.LittleEndian.PutUint32(lwp[8:], 0x20)
	binary.LittleEndian.PutUint32(lwp[48:], 10)
	binary.LittleEndian.PutUint32(lwp[56:], 2) // BUS_ADRERR
	put(lwp, 48+24, text)
	c.Note("FreeBSD", 17, append(c.Ints(200), lwp...))
	c.Load(text, elffile.PF_R|elffile.PF_X, 0x1000, code)
	c.Load(stack, elffile.PF_R|elffile.PF_W, 0x1000, mem)
	return c.Bytes()
}

// TestFreeBSDReport reads a whole report on a core of FreeBSD: its signal by its
// number there, its thread's name, the stack through its signal frame.
func TestFreeBSDReport(t *testing.T) {
	path := filepath.Join(t.TempDir(), "prog.core")
	if err := os.WriteFile(path, freeBSDDump(), 0o600); err != nil {
		t.Fatal(err)
	}
	empty := t.TempDir()
	target, err := corewalk.Open(context.Background(), path, corewalk.WithSysroot(empty), corewalk.WithDebugDir(empty))
	if err != nil {
		t.Fatal(err)
	}
	defer target.Close()
	r, err := target.Analyze(context.Background(), corewalk.AnalyzeOptions{})
	if err != nil {
		t.Fatal(err)
	}
	var text bytes.Buffer
	if err := report.WriteText(&text, r, report.TextOptions{}); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"SIGBUS", "FreeBSD", "write of 4 bytes at 0x201000", "worker"} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("no %q in\n%s", want, text.String())
		}
	}
	var pcs []report.Addr
	for _, f := range r.Threads[0].Frames {
		pcs = append(pcs, f.PC)
	}
	if len(pcs) != 3 || pcs[0] != 0x201014 || pcs[1] != 0x201033 || pcs[2] != 0x201061 {
		t.Errorf("frames at %v\n%s", pcs, text.String())
	}
}

package systemtest

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/corewalk/corewalk"
	"github.com/corewalk/corewalk/internal/format/minidump/dumpbuild"
	"github.com/corewalk/corewalk/unwind"
	"github.com/corewalk/corewalk/unwind/arch"
)

// Where the code is that the program of functionsDump made at run time.
const (
	madeCode  = 0x20000000
	madeStack = 0x7000
	madeExe   = 0x140000000
)

// functionsDump is the dump of a program of Windows that made code and registered its unwind
// tables. The functions, none of which has a frame pointer, except the third:
//
//	first, at 0x100: push rbx; sub rsp, 0x40. Its part at 0x300, with an entry of its own whose unwind information is chained
//	to that of the first, saves rsi and died.
//	second, at the start of its own table, 0x200: push rbp; push rdi; sub rsp, 0x28; calls 0x300.
//	third, at 0x400: push rbp; mov rbp, rsp; sub rsp, 0x20; calls 0x200. Its unwind information is not in the dump.
//
// The program called it. change changes the tables: the words of their entries.
func functionsDump(t *testing.T, change func(first, second []uint32) (_, _ []uint32)) string {
	t.Helper()
	d := dumpbuild.New(false)
	d.System(9, 2, 10, 0, 19045, "")
	d.Modules(dumpbuild.Module{Base: madeExe, Size: 0x10000, Name: `C:\a.exe`})
	call := func(from, to uint32) []byte { return d.W().U8(0xe8).U32(to - from).B } // from is where it returns to
	code := d.W().Pad(0x100).Bytes([]byte{0x53, 0x48, 0x83, 0xec, 0x40}).Pad(0x200).Bytes([]byte{0x55, 0x57, 0x48, 0x83, 0xec, 0x28}).
		Bytes(call(0x20b, 0x300)).Bytes([]byte{0x90}).Pad(0x300).Bytes([]byte{0x48, 0x89, 0x74, 0x24, 0x30}).Pad(0x310).Bytes([]byte{0xc7, 0, 1, 0, 0, 0}).
		Pad(0x400).Bytes([]byte{0x55, 0x48, 0x89, 0xe5, 0x48, 0x83, 0xec, 0x20}).Bytes(call(0x40d, 0x200)).Bytes([]byte{0x90}).Pad(0x500)
	// UNWIND_INFO: version and flags, size of the prologue, number of codes, frame register; the codes from the last one on.
	info := d.W().U8(1, 5, 2, 0, 5, 7<<4|2, 1, 3<<4). // at 0x1000, of first
								U8(1|4<<3, 5, 2, 0, 5, 6<<4|4, 6, 0).U32(0x100, 0x180, 0x1000).Pad(0x20). // at 0x1008, of its part
								U8(1, 6, 3, 0, 6, 4<<4|2, 2, 7<<4, 1, 5<<4, 0, 0)                         // at 0x1020, of second
	stack := d.W().Pad(0x30).U64(0x515151).Pad(0x40).U64(0xb0b0, madeCode+0x20b). // of first: rsi, rbx
											Pad(0x50+0x28).U64(0xd1d1, madeStack+0xc0, madeCode+0x40d). // of second: rdi, rbp
											Pad(0xc0).U64(0, madeExe+0x1234)                            // of third
	d.MemoryList(dumpbuild.Memory{Start: madeCode, Data: code.B}, dumpbuild.Memory{Start: madeCode + 0x1000, Data: info.B},
		dumpbuild.Memory{Start: madeStack, Data: stack.Pad(0x200).B},
		dumpbuild.Memory{Start: madeExe + 0x1200, Data: d.W().Pad(0x2f).U8(0xe8).U32(0, 0x90909090).B})
	d.MemoryInfo(48, dumpbuild.Region{Base: madeStack, Size: 0x1000, State: 0x1000, Protect: 4, Type: 0x20000},
		dumpbuild.Region{Base: madeCode, Size: 0x2000, State: 0x1000, Protect: 0x40, Type: 0x20000},
		dumpbuild.Region{Base: madeExe, Size: 0x10000, State: 0x1000, Protect: 0x20, Type: 0x1000000})
	at := d.Context(1232).Put(0x30, 4, 0x10001f).Put(0xf8, 8, madeCode+0x310).Put(0x98, 8, madeStack).Put(0xa0, 8, 0x99).B
	context := d.Blob(at)
	d.Threads(false, dumpbuild.Thread{ID: 1, Context: context})
	d.Exception(dumpbuild.Exception{Thread: 1, Code: 0xc0000005, Address: madeCode + 0x310, Params: []uint64{1, 0}, Context: context})
	first := []uint32{0x300, 0x340, 0x1008, 0x100, 0x180, 0x1000, 0x400, 0x480, 0x1800} // not sorted
	second := []uint32{0, 0x80, 0xe20}
	first, second = change(first, second)
	w := d.W().U32(24, 32, 0, 12, 2, 0)
	w.U64(madeCode, madeCode+0x1000, madeCode).U32(uint32(len(first)/3), 0).U32(first...)
	w.U64(madeCode+0x200, madeCode+0x300, madeCode+0x200).U32(uint32(len(second)/3), 0).U32(second...)
	d.Stream(13, w.B)
	path := filepath.Join(t.TempDir(), "made.dmp")
	if err := os.WriteFile(path, d.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// Frames in code made at run time are walked by the function tables of the dump. Where they
// say nothing, or contradict each other, other steppers go on, and are less sure.
func TestMinidumpFunctionTables(t *testing.T) {
	const (
		top    = "20000310 context, "
		first  = "2000020b pe-unwind rbx=b0b0 rsi=515151, "
		second = "2000040d pe-unwind rbx=b0b0 rbp=70c0 rsi=515151 rdi=d1d1, "
		third  = "140001234 frame-pointer rbp=0"
	)
	for _, tt := range []struct {
		name   string
		change func(first, second []uint32) (_, _ []uint32)
		want   string
	}{
		{"all", func(a, b []uint32) (_, _ []uint32) { return a, b },
			top + first + second + third},
		{"none", func(_, _ []uint32) (_, _ []uint32) { return nil, nil },
			top + "2000020b scan, 2000040d scan rbp=70c0, " + third},
		{"the second removed", func(a, b []uint32) (_, _ []uint32) { b[2] = 0; return a, b },
			top + first + "2000040d scan rbp=70c0, " + third},
		{"unwind information of the second lost", func(a, b []uint32) (_, _ []uint32) { b[2] = 0x1900; return a, b },
			top + first + "2000040d scan rbp=70c0, " + third},
		{"unwind information of the first lost", func(a, b []uint32) (_, _ []uint32) { a[2] = 0x1900; return a, b },
			top + "2000020b scan, 2000040d pe-unwind rbp=70c0 rdi=d1d1, " + third},
		{"a contradiction", func(a, b []uint32) (_, _ []uint32) { return append(a, 0x200, 0x210, 0x1008), b },
			top + first + "2000040d scan rbp=70c0, " + third},
		// Here the entry describes the third function, too, falsely: its caller is 0.
		{"one for all code", func(a, b []uint32) (_, _ []uint32) { return []uint32{0x300, 0x300 + 256<<10 + 1, 0x1008}, b },
			top + "2000020b scan, 2000040d pe-unwind rbp=70c0 rdi=d1d1"},
		{"nearly so", func(a, b []uint32) (_, _ []uint32) { return []uint32{0x300, 0x300 + 256<<10, 0x1008}, b },
			top + first + "2000040d pe-unwind rbx=b0b0 rbp=70c0 rsi=515151 rdi=d1d1"},
		{"one for all code that called", func(a, b []uint32) (_, _ []uint32) { return a, []uint32{0, 1 << 20, 0xe20} },
			top + first + second + third},
	} {
		target, err := corewalk.Open(context.Background(), functionsDump(t, tt.change), corewalk.WithDebugDir(t.TempDir()))
		if err != nil {
			t.Fatal(err)
		}
		defer target.Close()
		w, err := target.NewWalker()
		if err != nil {
			t.Fatal(err)
		}
		defer w.Close()
		s, _ := w.WalkStack(1) // it ends in the program, whose file is not there
		var got []string
		for _, f := range s.Frames {
			text := fmt.Sprintf("%x %v", f.RA(), f.Trust())
			for _, r := range []arch.Reg{arch.RBX, arch.RBP, arch.RSI, arch.RDI} {
				if v, l, ok := f.Reg(r); ok && l.Kind == unwind.LocAddress && !f.IsTopFrame() {
					text += fmt.Sprintf(" %s=%x", arch.AMD64.RegName(r), v)
				}
			}
			got = append(got, text)
		}
		if is := strings.Join(got, ", "); is != tt.want {
			t.Errorf("%s: %s\nwant %s", tt.name, is, tt.want)
		}
	}
}

// A slim dump keeps the tables, and the unwind information that they lead to.
func TestSlimFunctionTables(t *testing.T) {
	ctx := context.Background()
	path := functionsDump(t, func(a, b []uint32) (_, _ []uint32) { return a, b })
	for _, redact := range []bool{false, true} {
		full, err := corewalk.Open(ctx, path, corewalk.ForSlim())
		if err != nil {
			t.Fatal(err)
		}
		defer full.Close()
		var b bytes.Buffer
		if _, err := full.WriteSlim(ctx, &b, corewalk.SlimOptions{Redact: redact}); err != nil {
			t.Fatal(err)
		}
		small, err := corewalk.OpenReader(ctx, &b, "slim.dmp")
		if err != nil {
			t.Fatal(err)
		}
		defer small.Close()
		if threads, frames, err := corewalk.SameStacks(full, small); err != nil || threads != 1 || frames != 4 {
			t.Errorf("redacted %t: %d threads, %d frames: %v", redact, threads, frames, err)
		}
	}
}

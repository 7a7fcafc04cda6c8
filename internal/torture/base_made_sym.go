package main

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"

	"github.com/corewalk/corewalk"
	"github.com/corewalk/corewalk/internal/format/minidump/dumpbuild"
)

// madeSyms are symbol files of Breakpad for a module of a minidump, whose stacks have frames of two words at ever new addresses.
// x86 says that the module is one of 32 bits.
var madeSyms = map[string]struct {
	x86  bool
	text func(b *bytes.Buffer)
}{
	"rules of one function": {text: func(b *bytes.Buffer) {
		for i := range 300_000 {
			fmt.Fprintf(b, "STACK CFI %x .cfa: $rsp 16 +\n", i%0x1000)
		}
	}},
	"long rule": {text: func(b *bytes.Buffer) {
		fmt.Fprintf(b, "STACK CFI 0 $rbx: %s\n", strings.Repeat("1 ", 4<<20))
	}},
	"rules that overlap": {text: func(b *bytes.Buffer) {
		for range 70 {
			fmt.Fprintf(b, "STACK CFI INIT 10 1 .cfa: %s\n", strings.Repeat("1 ", 1<<16))
		}
	}},
	"lines of one function": {text: func(b *bytes.Buffer) {
		fmt.Fprintf(b, "FUNC 0 %x 0 f\n", scanCode+0x1000)
		for i := range 1_000_000 {
			fmt.Fprintf(b, "%x 1 %d 0\n", scanCode+0x1000, i%1000)
		}
	}},
	"nested inlined calls": {text: func(b *bytes.Buffer) {
		fmt.Fprintf(b, "INLINE_ORIGIN 0 inlined\nFUNC 0 %x 0 f\n", scanCode+0x1000)
		for i := range 1_000_000 {
			fmt.Fprintf(b, "INLINE %d 1 0 0 0 %x\n", i, scanCode+0x1000)
		}
	}},
	"inlined calls with many ranges": {text: func(b *bytes.Buffer) {
		fmt.Fprintf(b, "INLINE_ORIGIN 0 inlined\nFUNC 0 %x 0 f\nINLINE 0 1 0 0%s\n", scanCode+0x1000, strings.Repeat(" 0 1", 2_000_000))
	}},
	"long names of functions that overlap": {text: func(b *bytes.Buffer) {
		fmt.Fprintf(b, "FUNC 0 %x 0 f\n", scanCode+0x1000)
		for range 64 {
			fmt.Fprintf(b, "FUNC 10 1 0 %s\n", strings.Repeat("n", 1<<18))
		}
	}},
	"functions and origins": {text: func(b *bytes.Buffer) {
		for i := range 2_000_000 {
			fmt.Fprintf(b, "FUNC %x 1 0 f\nINLINE_ORIGIN %d o\n", 0x100000+i, i)
		}
	}},
	"long program": {x86: true, text: func(b *bytes.Buffer) {
		fmt.Fprintf(b, "STACK WIN 4 0 %x 0 0 8 0 8 0 1 $T0 $ebp = %s\n", scanCode+0x1000, strings.Repeat("$eip $T0 4 + ^ = ", 1<<18))
	}},
	"programs that overlap": {x86: true, text: func(b *bytes.Buffer) {
		for range 64 {
			fmt.Fprintf(b, "STACK WIN 4 10 1 0 0 8 0 8 0 1 %s\n", strings.Repeat("$eip $T0 4 + ^ = ", 1<<14))
		}
	}},
}

// symDump is the minidump.
func symDump(x86 bool) []byte {
	rng := rand.New(rand.NewPCG(1, 2))
	d := dumpbuild.New(false)
	base, word := uint64(scanBase), 8
	if x86 {
		base, word = 0x400000, 4
		d.System(0, 2, 10, 0, 19041, "")
	} else {
		d.System(9, 2, 10, 0, 19041, "")
	}
	var threads []dumpbuild.Thread
	for i := range scanThreads {
		start := uint64(scanAt + i<<20)
		var stack []byte
		for len(stack) < scanStack {
			var pair [16]byte
			pc := base + 0x20 + uint64(rng.IntN(scanCode))
			if x86 {
				binary.LittleEndian.PutUint32(pair[:], uint32(start)+uint32(len(stack)+2*word))
				binary.LittleEndian.PutUint32(pair[4:], uint32(pc))
			} else {
				binary.LittleEndian.PutUint64(pair[:], start+uint64(len(stack)+2*word))
				binary.LittleEndian.PutUint64(pair[8:], pc)
			}
			stack = append(stack, pair[:2*word]...)
		}
		context := d.AMD64(0x10001f, base+0x40, start, start)
		if x86 {
			context = d.X86(0x1003f, uint32(base+0x40), uint32(start), uint32(start))
		}
		threads = append(threads, dumpbuild.Thread{ID: uint32(7 + i), StackStart: start, Stack: d.Blob(stack), Context: d.Blob(context)})
	}
	d.Threads(false, threads...)
	d.Modules(dumpbuild.Module{Base: base, Size: 0x1000 + scanCode, Stamp: 7, Name: "m.dll", CodeView: d.PDB70(1, 2, 3, [8]byte{4}, 5, "m.pdb")})
	return d.Bytes()
}

func madeSymReady(name, dir string) (*ready, error) {
	m := madeSyms[name]
	var b bytes.Buffer
	cpu := "x86_64"
	if m.x86 {
		cpu = "x86"
	}
	fmt.Fprintf(&b, "MODULE windows %s 00000001000200030400000000000000%x m.pdb\nFILE 0 a.c\n", cpu, 5)
	if !m.x86 {
		fmt.Fprintf(&b, "STACK CFI INIT 0 %x .cfa: $rsp 16 + .ra: .cfa 8 - ^\n", scanCode+0x1000)
	} else {
		fmt.Fprintf(&b, "STACK WIN 4 0 %x 0 0 8 0 8 0 1 $T0 $ebp = $eip $T0 4 + ^ = $ebp $T0 ^ = $esp $T0 8 + =\n", scanCode+0x1000)
	}
	m.text(&b)
	search := filepath.Join(dir, "symbols")
	if err := os.Mkdir(search, 0o755); err != nil {
		return nil, err
	}
	s, err := stage(filepath.Join(search, "m.sym"), b.Bytes())
	if err != nil {
		return nil, err
	}
	dump, empty := filepath.Join(dir, "dump"), filepath.Join(dir, "none")
	if err := os.WriteFile(dump, symDump(m.x86), 0o644); err != nil {
		return nil, err
	}
	r := &ready{data: b.Bytes(), shape: &shape{text: true, regions: []region{{0, min(b.Len(), 4096)}}}, repair: s.mend, close: s.close}
	r.run = func(edits []edit, rng *rand.Rand) error {
		return s.with(edits, func() {
			r.last = service(func(opts ...corewalk.Option) (*corewalk.Target, error) {
				return corewalk.Open(context.Background(), dump, append(opts, corewalk.WithSearch(search), corewalk.WithSysroot(empty), corewalk.WithDebugDir(empty))...)
			}, rng)
		})
	}
	return r, nil
}

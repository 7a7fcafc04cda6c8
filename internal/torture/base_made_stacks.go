package main

import (
	"encoding/binary"
	"math/rand/v2"

	"github.com/corewalk/corewalk/internal/corebuild"
	"github.com/corewalk/corewalk/internal/format/elffile"
	"github.com/corewalk/corewalk/internal/format/minidump/dumpbuild"
	"github.com/corewalk/corewalk/unwind/arch"
)

// Stacks that hold nothing but addresses after calls, in modules without tables: each frame is found by a scan, and each word
// that a scan reads is worth a look at the code.

const (
	scanThreads = 8
	scanStack   = 96 << 10 // of each thread
	scanCode    = 48 << 10
	scanBase    = 0x7ff600000000
	scanAt      = 0x10000000 // the stacks
)

// callsOf is code that calls, every eight bytes, another place in itself. Nothing returns.
func callsOf(rng *rand.Rand, size int, indirect bool) []byte {
	code := make([]byte, size)
	for i := range code {
		code[i] = 0x90
	}
	for at := 8; at+8 <= size; at += 8 {
		if indirect {
			copy(code[at:], []byte{0xff, 0xd0})
			continue
		}
		code[at] = 0xe8
		to := rng.IntN(size/8) * 8
		binary.LittleEndian.PutUint32(code[at+1:], uint32(to-at-5))
	}
	return code
}

// stackOf is a stack of addresses after calls of such code.
func stackOf(rng *rand.Rand, base uint64, size, code int, indirect bool) (b []byte) {
	after := uint64(5)
	if indirect {
		after = 2
	}
	for len(b) < size {
		b = binary.LittleEndian.AppendUint64(b, base+uint64(8+8*rng.IntN(code/8-2))+after)
	}
	return b
}

// scannedMinidump is a minidump of Windows. Its code is that of one module, which it has or has not.
func scannedMinidump(indirect, has bool) []byte {
	rng := rand.New(rand.NewPCG(1, 2))
	d := dumpbuild.New(false)
	d.System(9, 2, 10, 0, 19041, "")
	var threads []dumpbuild.Thread
	for i := range scanThreads {
		start := uint64(scanAt + i<<20)
		threads = append(threads, dumpbuild.Thread{ID: uint32(7 + i), StackStart: start, Stack: d.Blob(stackOf(rng, scanBase+0x1000, scanStack, scanCode, indirect)),
			Context: d.Blob(d.AMD64(0x10001f, scanBase+0x1000+uint64(8*rng.IntN(scanCode/8)), start, 0))})
	}
	d.Threads(false, threads...)
	d.Modules(dumpbuild.Module{Base: scanBase, Size: 0x1000 + scanCode, Stamp: 7, Name: "m.dll"})
	if has {
		d.MemoryList(dumpbuild.Memory{Start: scanBase + 0x1000, Data: callsOf(rng, scanCode, indirect)})
	}
	return d.Bytes()
}

// scannedCore is such a core.
func scannedCore(indirect, has bool) []byte {
	rng := rand.New(rand.NewPCG(1, 2))
	c := corebuild.New()
	for i := range scanThreads {
		start := uint64(scanAt + i<<20)
		c.Thread(7+i, 11, corebuild.AMD64Regs(map[arch.Reg]uint64{arch.RSP: start, arch.RIP: madeText + uint64(8*rng.IntN(scanCode/8))}))
		if i == 0 {
			c.PSInfo(7, "program", "program")
		}
		c.Load(start, elffile.PF_R|elffile.PF_W, scanStack, stackOf(rng, madeText, scanStack, scanCode, indirect))
	}
	c.Files(corebuild.Mapping{Start: madeBase, End: madeBase + 0x1000, Path: "/opt/program"}, corebuild.Mapping{Start: madeText, End: madeText + scanCode, Offset: 0x1000, Path: "/opt/program"})
	var code []byte
	if has {
		code = callsOf(rng, scanCode, indirect)
	}
	c.Load(madeBase, elffile.PF_R, 0x1000, nil)
	c.Load(madeText, elffile.PF_R|elffile.PF_X, scanCode, code)
	return c.Bytes()
}

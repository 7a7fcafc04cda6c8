package main

import (
	"bytes"
	"encoding/binary"
	"fmt"
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

// longFunctions is a stack of frames of 16 bytes, each of which has called from somewhere in one of many functions of 32 KiB that no table describes.
func longFunctions(stackSize, codeSize int) (dump, program []byte) {
	const size = 32 << 10
	rng := rand.New(rand.NewPCG(1, 2))
	e := newELF()
	e.remove(".debug_frame")
	e.text = bytes.Repeat([]byte{0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0xff, 0xd0}, codeSize/8) // each ends with call *%rax
	symbols, names := make([]byte, 24), []byte{0}
	for at := 0; at < codeSize; at += size {
		copy(e.text[at:], []byte{0x55, 0x48, 0x89, 0xe5}) // push %rbp; mov %rsp,%rbp
		symbols = append(symbols, le32(uint32(len(names)))...)
		symbols = append(symbols, 0x12, 0, 1, 0)
		symbols = append(append(symbols, u64(madeText+uint64(at))...), u64(size)...)
		names = append(names, str(fmt.Sprint("f", at))...)
	}
	e.section(".symtab", symbols)
	e.section(".strtab", names)
	c := newCore(0)
	stack := make([]byte, 0, stackSize)
	for len(stack)+16 < stackSize {
		stack = append(append(stack, u64(uint64(madeStack+len(stack)+16))...), u64(madeText+8+8*rng.Uint64N(uint64(codeSize/8-1)))...)
	}
	c.textSize, c.stack = codeSize, stack
	return c.bytes(), e.bytes()
}

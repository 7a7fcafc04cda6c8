package corestate

import (
	"encoding/binary"
	"slices"
	"testing"

	"github.com/corewalk/corewalk/internal/corebuild"
	"github.com/corewalk/corewalk/internal/format/elffile"
	"github.com/corewalk/corewalk/libstate"
	"github.com/corewalk/corewalk/unwind"
	"github.com/corewalk/corewalk/unwind/arch"
)

// bsdMachine begins a core of a machine that the BSD systems' cores are known of.
func bsdMachine(a *arch.Arch) *corebuild.Core {
	switch a {
	case arch.X86:
		return corebuild.New32(elffile.EM_386, binary.LittleEndian)
	case arch.ARM64:
		b := corebuild.New()
		b.Machine = elffile.EM_AARCH64
		return b
	}
	return corebuild.New()
}

// bytesOf makes a structure of n bytes with integers of the core's order and of
// 4 bytes at offsets.
func bytesOf(n int, at map[int]uint32) []byte {
	b := make([]byte, n)
	for off, v := range at {
		binary.LittleEndian.PutUint32(b[off:], v)
	}
	return b
}

// Where each system's struct reg has what, by its headers: index of a word, in
// amd64's and i386's by gdb's tables of the same.
var bsdRegOrder = []struct {
	system string
	arch   *arch.Arch
	size   int // bytes
	at     map[arch.Reg]int
}{
	{osNetBSD, arch.AMD64, 26 * 8, map[arch.Reg]int{arch.RDI: 0, arch.RCX: 3, arch.R8: 4, arch.R15: 11, arch.RBP: 12, arch.RBX: 13, arch.RAX: 14, arch.RIP: 21, arch.RSP: 24}},
	{osOpenBSD, arch.AMD64, 24 * 8, map[arch.Reg]int{arch.RDI: 0, arch.RCX: 3, arch.R8: 4, arch.R15: 11, arch.RBP: 12, arch.RBX: 13, arch.RAX: 14, arch.RSP: 15, arch.RIP: 16, arch.EFLAGS: 17, arch.CS: 18}},
	{osFreeBSD, arch.AMD64, 22 * 8, map[arch.Reg]int{arch.R15: 0, arch.R8: 7, arch.RDI: 8, arch.RBP: 10, arch.RBX: 11, arch.RCX: 13, arch.RAX: 14, arch.RIP: 17, arch.CS: 18, arch.EFLAGS: 19, arch.RSP: 20, arch.SS: 21}},
	{osNetBSD, arch.X86, 16 * 4, map[arch.Reg]int{arch.EAX: 0, arch.EBX: 3, arch.ESP: 4, arch.EBP: 5, arch.EDI: 7, arch.EIP: 8, arch.X86EFLAGS: 9, arch.X86GS: 15}},
	{osOpenBSD, arch.X86, 16 * 4, map[arch.Reg]int{arch.EAX: 0, arch.EBX: 3, arch.ESP: 4, arch.EBP: 5, arch.EDI: 7, arch.EIP: 8, arch.X86EFLAGS: 9, arch.X86GS: 15}},
	{osFreeBSD, arch.X86, 19 * 4, map[arch.Reg]int{arch.X86FS: 0, arch.EDI: 3, arch.EBP: 5, arch.EBX: 7, arch.EAX: 10, arch.EIP: 13, arch.X86EFLAGS: 15, arch.ESP: 16, arch.X86GS: 18}},
	{osNetBSD, arch.ARM64, 35 * 8, map[arch.Reg]int{arch.ARM64X0: 0, arch.ARM64FP: 29, arch.ARM64LR: 30, arch.ARM64SP: 31, arch.ARM64PC: 32}},
	{osOpenBSD, arch.ARM64, 35 * 8, map[arch.Reg]int{arch.ARM64X0: 0, arch.ARM64FP: 29, arch.ARM64LR: 30, arch.ARM64SP: 31, arch.ARM64PC: 32}},
	{osFreeBSD, arch.ARM64, 34 * 8, map[arch.Reg]int{arch.ARM64X0: 0, arch.ARM64FP: 29, arch.ARM64LR: 30, arch.ARM64SP: 31, arch.ARM64PC: 32}},
}

// bsdThread adds a thread with its register block.
func bsdThread(b *corebuild.Core, system string, a *arch.Arch, tid int, regs []byte) {
	switch system {
	case osNetBSD:
		typ := uint32(33)
		if a == arch.ARM64 {
			typ = 32
		}
		b.Note("NetBSD-CORE@"+string(rune('0'+tid)), typ, regs)
	case osOpenBSD:
		b.Note("OpenBSD@"+string(rune('0'+tid)), 20, regs)
	case osFreeBSD:
		b.Note("FreeBSD", 1, freeBSDStatus(b, tid, 11, regs))
	}
}

func TestBSDRegisters(t *testing.T) {
	for _, tc := range bsdRegOrder {
		word := tc.arch.RegSize
		block := make([]byte, tc.size)
		for i := range tc.size / word {
			if word == 8 {
				binary.LittleEndian.PutUint64(block[8*i:], 0x12340000+uint64(i))
			} else {
				binary.LittleEndian.PutUint32(block[4*i:], 0x12340000+uint32(i))
			}
		}
		b := bsdMachine(tc.arch)
		bsdThread(b, tc.system, tc.arch, 5, block)
		c := open(t, b)
		regs, err := c.Registers(5)
		if c.OS() != tc.system || err != nil {
			t.Errorf("%s of %s: %q, %v", tc.arch.Name, tc.system, c.OS(), err)
			continue
		}
		for r, i := range tc.at {
			if v, ok := regs.Get(r); !ok || v != 0x12340000+uint64(i) {
				t.Errorf("%s of %s: %s = %#x, %v; want word %d", tc.arch.Name, tc.system, tc.arch.RegName(r), v, ok, i)
			}
		}
		short := bsdMachine(tc.arch)
		bsdThread(short, tc.system, tc.arch, 5, block[:word])
		if _, err := open(t, short).Registers(5); err == nil {
			t.Errorf("%s of %s: registers without a program counter", tc.arch.Name, tc.system)
		}
	}
}

func TestFreeBSDSegmentRegisters(t *testing.T) {
	regs := bytesOf(22*8, map[int]uint32{120: 12, 124: 0x1b0013, 128: 4, 132: 0x3b0033})
	b := corebuild.New()
	b.Note("FreeBSD", 1, freeBSDStatus(b, 5, 11, regs))
	b.Note("FreeBSD", 0x200, b.Word(nil, 0x8000_1000, 0x8000_2000))
	got, err := open(t, b).Registers(5)
	for r, want := range map[arch.Reg]uint64{arch.FS: 0x13, arch.GS: 0x1b, arch.ES: 0x33, arch.DS: 0x3b, arch.FSBase: 0x8000_1000, arch.GSBase: 0x8000_2000} {
		if v, ok := got.Get(r); !ok || v != want || err != nil {
			t.Errorf("%s = %#x, %v, %v; want %#x", arch.AMD64.RegName(r), v, ok, err, want)
		}
	}
}

// procInfoOf is OpenBSD's struct elfcore_procinfo.
func procInfoOf() []byte {
	info := bytesOf(104, map[int]uint32{0: 1, 4: 104, 8: 10, 12: 1, 32: 622, 36: 600, 40: 621, 44: 5, 48: 1000, 60: 100})
	copy(info[72:], "prog")
	return info
}

func TestOpenBSD(t *testing.T) {
	b := corebuild.New()
	b.Note("OpenBSD", 10, procInfoOf())
	b.Note("OpenBSD", 11, b.Word(nil, 9, 0x401000, 2000, 7, 4000, 0x1000, 0, 0))
	for _, tid := range []int{7, 3} {
		bsdThread(b, osOpenBSD, arch.AMD64, tid, make([]byte, 24*8))
		b.Note("OpenBSD@"+string(rune('0'+tid)), 21, []byte{byte(tid)})
	}
	c := open(t, b)
	ids, _ := c.ThreadIDs()
	if !slices.Equal(ids, []unwind.ThreadID{7, 3}) || c.OS() != "OpenBSD" || c.ProcessID() != 622 || c.Name() != "prog" {
		t.Errorf("threads %v, os %s, pid %d, name %q", ids, c.OS(), c.ProcessID(), c.Name())
	}
	if p, ok := c.ProcessInfo(); !ok || p.PPID != 600 || p.PGRP != 621 || p.SID != 5 || p.UID != 1000 || p.GID != 100 {
		t.Errorf("process %+v, %v", p, ok)
	}
	if s := c.Signal(); s.Signo != 10 || s.Code != 1 || s.Source != CurSig {
		t.Errorf("signal %+v", s)
	}
	if fp, ok := c.FPRegs(3); !ok || len(fp) != 1 || fp[0] != 3 {
		t.Errorf("floating point of 3: %v, %v", fp, ok)
	}
	if aux := c.Auxv(); len(aux) != 1 || aux[0].Key != libstate.ATEntry {
		t.Errorf("auxiliary vector %v; want the program's entry only", aux)
	}
	var owners []unwind.ThreadID
	for n := range c.Notes() {
		owners = append(owners, n.Thread)
	}
	if !slices.Equal(owners, []unwind.ThreadID{unwind.NullThread, unwind.NullThread, 7, 7, 3, 3}) {
		t.Errorf("notes belong to %v", owners)
	}
}

// freeBSDStatus is struct prstatus.
func freeBSDStatus(b *corebuild.Core, tid, signal int, regs []byte) []byte {
	size := uint64(len(regs))
	if b.Class == 64 {
		head := b.Word(nil, 1, 48+size, size, 512)
		return append(append(head, b.Ints(1400097, uint32(signal), uint32(tid), 0)...), regs...)
	}
	head := b.Word(nil, 1, 28+size, size, 176)
	return append(append(head, b.Ints(1400097, uint32(signal), uint32(tid))...), regs...)
}

// freeBSDLWP is NT_PTLWPINFO with a signal's description.
func freeBSDLWP(b *corebuild.Core, tid int, flags uint32, signo, code, pid uint32, addr uint64) []byte {
	lwp := bytesOf(44, map[int]uint32{0: uint32(tid), 8: flags})
	if b.Class == 64 {
		lwp = append(lwp, 0, 0, 0, 0)
	}
	lwp = append(lwp, b.Ints(signo, 0, code, pid, 1001, 0)...)
	lwp = b.Word(lwp, addr)
	lwp = append(lwp, make([]byte, 100)...)
	return append(b.Ints(uint32(len(lwp))), lwp...)
}

// kinfoVM is an element of NT_PROCSTAT_VMMAP.
func kinfoVM(start, end, offset uint64, path string) []byte {
	size := (136 + len(path) + 1 + 7) &^ 7
	b := bytesOf(size, map[int]uint32{0: uint32(size), 4: 2, 56: 5})
	for i, v := range []uint64{start, end, offset} {
		binary.LittleEndian.PutUint64(b[8+8*i:], v)
	}
	copy(b[136:], path)
	return b
}

// freeBSDCore is a core of two threads, the first of which got SIGBUS.
func freeBSDCore(a *arch.Arch, size int) *corebuild.Core {
	b := bsdMachine(a)
	lay := freeBSDLayout{fname: 16, psargs: 33, psPID: 116, kiPID: 72, kiUID: 168}
	if b.Class == 32 {
		lay = freeBSDLayout{fname: 8, psargs: 25, psPID: 108, kiPID: 40, kiUID: 136}
	}
	ps := bytesOf(lay.psPID+4, map[int]uint32{0: 1, lay.psPID: 622})
	copy(ps[lay.fname:], "prog")
	copy(ps[lay.psargs:], "prog -x")
	b.Note("FreeBSD", 3, ps)
	for i, tid := range []int{100202, 100101} {
		b.Note("FreeBSD", 1, freeBSDStatus(b, tid, 10, make([]byte, size)))
		b.Note("FreeBSD", 2, []byte{byte(i)})
		b.Note("FreeBSD", 7, append([]byte("worker"+string(rune('0'+i))), make([]byte, 17)...))
		b.Note("FreeBSD", 17, freeBSDLWP(b, tid, uint32(0x20*(1-i)), 10, 2, 0, 0x4242))
		b.Note("FreeBSD", 0x202, []byte{byte(i), 1})
	}
	ki := bytesOf(1000, map[int]uint32{lay.kiPID: 622, lay.kiPID + 4: 600, lay.kiPID + 8: 621, lay.kiPID + 16: 5, lay.kiUID: 1000})
	b.Note("FreeBSD", 8, append(b.Ints(1000), ki...))
	maps := b.Ints(1160)
	maps = append(maps, kinfoVM(0x400000, 0x402000, 0, "/bin/prog")...)
	maps = append(maps, kinfoVM(0x500000, 0x600000, 0, "")...)
	maps = append(maps, kinfoVM(0x402000, 0x403000, 0x2000, "/bin/prog")...)
	b.Note("FreeBSD", 10, maps)
	b.Note("FreeBSD", 16, append(b.Ints(uint32(2*a.WordSize)), b.Word(nil, 3, 0x400040, 15, 0x7000, 33, 0x9999, 0, 0)...))
	return b
}

func TestFreeBSD(t *testing.T) {
	for _, m := range bsdRegOrder {
		if m.system != osFreeBSD {
			continue
		}
		t.Run(m.arch.Name, func(t *testing.T) { checkFreeBSD(t, open(t, freeBSDCore(m.arch, m.size))) })
	}
}

func checkFreeBSD(t *testing.T, c *ELFCore) {
	ids, _ := c.ThreadIDs()
	if !slices.Equal(ids, []unwind.ThreadID{100202, 100101}) || c.ProcessID() != 622 || c.Name() != "prog" || c.Command() != "prog -x" {
		t.Errorf("threads %v, pid %d, name %q, command %q", ids, c.ProcessID(), c.Name(), c.Command())
	}
	if p, ok := c.ProcessInfo(); !ok || p.PPID != 600 || p.PGRP != 621 || p.SID != 5 || p.UID != 1000 {
		t.Errorf("process %+v, %v", p, ok)
	}
	if th, ok := c.Thread(100101); !ok || th.Name != "worker1" || th.Signal != 10 {
		t.Errorf("thread %+v, %v", th, ok)
	}
	if s := c.Signal(); s.Source != FullSigInfo || s.Signo != 10 || s.Code != 2 || !s.HasAddr || s.Addr != 0x4242 || s.HasSender {
		t.Errorf("signal %+v", s)
	}
	if s, _ := c.ThreadSignal(100101); s.Source != CurSig || s.Signo != 10 || s.HasAddr {
		t.Errorf("signal of the other thread %+v: its siginfo does not hold", s)
	}
	if fp, ok := c.FPRegs(100101); !ok || len(fp) != 1 || fp[0] != 1 {
		t.Errorf("floating point %v, %v", fp, ok)
	}
	if x, ok := c.XState(100101); !ok || len(x) != 2 || x[0] != 1 {
		t.Errorf("extended state %v, %v", x, ok)
	}
	want := []libstate.Mapping{
		{Start: 0x400000, End: 0x402000, Path: "/bin/prog"}, {Start: 0x402000, End: 0x403000, Offset: 0x2000, Path: "/bin/prog"},
	}
	if got := c.FileMappings(); !slices.Equal(got, want) {
		t.Errorf("mappings %+v", got)
	}
	if aux := c.Auxv(); !slices.Equal(aux, libstate.Auxv{{Key: libstate.ATPhdr, Value: 0x400040}, {Key: libstate.ATExecFn, Value: 0x7000}}) {
		t.Errorf("auxiliary vector %v", aux)
	}
}

func TestFreeBSDSender(t *testing.T) {
	for _, code := range []uint32{0x10001, 0x10007} {
		b := corebuild.New()
		b.Note("FreeBSD", 1, freeBSDStatus(b, 5, 11, make([]byte, 22*8)))
		b.Note("FreeBSD", 17, freeBSDLWP(b, 5, 0x20, 11, code, 77, 0))
		if s := open(t, b).Signal(); s.HasAddr || !s.HasSender || s.PID != 77 || s.UID != 1001 || s.Code != int(code) {
			t.Errorf("code %#x: %+v", code, s)
		}
	}
}

// A damaged map is told, and keeps what can be read.
func TestFreeBSDDamagedMap(t *testing.T) {
	for name, tail := range map[string][]byte{
		"size zero":     make([]byte, 200),
		"size negative": bytesOf(200, map[int]uint32{0: 0xffffff00}),
		"size too big":  bytesOf(200, map[int]uint32{0: 201}),
		"cut":           {1, 2},
	} {
		b := corebuild.New()
		b.Note("FreeBSD", 1, freeBSDStatus(b, 5, 11, make([]byte, 22*8)))
		b.Note("FreeBSD", 10, append(append(b.Ints(1160), kinfoVM(0x1000, 0x2000, 0, "/lib/x")...), tail...))
		c := open(t, b)
		if len(c.FileMappings()) != 1 || len(c.Warnings()) != 1 {
			t.Errorf("%s: %v, %q", name, c.FileMappings(), c.Warnings())
		}
	}
}

// FuzzBSDNotes checks that notes of any content are read within bounds.
func FuzzBSDNotes(f *testing.F) {
	f.Add(uint8(0), procInfoOf(), make([]byte, 24*8))
	f.Add(uint8(1), kinfoVM(0x1000, 0x2000, 0, "/lib/x"), make([]byte, 22*8))
	f.Fuzz(func(t *testing.T, kind uint8, one, two []byte) {
		b := corebuild.New()
		switch kind % 3 {
		case 0:
			b.Note("OpenBSD", 10, one)
			b.Note("OpenBSD", 11, one)
			b.Note("OpenBSD@1", 20, two)
		case 1:
			for _, typ := range []uint32{1, 3, 7, 8, 10, 16, 17, 0x200} {
				b.Note("FreeBSD", typ, one)
				b.Note("FreeBSD", typ, two)
			}
		case 2:
			b.Note("NetBSD-CORE", 1, one)
			b.Note("NetBSD-CORE@1", 24, one)
			b.Note("NetBSD-CORE@1", 33, two)
		}
		if c, _ := openBytes("core", b.Bytes(), nil); c != nil {
			exercise(c)
		}
	})
}

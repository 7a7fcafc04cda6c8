package minidump_test

import (
	"errors"
	"testing"

	"github.com/corewalk/corewalk/internal/format/minidump"
	"github.com/corewalk/corewalk/internal/format/minidump/dumpbuild"
	"github.com/corewalk/corewalk/unwind/arch"
)

// A put is a number at an offset of a record.
type put struct {
	off, size int
	v         uint64
}

// TestContexts decodes records with numbers at the offsets that the defining headers give.
func TestContexts(t *testing.T) {
	for _, tt := range []struct {
		name     string
		cpu      uint16
		platform uint32
		big      bool
		size     int
		puts     []put
		arch     *arch.Arch
		want     map[string]uint64
		unknown  []string
	}{
		{"x86", 0, 2, false, 716, []put{{0, 4, 0x1003f}, {0xb8, 4, 0x401000}, {0xc4, 4, 0x7000}, {0xb4, 4, 0x7100}, {0x9c, 4, 1}, {0xa0, 4, 2}, {0xa4, 4, 3}, {0xa8, 4, 4},
			{0xac, 4, 5}, {0xb0, 4, 6}, {0x8c, 4, 0x2b}, {0x90, 4, 0x53}, {0xc0, 4, 0x246}}, arch.X86,
			map[string]uint64{"eip": 0x401000, "esp": 0x7000, "ebp": 0x7100, "edi": 1, "esi": 2, "ebx": 3, "edx": 4, "ecx": 5, "eax": 6, "gs": 0x2b, "fs": 0x53, "eflags": 0x246}, nil},
		{"x86 control only", 0, 2, false, 0xc8, []put{{0, 4, 0x10001}, {0xb8, 4, 0x401000}, {0xb0, 4, 6}}, arch.X86,
			map[string]uint64{"eip": 0x401000, "ebp": 0}, []string{"eax", "gs"}},
		{"amd64", 9, 2, false, 1232, []put{{0x30, 4, 0x10001f}, {0x38, 2, 0x33}, {0x3e, 2, 0x53}, {0x42, 2, 0x2b}, {0x44, 4, 0x202}, {0x78, 8, 1}, {0x80, 8, 2}, {0x88, 8, 3},
			{0x90, 8, 4}, {0x98, 8, 5}, {0xa0, 8, 6}, {0xa8, 8, 7}, {0xb0, 8, 8}, {0xb8, 8, 9}, {0xf0, 8, 10}, {0xf8, 8, 0x7ff612345678}}, arch.AMD64,
			map[string]uint64{"cs": 0x33, "fs": 0x53, "ss": 0x2b, "eflags": 0x202, "rax": 1, "rcx": 2, "rdx": 3, "rbx": 4, "rsp": 5, "rbp": 6, "rsi": 7, "rdi": 8, "r8": 9, "r15": 10, "rip": 0x7ff612345678}, nil},
		{"amd64 of Linux", 9, 0x8201, false, 1232, []put{{0x30, 4, 0x10000b}, {0xf8, 8, 7}, {0x3e, 2, 1}}, arch.AMD64, map[string]uint64{"rip": 7, "rax": 0}, []string{"fs"}},
		{"amd64 of Breakpad on macOS, no part's flag", 9, 0x8101, false, 1232, []put{{0x30, 4, 0x100000}, {0xf8, 8, 7}, {0x98, 8, 5}, {0x78, 8, 1}}, arch.AMD64, map[string]uint64{"rip": 7, "rsp": 5, "rax": 1}, nil},
		{"amd64 of Linux, no part's flag", 9, 0x8201, false, 1232, []put{{0x30, 4, 0x100000}, {0xf8, 8, 7}}, arch.AMD64, nil, []string{"rip", "rax"}},
		{"arm of Breakpad", 5, 0x8203, false, 368, []put{{0, 4, 0x40000006}, {4, 4, 100}, {4 + 11*4, 4, 111}, {4 + 13*4, 4, 113}, {4 + 14*4, 4, 114}, {4 + 15*4, 4, 0x8001}, {0x44, 4, 0x10},
			{0x50 + 64, 8, 88}}, arch.ARM,
			map[string]uint64{"r0": 100, "r11": 111, "sp": 113, "lr": 114, "pc": 0x8000, "cpsr": 0x10, "thumb": 1, "d8": 88}, nil},
		{"arm, A32", 5, 0x8203, false, 368, []put{{0, 4, 0x42}, {4 + 15*4, 4, 0x8000}}, arch.ARM, map[string]uint64{"pc": 0x8000, "thumb": 0}, []string{"d8"}},
		{"arm of Windows", 5, 2, false, 416, []put{{0, 4, 0x00200007}, {4, 4, 100}, {4 + 13*4, 4, 113}, {4 + 15*4, 4, 0x8000}, {0x44, 4, 0x20}, {0x50 + 64, 8, 88}}, arch.ARM,
			map[string]uint64{"r0": 100, "sp": 113, "pc": 0x8000, "thumb": 1, "d8": 88}, nil},
		{"arm64", 12, 2, false, 912, []put{{0, 4, 0x00400007}, {4, 4, 0x60000000}, {8, 8, 1}, {8 + 28*8, 8, 28}, {8 + 29*8, 8, 29}, {8 + 30*8, 8, 30}, {0x100, 8, 31}, {0x108, 8, 32},
			{0x110 + 8*16, 8, 88}, {0x110 + 15*16, 8, 95}}, arch.ARM64,
			map[string]uint64{"cpsr": 0x60000000, "x0": 1, "x28": 28, "x29": 29, "x30": 30, "sp": 31, "pc": 32, "d8": 88, "d15": 95}, nil},
		{"arm64 integer only", 12, 2, false, 912, []put{{0, 4, 0x00400002}, {8, 8, 1}, {0x108, 8, 32}}, arch.ARM64, map[string]uint64{"x0": 1}, []string{"pc", "x29", "d8"}},
		{"arm64, signed pc", 12, 0x8101, false, 912, []put{{0, 4, 0x00400003}, {0x108, 8, 0x12340000_00401000}}, arch.ARM64, map[string]uint64{"pc": 0x401000}, nil},
		{"arm64, old", 0x8003, 0x8203, false, 796, []put{{0, 8, 0x80000006}, {8, 8, 1}, {8 + 30*8, 8, 30}, {0x100, 8, 31}, {0x108, 8, 32}, {0x110, 4, 5}, {0x11c + 8*16, 8, 88}}, arch.ARM64,
			map[string]uint64{"x0": 1, "x30": 30, "sp": 31, "pc": 32, "cpsr": 5, "d8": 88}, nil},
		{"ppc", 3, 0x8101, true, 1004, []put{{0, 4, 0x20000029}, {4, 4, 0x1000}, {8, 4, 2}, {0xc + 4, 4, 0x7000}, {0xc + 31*4, 4, 31}, {0x8c, 4, 3}, {0x90, 4, 4}, {0x94, 4, 5}, {0x98, 4, 6},
			{0xa4 + 14*8, 8, 14}}, arch.PPC,
			map[string]uint64{"nip": 0x1000, "msr": 2, "r1": 0x7000, "r31": 31, "cr": 3, "xer": 4, "lr": 5, "ctr": 6, "f14": 14}, nil},
		{"ppc64", 0x8002, 0x8101, true, 1160, []put{{0, 8, 0x01000009}, {8, 8, 0x1000}, {0x18 + 8, 8, 0x7000}, {0x118, 8, 3}, {0x128, 8, 5}, {0x140 + 31*8, 8, 31}}, arch.PPC64,
			map[string]uint64{"nip": 0x1000, "r1": 0x7000, "cr": 3, "lr": 5, "f31": 31}, nil},
		{"mips", 1, 0x8203, true, 600, []put{{0, 4, 0x4000e}, {8 + 29*8, 8, 0x7000}, {8 + 31*8, 8, 31}, {264, 8, 1}, {272, 8, 2}, {312, 8, 0xffffffff80001000}, {328, 4, 3}, {332, 4, 4}, {336 + 20*8, 8, 20}}, arch.MIPS,
			map[string]uint64{"sp": 0x7000, "ra": 31, "hi": 1, "lo": 2, "pc": 0x80001000, "status": 3, "cause": 4, "f20": 20}, nil},
		{"mips64 of Breakpad", 0x8004, 0x8201, false, 600, []put{{0, 4, 0x80002}, {8 + 29*8, 8, 0x7000}, {312, 8, 0x1000}}, arch.MIPS64EL, map[string]uint64{"sp": 0x7000, "pc": 0x1000}, nil},
		{"mips64 of Crashpad", 0x8004, 0x8201, true, 656, []put{{0, 8, 0x80006}, {8 + 29*8, 8, 0x7000}, {336, 8, 0x1000}, {344, 8, 9}, {352, 8, 8}, {368 + 20*8, 8, 20}}, arch.MIPS64,
			map[string]uint64{"sp": 0x7000, "pc": 0x1000, "badvaddr": 9, "status": 8, "f20": 20}, nil},
		{"sparc", 0x8001, 0x8202, true, 576, []put{{0, 4, 0x10000003}, {8 + 14*8, 8, 0x7000}, {0x110, 8, 0x1000}, {0x118, 8, 0x1004}, {0x120, 8, 5}}, arch.SPARC64,
			map[string]uint64{"sp": 0x7000, "pc": 0x1000, "npc": 0x1004, "y": 5}, nil},
		{"riscv64", 0x8006, 0x8206, false, 528, []put{{0, 4, 0x08000003}, {4, 4, 1}, {8, 8, 0x1000}, {16, 8, 1}, {24, 8, 0x7000}, {8 + 31*8, 8, 31}, {264 + 8*8, 8, 8}, {264 + 27*8, 8, 27}}, arch.RISCV64,
			map[string]uint64{"pc": 0x1000, "ra": 1, "sp": 0x7000, "t6": 31, "fs0": 8, "fs11": 27}, nil},
		{"x86 in a dump of amd64", 9, 2, false, 716, []put{{0, 4, 0x10007}, {0xb8, 4, 0x401000}}, arch.X86, map[string]uint64{"eip": 0x401000}, nil},
	} {
		d := dumpbuild.New(tt.big)
		d.System(tt.cpu, tt.platform, 1, 0, 0, "")
		rec := d.Context(tt.size)
		for _, p := range tt.puts {
			rec.Put(p.off, p.size, p.v)
		}
		f := parse(t, d)
		c, err := f.DecodeContext(rec.B)
		if err != nil || c.Arch != tt.arch {
			t.Errorf("%s: %v, architecture %v", tt.name, err, c.Arch)
			continue
		}
		for name, want := range tt.want {
			r, ok := c.Arch.RegByName(name)
			got, known := c.Regs.Get(r)
			if !ok || !known || got != want && got != c.Arch.Truncate(want) {
				t.Errorf("%s: %s is %#x (known %v), want %#x", tt.name, name, got, known, want)
			}
		}
		for _, name := range tt.unknown {
			if r, ok := c.Arch.RegByName(name); !ok || c.Regs.Valid.Has(r) {
				t.Errorf("%s: %s is known", tt.name, name)
			}
		}
	}
}

func TestContextsRefused(t *testing.T) {
	d := windows()
	f := parse(t, d)
	for _, rec := range [][]byte{make([]byte, 2), d.AMD64(0, 1, 2, 3), d.AMD64(0x200000, 1, 2, 3), d.AMD64(0x10001f, 1, 2, 3)[:0xff]} {
		if c, err := f.DecodeContext(rec); !errors.Is(err, minidump.ErrBadContext) {
			t.Errorf("%d bytes: %v %v", len(rec), c.Arch, err)
		}
	}
	// A longer record is accepted; a shorter one is decoded as far as it goes.
	if _, err := f.DecodeContext(append(d.AMD64(0x10001f, 1, 2, 3), 1, 2, 3)); err != nil {
		t.Error(err)
	}
	if c, err := f.DecodeContext(d.AMD64(0x10001f, 1, 2, 3)[:0x100]); err != nil || c.Vector != nil {
		t.Error(err, len(c.Vector))
	}
}

// xstateDump is a dump whose processor has a shadow stack.
func xstateDump() *dumpbuild.Dump {
	d := windows()
	w := d.W().U32(1364, 0).Pad(832)
	w.U32(528, 2000).U64(1<<11|1<<2).Zeros(2*8).U32(576, 256).Zeros(8*8).U32(832, 16).Pad(1364)
	d.Stream(15, w.B)
	return d
}

func TestXState(t *testing.T) {
	for _, tt := range []struct {
		name      string
		mask      uint64
		compact   uint64
		cetAt     int // behind the header of the area
		control   uint64
		ssp, want uint64
	}{
		{"compacted", 1 << 11, 1<<63 | 1<<11, 0, 1, 0xcbc83fefc8, 0xcbc83fefc8},
		{"compacted after another", 1 << 11, 1<<63 | 1<<11 | 1<<2, 256, 1, 0x1234, 0x1234},
		{"standard", 1<<11 | 1<<2, 0, 256, 1, 0x5678, 0x5678},
		{"switched off", 1 << 11, 1<<63 | 1<<11, 0, 0, 0x9, 0},
		{"not there", 1 << 2, 0, 256, 1, 0x5678, 0},
	} {
		d := xstateDump()
		rec := append([]byte(nil), d.AMD64(0x10005f, 1, 2, 3)...)
		area := d.W().U64(tt.mask, tt.compact).Pad(64).Zeros(tt.cetAt).U64(tt.control, tt.ssp)
		rec = append(rec, d.W().U32(0, 0, 0, 0, 40, uint32(len(area.B))).Pad(40).Bytes(area.B).B...)
		c, err := parse(t, d).DecodeContext(rec)
		if err != nil {
			t.Fatal(err)
		}
		if ssp, ok := c.XState.ShadowStack(); ssp != tt.want || ok != (tt.want != 0) {
			t.Errorf("%s: shadow stack at %#x %v", tt.name, ssp, ok)
		}
		// Wine sets the flag but writes nothing.
		if c, err := parse(t, d).DecodeContext(rec[:1232]); err != nil || c.XState != nil {
			t.Errorf("%s: %v", tt.name, err)
		}
		if c, _ := parse(t, d).DecodeContext(rec[:1232+50]); c.XState != nil {
			t.Errorf("%s: state that is cut off", tt.name)
		}
	}
}

func TestWOW64(t *testing.T) {
	const teb, reserved = 0x2000, 0x8000
	d := windows()
	d.Modules(dumpbuild.Module{Base: 0x400000, Size: 0x1000, Name: `C:\a.exe`}, dumpbuild.Module{Base: 0x74000000, Size: 0x1000, Name: `C:\Windows\System32\WOW64CPU.dll`})
	d.Threads(false, dumpbuild.Thread{ID: 1, TEB: teb, Context: d.Blob(d.AMD64(0x10001f, 0x74000500, 0x9000, 0))}, dumpbuild.Thread{ID: 2, TEB: 0xffffffffffffff00})
	d.MemoryList(dumpbuild.Memory{Start: teb + 0x1488, Data: d.W().U64(reserved).B},
		dumpbuild.Memory{Start: reserved, Data: d.W().U16(0, 0x14c).Bytes(d.X86(0x1003f, 0x401234, 0x7000, 0x7100)).B})
	f := parse(t, d)
	if !f.WOW64() {
		t.Error("not recognised")
	}
	c, err := f.DecodeContext(f.WOW64Context(&f.Threads[0]))
	if pc, _ := c.Regs.Get(arch.EIP); err != nil || c.Arch != arch.X86 || pc != 0x401234 {
		t.Errorf("%v pc %#x", err, pc)
	}
	if f.WOW64Context(&f.Threads[1]) != nil {
		t.Error("the second thread has registers")
	}
}

package minidump_test

import (
	"testing"

	"github.com/corewalk/corewalk/internal/format/minidump"
	"github.com/corewalk/corewalk/internal/format/minidump/dumpbuild"
)

// rich is a dump with most streams.
func rich() []byte {
	d := xstateDump()
	ctx := d.Blob(d.AMD64(0x10005f, 0x401000, 0x7000, 0))
	d.Threads(true, dumpbuild.Thread{ID: 1, TEB: 0x2000, StackStart: 0x7000, Stack: d.Blob([]byte("stack")), Context: ctx})
	d.ThreadNames([]uint32{1}, []string{"main"})
	d.Modules(dumpbuild.Module{Base: 0x400000, Size: 0x1000, Name: `C:\wow64.dll`, CodeView: d.PDB70(1, 2, 3, [8]byte{4}, 5, "a.pdb")})
	d.MemoryList(dumpbuild.Memory{Start: 0x2000 + 0x1488, Data: d.W().U64(0x9000).B}, dumpbuild.Memory{Start: 0x9000, Data: d.X86(0x1003f, 1, 2, 3)})
	d.MemoryInfo(48, dumpbuild.Region{Base: 0x1000, Size: 0x1000, State: 0x1000, Protect: 4, Type: 0x20000})
	d.Exception(dumpbuild.Exception{Thread: 1, Code: 0xc0000005, Params: []uint64{0, 4}, Context: ctx})
	d.Stream(12, d.W().U32(16, 40, 1, 0).U64(0x44).U32(d.String("File"), d.String("x"), 1, 2, 3, 4, d.Blob(make([]byte, 12)).Off, 0).B)
	d.Stream(13, d.W().U32(24, 32, 8, 12, 1, 0).U64(0x1000, 0x2000, 0x1000).U32(1, 0).Zeros(8).U32(0, 0x100, 0x200).B)
	d.Stream(14, d.W().U32(12, 24, 1).U64(0x1000).U32(0x1000, 0, 7, d.String("gone.dll")).B)
	d.Stream(0x47670009, []byte("00400000-0041a000 r-xp 00001000 08:01 1234 /srv/crash\n"))
	d.Stream(0x4767000a, d.W().U32(1, d.Blob(make([]byte, 40)).Off, 2).U64(1, 2, 3).Zeros(16).B)
	simple := d.Blob(d.W().U32(1, d.UTF8("key"), d.UTF8("value")).B)
	mods := d.Blob(d.W().U32(1, 0).Loc(d.Blob(d.W().U32(1).Loc(simple).Loc(simple).Loc(simple).B)).B)
	d.Stream(0x43500001, d.W().U32(1).Zeros(32).Loc(simple).Loc(mods).B)
	d.Memory64(dumpbuild.Memory{Start: 0x6ff0, Data: fill('x', 64)})
	return d.Bytes()
}

func FuzzParse(f *testing.F) {
	f.Add(rich())
	f.Add(micro("O A x86 04 i686 x", "R 0000000B SIGSEGV 00000045", "S 0 1000 1000 10", "S 1000 0102", "C 0000", "M 1000 0 1000 50D89C8096239F07B843A4C5C35923170 a.so"))
	f.Fuzz(func(t *testing.T, data []byte) {
		for _, parse := range []func([]byte) (*minidump.File, error){minidump.Parse, minidump.ParseMicrodump} {
			if d, err := parse(data); err == nil {
				use(t, d)
			}
		}
	})
}

// use calls every method of a dump.
func use(t *testing.T, d *minidump.File) {
	for i := range d.Threads {
		if c, err := d.DecodeContext(d.Threads[i].Context); err == nil {
			c.XState.ShadowStack()
		}
		d.WOW64Registers(&d.Threads[i])
	}
	if n := d.CrashedThread(); n >= len(d.Threads) {
		t.Errorf("thread %d of %d", n, len(d.Threads))
	}
	for i := range d.Modules {
		d.Modules[i].DebugID()
		d.Modules[i].CodeID()
	}
	var end uint64
	for i, s := range d.Memory.Spans() {
		if i > 0 && s.Start < end || len(s.Data) == 0 {
			t.Errorf("span at %#x after %#x", s.Start, end)
		}
		end = s.Start + uint64(len(s.Data))
		if b := d.Memory.At(s.Start); len(b) != len(s.Data) {
			t.Errorf("%d bytes at %#x, want %d", len(b), s.Start, len(s.Data))
		}
	}
	d.System.Version()
	d.System.Processor()
	d.Linux.Release()
	d.Linux.ParseLimits()
	d.Linux.Microcode()
	for i := range d.Regions {
		d.Regions[i].Protection()
	}
	d.UnloadedAt(0x1000)
	useFunctions(t, d)
	if d.Crashpad != nil {
		d.Crashpad.Annotation("key")
	}
}

// useFunctions looks up the ends of all function tables.
func useFunctions(t *testing.T, d *minidump.File) {
	x := d.FunctionIndex()
	for i := range d.Functions[:min(len(d.Functions), 100)] {
		f := &d.Functions[i]
		for _, pc := range []uint64{f.MinAddress, f.Base, f.MaxAddress - 1} {
			if e, ok := x.At(pc); ok && len(e.Entry) != 8 && len(e.Entry) != 12 {
				t.Errorf("%#x: %x", pc, e.Entry)
			}
		}
		if _, ok := x.At(f.MaxAddress); ok && len(d.Functions) == 1 {
			t.Errorf("an entry at %#x, where its table ends", f.MaxAddress)
		}
	}
}

// TestEveryByte changes each byte of a dump, and truncates it at every length.
func TestEveryByte(t *testing.T) {
	whole := rich()
	for i := range whole {
		if d, err := minidump.Parse(whole[:i]); err == nil {
			use(t, d)
		}
		if i >= 416 && i%7 != 0 {
			continue
		}
		for _, x := range []byte{0xff, 0x80, 0x01} {
			b := append([]byte(nil), whole...)
			b[i] ^= x
			if d, err := minidump.Parse(b); err == nil {
				use(t, d)
			}
		}
	}
}

package dwarfvars

import (
	"testing"

	"github.com/corewalk/corewalk/libstate"
	"github.com/corewalk/corewalk/unwind/arch"
)

// TestTLSBlocks finds the block of a library of every architecture whose thread
// pointer a dump has, as glibc and musl lay the thread's vector out.
func TestTLSBlocks(t *testing.T) {
	const tp, dtv, block = handBase + 0x8000, handBase + 0x40, uint64(handBase + 0x900)
	lib := &libstate.Library{LoadBias: 0x5000}
	for _, tc := range []struct {
		arch        *arch.Arch
		bias        uint64
		glibc, musl int64 // bytes from the thread pointer to the vector's address
		entry       uint64
	}{
		{arch.AMD64, 0, 8, 8, 0},
		{arch.X86, 0, 4, 4, 0},
		{arch.ARM64, 0, 0, -8, 0},
		{arch.ARM, 0, 0, -4, 0},
		{arch.PPC64LE, 0x7000, -0x7008, -0x7008, 0x8000},
		{arch.PPC64, 0x7000, -0x7008, -0x7008, 0x8000},
		{arch.PPC, 0x7000, -0x7004, -0x7004, 0x8000},
		{arch.S390X, 0, 8, 8, 0},
		{arch.RISCV64, 0, -16, -8, 0x800},
		{arch.Loong64, 0, -16, -8, 0},
	} {
		for _, musl := range []bool{false, true} {
			p := newHand(tc.arch, 0x10000)
			w := uint64(tc.arch.WordSize)
			at, entry, want := uint64(tc.glibc), 2*w, block
			if musl {
				at, entry = uint64(tc.musl), w
				p.put(dtv, tc.arch.WordSize, 4)
			}
			p.put(uint64(tp)+at, tc.arch.WordSize, dtv)
			if musl {
				p.put(dtv+3*entry, tc.arch.WordSize, block+tc.entry)
			} else {
				p.put(dtv+3*entry, tc.arch.WordSize, block)
			}
			r := New(p, nil)
			r.tls.once.Do(func() {})
			r.tls.index, r.tls.musl = map[arch.Address]uint64{lib.LoadBias: 3}, musl
			got, err := r.tlsBlock(r.machine.tls, tp-tc.bias, lib)
			if err != nil || got != want {
				t.Errorf("%s, musl %v: %#x, %v; want %#x", tc.arch.Name, musl, got, err, want)
			}
			r.tls.index[lib.LoadBias] = 9
			if got, err := r.tlsBlock(r.machine.tls, tp-tc.bias, lib); err == nil {
				t.Errorf("%s, musl %v, not allocated: %#x", tc.arch.Name, musl, got)
			}
		}
	}
}

// TestThreadPointers reads the thread pointer of every architecture whose dumps have
// it.
func TestThreadPointers(t *testing.T) {
	note := func(n note, words ...uint64) func(p *handProcess) {
		return func(p *handProcess) {
			for _, w := range words {
				p.notes[n] = append(p.notes[n], bytesOf(p.arch.ByteOrder, w, p.arch.WordSize)...)
			}
		}
	}
	register := func(names ...string) func(p *handProcess) {
		return func(p *handProcess) {
			for i, name := range names {
				r, _ := p.arch.RegByName(name)
				p.regs.Set(r, 0x7000+uint64(i))
			}
		}
	}
	for _, tc := range []struct {
		arch *arch.Arch
		fill func(*handProcess)
		want uint64
	}{
		{arch.AMD64, register("fs_base"), 0x7000},
		{arch.ARM64, note(noteARMTLS, 0x7000, 1), 0x7000},
		{arch.ARM, note(noteARMTLS, 0x7000), 0x7000},
		{arch.PPC64LE, register("r13"), 0x7000},
		{arch.PPC, register("r2"), 0x7000},
		{arch.S390X, register("a0", "a1"), 0x7000_0000_7001},
		{arch.RISCV64, register("tp"), 0x7000},
		{arch.Loong64, register("tp"), 0x7000},
		{arch.X86, register("gs_base"), 0x7000},
	} {
		p := newHand(tc.arch, 8)
		r := New(p, nil)
		if got, ok := r.machine.tls.pointer(r, 1); ok && got != 0 {
			t.Errorf("%s, without: %#x", tc.arch.Name, got)
		}
		tc.fill(p)
		if got, ok := r.machine.tls.pointer(r, 1); !ok || got != tc.want {
			t.Errorf("%s: %#x, %v; want %#x", tc.arch.Name, got, ok, tc.want)
		}
	}
}

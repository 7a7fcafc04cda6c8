package dwarfvars

import (
	"fmt"
	"testing"

	"github.com/corewalk/corewalk/libstate"
	"github.com/corewalk/corewalk/unwind"
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
		{arch.S390, 0, 4, 4, 0},
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
			check := func(what, want string) {
				t.Helper()
				if got := result(r.tlsBlock(r.machine.tls, tp-tc.bias, lib)); got != want {
					t.Errorf("%s, musl %v, %s: %s, want %s", tc.arch.Name, musl, what, got, want)
				}
			}
			const unused, none = "thread-local storage not found: the thread has not used that of the library yet", "thread-local storage not found: the thread has none for the library"
			check("a block", fmt.Sprintf("%x", want))
			r.tls.index[lib.LoadBias] = 4
			check("no block yet", unused)
			p.put(dtv+4*entry, tc.arch.WordSize, ^uint64(0))
			check("no block yet, all ones", unused)
			p.put(dtv+5*entry, tc.arch.WordSize, block)
			r.tls.index[lib.LoadBias] = 5
			if musl {
				check("beyond the vector", none)
			} else {
				check("beyond the vector", fmt.Sprintf("%x", want))
			}
			r.tls.index = nil
			check("an unknown library", "thread-local storage not found: the dynamic linker does not list the library")
			r.tls.why = "why"
			check("an unknown library", "thread-local storage not found: why")
			r.tls.index = map[arch.Address]uint64{lib.LoadBias: 3}
			p.put(uint64(tp)+at, tc.arch.WordSize, 8)
			if musl {
				check("no vector", none)
			} else {
				check("no vector", fmt.Sprintf("no memory at %#x", 8+3*entry))
			}
			p.mem = nil
			check("no thread", fmt.Sprintf("no memory at %#x", uint64(tp)+at))
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
		{arch.S390, register("a0"), 0x7000},
		{arch.RISCV64, register("tp"), 0x7000},
		{arch.Loong64, register("tp"), 0x7000},
		{arch.X86, register("gs_base"), 0x7000},
	} {
		p := newHand(tc.arch, 8)
		r := New(p, nil)
		if got, ok := r.machine.tls.pointer(r, 1); ok || got != 0 {
			t.Errorf("%s, without: %#x", tc.arch.Name, got)
		}
		p.notes[noteARMTLS] = make([]byte, tc.arch.WordSize-1)
		if got, ok := r.machine.tls.pointer(r, 1); ok || got != 0 {
			t.Errorf("%s, with a short note: %#x", tc.arch.Name, got)
		}
		delete(p.notes, noteARMTLS)
		tc.fill(p)
		if got, ok := r.machine.tls.pointer(r, 1); !ok || got != tc.want {
			t.Errorf("%s: %#x, %v; want %#x", tc.arch.Name, got, ok, tc.want)
		}
		p.lost = true
		if got, ok := r.machine.tls.pointer(r, 1); len(p.notes) == 0 && (ok || got != 0) {
			t.Errorf("%s, without registers: %#x", tc.arch.Name, got)
		}
	}
	p := newHand(arch.AMD64, 8)
	r := New(p, nil)
	for name, pointer := range map[string]func(*Reader, unwind.ThreadID) (uint64, bool){"number": tpRegister(99), "name": tpNamed("none")} {
		if got, ok := pointer(r, 1); ok || got != 0 {
			t.Errorf("an unknown %s: %#x", name, got)
		}
	}
}

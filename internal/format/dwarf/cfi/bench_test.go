package cfi

import (
	"debug/elf"
	"math/rand/v2"
	"testing"

	"github.com/corewalk/corewalk/internal/format/dwarf/cfi/cfitest"
)

// libcPath is where Debian keeps the C library on AMD64.
const libcPath = "/lib/x86_64-linux-gnu/libc.so.6"

// openELF returns the tables of an ELF file, with and without its header.
func openELF(tb testing.TB, path string) (withHdr, without *Table) {
	tb.Helper()
	f, err := elf.Open(path)
	if err != nil {
		tb.Skipf("needs %s: %v", path, err)
	}
	defer f.Close()
	eh, hdr := f.Section(".eh_frame"), f.Section(".eh_frame_hdr")
	if eh == nil || hdr == nil || f.Machine != elf.EM_X86_64 {
		tb.Skipf("needs .eh_frame, .eh_frame_hdr and AMD64 in %s", path)
	}
	data, err := eh.Data()
	if err != nil {
		tb.Fatal(err)
	}
	head, err := hdr.Data()
	if err != nil {
		tb.Fatal(err)
	}
	cfg := Config{AddrSize: 8}
	return EHFrame(data, eh.Addr, head, hdr.Addr, cfg), EHFrame(data, eh.Addr, nil, 0, cfg)
}

// built returns tables of n functions of 64 bytes with an ordinary prologue and
// epilogue, from address 0x10000 on.
func built(n int) (withHdr, without *Table) {
	s := cfitest.Section{Addr: 0x2000000}
	init := new(cfitest.Program).DefCFA(7, 8).Offset(16, 1)
	c := s.AddCIE(cfitest.CIE{Insns: init})
	body := new(cfitest.Program).Advance(1).DefCFAOffset(16).Offset(6, 2).Advance(3).DefCFARegister(6).
		Advance(2).Offset(3, 3).Advance(40).RememberState().DefCFA(7, 8).Advance(1).RestoreState()
	for i := range n {
		s.AddFDE(c, 0x10000+64*uint64(i), 64, body)
	}
	cfg := Config{AddrSize: 8}
	hdr := s.Header(0x1f00000)
	return EHFrame(s.Bytes(), s.Addr, hdr, 0x1f00000, cfg), EHFrame(s.Bytes(), s.Addr, nil, 0, cfg)
}

// pcs picks addresses that FDEs of t cover, in no order.
func pcs(t *Table) []uint64 {
	r := rand.New(rand.NewPCG(1, 2))
	var ranges []FDE
	for f := range t.FDEs() {
		ranges = append(ranges, f)
	}
	out := make([]uint64, 4096)
	for i := range out {
		f := ranges[r.IntN(len(ranges))]
		out[i] = f.Start + r.Uint64N(f.End-f.Start)
	}
	return out
}

func benchRows(b *testing.B, t *Table) {
	addrs := pcs(t)
	var row Row
	for _, pc := range addrs {
		if err := t.Row(pc, &row); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportAllocs()
	i := 0
	for b.Loop() {
		if err := t.Row(addrs[i%len(addrs)], &row); err != nil {
			b.Fatal(err)
		}
		i++
	}
}

func BenchmarkRow(b *testing.B) {
	withHdr, without := built(5000)
	b.Run("built/hdr", func(b *testing.B) { benchRows(b, withHdr) })
	b.Run("built/index", func(b *testing.B) { benchRows(b, without) })
	b.Run("libc/hdr", func(b *testing.B) { t, _ := openELF(b, libcPath); benchRows(b, t) })
	b.Run("libc/index", func(b *testing.B) { _, t := openELF(b, libcPath); benchRows(b, t) })
}

func BenchmarkIndex(b *testing.B) {
	_, t := built(5000)
	b.ReportAllocs()
	b.SetBytes(int64(len(t.data)))
	for b.Loop() {
		fresh := EHFrame(t.data, t.addr, nil, 0, t.cfg)
		fresh.buildIndex()
		if len(fresh.entries) != 5000 {
			b.Fatal(len(fresh.entries))
		}
	}
}

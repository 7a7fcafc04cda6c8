package winunwind_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/corewalk/corewalk/internal/format/winunwind"
	"github.com/corewalk/corewalk/unwind/arch"
)

// An image is bytes by RVA.
type image []byte

func (m image) At(rva uint32) []byte {
	if uint64(rva) >= uint64(len(m)) {
		return nil
	}
	return m[rva:]
}

// words makes a function table.
func words(v ...uint32) (b []byte) {
	for _, x := range v {
		b = binary.LittleEndian.AppendUint32(b, x)
	}
	return b
}

// layout makes an image with pieces at given addresses.
func layout(pieces map[uint32][]byte) image {
	m := make(image, 0x4000)
	for at, b := range pieces {
		copy(m[at:], b)
	}
	return m
}

const sp0 = 0x10000

// describe steps from a frame with sp0 for a stack pointer and prints what is
// found: the CFA and the places of registers relative to sp0.
func describe(a *arch.Arch, tab *winunwind.Table, rva uint32, exact bool, set map[arch.Reg]uint64) string {
	var f winunwind.Frame
	for r := range arch.Reg(a.NumRegs()) {
		f.Regs.Set(r, 0x700000+0x1000*uint64(r))
	}
	for r, v := range set {
		f.Regs.Set(r, v)
	}
	f.Regs.Set(a.SP, sp0)
	f.Regs.Set(a.PC, base+uint64(rva))
	if err := tab.Step(&f, memory{}, base, exact); err != nil {
		for _, e := range []error{winunwind.ErrNoFunction, winunwind.ErrTruncated, winunwind.ErrMalformed, winunwind.ErrUnsupported, winunwind.ErrUnknownReg} {
			if errors.Is(err, e) {
				return "error: " + e.Error()
			}
		}
		return "error without a reason: " + err.Error()
	}
	var parts []string
	for m := f.Saved; m != 0; m &= m - 1 {
		r := m.First()
		parts = append(parts, fmt.Sprintf("%s@%+d", a.RegName(r), int64(f.At[r])-sp0))
		if v, _ := f.Regs.Get(r); a.CodeAddress(v) != a.CodeAddress(word(f.At[r])) && r != a.SP {
			parts = append(parts, "with another value")
		}
	}
	slices.Sort(parts)
	cfa := fmt.Sprintf("%+d", int64(f.CFA)-sp0)
	if f.Interrupted {
		cfa = "interrupted"
	}
	for i := range f.XMMAt {
		if f.SavedXMM>>i&1 != 0 {
			parts = append(parts, fmt.Sprintf("xmm%d@%+d", i, int64(f.XMMAt[i])-sp0))
		}
	}
	return cfa + " " + strings.Join(parts, " ")
}

// An UNWIND_INFO: version and flags, prologue, frame register, then codes of two
// bytes.
func info(version, flags, prolog, frame byte, codes ...byte) []byte {
	b := append([]byte{version | flags<<3, prolog, byte(len(codes) / 2), frame}, codes...)
	return append(b, make([]byte, -len(b)&3)...)
}

// TestAMD64Codes steps at single addresses of functions at 0x1000, whose code is nop unless
// stated otherwise.
func TestAMD64Codes(t *testing.T) {
	push := []byte{4, 2<<4 | 2, 2, 3 << 4, 1, 5 << 4} // sub rsp, 24; push rbx; push rbp
	for _, tc := range []struct {
		name  string
		info  []byte
		code  []byte // at 0x1010
		rva   uint32
		set   map[arch.Reg]uint64
		other map[uint32][]byte
		calls bool // not exact
		want  string
	}{
		{name: "entry", info: info(1, 0, 4, 0, push...), rva: 0x1000, want: "+8 rip@+0"},
		{name: "after a push", info: info(1, 0, 4, 0, push...), rva: 0x1001, want: "+16 rbp@+0 rip@+8"},
		{name: "after two", info: info(1, 0, 4, 0, push...), rva: 0x1003, want: "+24 rbp@+8 rbx@+0 rip@+16"},
		{name: "body", info: info(1, 0, 4, 0, push...), rva: 0x1005, want: "+48 rbp@+32 rbx@+24 rip@+40"},
		{name: "call in the prologue", info: info(1, 0, 12, 0, 12, 1, 0, 2, 1, 5<<4), rva: 0x1009, calls: true, want: "+16 rbp@+0 rip@+8"},
		{name: "allocated in words", info: info(1, 0, 12, 0, 12, 1, 0, 2), rva: 0x100c, want: "+4104 rip@+4096"},
		{name: "allocated in bytes", info: info(1, 0, 12, 0, 12, 1|1<<4, 0, 0, 2, 0), rva: 0x100c, want: "+131080 rip@+131072"},
		{name: "saved", info: info(1, 0, 9, 0, 9, 4|6<<4, 5, 0, 4, 4<<4|2), rva: 0x1009, want: "+48 rip@+40 rsi@+40"},
		{name: "saved far", info: info(1, 0, 9, 0, 9, 5|7<<4, 8, 0, 1, 0, 4, 4<<4|2), rva: 0x1009, want: "+48 rdi@+65544 rip@+40"},
		{name: "vectors", info: info(1, 0, 9, 0, 9, 8|6<<4, 1, 0, 8, 9|15<<4, 64, 0, 0, 0, 4, 12<<4|2), rva: 0x1009, want: "+112 rip@+104 xmm6@+16 xmm15@+64"},
		{name: "frame register", info: info(1, 0, 8, 5|2<<4, 8, 3, 4, 4<<4|2, 1, 5<<4), rva: 0x1010, set: map[arch.Reg]uint64{arch.RBP: sp0 + 0x120},
			want: "+312 rbp@+296 rip@+304"},
		{name: "frame register not set yet", info: info(1, 0, 8, 5|2<<4, 8, 3, 4, 4<<4|2, 1, 5<<4), rva: 0x1004, set: map[arch.Reg]uint64{arch.RBP: 1},
			want: "+56 rbp@+40 rip@+48"},
		{name: "machine frame", info: info(1, 0, 0, 0, 0, 10), rva: 0x1000, want: "interrupted rip@+0 rsp@+24"},
		{name: "with an error code", info: info(1, 0, 1, 0, 1, 3<<4, 0, 10|1<<4), rva: 0x1001, want: "interrupted rbx@+0 rip@+16 rsp@+40"},
		{name: "chained", info: append(info(1, 4, 2, 0, 2, 6<<4), words(0x1800, 0x1900, 0x2800)...), rva: 0x1002,
			other: map[uint32][]byte{0x2800: info(1, 0, 4, 0, push...)}, want: "+56 rbp@+40 rbx@+32 rip@+48 rsi@+0"},
		{name: "chained, an odd number of codes", info: append(info(1, 4, 4, 0, 4, 2, 2, 6<<4, 1, 7<<4), words(0x1800, 0x1900, 0x2800)...), rva: 0x1001,
			other: map[uint32][]byte{0x2800: info(1, 0, 0, 0)}, want: "+16 rdi@+0 rip@+8"},
		{name: "entry for an entry", info: words(0x1800, 0x1900, 0x2800), rva: 0x1005, other: map[uint32][]byte{0x2800: info(1, 0, 4, 0, push...), 0x3000: {1}},
			want: "+48 rbp@+32 rbx@+24 rip@+40"},
		{name: "epilogue", info: info(1, 0, 4, 0, push...), code: []byte{0x48, 0x83, 0xc4, 0x18, 0x5b, 0x5d, 0xc3}, rva: 0x1010, want: "+48 rbp@+32 rbx@+24 rip@+40"},
		{name: "in an epilogue", info: info(1, 0, 4, 0, push...), code: []byte{0x5b, 0x5d, 0xc3}, rva: 0x1010, want: "+24 rbp@+8 rbx@+0 rip@+16"},
		{name: "at its return", info: info(1, 0, 4, 0, push...), code: []byte{0xc3}, rva: 0x1010, want: "+8 rip@+0"},
		{name: "a return that drops arguments", info: info(1, 0, 4, 0, push...), code: []byte{0x5d, 0xc2, 0x10, 0}, rva: 0x1010, want: "+32 rbp@+0 rip@+8"},
		{name: "for callers there are no epilogues", info: info(1, 0, 4, 0, push...), code: []byte{0x5b, 0x5d, 0xc3}, rva: 0x1010, calls: true, want: "+48 rbp@+32 rbx@+24 rip@+40"},
		{name: "by the frame register", info: info(1, 0, 8, 5|2<<4, 8, 3, 4, 4<<4|2, 1, 5<<4), code: []byte{0x48, 0x8d, 0x65, 0x08, 0x5d, 0xc3}, rva: 0x1010,
			set: map[arch.Reg]uint64{arch.RBP: sp0 + 0x120}, want: "+312 rbp@+296 rip@+304"},
		{name: "pop and nothing else", info: info(1, 0, 4, 0, push...), code: []byte{0x5b, 0x90}, rva: 0x1010, want: "+48 rbp@+32 rbx@+24 rip@+40"},
		{name: "add after pop", info: info(1, 0, 4, 0, push...), code: []byte{0x5b, 0x48, 0x83, 0xc4, 0x18, 0xc3}, rva: 0x1010, want: "+48 rbp@+32 rbx@+24 rip@+40"},
		{name: "tail call", info: info(1, 0, 4, 0, push...), code: []byte{0x5d, 0xe9, 0xea, 0x07, 0, 0}, rva: 0x1010, want: "+16 rbp@+0 rip@+8"},
		{name: "jump in the function", info: info(1, 0, 4, 0, push...), code: []byte{0xeb, 0x10}, rva: 0x1010, want: "+48 rbp@+32 rbx@+24 rip@+40"},
		{name: "jump into another", info: info(1, 0, 4, 0, push...), code: []byte{0xe9, 0xec, 0x07, 0, 0, 0}, rva: 0x1010, want: "+48 rbp@+32 rbx@+24 rip@+40"},
		{name: "jump to a part", info: info(1, 0, 4, 0, push...), code: []byte{0xe9, 0xeb, 0x08, 0, 0, 0}, rva: 0x1010, want: "+48 rbp@+32 rbx@+24 rip@+40"},
		{name: "import", info: info(1, 0, 4, 0, push...), code: []byte{0x5d, 0xff, 0x25, 0, 0, 0, 0}, rva: 0x1010, want: "+16 rbp@+0 rip@+8"},
		{name: "tail jump", info: info(1, 0, 4, 0, push...), code: []byte{0x48, 0xff, 0xe0}, rva: 0x1010, want: "+8 rip@+0"},
		{name: "jump of a table", info: info(1, 0, 4, 0, push...), code: []byte{0xff, 0xe0}, rva: 0x1010, want: "+48 rbp@+32 rbx@+24 rip@+40"},
		{name: "version 2", info: info(2, 0, 4, 0, append([]byte{3, 6 | 1<<4, 0, 6}, push...)...), rva: 0x1005, want: "+48 rbp@+32 rbx@+24 rip@+40"},
		{name: "version 2: epilogue at the end", info: info(2, 0, 4, 0, append([]byte{3, 6 | 1<<4, 0, 6}, push...)...), rva: 0x10fd,
			other: map[uint32][]byte{0x10fd: {0x5b, 0x5d, 0xc3}}, want: "+24 rbp@+8 rbx@+0 rip@+16"},
		{name: "version 2: epilogue that jumps by a register", info: info(2, 0, 4, 0, append([]byte{3, 6, 0xf0, 6}, push...)...), code: []byte{0x5d, 0xff, 0xe0}, rva: 0x1010, want: "+16 rbp@+0 rip@+8"},
		{name: "leaf", info: info(1, 0, 0, 0), rva: 0x1a00, want: "+8 rip@+0"},
		{name: "no function", info: info(1, 0, 0, 0), rva: 0x1a00, calls: true, want: "error: no function in the unwind table"},
		{name: "call at the end", info: info(1, 0, 4, 0, push...), rva: 0x1100, calls: true, want: "+48 rbp@+32 rbx@+24 rip@+40"},
		{name: "version 4", info: info(4, 0, 0, 0), rva: 0x1000, want: "error: unsupported unwind information"},
		{name: "version 0", info: info(0, 0, 0, 0), rva: 0x1000, want: "error: unsupported unwind information"},
		{name: "unknown code", info: info(1, 0, 0, 0, 0, 11), rva: 0x1000, want: "error: unsupported unwind information"},
		{name: "code that is cut", info: info(1, 0, 0, 0, 0, 1), rva: 0x1000, want: "error: malformed unwind information"},
		{name: "chained with itself", info: append(info(1, 4, 0, 0), words(0x1000, 0x1100, 0x2000)...), rva: 0x1000, want: "error: malformed unwind information"},
	} {
		data := uint32(0x2000)
		if tc.name == "entry for an entry" {
			data++
		}
		pdata := words(0x1000, 0x1100, data, 0x1800, 0x1900, 0x2800, 0x1900, 0x1980, 0x3000, 0, 0, 0)
		m := layout(map[uint32][]byte{0x1000: bytes.Repeat([]byte{0x90}, 0x1000), 0x3000: append(info(1, 4, 0, 0), words(0x1800, 0x1900, 0x2800)...)})
		copy(m[0x2000:], tc.info)
		copy(m[0x1010:], tc.code)
		for at, b := range tc.other {
			copy(m[at:], b)
		}
		tab, err := winunwind.New(arch.AMD64, pdata, m)
		if err != nil {
			t.Fatal(err)
		}
		if got := describe(arch.AMD64, tab, tc.rva, !tc.calls, tc.set); got != tc.want {
			t.Errorf("%s: %s; want %s", tc.name, got, tc.want)
		}
	}
}

// TestARM64Codes steps through functions at 0x1000 of 0x40 bytes.
func TestARM64Codes(t *testing.T) {
	// An .xdata record with one epilogue at the function's end, whose codes are the
	// prologue's.
	single := func(codes ...byte) []byte {
		codes = append(codes, make([]byte, -len(codes)&3)...)
		return append(words(0x10|1<<21|uint32(len(codes)/4)<<27), codes...)
	}
	// The same with an epilogue at 0x20, whose codes begin at index.
	scoped := func(index uint32, codes ...byte) []byte {
		codes = append(codes, make([]byte, -len(codes)&3)...)
		return append(words(0x10|1<<22|uint32(len(codes)/4)<<27, 8|index<<22), codes...)
	}
	frame := []byte{0xe1, 0x42, 0x24, 0xe4} // stp x19, x20, [sp, -32]!; stp x29, lr, [sp, 16]; mov x29, sp
	const fp = "+32 pc@+24 x19@+0 x20@+8 x29@+16"
	at := map[arch.Reg]uint64{arch.ARM64FP: sp0}
	for _, tc := range []struct {
		name  string
		xdata []byte
		entry uint32 // in place of xdata
		rva   uint32
		calls bool
		set   map[arch.Reg]uint64
		want  string
	}{
		{name: "entry", xdata: single(frame...), rva: 0x1000, want: "+0 "},
		{name: "one saved", xdata: single(frame...), rva: 0x1004, want: "+32 x19@+0 x20@+8"},
		{name: "two saved", xdata: single(frame...), rva: 0x1008, want: fp},
		{name: "body", xdata: single(frame...), rva: 0x100c, set: map[arch.Reg]uint64{arch.ARM64FP: sp0 + 64}, want: "+96 pc@+88 x19@+64 x20@+72 x29@+80"},
		{name: "epilogue at the end", xdata: single(frame...), rva: 0x1034, set: at, want: fp},
		{name: "epilogue: lr loaded", xdata: single(frame...), rva: 0x1038, want: "+32 x19@+0 x20@+8"},
		{name: "epilogue: return", xdata: single(frame...), rva: 0x103c, want: "+0 "},
		{name: "callers are not in it", xdata: single(frame...), rva: 0x103c, calls: true, set: at, want: fp},
		{name: "call at the end", xdata: single(frame...), rva: 0x1040, calls: true, set: at, want: fp},
		{name: "scope", xdata: scoped(4, append(frame, 0x42, 0x24, 0xe4)...), rva: 0x1020, want: fp},
		{name: "scope: lr loaded", xdata: scoped(4, append(frame, 0x42, 0x24, 0xe4)...), rva: 0x1024, want: "+32 x19@+0 x20@+8"},
		{name: "scope: return", xdata: scoped(4, append(frame, 0x42, 0x24, 0xe4)...), rva: 0x1028, want: "+0 "},
		{name: "after it", xdata: scoped(4, append(frame, 0x42, 0x24, 0xe4)...), rva: 0x102c, set: at, want: fp},
		{name: "next pairs", xdata: single(0x82, 0xe6, 0xe6, 0xcc, 0x07, 0xe4), rva: 0x1010,
			want: "+88 pc@+8 x19@+24 x20@+32 x21@+40 x22@+48 x23@+56 x24@+64 x29@+0"},
		{name: "next pairs, one saved", xdata: single(0x82, 0xe6, 0xe6, 0xcc, 0x07, 0xe4), rva: 0x1008, want: "+64 x19@+0 x20@+8 x21@+16 x22@+24"},
		{name: "floating point", xdata: single(0xdc, 0x84, 0xda, 0x04, 0xe4), rva: 0x1010, want: "+40 d10@+32 d8@+0 d9@+8"},
		{name: "one moved", xdata: single(0xde, 0x23, 0xd4, 0x61, 0xe4), rva: 0x1010, want: "+48 d9@+0 x22@+32"},
		{name: "lr with another", xdata: single(0xd6, 0x42, 0x04, 0xe4), rva: 0x1010, want: "+64 pc@+24 x21@+16"},
		{name: "large", xdata: single(0xe0, 0x01, 0x00, 0x00, 0xc0, 0x40, 0xe4), rva: 0x1010, want: "+1049600 "},
		{name: "x29 above", xdata: single(0xe2, 0x02, 0x40, 0xe4), rva: 0x1010, set: map[arch.Reg]uint64{arch.ARM64FP: sp0 + 16}, want: "+0 pc@+8 x29@+0"},
		{name: "any registers", xdata: single(0xe7, 0x53, 0x01, 0xe7, 0x6a, 0x43, 0xe4), rva: 0x1010, want: "+64 d10@+0 d11@+8 x19@+16 x20@+24"},
		{name: "machine frame", xdata: single(0xe9, 0xe4), rva: 0x1000, want: "interrupted pc@+8 sp@+0"},
		{name: "SVE", xdata: single(0xdf, 1, 0xe4), rva: 0x1010, want: "error: unsupported unwind information"},
		{name: "no such code", xdata: single(0xf0, 0xe4), rva: 0x1010, want: "error: unsupported unwind information"},
		{name: "registers after lr", xdata: single(0xe6, 0xe6, 0xca, 0x80, 0xe4), rva: 0x1010, want: "error: malformed unwind information"},
		{name: "codes that are cut", xdata: words(0x10 | 1<<21 | 31<<27)[:4], rva: 0x1010, want: "+0 "}, // zeros allocate nothing
		{name: "version 1", xdata: words(0x10 | 1<<18 | 1<<27), rva: 0x1010, want: "error: unsupported unwind information"},
		{name: "leaf", xdata: single(0xe4), rva: 0x1200, want: "+0 "},
		{name: "no function", xdata: single(0xe4), rva: 0x1200, calls: true, want: "error: no function in the unwind table"},
		{name: "packed, x19 with lr", entry: 1 | 0x10<<2 | 1<<16 | 1<<21 | 2<<23, rva: 0x1004, want: "+16 pc@+8 x19@+0"},
		{name: "packed, body", entry: 1 | 0x10<<2 | 1<<16 | 1<<21 | 2<<23, rva: 0x1008, want: "+32 pc@+24 x19@+16"},
		{name: "packed, freed", entry: 1 | 0x10<<2 | 1<<16 | 1<<21 | 2<<23, rva: 0x1038, want: "+16 pc@+8 x19@+0"},
		{name: "packed, return", entry: 1 | 0x10<<2 | 1<<16 | 1<<21 | 2<<23, rva: 0x103c, want: "+0 "},
		{name: "fragment", entry: 2 | 0x10<<2 | 1<<16 | 1<<21 | 2<<23, rva: 0x1000, want: "+32 pc@+24 x19@+16"},
		{name: "homes, in the epilogue", entry: 1 | 0x10<<2 | 2<<16 | 1<<20 | 3<<21 | 6<<23, rva: 0x1038, want: "+80 x19@+0 x20@+8"},
		{name: "frame too small", entry: 1 | 0x10<<2 | 2<<16 | 1<<20 | 3<<21 | 1<<23, rva: 0x1008, want: "error: malformed unwind information"},
		{name: "reserved", entry: 3 | 0x10<<2, rva: 0x1000, want: "error: unsupported unwind information"},
	} {
		entry := tc.entry
		if entry == 0 {
			entry = 0x2000
		}
		tab, err := winunwind.New(arch.ARM64, words(0x1000, entry), layout(map[uint32][]byte{0x2000: tc.xdata}))
		if err != nil {
			t.Fatal(err)
		}
		if got := describe(arch.ARM64, tab, tc.rva, !tc.calls, tc.set); got != tc.want {
			t.Errorf("%s: %s; want %s", tc.name, got, tc.want)
		}
	}
}

// TestFind tests the boundaries of entries.
func TestFind(t *testing.T) {
	tab, _ := winunwind.New(arch.AMD64, words(0x1000, 0x1010, 1, 0x1010, 0x1020, 2, 0x1030, 0x1040, 3, 0, 0, 0, 0, 0, 0)[:59], image{})
	for rva, want := range map[uint32]uint32{0: 0, 0xfff: 0, 0x1000: 1, 0x100f: 1, 0x1010: 2, 0x101f: 2, 0x1020: 0, 0x1030: 3, 0x103f: 3, 0x1040: 0, 0xffffffff: 0} {
		if fn, ok := tab.Find(rva); ok != (want != 0) || ok && fn.Data != want {
			t.Errorf("%#x: %+v, %t", rva, fn, ok)
		}
	}
	if _, err := winunwind.New(arch.X86, nil, image{}); !errors.Is(err, winunwind.ErrUnsupported) {
		t.Error(err)
	}
}

// Volatile registers are unknown in the caller, and so is what cannot be read.
func TestKnown(t *testing.T) {
	tab, _ := winunwind.New(arch.AMD64, nil, image{})
	var f winunwind.Frame
	if err := tab.Step(&f, memory{}, base, true); !errors.Is(err, winunwind.ErrUnknownReg) {
		t.Error(err)
	}
	for _, r := range []arch.Reg{arch.RAX, arch.RSI, arch.RIP, arch.RSP, arch.R12, arch.R11} {
		f.Regs.Set(r, base)
	}
	if err := tab.Step(&f, memory{}, base, true); err != nil || f.Regs.Valid != arch.Mask(arch.RSI, arch.RIP, arch.RSP, arch.R12) {
		t.Errorf("%v, %#x", err, f.Regs.Valid)
	}
	if n := testing.AllocsPerRun(10, func() {
		f.Regs.Set(arch.RIP, base+1)
		tab.Step(&f, memory{}, base, true)
	}); n != 0 {
		t.Errorf("%.0f allocations", n)
	}
}

func FuzzStep(f *testing.F) {
	f.Add(words(0x100, 0x200, 0x20, 0x300, 0x400, 0x40), append(make([]byte, 0x20), info(1, 0, 4, 5, 4, 0x22, 2, 0x30, 1, 0x50)...), uint32(0x104))
	f.Add(words(0x10, 0x20, 4), append(make([]byte, 4), info(1, 4, 0, 0)...), uint32(0x10))
	f.Add(words(0, 0x1000, 0x10, 0x20), append(words(0, 0, 0, 0, 0, 0, 0, 0, 0x10|1<<21|2<<27), 0xe1, 0x42, 0x24, 0xe6, 0xe7, 0x53, 1, 0xe4), uint32(0x14))
	f.Add(words(0x10, 1|0x10<<2|3<<13|1<<16|1<<20|1<<21|20<<23), []byte{}, uint32(0x30))
	f.Fuzz(func(t *testing.T, pdata, data []byte, rva uint32) {
		for _, a := range []*arch.Arch{arch.AMD64, arch.ARM64} {
			tab, err := winunwind.New(a, pdata, image(data))
			if err != nil {
				t.Fatal(err)
			}
			for _, exact := range []bool{true, false} {
				if got := describe(a, tab, rva, exact, nil); strings.Contains(got, "without a reason") || strings.Contains(got, "another value") {
					t.Error(got)
				}
			}
		}
	})
}

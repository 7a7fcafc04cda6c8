package winunwind_test

import (
	"slices"
	"testing"

	"github.com/corewalk/corewalk/internal/format/winunwind"
	"github.com/corewalk/corewalk/unwind/arch"
)

// infoV3 makes an UNWIND_INFO of version 3 of a payload's parts. ops are the low and high bits
// of the fourth byte: the operations of the prologue, and the epilogues.
func infoV3(flags, prolog, ops, epilogs byte, payload ...[]byte) []byte {
	b := slices.Concat(payload...)
	b = append(b, make([]byte, len(b)&1)...)
	b = append([]byte{3 | flags<<3, prolog, byte(len(b) / 2), ops | epilogs<<5}, b...)
	return append(b, make([]byte, -len(b)&3)...)
}

// TestAMD64Version3 steps at single addresses of a function of 0x100 bytes at 0x1000.
func TestAMD64Version3(t *testing.T) {
	const rbx, rsp, rbp, rsi, rdi, r12, r16 = 3, 4, 5, 6, 7, 12, 16
	push := func(r byte) byte { return 4 | r<<3 }
	next := func(r byte) byte { return 7 | r<<3 }
	push2 := func(a, b byte) []byte { return []byte{0x20 | a<<6, a>>2 | b<<3} }
	alloc := func(n byte) byte { return 8 | (n/8-1)<<4 }
	fpreg := func(r, off byte) []byte { return []byte{0, r | off/16<<4} }
	bytes := func(b ...byte) []byte { return b }
	// push rbp at 0; push rbx at 1; sub rsp,0x18 at 2; the body at 6.
	plain := bytes(alloc(0x18), push(rbx), push(rbp))
	ips := bytes(2, 1, 0)
	// add rsp,0x18 at 0; pop rbx at 4; pop rbp at 5; ret at 6.
	epilog := func(at int16) []byte {
		return []byte{3 << 3, byte(at), byte(at >> 8), 0, 0, 6, 0, 4, 5}
	}
	inherited := func(delta int16) []byte { return []byte{0, byte(delta), byte(delta >> 8)} }
	const body = "+48 rbp@+32 rbx@+24 rip@+40"
	const malformed, unsupported = "error: malformed unwind information", "error: unsupported unwind information"
	for _, tc := range []struct {
		name  string
		info  []byte
		rva   uint32
		set   map[arch.Reg]uint64
		calls bool
		want  string
	}{
		{name: "entry", info: infoV3(0, 6, 3, 0, ips, plain), rva: 0x1000, want: "+8 rip@+0"},
		{name: "one pushed", info: infoV3(0, 6, 3, 0, ips, plain), rva: 0x1001, want: "+16 rbp@+0 rip@+8"},
		{name: "two pushed", info: infoV3(0, 6, 3, 0, ips, plain), rva: 0x1002, want: "+24 rbp@+8 rbx@+0 rip@+16"},
		{name: "body", info: infoV3(0, 6, 3, 0, ips, plain), rva: 0x1006, want: body},
		{name: "call in the prologue", info: infoV3(0, 12, 2, 0, bytes(9, 0), bytes(alloc(8), push(rbp))), rva: 0x1009, calls: true, want: "+16 rbp@+0 rip@+8"},
		{name: "no prologue", info: infoV3(0, 0, 0, 0), rva: 0x1010, want: "+8 rip@+0"},
		{name: "push2", info: infoV3(0, 6, 1, 0, bytes(0), push2(rbx, rdi)), rva: 0x1006, want: "+24 rbx@+8 rdi@+0 rip@+16"},
		{name: "push2 of high registers", info: infoV3(0, 6, 1, 0, bytes(0), push2(14, 13)), rva: 0x1006, want: "+24 r13@+0 r14@+8 rip@+16"},
		{name: "consecutive", info: infoV3(0, 6, 1, 0, bytes(0), bytes(next(r12))), rva: 0x1006, want: "+24 r12@+8 r13@+0 rip@+16"},
		{name: "registers of APX", info: infoV3(0, 6, 3, 0, ips, push2(rbx, 31), bytes(push(r16), next(29))), rva: 0x1006, want: "+48 rbx@+8 rip@+40"},
		{name: "allocated in words", info: infoV3(0, 6, 1, 0, bytes(0), bytes(2, 0, 2)), rva: 0x1006, want: "+4104 rip@+4096"},
		{name: "allocated in bytes", info: infoV3(0, 6, 1, 0, bytes(0), bytes(1, 0, 0, 2, 0)), rva: 0x1006, want: "+131080 rip@+131072"},
		{name: "saved", info: infoV3(0, 9, 2, 0, bytes(4, 0), bytes(6|rsi<<3, 5, 0, alloc(0x28))), rva: 0x1009, want: "+48 rip@+40 rsi@+40"},
		{name: "saved far", info: infoV3(0, 9, 2, 0, bytes(4, 0), bytes(5|rdi<<3, 8, 0, 1, 0, alloc(0x28))), rva: 0x1009, want: "+48 rdi@+65544 rip@+40"},
		{name: "saved, a register of APX", info: infoV3(0, 9, 2, 0, bytes(4, 0), bytes(6|r16<<3, 5, 0, alloc(0x28))), rva: 0x1009, want: "+48 rip@+40"},
		{name: "vectors", info: infoV3(0, 9, 3, 0, bytes(8, 4, 0), bytes(10|6<<4, 1, 0, 9|15<<4, 64, 0, 0, 0, alloc(0x68))), rva: 0x1009, want: "+112 rip@+104 xmm6@+16 xmm15@+64"},
		{name: "frame pointer", info: infoV3(0, 9, 3, 0, bytes(5, 1, 0), fpreg(rbp, 0x20), bytes(alloc(0x28), push(rbp))), rva: 0x1010,
			set: map[arch.Reg]uint64{arch.RBP: sp0 + 0x120}, want: "+312 rbp@+296 rip@+304"},
		{name: "frame pointer not set yet", info: infoV3(0, 9, 3, 0, bytes(5, 1, 0), fpreg(rbp, 0x20), bytes(alloc(0x28), push(rbp))), rva: 0x1005,
			set: map[arch.Reg]uint64{arch.RBP: 1}, want: "+56 rbp@+40 rip@+48"},
		{name: "saved below a frame pointer", info: infoV3(0, 9, 4, 0, bytes(8, 6, 5, 0), bytes(6|rsi<<3, 1, 0, alloc(0x10)), fpreg(rbp, 0), bytes(push(rbp))), rva: 0x1010,
			set: map[arch.Reg]uint64{arch.RBP: sp0 + 0x120}, want: "+304 rbp@+288 rip@+296 rsi@+280"},
		{name: "machine frame", info: infoV3(0, 0, 1, 0, bytes(0), bytes(3, 0)), rva: 0x1000, want: "interrupted rip@+0 rsp@+24"},
		{name: "with an error code", info: infoV3(0, 1, 2, 0, bytes(0, 0), bytes(push(rbx), 3, 1)), rva: 0x1001, want: "interrupted rbx@+0 rip@+16 rsp@+40"},
		{name: "another canonical frame", info: infoV3(0, 0, 1, 0, bytes(0), bytes(3, 2)), rva: 0x1000, want: unsupported},
		{name: "large prologue, before", info: infoV3(8, 0x10, 1, 0, bytes(1), bytes(2, 1), bytes(alloc(8))), rva: 0x1102 - 0x10, want: "+8 rip@+0"},
		{name: "large prologue, body", info: infoV3(8, 0x10, 2, 0, bytes(0), bytes(0x8, 0, 0, 0), bytes(alloc(8), push(rbp))), rva: 0x1009, want: "+24 rbp@+8 rip@+16"},

		{name: "epilogue", info: infoV3(0, 6, 3, 1, ips, epilog(-7), plain), rva: 0x10f9, want: body},
		{name: "freed", info: infoV3(0, 6, 3, 1, ips, epilog(-7), plain), rva: 0x10fd, want: "+24 rbp@+8 rbx@+0 rip@+16"},
		{name: "one popped", info: infoV3(0, 6, 3, 1, ips, epilog(-7), plain), rva: 0x10fe, want: "+16 rbp@+0 rip@+8"},
		{name: "return", info: infoV3(0, 6, 3, 1, ips, epilog(-7), plain), rva: 0x10ff, want: "+8 rip@+0"},
		{name: "before the epilogue", info: infoV3(0, 6, 3, 1, ips, epilog(-7), plain), rva: 0x10f8, want: body},
		{name: "epilogue from the start", info: infoV3(0, 6, 3, 1, ips, epilog(0x40), plain), rva: 0x1044, want: "+24 rbp@+8 rbx@+0 rip@+16"},
		{name: "after the epilogue", info: infoV3(0, 6, 3, 1, ips, epilog(0x40), plain), rva: 0x1047, want: body},
		{name: "second epilogue", info: infoV3(0, 6, 3, 2, ips, epilog(0x40), inherited(0x30), plain), rva: 0x1074, want: "+24 rbp@+8 rbx@+0 rip@+16"},
		{name: "second epilogue from the end", info: infoV3(0, 6, 3, 2, ips, epilog(-7), inherited(-0x30), plain), rva: 0x10ce, want: "+16 rbp@+0 rip@+8"},
		{name: "between epilogues", info: infoV3(0, 6, 3, 2, ips, epilog(0x40), inherited(0x30), plain), rva: 0x1050, want: body},
		{name: "operations of its own", info: infoV3(0, 6, 3, 1, ips, bytes(1<<3, 0x40, 0, 3, 0, 8, 0), plain, bytes(alloc(0x28))), rva: 0x1040, want: "+48 rip@+40"},
		{name: "large epilogue", info: infoV3(0, 6, 3, 1, ips, bytes(1<<3|2, 0, 0, 2, 0, 0xf0, 0, 0x80, 0), plain), rva: 0x1080, want: "+16 rbp@+0 rip@+8"},
		{name: "large epilogue, popped", info: infoV3(0, 6, 3, 1, ips, bytes(1<<3|2, 0, 0, 2, 0, 0xf0, 0, 0x80, 0), plain), rva: 0x1081, want: "+8 rip@+0"},
		{name: "epilogue by the frame pointer", info: infoV3(0, 9, 2, 1, bytes(1, 0), bytes(2<<3, 0x40, 0, 0, 0, 5, 0, 4), fpreg(rbp, 0), bytes(push(rbp))), rva: 0x1040,
			set: map[arch.Reg]uint64{arch.RBP: sp0 + 0x80}, want: "+144 rbp@+128 rip@+136"},
		{name: "chained", info: append(infoV3(4, 2, 1, 0, bytes(0), bytes(push(rsi))), words(0x1800, 0x1900, 0x2800)...), rva: 0x1002, want: "+56 rbp@+40 rbx@+32 rip@+48 rsi@+0"},
		{name: "chained, to the parent", info: append(infoV3(4, 2, 1, 1, bytes(0), bytes(1<<3|1, 0x40, 0, 0, 0, 2, 0), bytes(push(rsi))), words(0x1800, 0x1900, 0x2800)...), rva: 0x1041,
			want: "+48 rbp@+32 rbx@+24 rip@+40"},
		{name: "chained, to the caller", info: append(infoV3(4, 2, 1, 1, bytes(0), bytes(1<<3, 0x40, 0, 0, 0, 2, 0), bytes(push(rsi))), words(0x1800, 0x1900, 0x2800)...), rva: 0x1041, want: "+8 rip@+0"},

		{name: "reserved flag", info: infoV3(16, 6, 3, 0, ips, plain), rva: 0x1006, want: unsupported},
		{name: "reserved flag of an epilogue", info: infoV3(0, 6, 3, 1, ips, bytes(3<<3|4, 0x40, 0, 0, 0, 6, 0, 4, 5), plain), rva: 0x1006, want: unsupported},
		{name: "rsp pushed", info: infoV3(0, 6, 1, 0, bytes(0), bytes(push(rsp))), rva: 0x1006, want: malformed},
		{name: "rsp pushed second", info: infoV3(0, 6, 1, 0, bytes(0), bytes(next(rbx))), rva: 0x1006, want: malformed},
		{name: "no register after r31", info: infoV3(0, 6, 1, 0, bytes(0), bytes(next(31))), rva: 0x1006, want: malformed},
		{name: "unknown operation", info: infoV3(0, 6, 1, 0, bytes(0), bytes(0x0b)), rva: 0x1006, want: malformed},
		{name: "another unknown operation", info: infoV3(0, 6, 1, 0, bytes(0), bytes(0x10)), rva: 0x1006, want: malformed},
		{name: "cut operation", info: infoV3(0, 6, 1, 0, bytes(0), bytes(1, 2, 3)), rva: 0x1006, want: malformed},
		{name: "no operations left", info: infoV3(0, 6, 3, 0, ips, bytes(push(rbx))), rva: 0x1006, want: malformed},
		{name: "no offsets", info: infoV3(0, 6, 3, 0, bytes(0, 0)), rva: 0x1006, want: malformed},
		{name: "no large size", info: infoV3(8, 6, 0, 0), rva: 0x1006, want: malformed},
		{name: "large offsets cut", info: infoV3(8, 6, 2, 0, bytes(0, 0, 0, 0)), rva: 0x1006, want: malformed},
		{name: "first epilogue inherits", info: infoV3(0, 6, 3, 1, ips, inherited(0x40), plain), rva: 0x1006, want: malformed},
		{name: "no epilogue", info: infoV3(0, 6, 1, 1, bytes(0), bytes(push(rbx))), rva: 0x1006, want: malformed},
		{name: "cut epilogue", info: infoV3(0, 6, 1, 1, bytes(0), bytes(3<<3, 0x40, 0, 0, 0, 6, 0)), rva: 0x1006, want: malformed},
		{name: "operations beyond the pool", info: infoV3(0, 6, 3, 1, ips, bytes(1<<3, 0x40, 0, 99, 0, 6, 0), plain), rva: 0x1040, want: malformed},
		{name: "payload cut", info: bytes(3, 6, 255, 3), rva: 0x1006, want: "error: unwind information is not in the image"},
	} {
		m := layout(map[uint32][]byte{0x2800: infoV3(0, 6, 3, 0, ips, plain)})
		at := uint32(0x2000)
		if tc.name == "payload cut" {
			at = 0x4000 - 4
		}
		copy(m[at:], tc.info)
		tab, err := winunwind.New(arch.AMD64, words(0x1000, 0x1100, at, 0x1800, 0x1900, 0x2800), m)
		if err != nil {
			t.Fatal(err)
		}
		if got := describe(arch.AMD64, tab, tc.rva, !tc.calls, tc.set); got != tc.want {
			t.Errorf("%s: %s; want %s", tc.name, got, tc.want)
		}
	}
}

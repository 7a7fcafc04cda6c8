package steppers_test

import (
	"testing"

	"github.com/corewalk/corewalk/steppers"
	"github.com/corewalk/corewalk/unwind/arch"
)

// A put is a value of size bytes in a signal frame, at bytes from its start.
type put struct {
	at   uint64
	size int
	v    uint64
}

// What signal frames have of the processor's exception. The offsets were counted in the kernel's headers, which traps.go names.
func TestTraps(t *testing.T) {
	const addr = 0x12345670
	write := steppers.Trap{Kind: steppers.TrapAccess, Addr: addr, HasAddr: true, Write: true}
	read := steppers.Trap{Kind: steppers.TrapAccess, Addr: addr, HasAddr: true, Read: true}
	of := func(kind steppers.TrapKind) steppers.Trap { return steppers.Trap{Kind: kind} }
	amd64 := func(n, code uint64) []put { return []put{{200, 8, n}, {192, 8, code}, {216, 8, addr}} }
	i386 := func(base, n, code uint64) []put {
		return []put{{base + 48, 4, n}, {base + 52, 4, code}, {base + 84, 4, addr}}
	}
	armed := func(base, n, code uint64) []put {
		return []put{{base, 4, n}, {base + 4, 4, code}, {base + 80, 4, addr}}
	}
	free := func(n, code uint64) []put { return []put{{160, 4, n}, {184, 8, code}, {168, 8, addr}} }
	ppc := func(gregs, word, n, code uint64) []put {
		return []put{{gregs + 40*word, int(word), n}, {gregs + 41*word, int(word), addr}, {gregs + 42*word, int(word), code}, {gregs + 32*word, int(word), addr}}
	}
	syndrome := func(esr uint64) []put {
		return []put{{304, 8, addr}, {592, 4, 0x45535201}, {596, 4, 16}, {600, 8, esr}}
	}
	const glibc, oldX86, rtX86 = "48c7c00f000000 0f05", "58 b877000000 cd80", "b8ad000000 cd80"
	for _, c := range []struct {
		name, code string
		a          *arch.Arch
		puts       []put
		want       steppers.Trap
	}{
		{"write", glibc, arch.AMD64, amd64(14, 6), write},
		{"read", glibc, arch.AMD64, amd64(14, 5), read},
		{"protection", glibc, arch.AMD64, amd64(13, 0), of(steppers.TrapProtection)},
		{"illegal", glibc, arch.AMD64, amd64(6, 0), of(steppers.TrapInstruction)},
		{"division, or none", glibc, arch.AMD64, amd64(0, 0), of(steppers.TrapDivide)},
		{"breakpoint", glibc, arch.AMD64, amd64(3, 0), of(steppers.TrapBreakpoint)},
		{"SSE", glibc, arch.AMD64, amd64(19, 0), of(steppers.TrapFloat)},
		{"x87", glibc, arch.AMD64, amd64(16, 0), of(steppers.TrapFloat)},
		{"single step", glibc, arch.AMD64, amd64(1, 0), of(steppers.NoTrap)},
		{"write", "48c7c001020040 0f05", arch.X32, []put{{184, 8, 14}, {176, 8, 6}, {200, 8, addr}}, write},
		{"old, read", oldX86, arch.X86, i386(4, 14, 4), read},
		{"write", rtX86, arch.X86, i386(160, 14, 7), write},
		{"read", "488d7c2410 6a00 48c7c0a1010000 0f05", arch.AMD64, free(12, 4), read},
		{"illegal, FreeBSD", "488d7c2410 6a00 48c7c0a1010000 0f05", arch.AMD64, free(1, 0), of(steppers.TrapInstruction)},
		{"breakpoint, FreeBSD", "488d7c2410 6a00 48c7c0a1010000 0f05", arch.AMD64, free(3, 0), of(steppers.TrapBreakpoint)},
		{"division, FreeBSD", "488d7c2410 6a00 48c7c0a1010000 0f05", arch.AMD64, free(18, 0), of(steppers.TrapDivide)},
		{"another, FreeBSD", "488d7c2410 6a00 48c7c0a1010000 0f05", arch.AMD64, free(9, 0), of(steppers.NoTrap)},
		{"no record", "le d2801168 d4000001", arch.ARM64, []put{{304, 8, addr}, {592, 8, 0}}, steppers.Trap{Kind: steppers.TrapAccess, Addr: addr, HasAddr: true}},
		{"write", "le d2801168 d4000001", arch.ARM64, syndrome(0x24<<26 | 0x40), write},
		{"read", "le d2801168 d4000001", arch.ARM64, syndrome(0x24 << 26), read},
		{"code", "le d2801168 d4000001", arch.ARM64, syndrome(0x20<<26 | 0x40), read},
		{"breakpoint", "le d2801168 d4000001", arch.ARM64, syndrome(0x3c << 26), of(steppers.NoTrap)},
		{"write", "le e3a070ad ef9000ad", arch.ARM, armed(148, 14, 0x805), write},
		{"old, read", "le e3a07077 ef900077", arch.ARM, armed(20, 14, 5), read},
		{"old, illegal", "le e3a07077 ef900077", arch.ARM, armed(20, 6, 0), of(steppers.TrapInstruction)},
		{"old, none", "le e3a07077 ef900077", arch.ARM, armed(20, 0, 0), of(steppers.NoTrap)},
		{"write", "le 38210080 380000ac 44000002", arch.PPC64LE, ppc(360, 8, 0x301, 0x42000000), write},
		{"segment, read", "be 38210080 380000ac 44000002", arch.PPC64, ppc(360, 8, 0x380, 0), read},
		{"code", "be 38210080 380000ac 44000002", arch.PPC64, ppc(360, 8, 0x400, 0), read},
		{"system call", "be 38210080 380000ac 44000002", arch.PPC64, ppc(360, 8, 0xc00, 0), of(steppers.NoTrap)},
		{"write", "be 380000ac 44000002", arch.PPC, ppc(400, 4, 0x300, 0x02000000), write},
		{"old, read", "be 38000077 44000002", arch.PPC, ppc(96, 4, 0x300, 0), read},
		{"has none", "0aad", arch.S390X, nil, of(steppers.NoTrap)},
	} {
		t.Run(c.a.Name+", "+c.name, func(t *testing.T) {
			p := atSignal(c.a, codeOf(c.code), signalCode, 0)
			for _, x := range c.puts {
				b := p.segs[1].data[signalFrame-foreignStack+x.at:]
				if x.size == 4 {
					p.a.ByteOrder.PutUint32(b, uint32(x.v))
				} else {
					p.a.ByteOrder.PutUint64(b, x.v)
				}
			}
			w := walker(t, p, nil, must(steppers.NewSigHandlerStepper(c.a)))
			in := must(w.InitialFrame(1))
			must(w.WalkSingleFrame(in))
			if s, ok := steppers.SignalAt(in); !ok || s.Trap != c.want {
				t.Errorf("%+v, %v; want %+v", s.Trap, ok, c.want)
			}
		})
	}
}

// Which signals were blocked before is behind the registers, and then the siginfo.
func TestBlockedBefore(t *testing.T) {
	for _, c := range []struct {
		a                *arch.Arch
		code             string
		blocked, info    uint64
		hasInfo, isThere bool
	}{
		{arch.AMD64, "48c7c00f000000 0f05", 296, 304, true, true},
		{arch.X32, "48c7c001020040 0f05", 280, 288, true, true},
		{arch.ARM64, "le d2801168 d4000001", 168, 0, true, true},
		{arch.ARM, "le e3a07077 ef900077", 104, 0, false, true},
		{arch.X86, "b8ad000000 cd80", 0, 12, true, false},
		{arch.X86, "58 b877000000 cd80", 0, 0, false, false},
		{arch.MIPS, "be 24021061 0000000c", 0, 24, true, false},
		{arch.S390X, "0aad", 0, 168, true, false},
	} {
		p := atSignal(c.a, codeOf(c.code), signalCode, 0)
		const set = 1<<35 | 1<<13
		if c.isThere {
			p.a.ByteOrder.PutUint64(p.segs[1].data[signalFrame-foreignStack+c.blocked:], set)
		}
		w := walker(t, p, nil, must(steppers.NewSigHandlerStepper(c.a)))
		in := must(w.InitialFrame(1))
		must(w.WalkSingleFrame(in))
		s, ok := steppers.SignalAt(in)
		if !ok || s.HasBlocked != c.isThere || c.isThere && s.Blocked != set || s.HasInfo != c.hasInfo || c.hasInfo && s.Info != signalFrame+c.info {
			t.Errorf("%s, %s: %+v", c.a.Name, c.code, s)
		}
	}
}

package reason

import (
	"strings"
	"testing"

	"github.com/corewalk/corewalk/report"
	"github.com/corewalk/corewalk/unwind/arch"
)

func TestWhy(t *testing.T) {
	rax := func(v uint64) regs { return regs{"rax": v} }
	for _, c := range []struct {
		name   string
		p      at
		sig    Signal
		want   string
		access string
		size   int
		atInst bool
	}{
		// Bad addresses.
		{"null", at{code: storeRAX, regs: rax(0)}, segv(1, 0), "write of 4 bytes at null", "write", 4, true},
		{"null field", at{code: loadRAX8, regs: rax(0)}, segv(1, 8), "read of 4 bytes at null+0x8", "read", 4, true},
		{"one byte", at{code: byteRAX, regs: rax(1)}, segv(1, 1), "read of 1 byte at null+0x1", "read", 1, true},
		{"read and write", at{code: incRAX, regs: rax(0)}, segv(1, 0), "read and write of 4 bytes at null", "write", 4, true},
		{"locked", at{code: lockCmp, regs: rax(0)}, segv(1, 0), "read and write of 4 bytes at null", "write", 4, true},
		{"not mapped", at{code: loadRAX, regs: rax(0x5000000)}, segv(1, 0x5000000), "read of 4 bytes at 0x5000000, which is not mapped", "read", 4, true},
		{"no mappings known", at{code: loadRAX, regs: rax(0x5000000), blind: true}, segv(1, 0x5000000), "read of 4 bytes at 0x5000000", "read", 4, true},
		{"not writable", at{code: storeRAX, regs: rax(ro)}, segv(2, ro), "write of 4 bytes at 0x403000, which is not writable (/bin/prog)", "write", 4, true},
		{"no access", at{code: loadRAX, regs: rax(none)}, segv(2, none), "read of 4 bytes at 0x405000, in a guard page", "read", 4, true},
		{"protection key", at{code: loadRAX, regs: rax(data)}, segv(4, data), "read of 4 bytes at 0x404000, whose protection key forbids it (/bin/prog)", "read", 4, true},
		{"across pages", at{code: loadRAX, regs: rax(0x5000ffe)}, segv(1, 0x5001000), "read of 4 bytes at 0x5001000, which is not mapped", "read", 4, true},
		{"another address", at{code: loadRAX, regs: rax(data)}, segv(1, 0x6000000), "access at 0x6000000, which is not mapped", "", 0, true},
		{"string, destination", at{code: movsb, regs: regs{"rsi": data, "rdi": 0}}, segv(1, 0), "write of 1 byte at null", "write", 1, true},
		{"string, source", at{code: movsb, regs: regs{"rsi": 0x10, "rdi": data}}, segv(1, 0x10), "read of 1 byte at null+0x10", "read", 1, true},
		{"lost code", at{}, segv(1, 0x5000000), "access at 0x5000000, which is not mapped", "", 0, false},

		// Addresses that the kernel does not report.
		{"not canonical", at{code: loadRAX, regs: rax(0x4141414141414141)}, segv(siKernel, 0), "read of 4 bytes at 0x4141414141414141, which no process can map (not canonical)", "read", 4, true},
		{"not canonical by rbp", at{code: loadFP, regs: regs{"rbp": 0x4141414141414141}}, Signal{Number: sigBus, Code: siKernel, HasInfo: true},
			"read of 4 bytes at 0x4141414141414141, which no process can map (not canonical)", "read", 4, true},
		{"not aligned", at{code: movaps, regs: rax(data + 8)}, segv(siKernel, 0), "read of 16 bytes at 0x404008, which is not aligned to 16", "read", 16, true},
		{"return to nowhere", at{code: ret, words: map[uint64]uint64{lowStack + 0x8000: 0x4242424242424242}}, segv(siKernel, 0),
			"return to 0x4242424242424242, which no process can map (not canonical)", "execute", 0, true},
		{"call of nowhere", at{code: callRAX, regs: rax(0x4343434343434343)}, segv(siKernel, 0),
			"call to 0x4343434343434343, which no process can map (not canonical)", "execute", 0, true},
		{"jump to nowhere", at{code: jmpMem, regs: rax(data), words: map[uint64]uint64{data: 0x4444444444444444}}, segv(siKernel, 0),
			"jump to 0x4444444444444444, which no process can map (not canonical)", "execute", 0, true},
		{"pc not canonical", at{regs: regs{"rip": 0x4545454545454545}}, segv(siKernel, 0), "jump to 0x4545454545454545, which no process can map (not canonical)", "execute", 0, false},
		{"privileged", at{code: hlt}, segv(siKernel, 0), "privileged instruction (hlt)", "", 0, true},
		{"no cause to be seen", at{code: nop}, segv(siKernel, 0), "general protection fault", "", 0, true},
		{"lost code, no address", at{}, segv(siKernel, 0), "general protection fault", "", 0, false},

		// Jumps.
		{"jump to null", at{regs: regs{"rip": 0}}, segv(1, 0), "jump to null", "execute", 0, false},
		{"jump near null", at{regs: regs{"rip": 0x10}}, segv(1, 0x10), "jump to null+0x10", "execute", 0, false},
		{"jump to nothing", at{regs: regs{"rip": 0x123456789000}}, segv(1, 0x123456789000), "jump to 0x123456789000, which is not mapped", "execute", 0, false},
		{"return to nothing", at{regs: regs{"rip": 0x123456789000}, words: map[uint64]uint64{lowStack + 0x7ff8: 0x123456789000}}, segv(1, 0x123456789000),
			"return to 0x123456789000, which is not mapped", "execute", 0, false},
		{"jump into data", at{regs: regs{"rip": data}, code: storeRAX}, segv(2, data), "jump to 0x404000, which is not executable (/bin/prog)", "execute", 0, false},
		{"reads its own code", at{code: loadRAX, regs: rax(text)}, segv(2, text), "read of 4 bytes at 0x401000, which was not accessible (/bin/prog)", "read", 4, true},

		// The stack.
		{"stack overflow", at{code: pushRBP, regs: regs{"rsp": lowStack}}, segv(1, lowStack-8), "stack overflow: write of 8 bytes at 0xbefffff8, below the stack", "write", 8, true},
		{"stack overflow, big frame", at{code: storeFP24, regs: regs{"rsp": lowStack - 0x2000, "rbp": lowStack - 0x1000}}, segv(1, lowStack-0x1024),
			"stack overflow: write of 4 bytes at 0xbeffefdc, below the stack", "write", 4, true},
		{"no stack overflow", at{code: storeRAX, regs: rax(0x7ffb00000000)}, segv(1, 0x7ffb00000000), "write of 4 bytes at 0x7ffb00000000, which is not mapped", "write", 4, true},

		// Files.
		{"past the file", at{code: loadRAX, regs: rax(data)}, Signal{Number: sigBus, Code: 2, HasInfo: true, Addr: data, HasAddr: true},
			"read of 4 bytes at 0x404000, past the end of the file mapped there (/bin/prog)", "read", 4, true},
		{"bad memory", at{code: loadRAX, regs: rax(data)}, Signal{Number: sigBus, Code: 4, HasInfo: true, Addr: data, HasAddr: true},
			"read of 4 bytes at 0x404000, where the hardware reported a memory failure (/bin/prog)", "read", 4, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			in := c.p.input(t)
			in.Signal = c.sig
			r := Why(in)
			if r.Text != c.want {
				t.Errorf("text %q, want %q", r.Text, c.want)
			}
			if r.Access != c.access || r.AccessSize != c.size || r.AtInst != c.atInst {
				t.Errorf("access %q of %d bytes, at the instruction %v; want %q, %d, %v", r.Access, r.AccessSize, r.AtInst, c.access, c.size, c.atInst)
			}
			if strings.Contains(c.want, " at 0x") != strings.Contains(r.Text, " at 0x") || r.Access != "" && !r.HasAddr {
				t.Errorf("an access without an address: %+v", r)
			}
		})
	}
}

// Every signal and code has a reason, of at most one line.
func TestWhyAnySignal(t *testing.T) {
	for signo := range 70 {
		for _, code := range []int{-60, -7, -6, -5, -4, -3, -2, -1, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 128, 1 << 30} {
			for _, p := range []at{{}, {code: loadRAX}, {code: ret, blind: true}} {
				in := p.input(t)
				in.Signal = Signal{Number: signo, Code: code, HasInfo: true, Addr: data, HasAddr: true}
				r := Why(in)
				if strings.Contains(r.Text, "\n") || strings.HasSuffix(r.Text, " ") {
					t.Errorf("signal %d code %d: %q", signo, code, r.Text)
				}
				if (signo == sigSegv || signo == sigBus || signo == sigIll || signo == sigFPE) && r.Text == "" {
					t.Errorf("signal %d code %d: no reason", signo, code)
				}
			}
		}
	}
}

func TestCodeName(t *testing.T) {
	for _, c := range []struct {
		signo, code int
		name, words string
	}{
		{sigSegv, 1, "SEGV_MAPERR", "address not mapped"},
		{sigSegv, 2, "SEGV_ACCERR", "access not permitted"},
		{sigSegv, 10, "SEGV_CPERR", "control-flow protection fault"},
		{sigSegv, 11, "11", ""},
		{sigBus, 2, "BUS_ADRERR", "no memory behind the address"},
		{sigFPE, 8, "FPE_FLTSUB", "subscript out of range"},
		{sigAbrt, -6, "SI_TKILL", "sent by tgkill"},
		{sigSegv, 0, "SI_USER", "sent by kill"},
		{10, -4, "SI_ASYNCIO", "sent by asynchronous I/O"},
		{10, -5, "SI_SIGIO", "sent by queued SIGIO"},
		{sigTrap, 128, "SI_KERNEL", "sent by the kernel"},
		{1, 99, "99", ""},
	} {
		name, words := CodeName(c.signo, c.code)
		if name != c.name || words != c.words {
			t.Errorf("CodeName(%d, %d) = %q, %q; want %q, %q", c.signo, c.code, name, words, c.name, c.words)
		}
	}
}

// TestWithoutCode: without the signal's code the address may be missing, or 0 although there is none.
func TestWithoutCode(t *testing.T) {
	at0 := regs{"rax": 0x45}
	anywhere := at{a: arch.AMD64, code: loadRAX, regs: regs{"rax": 0x5000000}}
	blind := anywhere
	blind.blind = true
	noAddr := func(number int) Signal { return Signal{Number: number, Code: siKernel} } // which means nothing
	addr := func(number int, addr uint64) Signal {
		return Signal{Number: number, Code: siKernel, Addr: addr, HasAddr: true}
	}
	for _, c := range []struct {
		name       string
		p          at
		s          Signal
		kind, text string
	}{
		{"address", at{a: arch.AMD64, code: storeRAX, regs: at0}, addr(sigSegv, 0x45), report.CrashNullWrite, "write of 4 bytes at null+0x45"},
		{"another address", at{a: arch.AMD64, code: storeRAX, regs: at0}, addr(sigSegv, 0x6000000), report.CrashWildAccess, "access at 0x6000000, which is not mapped"},
		{"address 0", anywhere, addr(sigSegv, 0), report.CrashWildRead, "read of 4 bytes at 0x5000000, which is not mapped"},
		{"address 0, access not known", at{a: arch.AMD64, code: loadRAX}, addr(sigSegv, 0), report.CrashNullRead, "read of 4 bytes at null"},
		{"address 0, of two accesses", at{a: arch.AMD64, code: movsb, regs: regs{"rsi": data, "rdi": 0}}, addr(sigSegv, 0), report.CrashNullWrite, "write of 1 byte at null"},
		{"address 0, no code", at{a: arch.AMD64}, addr(sigSegv, 0), report.CrashNullAccess, "access at null"},
		{"jump, address", at{a: arch.AMD64, regs: regs{"rip": 0x5000000}}, addr(sigSegv, 0x5000000), report.CrashWildCall, "jump to 0x5000000, which is not mapped"},
		{"jump, address, no map", at{a: arch.AMD64, regs: regs{"rip": 0x5000000}, blind: true}, addr(sigSegv, 0x5000000), report.CrashBadCall, "jump to 0x5000000, where no code can run"},
		{"no address", anywhere, noAddr(sigSegv), report.CrashWildRead, "read of 4 bytes at 0x5000000, which is not mapped"},
		{"no address, bus error", anywhere, noAddr(sigBus), report.CrashWildRead, "read of 4 bytes at 0x5000000, which is not mapped"},
		{"no address, no map", blind, noAddr(sigSegv), report.CrashBadRead, "read of 4 bytes at 0x5000000"},
		{"no address, no map, no code", at{a: arch.AMD64, blind: true}, noAddr(sigSegv), report.CrashBadAccess, "invalid memory access"},
		{"no address, an access that is allowed", at{a: arch.AMD64, code: loadRAX, regs: regs{"rax": data}}, noAddr(sigSegv), report.CrashBadAccess, "invalid memory access"},
		{"no address, access not known", at{a: arch.AMD64, code: loadRAX}, noAddr(sigSegv), report.CrashBadAccess, "invalid memory access"},
		{"no address, not canonical", at{a: arch.AMD64, code: loadRAX, regs: regs{"rax": 1 << 60}}, noAddr(sigSegv), report.CrashNonCanonicalRead,
			"read of 4 bytes at 0x1000000000000000, which no process can map (not canonical)"},
		{"no address, jump", at{a: arch.AMD64, regs: regs{"rip": data}}, noAddr(sigSegv), report.CrashExecNoExec, "jump to 0x404000, which is not executable (/bin/prog)"},

		{"code, but no address", anywhere, Signal{Number: sigSegv, Code: 1, HasInfo: true}, report.CrashWildRead, "read of 4 bytes at 0x5000000, which is not mapped"},
		{"code, but no address and no code", at{a: arch.AMD64}, Signal{Number: sigSegv, Code: 1, HasInfo: true}, report.CrashBadAccess, "invalid memory access"},
		{"code that means nothing, tag", anywhere, Signal{Number: sigSegv, Code: 8, Addr: 0x5000000, HasAddr: true}, report.CrashWildRead, "read of 4 bytes at 0x5000000, which is not mapped"},
		{"code that means nothing, control flow", anywhere, Signal{Number: sigSegv, Code: 10, Addr: 0x5000000, HasAddr: true}, report.CrashWildRead, "read of 4 bytes at 0x5000000, which is not mapped"},
		{"another signal's code, tag", anywhere, bus(8, 0x5000000), report.CrashWildRead, "read of 4 bytes at 0x5000000, which is not mapped"},
		{"another signal's code, control flow", anywhere, bus(10, 0x5000000), report.CrashWildRead, "read of 4 bytes at 0x5000000, which is not mapped"},
		{"sign-extended", at{a: arch.X86, code: loadRAX, regs: regs{"eax": 0x90000000}}, segv(1, 0xffffffff90000000), report.CrashWildRead, "read of 4 bytes at 0x90000000, which is not mapped"},
	} {
		in := c.p.input(t)
		in.Signal = c.s
		r := Why(in)
		if r.Kind != c.kind || r.Text != c.text || r.AtInst != (in.Inst != nil) {
			t.Errorf("%s: %s: %q, at the instruction: %v; want %s: %q", c.name, r.Kind, r.Text, r.AtInst, c.kind, c.text)
		}
		if adjusted := r.Adjusted != nil && r.Adjusted.Kind == report.AdjustedNonCanonical; adjusted != (r.Kind == report.CrashNonCanonicalRead) {
			t.Errorf("%s: adjusted address %+v", c.name, r.Adjusted)
		}
	}

	in := at{a: arch.AMD64, code: loadRAX, regs: regs{"rax": 0x5000000}}.input(t)
	in.Regs.Clear(arch.RIP)
	in.Signal = noAddr(sigSegv)
	if r := Why(in); r.Kind != report.CrashWildRead {
		t.Errorf("program counter not known: %+v", r)
	}
}

package livestate

import (
	"bytes"
	"fmt"
	"os"
	"time"

	"golang.org/x/sys/unix"

	"github.com/corewalk/corewalk/internal/files/mmapfile"
	"github.com/corewalk/corewalk/internal/format/elffile"
	"github.com/corewalk/corewalk/unwind/arch"
)

// The library trap: a breakpoint at the address that the dynamic linker calls when its
// list of libraries changes (r_debug.r_brk). The function there does nothing, so the
// tracer can emulate the instruction under the breakpoint for the thread that hits it.
// The breakpoint is never removed for a moment, so no other thread can run past it.

// A trap is a breakpoint that is in the target's memory.
type trap struct {
	addr arch.Address
	was  []byte // the original instruction, and what follows
}

// hide replaces the breakpoint in bytes read from addr by the original byte.
func (t *trap) hide(addr arch.Address, b []byte) {
	if t != nil && t.addr >= addr && t.addr-addr < uint64(len(b)) {
		b[t.addr-addr] = t.was[0]
	}
}

// breakpoint is int3.
const breakpoint = 0xcc

// Instructions with which an empty function begins on x86, and where a thread that was
// stopped by the breakpoint continues: after them, or in the caller.
var emptyFunctions = []struct {
	code []byte
	ret  bool
}{
	{[]byte{0xf3, 0x0f, 0x1e, 0xfa}, false}, // endbr64
	{[]byte{0xf3, 0x0f, 0x1e, 0xfb}, false}, // endbr32
	{[]byte{0xc3}, true},                    // ret
	{[]byte{0xf3, 0xc3}, true},              // rep ret
	{[]byte{0xf2, 0xc3}, true},              // bnd ret
	{[]byte{0x90}, false},                   // nop
}

// emptyFunction decodes the instruction at the start of code; false if it is none of
// these.
func emptyFunction(code []byte) (size int, ret, ok bool) {
	for _, e := range emptyFunctions {
		if bytes.HasPrefix(code, e.code) {
			return len(e.code), e.ret, true
		}
	}
	return 0, false, false
}

// setTrap sets the breakpoint where the dynamic linker announces changes. Call it on
// the tracing thread. Threads may be running: they see the one byte changed or not. On
// architectures other than x86 it sets no trap, and returns no error.
func (p *Process) setTrap(addr arch.Address) error {
	if p.Arch().Family != arch.FamilyX86 || p.trap.Load() != nil {
		return nil
	}
	code := make([]byte, 8)
	if n, err := p.mem.direct(addr, code); n == 0 {
		return fmt.Errorf("library trap of process %d: %w", p.pid, err)
	}
	if _, _, ok := emptyFunction(code); !ok {
		return nil // set by another program, or a function that does something
	}
	p.trap.Store(&trap{addr: addr, was: code})
	if err := p.poke(p.living(), addr, breakpoint); err != nil {
		p.trap.Store(nil)
		return fmt.Errorf("library trap of process %d: %w", p.pid, err)
	}
	return nil
}

// poke writes one byte of the target's code, for all of its threads.
func (p *Process) poke(tid int, addr arch.Address, b byte) error {
	f, err := os.OpenFile(procPath(tid, "mem"), os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	_, err = f.WriteAt([]byte{b}, int64(addr))
	return err
}

// clearTrap removes the breakpoint. All threads must be stopped. If one has run into it
// and would get a SIGTRAP, clearTrap waits for the signal and drops it.
func (p *Process) clearTrap() {
	t := p.trap.Load()
	if t == nil || p.poke(p.living(), t.addr, t.was[0]) != nil {
		return // there is none, or the process has ended
	}
	for _, l := range p.t.list() {
		if pc, ok := p.pc(l); ok && pc == t.addr+1 && l.stopped && l.sig == 0 && !l.group {
			p.t.resume(l)
			p.t.await(100*time.Millisecond, p.t.drain, func() bool { return l.stopped || p.t.lwps[l.tid] != l }, func(time.Duration) {})
		}
	}
	p.trap.Store(nil)
}

func (p *Process) pc(l *lwp) (arch.Address, bool) {
	b, err := p.t.block(l, ntPRStatus)
	if err != nil {
		return 0, false
	}
	regs, err := p.Arch().DecodeGRegSet(b)
	if err != nil {
		return 0, false
	}
	return regs.Get(p.Arch().PC)
}

// The places of the program counter and the stack pointer in user_regs_struct, counted
// in registers.
const (
	amd64RIP, amd64RSP = 16, 19
	x86EIP, x86ESP     = 12, 15
)

// passTrap emulates the original instruction for a thread that has hit the breakpoint;
// false if the thread's SIGTRAP is not the breakpoint's.
func (p *Process) passTrap(l *lwp) bool {
	t := p.trap.Load()
	if t == nil || l.sig != int(unix.SIGTRAP) {
		return false
	}
	pc, ok := p.pc(l)
	if !ok || pc != t.addr+1 {
		return false
	}
	a := p.Arch()
	block := bytes.Clone(l.blocks[ntPRStatus])
	size, ret, _ := emptyFunction(t.was)
	w, pcAt, spAt := 8, amd64RIP, amd64RSP
	if len(block) < 27*8 {
		w, pcAt, spAt = 4, x86EIP, x86ESP
	}
	put := func(reg int, v uint64) {
		if w == 8 {
			a.ByteOrder.PutUint64(block[8*reg:], v)
		} else {
			a.ByteOrder.PutUint32(block[4*reg:], uint32(v))
		}
	}
	next := t.addr + uint64(size)
	if ret {
		sp := decodeWord(block[w*spAt:], w, a.ByteOrder)
		buf := make([]byte, w)
		if n, _ := p.mem.direct(sp, buf); n < w {
			return false
		}
		next = decodeWord(buf, w, a.ByteOrder)
		put(spAt, sp+uint64(w))
	}
	put(pcAt, next)
	if setRegSet(l.tid, ntPRStatus, block) != nil {
		return false
	}
	l.blocks, l.sig = nil, 0
	return true
}

// clearCopy removes the breakpoint from the memory of a forked process.
func (p *Process) clearCopy(child int) {
	if t := p.trap.Load(); t != nil {
		_ = p.poke(child, t.addr, t.was[0])
	}
}

// linkerTrap returns the address for the trap in a program whose dynamic linker has not
// run yet: that of the function that r_debug will name, found by its names in the C
// libraries. 0 if the linker, loaded at base, has no such symbol.
func (p *Process) linkerTrap(base arch.Address) arch.Address {
	list, err := readMaps(p.living())
	if err != nil || base == 0 {
		return 0
	}
	m, ok := (&mapList{list: list}).at(base)
	if !ok || m.Path == "" {
		return 0
	}
	file, err := mmapfile.Open(procPath(p.living(), "root"+m.Path))
	if err != nil {
		return 0
	}
	defer file.Close()
	var at arch.Address
	if mmapfile.Guard(func() { at = linkerTrapIn(file.Data(), base) }) != nil {
		return 0
	}
	return at
}

// linkerTrapIn is linkerTrap for the dynamic linker's file.
func linkerTrapIn(data []byte, base arch.Address) arch.Address {
	f, err := elffile.Parse(data)
	if err != nil {
		return 0
	}
	for _, name := range []string{"_dl_debug_state", "dl_debug_state"} {
		if s, ok := f.SymByName(name); ok && s.Value != 0 {
			return base + s.Value
		}
	}
	return 0
}

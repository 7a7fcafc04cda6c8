package steppers

import (
	"slices"
	"strings"

	"github.com/corewalk/corewalk/unwind"
	"github.com/corewalk/corewalk/unwind/arch"
)

// leftWithin is how far below the stack pointer the frame of a signal is looked for: the kernel leaves a red zone and keeps the vector registers above it.
const leftWithin = 16 << 10

// SignalLeft returns what the frame of a signal has whose handler has returned, if registers are still as that found them and nothing has used the stack
// since: the frame lies below the stack pointer, with all of them in it.
func SignalLeft(p unwind.ProcessState, regs *arch.RegSet) (SavedSignal, bool) {
	m := machineOf(p.Arch())
	sp, ok := regs.Get(p.Arch().SP)
	if m == nil || !ok {
		return SavedSignal{}, false
	}
	frames := []*sigFrame{m.sigFrame}
	for i := range m.restorers {
		if f := m.restorers[i].frame; !slices.Contains(frames, f) {
			frames = append(frames, f)
		}
	}
	word := uint64(m.arch.WordSize)
	from := (max(sp, leftWithin) - leftWithin + word - 1) &^ (word - 1)
	below := &below{p: p, start: from, bytes: make([]byte, sp-from)}
	for len(below.bytes) > 0 { // the lowest pages may be missing
		if n, _ := p.ReadMem(below.start, below.bytes); n == len(below.bytes) {
			break
		}
		skip := min(1<<12, len(below.bytes))
		below.start, below.bytes = below.start+uint64(skip), below.bytes[skip:]
	}
	for base := below.start; base < sp; base += word {
		for _, f := range frames {
			if f != nil && f.via == 0 && f.trap != nil && m.holds(f, below, base, regs) {
				return f.read(p, base), true
			}
		}
	}
	return SavedSignal{}, false
}

// below is memory below a stack pointer that was read at once.
type below struct {
	p     unwind.ProcessState
	start arch.Address
	bytes []byte
}

func (b *below) ReadMem(addr arch.Address, buf []byte) (int, error) {
	if addr < b.start || addr-b.start > uint64(len(b.bytes)) {
		return 0, &arch.MemError{Addr: addr, Err: arch.ErrUnmapped}
	}
	n := copy(buf, b.bytes[addr-b.start:])
	if n < len(buf) {
		return n, &arch.MemError{Addr: addr + uint64(n), Err: arch.ErrUnmapped}
	}
	return n, nil
}

// ReadWord is not asked for.
func (b *below) ReadWord(addr arch.Address) (uint64, error) { return b.p.ReadWord(addr) }

// holds reports whether the frame of a signal at base has the registers, all that calls and code use.
func (m *machine) holds(f *sigFrame, mem arch.Memory, base arch.Address, regs *arch.RegSet) bool {
	general := 0
	pc := slices.IndexFunc(f.saved, func(s savedReg) bool { return s.reg == m.arch.PC })
	same := func(s *savedReg) bool {
		v, err := m.arch.ReadUint(mem, base+s.addr, int(s.size))
		now, ok := regs.Get(s.reg)
		return err == nil && ok && m.arch.Truncate(v) == m.arch.Truncate(now)
	}
	if pc < 0 || !same(&f.saved[pc]) {
		return false
	}
	for i := range f.saved {
		s := &f.saved[i]
		if _, ok := regs.Get(s.reg); !ok || int(s.size) != m.arch.RegSize || strings.HasSuffix(m.arch.RegName(s.reg), "flags") || m.arch.RegName(s.reg) == "cpsr" {
			continue // what instructions and the kernel change, segments
		}
		if !same(s) {
			return false
		}
		general++
	}
	return general > 8
}

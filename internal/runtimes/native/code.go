package native

import (
	"sync"

	"github.com/corewalk/corewalk/internal/code/disasm"
	"github.com/corewalk/corewalk/internal/code/provenance"
	"github.com/corewalk/corewalk/internal/code/stackflow"
	"github.com/corewalk/corewalk/internal/files/image"
	"github.com/corewalk/corewalk/libstate"
	"github.com/corewalk/corewalk/modules"
	"github.com/corewalk/corewalk/unwind"
	"github.com/corewalk/corewalk/unwind/arch"
)

// placed is the code of a file at its addresses in the process.
type placed struct {
	stackflow.Code
	bias uint64
}

func (p placed) CodeAt(addr uint64) []byte { return p.Code.CodeAt(addr - p.bias) }
func (p placed) DataAt(addr uint64) []byte { return p.Code.DataAt(addr - p.bias) }
func (p placed) FuncAt(addr uint64) bool   { return p.Code.FuncAt(addr - p.bias) }
func (p placed) NoReturn(addr uint64) bool { return p.Code.NoReturn(addr - p.bias) }

// codeCost is charged for each byte of a function that is followed.
const codeCost = 4

// maxFunction is the largest function, in bytes, that is followed.
const maxFunction = 1 << 16

// A function is the code of one function, with the calls of it that lock or unlock.
type function struct {
	*provenance.Func
	events []lockEvent
}

// A lockEvent is a call that locks or unlocks.
type lockEvent struct {
	lockCall
	at   uint64
	call uint64 // the call, if at is the jump that decides whether it is made; else at
	tail bool   // the function ends with the call
	// by is the function that was called, if it does so on behalf of its caller: a wrapper; the event in it is inner.
	by    *function
	inner *lockEvent
}

// functions are those that were followed, by where they begin; nil for what could not be.
type functionSet struct {
	r     *runtime
	known map[uint64]*function
}

// at returns the function that an address of code is in; nil if it is not known or cannot be followed. wrappers also finds
// those of its calls that lock or unlock inside of other functions of the program.
func (s *functionSet) at(pc uint64, wrappers bool) *function {
	lib, im, ok := s.file(pc)
	if !ok {
		return nil
	}
	bias := im.Bias(lib.LoadBias)
	start, end, ok := bounds(im, pc-bias)
	if !ok || end-start > maxFunction {
		return nil
	}
	start, end = start+bias, end+bias
	key := start << 1
	if wrappers {
		key |= 1
	}
	f, ok := s.known[key]
	if ok {
		return f
	}
	s.known[key] = nil // a function that calls itself is none of its wrappers
	if s.r.p.Spend(codeCost*int(end-start)) != nil {
		return nil
	}
	code := provenance.New(s.r.Arch, provenance.ABIOf(s.r.Arch, false), placed{im.Code(), bias}, start, end)
	if code == nil {
		return nil
	}
	f = &function{Func: code}
	for in := range code.Calls {
		target := s.target(&in)
		if target == 0 {
			continue
		}
		if c, ok := lockCallOf(s.nameOf(target)); ok {
			if c.hidden && s.r.Arch == arch.ARM64 { // x8 has the address of the result
				c.locks[0]--
			}
			e := lockEvent{lockCall: c, at: in.PC, call: in.PC, tail: !in.Kind.IsCall()}
			if c.slow {
				e.at = code.Decided(in.PC)
			}
			f.events = append(f.events, e)
		} else if wrappers {
			if e, ok := s.wrapped(target); ok {
				e.at, e.call = in.PC, in.PC
				f.events = append(f.events, e)
			}
		}
	}
	s.known[key] = f
	return f
}

// file returns the library that an address is in, and its file.
func (s *functionSet) file(pc uint64) (*libstate.Library, *image.Image, bool) {
	libs := s.r.p.State.LibraryTracker()
	if libs == nil || s.r.p.Files == nil {
		return nil, nil, false
	}
	lib, ok := libs.LibraryAt(pc)
	if !ok {
		return nil, nil, false
	}
	im := (*image.Image)(modules.LocalImage(s.r.p.Files, lib))
	return lib, im, im != nil
}

// bounds returns where a function begins and ends, by call frame information or its symbol.
func bounds(im *image.Image, addr uint64) (start, end uint64, ok bool) {
	if t := im.EHFrame(); t != nil {
		if start, end, ok = t.FDEForPC(addr); ok {
			return start, end, true
		}
	}
	s, ok := im.SymbolAt(addr)
	return s.Value, s.Value + s.Size, ok && s.Size > 0 && addr-s.Value < s.Size
}

// target is the address of code that a call leads to; 0 if it is not known.
func (s *functionSet) target(in *disasm.Inst) uint64 {
	if in.Kind != disasm.CallIndirect && in.Kind != disasm.JumpIndirect {
		return in.Target
	}
	m := in.Mem()
	if m == nil || m.Index != arch.NoReg || !m.RIPRelative && m.Base != arch.NoReg {
		return 0
	}
	return s.r.Word(s.r.Arch.Truncate(uint64(m.Disp))) // of the table that the dynamic linker fills
}

// nameOf names the function that a call leads to, as the linker does; "" if nothing does. Linkage stubs have the names of what they
// jump to.
func (s *functionSet) nameOf(target uint64) string {
	lib, im, ok := s.file(target)
	if !ok {
		return ""
	}
	bias := im.Bias(lib.LoadBias)
	if name, start, ok := im.PLTStub(target - bias); ok && start == target-bias {
		return name
	}
	if im.InPLT(target - bias) {
		return s.nameOf(s.jumps(target))
	}
	if sym, ok := im.SymbolAt(target - bias); ok && sym.Value == target-bias {
		return sym.Name()
	}
	return ""
}

// jumps is where a linkage stub of arm64 jumps to: an address that it computes and reads.
func (s *functionSet) jumps(stub uint64) uint64 {
	if s.r.Arch != arch.ARM64 {
		return 0
	}
	code := s.r.Bytes(stub, 16)
	var regs arch.RegSet
	for at := 0; at < len(code); at += 4 {
		in, err := disasm.Decode(s.r.Arch, code[at:], stub+uint64(at))
		if err != nil {
			return 0
		}
		switch in.Kind {
		case disasm.MovImm:
			regs.Set(in.Dst, uint64(in.Imm))
		case disasm.Lea:
			v, ok := in.EffectiveAddress(&regs)
			if !ok {
				return 0
			}
			regs.Set(in.Dst, v)
		case disasm.Load:
			if at, ok := in.EffectiveAddress(&regs); ok {
				return s.r.Word(at)
			}
			return 0
		}
	}
	return 0
}

// maxWrapper is the largest function, in bytes, that is looked into because it is called: what only locks is short.
const maxWrapper = 256

// wrapped says what a function of the program does to a lock that its caller passes to it.
func (s *functionSet) wrapped(target uint64) (lockEvent, bool) {
	lib, im, ok := s.file(target)
	if !ok {
		return lockEvent{}, false
	}
	bias := im.Bias(lib.LoadBias)
	start, end, ok := bounds(im, target-bias)
	if !ok || start != target-bias || end-start > maxWrapper {
		return lockEvent{}, false
	}
	f := s.at(target, false)
	if f == nil {
		return lockEvent{}, false
	}
	for i := range f.events {
		e := &f.events[i]
		if e.guard == 0 || len(e.locks) != 1 {
			continue // a guard of its own
		}
		if e.tail || f.passes(e) {
			return lockEvent{lockCall: lockCall{unlocks: e.unlocks, tries: e.tries, locks: []int{0}, guard: -1}, by: f, inner: e}, true
		}
	}
	return lockEvent{}, false
}

// passes reports whether what a call does to a lock is not undone: control can come from a call that locks to a return without one
// that unlocks, or from the start to a call that unlocks without one that locks.
func (f *function) passes(e *lockEvent) bool {
	undone := func(at uint64) bool {
		o := f.event(at)
		return o != nil && o != e && o.unlocks != e.unlocks
	}
	if e.unlocks {
		return e.at == f.Start() || f.Reaches(f.Start(), e.at, undone)
	}
	for ret := range f.Returns {
		if !undone(ret) && f.Reaches(e.at, ret, undone) {
			return true
		}
	}
	return false
}

// arguments lists which arguments tell what a call locks; of a wrapper, all that may.
func (e *lockEvent) arguments() []int {
	if e.by != nil {
		return []int{0, 1, 2, 3}
	}
	return e.locks
}

// event returns what the call at an address does to a lock; nil for other instructions.
func (f *function) event(at uint64) *lockEvent {
	for i := range f.events {
		if f.events[i].at == at {
			return &f.events[i]
		}
	}
	return nil
}

// evaluator computes what values were in a frame, and returns the instruction at which the frame is; caller is the next frame, or nil.
func (r *runtime) evaluator(f *provenance.Func, fr, caller *unwind.Frame) (e *provenance.Evaluator, pc uint64, ok bool) {
	pc = fr.RA()
	if fr.LookupAddr() != pc {
		if pc, ok = f.CallBefore(pc); !ok {
			return nil, 0, false
		}
	} else if _, ok := f.Inst(pc); !ok {
		return nil, 0, false
	}
	preserved := provenance.ABIOf(r.Arch, false).Preserved
	s := provenance.State{PC: pc, Read: r.Uint}
	s.CFA, s.HasCFA = fr.CFA()
	s.Reg = func(reg arch.Reg) (uint64, bool) {
		v, _, ok := fr.Reg(reg)
		return v, ok && (pc == fr.RA() || preserved.Has(reg))
	}
	if caller != nil {
		s.AtEntry = func(reg arch.Reg) (uint64, bool) {
			v, _, ok := caller.Reg(reg)
			return v, ok
		}
	}
	if s.HasCFA {
		s.Passed = r.kept(f, pc, fr.SP(), s.CFA)
	}
	return f.Evaluator(&s), pc, true
}

// maxKept is how many bytes of a frame are looked at for arguments that were kept there.
const maxKept = 1 << 10

// kept finds arguments of a function in its frame: unoptimised code puts them there.
func (r *runtime) kept(f *provenance.Func, pc, sp, cfa uint64) func(arch.Reg) (uint64, bool) {
	word := r.Arch.WordSize
	find := sync.OnceValue(func() map[arch.Reg]uint64 {
		found := map[arch.Reg]uint64{}
		for off := int64(-word); off >= -maxKept && cfa-uint64(-off) >= sp; off -= int64(word) {
			v := f.Before(pc, provenance.Frame(off, word))
			if v.Kind != provenance.Entry {
				continue
			}
			if n, ok := r.Uint(cfa+uint64(off), word); ok {
				found[v.Reg] = n
			}
		}
		return found
	})
	return func(reg arch.Reg) (uint64, bool) {
		v, ok := find()[reg]
		return v, ok
	}
}

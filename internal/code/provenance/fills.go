package provenance

import "github.com/corewalk/corewalk/unwind/arch"

// Omits reports whether the code made an object in the frame before the instruction at addr, at CFA+object, but left out a part of it, the size bytes at CFA+off:
// a compiler that sees that nobody reads the part does. The first word of the object is stored on every way to the instruction, by an instruction of the
// function after any call that could; and no instruction from which control gets there stores into the part. Or the part is as it was when the function was called.
func (f *Func) Omits(addr uint64, object, off int64, size int) bool {
	at, ok := f.index(addr)
	if !ok || f.opaque || size <= 0 {
		return false
	}
	if off+int64(size) <= 0 && f.before(at, Frame(off, size)).Kind == EntrySlot {
		return true
	}
	switch f.before(at, Frame(object, f.arch.WordSize)).Kind {
	case Unknown, EntrySlot:
		return false
	}
	if f.fills(at, off, size) {
		return false
	}
	seen := make([]bool, len(f.steps))
	todo := []int32{int32(at)}
	for len(todo) > 0 {
		i := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		for _, p := range f.preds[i] {
			if seen[p] {
				continue
			}
			if f.fills(int(p), off, size) {
				return false
			}
			seen[p] = true
			todo = append(todo, p)
		}
	}
	return true
}

// fills reports whether an instruction itself may store into bytes of the frame: not what it calls.
func (f *Func) fills(i int, off int64, size int) bool {
	in := f.inst(i)
	if in == nil {
		return true
	}
	ms := in.Mems()
	for n := range ms {
		m := &ms[n]
		if !m.Write {
			continue
		}
		at, ok := f.frameOffset(i, m)
		if !ok && m.Segment == arch.NoReg && m.Base != arch.NoReg && !indexed(m) {
			disp := m.Disp
			if v := f.before(i, Reg(m.Base)); v.Kind == StackAddr {
				at, ok = v.K+disp, true
			}
			f.inst(i) // tracing decoded others into the place of this one
		}
		switch {
		case !ok && m.Base == f.arch.SP:
			return true
		case !ok:
		case in.Rep || m.Size == 0: // nobody knows how far
			if at < off+int64(size)+below {
				return true
			}
		case at < off+int64(size) && at+int64(m.Size) > off:
			return true
		}
	}
	return false
}

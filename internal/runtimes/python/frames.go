package python

import "fmt"

// A pyFrame is a Python call that has begun.
type pyFrame struct {
	at, code uint64
	offset   int // of the instruction in the code, in bytes; -1 before the first
	// stack is an address in the native frame that executes it; 0 if unknown. Calls that one native frame
	// executes have the same.
	stack uint64
}

// maxDepth limits how many calls of a thread are read.
const maxDepth = 1 << 17

// A chainError says why a list of calls ends early.
type chainError string

func (e chainError) Error() string { return string(e) }

const (
	errCycle chainError = "the list of its Python calls is a circle"
	errDeep  chainError = "it has too many Python calls"
	errLimit chainError = "the limit of the analysis is reached in its Python calls"
)

// Owners of the frames of 3.11 and later.
const (
	ownerShim = 3 // from here on: not a call, but the place where the native code was entered
)

// top returns the youngest frame of a thread state; 0 for none.
func (r *runtime) top(s *threadState) uint64 {
	switch {
	case r.has("thread.current_frame"):
		return r.field(s.at, "thread.current_frame")
	case r.minor >= 11:
		return r.field(r.field(s.at, "thread.cframe"), "cframe.current_frame")
	}
	return r.field(s.at, "thread.frame")
}

// chain lists the calls of a thread, youngest first. With an error it has those before the damage.
func (r *runtime) chain(s *threadState) ([]pyFrame, error) {
	var list []pyFrame
	cframe := uint64(0)
	root := s.at + r.at("thread.root_cframe")
	if r.has("thread.cframe") {
		cframe = r.field(s.at, "thread.cframe")
	}
	stackOf := func() uint64 {
		if cframe == root {
			return 0
		}
		return cframe
	}
	group := 0 // where the calls of the current native frame begin, in 3.12 and later
	slow, half := r.top(s), false
	for at := slow; at != 0; {
		if len(list) >= maxDepth {
			return list, errDeep
		}
		if r.p.Spend(8) != nil {
			return list, errLimit
		}
		b := r.bytes(at, r.frameHead())
		if b == nil {
			return list, fmt.Errorf("its Python call at %#x is not in the dump", at)
		}
		o := r.p.State.Arch().ByteOrder
		f := pyFrame{at: at, code: o.Uint64(b[r.at("frame.code"):]) &^ r.tag(), offset: -1}
		previous := o.Uint64(b[r.at("frame.previous"):])
		if r.minor < 11 {
			f.offset = int(int32(o.Uint32(b[r.at("frame.lasti"):])))
			if r.minor >= 10 && f.offset > 0 {
				f.offset *= 2
			}
			if r.minor == 10 {
				f.stack = stackOf()
				if cframe != 0 {
					cframe = r.field(cframe, "cframe.previous")
				}
			}
			list = append(list, f)
		} else {
			instr := o.Uint64(b[r.at("frame.instr"):])
			owner := b[r.at("frame.owner")]
			switch {
			case r.minor == 11:
				f.stack = stackOf()
				if b[r.at("frame.is_entry")] != 0 && cframe != 0 {
					cframe = r.field(cframe, "cframe.previous")
				}
				fallthrough
			case owner < ownerShim:
				f.offset = r.instruction(f.code, instr, at)
				list = append(list, f)
			default:
				for i := group; i < len(list); i++ {
					list[i].stack = at
				}
				group = len(list)
			}
		}
		at = previous
		if half {
			slow = r.field(slow, "frame.previous")
		}
		half = !half
		if at != 0 && at == slow {
			return list, errCycle
		}
	}
	return list, nil
}

// tag has the bits of a reference to a code object that are no part of its address.
func (r *runtime) tag() uint64 {
	if r.minor >= 14 {
		return 3
	}
	return 0
}

// frameHead is how many bytes of a frame are needed.
func (r *runtime) frameHead() uint64 {
	n := r.at("frame.localsplus")
	for _, f := range []string{"frame.code", "frame.previous", "frame.lasti", "frame.instr", "frame.owner"} {
		if r.has(f) {
			n = max(n, r.at(f)+8)
		}
	}
	return min(n, 1<<12)
}

// instruction returns the offset in bytes of an address in a code object's instructions, of a call at an address; -1 if it is
// before them. Free-threaded builds of 3.14 and later copy the instructions for each thread.
func (r *runtime) instruction(code, instr, frame uint64) int {
	begin := code + r.at("code.adaptive")
	if r.free && r.has("frame.tlbc") && r.has("tlbc.entries") {
		copies := r.field(code, "code.tlbc")
		if i := uint64(r.u32(frame + r.at("frame.tlbc"))); i > 0 && i < r.word(copies) {
			begin = r.word(copies + r.at("tlbc.entries") + i*8)
		}
	}
	if instr < begin || instr-begin > maxRead {
		return -1
	}
	return int(instr - begin)
}

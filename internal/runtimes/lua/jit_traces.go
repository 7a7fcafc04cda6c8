package lua

import "slices"

// Compiled code of LuaJIT is made of traces: what ran once through a loop, or a function, and what that called. What it called has no frames: a
// snapshot says for a part of the code what the stack would be if the interpreter went on there.

// Limits of what is read of compiled code.
const (
	maxTraces   = 1 << 16
	maxSnapshot = 256 // slots of the stack
)

// isTrace reports whether an object describes compiled code.
func (r *runtime) isTrace(at uint64) bool {
	if at == 0 || at%8 != 0 {
		return false
	}
	v, ok := r.U8(at + r.at("object.type"))
	return ok && v == jitTrace
}

// traceNumbered is the compiled code of a number; 0 if there is none.
func (r *runtime) traceNumbered(g uint64, n int) uint64 {
	if n <= 0 || n >= maxTraces || n >= int(r.number(g, "global.tracecount")) {
		return 0
	}
	size := uint64(8)
	if r.layout["values.narrow"] != 0 {
		size = 4
	}
	at := r.reference(r.Word(g+r.at("global.traces"))+size*uint64(n), size == 4)
	if !r.isTrace(at) {
		return 0
	}
	if own, _ := r.U16(at + r.at("trace.number")); int(own) != n {
		return 0
	}
	return at
}

// compiles reports whether a global state has compiled code, laid out as the table says.
func (r *runtime) compiles(g uint64) bool {
	for n := range min(int(r.number(g, "global.tracecount")), 64) {
		if at := r.traceNumbered(g, n); at != 0 {
			start := r.field(at, "trace.function")
			return r.is(start, tagPrototype51) && r.Word(at+r.at("trace.code")) != 0
		}
	}
	return false
}

// has reports whether compiled code is at an address.
func (r *runtime) has(trace, pc uint64) bool {
	code := r.Word(trace + r.at("trace.code"))
	return pc >= code && pc-code < uint64(r.number(trace, "trace.size"))
}

// traceAt finds the compiled code at an address; 0 if there is none.
func (r *runtime) traceAt(g, pc uint64) uint64 {
	if at := r.traceNumbered(g, int(int32(r.number(g, "global.running")))); at != 0 && r.has(at, pc) {
		return at
	}
	for n := range min(int(r.number(g, "global.tracecount")), maxTraces) {
		if r.p.Spend(1) != nil {
			return 0
		}
		if at := r.traceNumbered(g, n); at != 0 && r.has(at, pc) {
			return at
		}
	}
	return 0
}

// A compiledCall is where compiled code is on the stack of Lua.
type compiledCall struct {
	frame  uint64 // the youngest
	root   uint64 // the one in which the compiled code began
	pc     uint64 // behind the instruction that runs; 0 if that is not known
	number int
}

// compiledCode tells what compiled code a thread runs, and puts frames that it has not written into the stack; nil if it runs none. native is the address
// of that code; 0 if it is not known.
func (r *runtime) compiledCode(s *jitStack, native uint64) *compiledCall {
	g := r.field(s.state, "state.global")
	base := r.field(g, "global.compiled")
	if base == 0 || r.field(g, "global.current") != s.state {
		return nil
	}
	trace := r.traceNumbered(g, int(int32(r.number(g, "global.running"))))
	if native != 0 {
		trace = r.traceAt(g, native)
	}
	if trace == 0 {
		return nil
	}
	n, _ := r.U16(trace + r.at("trace.number"))
	c := &compiledCall{frame: base - 8, root: base - 8, number: int(n)}
	if start := r.field(trace, "trace.start"); start != 0 {
		c.pc = start + 4
	}
	if native != 0 {
		r.snapshot(s, c, trace, native, base)
	}
	return c
}

// Parts of an entry of a snapshot.
const (
	snapFrame    = 1 << 16
	snapContinue = 1 << 17
	snapRef      = 1<<16 - 1
	snapConstant = 1 << 15 // references below are constants
)

// snapshot reads the frames that the stack would have if the interpreter went on. Without them the caller has the oldest one alone.
func (r *runtime) snapshot(s *jitStack, c *compiledCall, trace, native, base uint64) {
	code, list := r.Word(trace+r.at("trace.code")), r.Word(trace+r.at("trace.snapshots"))
	count, _ := r.U16(trace + r.at("trace.snapshotcount"))
	size := r.at("snapshot.size")
	found := []byte(nil)
	for i := range uint64(count) {
		b := r.Bytes(list+size*i, int(size))
		at := r.at("snapshot.code")
		if b == nil || at+2 > size || r.p.Spend(1) != nil || uint64(r.Arch.ByteOrder.Uint16(b[at:])) > native-code {
			break
		}
		found = b
	}
	if found == nil {
		return
	}
	from, n := r.Arch.ByteOrder.Uint32(found), int(found[r.at("snapshot.count")])
	whole := r.number(trace, "trace.mapcount")
	if from > whole {
		return
	}
	entries := make([]uint32, 0, 2*maxSnapshot)
	for i := range min(uint64(whole-from), 2*maxSnapshot) {
		v, ok := r.U32(r.Word(trace+r.at("trace.map")) + 4*(uint64(from)+i))
		if !ok {
			return
		}
		entries = append(entries, v)
	}
	wide := r.at("words.frame") == 2
	if n >= len(entries) || wide && n+1 >= len(entries) {
		return
	}
	constants := r.Word(trace + r.at("trace.instructions"))
	shadow := map[uint64]uint64{}
	frames, frame, pc := 0, base-8, uint64(0)
	slot := func(e uint32) uint64 { return base - 8*r.at("words.frame") + 8*uint64(e>>24) }
	if wide {
		last := uint64(entries[n]) | uint64(entries[n+1])<<32
		pc, frame = last>>8, base-8+8*(last&0xff)
	} else {
		pc = uint64(entries[n])
		for _, e := range entries[:n] {
			if e&(snapFrame|snapContinue) != 0 && e>>24 != 0 {
				frames++
			}
		}
		if n+1+frames > len(entries) {
			return
		}
	}
	links := entries[n+1:]
	for _, e := range entries[:n] {
		begins, ref := e&(snapFrame|snapContinue) != 0 && e>>24 != 0, uint64(e&snapRef)
		if wide {
			if begins = begins && e>>24 > 1; begins && shadow[slot(e)-8] == 0 { // its function is not one that is always the same
				return
			}
			if ref < snapConstant {
				shadow[slot(e)] = r.Word(constants + 8*(ref+1))
			}
			continue
		}
		if !begins {
			continue
		}
		if ref >= snapConstant {
			return
		}
		frames--
		shadow[slot(e)] = r.reference(constants+8*ref, true) | uint64(links[frames])<<32
		if e&snapFrame != 0 {
			frame = slot(e)
		}
	}
	if pc == 0 || frame < base-8 {
		return
	}
	s.shadow, c.frame, c.pc = shadow, frame, pc+4
}

// jitChain lists the threads of LuaJIT that have frames of the virtual machine on a stack, youngest first. That is proved: the frame has the thread, and
// the thread leads to the frame.
func (r *runtime) jitChain(at []uint64) (list []uint64) {
	for _, frame := range at {
		state := r.field(frame, "frame.state")
		if slices.Contains(list, state) || len(list) >= maxChain || r.global(state) == 0 {
			continue
		}
		for machine := r.nativeFrames(state); machine.at != 0 && r.p.Spend(1) == nil; machine.previous() {
			if machine.at == frame {
				list = append(list, state)
				break
			}
			if machine.at > frame { // older ones are above
				break
			}
		}
	}
	return list
}

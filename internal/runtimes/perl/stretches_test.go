package perl

import (
	"testing"

	"github.com/corewalk/corewalk/internal/runtimes/remote/remotetest"
	"github.com/corewalk/corewalk/libstate"
	"github.com/corewalk/corewalk/unwind"
)

// Where the modules of a small process are: Perl's, and another one.
const atOwn, atOther = 0x900000, 0xa00000

// modules gives a small process modules, and stacks that can be walked.
func modules(m fake) *remotetest.Stopped {
	own := remotetest.Module("/libperl.so.5.36", atOwn)
	p := remotetest.NewStopped(m.Words, own, remotetest.Module("/libc.so.6", atOther))
	m.r.lib, m.r.p.State, m.r.p.Modules = own, p, []*libstate.Library{own}
	return p
}

// TestEnds: the program asks for the end of the process if Perl calls another module's code for an operation that does.
func TestEnds(t *testing.T) {
	const op = 0x7e000
	for what, c := range map[string]struct {
		harm func(r *runtime, m fake)
		pcs  []uint64
		want bool
	}{
		"kill": {func(*runtime, fake) {}, []uint64{atOther + 0x30, atOwn + 0x30}, true},
		"dump": {func(r *runtime, m fake) { m.Put(op+r.at("op.type"), byte(r.at("op.dump")), byte(r.at("op.dump")>>8)) }, []uint64{atOther + 0x30}, true},
		"with bits of other flags": {func(r *runtime, m fake) {
			m.Put(op+r.at("op.type"), byte(r.at("op.kill")), byte(r.at("op.kill")>>8)|0xfe)
		}, []uint64{atOther + 0x30}, true},
		"another operation": {func(r *runtime, m fake) { m.Put(op+r.at("op.type"), byte(r.at("op.kill")+1)) }, []uint64{atOther + 0x30}, false},
		"no operation":      {func(_ *runtime, m fake) { m.set(atInterpreter, "interp.op", 0) }, []uint64{atOther + 0x30}, false},
		"an operation not aligned": {func(r *runtime, m fake) {
			m.set(atInterpreter, "interp.op", op+4)
			m.Put(op+4+r.at("op.type"), byte(r.at("op.kill")), byte(r.at("op.kill")>>8))
		}, []uint64{atOther + 0x30}, false},
		"Perl's own code died":         {func(*runtime, fake) {}, []uint64{atOwn + 0x30}, false},
		"the call has the first frame": {func(*runtime, fake) {}, nil, false},
		"the thread runs none":         {func(r *runtime, _ fake) { r.seen[99] = atInterpreter }, []uint64{atOther + 0x30}, false},
	} {
		r, m := small()
		p := modules(m)
		m.Zero(op, 0x40)
		m.set(atInterpreter, "interp.op", op)
		m.Put(op+r.at("op.type"), byte(r.at("op.kill")), byte(r.at("op.kill")>>8))
		c.harm(r, m)
		var native []*unwind.Frame
		for i, pc := range c.pcs {
			native = append(native, remotetest.Frame(t, p, pc, stackEnv+uint64(0x100*i), nil))
		}
		if got := r.ends(native); got != c.want {
			t.Errorf("%s: %t", what, got)
		}
	}
}

// TestCatcher: an eval whose errors go to an address of the native stack belongs to the frame that runs operations right below the one that has it.
func TestCatcher(t *testing.T) {
	for what, c := range map[string]struct {
		env   uint64 // in frames of 0x100 bytes, from stackEnv on
		kinds []uint8
		frame int
		own   bool
	}{
		"as it is":                   {0x180, []uint8{runs, leads, runs}, 0, true},
		"an operation between":       {0x180, []uint8{runs, leads, catches, runs}, 0, true},
		"something else between":     {0x180, []uint8{runs, leads, leads, runs}, 0, false},
		"two between":                {0x180, []uint8{runs, leads, leads, catches, runs}, 0, false},
		"no older runs operations":   {0x180, []uint8{runs, leads, leads}, 0, false},
		"none that runs operations":  {0x180, []uint8{leads, leads, runs}, -1, false},
		"in the youngest":            {0x80, []uint8{runs, leads, runs}, -1, false},
		"below the stack":            {^uint64(0) - 0xff, []uint8{runs, leads, runs}, -1, false},
		"in the oldest, or above it": {0x280, []uint8{leads, runs, leads}, -1, false},
	} {
		_, m := small()
		p := modules(m)
		var frames []*unwind.Frame
		var kinds []native
		for i, kind := range c.kinds {
			frames = append(frames, remotetest.Frame(t, p, atOwn+0x30, stackEnv+uint64(0x100*i), nil))
			kinds = append(kinds, native{kind: kind})
		}
		if frame, own := catcher(stackEnv+c.env, frames, kinds); frame != c.frame || own != c.own {
			t.Errorf("%s: frame %d, its own: %t", what, frame, own)
		}
	}
}

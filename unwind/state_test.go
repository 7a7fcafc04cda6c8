package unwind

import (
	"testing"

	"github.com/corewalk/corewalk/unwind/arch"
)

// What steppers refused is remembered of frames that made a call, from the second at an address on; of others it says
// nothing about where they are.
func TestRefusalsAt(t *testing.T) {
	for _, c := range []struct {
		name  string
		flags frameFlags
		want  bool
	}{
		{"a call", 0, true}, {"no call", flagNonCall, false}, {"the youngest frame", flagTop, false},
	} {
		var st stepState
		f := &Frame{ra: 0x400500, flags: c.flags}
		if st.refusalsAt(f) != nil {
			t.Errorf("%s: something is known of an address at the first visit", c.name)
		}
		if got := st.refusalsAt(f) != nil; got != c.want {
			t.Errorf("%s: known at the second visit: %v", c.name, got)
		}
	}
}

// A walker keeps the room of a walk for the next one, but nothing of what the walk looked at.
func TestForget(t *testing.T) {
	var st stepState
	r := &st.refusals[3]
	*r = refusals{at: 7, steppers: append(make([]FrameStepper, 0, 4), (*nobody)(nil)), first: (*nobody)(nil), pieces: new([]piece)}
	st.second, st.secondChanges = new(Frame), make([]regChange, 1)
	list := r.steppers
	w := &Walker{}
	w.spare.Store(&st)
	w.follow(t.Context(), &Stack{}, new(Frame), new(loopGuard), 0, 1)
	if w.spare.Load() != &st {
		t.Error("the room is not kept")
	}
	if r.at != 0 || len(r.steppers) != 0 || cap(r.steppers) != 4 || r.first != nil || r.pieces != nil || list[0] != nil || st.second != nil || st.secondChanges != nil {
		t.Errorf("%+v, %v, %v, %v", r, list, st.second, st.secondChanges)
	}
}

type nobody struct{ FrameStepper }

func TestDescribe(t *testing.T) {
	for want, l := range map[string]Location{
		"saved at 0x7ffc10": AtAddress(0x7ffc10), "in rbx": InRegister(arch.RBX), "computed": {},
		"possibly saved at 0x7ffc10": {Kind: LocAddress, Addr: 0x7ffc10, Doubtful: true},
	} {
		if got := l.Describe(arch.AMD64); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

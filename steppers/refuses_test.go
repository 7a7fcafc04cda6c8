package steppers_test

import (
	"testing"

	"github.com/corewalk/corewalk/unwind"
)

// The code does not say of frames that a stepper walked from that they are not its own; of the program's own code it does.
func TestRefusesCode(t *testing.T) {
	stepped, refused := map[string]bool{}, map[string]bool{}
	for _, name := range []string{"amd64-rewritten-copy", "amd64-rewritten-tramp", "amd64-rewritten-probe", "amd64-rewritten-nopoint", "amd64-recursion-4000"} {
		w, s := walkCase(t, name)
		for i, f := range s.Frames[:min(len(s.Frames), 50)] {
			for _, stepper := range w.StepperGroup().(*unwind.AddrRangeGroup).Steppers() {
				c, ok := stepper.(interface{ RefusesCode(*unwind.Frame) bool })
				if !ok {
					continue
				}
				switch own := f.NextStepper() == stepper; {
				case own && c.RefusesCode(f):
					t.Errorf("%s, frame %d: %s stepped from it, but refuses its code", name, i, stepper.Name())
				case own:
					stepped[stepper.Name()] = true
				case c.RefusesCode(f):
					refused[stepper.Name()] = true
				}
			}
		}
	}
	for _, name := range []string{"DyninstInstr", "DyninstInstFrame"} {
		if !stepped[name] || !refused[name] {
			t.Errorf("%s: stepped %v, refused %v; want both", name, stepped[name], refused[name])
		}
	}
}

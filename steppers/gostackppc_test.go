package steppers_test

import (
	"testing"

	"github.com/corewalk/corewalk/internal/format/dwarf/cfi/cfitest"
	"github.com/corewalk/corewalk/steppers"
	"github.com/corewalk/corewalk/unwind"
	"github.com/corewalk/corewalk/unwind/arch"
)

// A ppcProc is a fake process of 64-bit PowerPC.
type ppcProc struct{ mapper }

func (ppcProc) Arch() *arch.Arch { return arch.PPC64LE }

// Go's handler of signals saves its return address where C's functions do on PowerPC, in the frame to which the back chain leads.
// Compiled Go code saves it where the chain is.
func TestGoSigtrampPPC(t *testing.T) {
	const frame = 64
	for _, tc := range []struct {
		name, fn string
		chain    uint64
		want     uint64 // the return address
	}{
		{"the handler", "runtime.sigtramp", goOnG + frame, goCaller},
		{"without a package", "sigtramp", goOnG + frame, goCaller},
		{"no back chain", "runtime.sigtramp", goCaller64, goCaller64},
		{"another function", "runtime.sigtrampgo", goOnG + frame, goOnG + frame},
	} {
		p := goProc()
		p.put(goOnG, tc.chain)
		p.put(goOnG+frame+16, goCaller)
		im := buildImage(t, func(_, df *cfitest.Section) {
			df.AddFDE(df.AddCIE(cfitest.CIE{RA: 65, Insns: new(cfitest.Program).DefCFA(1, frame).Offset(65, frame/8)}), fnCallee, 11, nil)
		}, unwind.Symbol{Name: tc.fn, Addr: fnCallee, Size: 11})
		w := walker(t, ppcProc{mapper{p}}, nil, must(steppers.NewDebugStepper(arch.PPC64LE, fileOfAll{im})))
		f, err := w.WalkSingleFrame(called(t, w, bias+fnCallee+8, goOnG, 0))
		if err != nil {
			t.Errorf("%s: %v", tc.name, err)
		} else if f.RA() != tc.want || f.SP() != goOnG+frame {
			t.Errorf("%s: %#x with SP %#x, want %#x with SP %#x", tc.name, f.RA(), f.SP(), tc.want, uint64(goOnG+frame))
		}
	}
}

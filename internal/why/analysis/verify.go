package analysis

import (
	"github.com/corewalk/corewalk/report"
	"github.com/corewalk/corewalk/unwind"
)

// verdicts lists the other steppers that find the same frame, and those that find another.
func verdicts(f *unwind.Frame) *report.Verify {
	out := &report.Verify{Agree: []string{}, Differ: []report.Differ{}}
	for _, v := range f.Verdicts() {
		if v.Agrees {
			out.Agree = append(out.Agree, v.Stepper.Name())
			continue
		}
		d := report.Differ{Stepper: v.Stepper.Name(), RA: report.Addr(v.RA), SP: report.Addr(v.SP), Bottom: v.Bottom, Trust: v.Trust.String()}
		if v.HasFP {
			fp := report.Addr(v.FP)
			d.FP = &fp
		}
		out.Differ = append(out.Differ, d)
	}
	return out
}

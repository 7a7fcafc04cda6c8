package report

import "testing"

func TestComplete(t *testing.T) {
	whole := func() *Report {
		return &Report{
			Threads: []Thread{{ID: 1, End: EndBottom}},
			Modules: []Module{{Status: ModuleMatched}, {Path: "/gone", Status: ModuleMissing}, {Status: ModuleNoID}},
		}
	}
	for _, f := range []Frame{{Trust: TrustFramePointer}, {Trust: TrustCFI, Doubtful: true}} {
		r := whole()
		if r.Threads[0].Frames = []Frame{{Module: "/gone"}, f}; !r.Complete() {
			t.Errorf("%+v is a gap", f)
		}
	}
	if !whole().Complete() {
		t.Error("a report without gaps is not complete")
	}
	for name, spoil := range map[string]func(*Report){
		"stack that ended early": func(r *Report) { r.Threads[0].End = "no-stepper" },
		"mismatched module":      func(r *Report) { r.Modules[0].Status = ModuleMismatched },
		"truncated dump":         func(r *Report) { r.Dump.Truncated = true },
		"scanned":                func(r *Report) { r.Threads[0].Frames = []Frame{{Module: "/gone"}, {Trust: TrustScan}} },
		"by a doubtful pointer": func(r *Report) {
			r.Threads[0].Frames = []Frame{{Module: "/gone"}, {Trust: TrustFramePointer, Doubtful: true}}
		},
		"cancelled": func(r *Report) { r.Warnings = []Warning{{Code: WarnCancelled}} },
	} {
		r := whole()
		if spoil(r); r.Complete() {
			t.Errorf("%s: the report counts as complete", name)
		}
	}
}

package corewalk

import (
	"github.com/corewalk/corewalk/internal/files/image"
	"github.com/corewalk/corewalk/internal/why/analysis"
	"github.com/corewalk/corewalk/internal/why/subject"
	"github.com/corewalk/corewalk/libstate"
	"github.com/corewalk/corewalk/report"
)

// parts returns what an analysis needs from the Target at one moment.
func (t *Target) parts(now subject.State) analysis.Parts {
	p := analysis.Parts{
		Proc:     now,
		Dump:     t.subject.Describe(),
		Signal:   subject.Signal(t.subject, now),
		Resolve:  t.images.Resolve,
		Lacks:    t.images.Lacks,
		Complete: t.complete,

		Unreachable: t.images.Unreachable,
		Unusable:    t.images.Unusable,
		Variables:   t.variables(now),
		Numbers:     subject.Numbering(t.subject),
		Exception:   t.subject.Exception(),
		PartialMaps: !t.subject.KnowsMappings(),
	}
	p.Assertion, p.Recorded = t.subject.Words()
	for _, w := range t.subject.Warnings() {
		p.Warnings = append(p.Warnings, report.Warning{Code: "core", Message: w})
	}
	for _, w := range t.libWarnings {
		p.Warnings = append(p.Warnings, report.Warning{Code: "libraries", Message: w})
	}
	return p
}

// complete fetches the files that walking and naming frames in lib need.
func (t *Target) complete(lib *libstate.Library) {
	if im := (*image.Image)(t.images.Image(lib)); im.DWARF() == nil {
		im.PDB()
	}
}

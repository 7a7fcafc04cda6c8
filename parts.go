package corewalk

import (
	"github.com/corewalk/corewalk/internal/why/analysis"
	"github.com/corewalk/corewalk/internal/why/subject"
	"github.com/corewalk/corewalk/report"
)

// parts returns what an analysis needs from the Target at one moment.
func (t *Target) parts(now subject.State) analysis.Parts {
	p := analysis.Parts{
		Proc:        now,
		Dump:        t.subject.Describe(),
		Signal:      subject.Signal(t.subject, now),
		Files:       t.images,
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

package corewalk

import (
	"github.com/corewalk/corewalk/dwarfvars"
	"github.com/corewalk/corewalk/internal/budget"
	"github.com/corewalk/corewalk/internal/why/analysis"
	"github.com/corewalk/corewalk/internal/why/subject"
	"github.com/corewalk/corewalk/libstate"
	"github.com/corewalk/corewalk/report"
	"github.com/corewalk/corewalk/tasks"
)

// parts returns what an analysis needs from the Target at one moment.
func (t *Target) parts(now subject.State, values dwarfvars.Options) analysis.Parts {
	within := func(libs []*libstate.Library, b *budget.Budget) *tasks.Process {
		p := &tasks.Process{State: now, Files: t.images, Modules: libs, Symbols: t.lookup, Names: t.lookup, Limits: analysis.LimitsOf(values)}
		if b != nil {
			p.Budget = b
		}
		return p
	}
	p := analysis.Parts{
		Proc:        now,
		Dump:        t.subject.Describe(),
		Signal:      subject.Signal(t.subject, now),
		Files:       t.images,
		Variables:   t.variables(now),
		Numbers:     subject.Numbering(t.subject),
		Blocked:     t.subject.Blocked,
		Exception:   t.subject.Exception(),
		PartialMaps: !t.subject.KnowsMappings(),
		Runtimes: func(libs []*libstate.Library, b *budget.Budget) []tasks.Runtime {
			return findRuntimes(within(libs, b), schedulers())
		},
	}
	for i := range runtimeKinds {
		k := &runtimeKinds[i]
		if k.schedules {
			continue
		}
		walks := ""
		if k.shows != nil && k.walks != nil {
			walks = k.walks(func() *tasks.Process { return nil }).Name()
		}
		p.Languages = append(p.Languages, analysis.Language{Shows: k.shows, Stepper: walks, Find: func(libs []*libstate.Library, b *budget.Budget) tasks.Runtime {
			if found := findRuntimes(within(libs, b), []tasks.Finder{k.find}); len(found) > 0 {
				return found[0]
			}
			return nil
		}})
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

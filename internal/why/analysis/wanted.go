package analysis

import (
	"cmp"
	"slices"

	"github.com/corewalk/corewalk/report"
)

// Wanted says which of the files that are missing among the modules would help most: see report.MissingFile. Of frames only the module
// counts.
func Wanted(mods []report.Module, threads []report.Thread) *report.MissingFile {
	return wanted(&report.Report{Modules: mods, Threads: threads})
}

// wanted says which of the files that were not found would help most: that of the module in which most frames of the
// crashed thread lie, then of all threads. The modules must be listed.
func wanted(r *report.Report) *report.MissingFile {
	var list []*report.MissingFile
	byPath := map[string]*report.MissingFile{}
	for i := range r.Modules {
		m := &r.Modules[i]
		if m.Path == "" || byPath[m.Path] != nil || m.Status != report.ModuleMissing && m.Status != report.ModuleMismatched ||
			m.Symbols == report.SymbolsBreakpad && served(r.Threads, m.Path) {
			continue
		}
		w := &report.MissingFile{Path: m.Path, PathBytes: m.PathBytes, BuildID: m.BuildID, DebugID: m.DebugID, CodeID: m.CodeID, Advice: "give its directory with --search, or a root directory or image that has it with --sysroot"}
		if m.Main {
			w.Advice = "give it after the dump, or its directory with --search"
		}
		byPath[m.Path] = w
		list = append(list, w)
	}
	if len(list) == 0 {
		return nil
	}
	for i := range r.Threads {
		t := &r.Threads[i]
		for k := range t.Frames {
			if w := byPath[t.Frames[k].Module]; w != nil {
				w.Frames++
				if t.Crashed {
					w.Crashed++
				}
			}
		}
	}
	most := slices.MaxFunc(list, func(a, b *report.MissingFile) int { // the first of equals
		return cmp.Or(cmp.Compare(a.Crashed, b.Crashed), cmp.Compare(a.Frames, b.Frames))
	})
	if most.Frames == 0 {
		return nil
	}
	for _, w := range list {
		if w.Frames > 0 {
			most.Of++
		}
	}
	return most
}

package analysis

import (
	"fmt"
	"strings"

	"github.com/corewalk/corewalk/internal/files/find"
	"github.com/corewalk/corewalk/report"
)

// maxNameless is how many modules without symbols are named.
const maxNameless = 4

// nameless warns of the modules on the crashed thread's stack, or on the first thread's, that have been found, but whose
// functions have no names: programs and libraries of distributions are stripped, and their symbols are in files apart. Of
// the libraries that every program has, the exported functions say enough. The modules must be listed.
func nameless(r *report.Report) {
	if len(r.Threads) == 0 {
		return
	}
	t := &r.Threads[0]
	for i := range r.Threads {
		if r.Threads[i].Crashed {
			t = &r.Threads[i]
			break
		}
	}
	frames := map[string]int{}
	for i := range t.Frames {
		if f := &t.Frames[i]; f.Function == "" && f.Module != "" && f.Language == "" && f.Signal == "" {
			frames[f.Module]++
		}
	}
	var names, ids []string
	all, n := 0, 0
	for i := range r.Modules {
		m := &r.Modules[i]
		k := frames[m.Path]
		found := m.Status == report.ModuleMatched || m.Status == report.ModuleNoID
		bare := m.Symbols == report.SymbolsExports || m.Symbols == report.SymbolsNone
		if k == 0 || !found || !bare || systemModule(m.Path) || strings.HasPrefix(m.Path, "[") {
			continue
		}
		delete(frames, m.Path) // it may be listed twice
		all, n = all+k, n+1
		if len(names) < maxNameless {
			name := find.BaseName(m.Path)
			names = append(names, name)
			if m.BuildID != "" {
				ids = append(ids, name+" "+m.BuildID)
			}
		}
	}
	if n == 0 {
		return
	}
	which := strings.Join(names, ", ")
	if more := n - len(names); more > 0 {
		which += fmt.Sprintf(" and %d more", more)
	}
	w := report.Warning{Code: report.WarnNameless, Message: fmt.Sprintf("%s of the stack %s no names: %s has no symbols", frameCount(all), have(all), which),
		Advice: "Rebuild it without stripping, or give its debug files with --debug-dir"}
	if n > 1 {
		w.Message = strings.Replace(w.Message, " has no symbols", " have no symbols", 1)
		w.Advice = "Rebuild them without stripping, or give their debug files with --debug-dir"
	}
	if len(ids) > 0 {
		w.Advice = "Fetch the debug files with --debuginfod, or install the -dbgsym or -debuginfo packages; build-ids: " + strings.Join(ids, ", ")
	}
	r.Warnings = append(r.Warnings, w)
}

func have(n int) string {
	if n == 1 {
		return "has"
	}
	return "have"
}

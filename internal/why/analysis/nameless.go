package analysis

import (
	"fmt"
	"path/filepath"
	"strings"

	"github.com/corewalk/corewalk/internal/files/find"
	"github.com/corewalk/corewalk/report"
)

// maxNameless is how many modules without symbols are named.
const maxNameless = 4

// nameless warns of the modules on the crashed thread's stack, or on the first thread's, that have been found, but whose
// functions have no names: programs and libraries of distributions are stripped, and their symbols are in files apart. Of
// those that are installed it warns, too, if they have names and no lines. Of the libraries that every program has, the exported functions
// say enough. The modules must be listed. release returns os-release(5) of the system that has them.
func nameless(r *report.Report, release func() []byte) {
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
	names, lines := without{frames: map[string]int{}}, without{frames: map[string]int{}}
	for i := range t.Frames {
		f := &t.Frames[i]
		switch {
		case f.Module == "" || f.Language != "" || f.Signal != "":
		case f.Function == "":
			names.frames[f.Module]++
		case f.Source.File == "":
			lines.frames[f.Module]++
		}
	}
	for i := range r.Modules {
		m := &r.Modules[i]
		found := m.Status == report.ModuleMatched || m.Status == report.ModuleNoID
		bare := m.Symbols == report.SymbolsExports || m.Symbols == report.SymbolsNone
		if !found || !bare || systemModule(m.Path) || strings.HasPrefix(m.Path, "[") {
			continue
		}
		switch installed := installed(m); {
		case names.frames[m.Path] > 0:
			names.add(m, names.frames[m.Path], installed)
			delete(names.frames, m.Path) // it may be listed twice
			delete(lines.frames, m.Path)
		case lines.frames[m.Path] > 0 && installed && m.BuildID != "":
			lines.add(m, lines.frames[m.Path], installed)
			delete(lines.frames, m.Path)
		}
	}
	names.warn(r, "names", "symbols", release)
	lines.warn(r, "lines", "debug information", release)
}

// installed reports whether a module is one of the system's packages, and was found where the system has it.
func installed(m *report.Module) bool {
	for _, dir := range [...]string{"/usr/bin/", "/usr/sbin/", "/usr/lib", "/bin/", "/sbin/", "/lib"} {
		if strings.HasPrefix(m.Path, dir) {
			return strings.HasSuffix(filepath.ToSlash(m.File), m.Path)
		}
	}
	return false
}

// A without collects modules that lack something.
type without struct {
	frames     map[string]int // of the stack, by the paths of modules
	names, ids []string
	all, n     int
	installed  int // how many of them are
}

func (w *without) add(m *report.Module, frames int, installed bool) {
	if w.all, w.n = w.all+frames, w.n+1; installed {
		w.installed++
	}
	if len(w.names) < maxNameless {
		name := find.BaseName(m.Path)
		w.names = append(w.names, name)
		if m.BuildID != "" {
			w.ids = append(w.ids, name+" "+m.BuildID)
		}
	}
}

// warn says what frames of the stack have none of, because the modules lack something.
func (w *without) warn(r *report.Report, none, lack string, release func() []byte) {
	if w.n == 0 {
		return
	}
	which := strings.Join(w.names, ", ")
	if more := w.n - len(w.names); more > 0 {
		which += fmt.Sprintf(" and %d more", more)
	}
	warning := report.Warning{Code: report.WarnNameless, Message: fmt.Sprintf("%s of the stack %s no %s: %s %s no %s", frameCount(w.all), have(w.all), none, which, have(w.n), lack),
		Advice: "Rebuild it without stripping, or give its debug files with --debug-dir"}
	if w.n > 1 {
		warning.Advice = "Rebuild them without stripping, or give their debug files with --debug-dir"
	}
	if len(w.ids) > 0 {
		var d *distribution
		if w.installed == w.n && release != nil {
			d = distributionOf(release())
		}
		warning.Advice = d.advice() + "; build-ids: " + strings.Join(w.ids, ", ")
		if w.n > len(w.names) {
			warning.Advice += " (info --missing=stack has them all)"
		}
	}
	r.Warnings = append(r.Warnings, warning)
}

func have(n int) string {
	if n == 1 {
		return "has"
	}
	return "have"
}

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
// those that are installed it warns, too, if they have names and no lines. Of the libraries that every program has, the exported functions
// say enough. The modules must be listed. release returns os-release(5) of the system that has a file at a path; nil for none.
func nameless(r *report.Report, release func(file, path string) []byte) {
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
		if !found || !bare || systemModule(m.Path) || strings.HasPrefix(m.Path, "[") || names.frames[m.Path]+lines.frames[m.Path] == 0 {
			continue
		}
		of, installed := installedBy(m, release)
		switch {
		case names.frames[m.Path] > 0:
			if lines.frames[m.Path] > 0 { // the stack shows some
				names.exported++
			}
			names.add(m, of)
		case installed && m.BuildID != "":
			lines.add(m, of)
		}
		delete(names.frames, m.Path) // it may be listed twice
		delete(lines.frames, m.Path)
	}
	lack := "symbols"
	switch {
	case names.exported == 0 || names.exported < names.n:
	case names.n == 1:
		lack = "symbols but those that it exports"
	default:
		lack = "symbols but those that they export"
	}
	names.warn(r, "names", lack)
	lines.warn(r, "lines", "debug information")
}

// installedBy reports whether a module is where packages have their files and was found there, and returns whose packages they are; nil if
// that is not known.
func installedBy(m *report.Module, release func(file, path string) []byte) (d *distribution, ok bool) {
	for _, dir := range [...]string{"/usr/bin/", "/usr/sbin/", "/usr/lib", "/bin/", "/sbin/", "/lib"} {
		if strings.HasPrefix(m.Path, dir) {
			says := release(m.File, m.Path)
			return distributionOf(says), says != nil
		}
	}
	return nil, false
}

// A without collects modules that lack something.
type without struct {
	frames     map[string]int // of the stack, by the paths of modules
	names, ids []string
	all, n     int
	exported   int           // modules that have names of some frames
	of         *distribution // whose packages have them all; nil if that is not known
}

func (w *without) add(m *report.Module, of *distribution) {
	if w.n == 0 {
		w.of = of
	} else if w.of != of {
		w.of = nil
	}
	w.all, w.n = w.all+w.frames[m.Path], w.n+1
	if len(w.names) < maxNameless {
		name := find.BaseName(m.Path)
		w.names = append(w.names, name)
		if m.BuildID != "" {
			w.ids = append(w.ids, name+" "+m.BuildID)
		}
	}
}

// warn says what frames of the stack have none of, because the modules lack something.
func (w *without) warn(r *report.Report, none, lack string) {
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
		warning.Advice = w.of.advice() + "; build-ids: " + strings.Join(w.ids, ", ")
		if w.n > len(w.names) {
			warning.Advice += " (corewalk info --missing=stack lists them all)"
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

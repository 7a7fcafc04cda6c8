package analysis

import (
	"strings"
	"testing"

	"github.com/corewalk/corewalk/report"
)

func unknownSystem(_, _ string) []byte { return nil }

// Only modules count that were found, are on the crashed thread's stack with frames without names, and have no symbols.
func TestNameless(t *testing.T) {
	frame := func(module, function string) report.Frame { return report.Frame{Module: module, Function: function} }
	module := func(path, symbols, status, id string) report.Module {
		return report.Module{Path: path, Symbols: symbols, Status: status, BuildID: id}
	}
	const exports, found = report.SymbolsExports, report.ModuleMatched
	other := report.Thread{Frames: []report.Frame{frame("/bin/other", "")}}
	signal, python := frame("/bin/prog", ""), frame("/bin/prog", "")
	signal.Signal, python.Language = "SIGSEGV", "python"
	for _, c := range []struct {
		name    string
		frames  []report.Frame
		modules []report.Module
		message string
		advice  string
	}{
		{"one", []report.Frame{frame("/bin/prog", ""), frame("/bin/prog", "main")}, []report.Module{module("/bin/prog", exports, found, "ab12"), module("/bin/prog", exports, found, "ab12")},
			"1 frame of the stack has no names: prog has no symbols but those that it exports", "build-ids: prog ab12"},
		{"two with names", []report.Frame{frame("/bin/a", ""), frame("/bin/a", "x"), frame("/bin/b", ""), frame("/bin/b", "y")}, []report.Module{module("/bin/a", exports, found, "1"), module("/bin/b", exports, found, "2")},
			"2 frames of the stack have no names: a, b have no symbols but those that they export", "build-ids: a 1, b 2"},
		{"one of two with names", []report.Frame{frame("/bin/a", ""), frame("/bin/a", "x"), frame("/bin/b", "")}, []report.Module{module("/bin/a", exports, found, "1"), module("/bin/b", exports, found, "2")},
			"2 frames of the stack have no names: a, b have no symbols", "build-ids: a 1, b 2"},
		{"several", []report.Frame{frame("/bin/a", ""), frame("/lib/b", ""), frame("/lib/b", ""), frame("/lib/c", ""), frame("/lib/d", ""), frame("/lib/e", "")},
			[]report.Module{module("/bin/a", report.SymbolsNone, found, "1"), module("/lib/b", exports, report.ModuleNoID, ""), module("/lib/c", exports, found, "3"), module("/lib/d", exports, found, "4"), module("/lib/e", exports, found, "5")},
			"6 frames of the stack have no names: a, b, c, d and 1 more have no symbols", "build-ids: a 1, c 3, d 4 (corewalk info --missing=stack lists them all)"},
		{"no build-id", []report.Frame{frame("/bin/a", "")}, []report.Module{module("/bin/a", exports, report.ModuleNoID, "")}, "1 frame of the stack has no names: a has no symbols", "Rebuild it without stripping, or give its debug files with --debug-dir"},
		{"named", []report.Frame{frame("/bin/prog", "main")}, []report.Module{module("/bin/prog", exports, found, "")}, "", ""},
		{"with symbols", []report.Frame{frame("/bin/prog", "")}, []report.Module{module("/bin/prog", report.SymbolsSymtab, found, "")}, "", ""},
		{"of another file", []report.Frame{frame("/bin/prog", "")}, []report.Module{module("/bin/prog", exports, report.ModuleMismatched, "")}, "", ""},
		{"missing", []report.Frame{frame("/bin/prog", "")}, []report.Module{module("/bin/prog", report.SymbolsNone, report.ModuleMissing, "")}, "", ""},
		{"the C library", []report.Frame{frame("/lib/libc.so.6", "")}, []report.Module{module("/lib/libc.so.6", exports, found, "")}, "", ""},
		{"the kernel's", []report.Frame{frame("[vsyscall]", "")}, []report.Module{module("[vsyscall]", report.SymbolsNone, found, "")}, "", ""},
		{"on another stack", nil, []report.Module{module("/bin/other", exports, found, "")}, "", ""},
		{"a signal's, and a language's", []report.Frame{signal, python}, []report.Module{module("/bin/prog", exports, found, "")}, "", ""},
	} {
		r := &report.Report{Threads: []report.Thread{other, {Crashed: true, Frames: c.frames}}, Modules: c.modules}
		nameless(r, unknownSystem)
		switch {
		case c.message == "" && len(r.Warnings) > 0, c.message != "" && (len(r.Warnings) != 1 || r.Warnings[0].Code != report.WarnNameless || r.Warnings[0].Message != c.message || !strings.HasSuffix(r.Warnings[0].Advice, c.advice)):
			t.Errorf("%s: %q", c.name, r.Warnings)
		}
	}
	r := &report.Report{Threads: []report.Thread{other}, Modules: []report.Module{module("/bin/other", exports, found, "")}}
	if nameless(r, unknownSystem); len(r.Warnings) != 1 {
		t.Errorf("of a process that did not crash: %q", r.Warnings)
	}
	if r = new(report.Report); len(r.Warnings) > 0 {
		t.Errorf("of no thread: %q", r.Warnings)
	}
}

// Of what the system installed, frames without lines count, too, and the advice is the system's own. Of what lies elsewhere nobody knows whose it is.
func TestLineless(t *testing.T) {
	frames := []report.Frame{{Module: "/usr/bin/perl", Function: "Perl_run"}, {Module: "/usr/bin/perl", Function: "main"}, {Module: "/opt/tool", Function: "main"}}
	for _, c := range []struct {
		name, release string
		modules       []report.Module
		message       string
		advice        string
	}{
		{"installed", "NAME=x\nID_LIKE=debian\nID=\"ubuntu\"\n", []report.Module{{Path: "/usr/bin/perl", File: "/usr/bin/perl", BuildID: "ab"}, {Path: "/usr/bin/perl", File: "/usr/bin/perl", BuildID: "ab"}},
			"2 frames of the stack have no lines: perl has no debug information", "Fetch the debug files with --debuginfod=https://debuginfod.ubuntu.com, or install the packages' -dbgsym; build-ids: perl ab"},
		{"like another", "ID=other\nID_LIKE='x debian'\n", []report.Module{{Path: "/usr/bin/perl", File: "/usr/bin/perl", BuildID: "ab"}},
			"2 frames of the stack have no lines: perl has no debug information", "Fetch the debug files with --debuginfod=https://debuginfod.debian.net, or install the packages' -dbgsym; build-ids: perl ab"},
		{"a variant", "ID=opensuse-leap\n", []report.Module{{Path: "/usr/bin/perl", File: "/srv/root/usr/bin/perl", BuildID: "ab"}},
			"2 frames of the stack have no lines: perl has no debug information", "Fetch the debug files with --debuginfod=https://debuginfod.opensuse.org, or install the packages' -debuginfo; build-ids: perl ab"},
		{"no server", "ID=alpine\n", []report.Module{{Path: "/usr/bin/perl", File: "/usr/bin/perl", BuildID: "ab"}},
			"2 frames of the stack have no lines: perl has no debug information", "Install the packages' -dbg; build-ids: perl ab"},
		{"no packages", "ID=arch\n", []report.Module{{Path: "/usr/bin/perl", File: "/usr/bin/perl", BuildID: "ab"}},
			"2 frames of the stack have no lines: perl has no debug information", "Fetch the debug files with --debuginfod=https://debuginfod.archlinux.org; build-ids: perl ab"},
		{"not known", "ID=debianish\n", []report.Module{{Path: "/usr/bin/perl", File: "/usr/bin/perl", BuildID: "ab"}},
			"2 frames of the stack have no lines: perl has no debug information", "Fetch the debug files with --debuginfod, or install the -dbgsym or -debuginfo packages; build-ids: perl ab"},
		{"found elsewhere", "ID=debian\n", []report.Module{{Path: "/usr/bin/perl", File: "/home/me/perl", BuildID: "ab"}}, "", ""},
		{"of no package", "ID=debian\n", []report.Module{{Path: "/opt/tool", File: "/opt/tool", BuildID: "ab"}}, "", ""},
		{"no build-id", "ID=debian\n", []report.Module{{Path: "/usr/bin/perl", File: "/usr/bin/perl"}}, "", ""},
	} {
		for i := range c.modules {
			c.modules[i].Symbols, c.modules[i].Status = report.SymbolsExports, report.ModuleMatched
		}
		r := &report.Report{Threads: []report.Thread{{Frames: frames}}, Modules: c.modules}
		nameless(r, func(file, path string) []byte {
			if strings.HasSuffix(file, path) {
				return []byte(c.release)
			}
			return nil
		})
		switch {
		case c.message == "" && len(r.Warnings) > 0, c.message != "" && (len(r.Warnings) != 1 || r.Warnings[0].Message != c.message || r.Warnings[0].Advice != c.advice):
			t.Errorf("%s: %q", c.name, r.Warnings)
		}
	}
	named := frames[0]
	named.Source.File = "run.c"
	r := &report.Report{Threads: []report.Thread{{Frames: []report.Frame{named}}}, Modules: []report.Module{{Path: "/usr/bin/perl", File: "/usr/bin/perl", BuildID: "ab", Symbols: report.SymbolsExports, Status: report.ModuleMatched}}}
	if nameless(r, unknownSystem); len(r.Warnings) > 0 {
		t.Errorf("with lines: %q", r.Warnings)
	}
}

package analysis

import (
	"bytes"
	"strings"
	"testing"

	"github.com/corewalk/corewalk/report"
)

func frames(modules ...string) (list []report.Frame) {
	for _, m := range modules {
		list = append(list, report.Frame{Module: m})
	}
	return list
}

func TestWanted(t *testing.T) {
	r := &report.Report{
		Modules: []report.Module{{Path: "/bin/p", Status: report.ModuleMissing, Main: true}, {Path: "/lib/a", Status: report.ModuleMismatched, BuildID: "12ab"},
			{Path: "/lib/b", Status: report.ModuleMatched}, {Path: "/lib/c", Status: report.ModuleMissing}, {Path: "/lib/unused", Status: report.ModuleMissing}},
		Threads: []report.Thread{{Frames: frames("/lib/c", "/lib/c", "/lib/c", "/lib/c")}, {Crashed: true, Frames: frames("/lib/b", "/lib/b", "/lib/b", "/lib/a", "/lib/a", "/bin/p")}},
	}
	w := wanted(r)
	if w == nil || w.Path != "/lib/a" || w.Crashed != 2 || w.Frames != 2 || w.Of != 3 || w.BuildID != "12ab" || !strings.Contains(w.Advice, "--search") {
		t.Fatalf("%+v", w)
	}
	r.MissingFile = w
	var b bytes.Buffer
	if err := report.WriteText(&b, r, report.TextOptions{Width: 500}); err != nil {
		t.Fatal(err)
	}
	if want := "The file that would help most: /lib/a, build-id 12ab: 2 frames of the crashed thread lie in it; give its directory"; strings.Count(b.String(), want) != 1 {
		t.Errorf("no %q in %s", want, b.String())
	}
	// Without a crash, that of most frames counts.
	r.Threads[1].Crashed = false
	if w := wanted(r); w == nil || w.Path != "/lib/c" || w.Crashed != 0 || w.Frames != 4 {
		t.Errorf("%+v", w)
	}
	// All files that are needed are there.
	r.Threads = r.Threads[1:]
	r.Threads[0].Frames = frames("/lib/b")
	if w := wanted(r); w != nil {
		t.Errorf("%+v", w)
	}
}

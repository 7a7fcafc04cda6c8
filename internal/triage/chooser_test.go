package triage

import (
	"context"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/corewalk/corewalk/internal/fixture"
	"github.com/corewalk/corewalk/internal/triage/ledger"
	"github.com/corewalk/corewalk/internal/triage/signature"
	"github.com/corewalk/corewalk/report"
)

// picky wants no dump of one build, and those that have none.
type picky struct {
	Files
	not   string
	asked map[string]string
}

func (p *picky) Dumps(ctx context.Context) iter.Seq2[string, error] { return p.Files.Dumps(ctx) }

func (p *picky) Wanted(path, build string) bool {
	p.asked[filepath.Base(path)] = build
	return build != p.not
}

// A source is asked about each dump with the build that its result has, known or not; what it does not want has no result.
func TestChooser(t *testing.T) {
	dir := t.TempDir()
	for i, n := range names {
		put(t, dir, "core."+string(rune('0'+i)), fixture.Get(t, n).Core(t))
	}
	if err := os.WriteFile(filepath.Join(dir, "core.empty"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	s := fixtureSettings(t, names...)
	all := run(t, t.Context(), &memStore{}, s, Options{}, dir)
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for _, fresh := range []bool{false, true} {
		src := &picky{Files: Files{Paths: []string{dir}}, not: all.dumps["core.1"].Build, asked: map[string]string{}}
		var r recorder
		store := &memStore{}
		if _, err := Run(t.Context(), Options{Command: []string{exe}, Env: workerEnv, Settings: s, Fresh: fresh}, src, store, &r); err != nil {
			t.Fatal(err)
		}
		for _, name := range []string{"core.0", "core.1", "core.2"} {
			if d := all.dumps[name]; d.Build == "" || src.asked[name] != d.Build {
				t.Errorf("fresh %v: %s: asked with build %q, the result has %q", fresh, name, src.asked[name], d.Build)
			}
			if _, ok := r.dumps[name]; ok != (name != "core.1") {
				t.Errorf("fresh %v: %s: has a result: %v", fresh, name, ok)
			}
		}
		if d, ok := r.dumps["core.empty"]; !ok || d.Fault == "" {
			t.Errorf("fresh %v: what is no dump: %+v", fresh, d)
		}
		if len(store.dumps) != 3 || r.done != 3 {
			t.Errorf("fresh %v: %d dumps in the store, %d done", fresh, len(store.dumps), r.done)
		}
	}
}

// digested knows a digest of its own for one file.
type digested struct{ Files }

func (d digested) Digest(path string) string {
	if filepath.Base(path) == "core.0" {
		return "d1"
	}
	return ""
}

// A digest that the source knows is the dump's identity; others are read.
func TestDigester(t *testing.T) {
	dir := t.TempDir()
	for i, n := range names[:2] {
		put(t, dir, "core."+string(rune('0'+i)), fixture.Get(t, n).Core(t))
	}
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	var r recorder
	if _, err := Run(t.Context(), Options{Command: []string{exe}, Env: workerEnv, Settings: fixtureSettings(t, names...)}, digested{Files{Paths: []string{dir}}}, &memStore{}, &r); err != nil {
		t.Fatal(err)
	}
	if d := r.dumps["core.0"]; d.SHA256 != "d1" || d.Identity != "sha256:d1" || d.Size == 0 || d.Fault != "" {
		t.Errorf("%+v", d)
	}
	if d := r.dumps["core.1"]; len(d.SHA256) != 64 || d.Identity != "sha256:"+d.SHA256 {
		t.Errorf("%+v", d)
	}
}

// What an analysis process says of a build is bounded.
func TestBuildOf(t *testing.T) {
	long := string(slices.Repeat([]byte("a"), maxBuildID+1))
	if got := buildOf(&identity{Build: long}) + buildOf(&identity{Build: "ab"}); got != "ab" {
		t.Errorf("%q", got)
	}
	for id, want := range map[string]string{long: "", long[1:]: long[1:], "ab": "ab", "a\xff": `a\xff`} {
		var d ledger.Dump
		describe(&d, &report.Report{Modules: []report.Module{{BuildID: "other"}, {Main: true, BuildID: id}}}, &signature.Signature{})
		if d.Build != want {
			t.Errorf("%.10q of %d bytes: %.10q", id, len(id), d.Build)
		}
	}
}

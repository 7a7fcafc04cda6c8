package ask_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/corewalk/corewalk"
	"github.com/corewalk/corewalk/internal/faces/ask"
	"github.com/corewalk/corewalk/internal/fixture"
	"github.com/corewalk/corewalk/internal/service/question"
	"github.com/corewalk/corewalk/report"
	"github.com/corewalk/corewalk/session"
)

// listed lists the modules of a dump in pages of n. Their files are found only as options say.
func listed(t *testing.T, name string, n int, found ...corewalk.Option) (all []question.Module) {
	t.Helper()
	target, err := corewalk.Open(t.Context(), fixture.Get(t, name).Core(t), append(found, corewalk.WithSysroot(t.TempDir()))...)
	if err != nil {
		t.Fatal(err)
	}
	defer target.Close()
	s := session.New(target, session.Options{})
	defer s.Close()
	for {
		in, err := json.Marshal(question.Question{Ask: question.Modules, First: len(all), Count: n})
		if err != nil {
			t.Fatal(err)
		}
		var out bytes.Buffer
		if err := ask.Serve(t.Context(), bytes.NewReader(in), &out, s, time.Minute); err != nil {
			t.Fatal(err)
		}
		var a question.Answer
		if err := json.Unmarshal(out.Bytes(), &a); err != nil || a.Error != "" || len(a.Modules) > n {
			t.Fatalf("%v: %s", err, out.Bytes())
		}
		if all = append(all, a.Modules...); !a.More {
			return all
		}
	}
}

// Modules say what they lack, and where that would be found; those that lack something come first, the program before others.
func TestModules(t *testing.T) {
	const program = "ef6ffcc3cd8e7edde65efd40b15dce160e27d896"
	whole := listed(t, "amd64-vars-c-O0", 100)
	if got := listed(t, "amd64-vars-c-O0", 1); fmt.Sprint(got) != fmt.Sprint(whole) {
		t.Errorf("one by one: %v, want %v", got, whole)
	}
	if m := whole[0]; !m.Main || m.ID != program || m.Status != report.ModuleMissing || !slices.Equal(m.Wanted, []string{"buildid/" + program + "/executable", "buildid/" + program + "/debuginfo"}) {
		t.Errorf("%+v", m)
	}
	lacks := func(m question.Module) bool { return m.Wanted != nil } // the machine may have the libraries
	if i := slices.IndexFunc(whole, func(m question.Module) bool { return m.Wanted == nil }); i < 1 || slices.ContainsFunc(whole[i:], lacks) {
		t.Errorf("%+v", whole)
	}
	if i := slices.IndexFunc(whole, func(m question.Module) bool { return m.Path == "[vdso]" }); i < 0 || whole[i].Wanted != nil { // no file has it
		t.Errorf("%+v", whole)
	}
	if m := listed(t, "amd64-mingw-null", 100)[0]; !m.Main || len(m.Wanted) == 0 || !strings.HasSuffix(m.Wanted[0], ".exe") || strings.Count(m.Wanted[0], "/") != 2 {
		t.Errorf("%+v", m)
	}
	some := listed(t, "amd64-mingw-null", 100, corewalk.WithSearch(filepath.Dir(fixture.Get(t, "amd64-mingw-null").Binary(t))))
	if i := slices.IndexFunc(some, func(m question.Module) bool { return m.Main }); i < 1 || some[i].Wanted != nil || slices.ContainsFunc(some[i:], lacks) {
		t.Errorf("%+v", some)
	}
	found := asked(t, "amd64-vars-c-O0", question.Question{Ask: question.Modules, Count: 100})[0].Modules
	if i := slices.IndexFunc(found, func(m question.Module) bool { return m.Main }); i < 0 || found[i].Wanted != nil || found[i].Status != report.ModuleMatched {
		t.Errorf("%+v", found)
	}
}

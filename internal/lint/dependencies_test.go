package lint

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/corewalk/corewalk/internal/fixture"
)

// keptBehind lists the modules that are not as new as they could be, or that nobody releases any more, each with the reason.
var keptBehind = map[string]string{
	"github.com/olekukonko/tablewriter": "1.1 costs each start 0.8 ms and 660 kB of tables for six more modules, and the tables look the same",
	"github.com/google/go-dap":          "it is the types of a protocol, which is complete; what editors send beyond it is not read",
}

// A module may have had a newer release for this long, and may be without a new one for twice as long.
const oldModule = 366 * 24 * time.Hour

type release struct {
	Path, Version string
	Time          time.Time
	Indirect      bool
	Versions      []string
	Update        *release
	Deprecated    string
}

// TestDependencies lists the modules that others have replaced by newer ones for a year, and those whose people are gone: what is decided
// about each is written above. It needs the modules' servers.
func TestDependencies(t *testing.T) {
	fixture.Long(t)
	own, err := releases("-m", "all")
	if err != nil {
		t.Fatal(err)
	}
	asked, old := 0, []string{}
	for _, m := range own {
		if m.Path == module || m.Indirect {
			continue
		}
		newer, err := releases("-m", "-u", "-versions", m.Path)
		if err != nil {
			t.Logf("cannot be asked for newer versions: %s: %v", m.Path, err)
			continue
		}
		asked++
		why := ageOf(newer[0], time.Now(), func(version string) (time.Time, error) {
			r, err := releases("-m", m.Path+"@"+version)
			if err != nil {
				return time.Time{}, err
			}
			return r[0].Time, nil
		})
		if why == "" {
			continue
		}
		old = append(old, m.Path)
		t.Logf("%s %s: %s: %s", m.Path, m.Version, why, keptBehind[m.Path])
		if keptBehind[m.Path] == "" {
			t.Errorf("%s %s: %s: get it, or say in keptBehind why not", m.Path, m.Version, why)
		}
	}
	if asked == 0 {
		t.Skip("no server of modules answers")
	}
	for path := range keptBehind {
		if !slices.Contains(old, path) && !slices.ContainsFunc(own, func(m release) bool { return m.Path == path }) {
			t.Errorf("keptBehind has %s, which is no dependency", path)
		}
	}
}

// ageOf says what is old about a module; "" if nothing. at asks when a version was made.
func ageOf(m release, now time.Time, at func(version string) (time.Time, error)) string {
	switch {
	case m.Deprecated != "":
		return "deprecated: " + m.Deprecated
	case m.Update == nil && now.Sub(m.Time) > 2*oldModule:
		return "the newest release is of " + m.Time.Format(time.DateOnly)
	case m.Update == nil:
		return ""
	case now.Sub(m.Update.Time) > 2*oldModule:
		return "the newest release, " + m.Update.Version + ", is of " + m.Update.Time.Format(time.DateOnly)
	}
	next := m.Update.Version
	if i := slices.Index(m.Versions, m.Version); i >= 0 && i+1 < len(m.Versions) {
		next = m.Versions[i+1]
	} else if m.Update.Time.Sub(m.Time) > oldModule { // of a module without releases
		return m.Update.Version + " is more than a year newer"
	}
	made := m.Update.Time
	if next != m.Update.Version {
		var err error
		if made, err = at(next); err != nil {
			return ""
		}
	}
	if now.Sub(made) > oldModule {
		return next + " is there since " + made.Format(time.DateOnly)
	}
	return ""
}

// releases asks the go command about modules.
func releases(args ...string) ([]release, error) {
	cmd := exec.Command("go", append([]string{"list", "-json=Path,Version,Time,Indirect,Versions,Update,Deprecated"}, args...)...)
	cmd.Dir = filepath.Join("..", "..")
	cmd.Env = append(os.Environ(), "GOFLAGS=-mod=mod")
	out, err := cmd.Output()
	if err != nil {
		return nil, err
	}
	var all []release
	for d := json.NewDecoder(strings.NewReader(string(out))); d.More(); {
		var r release
		if err := d.Decode(&r); err != nil {
			return nil, err
		}
		all = append(all, r)
	}
	return all, nil
}

func TestAgeOf(t *testing.T) {
	day := func(text string) time.Time {
		at, err := time.Parse(time.DateOnly, text)
		if err != nil {
			t.Fatal(err)
		}
		return at
	}
	now := day("2026-06-01")
	made := map[string]time.Time{"v1": day("2020-01-01"), "v2": day("2025-01-01"), "v3": day("2026-05-01"), "v4": day("2026-05-20")}
	all := []string{"v1", "v2", "v3", "v4"}
	latest := &release{Version: "v4", Time: made["v4"]}
	for name, c := range map[string]struct {
		m    release
		want string
	}{
		"newest":                   {release{Version: "v4", Time: made["v4"], Versions: all}, ""},
		"last month's":             {release{Version: "v3", Time: made["v3"], Versions: all, Update: latest}, ""},
		"old, but the next is new": {release{Version: "v2", Time: made["v2"], Versions: all, Update: latest}, ""},
		"the next is old":          {release{Version: "v1", Time: made["v1"], Versions: all, Update: latest}, "v2 is there since"},
		"nobody releases":          {release{Version: "v1", Time: made["v1"]}, "newest release is of"},
		"nor what came after":      {release{Version: "v0", Time: made["v1"], Versions: all, Update: &release{Version: "v1", Time: made["v1"]}}, "newest release, v1"},
		"a commit, old":            {release{Version: "c0", Time: made["v2"], Update: &release{Version: "c9", Time: made["v4"]}}, "more than a year newer"},
		"a commit, new":            {release{Version: "c0", Time: made["v3"], Update: &release{Version: "c9", Time: made["v4"]}}, ""},
		"deprecated":               {release{Version: "v4", Time: made["v4"], Deprecated: "use another"}, "use another"},
	} {
		got := ageOf(c.m, now, func(v string) (time.Time, error) { return made[v], nil })
		if c.want == "" && got != "" || !strings.Contains(got, c.want) {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

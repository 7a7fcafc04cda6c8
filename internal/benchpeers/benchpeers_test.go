package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestMedian(t *testing.T) {
	for _, c := range []struct {
		walls         []time.Duration
		median, least float64
	}{
		{nil, 0, 0},
		{[]time.Duration{7}, 7, 7},
		{[]time.Duration{9, 1, 2}, 2, 1},
		{[]time.Duration{100, 4, 6, 1}, 5, 1},
	} {
		r := result{}
		for _, w := range c.walls {
			r.samples = append(r.samples, sample{wall: w})
		}
		if m, l := r.median(wall), r.least(wall); m != c.median || l != c.least {
			t.Errorf("%v: median %v, least %v, want %v and %v", c.walls, m, l, c.median, c.least)
		}
	}
}

// threeTools are the results of corewalk, of a peer, and of one that failed.
func threeTools(name string, peer time.Duration) measured {
	s := func(d time.Duration) []sample { return []sample{{wall: d, cpu: d / 2, peak: 8 << 20}} }
	return measured{workload: &workload{name: name, title: "text"}, stacks: 1234, results: []result{
		{tool: second, samples: s(8 * time.Millisecond)},
		{tool: "gdb", samples: s(peer)},
		{tool: "lldb", failed: "exit status 1"},
	}}
}

func TestTables(t *testing.T) {
	all := []measured{threeTools("W1", 20*time.Millisecond), threeTools("W2", 12*time.Second)}
	want := `| workload | stacks | corewalk | gdb | lldb |
|---|---|---|---|---|
| W1: text | 1.2 kB | 8.0 ms (4.0 ms), 8 MiB | ×2.5 (×2.5) | fails |
| W2: text | 1.2 kB | 8.0 ms (4.0 ms), 8 MiB | ×1500 (×1500) | fails |
`
	if got := ratioTable(all).String(); got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
	want = `| workload | command | wall | least | processor | least | memory | runs |
|---|---|---|---|---|---|---|---|
| W1 | corewalk | 8.0 ms | 8.0 ms | 4.0 ms | 4.0 ms | 8 MiB | 1 |
| W1 | gdb | 20 ms | 20 ms | 10 ms | 10 ms | 8 MiB | 1 |
| W1 | lldb | fails |  |  |  |  |  |
`
	if got := figureTable(all[:1]).String(); got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
}

// TestNoRatioToAFailure: if corewalk itself failed, nobody was slower than it.
func TestNoRatioToAFailure(t *testing.T) {
	m := threeTools("W1", time.Second)
	m.results[0].failed = "exit status 2"
	if got := ratioTable([]measured{m}); len(got.rows) != 0 {
		t.Errorf("rows: %v", got.rows)
	}
}

func TestUpdatePage(t *testing.T) {
	page := "above\n<!-- bench-peers: ratios -->\n<!-- end -->\nbetween\n<!-- bench-peers: figures -->\n<!-- end -->\nbelow\n"
	write := func(page string, all ...measured) string {
		page, err := updatePage(page, ratioTable(all), figureTable(all))
		if err != nil {
			t.Fatal(err)
		}
		return page
	}
	both := write(page, threeTools("W1", time.Second), threeTools("W3", time.Second))
	for _, s := range []string{"above\n", "\nbetween\n", "\nbelow\n", "| W1: text |", "| W3: text |", "| W3 | gdb | 1.00 s |"} {
		if strings.Count(both, s) != 1 {
			t.Errorf("%d times %q in\n%s", strings.Count(both, s), s, both)
		}
	}
	if again := write(both, threeTools("W1", time.Second), threeTools("W3", time.Second)); again != both {
		t.Errorf("the same figures again:\n%s", again)
	}
	// What was not measured stays, in its place, and what was is replaced.
	one := write(both, threeTools("W3", 2*time.Second))
	if want := strings.NewReplacer("| W3: text | 1.2 kB | 8.0 ms (4.0 ms), 8 MiB | ×125 (×125)", "| W3: text | 1.2 kB | 8.0 ms (4.0 ms), 8 MiB | ×250 (×250)",
		"| W3 | gdb | 1.00 s | 1.00 s | 500 ms | 500 ms", "| W3 | gdb | 2.00 s | 2.00 s | 1.00 s | 1.00 s").Replace(both); one != want {
		t.Errorf("got\n%s\nwant\n%s", one, want)
	}
	middle := write(both, threeTools("W2", time.Second))
	if a, b, c := strings.Index(middle, "| W1 | gdb"), strings.Index(middle, "| W2 | gdb"), strings.Index(middle, "| W3 | gdb"); a < 0 || b < a || c < b {
		t.Errorf("not in order:\n%s", middle)
	}
	// A row with other columns would be read wrongly.
	other := threeTools("W2", time.Second)
	other.results = other.results[:2]
	if _, err := updatePage(both, ratioTable([]measured{other})); err == nil {
		t.Error("rows with different columns are in one table")
	}
	if _, err := updatePage("no place", ratioTable(nil)); err == nil {
		t.Error("a page without a place for the table is not an error")
	}
}

// TestWrong: a tool that failed, or did not print what it was asked for, does not count.
func TestWrong(t *testing.T) {
	plain := tool{want: [][]string{{"crash", "main"}}}
	partial := tool{want: plain.want, statuses: []int{1}}
	for _, c := range []struct {
		tool   *tool
		status int
		out    string
		right  bool
	}{
		{&plain, 0, "#0 crash\n#1 main\n", true},
		{&plain, 0, "#0 crash\n", false},
		{&plain, 1, "#0 crash\n#1 main\n", false},
		{&plain, 139, "#0 crash\n#1 main\n", false},
		{&partial, 1, "#0 crash\n#1 main\n", true},
		{&partial, 2, "#0 crash\n#1 main\n", false},
	} {
		if failed := c.tool.wrong(0, c.status, []byte(c.out)); (failed == "") != c.right {
			t.Errorf("status %d, %q: %q", c.status, c.out, failed)
		}
	}
}

// TestMeasure measures tools that work, fail, say nothing and are not there.
func TestMeasure(t *testing.T) {
	if _, err := exec.LookPath("gcc"); err != nil {
		t.Skip("gcc is not installed (Debian: gcc)")
	}
	dir := t.TempDir()
	b := &builder{dir: dir, src: filepath.Join("..", "..", "testdata", "src", "bench"), launcher: filepath.Join(dir, "launch")}
	if err := b.compile("launch.c", b.launcher); err != nil {
		t.Fatal(err)
	}
	sh := func(name, script string) tool {
		return tool{name: name, lines: [][]string{{"sh", "-c", script}}, want: [][]string{{"crash"}}}
	}
	many := tool{name: "many", lines: [][]string{{"echo", "one"}, {"echo", "two"}}, want: [][]string{{"one"}, {"two"}}}
	less := tool{name: "less", lines: many.lines, want: [][]string{{"one"}, {"three"}}}
	cold := sh("cold", "")
	cold.cold = filepath.Join(dir, "c")
	cold.lines[0][2] = "test ! -e " + cold.cold + " && touch " + cold.cold + " && echo crash"
	w := &workload{name: "W1", tools: func(*measurer) []tool {
		return []tool{sh("works", "echo crash >&2"), sh("fails", "echo crash; exit 3"), sh("killed", "echo crash; kill -9 $$"), sh("silent", "true"),
			many, less, cold, {name: "missing", lines: [][]string{{"corewalk-no-such-program"}}}, sh("unwanted", "echo crash")}
	}}
	m := &measurer{builder: b, dir: dir, skip: []string{"unwanted"}}
	all, err := m.measure([]*workload{w}, 3)
	if err != nil {
		t.Fatal(err)
	}
	for name, runs := range map[string]int{"works": 3, "fails": 0, "killed": 0, "silent": 0, "many": 3, "less": 0, "cold": 3} {
		r := all[0].find(name)
		if r == nil || len(r.samples) != runs || (r.failed == "") != (runs > 0) {
			t.Errorf("%s: %+v, want %d runs", name, r, runs)
		}
	}
	for _, name := range []string{"missing", "unwanted"} {
		if r := all[0].find(name); r != nil {
			t.Errorf("%s: %+v", name, r)
		}
	}
	if s := all[0].find("works").samples[0]; s.wall <= 0 || s.peak <= 0 {
		t.Errorf("took nothing: %+v", s)
	}
}

// TestWorkloads: what stamps and tables rely on.
func TestWorkloads(t *testing.T) {
	for _, small := range []bool{false, true} {
		seen := map[string]bool{}
		m := &measurer{builder: &builder{dir: "dir"}, dir: t.TempDir(), corewalk: "corewalk", caches: true}
		for _, w := range workloads(small) {
			if seen[w.name] || strings.ContainsAny(w.title, "|:") {
				t.Errorf("%s: %q", w.name, w.title)
			}
			seen[w.name] = true
			if (w.build == nil) != (w.of != nil) {
				t.Errorf("%s: has no files, or two kinds of them", w.name)
			}
			all := slices.ContainsFunc(w.tools(m)[0].lines[0], func(arg string) bool { return arg == "--locals" })
			for _, tool := range w.tools(m) {
				if full := slices.Contains(tool.lines[0], "thread apply all bt full"); tool.name == "gdb" && full != all {
					t.Errorf("%s: corewalk and gdb print different variables", w.name)
				}
				if len(tool.lines) == 0 || len(tool.want) != len(tool.lines) {
					t.Errorf("%s: %s: %d command lines, %d of which are checked", w.name, tool.name, len(tool.lines), len(tool.want))
				}
			}
		}
	}
}

// The pages have places for their tables.
func TestPlaces(t *testing.T) {
	for page, place := range map[string]string{ratiosPage: "<!-- bench-peers: ratios -->\n", figuresPage: "<!-- bench-peers: figures -->\n"} {
		text, err := os.ReadFile("../../" + page)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Count(string(text), place) != 1 {
			t.Errorf("%s has not one place %q", page, place)
		}
	}
}

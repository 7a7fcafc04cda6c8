package main

import (
	"fmt"
	"path/filepath"
)

// A workload is programs, their cores, and what is run on them.
type workload struct {
	name, title string
	program     string    // where one core is analysed
	of          *workload // whose files it uses; nil for its own
	recipe      string    // what beside the sources decides what is built
	sources     []string  // below testdata/src/bench
	build       func(b *builder, dir string) error
	tools       func(m *measurer) []tool
}

// files returns the name of the directory with its files.
func (w *workload) files() string {
	if w.of != nil {
		return w.of.name
	}
	return w.name
}

// workloads returns all of them. What each is there for is in docs/performance.md.
func workloads(small bool) []*workload {
	size := func(full, less int) int {
		if small {
			return less
		}
		return full
	}
	units, builds, gib, libraries, functions := size(60, 5), size(106, 8), size(8, 1), size(40, 8), size(24000, 12000)
	var all []*workload
	add := func(w *workload) *workload {
		all = append(all, w)
		return w
	}

	add(&workload{
		name: "W0", title: "nothing", sources: []string{"empty.c", "empty/main.go"},
		build: func(b *builder, dir string) error {
			if err := b.compile("empty.c", filepath.Join(dir, "c"), "-O2"); err != nil {
				return err
			}
			return command(".", "go", "build", "-o", filepath.Join(dir, "go"), "./"+filepath.Join(b.src, "empty"))
		},
		tools: func(m *measurer) []tool {
			dir := filepath.Join(m.builder.dir, "W0")
			return []tool{{name: emptyC, lines: [][]string{{filepath.Join(dir, "c")}}, want: [][]string{nil}},
				{name: emptyGo, lines: [][]string{{filepath.Join(dir, "go")}}, want: [][]string{nil}}}
		},
	})
	w1 := []string{"field_length", "parse_line", "main"}
	add(simple("W1", "C, -O2, 8 frames, died in libc", "w1.c", nil, asked{want: w1}, "-O2", "-g"))
	w2 := asked{want: []string{"Tree::crash", "Tree::step", "main"}}
	deep := add(simple("W2", "C++, -O0, 12,005 frames of 4 arguments", "w2.cpp", nil, w2, "-O0", "-g"))
	w2.corewalk = []string{"--no-fold", "--max-frames", "0"}
	add(again("W2a", "the same, every frame printed", deep, "w2", w2))
	w3 := asked{want: []string{"finish", "wait_for_work", "read_request", "nap", "take_slot", "main"}}
	threads := add(simple("W3", "C, -O2, 201 threads", "w3.c", nil, w3, "-O2", "-g", "-pthread"))
	w3.corewalk = []string{"--no-fold"}
	add(again("W3a", "the same, every thread printed", threads, "w3", w3))
	w4 := asked{want: []string{fmt.Sprintf("entry%d", firstUnit+3), "handle", "main"}}
	large := add(&workload{
		name: "W4", title: "C++, -O2, " + map[bool]string{false: "490", true: "40"}[small] + " MB of DWARF, 9 threads", program: "w4", sources: []string{"w4_unit.cpp", "w4_main.cpp"}, recipe: fmt.Sprint(units),
		build: func(b *builder, dir string) error { return b.buildLarge(dir, units) },
		tools: func(m *measurer) []tool { return m.ordinary("W4", "w4", w4) },
	})
	add(&workload{
		name: "W5", title: "Go, 1,000 goroutines", program: "w5", sources: []string{"w5/main.go"},
		build: func(b *builder, dir string) error {
			program := filepath.Join(dir, "w5")
			if err := command(".", "go", "build", "-o", program, "./"+filepath.Join(b.src, "w5")); err != nil {
				return err
			}
			return b.takeCore(dir, filepath.Join(dir, "core"), program)
		},
		tools: func(m *measurer) []tool {
			a := asked{want: []string{"main.settle", "main.check", "main.main"}}
			return append(m.ordinary("W5", "w5", a), m.delve("W5", "w5", a))
		},
	})
	add(&workload{
		name: "W6", title: fmt.Sprintf("%d cores of %d builds", builds, builds), sources: []string{"w6.c"}, recipe: fmt.Sprint(builds),
		build: func(b *builder, dir string) error { return b.buildMany(dir, builds) },
		tools: func(m *measurer) []tool { return m.batch("W6", builds) },
	})
	add(simple("W7", fmt.Sprintf("W1 with a core of %d GiB, sparse", gib), "w1.c", []string{fmt.Sprint(gib)}, asked{want: w1}, "-O2", "-g"))
	add(&workload{
		name: "W8", title: fmt.Sprintf("stripped, %d MB in %d modules, 34 threads", size(300, 30), libraries), program: "w8", sources: []string{"w8_main.c", "w8_lib.c", "w8_fill.S"},
		recipe: fmt.Sprint(libraries, functions),
		build:  func(b *builder, dir string) error { return b.buildStripped(dir, libraries, functions) },
		tools: func(m *measurer) []tool {
			return m.ordinary("W8", "w8", asked{want: []string{fmt.Sprintf("enter%d", 165%libraries), fmt.Sprintf("enter%d", (165+11*7)%libraries)}})
		},
	})
	w9 := asked{want: []string{"visit", "shared", "eins", "worker"}, corewalk: []string{"--locals", "all"}, full: true}
	add(simple("W9", "C++, -O0, all variables of 24 threads", "w9.cpp", nil, w9, "-O0", "-g", "-std=c++17", "-pthread"))
	add(again("W9a", "W4, all variables", large, "w4", asked{want: w4.want, corewalk: w9.corewalk, full: true}))
	for _, u := range unkinds() {
		add(u.workload(small))
	}
	return all
}

// simple is a workload of one program.
func simple(name, title, source string, args []string, a asked, flags ...string) *workload {
	program := source[:2]
	return &workload{
		name: name, title: title, program: program, sources: []string{source}, recipe: fmt.Sprint(args, flags),
		build: func(b *builder, dir string) error {
			path := filepath.Join(dir, program)
			if err := b.compile(source, path, flags...); err != nil {
				return err
			}
			return b.takeCore(dir, filepath.Join(dir, "core"), path, args...)
		},
		tools: func(m *measurer) []tool { return m.ordinary(name, program, a) },
	}
}

// again is a workload that asks something else of another's core.
func again(name, title string, of *workload, program string, a asked) *workload {
	return &workload{name: name, title: title, program: program, of: of, tools: func(m *measurer) []tool { return m.ordinary(of.name, program, a) }}
}

package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// unkind are programs whose debug information is laid out as badly as compilers allow: generators
// write their sources. full and less are their sizes.
type unkind struct {
	name, title   string
	generator     []string // the program below testdata/src/bench, and its flags but -n and -o
	full, less    int
	compiler      string
	compile, link []string
	asked         asked
	crashed       func(n int) string // one more function that must be printed; nil: none
}

// unkinds returns all of them.
func unkinds() []unkind {
	shared := []string{"unkind", "-kind", "shared"}
	visits := asked{want: []string{"shop::visit0", "main"}}
	return []unkind{
		{name: "X1", title: "C, -O1, %d units of 3 KB, gcc, DWARF 5", generator: []string{"unkind", "-kind", "small"}, full: 5000, less: 50,
			compiler: "gcc", compile: []string{"-O1", "-gdwarf-5", "-fno-optimize-sibling-calls", "-fno-ipa-sra"}, asked: asked{want: []string{"step0", "main"}}},
		{name: "X2", title: "C++, -O1, %d units that share 150 classes, gcc, DWARF 4, zlib", generator: shared, full: 400, less: 6,
			compiler: "g++", compile: []string{"-O1", "-gdwarf-4", "-fno-ipa-sra"}, link: []string{"-Wl,--compress-debug-sections=zlib"}, asked: visits},
		{name: "X3", title: "the same %d units, clang, DWARF 5, split", generator: shared, full: 400, less: 6,
			compiler: "clang++", compile: []string{"-O1", "-gdwarf-5", "-gsplit-dwarf"}, asked: visits},
		{name: "X4", title: "the same %d units, clang, DWARF 4, zstd", generator: shared, full: 400, less: 6,
			compiler: "clang++", compile: []string{"-O1", "-gdwarf-4"}, link: []string{"-Wl,--compress-debug-sections=zstd"}, asked: visits},
		{name: "X5", title: "C++, -O1, templates of which %d levels double each other's names", generator: []string{"unkind", "-kind", "templates"}, full: 14, less: 7,
			compiler: "g++", compile: []string{"-O1", "-gdwarf-5", "-fno-optimize-sibling-calls"}, asked: asked{want: []string{"Walk<Leaf>::go", "Pair<Leaf, Leaf>", "main"}}},
		{name: "X6", title: "C, -O0, one unit of %d functions and types", generator: []string{"unkind", "-kind", "one"}, full: 60000, less: 300,
			compiler: "gcc", compile: []string{"-O0", "-gdwarf-5"}, asked: asked{want: []string{"main"}}, crashed: func(n int) string { return fmt.Sprintf("f%d", n/2) }},
		{name: "X7", title: "Rust, -O0, %d modules of generics", generator: []string{"generics", "-language", "rust"}, full: 30, less: 2,
			compiler: "rustc", compile: []string{"-g", "-C", "panic=abort"}, asked: asked{want: []string{"gather", "main"}}},
		{name: "X8", title: "Go, %d packages of generics", generator: []string{"generics", "-language", "go"}, full: 290, less: 4,
			compiler: "go", asked: asked{want: []string{"Weigh", "many/p0.Visit", "main.main"}}},
	}
}

// workload returns u in one of its sizes.
func (u unkind) workload(small bool) *workload {
	n := u.full
	if small {
		n = u.less
	}
	u.asked.want = u.wanted(n)
	return &workload{
		name: u.name, title: fmt.Sprintf(u.title, n), program: "program", sources: []string{u.generator[0] + "/main.go"},
		recipe: fmt.Sprint(u.generator, u.compiler, u.compile, u.link, n),
		build: func(b *builder, dir string) error {
			if _, err := exec.LookPath(u.compiler); err != nil {
				return err
			}
			if err := u.compileAll(b, dir, n); err != nil {
				return err
			}
			return b.takeCore(dir, filepath.Join(dir, "core"), filepath.Join(dir, "program"))
		},
		tools: func(m *measurer) []tool { return m.ordinary(u.name, "program", u.asked) },
	}
}

// wanted are the functions of the crashed stack of size n that must be printed.
func (u unkind) wanted(n int) []string {
	if u.crashed == nil {
		return u.asked.want
	}
	return append(slices.Clone(u.asked.want), u.crashed(n))
}

// compileAll makes DIR/program of what the generator writes. The sources stay: reports may show them.
func (u unkind) compileAll(b *builder, dir string, n int) error {
	generate := append([]string{"go", "run", "./" + filepath.Join(b.src, u.generator[0])}, u.generator[1:]...)
	if err := command(".", append(generate, "-n", fmt.Sprint(n), "-o", dir)...); err != nil {
		return err
	}
	switch u.compiler {
	case "go":
		return command(dir, "go", "build", "-o", "program", ".")
	case "rustc":
		return command(dir, append([]string{"rustc", "main.rs", "-o", "program"}, u.compile...)...)
	}
	sources, err := filepath.Glob(filepath.Join(dir, "*.c*"))
	if err != nil {
		return err
	}
	const atOnce = 10 // starting a compiler takes as long as compiling a small unit
	groups := slices.Collect(slices.Chunk(sources, atOnce))
	if err := each(len(groups), func(i int) error {
		args := append([]string{u.compiler, "-c"}, u.compile...)
		for _, s := range groups[i] {
			args = append(args, filepath.Base(s))
		}
		return command(dir, args...)
	}); err != nil {
		return err
	}
	objects, err := filepath.Glob(filepath.Join(dir, "*.o"))
	if err != nil {
		return err
	}
	list := filepath.Join(dir, "objects")
	if err := os.WriteFile(list, []byte(strings.Join(objects, "\n")), 0o644); err != nil {
		return err
	}
	if err := command(dir, append([]string{u.compiler, "-o", "program", "@objects"}, u.link...)...); err != nil {
		return err
	}
	for _, o := range append(objects, list) {
		os.Remove(o)
	}
	return nil
}

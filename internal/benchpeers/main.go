// Command benchpeers measures corewalk against the programs that do the same: it builds the
// workloads of testdata/src/bench, takes their cores, runs every command interleaved with the
// others, and writes the tables of docs/performance.md and docs/reference/figures.md. It needs Linux, gcc and g++, and cores
// written to the working directory (kernel.core_pattern=core); a peer that is not installed is
// left out.
//
//	go run ./internal/benchpeers [-corewalk FILE] [-dir DIR] [-size full|small] [-only W1,W3] [-runs N] [-build] [-update]
//
// Run it in the module's root: make bench-peers does.
package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

func main() {
	var o options
	var only string
	flag.StringVar(&o.corewalk, "corewalk", "corewalk", "measure this `FILE`")
	flag.StringVar(&o.dir, "dir", "", "keep programs and cores in `DIR` (default: corewalk-bench in the user's cache)")
	flag.StringVar(&o.size, "size", "full", "the `SIZE` of W4, W6, W7 and W8: full or small")
	flag.StringVar(&only, "only", "", "only these `WORKLOADS`, such as W1,W3")
	flag.StringVar(&o.skip, "skip", "", "without these `COMMANDS`, such as lldb,gdb")
	flag.IntVar(&o.runs, "runs", 5, "run every command `N` times")
	flag.BoolVar(&o.build, "build", false, "build the workloads, and measure nothing")
	flag.BoolVar(&o.update, "update", false, "write the tables of "+ratiosPage+" and "+figuresPage)
	flag.Parse()
	if only != "" {
		o.only = strings.Split(only, ",")
	}
	if err := o.run(); err != nil {
		fmt.Fprintln(os.Stderr, "benchpeers:", err)
		os.Exit(1)
	}
}

// What -update writes: the page that people read, and the one with all that was measured.
const ratiosPage, figuresPage = "docs/performance.md", "docs/reference/figures.md"

type options struct {
	corewalk, dir, size, skip string
	only                      []string
	runs                      int
	build, update             bool
}

func (o *options) run() error {
	if o.size != "full" && o.size != "small" {
		return fmt.Errorf("-size %s: must be full or small", o.size)
	}
	if o.update && o.size != "full" {
		return fmt.Errorf("-update: %s has the figures of full size", ratiosPage)
	}
	if o.runs < 1 {
		return fmt.Errorf("-runs %d: must be at least 1", o.runs)
	}
	if o.dir == "" {
		cache, err := os.UserCacheDir()
		if err != nil {
			return err
		}
		o.dir = filepath.Join(cache, "corewalk-bench")
	}
	if o.size == "small" {
		o.dir = filepath.Join(o.dir, "small")
	}
	var err error
	if o.dir, err = filepath.Abs(o.dir); err != nil {
		return err
	}
	all := workloads(o.size == "small")
	for _, name := range o.only {
		if !slices.ContainsFunc(all, func(w *workload) bool { return w.name == name }) {
			return fmt.Errorf("-only %s: there is no such workload", name)
		}
	}
	if len(o.only) > 0 {
		all = slices.DeleteFunc(all, func(w *workload) bool { return !slices.Contains(o.only, w.name) })
	}
	b := builder{dir: o.dir, src: "testdata/src/bench"}
	if err := b.setUp(); err != nil {
		return err
	}
	for _, w := range all {
		if err := b.buildWorkload(w); err != nil {
			return fmt.Errorf("%s: %w", w.name, err)
		}
	}
	if o.build {
		return nil
	}
	m, err := newMeasurer(o, &b)
	if err != nil {
		return err
	}
	defer os.RemoveAll(m.dir)
	results, err := m.measure(all, o.runs)
	if err != nil {
		return err
	}
	ratios, figures := ratioTable(results), figureTable(results)
	fmt.Print(ratios.String(), "\n", figures.String())
	if !o.update {
		return nil
	}
	for page, t := range map[string]*table{ratiosPage: ratios, figuresPage: figures} {
		text, err := os.ReadFile(page)
		if err != nil {
			return err
		}
		updated, err := updatePage(string(text), t)
		if err != nil {
			return fmt.Errorf("%s: %w", page, err)
		}
		if err := os.WriteFile(page, []byte(updated), 0o644); err != nil {
			return err
		}
	}
	return nil
}

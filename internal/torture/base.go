package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/corewalk/corewalk"
	"github.com/corewalk/corewalk/corestate"
	"github.com/corewalk/corewalk/internal/files/mmapfile"
	"github.com/corewalk/corewalk/internal/fixture"
	"github.com/corewalk/corewalk/internal/format/minidump/dumpbuild"
	"github.com/corewalk/corewalk/report"
)

// A base is a good file that is damaged.
type base struct {
	kind, name string
	part       bool                             // the inputs are not whole reports
	ready      func(dir string) (*ready, error) // writes what is needed into an empty directory
}

func (b *base) id() string { return b.kind + ":" + b.name }

// A ready base can be damaged and used many times.
type ready struct {
	data  []byte
	shape *shape
	run   func(edits []edit, rng *rand.Rand) error // the error is of the harness
	last  *report.Report                           // of an input that was made in code
	// Of a core to which memory that lies was added: the edits that make one of its words lie, and how many words there are.
	lie   func(word, kind int) []edit
	words int
	reads *corestate.Reads // of the next input; nil for nobody's
	// repair mends the files after a panic.
	repair func(edits []edit) error
	close  func()
}

// tb lets package fixture work outside tests.
type tb struct {
	testing.TB
	dir string // an empty directory
}

// errNothing says that a file has nothing of a base's kind.
var errNothing = errors.New("nothing of this kind")

type failure string

func (tb) Helper()                        {}
func (tb) Fatal(args ...any)              { panic(failure(fmt.Sprint(args...))) }
func (tb) Fatalf(format string, a ...any) { panic(failure(fmt.Sprintf(format, a...))) }
func (tb) Skip(args ...any)               { panic(failure(fmt.Sprint(args...))) }
func (t tb) TempDir() string              { return t.dir }

// caught turns what fixture reports into an error.
func caught(f func() error) (err error) {
	defer func() {
		switch p := recover().(type) {
		case nil:
		case failure:
			err = fmt.Errorf("%s", string(p))
		default:
			panic(p)
		}
	}()
	return f()
}

// bases lists what can be damaged. empty is an empty directory.
func bases(empty string) (list []base, err error) {
	t := tb{dir: empty}
	err = caught(func() error {
		for _, c := range fixture.Cases(t) {
			list = append(list,
				base{kind: "core", name: c.Name, ready: func(dir string) (*ready, error) { return dumpReady(t, c, dir, coreShape) }},
				base{kind: "memory", name: c.Name, ready: func(dir string) (*ready, error) { return dumpReady(t, c, dir, memoryShape) }})
			for _, rel := range caseFiles(c) {
				finds := map[string]func([]byte) *shape{"binary": elfShape, "dwarf": dwarfShape, "cfi": cfiShape}
				if inGo(c) {
					finds["gotable"] = goShape
				}
				for kind, find := range finds {
					list = append(list, base{kind: kind, name: c.Name + "/" + rel, ready: func(dir string) (*ready, error) { return fileReady(t, c, dir, rel, find) }})
				}
			}
		}
		for _, c := range fixture.Minidumps(t) {
			list = append(list, base{kind: "minidump", name: c.Name, ready: func(dir string) (*ready, error) { return dumpReady(t, c, dir, minidumpShape) }})
			for _, rel := range caseFiles(c) {
				kind, find := "pe", peShape
				if strings.HasSuffix(rel, ".pdb") {
					kind, find = "pdb", pdbShape
				}
				list = append(list, base{kind: kind, name: c.Name + "/" + rel, ready: func(dir string) (*ready, error) { return fileReady(t, c, dir, rel, find) }})
			}
		}
		list = append(list, packedBases(t)...)
		list = append(list, symBases(t)...)
		list = append(list, nameBases(t)...)
		list = append(list, madeBases()...)
		list = append(list, lieBases(t, fixture.Cases(t))...)
		list = append(list, partBases(t, fixture.Cases(t), fixture.Minidumps(t))...)
		samples := dumpbuild.Samples()
		for name, data := range samples {
			list = append(list, base{kind: "minidump", name: name, ready: func(dir string) (*ready, error) { return aloneReady(data, dir, minidumpShape) }})
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	caught(func() error { // they may not be there
		_, files := fixture.Foreign(t)
		for name, data := range files {
			if !strings.HasSuffix(name, ".sym") && !strings.HasSuffix(name, ".syms") && len(data) > 0 {
				list = append(list, base{kind: "foreign", name: name, ready: func(dir string) (*ready, error) { return aloneReady(data, dir, foreignShape) }})
			}
		}
		return nil
	})
	for _, b := range list {
		switch b.kind {
		case "core", "binary", "minidump", "pe", "pdb", "packed", "sym":
			b.kind = "cut " + b.kind
			list = append(list, b)
		}
	}
	slices.SortFunc(list, func(a, b base) int { return strings.Compare(a.id(), b.id()) })
	return list, nil
}

// caseFiles lists the programs and debug files of a case, by their names when unpacked: relative to
// the case's directory, or names in the directories of images.
func caseFiles(c fixture.Case) (list []string) {
	dirs := []string{c.Dir}
	for _, set := range c.Images {
		dirs = append(dirs, filepath.Join(filepath.Dir(c.Dir), "images", set))
	}
	for i, dir := range dirs {
		filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
			rel, _ := filepath.Rel(dir, path)
			rel = strings.TrimSuffix(rel, ".zst")
			switch filepath.Ext(rel) {
			case ".txt", ".json", ".dmp":
				return nil
			}
			if err == nil && e.Type().IsRegular() && rel != "core" {
				if i > 0 {
					rel = c.Images[i-1] + "/" + rel
				}
				list = append(list, rel)
			}
			return nil
		})
	}
	return list
}

// original returns the path of one of caseFiles, unpacked.
func original(t tb, c fixture.Case, rel string) string {
	for _, set := range c.Images {
		if name, ok := strings.CutPrefix(rel, set+"/"); ok {
			return filepath.Join(fixture.Images(t, set), name)
		}
	}
	return c.File(t, rel)
}

func readFile(path string) ([]byte, error) {
	f, err := mmapfile.Open(path)
	if err != nil {
		return nil, err
	}
	return f.Data(), nil // stays mapped
}

// dumpReady damages the dump of a case, whose files are as they are.
func dumpReady(t tb, c fixture.Case, dir string, find func([]byte) *shape) (r *ready, err error) {
	err = caught(func() error {
		data, err := readFile(c.Core(t))
		if err != nil {
			return err
		}
		s, err := stage(filepath.Join(dir, "core"), data)
		if err != nil {
			return err
		}
		files := append(debugDir(t, c, c.Dir), corewalk.WithSysroot(c.Sysroot(t)), corewalk.WithSearch(c.Dir))
		for _, d := range c.Search(t) {
			files = append(files, corewalk.WithSearch(d))
		}
		exe := corewalk.WithExecutable(c.Binary(t))
		cache := corewalk.NewCache(context.Background(), 0, files...)
		r = &ready{data: data, shape: find(data), repair: s.mend, close: func() { cache.Close(); s.close() }}
		r.run = func(edits []edit, rng *rand.Rand) error {
			return s.with(edits, func() {
				service(func(opts ...corewalk.Option) (*corewalk.Target, error) {
					return corewalk.Open(context.Background(), s.path, append(opts, exe, corewalk.WithCache(cache))...)
				}, rng)
			})
		}
		return nil
	})
	return r, err
}

func debugDir(t tb, c fixture.Case, dir string) []corewalk.Option {
	for i := 0; i+1 < len(c.Args); i += 2 {
		if c.Args[i] == "--debug-dir" {
			return []corewalk.Option{corewalk.WithDebugDir(filepath.Join(dir, c.Args[i+1]))}
		}
	}
	return []corewalk.Option{corewalk.WithDebugDir(t.dir)}
}

// fileReady damages a program or debug file of a case, whose dump is as it is.
func fileReady(t tb, c fixture.Case, dir, which string, find func([]byte) *shape) (r *ready, err error) {
	err = caught(func() error {
		var target *staged
		for _, rel := range caseFiles(c) {
			data, err := readFile(original(t, c, rel))
			if err != nil {
				return err
			}
			path := filepath.Join(dir, "case", rel)
			if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
				return err
			}
			s, err := stage(path, data)
			if err != nil {
				return err
			}
			if rel != which {
				s.close()
				continue
			}
			target = s
		}
		if target == nil {
			return fmt.Errorf("no file %s", which)
		}
		files := append(debugDir(t, c, filepath.Join(dir, "case")), corewalk.WithSysroot(c.Sysroot(t)), corewalk.WithSearch(filepath.Join(dir, "case")))
		program := c.Program
		if len(c.Images) > 0 {
			program = c.Images[0] + "/" + program
		}
		if path := filepath.Join(dir, "case", program); c.Program != "" {
			files = append(files, corewalk.WithExecutable(path))
		}
		core, known := c.Core(t), find(target.data)
		if len(known.fields) == 0 {
			return errNothing
		}
		r = &ready{data: target.data, shape: known, repair: target.mend, close: target.close}
		r.run = func(edits []edit, rng *rand.Rand) error {
			return target.with(edits, func() {
				service(func(opts ...corewalk.Option) (*corewalk.Target, error) {
					return corewalk.Open(context.Background(), core, append(opts, files...)...)
				}, rng)
			})
		}
		return nil
	})
	return r, err
}

// aloneReady damages a dump without any files.
func aloneReady(data []byte, dir string, find func([]byte) *shape) (*ready, error) {
	s, err := stage(filepath.Join(dir, "core"), data)
	if err != nil {
		return nil, err
	}
	r := &ready{data: data, shape: find(data), repair: s.mend, close: s.close}
	empty := filepath.Join(dir, "none")
	r.run = func(edits []edit, rng *rand.Rand) error {
		return s.with(edits, func() {
			r.last = service(func(opts ...corewalk.Option) (*corewalk.Target, error) {
				return corewalk.Open(context.Background(), s.path, append(opts, corewalk.WithSysroot(empty), corewalk.WithDebugDir(empty))...)
			}, rng)
		})
	}
	return r, nil
}

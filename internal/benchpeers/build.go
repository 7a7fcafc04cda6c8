package main

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
)

// A builder makes programs and cores. Those of a workload are in its directory below dir, with a
// stamp of what they were made of; they are made again when that changes.
type builder struct {
	dir, src string
	launcher string
	tools    string // the versions of the compilers and of libc, for stamps
}

// setUp makes what all workloads need.
func (b *builder) setUp() error {
	pattern, err := os.ReadFile("/proc/sys/kernel/core_pattern")
	if err != nil {
		return err
	}
	if p := strings.TrimSpace(string(pattern)); p == "" || strings.ContainsAny(p, "|/%") {
		return fmt.Errorf("kernel.core_pattern is %q: must be a plain name, such as core", p)
	}
	if err := os.MkdirAll(b.dir, 0o755); err != nil {
		return err
	}
	b.launcher = filepath.Join(b.dir, "launch")
	if err := b.compile("launch.c", b.launcher, "-O2"); err != nil {
		return err
	}
	for _, c := range [][]string{{"gcc", "-v"}, {"go", "version"}, {"ldd", "--version"}} {
		out, err := exec.Command(c[0], c[1:]...).CombinedOutput()
		if err != nil {
			return fmt.Errorf("%s: %w", c[0], err)
		}
		b.tools += string(out)
	}
	return nil
}

// buildWorkload makes the programs and cores of w, unless they are there already.
func (b *builder) buildWorkload(w *workload) error {
	if w.of != nil {
		w = w.of
	}
	dir := filepath.Join(b.dir, w.name)
	sum := sha256.New()
	fmt.Fprintln(sum, b.tools, w.recipe)
	for _, name := range w.sources {
		text, err := os.ReadFile(filepath.Join(b.src, name))
		if err != nil {
			return err
		}
		sum.Write(text)
	}
	stamp := fmt.Sprintf("%x\n", sum.Sum(nil))
	if was, err := os.ReadFile(filepath.Join(dir, "stamp")); err == nil && string(was) == stamp {
		return nil
	}
	fmt.Fprintf(os.Stderr, "building %s in %s\n", w.name, dir)
	if err := os.RemoveAll(dir); err != nil {
		return err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	if err := w.build(b, dir); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, "stamp"), []byte(stamp), 0o644)
}

// compile runs a compiler on one source.
func (b *builder) compile(source, program string, args ...string) error {
	compiler := "gcc"
	if strings.HasSuffix(source, ".cpp") {
		compiler = "g++"
	}
	return command(".", append([]string{compiler, filepath.Join(b.src, source), "-o", program}, args...)...)
}

// takeCore runs a program, which must die, in dir; its core gets the name to.
func (b *builder) takeCore(dir, to, program string, args ...string) error {
	where, err := os.MkdirTemp(dir, "run")
	if err != nil {
		return err
	}
	defer os.RemoveAll(where)
	m := measurer{builder: b, dir: where}
	s, out, err := m.launch(where, nil, append([]string{program}, args...))
	if err != nil {
		return err
	}
	if s.status < 128 {
		return fmt.Errorf("%s did not die of a signal: exit status %d: %.400s", program, s.status, out)
	}
	cores, err := filepath.Glob(filepath.Join(where, "core*"))
	if err != nil {
		return err
	}
	if len(cores) != 1 {
		return fmt.Errorf("%s left %d cores, not one", program, len(cores))
	}
	return os.Rename(cores[0], to)
}

// command runs a command; an error has what it said.
func command(dir string, args ...string) error {
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	if err != nil {
		return fmt.Errorf("%s: %w: %.2000s", strings.Join(args, " "), err, out)
	}
	return nil
}

// each calls f with 0 to n-1, as many at a time as there are processors.
func each(n int, f func(i int) error) error {
	errs := make([]error, n)
	slots := make(chan bool, runtime.NumCPU())
	var wg sync.WaitGroup
	for i := range n {
		slots <- true
		wg.Go(func() {
			errs[i] = f(i)
			<-slots
		})
	}
	wg.Wait()
	return errors.Join(errs...)
}

// firstUnit is the number in the name of the first unit of W4.
const firstUnit = 1000001

// buildLarge makes W4 of this many units. Compiling one takes 20 times as long as assembling it,
// so five variants are compiled, and the others are made of their assembly text, in which
// another number replaces that of the first unit: the same machine code with other names.
func (b *builder) buildLarge(dir string, units int) error {
	const variants = 5
	flags := []string{"-O2", "-g", "-gdwarf-5", "-gz=none"}
	texts := make([][]byte, variants)
	if err := each(variants, func(v int) error {
		s := filepath.Join(dir, fmt.Sprintf("variant%d.s", v))
		defer os.Remove(s)
		args := append([]string{"-S", fmt.Sprintf("-DN=%d", firstUnit), fmt.Sprintf("-DVARIANT=%d", v+1)}, flags...)
		if err := b.compile("w4_unit.cpp", s, args...); err != nil {
			return err
		}
		var err error
		texts[v], err = os.ReadFile(s)
		return err
	}); err != nil {
		return err
	}
	objects := make([]string, units)
	if err := each(units, func(i int) error {
		objects[i] = filepath.Join(dir, fmt.Sprintf("unit%d.o", i))
		text := bytes.ReplaceAll(texts[i%variants], fmt.Appendf(nil, "%d", firstUnit), fmt.Appendf(nil, "%d", firstUnit+i))
		cmd := exec.Command("as", "-o", objects[i])
		cmd.Stdin = bytes.NewReader(text)
		if out, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("as: %w: %.400s", err, out)
		}
		return nil
	}); err != nil {
		return err
	}
	args := append(objects, "-pthread", fmt.Sprintf("-DFIRST=%d", firstUnit), fmt.Sprintf("-DCRASH=%d", firstUnit+3))
	err := b.compile("w4_main.cpp", filepath.Join(dir, "w4"), append(args, flags...)...)
	for _, o := range objects {
		os.Remove(o)
	}
	if err != nil {
		return err
	}
	return b.takeCore(dir, filepath.Join(dir, "core"), filepath.Join(dir, "w4"))
}

// buildStripped makes W8 of this many libraries, each with this many functions.
func (b *builder) buildStripped(dir string, libraries, functions int) error {
	fill := filepath.Join(dir, "fill.o")
	if err := b.compile("w8_fill.S", fill, "-c", fmt.Sprintf("-DCOUNT=%d", functions)); err != nil {
		return err
	}
	defer os.Remove(fill)
	if err := each(libraries, func(i int) error {
		return b.compile("w8_lib.c", filepath.Join(dir, fmt.Sprintf("libw8_%d.so", i)), fill,
			"-O2", "-fPIC", "-shared", "-s", "-fno-optimize-sibling-calls", fmt.Sprintf("-DK=%d", i))
	}); err != nil {
		return err
	}
	program := filepath.Join(dir, "w8")
	if err := b.compile("w8_main.c", program, fill, "-O2", "-s", "-pthread", "-fno-optimize-sibling-calls", fmt.Sprintf("-DMODULES=%d", libraries)); err != nil {
		return err
	}
	return b.takeCore(dir, filepath.Join(dir, "core"), program, dir)
}

// buildMany makes the programs and cores of W6.
func (b *builder) buildMany(dir string, n int) error {
	if err := os.Mkdir(filepath.Join(dir, "cores"), 0o755); err != nil {
		return err
	}
	return each(n, func(i int) error {
		program := filepath.Join(dir, fmt.Sprintf("w6_%d", i))
		if err := b.compile("w6.c", program, "-g", []string{"-O0", "-O2"}[i/4%2], fmt.Sprintf("-DN=%d", i)); err != nil {
			return err
		}
		return b.takeCore(dir, filepath.Join(dir, "cores", fmt.Sprintf("core.%d", i)), program)
	})
}

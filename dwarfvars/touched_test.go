package dwarfvars_test

import (
	"bufio"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/corewalk/corewalk"
	"github.com/corewalk/corewalk/dwarfvars"
	"github.com/corewalk/corewalk/internal/fixture"
)

// BenchmarkTouched opens a core, walks its threads and reads every variable of
// every frame, and reports how much of the mapped program and libraries that
// brought in: walk-B/op by the walk, vars-B/op by the variables on top of it, of
// file-B mapped. These are pages that the kernel mapped, up to 16 of them for
// each one read: an upper bound of what was read. Bytes of compressed sections
// count as they are in the file. A directory in COREWALK_BIG with a program "w4"
// and its "core" is measured too.
func BenchmarkTouched(b *testing.B) {
	if _, err := os.Stat("/proc/self/smaps"); err != nil {
		b.Skip("no /proc/self/smaps: nothing tells which pages are mapped")
	}
	for _, name := range []string{"amd64-vars-c-O2", "amd64-vars-cxx-O2", "amd64-vars-go-O0"} {
		c := fixture.Get(b, name)
		b.Run(name, func(b *testing.B) {
			benchTouched(b, c.Core(b), corewalk.WithExecutable(c.Binary(b)),
				corewalk.WithSysroot(c.Sysroot(b)), corewalk.WithDebugDir(b.TempDir()))
		})
	}
	if big := os.Getenv("COREWALK_BIG"); big != "" {
		b.Run("big", func(b *testing.B) {
			benchTouched(b, filepath.Join(big, "core"), corewalk.WithExecutable(filepath.Join(big, "w4")))
		})
	}
}

func benchTouched(b *testing.B, core string, opts ...corewalk.Option) {
	b.ReportAllocs()
	var walked, read, size, variables uint64
	for b.Loop() {
		target, err := corewalk.Open(core, opts...)
		if err != nil {
			b.Fatal(err)
		}
		variables = readAll(b, target, false)
		b.StopTimer()
		before, _ := resident(b, core)
		b.StartTimer()
		variables = readAll(b, target, true)
		b.StopTimer()
		after, all := resident(b, core)
		if err := target.Close(); err != nil {
			b.Fatal(err)
		}
		walked, read, size = walked+before, read+after-before, all
		b.StartTimer()
	}
	b.ReportMetric(float64(walked)/float64(b.N), "walk-B/op")
	b.ReportMetric(float64(read)/float64(b.N), "vars-B/op")
	b.ReportMetric(float64(size), "file-B")
	b.ReportMetric(float64(variables), "variables")
}

// readAll walks every thread, and reads the variables of every frame if asked. It
// returns their number.
func readAll(b *testing.B, target *corewalk.Target, variables bool) (n uint64) {
	b.Helper()
	w, err := target.NewWalker()
	if err != nil {
		b.Fatal(err)
	}
	defer w.Close()
	threads, err := target.ProcessState().ThreadIDs()
	if err != nil {
		b.Fatal(err)
	}
	r := target.Variables()
	for _, id := range threads {
		stack, _ := w.WalkStack(id)
		for i := range stack.Frames {
			if !variables {
				continue
			}
			a, err := r.At(stack.Frames, i)
			if err != nil {
				continue
			}
			for _, s := range a.Live() {
				for _, list := range [][]*dwarfvars.LocalVar{s.Params, s.Locals} {
					for _, v := range list {
						_ = a.Read(v, dwarfvars.Options{}).String()
						n++
					}
				}
			}
			a.Close()
		}
	}
	return n
}

// resident returns how many bytes of the read-only mappings of files are mapped
// in, and how many there are. The test program's own and the core's do not count.
func resident(b *testing.B, core string) (in, all uint64) {
	b.Helper()
	f, err := os.Open("/proc/self/smaps")
	if err != nil {
		b.Fatal(err)
	}
	defer f.Close()
	self, _ := os.Executable()
	counts := false
	for sc := bufio.NewScanner(f); sc.Scan(); {
		fields := strings.Fields(sc.Text())
		if len(fields) >= 5 && strings.Contains(fields[0], "-") && !strings.HasSuffix(fields[0], ":") {
			path := strings.Join(fields[5:], " ")
			counts = fields[1][:2] == "r-" && strings.HasPrefix(path, "/") && path != core && path != self
			continue
		}
		if !counts || len(fields) < 2 {
			continue
		}
		kB, _ := strconv.ParseUint(fields[1], 10, 64)
		switch fields[0] {
		case "Rss:":
			in += kB << 10
		case "Size:":
			all += kB << 10
		}
	}
	return in, all
}

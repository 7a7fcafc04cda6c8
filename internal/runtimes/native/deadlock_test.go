package native_test

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/corewalk/corewalk"
	"github.com/corewalk/corewalk/internal/fixture"
	"github.com/corewalk/corewalk/tasks"
	"github.com/corewalk/corewalk/unwind"
)

// build compiles the program of deadlocks; the test is skipped without a compiler.
func build(t *testing.T, cc string, flags ...string) string {
	t.Helper()
	return compile(t, cc, "deadlock.c", append([]string{"-g", "-O1", "-pthread"}, flags...)...)
}

// compile compiles a program of testdata; the test is skipped without a compiler.
func compile(t *testing.T, cc, source string, flags ...string) string {
	t.Helper()
	return fixture.Compile(t, cc, "tasks/"+source, flags...)
}

// core runs the program until it aborts.
func core(t *testing.T, exe string, args ...string) string {
	t.Helper()
	return fixture.Crash(t, nil, exe, args...)
}

// read lists the threads of a core with what each waits for.
func read(t *testing.T, core, exe string, o ...corewalk.Option) []*tasks.Task {
	t.Helper()
	ctx := context.Background()
	target, err := corewalk.Open(ctx, core, append(o, corewalk.WithExecutable(exe))...)
	if err != nil {
		t.Fatal(err)
	}
	defer target.Close()
	facts, err := target.Facts(corewalk.FactsOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer facts.Close()
	all, err := facts.Waits(ctx)
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// show writes what tasks wait for, with threads numbered from 0 in the order of their ids.
func show(all []*tasks.Task) string {
	all = slices.SortedFunc(slices.Values(all), func(a, b *tasks.Task) int { return cmp.Compare(a.ID, b.ID) })
	number := map[uint64]int{}
	for i, t := range all {
		number[t.ID] = i
	}
	var b strings.Builder
	for i, t := range all {
		w := t.Wait
		if w == nil {
			continue
		}
		fmt.Fprintf(&b, "%d %s %s %q", i, w.Kind, w.Object.Type, w.Object.Detail)
		if w.Timed {
			b.WriteString(" timed")
		}
		if !w.Proved {
			b.WriteString(" unproved")
		}
		for _, h := range w.Holders {
			fmt.Fprintf(&b, " held by %d %s", number[h.ID], h.Certainty)
		}
		if w.Note != "" && w.Note != "the thread that crashed" { // which one crashed is another matter
			b.WriteString(" (" + w.Note + ")")
		}
		b.WriteString("\n")
	}
	for _, d := range deadlocks(all) {
		fmt.Fprintf(&b, "deadlock %s:", d.Certainty)
		for _, t := range d.Tasks {
			fmt.Fprintf(&b, " %d", number[t.ID])
		}
		for _, t := range d.Behind {
			fmt.Fprintf(&b, " behind %d", number[t.ID])
		}
		b.WriteString("\n")
	}
	return b.String()
}

// deadlocks are those of a process whose threads are among the tasks.
func deadlocks(all []*tasks.Task) []tasks.Deadlock {
	g := tasks.NewGraph(all)
	var ids []uint64
	for _, t := range all {
		if t.Kind == tasks.KindThread {
			ids = append(ids, t.ID)
		}
	}
	g.Threads(ids)
	return g.Deadlocks()
}

// circle is what show writes for a circle of threads: each waits for the next, another for the
// first mutex. Which thread came first is up to the scheduler, so numbers do not count.
func circle(n int, detail string) string {
	return fmt.Sprintf("%d waits for pthread_mutex_t %q held certain, %[1]d taken at one place; deadlock certain of %[3]d, 1 behind", n+1, detail, n)
}

// summary counts what show writes of a circle.
func summary(all []*tasks.Task) string {
	n, taken := 0, 0
	detail := ""
	places := map[unwind.Address]bool{}
	for _, t := range all {
		if w := t.Wait; w != nil && w.Proved && w.Object.Type == "pthread_mutex_t" && len(w.Holders) == 1 && w.Holders[0].Certainty == tasks.Certain {
			n++
			detail = w.Object.Detail
			if at := w.Holders[0].AcquiredAt; at != nil {
				taken++
				places[at.PC] = true
			}
		}
	}
	s := fmt.Sprintf("%d waits for pthread_mutex_t %q held certain, %d taken", n, detail, taken)
	if len(places) == 1 {
		s += " at one place"
	}
	for _, d := range tasks.NewGraph(all).Deadlocks() {
		s += fmt.Sprintf("; deadlock %s of %d, %d behind", d.Certainty, len(d.Tasks), len(d.Behind))
	}
	return s
}

// A library is a C library to build programs with: the system's, or one below a directory of COREWALK_SYSROOTS, which
// has the files of Debian's libc6, libc6-dev and linux-libc-dev of another release.
type library struct {
	name  string
	flags []string
}

func libraries(t *testing.T) []library {
	all := []library{{name: "system"}}
	if os.Getenv("COREWALK_SYSROOTS") == "" {
		t.Run("other releases", func(t *testing.T) {
			t.Skip("no C library of another release is installed: COREWALK_SYSROOTS names directories with the files of Debian's libc6, libc6-dev and linux-libc-dev")
		})
	}
	for _, root := range filepath.SplitList(os.Getenv("COREWALK_SYSROOTS")) {
		libs := filepath.Join(root, "usr/lib/x86_64-linux-gnu")
		all = append(all, library{root, []string{"--sysroot=" + root, "-B" + libs, "-L" + libs, "-Wl,--dynamic-linker=" + filepath.Join(root, "lib64/ld-linux-x86-64.so.2"),
			"-Wl,-rpath," + filepath.Join(root, "lib/x86_64-linux-gnu")}})
	}
	return all
}

func TestCircles(t *testing.T) {
	fixture.Long(t)
	for _, l := range libraries(t) {
		t.Run(l.name, func(t *testing.T) { circles(t, l) })
	}
}

func circles(t *testing.T, l library) {
	exe := build(t, "gcc", l.flags...)
	for _, kind := range []struct{ name, detail string }{
		{"normal", ""}, {"recursive", "recursive"}, {"errorcheck", "error-checking"}, {"adaptive", ""}, {"robust", "robust"},
	} {
		for _, n := range []int{2, 3, 5} {
			t.Run(fmt.Sprintf("%s %d", kind.name, n), func(t *testing.T) {
				all := read(t, core(t, exe, kind.name, fmt.Sprint(n)), exe)
				if got, want := summary(all), circle(n, kind.detail); got != want {
					t.Errorf("got %s\nwant %s\n%s", got, want, show(all))
				}
			})
		}
	}
}

// TestWaits has one program for each kind of wait. Threads are numbered in the order of their ids, which is that of
// their creation.
func TestWaits(t *testing.T) {
	fixture.Long(t)
	for _, l := range libraries(t) {
		t.Run(l.name, func(t *testing.T) { waits(t, l) })
	}
}

func waits(t *testing.T, l library) {
	exe := build(t, "gcc", l.flags...)
	for _, c := range []struct{ args, want string }{
		{"self", `
1 lock pthread_mutex_t "" held by 1 certain
deadlock certain: 1
`},
		{"join", `
0 join  "" held by 1 certain
1 join  "" held by 0 certain
deadlock certain: 0 1
`},
		{"rwlock", `
1 lock pthread_mutex_t "" held by 2 certain
2 read-lock pthread_rwlock_t "locked for writing" held by 1 certain
deadlock certain: 1 2
`},
		{"none", `
1 condition pthread_cond_t ""
2 semaphore sem_t ""
3 barrier pthread_barrier_t "2 of 3 arrived"
4 barrier pthread_barrier_t "2 of 3 arrived"
5 lock pthread_mutex_t "" timed held by 0 certain
6 lock pthread_mutex_t "" held by 0 certain
7 lock pthread_rwlock_t "2 readers" held by 0 possible (readers are not recorded)
`},
		{"mapped", `
1 lock pthread_mutex_t "shared" held by 0 possible (shared memory: a thread of another process may have the same id)
`},
		{"abandoned", `
1 lock pthread_mutex_t "" (the thread that held it has ended)
`},
	} {
		t.Run(c.args, func(t *testing.T) {
			if got := "\n" + show(read(t, core(t, exe, strings.Fields(c.args)...), exe)); got != c.want {
				t.Errorf("got %s\nwant %s", got, c.want)
			}
		})
	}
}

// TestWaitsElsewhere: what TestWaits shows of x86-64 is shown of other processors and C libraries. The C libraries of i686 and arm64 have no
// symbols for the functions in which threads wait.
func TestWaitsElsewhere(t *testing.T) {
	fixture.Long(t)
	const (
		circle = `
0 join  "" held by 1 certain
1 join  "" held by 0 certain
deadlock certain: 0 1
`
		all = `
1 condition pthread_cond_t ""
2 semaphore sem_t ""
3 barrier pthread_barrier_t "2 of 3 arrived"
4 barrier pthread_barrier_t "2 of 3 arrived"
5 lock pthread_mutex_t "" timed held by 0 certain
6 lock pthread_mutex_t "" held by 0 certain
7 lock pthread_rwlock_t "2 readers" held by 0 possible (readers are not recorded)
`
		ofMusl = `
1 condition pthread_cond_t ""
2 semaphore sem_t ""
3 barrier pthread_barrier_t ""
4 barrier pthread_barrier_t ""
5 lock pthread_mutex_t "" timed held by 0 possible (musl does not record who holds such a mutex)
6 lock pthread_mutex_t "" held by 0 possible (musl does not record who holds such a mutex)
7 lock pthread_rwlock_t "2 readers" held by 0 possible (readers are not recorded)
`
		mapped = `
1 lock pthread_mutex_t "shared" held by 0 possible (shared memory: a thread of another process may have the same id)
`
		abandoned = `
1 lock pthread_mutex_t "priority-inheriting" unproved (the thread that held it has ended)
`
		ended = `
1 lock pthread_mutex_t "" (the thread that held it has ended)
`
		own = `
1 lock pthread_mutex_t "" held by 1 certain
deadlock certain: 1
`
	)
	for _, e := range elsewhere() {
		t.Run(e.name, func(t *testing.T) {
			t.Parallel()
			exe := build(t, e.cc, e.flags...)
			for mode, want := range map[string]string{"join": circle, "none": all, "mapped": mapped, "pi-abandoned": abandoned, "abandoned": ended, "self": own} {
				if e.cc == "musl-gcc" && mode == "none" {
					want = ofMusl
				}
				if e.cc == "musl-gcc" && (want == mapped || want == ended || want == own) {
					continue // it records no owner
				}
				if strings.HasPrefix(e.name, "i686") { // there, main aligns its stack, and what it passes in memory is not found
					want = strings.ReplaceAll(want, " held by 0 possible (readers", " (readers")
				}
				if got := "\n" + show(e.read(t, exe, mode)); got != want {
					t.Errorf("%s: got %s\nwant %s", mode, got, want)
				}
			}
		})
	}
}

// A platform is a way to build programs for another processor or C library, and to run them.
type platform struct {
	name, cc string
	flags    []string
	run      []string // runs the program
	kinds    []string // of mutexes, for TestCirclesElsewhere
}

// arm64 has Debian's libc6-dev-arm64-cross.
const arm64 = "/usr/aarch64-linux-gnu"

func elsewhere() []platform {
	clang := []string{"--target=aarch64-linux-gnu", "-fuse-ld=lld"}
	return []platform{
		{"i686", "gcc", []string{"-m32"}, nil, []string{"normal", "recursive", "errorcheck", "adaptive", "robust"}},
		{"i686 static", "gcc", []string{"-m32", "-static"}, nil, []string{"normal"}},
		{"musl", "musl-gcc", nil, nil, []string{"recursive", "errorcheck", "robust"}},
		{"musl static", "musl-gcc", []string{"-static"}, nil, []string{"recursive", "errorcheck", "robust"}},
		{"arm64", "clang", clang, []string{"qemu-aarch64", "-L", arm64}, []string{"normal", "recursive"}},
		{"arm64 static", "clang", append(clang, "-static"), []string{"qemu-aarch64"}, []string{"normal"}},
	}
}

// read runs the program of deadlocks, and lists the threads of its core.
func (e *platform) read(t *testing.T, exe string, args ...string) []*tasks.Task {
	var o []corewalk.Option
	if e.run != nil {
		fixture.Tools(t)
		if _, err := exec.LookPath(e.run[0]); err != nil {
			t.Skip("qemu-aarch64 is not installed: Debian's qemu-user")
		}
		o = append(o, corewalk.WithSysroot(arm64))
	}
	command := append(append(slices.Clone(e.run), exe), args...)
	return read(t, core(t, command[0], command[1:]...), exe, o...)
}

// TestCirclesElsewhere: circles in programs of other C libraries and processors.
func TestCirclesElsewhere(t *testing.T) {
	fixture.Long(t)
	for _, c := range append(elsewhere(), platform{"static", "gcc", []string{"-static"}, nil, []string{"normal", "robust"}}) {
		t.Run(c.name, func(t *testing.T) {
			exe := build(t, c.cc, c.flags...)
			for _, kind := range c.kinds {
				for _, n := range []int{2, 3, 5} {
					all := c.read(t, exe, kind, fmt.Sprint(n))
					detail := map[string]string{"recursive": "recursive", "errorcheck": "error-checking", "robust": "robust"}[kind]
					if c.cc == "musl-gcc" && kind == "robust" {
						detail = "robust"
					}
					if got, want := summary(all), circle(n, detail); got != want {
						t.Errorf("%s %d: got %s\nwant %s\n%s", kind, n, got, want, show(all))
					}
				}
			}
		})
	}
}

// TestNameless: circles of mutexes of musl that do not record who holds them, and readers' locks, are possible by the code of the threads.
func TestNameless(t *testing.T) {
	if os.Getenv("COREWALK_LONG") == "" {
		t.Skip("builds programs: set COREWALK_LONG=1")
	}
	for _, flags := range [][]string{nil, {"-O2"}, {"-static"}, {"-O2", "-static"}} {
		exe := build(t, "musl-gcc", flags...)
		for _, n := range []int{2, 3, 5} {
			all := read(t, core(t, exe, "normal", fmt.Sprint(n)), exe)
			found := tasks.NewGraph(all).Deadlocks()
			if len(found) != 1 || found[0].Certainty != tasks.Possible || len(found[0].Tasks) != n || len(found[0].Behind) != 1 {
				t.Errorf("%v, %d threads: %s", flags, n, show(all))
			}
		}
		all := read(t, core(t, exe, "self"), exe)
		if want := "1 lock pthread_mutex_t \"\" held by 1 possible (musl does not record who holds such a mutex)\ndeadlock possible: 1\n"; show(all) != want {
			t.Errorf("%v: got %s, want %s", flags, show(all), want)
		}
	}
	for _, cc := range []string{"gcc", "musl-gcc"} {
		exe := build(t, cc)
		all := read(t, core(t, exe, "readers"), exe)
		found := tasks.NewGraph(all).Deadlocks()
		if len(found) != 1 || found[0].Certainty != tasks.Possible || len(found[0].Tasks) != 2 {
			t.Errorf("%s: %s", cc, show(all))
		}
	}
}

// TestRefused: the kernel refuses the last lock of a circle of priority-inheriting mutexes. The code that wanted it tells which it was.
func TestRefused(t *testing.T) {
	if os.Getenv("COREWALK_LONG") == "" {
		t.Skip("builds programs: set COREWALK_LONG=1")
	}
	for _, flags := range [][]string{nil, {"-O2", "-static"}, {"-m32"}} {
		exe := build(t, "gcc", flags...)
		for kind, behind := range map[string]int{"pi": 1, "pi-pointers": 0} {
			for _, n := range []int{2, 3, 5} {
				all := read(t, core(t, exe, kind, fmt.Sprint(n)), exe)
				found := tasks.NewGraph(all).Deadlocks()
				if kind == "pi" && len(found) == 0 {
					t.Logf("%s %v, %d threads: the refused mutex was not found: %s", kind, flags, n, show(all)) // the code computed its address, and keeps it nowhere
					continue
				}
				note := "(the lock was refused: there would be a deadlock)"
				if len(found) == 1 && found[0].Certainty == tasks.Possible && kind == "pi" { // without the C library's debug information
					note = "(a lock was refused, possibly this one: there would be a deadlock)"
				}
				if len(found) != 1 || len(found[0].Tasks) != n || len(found[0].Behind) != behind || !strings.Contains(show(all), note) {
					t.Errorf("%s %v, %d threads: %s", kind, flags, n, show(all))
				}
			}
		}
		all := read(t, core(t, exe, "pi-abandoned"), exe)
		if want := "1 lock pthread_mutex_t \"priority-inheriting\" unproved (the thread that held it has ended)\n"; show(all) != want {
			t.Errorf("%v: got %s, want %s", flags, show(all), want)
		}
	}
}

// TestForked: a child has the locks of threads that only its parent has.
func TestForked(t *testing.T) {
	if os.Getenv("COREWALK_LONG") == "" {
		t.Skip("builds programs: set COREWALK_LONG=1")
	}
	exe := build(t, "gcc")
	all := read(t, core(t, exe, "forked"), exe)
	got := regexp.MustCompile(`thread \d+`).ReplaceAllString(show(all), "thread N")
	if want := "0 lock pthread_mutex_t \"\" (held by thread N of the process that this one was forked from)\n"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// TestLanguages has one program for each kind of wait of C++, Rust and OpenMP.
func TestLanguages(t *testing.T) {
	fixture.Long(t)
	for _, c := range []struct {
		cc, source string
		flags      []string
		want       map[string]string
	}{
		{"g++", "waits.cc", cxxFlags(), cxxWaits()},
		{"rustc", "waits.rs", []string{"-g", "-O"}, map[string]string{
			"mutex":   `1 lock std::sync::Mutex "" held by 0 possible`,
			"read":    `1 read-lock std::sync::RwLock "locked for writing" held by 0 possible`,
			"write":   `1 lock std::sync::RwLock "1 readers" held by 0 possible (readers are not recorded)`,
			"condvar": `1 condition std::sync::Condvar ""`,
			"once":    `1 timer  ""|2 once std::sync::Once "" held by 1 certain`,
			"channel": `1 channel-receive std::sync::mpsc channel ""`,
			"full":    `1 channel-send std::sync::mpsc channel ""`,
			"park":    `1 signal std::thread::Thread::unpark ""`,
			"join":    `1 timer  ""|2 join  "" held by 1 certain`,
			"barrier": `1 barrier std::sync::Barrier ""`,
		}},
		{"gcc", "waits_omp.c", []string{"-g", "-O1", "-fopenmp"}, map[string]string{
			"critical": `1 lock lock of OpenMP ""`,
			"lock":     `1 lock lock of OpenMP "" held by 0 possible`,
			"nest":     `1 lock lock of OpenMP "" held by 0 possible`,
			"barrier":  `1 barrier barrier of OpenMP ""`,
		}},
	} {
		t.Run(c.cc, func(t *testing.T) {
			exe := compile(t, c.cc, c.source, c.flags...)
			i686 := ""
			if c.cc != "rustc" {
				i686 = compile(t, c.cc, c.source, append(c.flags, "-m32")...)
			}
			for kind, want := range c.want {
				if i686 != "" {
					// Arguments that were pushed are not always known.
					less := strings.ReplaceAll(strings.ReplaceAll(want, " held by 0 possible", ""), " possible", "")
					got := strings.ReplaceAll(strings.TrimSpace(show(read(t, core(t, i686, kind), i686))), "\n", "|")
					if got = strings.ReplaceAll(got, " held by 0 possible", ""); strings.ReplaceAll(got, " possible", "") != less {
						t.Errorf("%s, i686: got %s\nwant %s", kind, got, less)
					}
				}
				got := strings.ReplaceAll(strings.TrimSpace(show(read(t, core(t, exe, kind), exe))), "\n", "|")
				if got != want {
					t.Errorf("%s: got %s\nwant %s", kind, got, want)
				}
			}
		})
	}
}

// TestParkingLot: waits at the locks of parking_lot, as Debian has it.
func TestParkingLot(t *testing.T) {
	fixture.Long(t)
	exe := fixture.Cargo(t, "tasks/waits_parking_lot.rs", "parking_lot", `"0.12"`, true)
	for kind, want := range map[string]string{
		"mutex":   `1 lock parking_lot::Mutex "" held by 0 possible`,
		"read":    `1 read-lock parking_lot::RwLock "" held by 0 possible`,
		"write":   `1 lock parking_lot::RwLock "" held by 0 possible`,
		"condvar": `1 condition parking_lot::Condvar ""`,
	} {
		if got := strings.TrimSpace(show(read(t, core(t, exe, kind), exe))); got != want {
			t.Errorf("%s: got %s\nwant %s", kind, got, want)
		}
	}
}

// TestContainer: a core that was taken outside of the process's pid namespace, in which threads have other ids.
func TestContainer(t *testing.T) {
	fixture.Long(t)
	exe := build(t, "gcc")
	dir := t.TempDir()
	script := `unshare -p -f --mount-proc "$0" normal 2 & outer=$!
sleep 0.25
inner=$(pgrep -P $outer) && gcore -o core $inner
kill -9 $inner; wait`
	cmd := exec.Command("sh", "-c", script, exe)
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); !strings.Contains(string(out), "Saved corefile") {
		t.Skipf("unshare and gcore, of Debian's util-linux and gdb, need root: %v: %s", err, out)
	}
	all := read(t, fixture.CoreIn(t, dir), exe)
	if got, want := summary(all), circle(2, ""); got != want {
		t.Errorf("got %s\nwant %s\n%s", got, want, show(all))
	}
}

func cxxFlags() []string { return []string{"-std=c++20", "-g", "-O1", "-pthread"} }

// cxxWaits is what show writes of each kind of wait in waits.cc.
func cxxWaits() map[string]string {
	return map[string]string{
		"mutex":     `1 lock pthread_mutex_t "" held by 0 certain`,
		"recursive": `1 lock pthread_mutex_t "recursive" held by 0 certain`,
		"shared":    `1 read-lock pthread_rwlock_t "locked for writing" held by 0 certain`,
		"exclusive": `1 lock pthread_rwlock_t "1 readers" held by 0 possible (readers are not recorded)`,
		"condition": `1 condition pthread_cond_t ""`,
		"future":    `1 future shared state of a std::future ""`,
		"latch":     `1 barrier std::latch ""`,
		"barrier":   `1 barrier std::barrier ""`,
		"semaphore": `1 semaphore std::counting_semaphore ""`,
		"atomic":    `1 address std::atomic<int> ""`,
		"once":      `1 once pthread_once_t "" held by 1 certain|deadlock certain: 1`,
		"twice":     `1 signal  ""|2 once pthread_once_t "" held by 1 certain`,
		"static":    `1 signal  ""|2 once guard of a static variable "" held by 1 possible`,
		"spin":      `1 lock pthread_spinlock_t "" unproved (spins; who holds it is not recorded)`,
		"circle":    `1 lock pthread_mutex_t "" held by 2 certain|2 lock pthread_mutex_t "" held by 1 certain|deadlock certain: 1 2`,
	}
}

// TestLanguagesARM64: waits in C++ on arm64 are those of x86-64. Who runs what is done once is not known there, and qemu has
// another system call for pause.
func TestLanguagesARM64(t *testing.T) {
	fixture.Long(t)
	if _, err := os.Stat("/usr/aarch64-linux-gnu/include/c++"); err != nil {
		t.Skip("the library of C++ for arm64 is not installed: Debian's libstdc++-12-dev-arm64-cross")
	}
	exe := compile(t, "clang++", "waits.cc", append(cxxFlags(), "--target=aarch64-linux-gnu", "-fuse-ld=lld")...)
	e := platform{run: []string{"qemu-aarch64", "-L", arm64}}
	once := regexp.MustCompile(`^1 signal  ""\||(once pthread_once_t ""|once guard of a static variable "") held by 1 \w+|\|deadlock certain: 1$`)
	for kind, want := range cxxWaits() {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			got := strings.ReplaceAll(strings.TrimSpace(show(e.read(t, exe, kind))), "\n", "|")
			if want = once.ReplaceAllString(want, "$1"); once.ReplaceAllString(got, "$1") != want {
				t.Errorf("got %s\nwant %s", got, want)
			}
		})
	}
}

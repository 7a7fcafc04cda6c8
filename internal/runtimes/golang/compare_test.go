package golang_test

import (
	"bufio"
	"context"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/corewalk/corewalk"
	"github.com/corewalk/corewalk/internal/fixture"
	"github.com/corewalk/corewalk/tasks"
	"github.com/corewalk/corewalk/unwind"
)

// A printed goroutine is what the program itself printed when it was killed.
type printed struct {
	id      uint64
	state   string // with "locked to thread", without minutes
	frames  []string
	created string
	parent  uint64
}

var (
	headLine    = regexp.MustCompile(`^goroutine (\d+)(?: gp=\S+ m=\S+(?: mp=\S+)?)? \[(.*)\]:$`)
	frameLine   = regexp.MustCompile(`^(\S.*)\(.*\)$`)
	placeLine   = regexp.MustCompile(`^\t(.*:\d+)(?: |$)`)
	createdLine = regexp.MustCompile(`^created by (\S+)(?: in goroutine (\d+))?$`)
	minutes     = regexp.MustCompile(`, \d+ minutes|, synctest (?:bubble|group) \d+`)
)

// readPrinted reads the goroutines in what a Go program wrote when it was killed. The first
// time that a goroutine was printed with its stack counts: each thread prints its own once more.
func readPrinted(text string) map[uint64]*printed {
	all := map[uint64]*printed{}
	var g *printed
	var function string
	created := false
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		if m := headLine.FindStringSubmatch(line); m != nil {
			id, _ := strconv.ParseUint(m[1], 10, 64)
			g = &printed{id: id, state: minutes.ReplaceAllString(m[2], "")}
			if old := all[id]; old == nil || len(old.frames) == 0 {
				all[id] = g
			}
			created = false
			continue
		}
		if g == nil || line == "" {
			g = nil
			continue
		}
		if m := createdLine.FindStringSubmatch(line); m != nil {
			g.created, created = m[1], true
			g.parent, _ = strconv.ParseUint(m[2], 10, 64)
		} else if m := placeLine.FindStringSubmatch(line); m != nil {
			if created {
				g.created += " " + m[1]
			} else if function != "" {
				g.frames = append(g.frames, function+" "+m[1])
			}
			function = ""
		} else if m := frameLine.FindStringSubmatch(line); m != nil {
			function = m[1]
		}
	}
	return all
}

// crash builds a program with a release of Go and flags for the linker, lets it crash, and
// returns its core, the program, and what it printed.
func crash(t *testing.T, release, ldflags string, args ...string) (core, program, text string) {
	t.Helper()
	files := []string{"main.go", "raw.go", "park.go", "park_old.go", "more_old.go"} // Go 1.19 refuses a path here
	minor := minorOf(release)
	if minor >= 21 {
		files[3] = "park_new.go"
	}
	if minor >= 23 {
		files[4] = "more_new.go"
	}
	if minor == 24 {
		files = append(files, "more_group.go")
		t.Setenv("GOEXPERIMENT", "synctest")
	}
	if minor >= 25 {
		files = append(files, "more_cleanup.go", "more_bubble.go")
	}
	program = build(t, "go-tasks", release, ldflags, files...)
	core, text = kill(t, program, args...)
	return core, program, text
}

// minorOf returns the second number of a release of Go.
func minorOf(release string) int {
	minor, _ := strconv.Atoi(strings.Split(release, ".")[1])
	return minor
}

// kill runs a program until it says that it is ready, or ends by itself, and lets it crash. It returns the core and what it printed.
func kill(t *testing.T, program string, args ...string) (core, text string) {
	t.Helper()
	for range 3 {
		if core, text, died := killOnce(t, program, args...); died {
			return core, text
		}
	}
	t.Fatalf("%s %v does not end when it is told to crash", program, args)
	return "", ""
}

// killOnce is kill. One in a hundred programs does not die, as Go's runtime waits for another thread of it for minutes: died is false then.
func killOnce(t *testing.T, program string, args ...string) (core, text string, died bool) {
	t.Helper()
	dir := t.TempDir()
	if os.Getenv("GOARCH") == "arm64" {
		program, args = emulator, append([]string{program}, args...)
	}
	run := fixture.Dies(dir, program, args...)
	run.Env = append(os.Environ(), "GOTRACEBACK=crash")
	var stderr strings.Builder
	run.Stderr = &stderr
	out, err := run.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := run.Start(); err != nil {
		t.Fatal(err)
	}
	for lines := bufio.NewScanner(out); ; {
		if !lines.Scan() || lines.Text() == "ready" {
			break
		}
	}
	time.Sleep(20 * time.Millisecond)
	run.Process.Signal(os.Signal(quit))
	stuck := time.AfterFunc(20*time.Second, func() { run.Process.Kill() })
	run.Wait()
	if !stuck.Stop() {
		return "", "", false
	}
	return fixture.CoreIn(t, dir), stderr.String(), true
}

func TestAgainstGo(t *testing.T) {
	fixture.Long(t)
	againstGo(t)
}

// TestAgainstGo386 is TestAgainstGo for i386, which an x86-64 kernel runs, too.
func TestAgainstGo386(t *testing.T) {
	fixture.Long(t)
	t.Setenv("GOARCH", "386")
	againstGo(t)
}

// TestAgainstGoARM64 is TestAgainstGo for arm64, which qemu runs.
func TestAgainstGoARM64(t *testing.T) {
	fixture.Long(t)
	forARM64(t)
	againstGo(t)
}

// forARM64 has a test's programs built for arm64.
func forARM64(t *testing.T) {
	fixture.Tools(t)
	if _, err := exec.LookPath(emulator); err != nil {
		t.Skip(emulator + " is not installed: Debian's qemu-user")
	}
	t.Setenv("GOARCH", "arm64")
}

// emulator runs programs for arm64.
const emulator = "qemu-aarch64"

func againstGo(t *testing.T) {
	eachBuild(t, func(t *testing.T, release, ldflags string) {
		core, program, text := crash(t, release, ldflags, "1000", strconv.Itoa(reasons(release)))
		compare(t, core, program, readPrinted(text), reasons(release))
		unknown(t, core, program, release, ldflags)
	})
}

// eachBuild runs a test for every Go release, with symbols and without.
func eachBuild(t *testing.T, test func(t *testing.T, release, ldflags string)) {
	for _, release := range releases(t) {
		for _, ldflags := range []string{"", "-s -w"} {
			t.Run(release+ldflags, func(t *testing.T) { test(t, release, ldflags) })
		}
	}
}

// walkable opens a core of a program, until the test ends, and a walker of it.
func walkable(t *testing.T, core, program string) (*corewalk.Target, *unwind.Walker) {
	t.Helper()
	target, err := corewalk.Open(context.Background(), core, corewalk.WithExecutable(program))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { target.Close() })
	w, err := target.NewWalker()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { w.Close() })
	return target, w
}

// releases lists this machine's release of Go, and the toolchains that have been fetched.
func releases(t *testing.T) []string {
	out, err := exec.Command("go", "env", "GOVERSION", "GOMODCACHE").Output()
	if err != nil {
		t.Skip("Go is not installed: Debian's golang-go")
	}
	f := strings.Fields(string(out))
	found := []string{strings.TrimPrefix(f[0], "go")}
	dirs, _ := filepath.Glob(filepath.Join(f[1], "golang.org", "toolchain@v0.0.1-go1.*linux-amd64"))
	for _, d := range dirs {
		_, v, _ := strings.Cut(filepath.Base(d), "-go")
		v, _, _ = strings.Cut(v, ".linux")
		if v != found[0] {
			found = append(found, v)
		}
	}
	for minor := range newest + 1 - oldest {
		minor += oldest
		if !slices.ContainsFunc(found, func(v string) bool { return minorOf(v) == minor }) {
			t.Run(fmt.Sprintf("go1.%d", minor), func(t *testing.T) {
				t.Skipf("Go 1.%d is not installed: GOTOOLCHAIN=go1.%d.0 go version fetches it, Debian's golang-go is another", minor, minor)
			})
		}
	}
	return found
}

// The releases of Go, by their second number, that tests want.
const (
	oldest = 18
	newest = 26
)

// reasons is how many words a release of Go has for what goroutines wait for.
func reasons(release string) int {
	switch minor := minorOf(release); {
	case minor < 20:
		return 26
	case minor < 22:
		return 31
	case minor < 23:
		return 36
	case minor < 24:
		return 37
	case minor < 25:
		return 43
	}
	return 46
}

func compare(t *testing.T, core, program string, want map[uint64]*printed, reasons int) {
	ctx := context.Background()
	target, w := walkable(t, core, program)
	seen := map[uint64]bool{}
	states, parked := map[string]bool{}, map[string]bool{}
	labelled := ""
	bad := 0
	fail := func(format string, args ...any) {
		if bad++; bad <= 20 {
			t.Errorf(format, args...)
		}
	}
	frames := 0
	for task, err := range target.Tasks(ctx) {
		if err != nil {
			t.Error(err)
			continue
		}
		if task.Kind != tasks.KindGoroutine {
			continue
		}
		if seen[task.ID] {
			fail("%s is listed twice", task.Key)
		}
		seen[task.ID] = true
		for _, l := range task.Labels {
			labelled += l.Key + "=" + l.Value + " "
		}
		if task.Locked && task.ID != 1 && task.LockedTo <= 0 {
			fail("%s is locked to a thread that is not known", task.Key)
		}
		p := want[task.ID]
		if p == nil {
			fail("%s [%s] was not printed", task.Key, task.Status)
			continue
		}
		state := task.Status
		if task.Locked {
			state += ", locked to thread"
		}
		states[task.Status] = true
		if strings.HasPrefix(p.created, "main.parkAll ") {
			parked[task.Status] = true
		}
		if state != p.state && !(p.state == "running" || task.State == tasks.StateRunning || task.State == tasks.StateRunnable) {
			fail("%s: state %q, printed %q", task.Key, state, p.state)
		}
		if created := creation(target, task); created != p.created {
			fail("%s: created by %q, printed %q", task.Key, created, p.created)
		}
		if task.Created != nil && task.Created.By.ID != p.parent {
			fail("%s: created by %v, printed %d", task.Key, task.Created.By, p.parent)
		}
		if task.Start == nil || len(p.frames) == 0 || task.State == tasks.StateRunnable {
			continue // it has gone on since
		}
		stack, err := corewalk.WalkTask(ctx, w, task)
		if err != nil {
			fail("%s: %v", task.Key, err)
		}
		got := names(target, stack)
		frames += len(got)
		if g, w := strings.Join(got, "\n"), strings.Join(p.frames, "\n"); g != w {
			fail("%s [%s]:\n%s\nprinted:\n%s", task.Key, task.Status, g, w)
		}
	}
	if labelled != "request=42 user=anna " {
		t.Errorf("labels %q", labelled)
	}
	for id, p := range want {
		if !seen[id] && id != 0 {
			fail("goroutine %d [%s] is not listed", id, p.state)
		}
	}
	t.Logf("%d goroutines in %d states, %d frames compared, %d differ: %q", len(seen), len(states), frames, bad, slices.Sorted(maps.Keys(states)))
	if len(seen) < 1000 || len(parked) != reasons || !states["runnable"] || !states["syscall"] {
		t.Errorf("%d goroutines in %d states, of which %d are the runtime's words for waits, not %d", len(seen), len(states), len(parked), reasons)
	}
}

// names returns function and place of each call of a stack, as Go prints them.
func names(target *corewalk.Target, s *unwind.Stack) []string {
	lookup := target.SymbolLookup().(unwind.CallLookup)
	var out []string
	for _, f := range s.Frames {
		calls, _ := lookup.LookupCalls(f.LookupAddr(), nil)
		for _, c := range calls {
			out = append(out, fmt.Sprintf("%s %s:%d", withoutTypes(c.Name), c.File, c.Line))
		}
	}
	return out
}

func creation(target *corewalk.Target, task *tasks.Task) string {
	if task.Created == nil {
		return ""
	}
	calls, _ := target.SymbolLookup().(unwind.CallLookup).LookupCalls(task.Created.PC-1, nil)
	if len(calls) == 0 {
		return "?"
	}
	c := calls[len(calls)-1]
	return fmt.Sprintf("%s %s:%d", withoutTypes(c.Name), c.File, c.Line)
}

// withoutTypes writes the name of a generic function as Go prints it, without its types.
func withoutTypes(name string) string {
	open, end := strings.Index(name, "["), strings.LastIndex(name, "]")
	if open < 0 || end < open {
		return name
	}
	return name[:open] + "[...]" + name[end+1:]
}

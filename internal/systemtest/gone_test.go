package systemtest

import (
	"context"
	"debug/elf"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/corewalk/corewalk"
	"github.com/corewalk/corewalk/internal/fixture"
	"github.com/corewalk/corewalk/report"
)

// goneChain are the functions of testdata/src/gone.c that were active, innermost first.
var goneChain = []string{"innermost", "third", "second", "first", "main"}

// gone runs a build of gone.c under a name of its own, and returns the file and the core.
func gone(t *testing.T, name, filter string, args []string, flags ...string) (exe, core string) {
	t.Helper()
	if runtime.GOOS != "linux" || runtime.GOARCH != "amd64" {
		t.Skip("the frames that the test expects are those of x86-64")
	}
	built, err := os.ReadFile(fixture.Compile(t, "gcc", "gone.c", append([]string{"-O2", "-g", "-fno-stack-protector", "-Wl,-z,now"}, flags...)...))
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	exe = filepath.Join(dir, name)
	if err := os.WriteFile(exe, built, 0o700); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("sh", append([]string{"-c", "echo " + filter + ` > /proc/self/coredump_filter; ulimit -c unlimited; exec "$@"`, "sh", exe}, args...)...)
	cmd.Dir = dir
	cmd.Run() // fails: the program dies
	return exe, fixture.CoreIn(t, dir)
}

// goneReport analyses the core.
func goneReport(t *testing.T, core string, opts ...corewalk.Option) *report.Report {
	t.Helper()
	target, err := corewalk.Open(context.Background(), core, opts...)
	if err != nil {
		t.Fatal(err)
	}
	defer target.Close()
	r, err := target.Analyze(context.Background(), corewalk.AnalyzeOptions{})
	if err != nil || len(r.Threads) != 1 {
		t.Fatal(r, err)
	}
	return r
}

// byFile returns the functions of a file in which the frames of its module are, up to main.
func byFile(t *testing.T, exe string, frames []report.Frame) (names []string) {
	t.Helper()
	f, err := elf.Open(exe)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	syms, err := f.Symbols()
	if err != nil {
		t.Fatal(err)
	}
	for _, frame := range frames {
		name, offset := "?", uint64(frame.Offset)
		for _, s := range syms {
			if elf.ST_TYPE(s.Info) == elf.STT_FUNC && offset >= s.Value && offset < s.Value+s.Size {
				name = s.Name
			}
		}
		if names = append(names, name); name == "main" {
			break
		}
	}
	return names
}

// Without the file of a program, and without its code in the core, return addresses into it are all that is left of its frames.
func TestFileGone(t *testing.T) {
	exe, core := gone(t, "program", "0x33", nil)
	away := filepath.Join(t.TempDir(), "away")
	if err := os.Rename(exe, away); err != nil {
		t.Fatal(err)
	}
	r := goneReport(t, core)
	frames := r.Threads[0].Frames
	if got := byFile(t, away, frames); !slices.Equal(got, goneChain) {
		t.Errorf("frames in %q, want %q", got, goneChain)
	}
	for _, f := range frames[1:len(goneChain)] {
		if f.Trust != report.TrustScan {
			t.Errorf("frame %d: %s", f.Index, f.Trust)
		}
	}
	if r.Complete() {
		t.Error("the report passes for complete")
	}
	if !slices.ContainsFunc(r.Warnings, func(w report.Warning) bool { return w.Code == "module-missing" && w.Module == exe }) {
		t.Errorf("no warning names %s: %+v", exe, r.Warnings)
	}
	if r := goneReport(t, core, corewalk.WithExecutable(away)); !r.Complete() || r.Threads[0].Frames[1].Trust != report.TrustCFI {
		t.Errorf("with the file: %+v", r.Threads[0].Frames[1])
	}
}

// A core that has all memory has unwind tables, too.
func TestFileGoneTablesInMemory(t *testing.T) {
	for _, linked := range []string{"-Wl,-z,separate-code", "-Wl,-z,noseparate-code"} { // noseparate-code: all is in the page that every core has
		filter := "0x33"
		if linked == "-Wl,-z,separate-code" {
			filter = "0x7f"
		}
		exe, core := gone(t, "program", filter, nil, linked)
		away := filepath.Join(t.TempDir(), "away")
		if err := os.Rename(exe, away); err != nil {
			t.Fatal(err)
		}
		r := goneReport(t, core)
		if got := byFile(t, away, r.Threads[0].Frames); !slices.Equal(got, goneChain) {
			t.Errorf("%s: frames in %q, want %q", linked, got, goneChain)
		}
		for _, f := range r.Threads[0].Frames[1:len(goneChain)] {
			if f.Trust != report.TrustCFI {
				t.Errorf("%s: frame %d: %s", linked, f.Index, f.Trust)
			}
		}
		if !r.Complete() {
			t.Errorf("%s: the report passes for incomplete", linked)
		}
	}
}

// A program that unmapped its own headers is known by what else the core has of it.
func TestHeadersUnmapped(t *testing.T) {
	exe, core := gone(t, "program", "0x33", []string{"unmap"})
	for _, opts := range [][]corewalk.Option{nil, {corewalk.WithExecutable(exe)}} {
		r := goneReport(t, core, opts...)
		var names []string
		for _, f := range r.Threads[0].Frames[:len(goneChain)] {
			names = append(names, f.Function)
		}
		if !slices.Equal(names, goneChain) {
			t.Errorf("%d options: %q", len(opts), names)
		}
	}
	other := fixture.Compile(t, "gcc", "gone.c", "-O1", "-g", "-DFACTOR=777", "-Wl,-z,now", "-fstack-protector-all")
	if err := os.Remove(exe); err != nil {
		t.Fatal(err)
	}
	r := goneReport(t, core, corewalk.WithExecutable(other))
	if f := r.Threads[0].Frames[0]; f.Function != "" {
		t.Errorf("another build was used: %+v", f)
	}
}

// A file that is called "x (deleted)" is not x, and exists.
func TestCalledDeleted(t *testing.T) {
	exe, core := gone(t, "program (deleted)", "0x33", nil)
	other, err := os.ReadFile(fixture.Compile(t, "gcc", "gone.c", "-O2", "-DFACTOR=5"))
	if err == nil {
		err = os.WriteFile(strings.TrimSuffix(exe, " (deleted)"), other, 0o700) // what a name that is cut leads to
	}
	if err != nil {
		t.Fatal(err)
	}
	r := goneReport(t, core)
	if f := r.Threads[0].Frames[0]; f.Function != "innermost" || f.Source.Line == 0 {
		t.Errorf("%+v, %+v", f, r.Modules)
	}
}

// What has no build-id is not to be found by it.
func TestOtherBuildWithoutID(t *testing.T) {
	exe, core := gone(t, "program", "0x33", nil, "-Wl,--build-id=none")
	other := fixture.Compile(t, "gcc", "gone.c", "-O0", "-Wl,--build-id=none")
	if err := os.Remove(exe); err != nil {
		t.Fatal(err)
	}
	r := goneReport(t, core, corewalk.WithExecutable(other))
	at := slices.IndexFunc(r.Warnings, func(w report.Warning) bool { return w.Code == report.WarnMismatched })
	if at < 0 {
		t.Fatalf("%+v", r.Warnings)
	}
	if w := r.Warnings[at]; strings.Contains(w.Advice, "lists its build-id") || !strings.Contains(w.Advice, "no build-id") || !strings.Contains(w.Message, "starts at") {
		t.Errorf("%+v", w)
	}
}

// TestGoneFramePointer: on i386 the frame pointer of main leads out of functions that have none: what lies between is not told, and the report says so.
func TestGoneFramePointer(t *testing.T) {
	exe, core := gone(t, "left", "0x33", nil, "-m32")
	whole := goneReport(t, core)
	if !whole.Complete() || slices.ContainsFunc(whole.Warnings, func(w report.Warning) bool { return strings.Contains(w.Message, "left out") }) {
		t.Errorf("with the file: %v", whole.Warnings)
	}
	if err := os.Remove(exe); err != nil {
		t.Fatal(err)
	}
	r := goneReport(t, core)
	jumped := slices.ContainsFunc(r.Threads[0].Frames, func(f report.Frame) bool { return f.Trust == report.TrustFramePointer && f.Doubtful })
	said := slices.ContainsFunc(r.Warnings, func(w report.Warning) bool {
		return strings.Contains(w.Message, "no file found") && strings.HasSuffix(w.Message, "frames may be left out at [fp?]")
	})
	if r.Complete() || !jumped || !said {
		t.Errorf("complete %v, a guessed frame pointer %v: %v", r.Complete(), jumped, r.Warnings)
	}
}

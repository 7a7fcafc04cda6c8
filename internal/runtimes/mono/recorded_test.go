package mono_test

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/corewalk/corewalk"
	"github.com/corewalk/corewalk/internal/runtimes/remote/remotetest/judged"
	"github.com/corewalk/corewalk/report"
	"github.com/klauspost/compress/zstd"
)

var recording = flag.Bool("record", false, "TestSlim keeps what it makes in testdata/recorded")

// recorded are slim cores of judge.cs, with the calls that they show without any file: those that Mono's own report has.
var recorded = []struct{ name, calls string }{
	{"three-callbacks", "Shop.C:strlen Shop.C:Dies Shop.Program:<cases>m__18 Shop.C/<Sorts>c__AnonStorey0:<>m__0 Shop.C/<Sorts>c__AnonStorey0:<>m__0 Shop.C:qsort Shop.C:Sorts " +
		"Shop.Program:<cases>m__16 Shop.C/<Sorts>c__AnonStorey0:<>m__0 Shop.C/<Sorts>c__AnonStorey0:<>m__0 Shop.C:qsort Shop.C:Sorts Shop.Program:<cases>m__12 " +
		"Shop.C/<Sorts>c__AnonStorey0:<>m__0 Shop.C/<Sorts>c__AnonStorey0:<>m__0 Shop.C:qsort Shop.C:Sorts Shop.Program:<cases>m__2 Shop.Program:Main <Module>:runtime_invoke_void_object"},
	{"static-constructor", "Shop.C:strlen Shop.C:Dies Shop.Lazily:.cctor System.Object:runtime_invoke_void generic_trampoline_jit Shop.Program:<cases>m__7 Shop.Program:Main " +
		"<Module>:runtime_invoke_void_object"},
}

// TestRecorded: the fault behind Mono's handler, and the methods on the stack, of cores that read no file of the machine.
func TestRecorded(t *testing.T) {
	d, err := zstd.NewReader(nil)
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	for _, c := range recorded {
		packed, err := os.ReadFile(filepath.Join("testdata/recorded", c.name+".zst"))
		if err != nil {
			t.Fatal(err)
		}
		core, err := d.DecodeAll(packed, nil)
		if err != nil {
			t.Fatal(err)
		}
		without(t, core, c.name, c.calls)
	}
}

// TestSlim: a slim core that is made now says the same.
func TestSlim(t *testing.T) {
	p := monos.All(t)[0]
	exe := program(t)
	e, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedBestCompression))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range recorded {
		core, _ := dies(t, p, exe, c.name)
		target, err := corewalk.Open(t.Context(), core, corewalk.ForSlim())
		if err != nil {
			t.Fatal(err)
		}
		defer target.Close()
		var slim bytes.Buffer
		if _, err := target.WriteSlim(t.Context(), &slim, corewalk.SlimOptions{Reach: 1}); err != nil {
			t.Fatal(err)
		}
		without(t, slim.Bytes(), c.name, c.calls)
		if !*recording {
			continue
		}
		if err := os.WriteFile(filepath.Join("testdata/recorded", c.name+".zst"), e.EncodeAll(slim.Bytes(), nil), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// without compares the calls of a core whose files this machine does not have.
func without(t *testing.T, core []byte, name, calls string) {
	t.Helper()
	for _, dir := range []string{"/usr/bin/", "/usr/lib/x86_64-linux-gnu/", "/lib/x86_64-linux-gnu/", "/lib64/"} {
		core = bytes.ReplaceAll(core, []byte(dir), []byte("/"+strings.Repeat("x", len(dir)-2)+"/"))
	}
	dir := t.TempDir()
	path := filepath.Join(dir, "core")
	if err := os.WriteFile(path, core, 0o600); err != nil {
		t.Fatal(err)
	}
	p := judged.Interpreter{Root: dir}
	r := p.Analyze(t, path, corewalk.AnalyzeOptions{})
	var got []string
	for _, f := range r.Threads[0].Frames {
		if f.Module == "" && strings.Contains(f.Function, ":") || strings.HasPrefix(f.Function, "(stub) ") {
			name := f.Function
			if strings.HasPrefix(name, "(") {
				_, name, _ = strings.Cut(name, ") ")
			}
			got = append(got, name)
		}
	}
	if s := strings.Join(got, " "); s != calls {
		t.Errorf("%s: calls %s\nwant %s", name, s, calls)
	}
	// Which fault it was tells an instruction of the C library, which is not in the core.
	if !slices.ContainsFunc(r.Threads[0].Frames, func(f report.Frame) bool { return f.Trust == "signal" }) || r.Crash.Address != nil {
		t.Errorf("%s: %s", name, r.Crash.Reason)
	}
}

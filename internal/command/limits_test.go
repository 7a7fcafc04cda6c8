package command

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/corewalk/corewalk/internal/fixture"
	"github.com/corewalk/corewalk/internal/format/minidump/dumpbuild"
)

func TestSizes(t *testing.T) {
	for in, want := range map[string]uint64{"512": 512 << 20, "1.5GiB": 3 << 29, "64MB": 64 << 20, "700k": 700 << 10, "2 t": 2 << 40} {
		if got, err := parseSize(in); err != nil || got != want {
			t.Errorf("%q: %d, %v", in, got, err)
		}
	}
	for _, in := range []string{"", "-1", "0", "nan", "inf", "core", "12q", "9e30"} {
		if n, err := parseSize(in); err == nil {
			t.Errorf("%q: %d", in, n)
		}
	}
	for _, n := range []sizeFlag{4 << 30, 32<<20 + 1024} { // as given to the analysis processes
		var back sizeFlag
		if err := back.Set(n.String()); err != nil || back != n {
			t.Errorf("%d: %q, %d, %v", n, n.String(), back, err)
		}
	}
}

// The value of a flag that needs none may be an argument of its own, unless it is a file.
func TestJoinValues(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, name := range []string{"77", "none"} {
		if err := os.WriteFile(name, nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, tt := range []struct{ in, want string }{
		{"--memory core", "--memory core"},
		{"--memory 512MiB core", "--memory=512MiB core"},
		{"--memory --memory 1g core", "--memory --memory=1g core"},
		{"--memory 77", "--memory 77"}, // a file
		{"core --memory", "core --memory"},
		{"-- --memory 5", "-- --memory 5"},
		{"--sandbox off --debuginfod env core", "--sandbox=off --debuginfod=env core"},
		{"--debuginfod https://x.example/ core", "--debuginfod=https://x.example/ core"},
		{"--debuginfod none core", "--debuginfod none core"}, // a file
		{"--debuginfod core", "--debuginfod core"},
		{"--env all --source 3 core", "--env=all --source 3 core"},
		{"--disassemble true core", "--disassemble true core"},
		{"--nosuch off core", "--nosuch off core"},
		{"sandbox off", "sandbox off"},
	} {
		if got := joinValues(new(reportFlags).set(), strings.Fields(tt.in)); !slices.Equal(got, strings.Fields(tt.want)) {
			t.Errorf("%s: %q", tt.in, got)
		}
	}
}

// TestDeadline: what is known at the time limit is reported.
func TestDeadline(t *testing.T) {
	const base, threads = 0x140000000, 20000
	d := dumpbuild.New(false)
	d.System(9, 2, 10, 0, 19041, "")
	regs := d.Blob(d.AMD64(0x10001f, base+0x1200, 0x80000, 0))
	var list []dumpbuild.Thread
	for i := range uint32(threads) {
		list = append(list, dumpbuild.Thread{ID: 100 + i, StackStart: 0x80000, Context: regs})
	}
	d.Threads(false, list...)
	d.Modules(dumpbuild.Module{Base: base, Size: 0x3000000, Stamp: 1, Name: `C:\a.exe`})
	path := filepath.Join(t.TempDir(), "dump")
	if err := os.WriteFile(path, d.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	var out, errs bytes.Buffer
	status := run([]string{"--deadline", "1ms", path}, env{t.Context(), nil, &out, &errs, nil, nil})
	if s := out.String() + errs.String(); status == exitComplete || !strings.Contains(s, "the time limit of 1ms (--deadline) is over") {
		t.Errorf("status %d, %.2000s", status, s)
	}
}

// TestLimitFlags: what the limits refuse.
func TestLimitFlags(t *testing.T) {
	core := fixture.Get(t, "amd64-recursion-O0").Core(t)
	for _, args := range []string{"--memory=1k", "--memory=lots", "--deadline=-1s", "--deadline=soon"} {
		var out, errs bytes.Buffer
		if status := run([]string{args, core}, env{t.Context(), nil, &out, &errs, nil, nil}); status != exitUsage || !strings.Contains(errs.String(), "--") {
			t.Errorf("%s: status %d, %s", args, status, &errs)
		}
	}
}

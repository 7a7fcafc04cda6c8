package command

import (
	"bytes"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/corewalk/corewalk/internal/files/find"
	"github.com/corewalk/corewalk/internal/fixture"
	"github.com/corewalk/corewalk/internal/sandbox"
	"github.com/corewalk/corewalk/internal/triage"
)

func needSandbox(t *testing.T) {
	t.Helper()
	if list := sandbox.Missing(); len(list) > 0 {
		t.Skip("this system has no sandbox: ", strings.Join(list, "; "))
	}
}

// printed runs the command as a process and returns all that it prints, and its status.
func printed(t *testing.T, args ...string) string {
	t.Helper()
	cmd := exec.Command("corewalk", args...)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	cmd.Run()
	return fmt.Sprintf("%s\n%s\nstatus %d", out.String(), errs.String(), cmd.ProcessState.ExitCode())
}

// TestSandboxSame: with --sandbox, reports are the same to the byte. The binaries are where flags say, or beside the
// dump.
func TestSandboxSame(t *testing.T) {
	t.Parallel()
	needSandbox(t)
	all := append(fixture.Cases(t), fixture.Minidumps(t)...)
	step := 40
	if fixture.IsLongRun() {
		step = 1
	}
	for i := 0; i < len(all); i += step {
		c := all[i]
		t.Run(c.Name, func(t *testing.T) {
			fixture.TurnPart(t)
			args := []string{"--sysroot", c.Sysroot(t), "--debug-dir", c.Dir, "--format", "json", "--locals", "all"}
			for _, dir := range c.Search(t) {
				args = append(args, "--search", dir)
			}
			if len(c.Search(t)) == 0 {
				args = append(args, "--search", filepath.Dir(c.Binary(t)))
			}
			args = append(args, c.Core(t))
			want, got := printed(t, args...), printed(t, append([]string{"--sandbox"}, args...)...)
			if want != got {
				t.Errorf("with --sandbox %s\nwithout %s", got, want)
			}
		})
	}
}

// group is a line of a group that triage prints as JSON.
var group = regexp.MustCompile(`(?m)^\{.*"type": ?"group".*$`)

// TestTriageSandboxed: the same groups as without a sandbox, and a dump that is a link to another directory is among
// them.
func TestTriageSandboxed(t *testing.T) {
	needSandbox(t)
	dir, elsewhere := t.TempDir(), t.TempDir()
	args := []string{"triage", "--no-db", "--format", "json"}
	for i, name := range []string{"amd64-inline-tail-O2", "amd64-cxx-sort", "amd64-abort"} {
		c := fixture.Get(t, name)
		core, err := os.ReadFile(c.Core(t))
		if err != nil {
			t.Fatal(err)
		}
		in := filepath.Join(dir, fmt.Sprint("core.", i))
		if i == 0 {
			if err := os.Symlink(filepath.Join(elsewhere, "dump"), in); err != nil {
				t.Fatal(err)
			}
			in = filepath.Join(elsewhere, "dump")
		}
		if err := os.WriteFile(in, core, 0o600); err != nil {
			t.Fatal(err)
		}
		args = append(args, "--sysroot", c.Sysroot(t), "--search", filepath.Dir(c.Binary(t)))
	}
	seen := regexp.MustCompile(`"(first|last)_seen": ?"[^"]*"`)
	groups := func(more ...string) []string {
		out := printed(t, slices.Concat(args, more, []string{dir})...)
		if !strings.HasSuffix(out, "\n\nstatus 0") {
			t.Errorf("%v: %s", more, out)
		}
		list := group.FindAllString(out, -1)
		for i := range list {
			list[i] = seen.ReplaceAllString(list[i], "")
		}
		slices.Sort(list)
		return list
	}
	with, without := groups("--sandbox"), groups("--no-sandbox")
	if len(with) != 3 || !slices.Equal(with, without) {
		t.Errorf("with a sandbox %q\nwithout %q", with, without)
	}
}

// TestTriageDenied: a program that a dump names cannot be read, and a line says so.
func TestTriageDenied(t *testing.T) {
	needSandbox(t)
	c := fixture.Get(t, "amd64-pie")
	data, err := os.ReadFile(c.Core(t))
	if err != nil {
		t.Fatal(err)
	}
	top := t.TempDir()
	// The path of the program in the core, and one of the same length that is a file of this test.
	const was = "/opt/corewalk-fixtures/pie/pack"
	program := filepath.Join(os.TempDir(), strings.Repeat("p", len(was)-len(os.TempDir())-1))
	if len(program) != len(was) || !bytes.Contains(data, []byte(was+"\x00")) {
		t.Skip("the directory for temporary files has too long a name")
	}
	binary, err := os.ReadFile(c.Binary(t))
	if err == nil {
		err = os.WriteFile(program, binary, 0o600)
	}
	if err == nil {
		defer os.Remove(program)
		err = os.WriteFile(filepath.Join(top, "core.1"), bytes.ReplaceAll(data, []byte(was), []byte(program)), 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	if out := printed(t, "triage", "--no-db", "--sandbox", top); !strings.Contains(out, `not "`+program+`"; name directories`) || strings.Contains(out, "pack.c") {
		t.Errorf("sandboxed: %s", out)
	}
	if out := printed(t, "triage", "--no-db", "--no-sandbox", top); strings.Contains(out, "not \""+program) || !strings.Contains(out, "pack.c") {
		t.Errorf("without a sandbox: %s", out)
	}
}

// TestSandboxFetches: the process in the sandbox has no network, and yet gets files from a server; also in triage.
func TestSandboxFetches(t *testing.T) {
	needSandbox(t)
	c := fixture.Get(t, "amd64-pie")
	binary, err := os.ReadFile(c.Binary(t))
	if err != nil {
		t.Fatal(err)
	}
	var asked atomic.Int32
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		if strings.HasSuffix(r.URL.Path, "/source/pack.c") {
			http.NotFound(w, r)
			return
		}
		w.Write(binary)
	}))
	defer server.Close()
	dir := t.TempDir()
	core := filepath.Join(dir, "core.1")
	data, err := os.ReadFile(c.Core(t))
	if err == nil {
		err = os.WriteFile(core, data, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("DEBUGINFOD_PROGRESS", "1")
	for _, args := range [][]string{{"--sandbox"}, {"triage", "--no-db", "--sandbox"}} {
		t.Setenv("DEBUGINFOD_CACHE_PATH", filepath.Join(t.TempDir(), "cache"))
		asked.Store(0)
		args = append(args, "--sysroot", c.Sysroot(t), "--debug-dir", dir, "--debuginfod="+server.URL)
		args = append(args, map[bool]string{true: dir, false: core}[args[0] == "triage"])
		if out := printed(t, args...); asked.Load() == 0 || !strings.Contains(out, "store") || !strings.Contains(out, "corewalk: fetched ") {
			t.Errorf("%v: the server was asked %d times: %s", args, asked.Load(), out)
		}
	}
}

// TestSandboxSymbols: compressed files of symbol stores are expanded in the sandbox, and those of servers get there.
func TestSandboxSymbols(t *testing.T) {
	needSandbox(t)
	c := symbolDump(t)
	packed := symbolStore(t, c, true)
	server := httptest.NewServer(http.FileServer(http.Dir(packed)))
	defer server.Close()
	for what, args := range map[string]func() []string{
		"store":  func() []string { return []string{"--symbol-path", "cache*" + t.TempDir() + ";" + packed} },
		"search": func() []string { return []string{"--search", packed} },
		"server": func() []string { return []string{"--symbol-path", "srv*" + t.TempDir() + "*" + server.URL} },
	} {
		t.Setenv("XDG_CACHE_HOME", t.TempDir())
		want := printed(t, append(args(), c.Core(t))...)
		t.Setenv("XDG_CACHE_HOME", t.TempDir())
		if got := printed(t, slices.Concat([]string{"--sandbox"}, args(), []string{c.Core(t)})...); got != want || !strings.Contains(got, "crash.c:") {
			t.Errorf("%s: with --sandbox %s\nwithout %s", what, got, want)
		}
	}
}

// TestSandboxInterrupted: Ctrl-C, here for the process outside alone, ends the analysis; and so does its death.
func TestSandboxInterrupted(t *testing.T) {
	needSandbox(t)
	t.Setenv("TMPDIR", t.TempDir()) // an empty directory stays there
	for _, sig := range []os.Signal{os.Interrupt, os.Kill} {
		cmd := exec.Command("corewalk", "--sandbox", "-")
		in, err := cmd.StdinPipe() // a core that never comes
		if err != nil {
			t.Fatal(err)
		}
		defer in.Close()
		var errs bytes.Buffer
		cmd.Stderr = &errs
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		inside := 0
		for end := time.Now().Add(30 * time.Second); inside == 0; inside = childOf(cmd.Process.Pid) {
			if time.Now().After(end) {
				t.Skip("the system does not tell the children of a process")
			}
		}
		cmd.Process.Signal(sig)
		cmd.Wait() // until nobody has standard error any more
		gone(t, inside)
		if sig == os.Interrupt && (!strings.Contains(errs.String(), "interrupted") || cmd.ProcessState.ExitCode() != exitNothing) {
			t.Errorf("%v: %v, %s", sig, cmd.ProcessState, errs.String())
		}
	}
}

// TestSandboxTemporary: what was unpacked is gone, and so is its directory.
func TestSandboxTemporary(t *testing.T) {
	needSandbox(t)
	temp := t.TempDir()
	t.Setenv("TMPDIR", temp)
	c := fixture.Get(t, "amd64-pie")
	if out := printed(t, "--sandbox", "--sysroot", c.Sysroot(t), filepath.Join(c.Dir, "core.zst")); !strings.Contains(out, "SIG") {
		t.Errorf("%s", out)
	}
	for _, name := range []string{"fixtures"} {
		os.RemoveAll(filepath.Join(temp, fmt.Sprintf("corewalk-%s-%d", name, os.Getuid())))
	}
	if left, _ := os.ReadDir(temp); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

// TestAnalysisTemp: what analysis processes unpack is in a directory of the process that started them, which removes it when they were killed,
// with a sandbox and without.
func TestAnalysisTemp(t *testing.T) {
	temp := t.TempDir()
	t.Setenv("TMPDIR", temp)
	var f triageFlags
	fs := f.set()
	if err := fs.Parse([]string{"--sandbox=off"}); err != nil {
		t.Fatal(err)
	}
	var o triage.Options
	c, err := f.confineWorker(env{ctx: t.Context()}, &o, fs)
	if err != nil {
		t.Fatal(err)
	}
	if len(o.Env) != 1 || o.Env[0] != "TMPDIR="+c.temp.Path || filepath.Dir(c.temp.Path) != temp {
		t.Errorf("%q, %+v", o.Env, c.temp)
	}
	if err := os.MkdirAll(filepath.Join(c.temp.Path, "corewalk-pack-1", "files"), 0o700); err != nil {
		t.Fatal(err)
	}
	c.close()
	if left, _ := os.ReadDir(temp); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

// TestBeside: of the files beside a dump, those that are binaries can be read.
func TestBeside(t *testing.T) {
	dir := t.TempDir()
	elf := func(kind byte) []byte {
		return append([]byte("\x7fELF\x02\x01\x01"), append(make([]byte, 9), kind, 0, 62, 0)...)
	}
	for name, content := range map[string][]byte{"prog": elf(3), "core": elf(4), "x.dll": []byte("MZ..."), "x.pdb": []byte("Microsoft C/C++ MSF 7.00"),
		"x.sym": []byte("MODULE Linux x86_64 0 x"), ".netrc": []byte("machine x password y"), "empty": nil, ".debug/prog.debug": elf(2), "sub/prog": elf(2)} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	// Links within the directory are followed, those that lead out of it are not, nor is a directory of debug files that is elsewhere.
	outside, other := t.TempDir(), t.TempDir()
	if err := errors.Join(os.WriteFile(filepath.Join(outside, "victim"), elf(3), 0o600), os.Symlink(filepath.Join(outside, "victim"), filepath.Join(dir, "a.so")),
		os.Symlink("../"+filepath.Base(outside)+"/victim", filepath.Join(dir, "b.so")), os.Symlink("prog", filepath.Join(dir, "prog.so")),
		os.Symlink(outside, filepath.Join(other, ".debug")), syscall.Mkfifo(filepath.Join(dir, "pipe"), 0o600)); err != nil {
		t.Fatal(err)
	}
	for f := range beside([]string{other}) {
		t.Errorf("a directory elsewhere: %s", f.Name())
	}
	var got []string
	for f := range beside([]string{dir}) {
		got = append(got, filepath.Base(f.Name()))
	}
	if want := []string{"prog", "prog.so", "x.dll", "x.pdb", "x.sym", "prog.debug"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

// TestNeededVariables: no secret of the environment comes into the sandbox.
func TestNeededVariables(t *testing.T) {
	for v, want := range map[string]bool{"HOME=/root": true, "AWS_SECRET_ACCESS_KEY=x": false, smtpPassword + "=x": false, "GITHUB_TOKEN=x": false, "GOGC=off": true, "GOOGLE_API_KEY=x": false,
		"NO_COLOR=1": true, "SSH_AUTH_SOCK=/x": false, "DEBUGINFOD_CACHE_PATH=/x": true} {
		if isNeeded(v) != want {
			t.Errorf("%s: %v", v, !want)
		}
	}
}

// TestTriageKeeps: what the process in the sandbox decompressed of a package's debug file is kept by the one outside,
// once, and the groups are the same.
func TestTriageKeeps(t *testing.T) {
	needSandbox(t)
	sleeper := exec.Command("sleep", "1000")
	if err := sleeper.Start(); err != nil {
		t.Skip(err)
	}
	fixture.Bind(t, sleeper.Process.Pid)
	defer func() { _ = sleeper.Process.Kill(); _ = sleeper.Wait() }()
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	dir := t.TempDir()
	if out := printed(t, "live", "--core", filepath.Join(dir, "core"), fmt.Sprint(sleeper.Process.Pid)); !strings.HasSuffix(out, "status 0") {
		t.Skip(out)
	}
	debugFiles := func() (list []string) {
		for _, e := range listedCache(t).Entries {
			if strings.HasPrefix(e.Path, find.DefaultDebugDir) {
				list = append(list, e.Path)
			}
		}
		slices.Sort(list)
		return list
	}
	printed(t, filepath.Join(dir, "core"))
	want := debugFiles()
	if len(want) == 0 {
		t.Skip("libc has no compressed debug file here (Debian: libc6-dbg)")
	}
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	seen := regexp.MustCompile(`"(first|last)_seen": ?"[^"]*"`)
	triaged := func(more ...string) string {
		out := printed(t, append(append([]string{"triage", "--no-db", "--sandbox", "--format", "json"}, more...), dir)...)
		return seen.ReplaceAllString(strings.Join(group.FindAllString(out, -1), "\n"), "")
	}
	if out := triaged("--no-cache"); out == "" || len(listedCache(t).Entries) > 0 {
		t.Fatalf("%q; kept with --no-cache: %+v", out, listedCache(t).Entries)
	}
	first := triaged()
	kept := listedCache(t).Entries
	if got := debugFiles(); !slices.Equal(got, want) || len(kept) != len(want) {
		t.Errorf("kept: %+v, want those of %q, as a report", kept, want)
	}
	if second := triaged(); second != first || second != triaged("--no-cache") || !reflect.DeepEqual(listedCache(t).Entries, kept) {
		t.Errorf("first %s\nsecond %s\nkept %+v, then %+v", first, second, kept, listedCache(t).Entries)
	}
}

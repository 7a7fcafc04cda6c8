package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"github.com/corewalk/corewalk/internal/fixture"
)

// stub is a corewalk that says what it was called with, and whose triage ends with the status in a file.
const stub = `#!/bin/sh
echo "$@" >>"$STUB/calls"
out=
for a; do if [ "$last" = -o ]; then out=$a; fi; last=$a; done
if [ -n "$out" ]; then echo "output of $1 $2" >"$out"; fi
case "$1 $2" in
"triage --db") exit "$(cat "$STUB/status")" ;;
"triage list") [ -n "$out" ] || echo "3 dumps in 1 group" ;;
version*) echo "corewalk 1.0.0" ;;
esac
`

// A job is a directory with a repository, in which the steps of a job run, and what they may find on their machine.
type job struct {
	t                *testing.T
	dir, stub, tools string
	env              []string
}

func newJob(t *testing.T) *job {
	t.Helper()
	if runtime.GOOS != "linux" {
		t.Skip("jobs run on Linux")
	}
	for tool, of := range map[string]string{"bash": "bash", "find": "findutils", "tar": "tar", "sha256sum": "coreutils", "awk": "mawk"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skipf("%s is not installed (Debian: %s)", tool, of)
		}
	}
	j := &job{t: t, dir: t.TempDir(), stub: t.TempDir(), tools: t.TempDir()}
	j.put(j.stub, "status", "4\n", 0o644)
	j.put(j.stub, "core_pattern", "|/usr/lib/other %p\n", 0o644)
	// No sudo and no prlimit of the machine: this test must not change it.
	j.put(j.tools, "sudo", "#!/bin/sh\nshift\nexec \"$@\"\n", 0o755)
	j.put(j.tools, "prlimit", "#!/bin/sh\necho \"$@\" >>\"$STUB/limits\"\n", 0o755)
	j.put(j.tools, "curl", "#!/bin/sh\nfor a; do [ \"$last\" = -o ] && out=$a; last=$a; done\necho \"$last\" >>\"$STUB/fetched\"\nexec cp \"$STUB/releases/${last##*/}\" \"$out\"\n", 0o755)
	j.env = []string{"PATH=" + j.tools + ":/usr/bin:/bin", "STUB=" + j.stub, "RUNNER_TEMP=" + j.stub, "HOME=/nonexistent", "CRASH_PATTERN_FILE=" + filepath.Join(j.stub, "core_pattern")}
	return j
}

func (j *job) put(dir, name, text string, mode os.FileMode) {
	j.t.Helper()
	path := filepath.Join(dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		j.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), mode); err != nil {
		j.t.Fatal(err)
	}
}

func (j *job) read(path ...string) string {
	text, _ := os.ReadFile(filepath.Join(path...))
	return string(text)
}

// run runs the script of a step, and returns its status and what it said.
func (j *job) run(script string, env ...string) (int, string) {
	j.t.Helper()
	cmd := exec.Command("bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", script)
	cmd.Dir, cmd.Env = j.dir, append(append([]string{}, j.env...), env...)
	out, err := cmd.CombinedOutput()
	if _, exit := err.(*exec.ExitError); err != nil && !exit {
		j.t.Fatal(err)
	}
	return cmd.ProcessState.ExitCode(), string(out)
}

// An action is what is read of action.yml.
type action struct {
	Inputs map[string]struct {
		Default string `yaml:"default"`
	} `yaml:"inputs"`
	Runs struct {
		Steps []struct {
			If   string            `yaml:"if"`
			ID   string            `yaml:"id"`
			Uses string            `yaml:"uses"`
			Run  string            `yaml:"run"`
			Env  map[string]string `yaml:"env"`
			With map[string]string `yaml:"with"`
		} `yaml:"steps"`
	} `yaml:"runs"`
}

func decode(t *testing.T, path string, v any) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	d := yaml.NewDecoder(bytes.NewReader(text))
	if err := d.Decode(v); err != nil {
		t.Fatalf("%s: %v", path, err)
	}
}

// steps runs the shell steps of the action as GitHub does for a mode, and returns the status of the one that failed, what they said and their outputs.
func (j *job) steps(a *action, with map[string]string) (status int, said string, outputs map[string]string) {
	here, err := os.Getwd()
	if err != nil {
		j.t.Fatal(err)
	}
	value := func(name string) string {
		if v, ok := with[name]; ok {
			return v
		}
		in, ok := a.Inputs[name]
		if !ok {
			j.t.Errorf("no input %s", name)
		}
		return in.Default
	}
	input := regexp.MustCompile(`\$\{\{ inputs\.([a-z]+) \}\}`)
	mode := regexp.MustCompile(`^inputs\.mode == '([a-z]+)'`)
	ran := 0
	for _, s := range a.Runs.Steps {
		m := mode.FindStringSubmatch(s.If)
		if m == nil {
			j.t.Fatalf("a step for no mode: %q", s.If)
		}
		if m[1] != value("mode") || s.Run == "" {
			continue
		}
		ran++
		env := []string{"GITHUB_ACTIONS=true", "GITHUB_ACTION_PATH=" + filepath.Join(here, "../../deploy/ci"), "GITHUB_OUTPUT=" + filepath.Join(j.stub, "output"), "GITHUB_STEP_SUMMARY=" + filepath.Join(j.stub, "summary")}
		for name, v := range s.Env {
			env = append(env, name+"="+input.ReplaceAllStringFunc(v, func(x string) string { return value(input.FindStringSubmatch(x)[1]) }))
		}
		n, out := j.run(s.Run, env...)
		said += out
		if status = n; n != 0 {
			break
		}
	}
	if ran == 0 {
		j.t.Errorf("no step of mode %s", value("mode"))
	}
	outputs = map[string]string{}
	for line := range strings.Lines(j.read(j.stub, "output")) {
		name, v, _ := strings.Cut(strings.TrimSpace(line), "=")
		outputs[name] = v
	}
	return status, said, outputs
}

func TestGitHubAction(t *testing.T) {
	var a action
	decode(t, "../../deploy/ci/action.yml", &a)
	j := newJob(t)
	j.put(j.tools, "corewalk", stub, 0o755)
	if status, said, _ := j.steps(&a, map[string]string{"mode": "prepare"}); status != 0 {
		t.Fatalf("%d\n%s", status, said)
	}
	if got, want := j.read(j.stub, "core_pattern"), j.stub+"/cores/core.%e.%p.%t\n"; got != want {
		t.Errorf("core_pattern is %q, want %q", got, want)
	}
	if got := j.read(j.stub, "limits"); strings.Count(got, "--core=unlimited:unlimited") != 2 || strings.Contains(got, "--pid  ") {
		t.Errorf("limits: %s", got)
	}
	// There is no dump.
	status, said, out := j.steps(&a, nil)
	if status != 0 || out["dumps"] != "0" || out["new"] != "false" || j.read(j.stub, "calls") != "version\n" {
		t.Errorf("%d %v\n%s\n%s", status, out, said, j.read(j.stub, "calls"))
	}
	// Dumps with names that shells take apart, and files that are none.
	j.put(j.stub, "cores/core.my prog*.4242.1700000000", "core", 0o600)
	j.put(j.dir, "build dir/crash $(touch pwned).dmp", "MDMP", 0o600)
	j.put(j.dir, "sub/core", "core", 0o600)
	j.put(j.dir, "sub/core.c", "int x;", 0o600)
	j.put(j.dir, "sub/core.empty.1", "", 0o600)
	j.put(j.dir, ".git/core", "x", 0o600)
	j.put(j.dir, "corewalk-results/core", "x", 0o600)
	status, said, out = j.steps(&a, map[string]string{"search": "build dir\nlib"})
	calls := j.read(j.stub, "calls")
	want := fmt.Sprintf("triage --db corewalk-results/ledger/triage.db --search build dir --search lib --fail-on new --format sarif -o corewalk-results/crashes.sarif -- ./build dir/crash $(touch pwned).dmp ./sub/core %s/cores/core.my prog*.4242.1700000000\n", j.stub)
	if status != 4 || out["dumps"] != "3" || out["new"] != "true" || !strings.Contains(calls, want) || !strings.Contains(said, "new groups of crashes") {
		t.Errorf("%d %v\n%s\n%s\nwant %s", status, out, said, calls, want)
	}
	if _, err := os.Stat(filepath.Join(j.dir, "pwned")); err == nil {
		t.Error("a name was executed")
	}
	for _, s := range a.Runs.Steps { // what other steps are given is there
		for _, key := range []string{"sarif_file", "path"} {
			for _, path := range strings.Fields(strings.ReplaceAll(s.With[key], "${{ steps.report.outputs.sarif }}", out["sarif"])) {
				if _, err := os.Stat(filepath.Join(j.dir, path)); err != nil {
					t.Errorf("%s: %v", s.Uses, err)
				}
			}
		}
	}
	if !strings.Contains(j.read(j.stub, "summary"), "    3 dumps in 1 group") {
		t.Errorf("summary: %s", j.read(j.stub, "summary"))
	}
	for _, c := range []struct{ triage, fail, want string }{{"4", "never", "0"}, {"0", "new", "0"}, {"3", "new", "0"}, {"1", "new", "1"}, {"2", "never", "2"}} {
		j.put(j.stub, "status", c.triage, 0o644)
		if status, said, _ := j.steps(&a, map[string]string{"fail": c.fail}); fmt.Sprint(status) != c.want {
			t.Errorf("triage ends with %s, fail is %s: %d, want %s\n%s", c.triage, c.fail, status, c.want, said)
		}
	}
}

func TestGitLabTemplate(t *testing.T) {
	var jobs map[string]struct {
		Variables map[string]string `yaml:"variables"`
		Before    []string          `yaml:"before_script"`
		Script    []string          `yaml:"script"`
		After     []string          `yaml:"after_script"`
		Artifacts struct {
			Paths []string `yaml:"paths"`
		} `yaml:"artifacts"`
	}
	decode(t, "../../deploy/ci/gitlab.yml", &jobs)
	j := newJob(t)
	script, err := os.ReadFile("../../deploy/ci/corewalk-ci.sh")
	if err != nil {
		t.Fatal(err)
	}
	j.put(j.stub, "releases/corewalk-ci.sh", string(script), 0o644)
	j.release("1.0.0")
	env := []string{"CI_PROJECT_DIR=" + j.dir}
	for name, v := range jobs[".corewalk"].Variables {
		env = append(env, name+"="+strings.ReplaceAll(v, "$CI_PROJECT_DIR", j.dir))
	}
	both := append(append([]string{}, jobs[".corewalk"].Before...), `test "$(ulimit -c)" = unlimited; echo core >"$CRASH_DIR/core.1"; exit 7`)
	if status, said := j.run(strings.Join(both, "\n"), env...); status != 7 {
		t.Fatalf("%d\n%s", status, said)
	}
	if status, said := j.run(strings.Join(jobs[".corewalk"].After, "\n"), env...); status != 0 || !strings.Contains(said, "3 dumps in 1 group") {
		t.Fatalf("%d\n%s", status, said)
	}
	for _, path := range jobs[".corewalk"].Artifacts.Paths {
		if _, err := os.Stat(filepath.Join(j.dir, path)); err != nil {
			t.Error(err)
		}
	}
	if status, said := j.run(strings.Join(jobs[".corewalk-verdict"].Script, "\n"), env...); status != 4 {
		t.Errorf("%d\n%s", status, said)
	}
	// An archive that is not the released one is not run.
	j.put(j.stub, "releases/corewalk-1.0.0-linux-"+archName()+".tar.gz", "other", 0o644)
	if err := os.RemoveAll(filepath.Join(j.stub, "corewalk-tools")); err != nil {
		t.Fatal(err)
	}
	if status, said := j.run("sh corewalk-results/ci.sh install", env...); status == 0 || !strings.Contains(said, "is not what SHA256SUMS says") {
		t.Errorf("%d\n%s", status, said)
	}
}

func archName() string {
	if runtime.GOARCH == "arm" || runtime.GOARCH == "386" || runtime.GOARCH == "arm64" {
		return runtime.GOARCH
	}
	return "amd64"
}

// release puts a release with the stub where curl finds it.
func (j *job) release(version string) {
	j.t.Helper()
	base := "corewalk-" + version + "-linux-" + archName()
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	w := tar.NewWriter(z)
	if err := w.WriteHeader(&tar.Header{Name: base + "/corewalk", Mode: 0o755, Size: int64(len(stub))}); err != nil {
		j.t.Fatal(err)
	}
	fmt.Fprint(w, stub)
	w.Close()
	z.Close()
	j.put(j.stub, "releases/"+base+".tar.gz", b.String(), 0o644)
	j.put(j.stub, "releases/SHA256SUMS", fmt.Sprintf("%x  %s.tar.gz\n", sha256.Sum256(b.Bytes()), base), 0o644)
}

// The real program does in a job what the stub does.
func TestJobWithCorewalk(t *testing.T) {
	fixture.Long(t)
	j := newJob(t)
	fixture.Programs(t, j.tools, []string{"CGO_ENABLED=0"}, "corewalk")
	script, err := filepath.Abs("../../deploy/ci/corewalk-ci.sh")
	if err != nil {
		t.Fatal(err)
	}
	c := fixture.Get(t, "amd64-abort")
	core, err := os.ReadFile(c.Core(t))
	if err != nil {
		t.Fatal(err)
	}
	j.put(j.stub, "cores/core.segv.1.1", string(core), 0o600)
	for i, want := range []int{4, 0} { // the second time its group is known
		if status, said := j.run("sh " + script + " report"); status != 0 {
			t.Fatalf("%d\n%s", status, said)
		}
		status, said := j.run("sh " + script + " verdict")
		if status != want {
			t.Errorf("run %d: %d, want %d\n%s", i, status, want, said)
		}
		if !strings.Contains(j.read(j.dir, "corewalk-results/crashes.sarif"), `"2.1.0"`) || !strings.Contains(j.read(j.dir, "corewalk-results/crashes.html"), "<html") {
			t.Error("no SARIF, or no page")
		}
	}
}

// Shells other than this machine's read the scripts.
func TestShellcheck(t *testing.T) {
	fixture.Tools(t)
	check, err := exec.LookPath("shellcheck")
	if err != nil {
		t.Skip("shellcheck is not installed (Debian: shellcheck)")
	}
	scripts, _ := filepath.Glob("../../deploy/*/*.sh")
	if out, err := exec.Command(check, scripts...).CombinedOutput(); err != nil || len(scripts) < 3 {
		t.Errorf("%v\n%s", err, out)
	}
}

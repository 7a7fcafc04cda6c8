package beam_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/corewalk/corewalk"
	"github.com/corewalk/corewalk/internal/fixture"
	"github.com/corewalk/corewalk/internal/runtimes/remote/remotetest/judged"
	"github.com/corewalk/corewalk/report"
)

var interpreters = judged.Search{Env: "COREWALK_ERLANGS", Names: []string{"erl"}, Missing: "erlang-base and erlang-dev",
	Version: []string{"-noshell", "-eval", `io:format("~s~s", [erlang:system_info(otp_release), case erlang:system_info(emu_flavor) of jit -> ""; F -> F end]), halt().`}}

var casePattern = regexp.MustCompile(`(?m)^run\('?([a-z]+)'?\) ->`)

// TestJudge compares the calls of all processes of a program that dies with what process_info says of them.
func TestJudge(t *testing.T) {
	if testing.Short() {
		t.Skip("it runs Erlang")
	}
	for _, p := range interpreters.All(t) {
		t.Run(p.Version, func(t *testing.T) {
			dir := prepare(t, p, "judge")
			list := slices.DeleteFunc(judged.Cases(t, "judge.erl", casePattern), func(name string) bool { return name == "loop" }) // TestInterrupted
			judged.Each(t, fixture.IsLong(t), list, judged.Ways{All: []string{""}}, func(name, _ string) (same, total int) { return judge(t, p, dir, name) })
		})
	}
}

// prepare compiles a program for an interpreter, in a directory that it sees.
func prepare(t *testing.T, p judged.Interpreter, program string) string {
	t.Helper()
	dir := p.Dir(t, program+".erl", "die.c")
	out, err := p.Command(dir, "-noshell", "-eval", `{ok, _} = compile:file("`+program+`"), io:format("~s", [code:root_dir()]), halt().`).Output()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	include := filepath.Join(p.Root, string(out), "usr", "include")
	args := []string{"-O2", "-shared", "-fPIC", "-w", "-I" + include, "-D" + strings.ToUpper(program), "-o", filepath.Join(dir, "die.so"), filepath.Join(dir, "die.c")}
	if out, err := exec.Command("cc", args...).CombinedOutput(); err != nil {
		t.Skipf("%v\n%s", err, out)
	}
	return dir
}

// mostSaid is how many calls Erlang says at most.
const mostSaid = 64

// A told is what Erlang says of a process.
type told struct {
	name, status, messages string
	calls                  []string
}

func judge(t *testing.T, p judged.Interpreter, dir, name string) (same, total int) {
	t.Helper()
	for _, f := range []string{"said", "core"} {
		os.Remove(filepath.Join(dir, f))
	}
	b, ok := p.Run(t, dir, name, "-noshell", "-s", "judge", "main", name)
	if !ok {
		return 0, 1
	}
	r := p.Analyze(t, fixture.CoreIn(t, dir), corewalk.AnalyzeOptions{Locals: corewalk.LocalsNone, MaxFrames: 10000})
	for _, w := range r.Warnings {
		if w.Code == report.WarnTasks {
			t.Errorf("%s: %s", name, w.Message)
		}
	}
	said := map[string]*told{}
	var last *told
	for line := range strings.Lines(b) {
		line = strings.TrimSuffix(line, "\n")
		if of, ok := strings.CutPrefix(line, "process "); ok {
			f := strings.Split(of, "\t")
			last = &told{name: f[1], status: f[2], messages: f[3]}
			said[f[0]] = last
			continue
		}
		last.calls = append(last.calls, line)
	}
	seen := map[string]bool{}
	for i := range r.Tasks {
		task := &r.Tasks[i]
		if task.Kind != "process" {
			continue
		}
		pid := fmt.Sprintf("<0.%d.%d>", task.ID&(1<<28-1), task.ID>>28)
		want := said[pid]
		seen[pid] = true
		if want == nil {
			t.Errorf("%s: %s is there, and Erlang did not say so", name, pid)
			continue
		}
		frames := task.Frames
		if task.Thread != 0 {
			k := slices.IndexFunc(r.Threads, func(th report.Thread) bool { return th.ID == task.Thread })
			frames = r.Threads[k].Frames
		}
		whole := len(want.calls) < mostSaid
		if want.status == "self" {
			frames, want.calls = outside(frames, want.calls)
		} else if want.status == "running" || want.status == "runnable" || want.status == "garbage_collecting" { // elsewhere by now
			continue
		}
		messages := "0"
		for _, l := range task.Labels {
			if l.Key == "messages" {
				messages = l.Value
			}
		}
		if task.Name != want.name || want.status != "self" && task.Status != "runnable" && (task.Status != want.status || messages != want.messages) {
			t.Errorf("%s: %s is %q, %s, with %s messages; Erlang says %+v", name, pid, task.Name, task.Status, messages, *want)
		}
		s, n := compare(t, name+" "+pid, frames, want.calls, whole)
		same, total = same+s, total+n
	}
	for pid, want := range said {
		if !seen[pid] {
			t.Errorf("%s: %s is missing: %+v", name, pid, *want)
		}
	}
	return same, total
}

// outside leaves out the calls that only tell, of the process that does, and those that it has made since.
func outside(frames []report.Frame, calls []string) ([]report.Frame, []string) {
	i := slices.IndexFunc(calls, func(s string) bool { return strings.HasPrefix(s, "judge:say/0\t") })
	calls = calls[i+1:]
	first, _, _ := strings.Cut(calls[0], "\t")
	k := slices.IndexFunc(frames, func(f report.Frame) bool { return f.Function == first })
	frames = slices.Clone(frames[max(k, 0):])
	if k >= 0 { // which has gone on
		fields := strings.Split(calls[0], "\t")
		line, _ := strconv.Atoi(fields[2])
		if frames[0].Source.Line > line && frames[0].Source.Line < line+3 {
			frames[0].Source.Line = line
		}
	}
	return frames, calls
}

// recursive are functions that return to themselves.
var recursive = map[string]bool{"judge:deep/2": true, "judge:grown/2": true}

// compare counts how many calls are the same as what Erlang says of them. It does not repeat those that return to the same place.
func compare(t *testing.T, name string, frames []report.Frame, said []string, whole bool) (same, total int) {
	t.Helper()
	var got []string
	for _, f := range frames {
		if f.Language == "erlang" {
			got = append(got, f.Function+"\t"+f.Source.File+"\t"+strconv.Itoa(f.Source.Line))
		}
	}
	for i := range got {
		if f, _, _ := strings.Cut(got[i], "\t"); i > 0 && got[i] == got[i-1] && !recursive[f] {
			t.Errorf("%s: %s is there twice", name, got[i])
		}
	}
	got, said = slices.Compact(got), slices.Compact(slices.Clone(said))
	if !whole {
		got = got[:min(len(got), len(said))]
	}
	return judged.Same(t, name, got, said)
}

// TestValues compares what processes keep with what Erlang writes of it.
func TestValues(t *testing.T) {
	if testing.Short() {
		t.Skip("it runs Erlang")
	}
	for _, p := range interpreters.All(t) {
		t.Run(p.Version, func(t *testing.T) {
			dir := prepare(t, p, "small")
			_ = p.Command(dir, "-noshell", "-s", "small", "main").Run() // it dies
			b, err := os.ReadFile(filepath.Join(dir, "said"))
			if err != nil {
				t.Fatal(err)
			}
			r := p.Analyze(t, fixture.CoreIn(t, dir), corewalk.AnalyzeOptions{Locals: corewalk.LocalsAll})
			n := 0
			for line := range strings.Lines(string(b)) {
				name, want, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "\t")
				got := "?"
				for i := range r.Tasks {
					if f := r.Tasks[i].Frames; r.Tasks[i].Name == name && len(f) > 0 && len(f[0].Locals) > 0 {
						got = f[0].Locals[0].Value
					}
				}
				if got != want {
					t.Errorf("%s is %s, want %s", name, got, want)
				}
				n++
			}
			if n < 40 {
				t.Errorf("%d values", n)
			}
		})
	}
}

// TestInterrupted stops a program that only computes, wherever it is: in code of its own, or in what that calls.
func TestInterrupted(t *testing.T) {
	if testing.Short() {
		t.Skip("it runs Erlang")
	}
	for _, p := range interpreters.All(t) {
		t.Run(p.Version, func(t *testing.T) {
			dir := prepare(t, p, "judge")
			for range 4 {
				os.Remove(filepath.Join(dir, "core"))
				os.Remove(filepath.Join(dir, "said"))
				cmd := p.Command(dir, "-noshell", "-s", "judge", "main", "loop")
				if err := cmd.Start(); err != nil {
					t.Fatal(err)
				}
				for range 1000 {
					if _, err := os.Stat(filepath.Join(dir, "said")); err == nil {
						break
					}
					time.Sleep(10 * time.Millisecond)
				}
				time.Sleep(20 * time.Millisecond)
				_ = cmd.Process.Signal(syscall.SIGSEGV)
				_ = cmd.Wait() // it dies
				r := p.Analyze(t, fixture.CoreIn(t, dir), corewalk.AnalyzeOptions{})
				found := false
				for i := range r.Threads {
					var calls []string
					for _, f := range r.Threads[i].Frames {
						if f.Language == "erlang" {
							calls = append(calls, f.Function)
						}
					}
					if len(calls) == 0 {
						continue
					}
					found = true
					s := strings.TrimPrefix(strings.Join(calls, " "), "judge:spun/2 ")
					if !strings.HasPrefix(s, "judge:spin/1 init:start_em/1 init:do_boot/3") && !strings.HasPrefix(s, "judge:spin/1 init:start_it/1 init:start_em/1 init:do_boot/3") {
						t.Errorf("%q", calls)
					}
				}
				if !found {
					t.Error("nothing runs")
				}
			}
		})
	}
}

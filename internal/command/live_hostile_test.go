//go:build linux

package command

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/corewalk/corewalk/internal/fixture"
)

// The ways in which testdata/hostile.c is unkind to whoever traces it. stopped says that
// it may be found stopped, because it stops itself; quick that it is tried in short tests, too.
var unkind = []struct {
	how, arg       string
	stopped, quick bool
}{
	{how: "dies", quick: true},
	{how: "forks"},
	{how: "vforks"},
	{how: "execs", quick: true},
	{how: "churns"},
	{how: "confined"},
	{how: "other user"},
	{how: "names", arg: "20", quick: true},
	{how: "traced", quick: true},
	{how: "stops", stopped: true},
	{how: "stops itself", stopped: true},
	{how: "signals"},
	{how: "waits in vfork"},
	{how: "leaderless"},
}

// unkindProgram starts the program.
func unkindProgram(t *testing.T, exe, how, arg string) *exec.Cmd {
	t.Helper()
	if how == "dies" {
		arg = fmt.Sprint(rand.IntN(30_000)) // µs
	}
	cmd := exec.Command(exe, how, arg, "\x1b[31m", "two\nlines")
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	fixture.Bind(t, cmd.Process.Pid)
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	said := make([]byte, 6)
	if _, err := out.Read(said); err != nil {
		t.Fatalf("%s: %v", how, err)
	}
	return cmd
}

// left checks that a process is neither traced nor stopped.
func left(t *testing.T, pid int, stops bool) {
	t.Helper()
	var state, tracer string
	for end := time.Now().Add(10 * time.Second); time.Now().Before(end); time.Sleep(time.Millisecond) {
		data, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
		if err != nil {
			return // it has ended
		}
		for line := range strings.Lines(string(data)) {
			if s, ok := strings.CutPrefix(line, "State:\t"); ok {
				state = s[:1]
			}
			if s, ok := strings.CutPrefix(line, "TracerPid:\t"); ok {
				tracer = strings.TrimSpace(s)
			}
		}
		if tracer == "0" && (stops || state != "T" && state != "t") {
			return
		}
	}
	t.Errorf("process %d is in state %s, traced by %s", pid, state, tracer)
}

// plain fails if text could do something to a terminal.
func plain(t *testing.T, what string, text []byte) {
	t.Helper()
	if i := bytes.IndexFunc(text, func(r rune) bool { return r < ' ' && r != '\n' || r == 0x7f }); i >= 0 {
		t.Errorf("%s has byte %#x at %d: %.200q", what, text[i], i, text[max(0, i-50):])
	}
}

// times is how often to do something: in short tests and in long ones.
func times(short, long int) int {
	if fixture.IsLongRun() {
		return long
	}
	return short
}

// TestLiveUnkind: whatever a process does, there is a report or one line that says why not,
// and the process is left as it was.
func TestLiveUnkind(t *testing.T) {
	t.Parallel()
	rounds := times(1, 20)
	exe := unkindExe(t)
	allowed := false
	for _, u := range unkind {
		if rounds == 1 && !u.quick {
			continue
		}
		t.Run(u.how, func(t *testing.T) {
			fixture.TurnPart(t)
			for range rounds {
				if t.Failed() {
					return
				}
				cmd := unkindProgram(t, exe, u.how, u.arg)
				ctx, stop := context.WithTimeout(context.Background(), time.Minute)
				walk := exec.CommandContext(ctx, "corewalk", "live", "--color=never", fmt.Sprint(cmd.Process.Pid))
				var out, errs bytes.Buffer
				walk.Stdout, walk.Stderr = &out, &errs
				err := walk.Run()
				if ctx.Err() != nil {
					t.Error("it does not end")
				}
				stop()
				if !allowed && strings.Contains(errs.String(), "no permission to trace") {
					t.Skipf("this machine forbids ptrace: %s", errs.String())
				}
				plain(t, "the report", out.Bytes())
				plain(t, "the message", errs.Bytes())
				status := walk.ProcessState.ExitCode()
				lines := strings.Count(errs.String(), "\n")
				switch {
				case allowed && strings.Contains(errs.String(), "no permission"):
					t.Error(errs.String())
				case status == exitNothing && lines == 1 && strings.HasPrefix(errs.String(), "corewalk: ") && out.Len() == 0:
				case (status == exitComplete || status == exitIncomplete) && out.Len() > 0:
					allowed = true
				default:
					t.Errorf("status %d, %v: %q %.300s", status, err, errs.String(), out.String())
				}
				if u.how != "traced" {
					left(t, cmd.Process.Pid, u.stopped)
				}
				_ = cmd.Process.Kill()
				_ = cmd.Wait()
			}
		})
	}
}

// TestLiveKilled kills corewalk at any moment: the process runs on.
func TestLiveKilled(t *testing.T) {
	t.Parallel()
	exe := unkindExe(t)
	modes := [][]string{{"live"}, {"live", "--hold"}, {"live", "--every", "1ms"}, {"live", "--core", filepath.Join(t.TempDir(), "core")}}
	from, to := fixture.Rounds(times(4, 200))
	for i := from; i < to; i++ {
		how := []string{"churns", "leaderless", "execs", "forks"}[i%4]
		cmd := unkindProgram(t, exe, how, "")
		walk := exec.Command("corewalk", append(modes[rand.IntN(len(modes))], fmt.Sprint(cmd.Process.Pid))...)
		if err := walk.Start(); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Duration(rand.IntN(60_000)) * time.Microsecond)
		_ = walk.Process.Kill()
		_ = walk.Wait()
		left(t, cmd.Process.Pid, false)
		if t.Failed() {
			t.Fatalf("%s, %v", how, walk.Args)
		}
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	}
}

func unkindExe(t *testing.T) string {
	t.Helper()
	source, err := os.ReadFile(filepath.Join("testdata", "hostile.c"))
	if err != nil {
		t.Fatal(err)
	}
	return program(t, string(source))
}

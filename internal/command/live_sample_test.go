//go:build linux

package command

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/corewalk/corewalk"
	"github.com/corewalk/corewalk/internal/fixture"
	"github.com/corewalk/corewalk/livestate"
	"github.com/corewalk/corewalk/unwind"
)

// parked starts a fixture's program that waits for a signal.
func parked(t *testing.T) *exec.Cmd {
	t.Helper()
	c := fixture.Get(t, "amd64-gcore")
	cmd := exec.Command(c.Binary(t))
	if err := cmd.Start(); err != nil {
		t.Skipf("not run: %v", err)
	}
	fixture.Bind(t, cmd.Process.Pid)
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	fixture.Asleep(t, cmd.Process.Pid, c.Threads)
	return cmd
}

// liveUntil runs corewalk live, which ends when ctx is done.
func liveUntil(t *testing.T, ctx context.Context, args ...string) (status int, out, errs string) {
	t.Helper()
	var o, e bytes.Buffer
	status = run(append([]string{"live"}, args...), env{ctx, nil, &o, &e, nil, nil})
	if strings.Contains(e.String(), "no permission to trace") && os.Getenv("CI_NEEDS_PTRACE") == "" {
		t.Skipf("this machine forbids ptrace: %s", &e)
	}
	return status, o.String(), e.String()
}

func TestSampling(t *testing.T) {
	t.Parallel()
	pid := fmt.Sprint(parked(t).Process.Pid)
	folded, prof := filepath.Join(t.TempDir(), "folded"), filepath.Join(t.TempDir(), "prof")
	status, out, errs := liveUntil(t, context.Background(), "--every", "5ms", "--for", "150ms", "--folded", folded, "--pprof", prof, pid)
	if status != exitComplete || errs != "" {
		t.Fatalf("status %d, %s%s", status, out, errs)
	}
	for _, want := range []string{`(?m)^\d+ samples? in .*, \d+ stacks`, `each stopped the process for .*\(median; shortest .*, longest .*\)`, `\d+ +50\.0% .* main\n`, `50\.0% .* wait_here\n`} {
		if !regexp.MustCompile(want).MatchString(out) {
			t.Errorf("does not say %s:\n%s", want, out)
		}
	}
	text, err := os.ReadFile(folded)
	if err != nil || !regexp.MustCompile(`(?m)main;wait_here;.* \d+$`).Match(text) {
		t.Errorf("%v\n%s", err, text)
	}
	if b, err := os.ReadFile(prof); err != nil || !bytes.HasPrefix(b, []byte{0x1f, 0x8b}) {
		t.Errorf("%v, %d bytes", err, len(b))
	}
}

// Ctrl-C and the end of the process end the sampling, and what was gathered is
// printed.
func TestSamplingEnds(t *testing.T) {
	t.Parallel()
	cmd := parked(t)
	ctx, cancel := context.WithCancel(context.Background())
	time.AfterFunc(300*time.Millisecond, cancel)
	status, out, errs := liveUntil(t, ctx, "--every=20ms", "--for=0", fmt.Sprint(cmd.Process.Pid))
	if status != exitComplete || errs != "" || !strings.Contains(out, "wait_here") {
		t.Errorf("interrupted: status %d, %s%s", status, out, errs)
	}
	time.AfterFunc(300*time.Millisecond, func() { _ = cmd.Process.Kill() })
	status, out, errs = liveUntil(t, context.Background(), "--every=20ms", "--for=1h", fmt.Sprint(cmd.Process.Pid))
	if status != exitComplete || !strings.Contains(errs, "the process has ended") || !strings.Contains(out, "wait_here") {
		t.Errorf("killed: status %d, %s%s", status, out, errs)
	}
}

func TestCoreAndParity(t *testing.T) {
	pid := fmt.Sprint(parked(t).Process.Pid)
	file := filepath.Join(t.TempDir(), "core")
	status, out, errs := liveUntil(t, context.Background(), "--core", file, pid)
	if status != exitComplete || !strings.Contains(out, file) || errs != "" {
		t.Fatalf("status %d, %s%s", status, out, errs)
	}
	if st, err := os.Stat(file); err != nil || st.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", st, err)
	}
	target, err := corewalk.Open(context.Background(), file)
	if err != nil {
		t.Fatal(err)
	}
	defer target.Close()
	r, err := target.Analyze(context.Background(), corewalk.AnalyzeOptions{})
	if err != nil || !r.Complete() || len(r.Threads) != 2 || fmt.Sprint(r.Dump.PID) != pid {
		t.Errorf("%v, %+v", err, r.Dump)
	}
	status, out, errs = liveUntil(t, context.Background(), "--parity", pid)
	if status != exitComplete || !strings.Contains(out, "2 threads") || !strings.HasSuffix(out, " 0 differences\n") {
		t.Errorf("status %d, %s%s", status, out, errs)
	}
	status, out, errs = liveUntil(t, context.Background(), "--core", os.DevNull, pid)
	if st, err := os.Stat(os.DevNull); status != exitNothing || !strings.Contains(errs, "not a regular file") || err != nil || st.Mode().IsRegular() {
		t.Fatalf("%s: status %d, %s%s; %v", os.DevNull, status, out, errs, err)
	}
}

// With --on-cpu a sample has the threads that run, and those that ran since the last one.
func TestKeepRunning(t *testing.T) {
	moment := func(threads ...livestate.Activity) *corewalk.Moment {
		m := &corewalk.Moment{Activity: threads}
		for i := range threads {
			m.Stacks = append(m.Stacks, &unwind.Stack{Thread: unwind.ThreadID(i + 1)})
			m.Names = append(m.Names, fmt.Sprint("t", i+1))
		}
		return m
	}
	m := moment(livestate.Activity{State: 'R'}, livestate.Activity{State: 'S', CPU: 10}, livestate.Activity{State: 'S', CPU: 20})
	last := keepRunning(m, nil)
	if got := fmt.Sprint(m.Names, len(m.Stacks)); got != "[t1] 1" {
		t.Errorf("first sample: %s", got)
	}
	m = moment(livestate.Activity{State: 'S'}, livestate.Activity{State: 'S', CPU: 11}, livestate.Activity{State: 'S', CPU: 20}, livestate.Activity{State: 'D', CPU: 30})
	keepRunning(m, last)
	if got := fmt.Sprint(m.Names, m.Stacks[0].Thread, m.Activity); got != "[t2] 2 [{83 11ns}]" {
		t.Errorf("second sample: %s", got)
	}
}

// A report says of each thread what it was doing.
func TestThreadStates(t *testing.T) {
	pid := fmt.Sprint(parked(t).Process.Pid)
	status, out, errs := liveUntil(t, context.Background(), "--color=never", pid)
	if status > exitIncomplete || !regexp.MustCompile(`(?m)^Thread.*, (sleeping|running), \d+\.\d\d s of CPU$`).MatchString(out) {
		t.Errorf("status %d, %s%s", status, out, errs)
	}
}

func TestLiveModes(t *testing.T) {
	for args, want := range map[string]string{
		"--for 1s 1":                 "--for is for sampling",
		"--on-cpu 1":                 "--on-cpu is for sampling",
		"--every 1us 1":              "1ms or more",
		"--every 1s --for -1s 1":     "0 or more",
		"--every 1s --format json 1": "printed as text",
		"--every 1s --core x 1":      "one of them",
		"--parity -- true":           "the number of a running process",
	} {
		status, out, errs := liveUntil(t, context.Background(), strings.Fields(args)...)
		if status != exitUsage || out != "" || !strings.Contains(errs, want) {
			t.Errorf("%s: status %d, %s%s", args, status, out, errs)
		}
	}
}

//go:build linux

package command

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/corewalk/corewalk/internal/fixture"
	"github.com/corewalk/corewalk/report"
)

// live runs corewalk live, or skips the test where ptrace is forbidden.
func live(t *testing.T, args ...string) (status int, out, errs string) {
	t.Helper()
	var stdout, stderr bytes.Buffer
	status = run(append([]string{"live"}, args...), env{context.Background(), nil, &stdout, &stderr, nil, nil})
	if strings.Contains(stderr.String(), "no permission to trace") {
		t.Skipf("this machine forbids ptrace: %s", stderr.String())
	}
	return status, stdout.String(), stderr.String()
}

func program(t *testing.T, source string) string {
	t.Helper()
	fixture.Tools(t)
	gcc, err := exec.LookPath("gcc")
	if err != nil {
		t.Skip("gcc is not installed (Debian: gcc): no program to trace")
	}
	dir := t.TempDir()
	src, exe := filepath.Join(dir, "prog.c"), filepath.Join(dir, "prog")
	if err := os.WriteFile(src, []byte(source), 0o600); err != nil {
		t.Fatal(err)
	}
	if msg, err := exec.Command(gcc, "-g", "-O0", "-o", exe, src).CombinedOutput(); err != nil {
		t.Skipf("gcc: %v\n%s", err, msg)
	}
	return exe
}

func TestLivePID(t *testing.T) {
	cmd := exec.Command("sleep", "1000")
	if err := cmd.Start(); err != nil {
		t.Skip(err)
	}
	fixture.Bind(t, cmd.Process.Pid)
	defer func() { _ = cmd.Process.Kill(); _ = cmd.Wait() }()
	pid := fmt.Sprint(cmd.Process.Pid)
	status, out, errs := live(t, pid)
	if status > exitIncomplete || !strings.Contains(out, "["+pid+"] is alive") || errs != "" {
		t.Errorf("status %d, %s\n%s", status, errs, out)
	}
	status, out, _ = live(t, "--format", "json", "--hold", pid)
	var r report.Report
	if err := json.Unmarshal([]byte(out), &r); err != nil || r.Dump.Format != report.FormatLive || fmt.Sprint(r.Dump.PID) != pid || r.Crash != nil || len(r.Threads) != 1 {
		t.Errorf("status %d, %v: %s", status, err, out)
	}
	if status, _, errs := live(t, "--thread", "1", pid); status != exitNothing || !strings.Contains(errs, "has no thread 1") {
		t.Errorf("status %d, %s", status, errs)
	}
}

func TestLiveLaunch(t *testing.T) {
	exe := program(t, `
#include <stdlib.h>
#include <signal.h>
static void fine(int n) { exit(n - SIGSEGV); }
int main(int argc, char **argv) {
	if (argc > 1 && argv[1][0] == 'h') signal(SIGSEGV, fine);
	if (argc > 1 && argv[1][0] == 's') raise(SIGSTOP);
	if (argc > 1 && argv[1][0] == 'k') raise(SIGKILL);
	return argc == 1 ? 4 : *(volatile int *)(long)argc;
}`)
	for _, tt := range []struct {
		args      []string
		status    int
		out, errs string
	}{
		{[]string{"crash", "--help"}, exitComplete, "died of SIGSEGV: read of 4 bytes at null+0x3", ""},
		{[]string{"stop"}, exitComplete, "is alive", ""},
		{nil, exitNothing, "", "ended with status 4"},
		{[]string{"handled"}, exitNothing, "", "ended with status 0"},
		{[]string{"kill"}, exitNothing, "", "killed by signal 9"},
	} {
		status, out, errs := live(t, append([]string{"--color=never", "--", exe}, tt.args...)...)
		if status != tt.status || !strings.Contains(out, tt.out) || !strings.Contains(errs, tt.errs) || (errs == "") != (tt.errs == "") {
			t.Errorf("%v: status %d, %q\n%s", tt.args, status, errs, out)
		}
		if tt.args != nil && tt.args[0] == "stop" { // it stays stopped
			var pid int
			if _, err := fmt.Sscanf(out, "prog[%d] is alive", &pid); err != nil || syscall.Kill(pid, syscall.SIGKILL) != nil {
				t.Errorf("%d, %v", pid, err)
			}
		}
	}
}

func TestLiveUsage(t *testing.T) {
	for _, tt := range []struct {
		args   []string
		status int
		says   string
	}{
		{nil, exitUsage, "need a process number"},
		{[]string{"abc"}, exitUsage, "put -- before it"},
		{[]string{"-5"}, exitUsage, "unknown shorthand"},
		{[]string{"1", "2"}, exitUsage, "need one process"},
		{[]string{"--"}, exitUsage, "need a process number"},
		{[]string{"--locals=maybe", "1"}, exitUsage, "--locals"},
		{[]string{"1073741824"}, exitNothing, "no such process"},
		{[]string{fmt.Sprint(os.Getpid())}, exitNothing, "cannot trace itself"},
		{[]string{"--", "/none/such"}, exitNothing, "no such file"},
	} {
		if status, out, errs := live(t, tt.args...); status != tt.status || out != "" || !strings.Contains(errs, tt.says) {
			t.Errorf("%v: status %d, %q %q", tt.args, status, out, errs)
		}
	}
}

package command

import (
	"bufio"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// TestTriageWatch: a dump that arrives is told at once, and a signal ends the run well.
func TestTriageWatch(t *testing.T) {
	t.Parallel()
	dir, args := linkedDumps(t, 2)
	b := startBatch(t, append(args, "--watch", "--no-db", dir)...)
	lines := bufio.NewScanner(b.out)
	lines.Buffer(nil, 64<<20)
	next := func(name string) {
		t.Helper()
		var line struct{ Type, Path, Error string }
		if !lines.Scan() || json.Unmarshal(lines.Bytes(), &line) != nil || line.Type != "dump" || filepath.Base(line.Path) != name || line.Error != "" {
			t.Fatalf("got %+v, want %s; %s", line, name, b.stderr.String())
		}
	}
	core := filepath.Join(dir, "core.00000")
	// The two that are there come in any order.
	for range 2 {
		if !lines.Scan() {
			t.Fatal(b.stderr.String())
		}
	}
	data, err := os.ReadFile(core)
	if err != nil {
		t.Fatal(err)
	}
	outside := filepath.Join(filepath.Dir(dir), "half")
	if err := os.WriteFile(outside, append(data, 7), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(outside, filepath.Join(dir, "core.moved")); err != nil {
		t.Fatal(err)
	}
	next("core.moved")
	if err := os.WriteFile(filepath.Join(dir, "core.written"), append(data, 8), 0o644); err != nil {
		t.Fatal(err)
	}
	next("core.written")
	if err := b.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	groups := 0
	for lines.Scan() {
		groups += strings.Count(lines.Text(), `"type":"group"`)
	}
	if err := b.cmd.Wait(); err != nil || groups != 1 {
		t.Errorf("%v, %d groups: %s", err, groups, b.stderr.String())
	}
}

// TestTriageWatchText: a dump is a line, and the groups follow.
func TestTriageWatchText(t *testing.T) {
	t.Parallel()
	dir, args := linkedDumps(t, 1)
	args = append(args, "--format", "text", "--watch", "--no-db", dir)
	b := startBatch(t, args...)
	line, err := b.out.ReadString('\n')
	if err != nil || !strings.HasPrefix(line, filepath.Join(dir, "core.00000")+": ") || !strings.Contains(line, " < ") {
		t.Errorf("%q, %v", line, err)
	}
	if err := b.cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	var rest strings.Builder
	if _, err := b.out.WriteTo(&rest); err != nil || !strings.Contains(rest.String(), "analysed 1 dump") || strings.Contains(rest.String(), "interrupted") {
		t.Errorf("%s, %v", rest.String(), err)
	}
	if err := b.cmd.Wait(); err != nil {
		t.Error(err)
	}
}

func TestTriageWatchWrong(t *testing.T) {
	for _, args := range [][]string{{"--watch"}, {"--source", "syslog"}, {"--source", "coredumpctl", "."}, {"--source", "coredumpctl", "--watch"}, {"--watch", "--explain-signature", "."}} {
		if err := exec.Command("corewalk", append([]string{"triage"}, args...)...).Run(); err == nil || err.(*exec.ExitError).ExitCode() != exitUsage {
			t.Errorf("%q: %v", args, err)
		}
	}
}

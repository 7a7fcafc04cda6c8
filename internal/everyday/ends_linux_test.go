package everyday

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/corewalk/corewalk/internal/fixture"
)

// ends are commands that run until a signal ends them.
var ends = []struct {
	words  []string
	ready  waiting
	status [2][]int // at SIGINT and at SIGTERM; -1 is a death of the signal
}{
	{w("triage FILES --no-db --watch SUBJECT"), said("/core: "), [2][]int{{0}, {0}}},
	{w("triage FILES --db OUT/l.db --watch --format json SUBJECT"), said(`"type":"dump"`), [2][]int{{0}, {0}}},
	{w("serve FILES --listen 127.0.0.1:0 --dir OUT/s"), said("http://127.0.0.1:"), [2][]int{{0}, {0}}},
	{w("handle --policy OUT/policy --listen OUT/socket"), there("out", "socket"), [2][]int{{0}, {-1}}},
	{w("live --every 10ms --for 0 PID"), after(300 * time.Millisecond), [2][]int{{0, -1}, {-1}}},
	{w("dap --listen 127.0.0.1:0"), said("127.0.0.1:"), [2][]int{{0}, {-1}}},
	{w("dap"), after(200 * time.Millisecond), [2][]int{{0, -1}, {-1}}},
	{w("mcp SUBJECT"), after(200 * time.Millisecond), [2][]int{{0, -1}, {-1}}},
	{w("shell FILES CORE"), after(500 * time.Millisecond), [2][]int{{1, -1}, {-1}}},
	{w("FILES -"), after(200 * time.Millisecond), [2][]int{{1, -1}, {-1}}},
}

// waiting reports whether a command that was started some time ago, and has said something, waits for its end.
type waiting func(p *place, out string, since time.Duration) bool

func said(what string) waiting {
	return func(_ *place, out string, _ time.Duration) bool { return strings.Contains(out, what) }
}

func there(names ...string) waiting {
	return func(p *place, _ string, _ time.Duration) bool { _, err := os.Stat(p.path(names...)); return err == nil }
}

// after is for commands that say nothing when they wait. A signal that meets them while they start ends them as it ends any program.
func after(d time.Duration) waiting {
	return func(_ *place, _ string, since time.Duration) bool { return since > d }
}

// TestEnds: SIGINT and SIGTERM end the commands that go on without an end, with their statuses, and nothing is left of them.
func TestEnds(t *testing.T) {
	t.Parallel()
	m := &matrix{corewalk: tested(t)}
	s := placed(t, filepath.Join(t.TempDir(), "c"), "c", "amd64-vars-c-O2", recordedStates[0])
	for _, e := range ends {
		for i, sig := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM} {
			t.Run(fmt.Sprintf("%s/%v", strings.Join(e.words, " "), sig), func(t *testing.T) {
				t.Parallel()
				p := newPlace(t)
				if slices.Contains(e.words, "PID") {
					p.waits(t)
				}
				if err := os.WriteFile(p.path("out", "policy"), []byte("directory = "+p.path("state", "store")+"\nfree = 0\n"), 0o600); err != nil {
					t.Fatal(err)
				}
				cmd := p.command(m.line(e.words, s, p)...)
				in, err := cmd.StdinPipe() // it stays open
				if err != nil {
					t.Fatal(err)
				}
				defer in.Close()
				outputs, err := os.Create(p.path("output"))
				if err != nil {
					t.Fatal(err)
				}
				defer outputs.Close()
				cmd.Stdout, cmd.Stderr = outputs, outputs
				if err := cmd.Start(); err != nil {
					t.Fatal(err)
				}
				fixture.Bind(t, cmd.Process.Pid)
				said := func() string {
					text, _ := os.ReadFile(p.path("output"))
					return string(text)
				}
				for begin := time.Now(); !e.ready(p, said(), time.Since(begin)); time.Sleep(5 * time.Millisecond) {
					if time.Since(begin) > limit || syscall.Kill(cmd.Process.Pid, 0) != nil {
						t.Errorf("it has not begun:\n%s", said())
						break
					}
				}
				if err := cmd.Process.Signal(sig); err != nil {
					t.Fatal(err)
				}
				status, err := wait(cmd)
				if ws, ok := cmd.ProcessState.Sys().(syscall.WaitStatus); ok && ws.Signaled() && ws.Signal() == sig {
					err = nil
				}
				if err == nil {
					err = sound(said())
				}
				if err != nil || !slices.Contains(e.status[i], status) {
					t.Errorf("status %d, want %v; %v\n%s", status, e.status[i], err, tail(said()))
				}
				if err := p.clean(); err != nil {
					t.Error(err)
				}
			})
		}
	}
}

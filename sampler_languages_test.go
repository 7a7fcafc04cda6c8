//go:build linux

package corewalk_test

import (
	"bufio"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/corewalk/corewalk"
	"github.com/corewalk/corewalk/internal/fixture"
	"github.com/corewalk/corewalk/unwind"
)

// TestSampleLanguages: samples of a running process have the calls of its language, in order, beside native functions.
func TestSampleLanguages(t *testing.T) {
	fixture.Long(t)
	for _, c := range []struct {
		name, file, source string
		command            []string
		calls              []string // youngest first; the first may be in native code
	}{
		{"python", "spin.py", `
import math
def hot(n):
    s = 0
    for i in range(n): s += math.sqrt(i)
    return s
def work():
    print("ready", flush=True)
    while True: hot(20000)
work()
`, []string{"python3"}, []string{"hot", "work", "<module>"}},
		{"java", "Spin.java", `
public class Spin {
    static double s;
    static double hot(int n) { double a = 0; for (int i = 0; i < n; i++) a += Math.sqrt(i); return a; }
    static void work() { System.out.println("ready"); for (;;) s += hot(100000); }
    public static void main(String[] x) { work(); }
}
`, []string{"java"}, []string{"Spin.hot(int)", "Spin.work()", "Spin.main(String[])"}},
		{"javascript", "spin.js", `
function hot(n) { let s = 0; for (let i = 0; i < n; i++) s += Math.sqrt(i); return s; }
function work() { require('fs').writeSync(1, 'ready\n'); for (;;) hot(200000); }
work();
`, []string{"node"}, []string{"hot", "work"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if _, err := exec.LookPath(c.command[0]); err != nil {
				t.Skipf("%s is not installed: Debian's python3, openjdk-17-jdk-headless, nodejs", c.command[0])
			}
			dir := t.TempDir()
			file := filepath.Join(dir, c.file)
			if err := os.WriteFile(file, []byte(c.source), 0o644); err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
			defer cancel()
			cmd := exec.CommandContext(ctx, c.command[0], append(c.command[1:], file)...)
			cmd.Dir = dir
			out, err := cmd.StdoutPipe()
			if err == nil {
				err = cmd.Start()
			}
			if err != nil {
				t.Fatal(err)
			}
			fixture.Bind(t, cmd.Process.Pid)
			defer func() { _ = cmd.Process.Kill(); _ = cmd.Wait() }()
			if line, err := bufio.NewReader(out).ReadString('\n'); err != nil || line != "ready\n" {
				t.Skipf("%s cannot run the program: %q, %v (Debian's openjdk-17-jdk-headless compiles it)", c.command[0], line, err)
			}
			target, err := corewalk.Attach(ctx, cmd.Process.Pid)
			if err != nil {
				t.Skipf("this machine forbids ptrace: %v", err)
			}
			defer target.Close()
			s, err := target.NewSampler()
			if err != nil {
				t.Fatal(err)
			}
			good, hot := 0, 0
			const moments = 40
			for range moments {
				m, err := s.Next(ctx, unwind.WithMaxFrames(1024))
				if err != nil {
					t.Fatal(err)
				}
				for _, st := range m.Stacks {
					var calls []string
					for _, x := range m.Calls[st.Thread] {
						for _, call := range x.Calls {
							calls = append(calls, call.Function)
						}
					}
					rest := c.calls[1:]
					if i := slices.Index(calls, rest[0]); i >= 0 && slices.Equal(calls[i:min(len(calls), i+len(rest))], rest) {
						good++
						if i > 0 && calls[i-1] == c.calls[0] || strings.HasPrefix(c.name, "java") && i > 0 {
							hot++
						}
					}
				}
				time.Sleep(3 * time.Millisecond)
			}
			if good < moments*9/10 || hot < moments/2 {
				t.Errorf("of %d moments %d have the calls %q, %d of them %s", moments, good, c.calls[1:], hot, c.calls[0])
			}
		})
	}
}

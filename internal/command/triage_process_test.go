//go:build linux

package command

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/corewalk/corewalk/internal/fixture"
)

// linkedDumps is a directory with n names of a few small cores.
func linkedDumps(t *testing.T, n int) (dir string, args []string) {
	t.Helper()
	c := fixture.Get(t, "amd64-inline-tail-O2")
	core, err := os.ReadFile(c.Core(t))
	if err != nil {
		t.Fatal(err)
	}
	top := t.TempDir()
	dir = filepath.Join(top, "crashes")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	for i := range n {
		name := filepath.Join(dir, fmt.Sprintf("core.%05d", i))
		if i < 4 {
			err = os.WriteFile(name, binary.LittleEndian.AppendUint64(bytes.Clone(core), uint64(i)), 0o644)
		} else {
			err = os.Link(filepath.Join(dir, fmt.Sprintf("core.%05d", i%4)), name)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return dir, []string{"triage", "--format", "json", "--sysroot", c.Sysroot(t), "--search", filepath.Dir(c.Binary(t)), "--debug-dir", top}
}

// A batchRun is a run of the command as two processes.
type batchRun struct {
	cmd    *exec.Cmd
	out    *bufio.Reader
	stderr bytes.Buffer
}

// startBatch starts the command; it returns when the first result was told.
func startBatch(t *testing.T, args ...string) *batchRun {
	t.Helper()
	b := &batchRun{cmd: exec.Command("corewalk", args...)}
	b.cmd.Stderr = &b.stderr
	out, err := b.cmd.StdoutPipe()
	if err == nil {
		err = b.cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { b.cmd.Process.Kill() })
	b.out = bufio.NewReader(out)
	if _, err := b.out.Peek(1); err != nil {
		t.Fatalf("no result: %v; %s", err, b.stderr.String())
	}
	return b
}

// worker is the analysis process.
func (b *batchRun) worker(t *testing.T) int {
	t.Helper()
	pid := childOf(b.cmd.Process.Pid)
	if pid == 0 {
		t.Skip("the system does not tell the children of a process")
	}
	return pid
}

// childOf returns a process that another one started; 0 if none is known.
func childOf(parent int) int {
	list, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", parent))
	for _, f := range list {
		data, _ := os.ReadFile(f)
		for _, word := range strings.Fields(string(data)) {
			if pid, err := strconv.Atoi(word); err == nil {
				return pid
			}
		}
	}
	return 0
}

// end reads the rest: how many dumps were told of, how many of them failed, how many
// groups.
func (b *batchRun) end(t *testing.T) (dumps, failed, groups, status int) {
	t.Helper()
	d := json.NewDecoder(b.out)
	for d.More() {
		var line struct{ Type, Error string }
		if err := d.Decode(&line); err != nil {
			t.Fatalf("a line is not whole: %v", err)
		}
		switch line.Type {
		case "dump":
			dumps++
			if line.Error != "" {
				failed++
			}
		case "group":
			groups++
		}
	}
	err := b.cmd.Wait()
	if exit := (*exec.ExitError)(nil); err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return dumps, failed, groups, b.cmd.ProcessState.ExitCode()
}

// TestTriageLimited: the kernel keeps the analysis process below a limit above its own, in a sandbox or not.
func TestTriageLimited(t *testing.T) {
	t.Parallel()
	dir, args := linkedDumps(t, 5000)
	for _, box := range []string{"--no-sandbox", "--sandbox"} {
		b := startBatch(t, append(slices.Clip(args), box, "--memory=1GiB", "--no-db", dir)...)
		limits, err := os.ReadFile(fmt.Sprintf("/proc/%d/limits", b.worker(t)))
		b.cmd.Process.Kill()
		b.cmd.Wait()
		if errors.Is(err, os.ErrPermission) {
			continue // nobody but root looks at a process in a sandbox
		}
		want := fmt.Sprintf("Max data size %d %[1]d bytes", hardMemory(1<<30))
		if err != nil || !strings.Contains(strings.Join(strings.Fields(string(limits)), " "), want) {
			t.Errorf("%s: no %q: %v\n%s", box, want, err, limits)
		}
	}
}

// TestTriageInterrupted: after Ctrl-C what was done is told, and kept.
func TestTriageInterrupted(t *testing.T) {
	t.Parallel()
	const all = 5000
	dir, args := linkedDumps(t, all)
	db := filepath.Join(t.TempDir(), "t.db")
	b := startBatch(t, append(args, "--db", db, dir)...)
	worker := b.worker(t)
	if err := b.cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	dumps, failed, groups, status := b.end(t)
	if dumps == 0 || dumps == all || failed > 0 || groups != 1 || status != exitIncomplete {
		t.Errorf("%d dumps, %d failed, %d groups, status %d: %s", dumps, failed, groups, status, b.stderr.String())
	}
	gone(t, worker)
	if out, err := exec.Command("corewalk", "triage", "list", "--db", db).CombinedOutput(); err != nil || !strings.Contains(string(out), "poke") {
		t.Errorf("the ledger after it: %v, %s", err, out)
	}
}

// TestTriageWorkerKilled: an analysis process that is killed from outside is replaced, and
// no dump is lost or blamed for it.
func TestTriageWorkerKilled(t *testing.T) {
	t.Parallel()
	const all = 600
	dir, args := linkedDumps(t, all)
	b := startBatch(t, append(args, "--no-db", dir)...)
	if err := syscall.Kill(b.worker(t), syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	if dumps, failed, groups, status := b.end(t); dumps != all || failed > 0 || groups != 1 || status != exitComplete {
		t.Errorf("%d dumps, %d failed, %d groups, status %d: %s", dumps, failed, groups, status, b.stderr.String())
	}
}

// TestTriageKilled: without its supervisor the analysis process ends by itself.
func TestTriageKilled(t *testing.T) {
	dir, args := linkedDumps(t, 600)
	t.Setenv("TMPDIR", t.TempDir()) // an empty directory stays there
	b := startBatch(t, append(args, "--no-db", dir)...)
	worker := b.worker(t)
	b.cmd.Process.Kill()
	b.cmd.Wait()
	gone(t, worker)
}

// gone waits for the end of a process that is no child of ours.
func gone(t *testing.T, pid int) {
	t.Helper()
	for end := time.Now().Add(30 * time.Second); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		data, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		_, state, _ := strings.Cut(string(data), ") ")
		if err != nil || strings.HasPrefix(state, "Z") || strings.HasPrefix(state, "X") {
			return
		}
	}
	t.Errorf("process %d is still there", pid)
}

// TestTriageLedgerTrouble has a database that cannot be written to: the error names it,
// and what was told is kept.
func TestTriageLedgerTrouble(t *testing.T) {
	dir, args := linkedDumps(t, 8)
	args = append(args, dir)
	fail := func(what, db string) {
		t.Helper()
		out, err := exec.Command("corewalk", append(args, "--db", db)...).CombinedOutput()
		if err == nil || !strings.Contains(string(out), "ledger "+db) || strings.Contains(string(out), "goroutine") {
			t.Errorf("%s: %v, %s", what, err, out)
		}
	}
	fail("no directory can be made there", "/proc/none/t.db")
	fail("a directory", t.TempDir())
	garbage := filepath.Join(t.TempDir(), "t.db")
	if err := os.WriteFile(garbage, bytes.Repeat([]byte("no database "), 1000), 0o600); err != nil {
		t.Fatal(err)
	}
	fail("another file", garbage)

	small := t.TempDir()
	script := `mount -t tmpfs -o size=64k none "$1" || exit 77; d=$1; shift; "$@" --db "$d/t.db"; s=$?; echo "status $s"; "$1" triage list --db "$d/t.db"; exit 0`
	out, err := exec.Command("unshare", append([]string{"-rm", "sh", "-c", script, "sh", small, "corewalk"}, args...)...).CombinedOutput()
	if err != nil {
		t.Logf("no full disk was tried: %v, %s", err, out)
	} else if !strings.Contains(string(out), "status 1") || !strings.Contains(string(out), "ledger "+small) {
		t.Errorf("full disk: %s", out)
	}
}

// TestTriageKilledOften kills the command, or the analysis process, at random moments, and
// goes on with the same ledger: in the end it has every dump once, in the groups of a run
// that nobody disturbed. COREWALK_KILLS is how often; 1,000 take some minutes.
func TestTriageKilledOften(t *testing.T) {
	if !fixture.IsLongRun() {
		fixture.Long(t)
	}
	kills, err := strconv.Atoi(os.Getenv("COREWALK_KILLS"))
	if err != nil {
		from, to := fixture.Rounds(300)
		kills = to - from
	}
	const dumps, perLedger = 70, 5 // more than the ledger is told of at a time
	dir, args := distinctDumps(t, dumps)
	begin := time.Now()
	want := undisturbed(t, args, filepath.Join(t.TempDir(), "t.db"), dir)
	window := time.Since(begin)
	if strings.Count(want, "dump ") != dumps || strings.Count(want, "group ") != 2 || !strings.Contains(want, fmt.Sprint(" of ", dumps/2)) {
		t.Fatalf("undisturbed: %s", want)
	}
	for n := 0; n < kills; {
		db := filepath.Join(t.TempDir(), "t.db")
		for range perLedger {
			if killedRun(t, append(args, "--db", db, dir), rand.N(window)) {
				n++
			}
		}
		if got := undisturbed(t, args, db, dir); got != want {
			t.Fatalf("after %d kills:\n%s\nwant:\n%s", n, got, want)
		}
	}
}

// distinctDumps is a directory of n different cores of two crashes.
func distinctDumps(t *testing.T, n int) (dir string, args []string) {
	t.Helper()
	dir = t.TempDir()
	args = []string{"triage", "--format", "json"}
	for i, name := range []string{"amd64-inline-tail-O2", "amd64-abort"} {
		c := fixture.Get(t, name)
		core, err := os.ReadFile(c.Core(t))
		if err != nil {
			t.Fatal(err)
		}
		for k := i; k < n; k += 2 {
			if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("core.%05d", k)), binary.LittleEndian.AppendUint64(bytes.Clone(core), uint64(k)), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		args = append(args, "--search", filepath.Dir(c.Binary(t)), "--sysroot", c.Sysroot(t))
	}
	return dir, append(args, "--debug-dir", t.TempDir())
}

// killedRun starts a run, and after some time kills it or its analysis process, unless it has
// ended: then it returns false.
func killedRun(t *testing.T, args []string, after time.Duration) bool {
	t.Helper()
	b := &batchRun{cmd: exec.Command("corewalk", args...)}
	if err := b.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan bool)
	go func() { b.cmd.Wait(); close(ended) }()
	select {
	case <-ended:
		return false
	case <-time.After(after):
	}
	victim := b.cmd.Process.Pid
	if rand.IntN(3) == 0 {
		victim = cmp.Or(childOf(victim), victim)
	}
	syscall.Kill(victim, syscall.SIGKILL)
	select {
	case <-ended:
	case <-time.After(time.Minute):
		b.cmd.Process.Kill()
		t.Error("the run does not end")
	}
	return true
}

// undisturbed runs to the end, and lists what the ledger then has: dumps with their groups,
// groups with their numbers of dumps.
func undisturbed(t *testing.T, args []string, db, dir string) string {
	t.Helper()
	if out, err := exec.Command("corewalk", append(args, "--db", db, dir)...).CombinedOutput(); err != nil {
		t.Fatalf("%v: %.2000s", err, out)
	}
	out, err := exec.Command("corewalk", "triage", "export", "--db", db).Output()
	if err != nil {
		t.Fatal(err)
	}
	var list []string
	for d := json.NewDecoder(bytes.NewReader(out)); d.More(); {
		var line struct {
			Type, Path, Group, Error string
			Count                    int
		}
		if err := d.Decode(&line); err != nil {
			t.Fatal(err)
		}
		switch line.Type {
		case "dump":
			list = append(list, fmt.Sprintf("dump %s in %s %s", filepath.Base(line.Path), line.Group, line.Error))
		case "group":
			list = append(list, fmt.Sprintf("group %s of %d", line.Group, line.Count))
		}
	}
	slices.Sort(list)
	return strings.Join(list, "\n")
}

package command

import (
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/corewalk/corewalk/internal/fixture"
)

// nobodyUser is an account without rights, which makes the reports.
const nobodyUser = 65534

// raceIn is the directory in which the test's own program, started as another user, changes what is in the ledger's directory, as fast as it can: "DIRECTORY VICTIM END".
const raceIn = "COREWALK_TEST_RACE"

// TestRacer is what that process runs.
func TestRacer(t *testing.T) {
	in := strings.Split(os.Getenv(raceIn), " ")
	if len(in) != 3 {
		t.Skip("not a test: what TestHandleRaced starts")
	}
	dir, victim, end := in[0], in[1], in[2]
	rows, old := filepath.Join(dir, "rows"), filepath.Join(dir, "old")
	for round := 0; ; round++ {
		if _, err := os.Lstat(end); err == nil {
			break
		}
		// A link, a pipe, a file, and nothing, in place of the directory.
		_ = os.Rename(rows, old)
		switch round % 4 {
		case 0:
			_ = os.Symlink(victim, rows)
		case 1:
			_ = syscall.Mkfifo(rows, 0o666)
		case 2:
			if fd, err := syscall.Open(rows, syscall.O_WRONLY|syscall.O_CREAT|syscall.O_EXCL, 0o666); err == nil {
				syscall.Close(fd)
			}
		}
		time.Sleep(time.Duration(round%3) * 100 * time.Microsecond)
		_ = os.Remove(rows)
		_ = os.Rename(old, rows)
		// The same in place of the files in it.
		var list []fs.DirEntry
		if fd, err := syscall.Open(rows, syscall.O_RDONLY|syscall.O_DIRECTORY, 0); err == nil { // not a pipe of the other one
			f := os.NewFile(uintptr(fd), rows)
			list, _ = f.ReadDir(-1)
			f.Close()
		}
		for _, e := range list {
			path := filepath.Join(rows, e.Name())
			_ = os.Rename(path, path+".moved")
			switch round % 3 {
			case 0:
				_ = os.Symlink(filepath.Join(victim, "file"), path)
			case 1:
				_ = os.Link(filepath.Join(victim, "file"), path)
			default:
				_ = syscall.Mkfifo(path, 0o666)
			}
			if round%5 == 0 {
				_ = os.Remove(path)
			}
		}
		for _, name := range []string{"triage.db", "triage.db-journal", "triage.db-wal", "rows.lock"} {
			_ = os.Symlink(filepath.Join(victim, "file"), filepath.Join(dir, name))
			_ = os.Remove(filepath.Join(dir, name))
		}
	}
}

// stateOf is what a victim must keep: each file with its owner, mode, size and number of names.
func stateOf(t *testing.T, dir string) (out string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		st, err := os.Lstat(path)
		if err != nil {
			return err
		}
		sys := st.Sys().(*syscall.Stat_t)
		out += fmt.Sprintf("%s %v %d:%d", path, st.Mode(), sys.Uid, sys.Gid)
		if st.Mode().IsRegular() {
			b, err := os.ReadFile(path)
			out += fmt.Sprintf(" %q %v", b, err)
		}
		out += "\n"
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// TestHandleRaced: root handles many crashes at a time, while the user whose the ledger is puts links, pipes and files in place of everything below it. Nothing is
// made, changed or given away where they lead, and each crash is kept, or a line says why not.
func TestHandleRaced(t *testing.T) {
	fixture.Long(t)
	if os.Geteuid() != 0 {
		t.Skip("needs root, whom somebody else misleads")
	}
	policy, store := policyFile(t, "user = nobody\nrate = 0\nfiles = no\nparallel = 2\n")
	pid, core := held(t, "amd64-crash-least")
	base := filepath.Dir(policy)
	victim, end := filepath.Join(base, "victim"), filepath.Join(base, "end")
	if err := os.MkdirAll(filepath.Join(victim, "rows"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(victim, "file"), []byte("root's"), 0o644); err != nil {
		t.Fatal(err)
	}
	handleOne := func(i int) (out string) {
		_, out = piped(t, core, "--policy", policy, strconv.Itoa(pid), strconv.Itoa(pid), "11", strconv.FormatInt(time.Now().Unix()+int64(i), 10), "host", "raced")
		return out
	}
	first := handleOne(0) // makes the directories
	ledger := filepath.Join(store, "ledger")
	if st, err := os.Stat(ledger); err != nil || st.Sys().(*syscall.Stat_t).Uid != nobodyUser {
		t.Skipf("the ledger is not nobody's: %v %s", err, first)
	}
	before := stateOf(t, victim)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	racer := filepath.Join(base, "racer") // where the other user may read it
	b, err := os.ReadFile(self)
	if err == nil {
		err = os.WriteFile(racer, b, 0o755)
	}
	if err != nil {
		t.Fatal(err)
	}
	var racers []*exec.Cmd
	for range 2 {
		cmd := exec.Command(racer, "-test.run=^TestRacer$")
		cmd.Dir, cmd.Env = "/", append(os.Environ(), raceIn+"="+ledger+" "+victim+" "+end, "HOME=/", "TMPDIR=/tmp")
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobodyUser, Gid: nobodyUser}}
		if err := cmd.Start(); err != nil {
			t.Skipf("no program of another user: %v", err)
		}
		racers = append(racers, cmd)
	}
	const crashes, atOnce = 24, 6
	var wg sync.WaitGroup
	var mu sync.Mutex
	said := ""
	start := time.Now()
	for k := range atOnce {
		wg.Go(func() {
			for i := range crashes / atOnce {
				out := handleOne(1 + k + atOnce*i)
				mu.Lock()
				said += out
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	took := time.Since(start)
	if err := os.WriteFile(end, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	for _, cmd := range racers {
		if err := cmd.Wait(); err != nil {
			t.Errorf("the other user's program: %v", err)
		}
	}
	if after := stateOf(t, victim); after != before {
		t.Errorf("was\n%s\nis\n%s", before, after)
	}
	list, dirs := records(t, store)
	reports := 0
	for _, dir := range dirs {
		if st, err := os.Lstat(filepath.Join(dir, "report.txt")); err == nil && st.Mode().IsRegular() && st.Sys().(*syscall.Stat_t).Uid == 0 {
			reports++
		}
	}
	log, _ := os.ReadFile(filepath.Join(store, "log"))
	lines := strings.Count(string(log), "\n")
	t.Logf("%d crashes kept, %d reports, %d lines in the log, %v", len(list), reports, lines, took)
	if len(list) < crashes && lines == 0 && said == "" {
		t.Errorf("%d of %d crashes are kept, and nothing says why", len(list), crashes+1)
	}
	if reports == 0 {
		t.Errorf("there is no report: %s%s", said, log)
	}
	// What root has opened cannot be told from outside; what it made of the account's is the account's.
	_ = filepath.WalkDir(ledger, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return nil
		}
		if st, err := os.Lstat(path); err == nil && st.Mode().IsRegular() && st.Sys().(*syscall.Stat_t).Uid == 0 && st.Sys().(*syscall.Stat_t).Nlink == 1 {
			t.Errorf("%s in the account's directory is root's", path)
		}
		return nil
	})
}

package handle

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

// So many crashes are handled at a time: of one program, of one user, and in all; of root's programs as long as there is room.
func TestAdmit(t *testing.T) {
	s, _ := store(t)
	var kept []*os.File
	t.Cleanup(func() {
		for _, f := range kept {
			f.Close()
		}
	})
	admit := func(uid int, program string, want bool) {
		t.Helper()
		f, err := s.admit(uid, program)
		if (err == nil) != want || err != nil && !errors.Is(err, errBusy) {
			t.Fatalf("user %d, program %s, after %d: %v", uid, program, len(kept), err)
		}
		if f != nil {
			kept = append(kept, f)
		}
	}
	for range mostOfProgram {
		admit(1000, "a", true)
	}
	admit(1000, "a", false)
	admit(1001, "a", true) // another user's
	for i := range mostOfUser - mostOfProgram {
		admit(1000, fmt.Sprint("other", i), true)
	}
	admit(1000, "one more", false)
	for len(kept) < mostHandled {
		admit(0, fmt.Sprint("root's", len(kept)), true)
	}
	admit(0, "root's, too", false)
	kept[0].Close() // of user 1000 and program a
	admit(1000, "a", true)
	admit(1000, "a", false)
}

// Root's programs have no user's limit.
func TestAdmitRoot(t *testing.T) {
	s, _ := store(t)
	for i := range mostHandled {
		f, err := s.admit(0, fmt.Sprint("program", i))
		if err != nil {
			t.Fatalf("after %d: %v", i, err)
		}
		defer f.Close()
	}
}

// What is remembered of rates is bounded, and what says that it is of another time is forgotten.
func TestRatesAreBounded(t *testing.T) {
	s, p := store(t)
	p.Rate, p.RateTime = 1, time.Hour
	now := time.Now()
	for i := range maxRated + 10 {
		if ok, err := s.rate(p, fmt.Sprint("program", i), 0, now); err != nil || !ok {
			t.Fatalf("%d: %v, %v", i, ok, err)
		}
		if i == 0 { // the others' times do not matter here, and each call reads and writes them all
			full := map[string][]int64{}
			for k := range maxRated - 2 {
				full[fmt.Sprint(k)] = []int64{now.Unix()}
			}
			b, err := json.Marshal(full)
			if err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(s.dir, stateDir, "rates"), b, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if i > 20 {
			break
		}
	}
	rates := map[string][]int64{}
	b, err := os.ReadFile(filepath.Join(s.dir, stateDir, "rates"))
	if err := errors.Join(err, json.Unmarshal(b, &rates)); err != nil || len(rates) != maxRated {
		t.Errorf("%d rates are remembered, %v", len(rates), err)
	}
	if ok, err := s.rate(p, "late", 1000, now.Add(24*time.Hour)); err != nil || !ok {
		t.Errorf("a day later: %v, %v", ok, err)
	}
	if ok, err := s.rate(p, "late", 1000, now); err != nil || !ok { // the clock was put back: what it said counts no more
		t.Errorf("a day earlier: %v, %v", ok, err)
	}
}

// Reports are made by an account without rights, whatever the policy says.
func TestAccount(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root has another account make reports")
	}
	for _, name := range []string{"root", "0", "no such user", ""} {
		if a := (&Policy{User: name}).account(); a == nil || a.UID != nobody || a.GID != nobody {
			t.Errorf("user %q: %+v", name, a)
		}
	}
}

// Of a user's programs so many crashes are kept, however they are called; root's programs are counted by themselves only.
func TestRateOfUser(t *testing.T) {
	s, p := store(t)
	p.Rate, p.RateTime = 2, time.Hour
	now := time.Now()
	for i := range perUser*p.Rate + 4 {
		ok, err := s.rate(p, fmt.Sprint("program", i), 1000, now)
		if want := i < perUser*p.Rate; err != nil || ok != want {
			t.Errorf("crash %d of a user: %v, %v", i, ok, err)
		}
		if ok, err := s.rate(p, fmt.Sprint("root's", i), 0, now); err != nil || !ok {
			t.Errorf("crash %d of root: %v, %v", i, ok, err)
		}
	}
}

// A copy of a program is the program.
func TestIdentity(t *testing.T) {
	copied := func(name string) string {
		path, err := exec.LookPath(name)
		if err != nil {
			t.Skip(err)
		}
		b, err := os.ReadFile(path)
		if err == nil {
			path = filepath.Join(t.TempDir(), "other name")
			err = os.WriteFile(path, b, 0o755)
		}
		if err != nil {
			t.Fatal(err)
		}
		return path
	}
	identity := func(path string, args ...string) string {
		t.Helper()
		cmd := exec.Command(path, args...)
		in, err := cmd.StdinPipe()
		if err == nil {
			err = cmd.Start()
		}
		if err != nil {
			t.Fatal(err)
		}
		defer func() {
			in.Close()
			cmd.Process.Kill()
			cmd.Wait()
		}()
		p, err := openProcess(cmd.Process.Pid)
		if err != nil {
			t.Fatal(err)
		}
		defer p.close()
		return p.identity()
	}
	a, b, other := identity("cat"), identity(copied("cat")), identity("sleep", "10")
	if a != b || a == other || len(a) != 32 {
		t.Errorf("cat %s, a copy %s, sleep %s", a, b, other)
	}
}

// Nothing is made where a link leads that an account put in place of a directory or a file of its own.
func TestBelow(t *testing.T) {
	s, _ := store(t)
	target := t.TempDir()
	rows, err := s.openRows(nil)
	if err != nil {
		t.Fatal(err)
	}
	f, err := createIn(rows, "a.json", nil)
	if err != nil {
		t.Fatal(err)
	}
	// The directory is renamed, and a link takes its place: what is open stays where it is.
	if err := errors.Join(os.Rename(s.Rows(), s.Rows()+".old"), os.Symlink(target, s.Rows())); err != nil {
		t.Fatal(err)
	}
	if err := f.finish(); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(filepath.Join(s.Rows()+".old", "a.json")); err != nil {
		t.Error(err)
	}
	if _, err := s.openRows(nil); !errors.Is(err, ErrUnsafe) {
		t.Errorf("a link in place of the directory: %v", err)
	}
	// A link in place of a file is no file to write to, and one of the name that it gets is replaced.
	if err := errors.Join(os.Remove(s.Rows()), os.Rename(s.Rows()+".old", s.Rows())); err != nil {
		t.Fatal(err)
	}
	victim := filepath.Join(target, "victim")
	if err := errors.Join(os.WriteFile(victim, []byte("x"), 0o600), os.Symlink(victim, filepath.Join(s.Rows(), "b.json.new")), os.Symlink(victim, filepath.Join(s.Rows(), "c.json"))); err != nil {
		t.Fatal(err)
	}
	if _, err := createIn(rows, "b.json", nil); err == nil {
		t.Error("a file was made where a link leads")
	}
	c, err := createIn(rows, "c.json", nil)
	if err == nil {
		_, err = c.WriteString("row")
	}
	if err := errors.Join(err, c.finish()); err != nil {
		t.Fatal(err)
	}
	if b, err := os.ReadFile(victim); err != nil || string(b) != "x" {
		t.Errorf("the victim has %q, %v", b, err)
	}
	// A file in its place is not written to, either: it may be a hard link.
	if err := os.Link(victim, filepath.Join(s.Rows(), "d.json.new")); err != nil {
		t.Fatal(err)
	}
	if _, err := createIn(rows, "d.json", nil); err == nil {
		t.Error("a file was opened that was there")
	}
	// Nor does a directory that was there become the account's.
	if os.Geteuid() == 0 {
		if err := os.Mkdir(filepath.Join(s.Rows(), "root's"), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := makeIn(rows, "root's", 0o700, &Account{nobody, nobody}); err != nil {
			t.Error(err)
		}
		st, err := os.Stat(filepath.Join(s.Rows(), "root's"))
		if err != nil || st.Sys().(*syscall.Stat_t).Uid != 0 {
			t.Errorf("a directory of root was given away: %v, %v", st, err)
		}
	}
	left, err := os.ReadDir(target)
	if err != nil || len(left) != 1 {
		t.Errorf("in the link's target: %v, %v", left, err)
	}
	rows.Close()
}

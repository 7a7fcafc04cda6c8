//go:build unix

package triage

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/corewalk/corewalk"
	"github.com/corewalk/corewalk/internal/triage/ledger"
)

// listed returns the paths that Files finds, relative to dir, and the errors.
func listed(t *testing.T, dir string, recursive bool, paths ...string) (names []string, troubles []error) {
	t.Helper()
	for p, err := range (Files{Paths: paths, Recursive: recursive}).Dumps(t.Context()) {
		if err != nil {
			troubles = append(troubles, err)
			continue
		}
		rel, err := filepath.Rel(dir, p)
		if err != nil {
			t.Fatal(err)
		}
		names = append(names, rel)
	}
	return names, troubles
}

// write makes a file and its directory.
func write(t *testing.T, path, content string) {
	t.Helper()
	err := os.MkdirAll(filepath.Dir(path), 0o755)
	if err == nil {
		err = os.WriteFile(path, []byte(content), 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// coreHead is the first bytes of a core.
var coreHead = "\x7fELF\x02\x01\x01" + strings.Repeat("\x00", 9) + "\x04\x00\x3e\x00"

// TestOddFiles: directories contain more than dumps. Opening a FIFO would block this test, and any run, for
// ever.
func TestOddFiles(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"core.1", "sub/core.2", "sub/deep/core.3", "a\nb\x1b[31m.core", "dump without a name for it"} {
		write(t, filepath.Join(dir, name), coreHead)
	}
	write(t, filepath.Join(dir, "_usr_bin_app.1000.crash"), "ProblemType: Crash\n")
	write(t, filepath.Join(dir, "report.txt"), "ProblemType: Crash\n")
	for i := range 1000 {
		write(t, filepath.Join(dir, "many", fmt.Sprint(i)), "no dump\n")
	}
	for _, err := range []error{
		syscall.Mkfifo(filepath.Join(dir, "core.fifo"), 0o644),
		os.Symlink(filepath.Join(dir, "core.fifo"), filepath.Join(dir, "core.to-fifo")),
		os.Symlink("core.1", filepath.Join(dir, "core.link")),
		os.Symlink("..", filepath.Join(dir, "sub", "core.up")), // a loop
		os.Symlink("core.self", filepath.Join(dir, "core.self")),
		os.Symlink("nowhere", filepath.Join(dir, "core.dangling")),
		os.Symlink("/dev/zero", filepath.Join(dir, "core.zero")),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	if l, err := net.Listen("unix", filepath.Join(dir, "core.sock")); err == nil {
		defer l.Close()
	}
	got, troubles := listed(t, dir, true, dir, filepath.Join(dir, "core.1"))
	want := []string{"_usr_bin_app.1000.crash", "a\nb\x1b[31m.core", "core.1", "core.link", "dump without a name for it", "sub/core.2", "sub/deep/core.3"}
	if !slices.Equal(got, want) || len(troubles) > 0 {
		t.Errorf("found %q, troubles %v", got, troubles)
	}
	if got, _ := listed(t, dir, false, dir); len(got) != 5 {
		t.Errorf("not recursive: %q", got)
	}
	if got, troubles := listed(t, dir, true, filepath.Join(dir, "none"), filepath.Join(dir, "core.*")); len(troubles) != 3 || !slices.Contains(got, "core.1") {
		t.Errorf("a pattern, and files that are not there, two of them links: %q, %v", got, troubles)
	}
}

// TestUnreadable has a directory that may not be read: the rest is still listed.
func TestUnreadable(t *testing.T) {
	if os.Geteuid() == 0 {
		t.Skip("root may read everything")
	}
	dir := t.TempDir()
	write(t, filepath.Join(dir, "closed", "core.1"), coreHead)
	write(t, filepath.Join(dir, "open", "core.2"), coreHead)
	if err := os.Chmod(filepath.Join(dir, "closed"), 0); err != nil {
		t.Fatal(err)
	}
	defer os.Chmod(filepath.Join(dir, "closed"), 0o755)
	if got, troubles := listed(t, dir, true, dir); !slices.Equal(got, []string{"open/core.2"}) || len(troubles) != 1 {
		t.Errorf("found %q, troubles %v", got, troubles)
	}
}

// TestIdentify: a FIFO on the command line is refused, not opened, and a larger file does not cost more.
func TestIdentify(t *testing.T) {
	dir := t.TempDir()
	fifo, big := filepath.Join(dir, "fifo"), filepath.Join(dir, "core.big")
	if err := syscall.Mkfifo(fifo, 0o644); err != nil {
		t.Fatal(err)
	}
	open := func(p string) func() (*corewalk.Target, error) {
		return func() (*corewalk.Target, error) { return corewalk.Open(context.Background(), p) }
	}
	if _, _, err := identify(t.Context(), fifo, "", open(fifo)); err == nil || !strings.Contains(err.Error(), "not a regular file") {
		t.Errorf("FIFO: %v", err)
	}
	write(t, big, coreHead)
	if err := os.Truncate(big, 3<<30); err != nil {
		t.Skip(err) // no sparse files
	}
	id, target, err := identify(t.Context(), big, "d1", open(big))
	if target != nil {
		target.Close()
	}
	if id.SHA256 != "" || id.ID == "sha256:d1" || id.Size != 3<<30 || err == nil { // a digest of all is not what large ones are known by
		t.Errorf("a sparse file that is no core: %+v, %v", id, err)
	}
}

// TestOddRun names files that are not dumps, and one whose name contains a newline: each has its result, and
// the run finishes.
func TestOddRun(t *testing.T) {
	dir := t.TempDir()
	fifo, big, odd := filepath.Join(dir, "fifo"), filepath.Join(dir, "core.big"), filepath.Join(dir, "a\n\x1b.core")
	if err := syscall.Mkfifo(fifo, 0o644); err != nil {
		t.Fatal(err)
	}
	write(t, big, coreHead)
	write(t, odd, coreHead)
	if err := os.Truncate(big, 3<<30); err != nil {
		t.Skip(err)
	}
	r := run(t, context.Background(), &memStore{}, settings{}, Options{}, fifo, big, odd)
	for _, p := range []string{fifo, big, odd} {
		if d, ok := r.dumps[filepath.Base(p)]; !ok || d.FaultKind != ledger.FaultUnreadable {
			t.Errorf("%q: %+v", p, d)
		}
	}
}

// Who names a directory without dumps is told what would be one.
func TestNothingFound(t *testing.T) {
	for _, c := range []struct {
		files     []string
		recursive bool
		want      string
	}{
		{nil, false, ""},
		{[]string{"a.zst"}, false, "no dumps: no file begins as one; compressed"},
		{[]string{"sub/core.1"}, false, "directories only: -r descends"},
		{[]string{"sub/a", "b"}, false, "; -r descends"},
		{[]string{"sub/a", "b"}, true, "named one by one"},
		{[]string{"sub/a", "b", "core.2"}, false, ""},
	} {
		dir := t.TempDir()
		for _, name := range c.files {
			write(t, filepath.Join(dir, name), map[bool]string{true: coreHead, false: "\x28\xb5\x2f\xfd"}[strings.Contains(name, "core")])
		}
		_, troubles := listed(t, dir, c.recursive, dir)
		if got := fmt.Sprint(errors.Join(troubles...)); c.want == "" && troubles != nil || !strings.Contains(got, c.want) && c.want != "" || c.recursive && strings.Contains(got, "-r") {
			t.Errorf("%q: %s", c.files, got)
		}
	}
}

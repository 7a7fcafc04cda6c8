package everyday

import (
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// A setting is how a command finds what is kept between runs, and the places where it is.
type setting struct {
	name     string
	warm     bool // the command has been run before
	together bool // its runs are at the same time
	homeless bool // there is no directory for what is kept
	occupied bool // there is something else in its place
	before   func(t *testing.T, p *place)
	// within is a command that runs another one, given as its last arguments.
	within func(p *place) []string
}

var settings = []setting{
	{name: "cold, then warm"},
	{name: "together", together: true},
	{name: "of another version", warm: true, before: func(t *testing.T, p *place) {
		change(t, p, func(path string) error { return os.Rename(path, strings.TrimSuffix(path, ".v2")+".v999") })
	}},
	{name: "garbage", warm: true, before: func(t *testing.T, p *place) {
		change(t, p, func(path string) error {
			st, err := os.Stat(path)
			if err == nil {
				err = os.WriteFile(path, []byte(strings.Repeat("garbage\n", int(st.Size()/8)+1)), 0o600)
			}
			return err
		})
	}},
	{name: "a file in its place", occupied: true, before: func(t *testing.T, p *place) {
		if err := os.WriteFile(p.path("cache", "corewalk"), []byte("hello"), 0o600); err != nil {
			t.Fatal(err)
		}
	}},
	{name: "read-only", warm: true, before: func(t *testing.T, p *place) {
		dirs := []string{}
		_ = filepath.WalkDir(p.path("cache"), func(path string, d fs.DirEntry, err error) error {
			if err == nil && d.IsDir() {
				dirs = append(dirs, path)
			}
			return err
		})
		for _, dir := range dirs {
			if err := os.Chmod(dir, 0o500); err != nil {
				t.Fatal(err)
			}
		}
		t.Cleanup(func() {
			for _, dir := range dirs {
				_ = os.Chmod(dir, 0o700)
			}
		})
	}, within: func(p *place) []string {
		if os.Geteuid() != 0 {
			return nil // the modes are enough
		}
		return mounted(`mount --bind "$0" "$0" && mount -o remount,bind,ro "$0" && exec "$@"`, p.path("cache"))
	}},
	{name: settingFull, within: func(p *place) []string {
		return mounted(`mount -t tmpfs -o size=16k none "$0" && exec "$@"`, p.path("cache"))
	}},
	{name: settingHangs, within: func(*place) []string { return hanging() }},
	{name: "without HOME", homeless: true, before: func(_ *testing.T, p *place) { p.unset([]string{"HOME", "XDG_CACHE_HOME", "XDG_STATE_HOME"}) }},
	{name: "HOME not writable", before: func(_ *testing.T, p *place) {
		p.unset([]string{"HOME", "XDG_CACHE_HOME", "XDG_STATE_HOME"}, "HOME=/proc/self")
	}},
}

// change does something with each file that is kept.
func change(t *testing.T, p *place, do func(path string) error) {
	t.Helper()
	err := filepath.WalkDir(p.path("cache"), func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		return do(path)
	})
	if err != nil {
		t.Fatal(err)
	}
}

// mounted runs a command with a directory mounted for it alone.
func mounted(script, dir string) []string {
	if mounts() {
		return []string{"unshare", "--mount", "sh", "-c", script, dir}
	}
	// Files of some size cannot be written.
	return []string{"sh", "-c", `ulimit -f 8; exec "$@"`, dir}
}

// settingFull is the setting in which nothing more can be written into the cache.
const settingFull = "full"

// settingHangs is the setting in which the disk takes nothing for the cache and never says so.
const settingHangs = "a disk that hangs"

// hanging is a command that runs another one on a disk that hangs; nil if this kernel cannot.
var hanging = sync.OnceValue(func() []string {
	self, err := os.Executable()
	if err != nil || exec.Command(self, hangs, "/bin/true").Run() != nil {
		return nil
	}
	return []string{self, hangs}
})

var mounts = sync.OnceValue(func() bool { return exec.Command("unshare", "--mount", "true").Run() == nil })

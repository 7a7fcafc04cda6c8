package handle

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/corewalk/corewalk/report"
)

// Where the kernel is told of a handler.
const (
	kernelDir   = "/proc/sys/kernel"
	patternFile = "core_pattern"
	limitFile   = "core_pipe_limit"
	modesFile   = "core_modes"
)

// setting is the path of one of these files.
func (p *Policy) setting(name string) string {
	if p.kernel != "" {
		return filepath.Join(p.kernel, name)
	}
	return filepath.Join(kernelDir, name)
}

// maxPattern is how long a pattern may be, in bytes.
const maxPattern = 127

// pipeLimit is how many handlers may run at once. With 0, the kernel would not wait for them.
const pipeLimit = "500"

// arguments are those that a handler gets from the kernel.
const arguments = " %P %i %s %t %h %e"

// Before is what was installed before this handler.
type Before struct {
	Pattern string `json:"core_pattern"`
	Limit   string `json:"core_pipe_limit"`
	Ours    string `json:"ours"` // the pattern that took its place
}

// An Installation is how the kernel's settings are.
type Installation struct {
	Pattern, Limit string
	Before         *Before // nil if nothing is installed
	Sockets        bool    // the kernel can connect to a socket
}

// Installed reports whether the kernel starts this handler.
func (i *Installation) Installed() bool { return i.Before != nil && i.Pattern == i.Before.Ours }

// Look reads the settings.
func (p *Policy) Look() (*Installation, error) {
	i := &Installation{}
	b, err := os.ReadFile(p.setting(patternFile))
	if err != nil {
		return nil, err
	}
	i.Pattern = strings.TrimSuffix(string(b), "\n")
	if b, err = os.ReadFile(p.setting(limitFile)); err != nil {
		return nil, err
	}
	i.Limit = strings.TrimSpace(string(b))
	b, _ = os.ReadFile(p.setting(modesFile))
	i.Sockets = strings.Contains("\n"+string(b), "\nsocket")
	if b, err = os.ReadFile(p.beforeFile()); err == nil {
		var was Before
		if err := json.Unmarshal(b, &was); err != nil {
			return nil, fmt.Errorf("%s: %w", p.beforeFile(), err)
		}
		i.Before = &was
	} else if !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	return i, nil
}

// InstalledPolicy is the path of the policy file that core_pattern names; "" if it names none.
func InstalledPolicy() string {
	b, err := os.ReadFile(filepath.Join(kernelDir, patternFile))
	if err != nil {
		return ""
	}
	return policyIn(string(b))
}

// policyIn is the path of the policy file in a pattern that Install made.
func policyIn(pattern string) string {
	words := strings.Fields(pattern)
	if len(words) < 4 || words[0][0] != '|' || words[1] != "handle" || words[2] != "--policy" {
		return ""
	}
	return words[3]
}

func (p *Policy) beforeFile() string { return filepath.Join(p.Directory, stateDir, "before.json") }

// Install has the kernel start exe when a process dies, or connect to a socket if that is not "", and remembers what it did before.
// policy is the path of the policy file if it is not the default one.
func (p *Policy) Install(exe, policy, socket string) error {
	pattern := "|" + exe + " handle"
	if policy != "" {
		pattern += " --policy " + policy
	}
	pattern += arguments
	if socket != "" {
		pattern = "@@" + socket
	}
	switch {
	case len(pattern) > maxPattern:
		return fmt.Errorf("core_pattern holds %d bytes, and %q has %d: install the program, or the policy file, at a shorter path", maxPattern, pattern, len(pattern))
	case strings.ContainsAny(exe+policy+socket, " %\n"):
		return fmt.Errorf("%q: paths with spaces or %% cannot be in core_pattern", pattern)
	}
	if err := trusted(exe); err != nil {
		return err
	}
	s, err := p.open()
	if err != nil {
		return err
	}
	lock, err := s.lock("install")
	if err != nil {
		return err
	}
	defer lock.Close()
	now, err := p.Look()
	if err != nil {
		return err
	}
	if socket != "" && !now.Sockets {
		return errors.New("this kernel connects to no sockets (Linux 6.17 does)")
	}
	was := Before{Pattern: now.Pattern, Limit: now.Limit, Ours: pattern}
	if now.Installed() {
		was.Pattern, was.Limit = now.Before.Pattern, now.Before.Limit
	}
	b, err := report.JSON(was, "")
	if err != nil {
		return err
	}
	if err := replace(p.beforeFile(), b); err != nil {
		return err
	}
	if err := errors.Join(set(p.setting(limitFile), pipeLimit), set(p.setting(patternFile), pattern)); err != nil {
		return errors.Join(err, set(p.setting(patternFile), now.Pattern), set(p.setting(limitFile), now.Limit))
	}
	return nil
}

// ErrNotInstalled means that the kernel does not start this handler.
var ErrNotInstalled = errors.New("not installed")

// Uninstall puts back what was there before. What somebody else installed meanwhile stays.
func (p *Policy) Uninstall() (*Before, error) {
	s := &Store{p.Directory}
	lock, err := s.lock("install")
	if err == nil {
		defer lock.Close()
	} else if !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	now, err := p.Look()
	switch {
	case err != nil:
		return nil, err
	case now.Before == nil:
		return nil, fmt.Errorf("%w: %s has nothing of an installation, and core_pattern is %q", ErrNotInstalled, p.Directory, now.Pattern)
	case !now.Installed():
		return nil, errors.Join(fmt.Errorf("core_pattern is now %q, which is not of this handler: it stays", now.Pattern), os.Remove(p.beforeFile()))
	}
	if err := errors.Join(set(p.setting(patternFile), now.Before.Pattern), set(p.setting(limitFile), now.Before.Limit)); err != nil {
		return nil, err
	}
	return now.Before, os.Remove(p.beforeFile())
}

// set writes a setting of the kernel, and checks that it is there.
func set(path, value string) error {
	if err := os.WriteFile(path, []byte(value+"\n"), 0); err != nil {
		return err
	}
	if b, err := os.ReadFile(path); err != nil || strings.TrimSuffix(string(b), "\n") != value {
		return fmt.Errorf("%s is %q, not %q: %w", path, b, value, errors.Join(err, unix.EINVAL))
	}
	return nil
}

// replace writes a file that others see whole or not at all, even after a power failure.
func replace(path string, b []byte) error {
	f, err := os.CreateTemp(filepath.Dir(path), tempPrefix)
	if err != nil {
		return err
	}
	_, err = f.Write(b)
	if err = errors.Join(err, f.Sync(), f.Close()); err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		_ = os.Remove(f.Name())
	}
	return err
}

// trusted refuses a program that somebody else than root can change: the kernel starts it as root.
func trusted(exe string) error {
	for path := exe; ; path = filepath.Dir(path) {
		st, err := os.Stat(path)
		if err != nil {
			return err
		}
		sys, ok := st.Sys().(*syscall.Stat_t)
		sticky := st.IsDir() && st.Mode()&fs.ModeSticky != 0
		if !ok || sys.Uid != 0 || st.Mode().Perm()&0o022 != 0 && !sticky {
			return fmt.Errorf("%s: others than root may change it, and the kernel would start %s as root: %w", path, exe, ErrUnsafe)
		}
		if path == "/" {
			return nil
		}
	}
}

// A Summary is what a store has. Sizes are in bytes.
type Summary struct {
	Crashes         int
	Size, FilesSize uint64
	Newest          string // path
	Rows            int    // that are not in the ledger yet
}

// Summary counts what is kept.
func (p *Policy) Summary() (out Summary) {
	s := &Store{p.Directory}
	for _, e := range s.entries() {
		out.Crashes++
		out.Size += e.size
		out.Newest = e.path
	}
	out.FilesSize = used(filepath.Join(s.dir, filesDir))
	rows, _ := os.ReadDir(s.Rows())
	out.Rows = len(rows)
	return out
}

// LogFile is the path of the log.
func (p *Policy) LogFile() string { return filepath.Join(p.Directory, "log") }

// maxLog is when the log is begun anew, and the old one kept beside it, in bytes.
const maxLog = 4 << 20

// Log writes a line to the log, and to the kernel's if that cannot be done.
func (p *Policy) Log(line string) {
	if st, err := os.Lstat(p.LogFile()); err == nil && st.Size() > maxLog {
		_ = os.Rename(p.LogFile(), p.LogFile()+".old")
	}
	f, err := os.OpenFile(p.LogFile(), os.O_WRONLY|os.O_CREATE|os.O_APPEND|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0o600)
	if err == nil {
		_, err = f.WriteString(line + "\n")
		f.Close()
	}
	if err == nil {
		return
	}
	if k, kerr := os.OpenFile("/dev/kmsg", os.O_WRONLY, 0); kerr == nil {
		_, _ = fmt.Fprintf(k, "<4>corewalk: %.900s (%v)\n", line, err)
		k.Close()
	}
}

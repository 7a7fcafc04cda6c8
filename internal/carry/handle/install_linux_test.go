package handle

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// settings are those of a kernel that is not this machine's.
func settings(t *testing.T) (p *Policy, exe string, now func() string) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("needs root: nobody else may install")
	}
	_, p = store(t)
	p.kernel = t.TempDir()
	for name, text := range map[string]string{patternFile: "|/usr/lib/other %p\n", limitFile: "16\n", modesFile: "file\npipe\nsocket\n"} {
		if err := os.WriteFile(filepath.Join(p.kernel, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	exe = filepath.Join(t.TempDir(), "corewalk")
	if err := os.WriteFile(exe, nil, 0o755); err != nil {
		t.Fatal(err)
	}
	return p, exe, func() string {
		i, err := p.Look()
		if err != nil {
			t.Fatal(err)
		}
		return i.Pattern + " " + i.Limit
	}
}

// What was there is put back, even after two installations.
func TestInstall(t *testing.T) {
	p, exe, now := settings(t)
	if _, err := p.Uninstall(); !errors.Is(err, ErrNotInstalled) {
		t.Errorf("uninstalled what was not installed: %v", err)
	}
	for _, policy := range []string{"", "/etc/p"} {
		if err := p.Install(exe, policy, ""); err != nil {
			t.Fatal(err)
		}
	}
	if got, want := now(), "|"+exe+" handle --policy /etc/p %P %i %s %t %h %e 500"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	i, err := p.Look()
	if err != nil || !i.Installed() {
		t.Errorf("%+v, %v", i, err)
	}
	for pattern, want := range map[string]string{i.Pattern + "\n": "/etc/p", "core\n": "", "|/usr/bin/other handler --policy /x %p\n": "", "|" + exe + " handle" + arguments: "", "|a handle --policy": "", "": ""} {
		if got := policyIn(pattern); got != want {
			t.Errorf("the policy in %q: %q, want %q", pattern, got, want)
		}
	}
	if _, err := p.Uninstall(); err != nil {
		t.Fatal(err)
	}
	if got := now(); got != "|/usr/lib/other %p 16" {
		t.Errorf("put back: %q", got)
	}
	if err := p.Install(exe, "", "/run/s"); err != nil || now() != "@@/run/s 500" {
		t.Errorf("socket: %q, %v", now(), err)
	}
	// Another handler was installed meanwhile.
	if err := os.WriteFile(filepath.Join(p.kernel, patternFile), []byte("|/another\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := p.Uninstall(); err == nil || !strings.Contains(now(), "/another") {
		t.Errorf("%q, %v", now(), err)
	}
}

func TestNotInstalled(t *testing.T) {
	p, exe, now := settings(t)
	for name, install := range map[string]func() error{
		"long":       func() error { return p.Install(exe, "/"+strings.Repeat("x", maxPattern), "") },
		"space":      func() error { return p.Install(exe, "/a b", "") },
		"percent":    func() error { return p.Install(exe, "/%e", "") },
		"no program": func() error { return p.Install(exe+"-none", "", "") },
		"no sockets": func() error {
			return errors.Join(os.Remove(filepath.Join(p.kernel, modesFile)), p.Install(exe, "", "/run/s"))
		},
	} {
		if err := install(); err == nil || now() != "|/usr/lib/other %p 16" {
			t.Errorf("%s: %q, %v", name, now(), err)
		}
	}
}

// TestLog: the log is begun anew when it is long, and is not written where a link or a pipe is in its place.
func TestLog(t *testing.T) {
	p := &Policy{Directory: t.TempDir()}
	p.Log("first")
	if err := os.Truncate(p.LogFile(), maxLog+1); err != nil {
		t.Fatal(err)
	}
	p.Log("second")
	p.Log("third")
	if b, err := os.ReadFile(p.LogFile()); err != nil || string(b) != "second\nthird\n" {
		t.Errorf("%q, %v", b, err)
	}
	if st, err := os.Stat(p.LogFile() + ".old"); err != nil || st.Size() != maxLog+1 {
		t.Errorf("%v, %v", st, err)
	}
	victim := filepath.Join(t.TempDir(), "victim")
	if err := errors.Join(os.WriteFile(victim, nil, 0o600), os.Remove(p.LogFile()), os.Symlink(victim, p.LogFile())); err != nil {
		t.Fatal(err)
	}
	p.Log("a test of the log of corewalk handle, which is to be in the kernel's log")
	if b, err := os.ReadFile(victim); err != nil || len(b) != 0 {
		t.Errorf("written where a link leads: %q, %v", b, err)
	}
}

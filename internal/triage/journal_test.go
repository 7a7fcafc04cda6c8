//go:build unix

package triage

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// journalctl puts a program of this name first on PATH.
func journalctl(t *testing.T, script string) {
	t.Helper()
	bin := t.TempDir()
	if err := os.WriteFile(filepath.Join(bin, "journalctl"), []byte("#!/bin/sh\n"+script), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", bin+":"+os.Getenv("PATH"))
}

// journaled lists what a Journal gives: base names and errors.
func journaled(t *testing.T, dir string) (names, troubles []string) {
	t.Helper()
	for p, err := range (Journal{Dir: dir}).Dumps(t.Context()) {
		if err != nil {
			troubles = append(troubles, strings.ReplaceAll(err.Error(), dir, "DIR"))
		} else {
			names = append(names, filepath.Base(p))
		}
	}
	return names, troubles
}

func TestJournal(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"core.a.0.b.1.2.zst", "core.cut.0.b.2.2.zst", "core.alone.0.b.3.2", "core.odd\xff.0.b.4.2", ".#core.tmp", "other"} {
		write(t, filepath.Join(dir, name), "dump")
	}
	list := `{"COREDUMP_FILENAME":"DIR/core.a.0.b.1.2.zst","COREDUMP_COMM":"a","COREDUMP_PID":"1"}
{"COREDUMP_FILENAME":"DIR/core.cut.0.b.2.2.zst","COREDUMP_TRUNCATED":"1","COREDUMP_COMM":"cut","COREDUMP_PID":"2"}
{"COREDUMP_FILENAME":"DIR/core.gone.0.b.5.2.zst","COREDUMP_COMM":"gone","COREDUMP_PID":"5"}
{"COREDUMP_FILENAME":"DIR/core.gone.0.b.6.2.zst","COREDUMP_COMM":"gone","COREDUMP_PID":"6"}
{"COREDUMP_COMM":"none","COREDUMP_PID":"7"}
{"COREDUMP_FILENAME":"/etc/passwd","COREDUMP_COMM":"evil","COREDUMP_PID":"8"}
{"COREDUMP_FILENAME":"DIR/../x","COREDUMP_COMM":[101,255],"COREDUMP_PID":null}
{"COREDUMP_FILENAME":"DIR/core.a.0.b.1.2.zst","COREDUMP_COMM":"a","COREDUMP_PID":"1"}
not json
`
	bytes := "["
	for i, c := range []byte(dir + "/core.odd\xff.0.b.4.2") {
		if i > 0 {
			bytes += ","
		}
		bytes += strings.TrimSpace(string(decimal(c)))
	}
	list = strings.ReplaceAll(list, "DIR", dir) + `{"COREDUMP_FILENAME":` + bytes + "]}\n"
	file := filepath.Join(t.TempDir(), "list")
	write(t, file, list)
	journalctl(t, `case "$*" in *--output=json*`+coredumpMessage+`*) cat `+file+`;; *) exit 1;; esac`)
	names, troubles := journaled(t, dir)
	if want := []string{"core.a.0.b.1.2.zst", "core.cut.0.b.2.2.zst", "core.odd\xff.0.b.4.2", "core.alone.0.b.3.2"}; !slices.Equal(names, want) {
		t.Errorf("dumps %q, want %q", names, want)
	}
	for _, want := range []string{"1 messages could not be understood", "DIR/core.cut.0.b.2.2.zst: truncated", "2 dumps, the last DIR/core.gone.0.b.6.2.zst: missing",
		"none[7]: no file was kept", "the last e\xff[]: "} {
		if !slices.ContainsFunc(troubles, func(s string) bool { return strings.Contains(s, want) }) {
			t.Errorf("nothing says %q: %q", want, troubles)
		}
	}
}

// decimal returns a byte's decimal digits.
func decimal(c byte) []byte {
	var b []byte
	for ; c > 0 || b == nil; c /= 10 {
		b = append([]byte{'0' + c%10}, b...)
	}
	return b
}

// TestJournalFails: the directory is read without the journal.
func TestJournalFails(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "core.a.0.b.1.2"), "dump")
	journalctl(t, "echo 'Failed to open files: Permission denied' >&2; exit 1")
	names, troubles := journaled(t, dir)
	if len(names) != 1 || len(troubles) != 1 || troubles[0] != "journalctl: Failed to open files: Permission denied; only the files in DIR are known" {
		t.Errorf("dumps %q, errors %q", names, troubles)
	}
	t.Setenv("PATH", t.TempDir())
	if names, troubles = journaled(t, dir); len(names) != 1 || len(troubles) != 0 {
		t.Errorf("without journalctl: dumps %q, errors %q", names, troubles)
	}
	_, troubles = journaled(t, filepath.Join(t.TempDir(), "none"))
	if len(troubles) != 1 || troubles[0] != "no journalctl, and no DIR: systemd-coredump keeps no dumps on this machine" {
		t.Errorf("without either: %q", troubles)
	}
}

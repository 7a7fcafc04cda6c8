package python

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// TestTable makes layouts.txt anew from the headers of the releases that it names.
func TestTable(t *testing.T) {
	home, _ := os.UserHomeDir()
	versions := filepath.Join(home, ".pyenv/versions")
	for _, v := range []string{"3.6.15", "3.7.16", "3.8.18", "3.9.18", "3.10.13", "3.11.7", "3.12.1", "3.13.0"} {
		if _, err := os.Stat(filepath.Join(versions, v, "include")); err != nil {
			t.Skipf("CPython %s is not in %s: pyenv installs it there", v, versions)
		}
	}
	for _, tool := range []string{"gcc", "gdb"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skip(tool + " is not installed: Debian's gcc and gdb")
		}
	}
	out, err := exec.Command("sh", "testdata/layouts.sh", versions).Output()
	if err != nil {
		t.Fatal(err)
	}
	if string(out) != layoutsText {
		t.Errorf("layouts.txt differs from what testdata/layouts.sh makes:\n%s", out)
	}
}

// TestPublished reads offsets that a process publishes, and refuses absurd ones.
func TestPublished(t *testing.T) {
	l := tableLayout(layoutsText, 13)
	words := make([]uint64, 96)
	for i := range words {
		words[i] = uint64(i) * 8
	}
	if !l.published(words) || l.at("runtime.interpreters_head") != 16 || l.at("thread.prev") != 17*8 {
		t.Errorf("interpreters_head at %d, thread.prev at %d", l.at("runtime.interpreters_head"), l.at("thread.prev"))
	}
	if l.forget(); l.has("task.coro") || l.has("frame.stacktop") || !l.has("code.name") {
		t.Error("what an older table says of a newer version is kept, or of objects is not")
	}
	words[3] = 1 << 40
	if tableLayout(layoutsText, 13).published(words) {
		t.Error("an absurd offset is believed")
	}
	if tableLayout(layoutsText, 5) != nil {
		t.Error("a version that the table does not have has a layout")
	}
}

package image

import (
	"fmt"
	"path/filepath"
	"testing"

	"github.com/corewalk/corewalk/internal/files/kept"
)

// What a call leads to is the same when it was kept by an earlier run: functions of the file, names of others, and nothing.
func TestCallTargetKept(t *testing.T) {
	path := settled(t, "amd64-passed-O2")
	dir := filepath.Join(t.TempDir(), "kept")
	named := 0
	run := func() (all []string) {
		with(t, kept.New(dir, 1<<30), path, func(im *Image) {
			if _, ok := im.cache.program(); !ok {
				t.Skip("this program's file is not known")
			}
			named = 0
			text := im.elf.Section(".text")
			for pc := text.Addr; pc < text.Addr+text.Size; pc++ {
				starts, name, err := callTarget(im, im.DWARF(), pc)
				line := fmt.Sprintf("%#x %q %v", pc, name, err == nil)
				for _, f := range starts {
					line += fmt.Sprintf(" %#x", f.Off)
				}
				if name != "" {
					named++
				}
				all = append(all, line)
			}
		})
		return all
	}
	first := run()
	if named == 0 {
		t.Fatal("no call leads to another file by its name")
	}
	for i, line := range run() {
		if line != first[i] {
			t.Errorf("%s, kept: %s", first[i], line)
		}
	}
}

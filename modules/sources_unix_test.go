//go:build unix

package modules_test

import (
	"context"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/corewalk/corewalk/libstate"
	"github.com/corewalk/corewalk/modules"
)

// A pipe with the name of a source file is not opened: that would wait for a writer.
func TestSourcePipe(t *testing.T) {
	dir := t.TempDir()
	if err := syscall.Mkfifo(filepath.Join(dir, "a.c"), 0o600); err != nil {
		t.Skip(err)
	}
	files, err := modules.New(context.Background(), noBytes{}, modules.WithSearch(dir))
	if err != nil {
		t.Fatal(err)
	}
	defer files.Close()
	if f, err := files.SourceFile(&libstate.Library{Path: "/bin/none"}, "/src/a.c"); err == nil {
		t.Error(f)
	}
}

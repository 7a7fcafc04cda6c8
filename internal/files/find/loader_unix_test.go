//go:build unix

package find

import (
	"context"
	"path/filepath"
	"syscall"
	"testing"
)

// A pipe in place of ld.so.conf is not opened: that would wait for a writer.
func TestLoaderPipe(t *testing.T) {
	root := tree(t, map[string]string{"etc/x": "", "usr/lib/x": ""})
	if err := syscall.Mkfifo(filepath.Join(root, "etc/ld.so.conf"), 0o600); err != nil {
		t.Skip(err)
	}
	if dirs := New(context.Background(), Options{Sysroots: []string{root}}).loaderDirs(); len(dirs) != 1 {
		t.Errorf("%q", dirs)
	}
}

//go:build amd64 || arm64

package crashself

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"
)

const (
	// defaultCount is Options.Count by default.
	defaultCount = 20
	// stamp begins the names of directories, so that they are in the order of time.
	stamp = "20060102T150405.000000"
)

// makeDir makes the directory of this crash, and removes the oldest ones of the same program.
func (w *watcher) makeDir() error {
	if err := os.MkdirAll(w.Dir, 0o700); err != nil {
		return err
	}
	// Others may have made a directory of that name where everybody may.
	st, err := os.Stat(w.Dir)
	if err != nil {
		return err
	}
	if sys, ok := st.Sys().(*syscall.Stat_t); !ok || int(sys.Uid) != os.Geteuid() || st.Mode().Perm()&0o022 != 0 {
		return fmt.Errorf("%s: others may write there: %w", w.Dir, os.ErrPermission)
	}
	ending := "-" + strings.Map(plain, w.Program) + "-"
	w.rotate(ending)
	w.dir = filepath.Join(w.Dir, time.Now().UTC().Format(stamp)+ending+fmt.Sprint(w.pid))
	return os.Mkdir(w.dir, 0o700)
}

// plain replaces what is awkward in the names of files.
func plain(r rune) rune {
	if r <= ' ' || r == '/' || r > '~' {
		return '_'
	}
	return r
}

// rotate removes the oldest crashes, so that there is room for one more.
func (w *watcher) rotate(ending string) {
	count := w.Count
	if count <= 0 {
		count = defaultCount
	}
	list, _ := os.ReadDir(w.Dir)
	list = slices.DeleteFunc(list, func(e os.DirEntry) bool {
		name := e.Name()
		if len(name) < len(stamp) || !e.IsDir() {
			return true
		}
		_, err := time.Parse(stamp, name[:len(stamp)])
		pid, ok := strings.CutPrefix(name[len(stamp):], ending)
		return err != nil || !ok || strings.Trim(pid, "0123456789") != ""
	})
	for len(list) >= count {
		_ = os.RemoveAll(filepath.Join(w.Dir, list[0].Name()))
		list = list[1:]
	}
}

// log says what went wrong, in the crash's directory.
func (w *watcher) log(format string, args ...any) {
	if w.dir == "" {
		return
	}
	f, err := os.OpenFile(filepath.Join(w.dir, "log"), os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return
	}
	defer f.Close()
	fmt.Fprintf(f, format+"\n", args...)
}

//go:build amd64 || arm64

package crashself

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/corewalk/corewalk/internal/files/owned"
)

const (
	// defaultCount is Options.Count by default.
	defaultCount = 20
	// stamp begins the names of directories, so that they are in the order of time.
	stamp = "20060102T150405.000000"
)

// makeDir makes the directory of this crash, and removes the oldest ones of the same program.
func (w *watcher) makeDir() error {
	if err := owned.Make(w.Dir, 0o700); err != nil { // others may have put something there, where everybody may
		return err
	}
	ending := "-" + strings.Map(plain, w.Program) + "-"
	w.dir = filepath.Join(w.Dir, time.Now().UTC().Format(stamp)+ending+fmt.Sprint(w.pid))
	if err := os.Mkdir(w.dir, 0o700); err != nil {
		return err
	}
	w.rotate(ending) // after it: of several at once, the last one sees all
	return nil
}

// plain replaces what is awkward in the names of files.
func plain(r rune) rune {
	if r <= ' ' || r == '/' || r > '~' {
		return '_'
	}
	return r
}

// rotate removes the oldest crashes, until there are no more than so many.
func (w *watcher) rotate(ending string) {
	count := w.Count
	if count <= 0 {
		count = defaultCount
	}
	list, _ := os.ReadDir(w.Dir)
	list = slices.DeleteFunc(list, func(e os.DirEntry) bool {
		name, gone := strings.CutPrefix(e.Name(), ".")
		if len(name) < len(stamp) || !e.IsDir() {
			return true
		}
		_, err := time.Parse(stamp, name[:len(stamp)])
		pid, ok := strings.CutPrefix(name[len(stamp):], ending)
		if err != nil || !ok || strings.Trim(pid, "0123456789") != "" {
			return true
		}
		if gone { // whoever removed it was killed, or is still about it
			_ = os.RemoveAll(filepath.Join(w.Dir, e.Name()))
		}
		return gone
	})
	for ; len(list) > count; list = list[1:] {
		old := filepath.Join(w.Dir, list[0].Name())
		if old == w.dir {
			continue
		}
		// Its watcher may still write: by another name it is not found.
		gone := filepath.Join(w.Dir, "."+list[0].Name())
		if os.Rename(old, gone) == nil {
			_ = os.RemoveAll(gone)
		}
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

package command

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/corewalk/corewalk/internal/command/serving"
	"github.com/corewalk/corewalk/internal/files/dirlock"
)

// lockDir keeps a second service from a directory: each would give back what the other analyses.
func lockDir(dir string) (unlock func(), err error) {
	unlock, err = dirlock.Take(dir)
	if errors.Is(err, dirlock.ErrTaken) {
		err = fmt.Errorf("another corewalk serve uses %s: give another directory with --dir", dir)
	}
	return unlock, err
}

// runningDir is where the services that this user runs say in which directories they are: a file for each process.
func runningDir() (string, error) {
	state, err := stateDir()
	return filepath.Join(state, "corewalk", "serving"), err
}

// announce says that this process serves a directory, until it is called back.
func announce(dir string) (over func()) {
	at, err := runningDir()
	if err == nil {
		err = os.MkdirAll(at, 0o700)
	}
	path := filepath.Join(at, strconv.Itoa(os.Getpid()))
	if err == nil {
		err = os.WriteFile(path, []byte(dir), 0o600)
	}
	if err != nil { // it runs without, and its tokens need --dir
		return func() {}
	}
	return func() { os.Remove(path) }
}

// running lists the directories of services that this user runs. One that was killed has left its file, and nobody has the lock of its directory.
func running() (dirs []string) {
	at, err := runningDir()
	if err != nil {
		return nil
	}
	list, _ := os.ReadDir(at)
	for _, e := range list {
		text, err := os.ReadFile(filepath.Join(at, e.Name()))
		dir := string(text)
		if err != nil || !filepath.IsAbs(dir) {
			continue
		}
		if !dirlock.Taken(dir) {
			os.Remove(filepath.Join(at, e.Name()))
			continue
		}
		if !slices.Contains(dirs, dir) {
			dirs = append(dirs, dir)
		}
	}
	return dirs
}

// serviceDir is the directory of the service that a command without --dir is about: the one that runs, else that of the default place. Where there is none,
// nothing is made: whoever serves elsewhere would look for it in vain.
func (d *serveDir) serviceDir() (string, error) {
	if d.dir != "" {
		return d.path()
	}
	found := running()
	if len(found) > 1 {
		return "", fmt.Errorf("several services run: say with --dir which of %s", strings.Join(found, ", "))
	}
	if len(found) == 1 {
		return found[0], nil
	}
	dir, err := d.path()
	if err == nil && !serving.Exists(dir) {
		err = fmt.Errorf("no service of this user runs, and %s has none: give its directory with --dir (%w)", dir, fs.ErrNotExist)
	}
	return dir, err
}

// errNoService says that a directory has no service.
var errNoService = errors.New("there is no service: start corewalk serve with this --dir first")

package command

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
)

// fullName is the program that has all parts.
const fullName = "corewalk-full"

// starterVar tells corewalk-full which build of corewalk starts it.
const starterVar = "COREWALK_STARTED_BY"

// An absentError says that corewalk-full is needed, and not there.
type absentError struct{ what, dir string }

func (e *absentError) Error() string {
	return fmt.Sprintf("%s needs the program %s, which is not in %s; 'go install github.com/corewalk/corewalk/cmd/...@latest' installs both, and in the sources 'go run ./cmd/%[2]s' does the same",
		e.what, fullName, e.dir)
}

// handOver has corewalk-full carry out the whole command line in place of this program. It returns only if that fails.
// Nothing may have been read or written before.
func handOver(what string) error {
	exe, err := os.Executable()
	if err != nil {
		return err
	}
	target, err := filepath.EvalSymlinks(exe) // others than Linux say which link was started
	if err != nil {
		target = exe
	}
	name := fullName
	if runtime.GOOS == "windows" {
		name += ".exe"
	}
	for _, dir := range []string{filepath.Dir(exe), filepath.Dir(target)} {
		path := filepath.Join(dir, name)
		if st, err := os.Stat(path); err != nil || !st.Mode().IsRegular() {
			continue
		}
		if err := become(path, os.Args[1:], append(os.Environ(), starterVar+"="+build())); err != nil {
			return fmt.Errorf("%s: %w", what, err)
		}
	}
	return &absentError{what, filepath.Dir(exe)}
}

// build identifies the sources of this program, as far as it knows them.
func build() string {
	id := version()
	if info, ok := debug.ReadBuildInfo(); ok {
		id += " " + info.Main.Version
	}
	return id
}

// checkStarter refuses to stand in for a corewalk of other sources.
func checkStarter() error {
	starter, started := os.LookupEnv(starterVar)
	if !started {
		return nil
	}
	os.Unsetenv(starterVar) // this program starts others
	if own := build(); starter != own {
		return fmt.Errorf("%s is of another build (%s) than corewalk (%s): install both together", fullName, own, starter)
	}
	return nil
}

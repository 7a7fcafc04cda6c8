package command

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
)

// fullName is the program that has all parts but those of a service on many machines, and fleetName the one that has these, too.
const (
	fullName  = "corewalk-full"
	fleetName = "corewalkd"
)

// starterVar tells the other program which build of corewalk starts it, and starterPathVar where that is.
const (
	starterVar     = "COREWALK_STARTED_BY"
	starterPathVar = "COREWALK_STARTER"
)

// starter is the path of the program of the same build that handed its command line over to this one; "" if none did.
var starter string

// An absentError says that another program is needed, and not there.
type absentError struct{ what, program, dir string }

func (e *absentError) Error() string {
	return fmt.Sprintf("%s needs the program %s, which is not in %s; 'go install github.com/corewalk/corewalk/cmd/...@latest' installs it, and in the sources 'go run ./cmd/%[2]s' does the same",
		e.what, e.program, e.dir)
}

// handOver has corewalk-full carry out the whole command line in place of this program: see handOverTo.
func handOver(what string) error { return handOverTo(fullName, what) }

// handOverTo has another program carry out the whole command line in place of this program. It returns only if that fails.
// Nothing may have been read or written before.
func handOverTo(program, what string) error {
	exe, err := os.Executable()
	if err != nil {
		return err
	}
	target, err := filepath.EvalSymlinks(exe) // others than Linux say which link was started
	if err != nil {
		target = exe
	}
	name := program
	if runtime.GOOS == "windows" {
		name += ".exe"
	}
	for _, dir := range []string{filepath.Dir(exe), filepath.Dir(target)} {
		path := filepath.Join(dir, name)
		if st, err := os.Stat(path); err != nil || !st.Mode().IsRegular() {
			continue
		}
		if err := become(path, os.Args[1:], append(os.Environ(), starterVar+"="+build(), starterPathVar+"="+target)); err != nil {
			return fmt.Errorf("%s: %w", what, err)
		}
	}
	return &absentError{what, program, filepath.Dir(exe)}
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
	by, started := os.LookupEnv(starterVar)
	if !started {
		return nil
	}
	path := os.Getenv(starterPathVar)
	os.Unsetenv(starterVar) // this program starts others
	os.Unsetenv(starterPathVar)
	if own := build(); by != own {
		return fmt.Errorf("%s is of another build (%s) than the program that starts it (%s): install them together", filepath.Base(os.Args[0]), own, by)
	}
	starter = path
	return nil
}

// analyst returns the program whose processes analyse dumps for this one: that which handed over to this one, which starts
// sooner and has all that they need; or this program, if they are to ask servers.
func (f *fileFlags) analyst() (string, error) {
	if files, symbols := f.fetch.fetchers(); starter != "" && files == nil && symbols == nil {
		return starter, nil
	}
	return os.Executable()
}

package command

import (
	"fmt"

	"github.com/spf13/pflag"

	"github.com/corewalk/corewalk"
)

// aroundFlags say what to print around the frames, and of the process.
type aroundFlags struct {
	source      int
	disassemble bool
	env         string
}

// The values of --env.
const (
	envMasked = "masked"
	envAll    = "all"
	envNone   = "none"
)

func (f *aroundFlags) register(fs *pflag.FlagSet) {
	fs.IntVar(&f.source, "source", 0, "print `N` lines of source before and after each frame's line; see --source-map")
	fs.BoolVar(&f.disassemble, "disassemble", false, "print the instructions around each frame's address")
	fs.StringVar(&f.env, "env", envNone, "print the environment that the process was started with: `WHICH` is masked (without a value: secrets are masked), all or none")
	fs.Lookup("env").NoOptDefVal = envMasked
	choose(fs, "env", envMasked, envAll, envNone)
}

// maxSourceLines bounds --source.
const maxSourceLines = 1000

func (f *aroundFlags) apply(o *wanted) error {
	if f.source < 0 || f.source > maxSourceLines {
		return fmt.Errorf("--source %d: must be 0 to %d", f.source, maxSourceLines)
	}
	switch f.env {
	case envNone:
	case envMasked:
		o.Include.Environment = corewalk.EnvironmentMasked
	case envAll:
		o.Include.Environment = corewalk.EnvironmentAll
	default:
		return fmt.Errorf("--env=%s: must be masked, all or none", f.env)
	}
	o.Include.Source, o.Include.Code = f.source, f.disassemble
	return nil
}

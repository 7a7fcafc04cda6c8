package main

import (
	"fmt"

	"github.com/spf13/pflag"

	"github.com/corewalk/corewalk"
)

// aroundFlags say what of source, code and memory to print around the frames.
type aroundFlags struct {
	source      int
	disassemble bool
	memory      bool
}

func (f *aroundFlags) register(fs *pflag.FlagSet) {
	fs.IntVar(&f.source, "source", 0, "print `N` lines of source before and after each frame's line; see --source-map")
	fs.BoolVar(&f.disassemble, "disassemble", false, "print the instructions around each frame's address")
	fs.BoolVar(&f.memory, "memory", false, "print the memory around the bad address, the registers' values and the stack pointer")
}

// maxSourceLines bounds --source.
const maxSourceLines = 1000

func (f *aroundFlags) apply(o *corewalk.AnalyzeOptions) error {
	if f.source < 0 || f.source > maxSourceLines {
		return fmt.Errorf("--source %d: must be 0 to %d", f.source, maxSourceLines)
	}
	o.SourceLines, o.Disassemble, o.Memory = f.source, f.disassemble, f.memory
	return nil
}

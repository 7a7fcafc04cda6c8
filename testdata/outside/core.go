package main

import (
	"context"
	"fmt"
	"io"
	"path/filepath"
	"sync"

	"github.com/corewalk/corewalk/corestate"
	"github.com/corewalk/corewalk/dwarfvars"
	"github.com/corewalk/corewalk/libstate"
	"github.com/corewalk/corewalk/modules"
	"github.com/corewalk/corewalk/steppers"
	"github.com/corewalk/corewalk/symlookup"
	"github.com/corewalk/corewalk/unwind"
)

// files is a modules.Source: the file of a library is the one of its name in one of some
// directories, if the build-id is right.
type files struct {
	dirs []string

	mu   sync.Mutex
	open map[*libstate.Library]*modules.Image
}

func (s *files) Image(lib *libstate.Library) *modules.Image {
	s.mu.Lock()
	defer s.mu.Unlock()
	if im, known := s.open[lib]; known {
		return im
	}
	var found *modules.Image
	for _, dir := range s.dirs {
		im, err := modules.OpenImage(context.Background(), filepath.Join(dir, filepath.Base(lib.Path)))
		if err == nil && (lib.BuildID == nil || lib.SameBuildID(im.BuildID())) {
			found = im
			break
		}
		im.Close()
	}
	s.open[lib] = found
	return found
}

// core walks the thread of a core that crashed, and prints the arguments and variables of
// its functions.
func core(w io.Writer, path, dir string) error {
	proc, err := corestate.Open(context.Background(), path)
	if err != nil {
		return err
	}
	defer proc.Close()
	source := &files{dirs: []string{dir}, open: map[*libstate.Library]*modules.Image{}}
	libs, _ := proc.BuildLibraries(source)
	proc.SetBacking(source)
	if prog, ok := libs.AOut(); ok {
		im := source.Image(prog)
		fmt.Fprintf(w, "program %s, debug information: %t\n", filepath.Base(im.Path()), im.HasDebugInfo())
	}
	group, err := steppers.DefaultGroup(proc.Arch(), source)
	if err != nil {
		return err
	}
	lookup := symlookup.New(libs, source)
	walker, err := unwind.NewWalker(proc, unwind.WithGroup(group), unwind.WithSymbolLookup(lookup), unwind.WithSymbolReader(lookup))
	if err != nil {
		return err
	}
	defer walker.Close()
	stack, err := walker.WalkStack(unwind.NullThread)
	if err != nil {
		return err
	}
	vars := dwarfvars.New(proc, source)
	for i, f := range stack.Frames {
		name, err := f.Name()
		if err != nil {
			name = "?"
		}
		fmt.Fprintf(w, "#%d %s\n", i, name)
		a, err := vars.At(stack.Frames, i)
		if err != nil {
			continue // nothing describes the function
		}
		for _, scope := range a.Live() {
			for _, v := range append(scope.Params, scope.Locals...) {
				fmt.Fprintf(w, "   %s = %s\n", v.Name, a.Read(v, dwarfvars.Options{}))
			}
		}
		a.Close()
		if name == "main" {
			break
		}
	}
	return nil
}

package command

import (
	"fmt"

	"github.com/spf13/pflag"

	"github.com/corewalk/corewalk"
)

// localsFlags say which variables to print, and how much of each.
type localsFlags struct {
	which                            string
	maxElements, maxString, maxDepth int
}

func (f *localsFlags) register(fs *pflag.FlagSet) {
	fs.StringVar(&f.which, "locals", "top", "print variables: `WHICH` is none, args (arguments of every frame), top (also the local variables of the crashing thread's first frames) or all")
	choose(fs, "locals", "none", "args", "top", "all")
	fs.IntVar(&f.maxElements, "max-elements", 0, "print at most `N` elements of an array or container (default 200)")
	fs.IntVar(&f.maxString, "max-string", 0, "print at most `N` characters of a string (default 200)")
	fs.IntVar(&f.maxDepth, "max-depth", 0, "print values nested at most `N` deep (default 8)")
}

// apply checks the flags and puts them into o.
func (f *localsFlags) apply(o *wanted) error {
	switch f.which {
	case "top":
		o.Locals = corewalk.LocalsTop
	case "none":
		o.Locals = corewalk.LocalsNone
	case "args":
		o.Locals = corewalk.LocalsArgs
	case "all":
		o.Locals = corewalk.LocalsAll
	default:
		return fmt.Errorf("--locals %s: must be none, args, top or all", f.which)
	}
	for _, b := range []struct {
		flag string
		n    int
	}{{"max-elements", f.maxElements}, {"max-string", f.maxString}, {"max-depth", f.maxDepth}} {
		if b.n < 0 {
			return fmt.Errorf("--%s %d: must be 1 or more", b.flag, b.n)
		}
	}
	o.how.Values.MaxElements, o.how.Values.MaxString, o.how.Values.MaxDepth = f.maxElements, f.maxString, f.maxDepth
	return nil
}

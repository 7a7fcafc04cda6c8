package command

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strconv"

	"github.com/spf13/pflag"

	"github.com/corewalk/corewalk/internal/lazy"
	"github.com/corewalk/corewalk/report"
)

// layoutFlags say how the text of a report is laid out.
type layoutFlags struct {
	width  int
	wide   bool
	noFold bool
	native bool
	paths  string
}

// pathStyles are the values of --paths.
var pathStyles = lazy.Value[map[string]report.PathStyle]{Make: func() map[string]report.PathStyle {
	return map[string]report.PathStyle{"base": report.PathsBase, "full": report.PathsFull, "relative": report.PathsRelative}
}}

func (f *layoutFlags) register(fs *pflag.FlagSet) {
	fs.IntVar(&f.width, "width", 0, "fit the text into `N` columns (default: the terminal's; in a pipe only long values are shortened)")
	fs.BoolVar(&f.wide, "wide", false, "shorten nothing to fit the width")
	fs.BoolVar(&f.noFold, "no-fold", false, "print every thread and every frame of a recursion; in JSON, the variables of every round")
	fs.BoolVar(&f.native, "native", false, "print also the native frames that only execute Python's calls")
	fs.StringVar(&f.paths, "paths", "base", "print source paths in this `STYLE`: base (the file's name), full, or relative (to the current directory)")
	choose(fs, "paths", slices.Sorted(maps.Keys(pathStyles.Get()))...)
}

func (f *layoutFlags) check() error {
	if f.width < 0 {
		return fmt.Errorf("--width %d: must be 0 or more", f.width)
	}
	if f.width > 0 && f.wide {
		return errors.New("--width and --wide exclude each other: use one")
	}
	if _, ok := pathStyles.Get()[f.paths]; !ok {
		return fmt.Errorf("--paths %s: must be base, full or relative", f.paths)
	}
	return nil
}

// pipeValue is how many characters of a value a pipe gets in a line: enough for whatever searches in it, and no container of hundreds of elements,
// which print shows.
const pipeValue = 1000

// apply sets the options of text that goes to out.
func (f *layoutFlags) apply(o *report.TextOptions, out any) {
	o.Native = f.native
	o.Unfolded, o.Paths = f.noFold, pathStyles.Get()[f.paths]
	if o.Paths == report.PathsRelative {
		o.Dir, _ = os.Getwd() // without one, paths are shown in full
	}
	if o.Wide = f.wide || f.width == 0 && !isTerminal(out); !f.wide && o.Wide {
		o.MaxValue = pipeValue
	}
	o.Width = f.width
	if o.Width == 0 {
		o.Width = columns(out)
	}
}

// columns returns the width that COLUMNS or the terminal says, 0 if neither does.
func columns(out any) int {
	if n, err := strconv.Atoi(os.Getenv("COLUMNS")); err == nil && n > 0 {
		return n
	}
	if file, ok := out.(*os.File); ok && isTerminal(out) {
		return terminalColumns(file)
	}
	return 0
}

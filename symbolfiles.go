package corewalk

import (
	"github.com/corewalk/corewalk/internal/format/breakpad"
	"github.com/corewalk/corewalk/internal/format/winunwind"
	"github.com/corewalk/corewalk/libstate"
	"github.com/corewalk/corewalk/steppers"
)

// peUnwind is the function table of a library that is a PE image; nil for none.
func (t *Target) peUnwind(lib *libstate.Library) *winunwind.Table {
	return t.images.Image(lib).PEUnwind()
}

// breakpad is a library's Breakpad symbol file; nil for none.
func (t *Target) breakpad(lib *libstate.Library) *breakpad.File {
	return t.images.Image(lib).Breakpad()
}

// winFrames tells how a library of 32-bit Windows uses its frames; nil for none.
func (t *Target) winFrames(lib *libstate.Library) steppers.WinFrames {
	im := t.images.Image(lib)
	if p := im.PDB(); p != nil {
		return p
	}
	if f := im.Breakpad(); f != nil {
		return steppers.SymbolWinFrames(f)
	}
	return nil
}

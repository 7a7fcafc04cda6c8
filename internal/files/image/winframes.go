package image

import (
	"github.com/corewalk/corewalk/internal/format/breakpad"
	"github.com/corewalk/corewalk/internal/format/unwindrules"
)

// WinFrames tells how 32-bit x86 code of Windows uses its frames. rva is an offset
// from the module's base. Nothing known is nil without an error.
type WinFrames interface {
	WinFrame(rva uint32) (*unwindrules.WinFrame, error)
}

// WinFrames is what the module's PDB says of frames, or its Breakpad symbol file; nil
// for none. It may fetch.
func (im *Image) WinFrames() WinFrames {
	if im != nil && im.frames != nil {
		return im.frames
	}
	if p := im.PDB(); p != nil {
		return p
	}
	if f := im.Breakpad(); f != nil {
		return symbolWinFrames{f}
	}
	return nil
}

// symbolWinFrames are the STACK WIN records of a Breakpad symbol file.
type symbolWinFrames struct{ *breakpad.File }

// WinFrame implements WinFrames. Whether a record begins a function, which symbol files
// leave out, its name tells.
func (s symbolWinFrames) WinFrame(rva uint32) (*unwindrules.WinFrame, error) {
	w, err := s.Win(uint64(rva))
	if w != nil {
		sym, ok := s.Lookup(uint64(rva))
		w.FunctionHead = ok && sym.Start == uint64(w.Start)
	}
	return w, err
}

// ParamSize is what FUNC and PUBLIC records say of functions without a frame's record:
// the bytes of their parameters.
func (s symbolWinFrames) ParamSize(rva uint32) uint64 {
	sym, _ := s.Lookup(uint64(rva))
	return sym.Params
}

package image

import (
	"github.com/corewalk/corewalk/internal/format/breakpad"
	"github.com/corewalk/corewalk/internal/format/unwindrules"
)

// WinFrames describes how 32-bit x86 code on Windows uses its frames. rva is an offset from
// the module's base. If nothing is known, the result is nil without an error; with an error
// it is nil, too.
type WinFrames interface {
	WinFrame(rva uint32) (*unwindrules.WinFrame, error)
}

// WinFrames returns the frame descriptions in the module's PDB or Breakpad symbol file, or
// nil if there are none. It may fetch.
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

// FrameSizes says how much stack x64 functions of Windows use. rva is an offset from the
// module's base. If nothing is known, the result is nil without an error; with an error it
// is nil, too.
type FrameSizes interface {
	FrameSize(rva uint32) (*unwindrules.FrameSize, error)
}

// FrameSizes returns the frame sizes in the module's PDB, or nil if there are none. It may
// fetch.
func (im *Image) FrameSizes() FrameSizes {
	if im != nil && im.sizes != nil {
		return im.sizes
	}
	if p := im.PDB(); p != nil {
		return p
	}
	return nil
}

// symbolWinFrames are the STACK WIN records of a Breakpad symbol file.
type symbolWinFrames struct{ *breakpad.File }

// WinFrame implements WinFrames. Symbol files do not say whether a record begins a
// function; this is determined from the function's start.
func (s symbolWinFrames) WinFrame(rva uint32) (*unwindrules.WinFrame, error) {
	w, err := s.Win(uint64(rva))
	if w != nil {
		sym, ok := s.Function(uint64(rva))
		w.FunctionHead = ok && sym.Start == uint64(w.Start)
	}
	return w, err
}

// ParamSize returns the size in bytes of a function's parameters according to FUNC and
// PUBLIC records, for functions without a frame record.
func (s symbolWinFrames) ParamSize(rva uint32) uint64 {
	sym, _ := s.Function(uint64(rva))
	return sym.Params
}

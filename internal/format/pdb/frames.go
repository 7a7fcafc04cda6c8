package pdb

import (
	"sort"

	"github.com/corewalk/corewalk/internal/format/unwindrules"
)

// frames are the two streams that describe how 32-bit x86 code uses its frames: FPO,
// written by old compilers, and FrameData, with programs.
type frames struct {
	fpo, data []frameEntry // sorted by start
	fpoS      *stream
	dataS     *stream
}

type frameEntry struct{ start, at uint32 }

func (f *File) readFrames() (*frames, error) {
	x := new(frames)
	var err error
	if x.fpoS, err = f.c.stream(f.dbi.debug[debugFPO]); err != nil {
		return nil, err
	}
	if x.dataS, err = f.c.stream(f.dbi.debug[debugFrames]); err != nil {
		return nil, err
	}
	x.fpo = frameEntries(x.fpoS, 0, 16)
	x.data = frameEntries(x.dataS, x.dataS.size%32, 32) // the first word is relocated by the linker
	return x, nil
}

func frameEntries(s *stream, at, size int) []frameEntry {
	list := make([]frameEntry, 0, s.size/size)
	for ; at+size <= s.size; at += size {
		start, _ := s.u32(at)
		list = append(list, frameEntry{start, uint32(at)})
	}
	less := func(i, j int) bool { return list[i].start < list[j].start }
	if !sort.SliceIsSorted(list, less) {
		sort.SliceStable(list, less)
	}
	return list
}

// WinFrame returns the record for the frame of the code at an RVA: the one that begins
// last, and if several begin there, the one with a program. It returns nil and no error if
// there is none.
func (f *File) WinFrame(rva uint32) (*unwindrules.WinFrame, error) {
	x, err := f.frames()
	if err != nil {
		return nil, err
	}
	data := nearest(x.data, rva, func(at int) *unwindrules.WinFrame { return f.frameData(x.dataS, at) })
	fpo := nearest(x.fpo, rva, func(at int) *unwindrules.WinFrame { return fpoFrame(x.fpoS, at) })
	if data == nil || fpo != nil && fpo.Start > data.Start {
		return fpo, nil
	}
	return data, nil
}

func nearest(list []frameEntry, rva uint32, read func(at int) *unwindrules.WinFrame) *unwindrules.WinFrame {
	i := sort.Search(len(list), func(i int) bool { return list[i].start > rva })
	for n := 0; n < 64 && i > 0; n++ {
		i--
		if w := read(int(list[i].at)); w != nil && rva-w.Start < w.Size {
			return w
		}
	}
	return nil
}

func (f *File) frameData(s *stream, at int) *unwindrules.WinFrame {
	b, ok := s.bytes(at, 32)
	if !ok {
		return nil
	}
	return &unwindrules.WinFrame{Start: le.Uint32(b), Size: le.Uint32(b[4:]), Locals: le.Uint32(b[8:]), Params: le.Uint32(b[12:]),
		MaxStack: le.Uint32(b[16:]), Program: f.name(le.Uint32(b[20:])), Prolog: uint32(le.Uint16(b[24:])),
		SavedRegs: uint32(le.Uint16(b[26:])), FunctionHead: le.Uint32(b[28:])&4 != 0}
}

// fpoFrame decodes FPO_DATA: sizes in words of four bytes, and a word of bits.
func fpoFrame(s *stream, at int) *unwindrules.WinFrame {
	b, ok := s.bytes(at, 16)
	if !ok {
		return nil
	}
	bits := le.Uint16(b[14:])
	return &unwindrules.WinFrame{Start: le.Uint32(b), Size: le.Uint32(b[4:]), Locals: 4 * le.Uint32(b[8:]),
		Params: 4 * uint32(le.Uint16(b[12:])), Prolog: uint32(bits & 0xff), SavedRegs: 4 * uint32(bits>>8&7),
		UsesBP: bits>>12&1 != 0}
}

package winunwind

import "github.com/corewalk/corewalk/unwind/arch"

// A Piece is a piece of unwind information: where it is in the image, and its size in bytes.
type Piece struct{ RVA, Size uint32 }

// Pieces returns the unwind information that is needed to step out of fn: with what it refers
// to, as far as the image has it. If all is in the entry itself, there is none.
func (t *Table) Pieces(fn Function) []Piece {
	if t.arch == arch.ARM64 {
		return t.pieceARM64(fn)
	}
	var list []Piece
	for range maxChain {
		if fn.Data&1 != 0 {
			b := t.image.At(fn.Data - 1)
			if len(b) < entryAMD64 {
				return list
			}
			list = append(list, Piece{fn.Data - 1, entryAMD64})
			fn.Data = le.Uint32(b[8:])
			continue
		}
		b := t.image.At(fn.Data)
		if len(b) < 4 {
			return list
		}
		size := 4 + 2*int(b[2])
		chained := b[0]>>3&flagChained != 0
		if chained {
			size = (size+3)&^3 + entryAMD64
		}
		list = append(list, Piece{fn.Data, uint32(min(size, len(b)))})
		if !chained || len(b) < size {
			return list
		}
		fn.Data = le.Uint32(b[size-4:])
	}
	return list
}

func (t *Table) pieceARM64(fn Function) []Piece {
	if fn.Data&3 != flagXdata {
		return nil
	}
	b := t.image.At(fn.Data)
	x, ok := readXdata(b)
	if !ok {
		return nil
	}
	return []Piece{{fn.Data, uint32(min(x.size(), len(b)))}}
}

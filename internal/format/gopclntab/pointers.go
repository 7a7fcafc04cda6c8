package gopclntab

// A Bitmap has a bit for each word of a part of the stack, lowest address first, lowest bit first.
type Bitmap struct {
	Len  int
	Bits []byte
}

// Has reports whether bit i is set.
func (b Bitmap) Has(i int) bool { return i < b.Len && b.Bits[i/8]>>(i%8)&1 != 0 }

// Numbers of the tables with the words of a frame that have pointers, and of the table by pc that says which counts.
const (
	pcdataStackMap        = 1
	funcdataArgsPointers  = 0
	funcdataLocalPointers = 1
)

// maxFrameWords limits a Bitmap.
const maxFrameWords = 1 << 16

// Pointers returns which words have pointers that are still used at the call before pc: of the arguments, from their start
// on, and of the frame, where the last bit is for the word below the saved frame pointer or the return address. They are
// what the garbage collector goes by.
func (f *Func) Pointers(pc uint64) (args, locals Bitmap) {
	steps := maxSteps
	index := int32(0)
	if table := f.pcdata(pcdataStackMap); table != 0 {
		if v, _, _, ok := f.value(table, pc, &steps); ok && v > 0 {
			index = v
		}
	}
	return f.bitmap(funcdataArgsPointers, index), f.bitmap(funcdataLocalPointers, index)
}

// bitmap reads a bitmap: a table has how many there are, how many bits each has, and the bits of each in whole bytes.
func (f *Func) bitmap(table int, index int32) Bitmap {
	off, ok := f.funcdata(table)
	if !ok {
		return Bitmap{}
	}
	b := f.t.inline(uint64(off))
	if len(b) < 8 {
		return Bitmap{}
	}
	count, bits := int32(f.t.order.Uint32(b)), int32(f.t.order.Uint32(b[4:]))
	if index >= count || bits <= 0 || bits > maxFrameWords {
		return Bitmap{}
	}
	size := (int(bits) + 7) / 8
	at := 8 + int(index)*size
	if at+size > len(b) {
		return Bitmap{}
	}
	return Bitmap{int(bits), b[at : at+size]}
}

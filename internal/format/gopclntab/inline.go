package gopclntab

// A Call is a function at an address: an inlined call, or the function that the code belongs to. File and Line
// are "" and 0 if they are not known.
type Call struct {
	Name    string
	File    string
	Line    int
	Inlined bool
}

// maxInlined limits the depth of inlined calls.
const maxInlined = 128

// Sizes and offsets in an inlined call of the function data, in bytes.
const (
	inlSize118   = 20
	inlName118   = 12
	inlParent118 = 16
	inlSize120   = 16
	inlName120   = 4
	inlParent120 = 8
)

// Calls returns the calls at pc, innermost first; the last one is the function. If the inlined calls are not
// known, or damaged, it is the only one, without a position if the code at pc was inlined: that would be
// another function's.
func (f *Func) Calls(pc uint64) []Call {
	name := f.Name()
	if name == "" {
		return nil
	}
	var calls []Call
	steps := maxSteps
	for at := pc; ; {
		file, line := f.position(at, &steps)
		index := int32(-1)
		known := true
		if table := f.pcdata(pcdataInlTree); table != 0 {
			index, _, _, known = f.value(table, at, &steps)
		}
		if known && index < 0 {
			return append(calls, Call{Name: name, File: file, Line: line})
		}
		inlined, parent, ok := f.inlined(uint32(index))
		if !known || !ok || len(calls) == maxInlined {
			return []Call{{Name: name}}
		}
		calls = append(calls, Call{Name: inlined, File: file, Line: line, Inlined: true})
		at = parent
	}
}

// pcdata returns the offset of one of the function's tables by pc; 0 if it has none.
func (f *Func) pcdata(i uint32) uint32 {
	at := f.size + 4*int(i)
	if i >= f.u32(recPCData) || at+4 > len(f.rec) {
		return 0
	}
	return f.u32(at)
}

// inlined returns the name of an inlined call of the function, and an address of the code around it that has
// the position of the call.
func (f *Func) inlined(index uint32) (name string, parent uint64, ok bool) {
	tree, ok := f.inlineTree()
	if !ok {
		return "", 0, false
	}
	size, nameAt, parentAt := uint64(inlSize120), inlName120, inlParent120
	if f.t.Version == Go118 {
		size, nameAt, parentAt = inlSize118, inlName118, inlParent118
	}
	off := uint64(tree) + uint64(index)*size
	b := f.t.inline(off)
	if uint64(len(b)) < size {
		return "", 0, false
	}
	nameOff := f.t.order.Uint32(b[nameAt:])
	parent = f.Entry + uint64(f.t.order.Uint32(b[parentAt:]))
	if nameOff > 0 && (uint64(nameOff) >= uint64(len(f.t.names)) || f.t.names[nameOff-1] != 0) || parent >= f.End {
		return "", 0, false
	}
	name = f.t.name(nameOff)
	return name, parent, name != ""
}

// inlineTree returns the offset of the function's inlined calls in the function data.
func (f *Func) inlineTree() (uint32, bool) { return f.funcdata(funcdataInlTree) }

// funcdata returns the offset of one of the function's tables in the function data.
func (f *Func) funcdata(i int) (uint32, bool) {
	tables, count := uint64(f.u32(recPCData)), int(f.rec[f.size+recNumData])
	at := uint64(f.size) + 4*tables + 4*uint64(i)
	if f.t.inline == nil || count <= i || at+4 > uint64(len(f.rec)) {
		return 0, false
	}
	off := f.u32(int(at))
	return off, off != none
}

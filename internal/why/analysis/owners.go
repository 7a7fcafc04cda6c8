package analysis

import (
	"bytes"
	"cmp"
	"slices"

	"github.com/corewalk/corewalk/internal/heap"
	"github.com/corewalk/corewalk/internal/vars/types"
	"github.com/corewalk/corewalk/internal/vars/where"
	"github.com/corewalk/corewalk/libstate"
	"github.com/corewalk/corewalk/unwind"
	"github.com/corewalk/corewalk/unwind/arch"
)

// owners find who points at a block, by name: variables of the frames of one stack, of the program, and through other blocks.
type owners struct {
	*Engine
	stack    []*unwind.Frame
	pointers map[uint64][]uint64 // where in memory words hold an address, by that
}

// of names a pointer to a block, "g_cache.items[3]"; "" if nobody is known.
func (o *owners) of(b heap.Block) string {
	name, _ := o.pathTo(b.Start, maxPathBlocks)
	return name
}

// pathTo names a pointer that holds an address, by a variable of a frame or of the program, and through blocks.
func (o *owners) pathTo(value uint64, blocks int) (string, *types.Type) {
	var inBlocks []uint64
	for _, at := range o.pointersTo(value) {
		if name, t := o.variableAt(at, uint64(o.arch.WordSize)); name != "" {
			return name, t
		}
		inBlocks = append(inBlocks, at)
	}
	if blocks == 0 || o.heap() == nil {
		return "", nil
	}
	for _, at := range inBlocks[:min(len(inBlocks), 4)] {
		b, ok := o.heap().BlockAt(at)
		if !ok || b.Free || b.Own || b.Contains(value) {
			continue
		}
		name, t := o.pathTo(b.Start, blocks-1)
		if name == "" || t == nil || !t.Strip().Pointer() {
			continue
		}
		if expr, part, ok := t.Follow(name, int64(at-b.Start), uint64(o.arch.WordSize)); ok {
			return expr, part
		}
	}
	return "", nil
}

// variableAt names the variable, or the part of one of a size in bytes, that is at an address: of a frame of the stack, or of the program. With size 0
// it is the innermost part. The type is nil where only a symbol is known.
func (o *owners) variableAt(at, size uint64) (string, *types.Type) {
	if o.Variables == nil {
		return "", nil
	}
	libs := o.Proc.LibraryTracker()
	inModule := false
	if libs != nil {
		_, inModule = libs.LibraryAt(at)
	}
	var symbol string
	for i, f := range o.stack[:min(len(o.stack), maxNameFrames)] {
		if cfa, ok := f.CFA(); !inModule && (at < uint64(f.SP()) || ok && at >= uint64(cfa)) {
			continue
		}
		act, err := o.Variables.At(o.stack, i)
		if err != nil {
			continue
		}
		vars := where.FrameOf(act)
		name, t := "", (*types.Type)(nil)
		if !inModule {
			if h, low, _, ok := vars.Object(f.LookupAddr(), at); ok && h.Type != nil && h.Variable != "" {
				if path, part, ok := h.Type.Part(at-low, size); ok {
					name, t = h.Variable+path, part
				}
			}
		} else if global, of, off := vars.Global(at); of != nil {
			if path, part, ok := of.Part(off, size); ok {
				name, t = global+path, part
			}
		} else if symbol == "" {
			symbol = global
		}
		act.Close()
		if t != nil {
			return name, t
		}
	}
	return symbol, nil
}

// pointersTo returns where in memory a word holds an address: in the data of modules and on the thread's stack first, then in blocks in use.
func (o *owners) pointersTo(value uint64) []uint64 {
	if found, ok := o.pointers[value]; ok {
		return found
	}
	if o.pointers == nil {
		o.pointers = map[uint64][]uint64{}
	}
	left := maxScanned
	var found []uint64
	search := func(from, to uint64) {
		for from < to && left > 0 && len(found) < maxPointers {
			n := int(min(to-from, 1<<20, uint64(left)))
			b := o.mem.Some(from, n)
			left -= n
			found = wordsEqual(found, b, from, value, o.arch)
			if len(b) < n {
				break // what follows is not in the dump
			}
			from += uint64(n)
		}
	}
	sp := uint64(0)
	if len(o.stack) > 0 {
		sp = uint64(o.stack[0].SP())
	}
	maps := slices.Clone(o.Proc.Mappings())
	rank := func(m *libstate.Mapping) int {
		switch {
		case uint64(m.Start) <= sp && sp < uint64(m.End):
			return 0
		case o.isOfModule(m.Start):
			return 1
		}
		return 2
	}
	slices.SortStableFunc(maps, func(a, b libstate.Mapping) int { return cmp.Compare(rank(&a), rank(&b)) })
	for i := range maps {
		m := &maps[i]
		if m.Perm&libstate.Write == 0 {
			continue
		}
		from := uint64(m.Start)
		if from <= sp && sp < uint64(m.End) {
			from = sp // what is below is no longer used
		}
		search(from, uint64(m.End))
	}
	o.pointers[value] = found
	return found
}

func (in *Engine) isOfModule(at unwind.Address) bool {
	libs := in.Proc.LibraryTracker()
	if libs == nil {
		return false
	}
	_, ok := libs.LibraryAt(at)
	return ok
}

// wordsEqual adds the addresses of the words that hold a value.
func wordsEqual(found []uint64, b []byte, from, value uint64, a *arch.Arch) []uint64 {
	var pattern [8]byte
	w := a.WordSize
	if w == 8 {
		a.ByteOrder.PutUint64(pattern[:], value)
	} else {
		a.ByteOrder.PutUint32(pattern[:], uint32(value))
	}
	for off := 0; len(found) < maxPointers; {
		i := bytes.Index(b[off:], pattern[:w])
		if i < 0 {
			break
		}
		off += i
		if (from+uint64(off))%uint64(w) == 0 {
			found = append(found, from+uint64(off))
		}
		off++
	}
	return found
}

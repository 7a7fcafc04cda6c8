package analysis

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/corewalk/corewalk/internal/heap"
	"github.com/corewalk/corewalk/internal/vars/where"
	"github.com/corewalk/corewalk/report"
	"github.com/corewalk/corewalk/unwind/arch"
)

// Limits of the objects in which a bad value is looked for.
const (
	maxObjectFrames   = 16   // youngest frames whose variables count
	maxObjects        = 32   // to which they point
	maxObjectSearched = 4096 // bytes of each
	leastWild         = 1 << 16
	maxFound          = 4        // places that have the bad value
	maxLeading        = 256      // bytes of an object whose words are taken for pointers to others
	leastSmall        = 16       // a number below is no sign of anything
	leastMember       = 1 << 32  // of what a larger one is not by chance
	maxMember         = 64       // bytes from what a small number is taken to point to, to what was used of it
	maxUnknownObject  = 128      // bytes of an object behind a damaged record
	maxWordObjects    = 256      // to which words there lead
	maxWordFrames     = 4        // youngest frames of which every word counts
	maxWords          = 16 << 10 // bytes of them, and of the program's data
)

// findInObjects finds the bad value of a fault in an object of the heap to which a variable of the youngest frames or of the program points, where code does not tell from where
// it was read: iterators and what is inlined lose that. Only a value that is no address counts, as others stand in many places.
func (c *crash) findInObjects() heapWord {
	if c.Variables == nil || !dataFault(c.verdict().kind) && c.misaligned() == 0 {
		return heapWord{}
	}
	wild := c.wildValues()
	if len(wild) == 0 {
		return heapWord{}
	}
	w := c.findWild(wild, 0)
	if w.heap == nil { // what has a member, or is one, of which it is the address
		w = c.findWild(slices.DeleteFunc(wild, func(v uint64) bool { return v < leastMember }), maxMember)
	}
	return w
}

// findWild finds one of some values in such an object, or a value that is at most so much less.
func (c *crash) findWild(wild []uint64, less uint64) heapWord {
	if len(wild) == 0 {
		return heapWord{}
	}
	var found []heapWord
	seen := map[uint64]bool{}
	try := func(v uint64) {
		seen[v] = true
		if w := c.inObject(v, wild, less); w.heap != nil && !slices.ContainsFunc(found, func(f heapWord) bool { return f.at == w.at }) {
			found = append(found, w)
		}
	}
	c.pointers(func(_ *where.Held, v uint64) bool {
		if v >= leastWild && !seen[v] {
			try(v)
		}
		return len(found) < maxFound && len(seen) < maxObjects
	})
	if w, sure := c.oneOfFound(found); sure {
		return w
	}
	before := found
	found = nil
	// Iterators are no pointers, but have one; and the program's own data has some that lead on.
	most := len(seen) + maxWordObjects
	for _, r := range c.nearData() {
		words, _ := c.mem.Words(r[0], int(r[1]-r[0])/c.arch.WordSize)
		for _, v := range words {
			if v < leastWild || seen[v] || len(found) == maxFound || len(seen) >= most {
				continue
			}
			if _, ok := c.Proc.MappingAt(v); !ok || c.isOfModule(v) && !c.donated(v) {
				continue
			}
			try(v)
		}
	}
	if w, sure := c.oneOfFound(found); sure {
		return w
	}
	before = append(before, found...)
	found = nil
	// And those lead on.
	most += maxWordObjects
	for _, start := range slices.Sorted(maps.Keys(seen)) {
		if c.isOfModule(start) && !c.donated(start) || c.onStack(start) {
			continue
		}
		words, _ := c.mem.Words(start, maxLeading/c.arch.WordSize)
		for _, v := range words {
			if v < leastWild || seen[v] || len(found) == maxFound || len(seen) >= most {
				continue
			}
			if _, ok := c.Proc.MappingAt(v); !ok {
				continue
			}
			try(v)
		}
	}
	if w, sure := c.oneOfFound(found); sure || len(before) == 0 {
		return w
	}
	return before[0]
}

// oneOfFound is the place of several that have the bad value to which a pointer leads that means a pointer there; of others the first that was found. It is sure
// if nobody who has that place means something else there.
func (c *crash) oneOfFound(found []heapWord) (w heapWord, sure bool) {
	if len(found) == 0 {
		return heapWord{}, false
	}
	word := uint64(c.arch.WordSize)
	denied := false
	for i, f := range found {
		v := &invaded{heapWord: f, run: run{from: f.at, end: f.at + word}, word: word}
		if f.known {
			c.holders(v, maxScannedPlace)
		}
		if slices.ContainsFunc(v.holds, func(h holder) bool { return h.points }) {
			return f, true
		}
		if i == 0 {
			denied = slices.ContainsFunc(v.holds, func(h holder) bool { return h.size != 0 })
		}
	}
	return found[0], !denied
}

// nearData are the frames of the youngest functions, and the data of the program, as far as they are small; and the frame to look at first, if others called
// what failed there.
func (c *crash) nearData() (out [][2]uint64) {
	if len(c.stack) == 0 {
		return nil
	}
	sp := uint64(c.stack[0].SP())
	end := sp
	for _, f := range c.stack[:min(len(c.stack), maxWordFrames)] {
		if cfa, ok := f.CFA(); ok && uint64(cfa) > end && uint64(cfa)-sp <= maxWords {
			end = uint64(cfa)
		}
	}
	out = append(out, [2]uint64{sp, end})
	if first := c.frame(); first != nil && *first < len(c.named.Frames) {
		if n := c.named.Frames[*first].Physical; n >= maxWordFrames && n < len(c.stack) {
			f := c.stack[n]
			if cfa, ok := f.CFA(); ok && uint64(cfa)-uint64(f.SP()) <= maxWords {
				out = append(out, [2]uint64{uint64(f.SP()), uint64(cfa)})
			}
		}
	}
	names := c.names()
	for _, r := range names.writable()[0] {
		if sp < r[0] || sp >= r[1] {
			out = append(out, [2]uint64{r[0], min(r[1], r[0]+maxWords)})
		}
	}
	return out
}

// pointers calls yield for the variables of the youngest frames that are pointers, wherever they are, with their values, until it returns false.
func (c *crash) pointers(yield func(p *where.Held, value uint64) bool) {
	on := true
	for n, f := range c.stack[:min(len(c.stack), maxObjectFrames)] {
		act, err := c.Variables.At(c.stack, n)
		if err != nil {
			continue
		}
		vars := where.FrameOf(act)
		for _, h := range vars.Pointers(f.LookupAddr()) {
			if v, ok := vars.Number(&h); ok && on {
				on = yield(&h, v)
			}
		}
		if act.Close(); !on {
			return
		}
	}
}

// pointersTo are the variables of the youngest frames that lead to the beginning of a block.
func (c *crash) pointersTo(start uint64) (names []string) {
	if c.Variables == nil {
		return nil
	}
	c.pointers(func(p *where.Held, v uint64) bool {
		if v == start && !slices.Contains(names, p.Variable) {
			names = append(names, p.Variable)
		}
		return len(names) < maxShownHolders
	})
	return names
}

// inObject finds one of some values in the block to which a pointer leads, from there on, or one that is at most so much less, and no address.
func (c *crash) inObject(pointer uint64, wild []uint64, less uint64) heapWord {
	if _, ok := c.Proc.MappingAt(pointer); !ok || c.isOfModule(pointer) && !c.donated(pointer) || c.heap() == nil {
		return heapWord{}
	}
	b, known := c.heap().BlockAt(pointer)
	if known && (b.Own || b.Free && b.List == "top" || !b.Contains(pointer)) {
		return heapWord{}
	}
	if !known { // behind a record that is damaged
		if c.onStack(pointer) || !c.behindAny(pointer) {
			return heapWord{}
		}
		b = heap.Block{Start: pointer, Size: maxUnknownObject}
	}
	word := c.arch.WordSize
	data := c.mem.Some(b.Start, int(min(b.Size, maxObjectSearched)))
	for i := 0; i+word <= len(data); i += word {
		v, at := c.arch.Word(data[i:]), b.Start+uint64(i)
		for _, w := range wild {
			if less != 0 && w-v <= less && v < w && !c.mappedAt(v) {
				return heapWord{at: at, heap: c.heap(), block: b, known: known, guessed: true}
			}
			if v != w && (w >= leastWild || v == 0 || v > w || w-v > maxMember || b.Free) {
				continue
			}
			if w < leastWild {
				if r := c.runAround(at); r.text || r.from+minSeries*uint64(word) > b.Start {
					continue // a small number stands in many places: this one must go on from the block before
				}
			}
			if !known {
				return heapWord{at: at, heap: c.heap(), guessed: true}
			}
			return heapWord{at: at, heap: c.heap(), block: b, known: true, guessed: true}
		}
	}
	return heapWord{}
}

// misaligned is the pointer that Rust found to be none of its type before it was used, which its panic says; 0 for other ends.
func (c *crash) misaligned() uint64 {
	const told, is = "misaligned pointer dereference: ", " but is "
	text := c.verdict().reason
	if i := strings.Index(text, told); i < 0 {
		return 0
	} else if _, value, ok := strings.Cut(text[i:], is); ok {
		v, err := strconv.ParseUint(value, 0, 64)
		if err == nil {
			return v
		}
	}
	return 0
}

func (in *Engine) mappedAt(at uint64) bool {
	_, ok := in.Proc.MappingAt(at)
	return ok
}

// behindAny reports whether a damaged record of the heap is not far before an address.
func (c *crash) behindAny(at uint64) bool {
	for _, d := range c.heap().Damages() {
		if d.At < at && at-d.At < maxRun {
			return true
		}
	}
	return false
}

// wildValues are the values of a faulting instruction at which no memory can be, or is. Small ones are none where a pointer is null, which is seldom memory
// that was damaged.
func (c *crash) wildValues() (out []uint64) {
	f := c.fault()
	least := uint64(leastSmall)
	if f.blame != nil && f.blame.Value == 0 {
		least = leastWild
	}
	var all []report.Addr
	if f.blame != nil {
		all = append(all, f.blame.Value)
		for _, s := range f.blame.Steps { // to which something was added
			if s.Value != nil && (s.Kind == report.BlameRead || s.Kind == report.BlameVariable) {
				all = append(all, *s.Value)
			}
		}
	}
	if f.address != nil {
		all = append(all, *f.address)
	}
	if f.instruction != nil {
		for _, r := range f.instruction.Registers {
			all = append(all, r.Value)
			if f.blame == nil && r.Value == 0 {
				least = leastWild
			}
		}
	}
	if v := c.misaligned(); v != 0 {
		all = append(all, report.Addr(v))
	}
	for _, v := range all {
		if uint64(v) < least {
			continue
		}
		if _, ok := c.Proc.MappingAt(arch.Address(v)); !ok && !c.PartialMaps {
			out = append(out, uint64(v))
		}
	}
	return out
}

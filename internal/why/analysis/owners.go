package analysis

import (
	"cmp"
	"encoding/binary"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"github.com/corewalk/corewalk/internal/heap"
	"github.com/corewalk/corewalk/internal/lazy"
	"github.com/corewalk/corewalk/internal/vars/types"
	"github.com/corewalk/corewalk/internal/vars/where"
	"github.com/corewalk/corewalk/libstate"
	"github.com/corewalk/corewalk/unwind"
)

// maxBlank is how many parts of memory are remembered of which nothing is written.
const maxBlank = 1 << 12

// redZone is how many bytes a function that calls none may use below its stack pointer.
const redZone = 128

// owners find who points at a block, by name: variables of the frames of one stack, of the program, and through other blocks.
type owners struct {
	*Engine
	stack []*unwind.Frame
	known map[uint64]string // by the block's beginning
	types map[uint64]string // structures that pointers to it point to, likewise

	elements map[uint64]string // or numbers
	texts    map[uint64]string // or which member points to characters
	buf      []byte            // that memory is searched in
	most     int               // bytes of memory that are searched for one path
	freed    bool              // ways may lead through freed blocks, too

	ranges [][][2]uint64   // of memory that is searched, by rank
	spans  *spans          // of the allocator; nil until it was asked
	blank  map[uint64]bool // where parts of it begin that nobody has written to: most of what some allocators take
}

// of names a pointer to a block, "cache.items[3]"; "" if nobody is known.
func (o *owners) of(b heap.Block) string {
	name, ok := o.known[b.Start]
	if !ok {
		if name = o.find(b.Start); name == "" && b.Free { // it was given back together with those that point there
			o.freed = true
			name = o.find(b.Start)
			o.freed = false
		}
		o.keep(b.Start, name)
	}
	return name
}

func (o *owners) keep(start uint64, name string) {
	if o.known == nil {
		o.known = map[uint64]string{}
	}
	o.known[start] = name
}

// keepType keeps what a pointer to a block, at the end of a path, points to: the name of a structure, class or union, or of numbers.
func (o *owners) keepType(start uint64, path string, t *types.Type) {
	if o.types == nil {
		o.types, o.elements, o.texts = map[uint64]string{}, map[uint64]string{}, map[uint64]string{}
	}
	to := t.Strip().Target()
	if _, char := to.Char(); char {
		o.texts[start] = lastMember(path)
	} else if name := pointsToA(t); name != "" {
		o.types[start] = name
	} else if of, _ := elements(to); of != nil {
		o.elements[start] = of.Name()
	}
}

// lastMember is the name of the member that a path ends with, but for indexes; "" if that is a variable, of which one block has several in turn.
func lastMember(path string) string {
	end := len(path)
	for end > 0 {
		from := strings.LastIndexFunc(path[:end], func(r rune) bool { return r != '_' && r != '$' && !unicode.IsLetter(r) && !unicode.IsDigit(r) }) + 1
		if name := path[from:end]; name != "" && !unicode.IsDigit(rune(name[0])) {
			if from > 0 && (path[from-1] == '.' || path[from-1] == '>') {
				return name
			}
			return ""
		}
		end = from - 1
	}
	return ""
}

// pointsToA is the name of the structure, class or union that a pointer points to; "" for none.
func pointsToA(t *types.Type) string {
	to := t.Strip().Target()
	if to == nil || !to.Strip().Aggregate() {
		return ""
	}
	return cmp.Or(to.Strip().BareName, to.BareName)
}

// A held is a block, or what somebody asks about, and how a pointer to another lies in it.
type held struct {
	start  uint64
	off    uint64 // of the pointer to inner
	inner  *held  // nil for what is asked about
	symbol string // at which a pointer to it is
}

// asked is the block that somebody asks about.
func (h *held) asked() *held {
	for h.inner != nil {
		h = h.inner
	}
	return h
}

// find names the nearest variable that leads to an address; "" if none does.
func (o *owners) find(value uint64) (name string) {
	of := &held{start: value}
	o.each([]*held{of}, func(_ *held, path string, t *types.Type) bool {
		name = path
		o.keepType(value, path, t)
		return false
	}, nil)
	return cmp.Or(name, of.symbol)
}

// each goes from blocks to those that point there, to those that point to them, and so on until a variable does: breadth first, since the shortest way
// has the best name. It calls yield for each pointer that a variable leads to, until it returns false, or enough, which may be nil, returns true: that
// is asked before memory is searched again.
func (o *owners) each(level []*held, yield func(of *held, path string, t *types.Type) bool, enough func() bool) {
	seen := make(map[uint64]bool, len(level))
	for _, h := range level {
		seen[h.start] = true
	}
	left := o.most
	if o.asked {
		left = maxScannedAsked
	}
	for range maxPathBlocks + 1 {
		var next []*held
		if o.ranges == nil {
			o.ranges = o.writable()
		}
		for _, ranges := range o.ranges {
			for _, p := range o.pointersTo(level, ranges, &left) {
				if o.ofLibrary(p.at) {
					continue
				}
				if name, t := o.variableAt(p.at, uint64(o.arch.WordSize)); t != nil {
					path, t, ok := o.path(name, t, p.to)
					if ok && !yield(p.to.asked(), plainPath(path), t) {
						return
					}
					if a := p.to.asked(); !ok && a.symbol == "" { // by nodes of a container, or other types than those of the variables
						a.symbol = "what " + rootOf(name) + " leads to"
					}
					continue
				} else if name != "" {
					if p.to.inner == nil && p.to.symbol == "" {
						p.to.symbol = name
					}
					continue
				}
				if len(next) >= maxPathWidth {
					continue
				}
				_, b, ok := o.blockAt(p.at)
				if !ok || b.Free && !o.freed || b.Own || seen[b.Start] {
					continue
				}
				seen[b.Start] = true
				next = append(next, &held{start: b.Start, off: p.at - b.Start, inner: p.to})
			}
			if enough != nil && enough() {
				return
			}
		}
		if level = next; len(level) == 0 {
			return
		}
	}
}

// rootOf is the variable of a path: "cache" of "cache._M_t._M_impl._M_header._M_parent".
func rootOf(path string) string {
	if i := strings.IndexAny(path, ".-[("); i > 0 {
		return path[:i]
	}
	return path
}

// path follows a pointer from a variable through blocks to what is asked about, and has the last pointer's type.
func (o *owners) path(name string, t *types.Type, to *held) (string, *types.Type, bool) {
	for ; to.inner != nil; to = to.inner {
		if !t.Strip().Pointer() {
			return "", nil, false
		}
		expr, part, ok := t.Follow(name, int64(to.off), uint64(o.arch.WordSize))
		if !ok {
			return "", nil, false
		}
		name, t = expr, part
	}
	return name, t, true
}

// plainPath leaves out the members of containers, which have reserved names: "book->orders._M_impl._M_start[3]" is what people write as
// "book->orders[3]".
func plainPath(path string) string { return reservedMembers.Get().ReplaceAllString(path, "") }

var reservedMembers = lazy.Value[*regexp.Regexp]{Make: func() *regexp.Regexp {
	return regexp.MustCompile(`(\.|->)(_M_|__|_Vector_impl)\w*|\.buf(\.inner)?\.ptr\.pointer(\.pointer)?$`)
}}

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
		low := uint64(f.SP())
		if i == 0 {
			low -= min(low, redZone)
		}
		if cfa, ok := f.CFA(); !inModule && (at < low || ok && at >= uint64(cfa)) {
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

// ofLibrary reports whether an address of the stack is in the frame of a function of the C library: what it has not set yet is old.
func (o *owners) ofLibrary(at uint64) bool {
	for _, f := range o.stack[:min(len(o.stack), maxNameFrames)] {
		cfa, ok := f.CFA()
		if !ok || at < uint64(f.SP()) || at >= uint64(cfa) {
			continue
		}
		libs := o.Proc.LibraryTracker()
		if libs == nil {
			return false
		}
		lib, ok := libs.LibraryAt(f.LookupAddr())
		return ok && (glibc(lib.Path) || musl(lib.Path))
	}
	return false
}

// A pointer is a word of memory that holds the beginning of a block.
type pointer struct {
	at uint64
	to *held
}

// pointersTo finds words that hold the beginnings of blocks. left are the bytes that may still be read.
func (o *owners) pointersTo(blocks []*held, ranges [][2]uint64, left *int) (found []pointer) {
	to := make(map[uint64]*held, len(blocks))
	lowest, highest := ^uint64(0), uint64(0)
	for _, b := range blocks {
		to[b.start] = b
		lowest, highest = min(lowest, b.start), max(highest, b.start)
	}
	w := o.arch.WordSize
	little := o.arch.ByteOrder == binary.LittleEndian
	if o.buf == nil {
		o.buf = make([]byte, 256<<10)
	}
	buf := o.buf
	search := func(from, end uint64) {
		for from < end && *left > 0 && len(found) < maxPointers {
			if part := min(end-from, uint64(len(buf))); o.blank[from] && part <= uint64(*left) {
				*left -= int(part) / 8
				from += part
				continue
			}
			n := o.mem.Fill(from, buf[:min(end-from, uint64(len(buf)), uint64(*left))])
			if n < w {
				return // not in the dump
			}
			written := uint64(0)
			word := func(i int, v uint64) {
				if b := to[v]; b != nil && len(found) < maxPointers {
					found = append(found, pointer{from + uint64(i), b})
				}
			}
			if w == 8 && little { // nearly all are, and this is most of the work
				for i := 0; i+8 <= n; i += 8 {
					v := binary.LittleEndian.Uint64(buf[i:])
					if written |= v; v-lowest <= highest-lowest {
						word(i, v)
					}
				}
			} else {
				for i := 0; i+w <= n; i += w {
					v := o.arch.Word(buf[i:])
					if written |= v; v-lowest <= highest-lowest {
						word(i, v)
					}
				}
			}
			if *left -= n; written == 0 {
				*left += n - n/8 // nobody has written there yet
				if part := min(end-from, uint64(len(buf))); uint64(n) == part && len(o.blank) < maxBlank {
					if o.blank == nil {
						o.blank = map[uint64]bool{}
					}
					o.blank[from] = true
				}
			}
			from += uint64(n)
		}
	}
	for _, m := range ranges {
		search(m[0], m[1])
	}
	return found
}

// writable are the ranges of memory in which pointers may be, by rank: the used part of the stack and the data of the program, where variables are that
// have names; the data of the other modules, of which allocators have some that are large; and the rest.
func (o *owners) writable() [][][2]uint64 {
	sp := uint64(0)
	if len(o.stack) > 0 {
		sp = uint64(o.stack[0].SP())
	}
	word := uint64(o.arch.WordSize)
	libs := o.Proc.LibraryTracker()
	ranks := make([][][2]uint64, 3)
	for _, m := range o.Proc.Mappings() {
		if m.Perm&libstate.Write == 0 {
			continue
		}
		from, rank := uint64(m.Start), 2
		if from <= sp && sp < uint64(m.End) {
			from, rank = sp, 0 // what is below is no longer used
		} else if libs != nil {
			if lib, ok := libs.LibraryAt(m.Start); ok && lib.Kind == libstate.Executable {
				rank = 0
			} else if ok {
				rank = 1
			}
		}
		ranks[rank] = append(ranks[rank], o.inUse([2]uint64{(from + word - 1) &^ (word - 1), uint64(m.End)})...)
	}
	return ranks
}

// inUse is a range of memory without what the allocator has, and did not hand out.
func (o *owners) inUse(r [2]uint64) (out [][2]uint64) {
	if o.spans == nil {
		o.spans = &spans{}
		if h, ok := unwrapped(o.heap()).(heap.Spanned); ok {
			o.spans.all, o.spans.used = h.Spans()
		}
	}
	add := func(from, end uint64) {
		if from < end {
			out = append(out, [2]uint64{from, end})
		}
	}
	for _, a := range o.spans.all {
		if a[1] <= r[0] || a[0] >= r[1] {
			continue
		}
		add(r[0], a[0])
		first, _ := slices.BinarySearchFunc(o.spans.used, a[0], func(u [2]uint64, at uint64) int { return cmp.Compare(u[0], at) })
		for _, u := range o.spans.used[first:] {
			if u[0] >= a[1] {
				break
			}
			add(max(u[0], r[0]), min(u[1], r[1], a[1]))
		}
		r[0] = max(r[0], a[1])
	}
	add(r[0], r[1])
	return out
}

// spans are an allocator's: see heap.Spanned.
type spans struct{ all, used [][2]uint64 }

func (in *Engine) isOfModule(at unwind.Address) bool {
	libs := in.Proc.LibraryTracker()
	if libs == nil {
		return false
	}
	_, ok := libs.LibraryAt(at)
	return ok
}

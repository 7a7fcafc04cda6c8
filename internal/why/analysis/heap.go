package analysis

import (
	"bytes"
	"cmp"
	"encoding/hex"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/corewalk/corewalk/internal/heap"
	glibcheap "github.com/corewalk/corewalk/internal/heap/glibc"
	"github.com/corewalk/corewalk/internal/heap/jemalloc"
	"github.com/corewalk/corewalk/internal/heap/mallocng"
	"github.com/corewalk/corewalk/internal/heap/mimalloc"
	"github.com/corewalk/corewalk/internal/heap/tcmalloc"
	"github.com/corewalk/corewalk/internal/vars/types"
	"github.com/corewalk/corewalk/internal/vars/where"
	"github.com/corewalk/corewalk/libstate"
	"github.com/corewalk/corewalk/report"
	"github.com/corewalk/corewalk/unwind"
	"github.com/corewalk/corewalk/unwind/arch"
)

// Limits of what a report asks of the heap.
const (
	maxHeapChunks = 1 << 20
	maxScanned    = 48 << 20 // bytes of memory in which pointers to one block are looked for
	maxPointers   = 64       // to one block
	maxPathBlocks = 3        // blocks through which a path to a block leads
	maxWritten    = 512      // bytes past a block's end that are looked at
)

// heapFinders find the heaps that are known, and are tried in turn.
var heapFinders = []func(heap.Process) heap.Allocator{
	func(p heap.Process) heap.Allocator {
		if h := glibcheap.Find(p, glibcheap.Options{Chunks: maxHeapChunks}); h != nil {
			return h
		}
		return nil
	},
	func(p heap.Process) heap.Allocator {
		if h := mallocng.Find(p, mallocng.Options{Blocks: maxHeapChunks}); h != nil {
			return h
		}
		return nil
	},
	func(p heap.Process) heap.Allocator {
		if h := jemalloc.Find(p, jemalloc.Options{Blocks: maxHeapChunks}); h != nil {
			return h
		}
		return nil
	},
	func(p heap.Process) heap.Allocator {
		if h := tcmalloc.Find(p, tcmalloc.Options{Blocks: maxHeapChunks}); h != nil {
			return h
		}
		return nil
	},
	func(p heap.Process) heap.Allocator {
		if h := mimalloc.Find(p, mimalloc.Options{Blocks: maxHeapChunks}); h != nil {
			return h
		}
		return nil
	},
}

// heap is the process's allocator; nil if it has none that is known. It is found when it is first asked for.
func (in *Engine) heap() heap.Allocator {
	return in.allocator.of(func() heap.Allocator {
		for _, find := range heapFinders {
			if h := find(in.Proc); h != nil {
				return h
			}
		}
		return nil
	})
}

// heapCauses are the blocks whose records are wrong, of a process that died because its allocator found some, or failed over them: who wrote there.
func (c *crash) heapCauses() []report.Cause { return c.known.heap.of(c.findHeapCauses) }

func (c *crash) findHeapCauses() []report.Cause {
	var out []report.Cause
	if c.verdict().kind != report.CrashHeapCorruption {
		return nil
	}
	h := c.heap()
	if h == nil {
		return nil
	}
	if strings.Contains(c.message(), "double free") {
		if text := c.freedTwice(); text != "" {
			out = append(out, report.Cause{Text: text, Confidence: report.Likely})
		}
	}
	const most = 2
	for _, d := range h.Damages() {
		if len(out) == most {
			break
		}
		if text, confidence := c.damaged(&d); text != "" {
			out = append(out, report.Cause{Text: text, Confidence: confidence})
		}
	}
	return out
}

// usedAfterFree is said of a fault whose bad value was read from a block that the program had given back.
func (c *crash) usedAfterFree() []report.Cause {
	if c.verdict().kind == report.CrashHeapCorruption {
		return nil // the allocator itself reads freed blocks
	}
	for _, at := range c.fault().readAt {
		m, ok := c.Proc.MappingAt(at)
		if !ok || m.Path != "" || m.Perm&libstate.Write == 0 || c.isOfModule(at) {
			continue
		}
		if sp := c.stack[0].SP(); m.Start <= sp && sp < m.End || c.heap() == nil {
			continue
		}
		b, ok := c.heap().BlockAt(at)
		if !ok || !b.Free || b.List == "top" {
			continue
		}
		where := ""
		if off := at - b.Start; off > 0 {
			where = fmt.Sprintf(", %s from its beginning,", byteCount(off))
		}
		return []report.Cause{{Confidence: report.Likely, Text: fmt.Sprintf("it was read%s from a freed block: %s at %#x%s, %s", where, byteCount(b.Size), b.Start, c.owner(b), listed(b.List))}}
	}
	return nil
}

// listed says on which list of the allocator a free block is.
func listed(list string) string {
	switch list {
	case "":
		return "on no list that is known"
	case "unsorted bin":
		return "in the unsorted bin"
	}
	return "in a " + list
}

// freedTwice says which block free found on one of its lists: the allocator's own frames still hold its address in registers.
func (c *crash) freedTwice() string {
	h := c.heap()
	header := 2 * uint64(c.arch.WordSize)
	found := map[uint64]heap.Block{}
	for i, f := range c.stack[:min(len(c.stack), maxNameFrames)] {
		lib, ok := c.Proc.LibraryTracker().LibraryAt(f.LookupAddr())
		if !ok || i > 0 && !glibc(lib.Path) {
			break // of the program
		}
		regs := f.Registers()
		for m := regs.Valid; m != 0; m &= m - 1 {
			v, _ := regs.Get(m.First())
			for _, start := range []uint64{v, v + header} { // the block, or its record
				if b, ok := h.BlockAt(start); ok && b.Start == start && b.Free && b.List != "top" {
					found[start] = b
				}
			}
		}
	}
	if len(found) != 1 {
		return ""
	}
	for _, b := range found {
		return fmt.Sprintf("the block of %s at %#x%s was freed twice: it is %s already", byteCount(b.Size), b.Start, c.owner(b), listed(b.List))
	}
	return ""
}

// damaged says what happened to a record of the allocator.
func (c *crash) damaged(d *heap.Damage) (text, confidence string) {
	switch {
	case d.Written:
		return fmt.Sprintf("the freed block of %s at %#x%s was written to: %s stands where the %s's pointer was", byteCount(d.Of.Size), d.Of.Start, c.owner(d.Of), c.content(d.At, d.Size), d.Of.List), report.Likely
	case d.Before.Size != 0:
		past, what, confidence := c.overrun(d)
		before := fmt.Sprintf("the block of %s at %#x%s", byteCount(d.Before.Size), d.Before.Start, c.owner(d.Before))
		switch confidence {
		case report.Likely:
			return fmt.Sprintf("%s was overrun by %s: %s goes on in the record of the next block at %#x%s", before, past, what, d.Of.Start, c.owner(d.Of)), confidence
		case report.Possible:
			return fmt.Sprintf("the record of the block at %#x%s is wrong: %s; %s, which ends there, was overrun by %s, or the block itself was written to before its beginning",
				d.Of.Start, c.owner(d.Of), d.Why, before, past), confidence
		}
	}
	return fmt.Sprintf("the record of the block at %#x%s is wrong: %s", d.Of.Start, c.owner(d.Of), d.Why), report.Possible
}

func byteCount(n uint64) string {
	if n == 1 {
		return "1 byte"
	}
	return fmt.Sprintf("%d bytes", n)
}

// A span is a number of bytes, of which more may be.
type span struct {
	n       uint64
	atLeast bool
}

func (s span) String() string {
	if s.atLeast {
		return "at least " + byteCount(s.n)
	}
	return byteCount(s.n)
}

// overrun says how far somebody wrote past the block before a damage, and what: text that goes on across the block's end, else what the record holds.
func (c *crash) overrun(d *heap.Damage) (past span, what, confidence string) {
	end := d.Before.End()
	const before = 32
	from := end - min(before, d.Before.Size)
	b := c.mem.Some(from, int(end-from)+maxWritten)
	k := int(end - from) // where the block ends
	if k+d.Size > len(b) {
		return span{}, "", ""
	}
	first := k
	for first > 0 && printable(b[first-1]) {
		first--
	}
	record := k + int(d.At-end) + d.Size // where the damaged record ends
	last := k
	for last < record && printable(b[last]) {
		last++
	}
	if k-first >= 4 && last > k {
		const shown = 24
		dots := ""
		if first < last-shown {
			dots = "..."
		}
		// What follows the record may be the next block's own.
		more := last == record && last < len(b) && printable(b[last])
		return span{uint64(last - k), more}, dots + strconv.Quote(string(b[max(first, last-shown):last])), report.Likely
	}
	// The last byte of the record that is not zero: all of it was, or part of it.
	n := uint64(len(bytes.TrimRight(b[d.At-from:][:d.Size], "\x00")))
	return span{d.At + max(n, 1) - end, true}, c.content(d.At, d.Size), report.Possible
}

// content is what stands in memory: text, else a number.
func (in *Engine) content(at uint64, size int) string {
	b := in.mem.Some(at, size)
	if n := bytes.IndexFunc(b, func(r rune) bool { return r < ' ' || r >= 0x7f }); n < 0 && len(b) == size {
		return strconv.Quote(string(b))
	}
	if v, ok := in.mem.Uint(at, size); ok {
		return fmt.Sprintf("%#x", v)
	}
	return hex.EncodeToString(b)
}

// owner names who points at a block: " (g_cache.items[3])"; "" if nobody is known.
func (c *crash) owner(b heap.Block) string {
	if b.Start == 0 {
		return ""
	}
	if name, _ := c.pathTo(b.Start, maxPathBlocks); name != "" {
		return " (" + name + ")"
	}
	return ""
}

// pathTo names a pointer that holds an address, by a variable of a frame or of the program, and through blocks.
func (c *crash) pathTo(value uint64, blocks int) (string, *types.Type) {
	var inBlocks []uint64
	for _, at := range c.pointersTo(value) {
		if name, t := c.variableAt(at); name != "" {
			return name, t
		}
		inBlocks = append(inBlocks, at)
	}
	if blocks == 0 || c.heap() == nil {
		return "", nil
	}
	for _, at := range inBlocks[:min(len(inBlocks), 4)] {
		b, ok := c.heap().BlockAt(at)
		if !ok || b.Free || b.Own || b.Contains(value) {
			continue
		}
		name, t := c.pathTo(b.Start, blocks-1)
		if name == "" || t == nil || !t.Strip().Pointer() {
			continue
		}
		if expr, part, ok := t.Follow(name, int64(at-b.Start), uint64(c.arch.WordSize)); ok {
			return expr, part
		}
	}
	return "", nil
}

// variableAt names the variable that has a pointer at an address: of a frame of the thread that died, or of the program.
func (c *crash) variableAt(at uint64) (string, *types.Type) {
	if c.Variables == nil {
		return "", nil
	}
	word := uint64(c.arch.WordSize)
	libs := c.Proc.LibraryTracker()
	inModule := false
	if libs != nil {
		_, inModule = libs.LibraryAt(at)
	}
	var symbol string
	for i, f := range c.stack[:min(len(c.stack), maxNameFrames)] {
		if cfa, ok := f.CFA(); !inModule && (at < uint64(f.SP()) || ok && at >= uint64(cfa)) {
			continue
		}
		act, err := c.Variables.At(c.stack, i)
		if err != nil {
			continue
		}
		vars := where.FrameOf(act)
		name, t := "", (*types.Type)(nil)
		if !inModule {
			if h, low, _, ok := vars.Object(f.LookupAddr(), at); ok && h.Type != nil && h.Variable != "" {
				if path, part, ok := h.Type.Part(at-low, word); ok {
					name, t = h.Variable+path, part
				}
			}
		} else if global, of, off := vars.Global(at); of != nil {
			if path, part, ok := of.Part(off, word); ok {
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
func (c *crash) pointersTo(value uint64) []uint64 {
	if found, ok := c.pointers[value]; ok {
		return found
	}
	if c.pointers == nil {
		c.pointers = map[uint64][]uint64{}
	}
	left := maxScanned
	var found []uint64
	search := func(from, to uint64) {
		for from < to && left > 0 && len(found) < maxPointers {
			n := int(min(to-from, 1<<20, uint64(left)))
			b := c.mem.Some(from, n)
			left -= n
			found = wordsEqual(found, b, from, value, c.arch)
			if len(b) < n {
				break // what follows is not in the dump
			}
			from += uint64(n)
		}
	}
	sp := uint64(0)
	if len(c.stack) > 0 {
		sp = uint64(c.stack[0].SP())
	}
	maps := slices.Clone(c.Proc.Mappings())
	rank := func(m *libstate.Mapping) int {
		switch {
		case uint64(m.Start) <= sp && sp < uint64(m.End):
			return 0
		case c.isOfModule(m.Start):
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
	c.pointers[value] = found
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

package analysis

import (
	"bytes"
	"cmp"
	"context"
	"encoding/hex"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/corewalk/corewalk/internal/heap"
	"github.com/corewalk/corewalk/internal/heap/asan"
	glibcheap "github.com/corewalk/corewalk/internal/heap/glibc"
	"github.com/corewalk/corewalk/internal/heap/gtcmalloc"
	"github.com/corewalk/corewalk/internal/heap/jemalloc"
	"github.com/corewalk/corewalk/internal/heap/mallocng"
	"github.com/corewalk/corewalk/internal/heap/mimalloc"
	"github.com/corewalk/corewalk/internal/heap/oldmalloc"
	"github.com/corewalk/corewalk/internal/heap/scudo"
	"github.com/corewalk/corewalk/internal/heap/tcmalloc"
	"github.com/corewalk/corewalk/internal/why/reason"
	"github.com/corewalk/corewalk/libstate"
	"github.com/corewalk/corewalk/report"
	"github.com/corewalk/corewalk/tasks"
)

// Limits of what a report asks of the heap.
const (
	maxHeapChunks   = 1 << 20
	maxHeapRead     = 12 << 20 // bytes of memory that a report reads to know the heap
	maxHeapAsked    = 1 << 30  // and whoever asks about an address
	maxScanned      = 16 << 20 // bytes of memory in which a report looks for pointers, for one path
	maxScannedPlace = 4 << 20  // where nothing but its place is said of a value
	maxScannedAsked = 256 << 20
	maxPointers     = 256 // to the blocks of one step of a path
	maxPathBlocks   = 3   // blocks through which a path to a block leads
	maxPathWidth    = 64  // blocks that are tried for one step of a path
	maxWritten      = 512 // bytes past a block's end that are looked at
)

// heapBounds say how much is looked at of a heap; 0 for all of it.
type heapBounds struct {
	bytes  int
	blocks int
}

// heapFinders find the heaps that are known, and are tried in turn: first that which reads next to nothing, as others search the data of a program, and
// may use up what may be read.
var heapFinders = []func(p heap.Process, b heapBounds) heap.Allocator{
	func(p heap.Process, b heapBounds) heap.Allocator {
		if h := asan.Find(p, asan.Options{Blocks: b.blocks}); h != nil {
			return h
		}
		return nil
	},
	func(p heap.Process, b heapBounds) heap.Allocator {
		if h := glibcheap.Find(p, glibcheap.Options{Chunks: b.blocks, Bytes: uint64(b.bytes)}); h != nil {
			return h
		}
		return nil
	},
	func(p heap.Process, b heapBounds) heap.Allocator {
		h, err := gtcmalloc.Find(p, gtcmalloc.Options{Blocks: b.blocks})
		if note, ok := p.(interface{ noteUnread(error) }); ok && err != nil {
			note.noteUnread(err)
		}
		if h != nil {
			return h
		}
		return nil
	},
	func(p heap.Process, b heapBounds) heap.Allocator {
		if h := mallocng.Find(p, mallocng.Options{Blocks: b.blocks}); h != nil {
			return h
		}
		return nil
	},
	func(p heap.Process, b heapBounds) heap.Allocator {
		if h := oldmalloc.Find(p, oldmalloc.Options{Blocks: b.blocks}); h != nil {
			return h
		}
		return nil
	},
	func(p heap.Process, b heapBounds) heap.Allocator {
		if h := jemalloc.Find(p, jemalloc.Options{Blocks: b.blocks}); h != nil {
			return h
		}
		return nil
	},
	func(p heap.Process, b heapBounds) heap.Allocator {
		if h := tcmalloc.Find(p, tcmalloc.Options{Blocks: b.blocks}); h != nil {
			return h
		}
		return nil
	},
	func(p heap.Process, b heapBounds) heap.Allocator {
		if h := mimalloc.Find(p, mimalloc.Options{Blocks: b.blocks}); h != nil {
			return h
		}
		return nil
	},
	func(p heap.Process, b heapBounds) heap.Allocator {
		if h := scudo.Find(p, scudo.Options{Blocks: b.blocks}); h != nil {
			return h
		}
		return nil
	},
}

// heap is the process's allocator; nil if it has none that is known. It is found when it is first asked for. A report reads little of it, since
// slim dumps keep what reports read.
func (in *Engine) heap() heap.Allocator {
	return in.allocator.of(func() heap.Allocator { return in.findHeap(maxHeapRead) })
}

// blockAt is the block that holds an address, and its allocator. Whoever asks about an address gets all heaps, those of runtimes too.
func (in *Engine) blockAt(addr uint64) (heap.Allocator, heap.Block, bool) {
	if !in.asked {
		if h := in.heap(); h != nil {
			b, ok := h.BlockAt(addr)
			return h, b, ok
		}
		return nil, heap.Block{}, false
	}
	for _, h := range in.wholeHeaps.of(func() []heap.Allocator {
		all, objects, _ := in.heaps(&someReads{Process: in.Proc, left: maxHeapAsked, program: &program{in: in}}, heapBounds{maxHeapAsked, maxHeapChunks})
		in.objects = objects
		return all
	}) {
		if b, ok := h.BlockAt(addr); ok {
			return h, b, true
		}
	}
	return nil, heap.Block{}, false
}

// heaps are those of all allocators that are known, and of runtimes, and the runtimes that know what is in them; unknown is why others do not. The
// allocators read p, which is the process.
func (in *Engine) heaps(p heap.Process, bounds heapBounds) (all []heap.Allocator, objects []heap.Objects, unknown []string) {
	reads, some := p.(*someReads)
	own := &program{in: in}
	if some {
		own = reads.program
		reads.data = &heap.KeptData{}
		defer func() { reads.data = nil }()
	} else {
		p = wholeProcess{p, own}
	}
	defer func() { in.unread = own.unread }()
	for _, find := range heapFinders {
		if h := find(p, bounds); h != nil {
			if some {
				h = &partlyRead{h, reads, bounds.bytes}
			}
			all = append(all, h)
		}
	}
	libs := in.Proc.LibraryTracker()
	if libs == nil || in.Runtimes == nil {
		return all, nil, nil
	}
	modules, _ := libs.Libraries(false)
	found := in.Runtimes(modules, in.Budget)
	for i := range in.Languages {
		if r := in.Languages[i].Find(modules, in.Budget); r != nil {
			_, known := r.(heap.Objects)
			if _, frames := r.(tasks.Framer); !known && !frames { // it is there, but cannot be read
				for _, err := range r.Tasks(context.Background()) {
					if err != nil {
						unknown = append(unknown, err.Error())
					}
					break
				}
			}
			found = append(found, r)
		}
	}
	for _, r := range found {
		if o, ok := r.(heap.Owner); ok {
			if h := o.Heap(); h != nil {
				all = append(all, h)
			}
		}
		if o, ok := r.(heap.Objects); ok {
			if why := o.Unknown(); why != "" {
				unknown = append(unknown, why)
				continue
			}
			objects = append(objects, o)
		}
	}
	return all, objects, unknown
}

// Heaps are all heaps of the process, those of runtimes too, and the runtimes that know what is in them.
func (in *Engine) Heaps() ([]heap.Allocator, []heap.Objects) {
	all, objects, _ := in.heaps(in.Proc, heapBounds{maxHeapAsked, maxHeapChunks})
	return all, objects
}

// findHeap finds the allocator of a process, of which some bytes may be read.
func (in *Engine) findHeap(most int) heap.Allocator {
	reads := &someReads{Process: in.Proc, left: most, data: &heap.KeptData{}, program: &program{in: in}}
	defer func() { reads.data = nil }()
	for _, find := range heapFinders {
		if h := find(reads, heapBounds{most, maxHeapChunks}); h != nil {
			return &partlyRead{h, reads, most}
		}
	}
	return nil
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
	if !c.gaveBack().exact { // else wronglyGiven says it
		out = c.toldOfGiven()
	}
	const most = 2
	told := map[uint64]bool{0: true} // blocks that were overrun: one write damages what is behind it in several places
	for _, d := range h.Damages() {
		if len(out) == most {
			break
		}
		if d.Before.Size != 0 && told[d.Before.Start] {
			continue
		}
		told[d.Before.Start] = true
		if text, confidence := c.damaged(&d); text != "" {
			out = append(out, report.Cause{Text: text, Confidence: confidence, Block: c.damagedBlock(&d)})
		}
	}
	return out
}

// damagedBlock is the block that was used wrongly where a record is damaged: damaged tells of it. It is nil if that tells of several, or of none.
func (c *crash) damagedBlock(d *heap.Damage) *report.CauseBlock {
	switch text, _ := c.listDamaged(d); {
	case text == "" && d.Before.Size != 0:
		return c.causeBlock(report.BlockOverrun, d.Before)
	case d.Twice:
		return c.causeBlock(report.BlockFreed, d.Of)
	}
	return nil
}

// causeBlock is a block as causes have it. What the code that failed takes it for does not depend on which pointers to it are left.
func (c *crash) causeBlock(fault string, b heap.Block) *report.CauseBlock {
	c.names().of(b)
	typ := ""
	if fault != report.BlockOverrun {
		typ = c.takenFor(b.Start)
	}
	return &report.CauseBlock{Fault: fault, Size: b.Size, Type: cmp.Or(typ, c.names().types[b.Start]), Elements: c.names().elements[b.Start], Text: c.names().texts[b.Start]}
}

// takenFor is the type of the object at an address by the code that gave it back, or that read the bad value from it; "" if that is not known.
func (c *crash) takenFor(start uint64) string {
	if g := c.gaveBack(); g.known && g.value == start && g.typ != "" {
		return g.typ
	}
	for _, o := range c.fault().within {
		if o.start == start {
			return o.name
		}
	}
	return ""
}

// toldOfGiven says what is wrong with a pointer that glibc's free refused, by what its registers still hold.
func (c *crash) toldOfGiven() (out []report.Cause) {
	if strings.Contains(c.message(), "double free") {
		if text, b := c.freedTwice(); text != "" {
			out = append(out, report.Cause{Text: text, Confidence: report.Likely, Block: c.causeBlock(report.BlockFreed, b)})
		} else if text := c.freedTop(); text != "" {
			out = append(out, report.Cause{Text: text, Confidence: report.Possible})
		}
	}
	if strings.Contains(c.message(), "invalid pointer") || c.message() == "" && len(c.stack) > 0 && !musl(c.libraryPath(c.stack[0].LookupAddr())) && c.freesInto() {
		if text := c.freedInside(); text != "" {
			out = append(out, report.Cause{Text: text, Confidence: report.Possible})
		}
	}
	return out
}

// usedAfterFree is said of a fault whose bad value was read from a block that the program had given back.
func (c *crash) usedAfterFree() []report.Cause {
	p := c.readFrom()
	b := p.block
	if !p.known || !b.Free || b.List == "top" {
		return nil
	}
	where := ""
	if off := p.at - b.Start; off > 0 {
		where = fmt.Sprintf(", %s from its beginning,", byteCount(off))
	}
	return []report.Cause{{Confidence: p.atMost(report.Likely), Block: c.causeBlock(report.BlockFreed, b), Text: fmt.Sprintf("it was read%s from a freed block: %s at %#x%s, %s", where, byteCount(b.Size), b.Start, c.ownerOf(b), listed(b.List)) + c.pastOf(b)}}
}

// withoutOthers leaves out of the causes that the values alone tell what the heap tells better: another freed block with the key that all have, if it is known
// which one the value was read from; and a flipped bit of an address that the allocator computed from a pointer that is no block.
func (c *crash) withoutOthers(causes []report.Cause) []report.Cause {
	p := c.readFrom()
	freed := p.known && p.block.Free
	given := len(causes) > 0 && len(c.wronglyGiven()) > 0
	if !freed && !given {
		return causes
	}
	return slices.DeleteFunc(slices.Clone(causes), func(cause report.Cause) bool {
		_, at, ok := strings.Cut(cause.Text, reason.LeftInFreed)
		return freed && ok && !strings.HasPrefix(at, fmt.Sprintf("%#x,", p.block.Start)) || given && strings.HasPrefix(cause.Text, reason.BitFlipped)
	})
}

// A heapWord is where the bad value of a fault was read from, in memory of a heap.
type heapWord struct {
	at    uint64
	heap  heap.Allocator // nil if it was read from elsewhere, or that is not known
	block heap.Block
	known bool // there is a block
	// guessed says that code does not tell that the value was read there: it stands in a block to which a variable points.
	guessed bool
}

// atMost is a confidence, or possible where it is guessed where a value was read.
func (p *heapWord) atMost(confidence string) string {
	if p.guessed {
		return report.Possible
	}
	return confidence
}

// readFrom is where the bad value of a fault was read from.
func (c *crash) readFrom() heapWord { return c.known.read.of(c.findReadFrom) }

func (c *crash) findReadFrom() heapWord {
	if c.verdict().kind == report.CrashHeapCorruption {
		return heapWord{} // the allocator itself reads freed blocks
	}
	places := c.fault().readAt
	if g := c.gaveBack(); len(places) == 0 && g.known && g.at != 0 && c.wildlyGiven(g) {
		places = []uint64{g.at}
	}
	if p := c.firstInHeap(places); p.heap != nil {
		return p
	}
	if p := c.findInObjects(); p.heap != nil {
		p.guessed = p.guessed && !c.linked(&p)
		return p
	}
	if len(c.fault().mayBe) != 1 {
		return heapWord{}
	}
	p := c.firstInHeap(c.fault().mayBe)
	p.guessed = p.heap != nil && !c.linked(&p)
	return p
}

// linked reports whether a freed block begins with its list's link, as glibc has kept it since 2.32: the end, or another such block. Nobody else makes that number.
func (c *crash) linked(p *heapWord) bool {
	const shift = 12
	value, ok := c.mem.Uint(p.at, c.arch.WordSize)
	if !ok || !p.known || !p.block.Free || p.at != p.block.Start {
		return false
	}
	next := value ^ p.at>>shift
	if next == 0 {
		return true
	}
	b, ok := p.heap.BlockAt(next)
	return ok && b.Start == next && b.Free && b.List == p.block.List && b.Size == p.block.Size
}

// firstInHeap is the first of some places that is in memory of a heap.
func (c *crash) firstInHeap(places []uint64) heapWord {
	for _, at := range places {
		m, ok := c.Proc.MappingAt(at)
		if !ok || m.Perm&libstate.Write == 0 || (m.Path != "" || c.isOfModule(at)) && !c.donated(at) {
			continue
		}
		if c.hasStack(m) || c.heap() == nil {
			continue
		}
		p := heapWord{at: at, heap: c.heap()}
		if p.block, p.known = p.heap.BlockAt(at); !p.known {
			p.block, p.known = beforeDamage(p.heap, at)
		}
		return p
	}
	return heapWord{}
}

// beforeDamage is the block of an address behind which a record is damaged: that has whether it is in use.
func beforeDamage(h heap.Allocator, at uint64) (heap.Block, bool) {
	for _, d := range h.Damages() {
		if d.Before.Contains(at) {
			return d.Before, true
		}
	}
	return heap.Block{}, false
}

// listed says on which list of the allocator a free block is.
func listed(list string) string {
	switch list {
	case "":
		return "on no list that is known"
	case "unsorted bin":
		return "in the unsorted bin"
	case "quarantine":
		return "in quarantine"
	}
	return "in a " + list
}

// freedTwice says which block free found on one of its lists.
func (c *crash) freedTwice() (string, heap.Block) {
	b, _, ok := c.given(func(b heap.Block, at uint64) bool { return b.Start == at && b.Free && b.List != "top" })
	if !ok {
		return "", b
	}
	return fmt.Sprintf("the block of %s at %#x%s was freed twice: it is %s already", byteCount(b.Size), b.Start, c.ownerOf(b), listed(b.List)), b
}

// freedTop says which block free found at the beginning of the memory that was not handed out; "" if it says something else.
func (c *crash) freedTop() string {
	if !strings.Contains(c.message(), "(top)") {
		return ""
	}
	b, _, ok := c.given(func(b heap.Block, at uint64) bool { return b.Start == at && b.List == "top" })
	if !ok {
		tops := 0
		c.heap().Blocks(func(of heap.Block) bool {
			if of.List == "top" {
				b, tops = of, tops+1
			}
			return tops < 2 // each arena has one
		})
		if tops != 1 {
			return ""
		}
	}
	return fmt.Sprintf("the block at %#x%s may have been freed twice: the memory that nobody has begins there already", b.Start, c.ownerOf(b))
}

// freedInside says into which block the pointer leads that free refused.
func (c *crash) freedInside() string {
	b, at, ok := c.given(func(b heap.Block, at uint64) bool { return b.Contains(at) && b.Start != at && !b.Free && !b.Own })
	if !ok {
		return ""
	}
	return fmt.Sprintf("free may have been given %#x, %s from the beginning of the block of %s at %#x%s", at, byteCount(at-b.Start), byteCount(b.Size), b.Start, c.ownerInside(b, at, ""))
}

// given is the only block of which free had an address, or that of its record, when it ended the program, and the lowest such address: the allocator's own
// frames still hold it in registers.
func (c *crash) given(is func(b heap.Block, at uint64) bool) (block heap.Block, at uint64, ok bool) {
	h := c.heap()
	if h == nil {
		return block, 0, false
	}
	header := 2 * uint64(c.arch.WordSize)
	for i, f := range c.stack[:min(len(c.stack), maxNameFrames)] {
		lib, known := c.Proc.LibraryTracker().LibraryAt(f.LookupAddr())
		if !known || i > 0 && !glibc(lib.Path) {
			break // of the program
		}
		regs := f.Registers()
		for m := regs.Valid; m != 0; m &= m - 1 {
			v, _ := regs.Get(m.First())
			for _, to := range []uint64{v, v + header} { // the block, or its record
				b, found := h.BlockAt(to)
				switch {
				case !found || !is(b, to) || to != v && b.Contains(v):
				case ok && b.Start != block.Start:
					return heap.Block{}, 0, false
				case !ok || to < at:
					block, at, ok = b, to, true
				}
			}
		}
	}
	return block, at, ok
}

// damaged says what happened to a record of the allocator.
func (c *crash) damaged(d *heap.Damage) (text, confidence string) {
	if text, confidence = c.listDamaged(d); text != "" {
		return text, confidence
	}
	if d.Before.Size != 0 {
		past, what, confidence := c.overrun(d)
		before := fmt.Sprintf("the block of %s at %#x%s", byteCount(d.Before.Size), d.Before.Start, c.ownerOf(d.Before))
		if confidence == report.Likely && c.deniesText(d.Before, c.textBefore(d.Before)) {
			confidence = report.Possible // what it should have there are pointers: it came from elsewhere
		}
		switch confidence {
		case report.Likely:
			return fmt.Sprintf("%s was overrun by %s: %s goes on in the record of the next block at %#x%s", before, past, what, d.Of.Start, c.ownerOf(d.Of)), confidence
		case report.Possible:
			return fmt.Sprintf("the record of the block at %#x%s is wrong: %s; %s, which ends there, was overrun by %s, or the block itself was written to before its beginning",
				d.Of.Start, c.ownerOf(d.Of), d.Why, before, past), confidence
		}
		if last, ok := c.mem.Uint(d.Before.End()-1, 1); ok && last != 0 && d.At < d.Before.End() { // what it holds at its end is taken for a record
			return fmt.Sprintf("%s may have been overrun by zero bytes: it is full to its end, and the record of the next block at %#x%s is wrong: %s", before, d.Of.Start, c.ownerOf(d.Of), d.Why), report.Possible
		}
		return fmt.Sprintf("the record of the block at %#x%s is wrong: %s; %s ends there", d.Of.Start, c.ownerOf(d.Of), d.Why, before), report.Possible
	}
	if text := c.listedInside(d); text != "" {
		return text, report.Possible
	}
	if d.Of.Start == 0 {
		return fmt.Sprintf("the allocator's record at %#x is wrong: %s", d.At, d.Why), report.Possible
	}
	return fmt.Sprintf("the record of the block at %#x%s is wrong: %s", d.Of.Start, c.ownerOf(d.Of), d.Why), report.Possible
}

// textBefore is how many bytes of text a block ends with.
func (c *crash) textBefore(b heap.Block) (n uint64) {
	for n < min(b.Size, maxPoured) {
		if char, ok := c.mem.Uint(b.End()-n-1, 1); !ok || !printable(byte(char)) {
			break
		}
		n++
	}
	return n
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
		confidence := report.Likely
		if last == record && !more {
			confidence = report.Possible // who writes before the beginning of the next block ends there, too
		}
		return span{uint64(last - k), more}, dots + strconv.Quote(string(b[max(first, last-shown):last])), confidence
	}
	// The last byte of the record that is not zero: all of it was, or part of it.
	n := uint64(len(bytes.TrimRight(b[d.At-from:][:d.Size], "\x00")))
	if d.At+n <= end {
		return span{}, "", ""
	}
	return span{d.At + n - end, true}, c.content(d.At, d.Size), report.Possible
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

// ownerOf is a name for a block, in brackets; "" if there is none.
func (c *crash) ownerOf(b heap.Block) string {
	if b.Start == 0 {
		return ""
	}
	if name := c.names().of(b); name != "" {
		return " (" + name + ")"
	}
	return ""
}

// ownerInside is a name for a block, in brackets; if there is none, for who points to a place in it, or behind the number of elements with which it may begin,
// but not for what has been told.
func (c *crash) ownerInside(b heap.Block, at uint64, told string) string {
	if name := c.ownerOf(b); name != "" {
		return name
	}
	for _, in := range []uint64{at, b.Start + uint64(c.arch.WordSize)} {
		if name := c.names().find(in); name != "" && name != told {
			return " (" + name + " points into it)"
		}
	}
	return ""
}

// names find the names of blocks, by the stack of the thread that died.
func (c *crash) names() *owners {
	if c.owners == nil {
		c.owners = &owners{Engine: c.Engine, most: maxScanned, stack: c.stack}
	}
	return c.owners
}

package analysis

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/corewalk/corewalk/internal/heap"
	"github.com/corewalk/corewalk/internal/vars/types"
	"github.com/corewalk/corewalk/internal/vars/where"
	"github.com/corewalk/corewalk/report"
)

// leastNumber is the least value that is no mark which programs put in the place of a pointer.
const leastNumber = 4

// leftover says that a block in use has text from within to the bad value, where all who point to it have pointers: what was there before it was handed out is
// left where nobody has filled it.
func (v *invaded) leftover(c *crash) (text, confidence string) {
	b := v.block
	if !v.run.text || v.run.from <= b.Start || v.run.end > b.End() || !v.aimed() {
		return "", ""
	}
	if value, ok := c.mem.Uint(v.at, int(v.word)); !ok || v.run.end-v.run.from <= v.word && oneByte(value, int(v.word)) {
		return "", ""
	}
	name := ""
	for i := range v.holds {
		switch h := &v.holds[i]; {
		case h.size == 0:
		case h.text:
			return "", "" // it may be its own
		case h.whole && name == "":
			name = h.path + ", a " + h.to
		}
	}
	shown := c.mem.Some(v.run.from, int(min(v.run.end-v.run.from, maxTextShown)))
	return fmt.Sprintf("the block of %s at %#x (%s) has the text %s where pointers belong: it may have been handed out with that in it, and not been filled since, or freed, and handed out again",
		byteCount(b.Size), b.Start, name, strconv.Quote(string(shown))), report.Possible
}

// beside says which array of numbers lies before or behind a block that has a number where everybody who points to it has a pointer: an index that is too large
// or negative leads there, whatever lies between.
func (c *crash) beside(v *invaded) (text, confidence string) {
	value, ok := c.mem.Uint(v.at, int(v.word))
	if _, mapped := c.Proc.MappingAt(value); !ok || v.run.text || value < leastNumber || mapped || !v.aimed() {
		return "", ""
	}
	for _, b := range c.neighbours(v.block) {
		if b.Free || b.Own || b.Mapped {
			continue
		}
		beside := &invaded{heapWord: heapWord{at: b.Start, block: b}, run: run{from: b.Start, end: b.End()}, word: v.word}
		c.holders(beside, maxScanned)
		for i := range beside.holds {
			h := &beside.holds[i]
			t, size := elements(h.pointee)
			if t == nil || v.at-b.Start != (v.at-b.Start)/size*size || !c.likeElements(b, t, size, value) {
				continue
			}
			index := int64(v.at-b.Start) / int64(size)
			return fmt.Sprintf("%s has no pointer where one belongs: %s, an array of %s in the block %s, would have element %d there, and may have been written to beyond its %s",
				"the block at "+fmt.Sprintf("%#x (%s)", v.block.Start, v.holds[0].path), h.path, t.Name(), besideWord(b, v), index, map[bool]string{true: "end", false: "beginning"}[index >= 0]), report.Possible
		}
	}
	return "", ""
}

// neighbours are the blocks right before and right behind one.
func (c *crash) neighbours(of heap.Block) (out []heap.Block) {
	word := uint64(c.arch.WordSize)
	most := 2 * word // between them, for the allocator's records
	for _, at := range []uint64{of.Start - 1, of.Start - word - 1} {
		if b, ok := c.heap().BlockAt(at); ok && b.Start < of.Start && b.End() <= of.Start && of.Start-b.End() <= most {
			out = append(out, b)
			break
		}
	}
	for _, at := range []uint64{of.End(), of.End() + word, of.End() + most} {
		if b, ok := c.heap().BlockAt(at); ok && b.Start >= of.End() && b.Start-of.End() <= most {
			return append(out, b)
		}
	}
	for _, d := range c.heap().Damages() { // with a record that was written to
		if d.Of.Start >= of.End() && d.Of.Start-of.End() <= most {
			return append(out, heap.Block{Start: d.Of.Start, Size: maxUnknownObject})
		}
	}
	return out
}

func besideWord(b heap.Block, v *invaded) string {
	if b.Start < v.block.Start {
		return "before it"
	}
	return "behind it"
}

// elements is the type of numbers of which a pointer leads to an array, and their size; nil for others. Characters are none.
func elements(t *types.Type) (*types.Type, uint64) {
	if t == nil {
		return nil, 0
	}
	t = t.Strip()
	if _, char := t.Char(); char || !number(t) || t.Size() == 0 {
		return nil, 0
	}
	return t, t.Size()
}

// likeElements reports whether a word may be a number, or two, of an array in a block: in floating point neither very large nor very small, of others small, or as
// large as some of the block.
func (c *crash) likeElements(b heap.Block, t *types.Type, size, value uint64) bool {
	const most = 64
	word := uint64(c.arch.WordSize)
	switch {
	case size != word && size != 4:
		return false
	case t.Floats():
		_, ok := realNumber(value)
		return ok && size == word
	case size == 4 && word == 8:
		return value&(1<<32-1) < mostSmall && value>>32 < mostSmall || c.counted(value)
	case value < mostSmall:
		return true
	}
	for i := uint64(0); i < most && (i+1)*word <= b.Size; i++ {
		if n, ok := c.mem.Uint(b.Start+i*word, int(word)); ok && n>>32 != 0 && n>>32 == value>>32 {
			return true
		}
	}
	return false
}

// counted reports whether a value may be an address of which the upper half, taken for a number, was added to.
func (c *crash) counted(value uint64) bool {
	const most = 16
	for n := uint64(1); n <= most; n++ {
		if c.mappedAt(value - n<<32) {
			return true
		}
	}
	return false
}

// pointsInto says that a variable points into a block, and has a pointer where the bad value is, while those who point to its beginning have numbers there.
func (c *crash) pointsInto(v *invaded) (text, confidence string) {
	var first *holder
	for i := range v.holds {
		switch h := &v.holds[i]; {
		case h.size == 0:
		case !h.numbers(): // of a structure it may be a member
			return "", ""
		case first == nil:
			first = h
		}
	}
	if first == nil || c.Variables == nil {
		return "", ""
	}
	c.pointers(func(p *where.Held, to uint64) bool {
		if to <= v.block.Start || to > v.at || !v.block.Contains(to) {
			return true
		}
		t := p.Type.Strip().Target()
		if t == nil || !t.Strip().Aggregate() || t.Size() <= v.at-to || !t.HasPointer(v.at-to, v.at+v.word-to) {
			return true
		}
		text = fmt.Sprintf("the block of %s at %#x, in which it was, is that of %s (%s), and %s (%s) points into it, %s from its beginning: it may have been freed, and handed out again",
			byteCount(v.block.Size), v.block.Start, first.path, first.to, strings.TrimPrefix(p.Name(), "*"), t.Name(), byteCount(to-v.block.Start))
		return false
	})
	return text, report.Possible
}

// pointerInto is a variable of the youngest frames or of the program that points into a block, before the bad value or to it; "" if none does.
func (c *crash) pointerInto(v *invaded) (name string) {
	if c.Variables == nil {
		return ""
	}
	into := func(to uint64) bool { return to > v.block.Start && to <= v.at }
	c.pointers(func(p *where.Held, to uint64) bool {
		if into(to) {
			name = p.Variable
		}
		return name == ""
	})
	word := uint64(c.arch.WordSize)
	for _, r := range c.nearData() {
		words, _ := c.mem.Words(r[0], int(r[1]-r[0])/c.arch.WordSize)
		for i, to := range words {
			if name != "" {
				return name
			}
			if into(to) {
				if n, t := c.names().variableAt(r[0]+uint64(i)*word, word); t != nil {
					name = plainPath(n)
				}
			}
		}
	}
	return name
}

// pastText says which text went on past its block, if the bad value of a fault is text that stands there, and nothing tells from where it was read: a block to which a
// pointer of the youngest frames leads, or a word there or in the program's data, is full of text to its end, and so is what is behind it, up to the value.
func (c *crash) pastText() []report.Cause {
	if c.Variables == nil || !dataFault(c.verdict().kind) {
		return nil
	}
	word := c.arch.WordSize
	var wild []uint64
	for _, v := range c.wildValues() {
		if textBytes(v, word) == word {
			wild = append(wild, v)
		}
	}
	if len(wild) == 0 || c.heap() == nil {
		return nil
	}
	var text string
	seen := map[uint64]bool{}
	try := func(at uint64) bool {
		b, ok := c.heap().BlockAt(at)
		if !ok || b.Free || b.Own || seen[b.Start] || !b.Contains(at) || len(seen) == maxWordObjects {
			return len(seen) < maxWordObjects
		}
		seen[b.Start] = true
		from := b.End() - min(minText, b.Size)
		all := c.mem.Some(from, minText+maxRun)
		n := 0
		for n < len(all) && printable(all[n]) {
			n++
		}
		run := all[:n]
		if from+uint64(n) <= b.End()+uint64(word) {
			return true
		}
		past := run[b.End()-from:]
		for i := 0; i+word <= len(past); i++ {
			if (b.End()+uint64(i))%uint64(word) == 0 && slices.Contains(wild, c.arch.Word(past[i:])) {
				text = fmt.Sprintf("the block of %s at %#x%s may have been overrun by %s: its text %s goes on in the blocks behind it, and the bad value is of that",
					byteCount(b.Size), b.Start, c.ownerOf(b), byteCount(uint64(len(past))), strconv.Quote(string(run[:min(len(run), maxTextShown)])))
				return false
			}
		}
		return true
	}
	c.pointers(func(_ *where.Held, v uint64) bool {
		return v < leastWild || try(v)
	})
	all := func(from, end uint64) bool { // strings are no pointers, but have one
		words, _ := c.mem.Words(from, int(end-from)/word)
		for _, v := range words {
			if v >= leastWild && !try(v) {
				return false
			}
		}
		return true
	}
	for _, r := range c.nearData() {
		if text == "" {
			all(r[0], r[1])
		}
	}
	for _, start := range slices.Sorted(maps.Keys(seen)) { // and what has them
		if text == "" {
			all(start, start+maxLeading)
		}
	}
	if text == "" {
		return nil
	}
	return []report.Cause{{Text: text, Confidence: report.Possible}}
}

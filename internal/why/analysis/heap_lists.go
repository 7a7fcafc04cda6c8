package analysis

import (
	"bytes"
	"fmt"
	"math"
	"slices"
	"strconv"

	"github.com/corewalk/corewalk/internal/heap"
	"github.com/corewalk/corewalk/report"
)

// Allocators that keep nothing between blocks have their lists in the blocks that are free: who writes past the end of a block, or to one that was given back,
// changes a pointer of such a list. What was written there goes on from the block that was overrun.

const (
	maxOfSize = 1 << 14 // blocks of one size of which the end is looked at
	maxEnd    = 32      // bytes of it
	maxPoured = 1 << 12 // bytes past its end
	mostSmall = 1 << 24 // above, halves of pointers and of floating point begin
	maxReset  = 16      // bytes at the beginning of a block that change as it is given back, and handed out again
)

// listDamaged says who wrote to a free block, or to one that was free, whose pointer the allocator found damaged; "" for other damages.
func (c *crash) listDamaged(d *heap.Damage) (text, confidence string) {
	value, known := c.mem.Uint(d.At, d.Size)
	switch {
	case d.Twice:
		return fmt.Sprintf("the block of %s at %#x%s may have been freed twice: %s", byteCount(d.Of.Size), d.Of.Start, c.ownerOf(d.Of), d.Why), report.Possible
	case d.Popped != 0:
		b, what, next, own := c.overranPopped(d.Popped, value)
		text, two := "", false
		if what.text == "" || own {
			text, two = c.handedTwice(d, value)
		}
		switch {
		case what.text != "" && !two:
			if text, confidence = c.pouredFrom(b, what, next, "in a block behind it that was free: "+d.Why); own {
				confidence = report.Possible
			}
			return text, confidence
		case text != "":
			return text + ": " + d.Why, report.Possible
		}
		return fmt.Sprintf("a block of %s was written to while it was free: %s", byteCount(d.Popped), d.Why), report.Likely
	case d.Written:
		if b, what := c.source(d.Of, d.At, value); known && what.text != "" {
			return c.pouredFrom(b, what, b.End() == d.Of.Start, fmt.Sprintf("in the free block at %#x", d.Of.Start))
		}
		return fmt.Sprintf("the freed block of %s at %#x%s was written to: %s stands where the %s's pointer was", byteCount(d.Of.Size), d.Of.Start, c.ownerOf(d.Of), c.content(d.At, d.Size), d.Of.List), report.Likely
	}
	return "", ""
}

// wasReset reports whether a block in use may be the one that text was written to while it was free: its first words have changed since, or still are that.
func (c *crash) wasReset(b heap.Block, value uint64) bool {
	first, ok := c.mem.Uint(b.Start, c.arch.WordSize)
	if !ok || first == value {
		return ok
	}
	rest := c.mem.Some(b.Start+maxReset, int(min(minText, b.Size-min(b.Size, maxReset))))
	return textBytes(first, c.arch.WordSize) < 4 && len(rest) == minText && !slices.ContainsFunc(rest, func(c byte) bool { return !printable(c) })
}

// orItself reports whether a value with which a list begins may as well have come from one of two blocks whose owner put it there: from that which seems to have been
// overrun, and begins with it while nothing behind it has it; or from the one behind it, if that is full of it, too.
func (c *crash) orItself(from, to heap.Block, value uint64) bool {
	word := c.arch.WordSize
	has := func(at uint64) bool { v, ok := c.mem.Uint(at, word); return ok && v == value }
	if has(to.End() - uint64(word)) {
		return true
	}
	return from.Size == to.Size && has(from.Start) && !has(to.Start) && !has(to.Start+maxReset)
}

// What was written past the end of a block goes on with it.
type poured struct {
	text string // for people
	kind pouredKind
	run  uint64 // bytes of text at the end of the block
	// denied says that whoever points to the block has pointers where the text is: it came from elsewhere.
	denied bool
	real   bool // they are in floating point
	// begins says that it begins behind the block, at the beginning of others that cannot have it of their own.
	begins bool
}

type pouredKind uint8

const (
	pouredText   pouredKind = iota
	pouredSeries            // each number is as much more than the one before
	pouredAlike             // numbers that differ in their lower halves alone
)

// pouredFrom says that a block was overrun, which ends where the free one begins, if it is next to it. One that is free now may have been written to since.
func (c *crash) pouredFrom(b heap.Block, what poured, next bool, into string) (text, confidence string) {
	block := fmt.Sprintf("the block of %s at %#x%s", byteCount(b.Size), b.Start, c.ownerOf(b))
	switch {
	case what.begins:
		return fmt.Sprintf("%s may have been overrun: %s begins behind it, and goes on %s", block, what.text, into), report.Possible
	case b.Free:
		return fmt.Sprintf("%s, which is free now, may have been overrun: %s goes on %s", block, what.text, into), report.Possible
	case !next: // what was in a block before them may have changed since
		return fmt.Sprintf("%s, or one of those behind it, may have been overrun: %s goes on %s", block, what.text, into), report.Possible
	case what.kind == pouredAlike || what.denied:
		return fmt.Sprintf("%s may have been overrun: %s goes on %s", block, what.text, into), report.Possible
	}
	return fmt.Sprintf("%s was overrun: %s goes on %s", block, what.text, into), report.Likely
}

// source is the block from which on something was written that went on to a value in another: the first of those that lie one behind the other, and end with
// what goes on there. Of text, which others may have, too, it is the nearest in use that has it from its beginning, or from within.
func (c *crash) source(to heap.Block, at, value uint64) (found heap.Block, what poured) {
	var freed heap.Block
	var was poured
	for start := to.Start; ; {
		b, ok := c.heap().BlockAt(start - 1)
		if !ok || b.Own || b.End() != start || at-b.End() > maxPoured {
			if found.Size == 0 && freed.Size != 0 { // it may have been given back since
				return freed, was
			}
			return found, what
		}
		w := c.goesOn(b, at, value)
		if w.text == "" && what.denied && found.Size-what.run <= maxReset && !b.Free {
			what.begins = true
			return b, what
		}
		if w.text == "" || what.text != "" && w.kind != what.kind {
			if found.Size == 0 && freed.Size != 0 {
				return freed, was
			}
			return found, what
		}
		start = b.Start
		if w.kind == pouredText && b.Free {
			if freed.Size == 0 && b.List != "top" && w.run < b.Size && b.End() == to.Start {
				freed, was = b, w
			}
			continue
		}
		found, what = b, w
		if w.kind == pouredText && (w.run == b.Size || b.Size-w.run > maxReset) {
			if what.denied = c.deniesText(b, w.run); !what.denied {
				return found, what
			}
		}
	}
}

// deniesText reports whether a block cannot have the text of its own with which it ends.
func (c *crash) deniesText(b heap.Block, length uint64) bool {
	v := &invaded{heapWord: heapWord{at: b.End() - length, block: b}, run: run{from: b.End() - length, end: b.End(), text: true}, word: uint64(c.arch.WordSize)}
	c.holders(v, maxScanned)
	return v.denied()
}

// overranPopped is the only block from which on something was written that went on to a value at the beginning of a block of a size. own says
// that it may be its own.
func (c *crash) overranPopped(size, value uint64) (found heap.Block, what poured, next, own bool) {
	looked, last := 0, uint64(0) // the last that was found to be written to
	c.heap().Blocks(func(b heap.Block) bool {
		if b.Size != size || b.Own {
			return true
		}
		looked++
		from, w := c.source(b, b.Start, value)
		switch {
		case w.text == "" || w.kind == pouredText && !c.wasReset(b, value):
		case what.text == "" || from.Start == found.Start || from.Start == last:
			if what.text == "" {
				found, what, next = from, w, from.End() == b.Start
				own = c.orItself(from, b, value)
			} else {
				next = false // it went on through others
			}
			last = b.Start
		default:
			looked = maxOfSize // there are two
		}
		return looked < maxOfSize
	})
	if looked >= maxOfSize {
		return heap.Block{}, poured{}, false, false
	}
	return found, what, next, own
}

// goesOn says with what a block ends that goes on to a value at an address behind it.
func (c *crash) goesOn(b heap.Block, at, value uint64) poured {
	end, word := b.End(), c.arch.WordSize
	tail := c.mem.Some(end-min(maxEnd, b.Size), int(min(maxEnd, b.Size)))
	if uint64(len(tail)) != min(maxEnd, b.Size) || value == 0 {
		return poured{}
	}
	run := 0
	for run < len(tail) && printable(tail[len(tail)-1-run]) {
		run++
	}
	if n := textBytes(value, word); run >= word && n >= 4 && bytes.Count(tail[len(tail)-word:], []byte{byte(value)}) == word && oneByte(value, n) {
		return poured{text: strconv.Quote(string(tail[len(tail)-minText:])), kind: pouredSeries}
	}
	if run >= minText && textBytes(value, word) >= 4 || run >= 2*minText && at == end && endsText(value, word) {
		p := poured{text: strconv.Quote(string(tail[len(tail)-run:])), run: uint64(run)}
		for p.run < b.Size && p.run < maxPoured {
			v, ok := c.mem.Uint(end-p.run-1, 1)
			if !ok || !printable(byte(v)) {
				break
			}
			p.run++
		}
		return p
	}
	if at == end && wideText(c.arch.Word(tail[len(tail)-word:]), word, false) && wideText(value, word, true) {
		return poured{text: "text of two bytes a letter", kind: pouredAlike}
	}
	for _, size := range []int{word, 4} {
		if size <= word && (at-end)%uint64(size) == 0 && len(tail) >= minSeries*size && c.inSeries(tail, size, (at-end)/uint64(size), value) {
			return poured{text: fmt.Sprintf("a series of numbers, to %#x,", value), kind: pouredSeries}
		}
	}
	if _, mapped := c.Proc.MappingAt(value); word != 8 || mapped || len(tail) < maxEnd {
		return poured{}
	}
	number, alike := realNumber(value)
	halves := value>>32 != 0
	for i := len(tail) - minSeries*word; i < len(tail); i += word {
		v := c.arch.Word(tail[i:])
		_, ok := realNumber(v)
		alike, halves = alike && ok, halves && v>>32 == value>>32
	}
	switch {
	case c.smallAlike(b, value):
		return poured{text: fmt.Sprintf("a row of numbers like %d,", value&(1<<32-1)), kind: pouredAlike}
	case halves:
		return poured{text: fmt.Sprintf("a row of numbers like %#x,", value), kind: pouredAlike}
	case alike:
		return poured{text: fmt.Sprintf("a row of numbers like %g,", number), kind: pouredAlike, real: true}
	}
	return poured{}
}

// smallAlike reports whether both halves of a value are numbers like those with which a block ends: none is much larger or smaller than all of them.
func (c *crash) smallAlike(b heap.Block, value uint64) bool {
	const least, most = 8, 64
	low, high, n := uint64(mostSmall), uint64(0), 0
	for ; n < most && uint64(4*n+4+maxReset) <= b.Size; n++ {
		v, ok := c.mem.Uint(b.End()-uint64(4*n+4), 4)
		if !ok || v == 0 || v >= mostSmall {
			break
		}
		low, high = min(low, v), max(high, v)
	}
	if n < least {
		return false
	}
	margin := (high - low) / 8
	for _, v := range []uint64{value & (1<<32 - 1), value >> 32} {
		if v == 0 || v+margin < low || v > high+margin {
			return false
		}
	}
	return true
}

// realNumber is the number of a program that a word may be in floating point: neither very large nor very small.
func realNumber(v uint64) (float64, bool) {
	const least, most = 1e-6, 1e12
	f := math.Float64frombits(v)
	return f, math.Abs(f) >= least && math.Abs(f) <= most
}

// inSeries reports whether the numbers of some bytes at the end of tail, each as much more than the one before, have a word's value so many numbers on.
func (c *crash) inSeries(tail []byte, size int, on, value uint64) bool {
	number := func(back int) uint64 { // from the end
		p := tail[len(tail)-(back+1)*size:]
		if size == 4 {
			return uint64(c.arch.ByteOrder.Uint32(p))
		}
		return c.arch.Word(p)
	}
	cut := ^uint64(0) >> (64 - 8*size)
	step := (number(0) - number(1)) & cut
	if (number(1)-number(2))&cut != step || number(0) == 0 || step > maxStep && -step&cut > maxStep {
		return false
	}
	n := (number(0) + (on+1)*step) & cut
	if size < c.arch.WordSize {
		n |= (n + step) & cut << 32
	}
	return n == value
}

// textBytes is how many bytes of text a value begins with in memory, if it has nothing else but zeros behind them; 0 if it has.
func textBytes(value uint64, word int) int {
	n := 0
	for n < word && printable(byte(value>>(8*n))) {
		n++
	}
	if n < word && value>>(8*n) != 0 {
		return 0
	}
	return n
}

// endsText reports whether a value begins in memory with the end of a string, and the bytes behind that are as they were.
func endsText(value uint64, word int) bool {
	n := 0
	for n < word && printable(byte(value>>(8*n))) {
		n++
	}
	return n > 0 && n < word && byte(value>>(8*n)) == 0
}

// wideText reports whether a word is letters of two bytes; at its end may be none, but zeros.
func wideText(value uint64, word int, end bool) bool {
	for i := 0; i < word; i += 2 {
		switch letter := uint16(value >> (8 * i)); {
		case letter == 0 && end && i > 0:
			return value>>(8*i) == 0
		case letter > '~' || letter < ' ':
			return false
		}
	}
	return true
}

// oneByte reports whether the first n bytes of a value are the same.
func oneByte(value uint64, n int) bool {
	for i := range n {
		if byte(value>>(8*i)) != byte(value) {
			return false
		}
	}
	return true
}

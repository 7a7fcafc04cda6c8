package analysis

import (
	"fmt"
	"strconv"

	"github.com/corewalk/corewalk/internal/heap"
	"github.com/corewalk/corewalk/internal/vars/types"
	"github.com/corewalk/corewalk/report"
)

// Limits of what is looked at to say why a block holds what it should not.
const (
	maxRun    = 1024 // bytes before a bad value
	minSeries = 3    // words of the block before that the value continues
	maxHolds  = 16   // pointers to one block
	maxSeries = 1 << 20
)

// foreign is said of a fault whose bad value was read from a block in use, if that holds what others wrote: whoever overran the block before, or whoever
// has the block now, after the program gave it back and kept a pointer.
func (c *crash) foreign() []report.Cause {
	at, b, ok := c.readFrom()
	if at == 0 { // from no heap: there may be none
		return nil
	}
	v, read := c.mem.Uint(at, c.arch.WordSize)
	if !read || v == 0 {
		return nil
	}
	if !ok {
		return c.behindDamage(at)
	}
	if b.Free || b.Own {
		return nil
	}
	text, confidence := c.reused(at, b)
	if text == "" {
		text, confidence = c.overranInto(at, b)
	}
	if text == "" {
		return nil
	}
	return []report.Cause{{Text: text, Confidence: confidence}}
}

// behindDamage says who overran a block, if what the bad value goes on with has damaged the record of the next one on its way.
func (c *crash) behindDamage(at uint64) []report.Cause {
	from, _ := c.runBefore(at)
	for _, d := range c.heap().Damages() {
		if d.Before.Size == 0 || d.At < from || d.At >= at {
			continue
		}
		if text, confidence := c.damaged(&d); text != "" {
			return []report.Cause{{Text: text, Confidence: confidence}}
		}
	}
	return nil
}

// reused says who has a block besides whom the bad value was read for, if pointers of two types lead there: of characters, and of something else.
func (c *crash) reused(at uint64, b heap.Block) (text, confidence string) {
	from, isText := c.runBefore(at)
	if !isText {
		return "", ""
	}
	c.ownerOf(b) // makes c.owners
	var chars, other, otherType string
	begins := false // what other leads to begins with text
	n := 0
	c.owners.each(b.Start, func(path string, t *types.Type) bool {
		of := t.Strip().Target()
		if of == nil {
			return true
		}
		if _, ok := of.Strip().Char(); ok {
			if chars == "" {
				chars = path
			}
		} else if other == "" && of.Strip().Aggregate() && of.Size() > at-b.Start && of.Size() <= b.Size {
			other, otherType = path, of.Name()
			if _, part, ok := of.Part(0, 1); ok {
				_, begins = part.Strip().Char()
			}
		}
		n++
		return n < maxHolds && (chars == "" || other == "")
	})
	block := fmt.Sprintf("the block of %s at %#x", byteCount(b.Size), b.Start)
	switch {
	case chars != "" && other != "":
		return fmt.Sprintf("%s is in use as the text %s, and %s (%s) points to it, too: it was freed, and handed out again", block, chars, other, otherType), report.Likely
	case chars != "":
		return fmt.Sprintf("it was read from %s, which is in use as the text %s: the block may have been freed, and handed out again", block, chars), report.Possible
	case other != "" && !begins && from == b.Start:
		return fmt.Sprintf("%s (%s) holds text from its beginning, which is no %s: it may have been freed, and handed out again", block, other, otherType), report.Possible
	}
	return "", ""
}

// overranInto says who wrote past the end of the block before, if the bad value goes on with what that ends with.
func (c *crash) overranInto(at uint64, b heap.Block) (text, confidence string) {
	from, isText := c.runBefore(at)
	if from >= b.Start {
		return "", ""
	}
	before, ok := c.heap().BlockAt(from)
	least := uint64(minText)
	if !isText {
		least = uint64(minSeries * c.arch.WordSize)
	}
	if !ok || before.Free || before.Own || before.End() > b.Start || from < before.Start || before.End() < from+least {
		return "", ""
	}
	end := at + uint64(c.arch.WordSize)
	what := fmt.Sprintf("a series of numbers, to %s,", c.content(at, c.arch.WordSize))
	if isText {
		run := c.mem.Some(from, maxRun+int(at-from))
		k := 0
		for k < len(run) && printable(run[k]) {
			k++
		}
		end = from + uint64(k)
		if end >= b.End() {
			return "", "" // both are full of the same: it is as likely to be the block's own
		}
		shown := ""
		if k > maxTextShown {
			k, shown = maxTextShown, "..."
		}
		what = strconv.Quote(string(run[:k])) + shown
	}
	return fmt.Sprintf("the block of %s at %#x%s was overrun by %s: %s goes on in the next block at %#x%s", byteCount(before.Size), before.Start, c.ownerOf(before),
		span{n: end - before.End(), atLeast: !isText}, what, b.Start, c.ownerOf(b)), report.Likely
}

// runBefore is where the text begins that goes on to a word in memory, or else the series of numbers: each as much more than the one before.
func (c *crash) runBefore(at uint64) (from uint64, isText bool) {
	w := uint64(c.arch.WordSize)
	low := at - min(at, maxRun)
	var b []byte
	for b == nil && low < at {
		if b = c.mem.Bytes(low, int(at+w-low)); b == nil { // the memory begins nearer
			low += (at-low)/2 + 1
		}
	}
	if b == nil {
		return at, false
	}
	k := int(at - low)
	inside := 0
	for inside < int(w) && printable(b[k+inside]) {
		inside++
	}
	for k > 0 && printable(b[k-1]) {
		k--
	}
	if inside >= minText {
		return low + uint64(k), true
	}
	k = int(at - low)
	step := uint64(0)
	for n := 0; k >= int(w); n++ {
		d := c.arch.Word(b[k:]) - c.arch.Word(b[k-int(w):])
		if n == 0 {
			step = d
		}
		if d != step || d == 0 || d > maxSeries && -d > maxSeries || c.arch.Word(b[k-int(w):]) == 0 {
			break
		}
		k -= int(w)
	}
	return low + uint64(k), false
}

package analysis

import (
	"fmt"
	"strconv"

	"github.com/corewalk/corewalk/libstate"
	"github.com/corewalk/corewalk/report"
)

// ranOff is said of a write just past the end of memory that a heap has to its end: whoever overran a block went on until there was no more.
func (c *crash) ranOff() []report.Cause {
	f := c.own()
	if f.address == nil || !dataFault(c.verdict().kind) || f.why.Access != report.AccessWrite || c.PartialMaps {
		return nil
	}
	end := uint64(*f.address)
	word := uint64(c.arch.WordSize)
	m, ok := c.Proc.MappingAt(end - 1)
	if !ok || uint64(m.End) != end || m.Perm&libstate.Write == 0 || c.onStack(end-1) || c.heap() == nil {
		return nil
	}
	for _, d := range c.heap().Damages() {
		if d.Before.Size == 0 || d.At < uint64(m.Start) || d.At >= end {
			continue
		}
		if text, _ := c.damaged(&d); text != "" { // the first is where the writing began
			return []report.Cause{{Text: text, Confidence: report.Possible}}
		}
	}
	r := c.runAround(end - word)
	if !r.text || end-r.from >= maxRun { // it may have begun before
		return nil
	}
	b, ok := c.heap().BlockAt(r.from)
	if !ok || b.Own || b.Free || !b.Contains(r.from) || b.End() >= end {
		return nil
	}
	shown := c.mem.Some(r.from, int(min(end-r.from, maxTextShown)))
	return []report.Cause{{Confidence: report.Possible, Text: fmt.Sprintf("the block of %s at %#x%s may have been overrun by %s: %s... goes on to the end of the memory there", byteCount(b.Size), b.Start, c.ownerOf(b), span{end - b.End(), true}, strconv.Quote(string(shown)))}}
}

package analysis

import (
	"fmt"

	"github.com/corewalk/corewalk/internal/vars/types"
	"github.com/corewalk/corewalk/internal/vars/where"
	"github.com/corewalk/corewalk/report"
)

// Limits of the search for blocks that are too small.
const (
	maxSmall      = 64      // objects that are looked at
	maxSmallBlock = 32      // bytes of the block with a wild value
	maxSmallParts = 1 << 10 // bytes of one in which pointers to others are looked for
)

// tooSmall is said of a heap that was damaged, or of a wild value in one: a block in use is smaller than what a variable, or a member of what that leads to, means
// by it.
func (c *crash) tooSmall() []report.Cause {
	if c.Variables == nil {
		return nil
	}
	if c.verdict().kind != report.CrashHeapCorruption {
		if !dataFault(c.verdict().kind) {
			return nil
		}
		if p := c.readFrom(); !p.known || p.block.Size > maxSmallBlock {
			return nil
		}
	}
	if c.heap() == nil {
		return nil
	}
	type object struct {
		name string
		at   uint64
		t    *types.Type // of what is there
	}
	var todo []object
	seen := map[uint64]bool{}
	add := func(name string, at uint64, pointer *types.Type) {
		if at < leastWild || seen[at] || len(seen) == maxSmall {
			return
		}
		if t := pointer.Strip().Target(); t != nil && t.Strip().Aggregate() && t.Size() != 0 {
			seen[at] = true
			todo = append(todo, object{name, at, t})
		}
	}
	asking := "" // the function that asked the allocator for more may not have set its variables yet
	if at := c.frame(); c.verdict().kind == report.CrashHeapCorruption && at != nil && *at < len(c.named.Frames) {
		asking = c.named.Frames[*at].Function
	}
	c.pointers(func(p *where.Held, to uint64) bool {
		if asking != "" && !p.Param && p.Function == asking {
			return true
		}
		add(p.Name(), to, p.Type)
		return len(seen) < maxSmall
	})
	word := uint64(c.arch.WordSize)
	for _, r := range c.nearData() {
		if !c.isOfModule(r[0]) {
			continue // frames, of which the variables are known
		}
		words, _ := c.mem.Words(r[0], int(r[1]-r[0])/c.arch.WordSize)
		for i, to := range words {
			if to < leastWild || seen[to] || len(seen) == maxSmall {
				continue
			}
			if b, ok := c.heap().BlockAt(to); ok && b.Start == to {
				if name, t := c.names().variableAt(r[0]+uint64(i)*word, word); t != nil && t.Strip().Pointer() {
					add(plainPath(name), to, t)
				}
			}
		}
	}
	for len(todo) > 0 {
		o := todo[0]
		todo = todo[1:]
		size, room := o.t.Size(), o.t.Size()
		if !c.onStack(o.at) && !c.isOfModule(o.at) {
			b, ok := c.heap().BlockAt(o.at)
			if !ok || b.Start != o.at || b.Free || b.Own {
				continue
			}
			if b.Size < size {
				return []report.Cause{{Confidence: report.Possible, Text: fmt.Sprintf("%s (%s, %s) points to a block of %s, at %#x: it was made too small, or freed, and handed out again",
					o.name, o.t.Name(), byteCount(size), byteCount(b.Size), b.Start), Block: c.causeBlock(report.BlockOverrun, b)}}
			}
			room = min(size, b.Size)
		}
		for off := uint64(0); off+word <= min(room, maxSmallParts); off += word {
			part, t, ok := o.t.Part(off, word)
			if !ok || t == nil || !t.Strip().Pointer() {
				continue
			}
			if to, ok := c.mem.LookupWord(o.at + off); ok {
				add(plainPath(o.name+"->"+part[min(1, len(part)):]), to, t)
			}
		}
	}
	return nil
}

package analysis

import (
	"fmt"
	"slices"

	"github.com/corewalk/corewalk/internal/format/dwarf"
	"github.com/corewalk/corewalk/internal/vars/types"
	"github.com/corewalk/corewalk/internal/vars/where"
	"github.com/corewalk/corewalk/libstate"
	"github.com/corewalk/corewalk/report"
	"github.com/corewalk/corewalk/unwind"
)

// Limits of the search for pointers to variables of functions that have returned.
const (
	maxDeadObject = 128 // bytes of what such a pointer leads to
	maxDeadBlocks = 64  // blocks of the heap in which such pointers are looked for
	maxDeadWords  = 512 // bytes of each
)

// A stale pointer leads to the stack, where no variable is that still lives.
type stale struct {
	name string // "current"
	to   uint64
	sure bool   // it is below what is in use
	in   string // a variable of another kind that lives there; "" for none
}

// deadVariable is said of a bad value that stands on the stack where no function has a variable any more, and a variable that lives still points: that of a
// function that has returned.
func (c *crash) deadVariable() []report.Cause {
	if c.Variables == nil || !dataFault(c.verdict().kind) {
		return nil
	}
	wild := slices.DeleteFunc(slices.Clone(c.wildValues()), func(w uint64) bool { return w < leastWild })
	gone := c.fault().gone
	place := uint64(0)
	if i := slices.IndexFunc(c.fault().readAt, c.onStack); i >= 0 {
		if dead, _, in := c.deadAt(c.fault().readAt[i]); dead || in != "" {
			place = c.fault().readAt[i]
		}
	}
	if len(wild) == 0 && gone == 0 && place == 0 {
		return nil
	}
	var found *stale
	c.stalePointers(func(s *stale) bool {
		if place != 0 { // the code tells
			if place-s.to < maxDeadObject {
				found = s
			}
			return found == nil
		}
		if gone != 0 { // what was called since has written there
			if gone-s.to < maxDeadObject {
				found = s
			}
			return found == nil
		}
		words, _ := c.mem.Words(s.to, maxDeadObject/c.arch.WordSize)
		if slices.ContainsFunc(words, func(v uint64) bool { return slices.Contains(wild, v) }) {
			found = s
		}
		return found == nil
	})
	if found == nil {
		return nil
	}
	confidence := report.Possible
	if found.sure {
		confidence = report.Likely
	}
	if place == 0 && gone != 0 {
		return []report.Cause{{Confidence: report.Possible, Text: fmt.Sprintf("it was read from the stack at %#x, where no variable is any more, but %s points: a function that has returned had one there", gone, found.name)}}
	}
	if found.in != "" {
		return []report.Cause{{Confidence: report.Possible, Text: fmt.Sprintf("it stands on the stack at %#x, in %s, but %s points there, to something else: a function that has returned had a variable there", found.to, found.in, found.name)}}
	}
	return []report.Cause{{Confidence: confidence, Text: fmt.Sprintf("it stands on the stack at %#x, where no variable is any more, but %s points: a function that has returned had one there", found.to, found.name)}}
}

// stalePointers calls yield for pointers to dead parts of the stack until it returns false: those in variables of the youngest frames, in data of the program,
// and in blocks of the heap to which these lead.
func (c *crash) stalePointers(yield func(*stale) bool) {
	if len(c.stack) == 0 {
		return
	}
	m, ok := c.Proc.MappingAt(c.stack[0].SP())
	if !ok {
		return
	}
	low := uint64(m.Start)
	high := uint64(c.stack[0].SP())
	for _, f := range c.stack[:min(len(c.stack), maxObjectFrames)] {
		if cfa, ok := f.CFA(); ok && uint64(cfa) > high && uint64(cfa) < uint64(m.End) {
			high = uint64(cfa)
		}
	}
	type lead struct {
		name func() (string, *types.Type) // asked for only where something is said of it: names take long
		to   uint64
	}
	var blocks []lead
	on := true
	try := func(name func() (string, *types.Type), v uint64) bool {
		switch {
		case v-low < high-low:
			if dead, sure, in := c.deadAt(v); dead || in != "" {
				if n, t := name(); n != "" && (dead || toObject(t, c.arch.WordSize)) {
					on = yield(&stale{n, v, sure, in})
				}
			}
		case v >= leastWild && len(blocks) < maxDeadBlocks:
			if to, ok := c.Proc.MappingAt(v); ok && to.Perm&libstate.Write != 0 && (!c.isOfModule(v) || c.donated(v)) {
				blocks = append(blocks, lead{name, v})
			}
		}
		return on
	}
	if c.pointers(func(p *where.Held, v uint64) bool {
		name, t := p.Variable, p.Type
		return try(func() (string, *types.Type) { return name, t }, v)
	}); !on {
		return
	}
	word := uint64(c.arch.WordSize)
	near := c.nearData()
	members, _ := c.mem.Words(near[0][0], int(near[0][1]-near[0][0])/c.arch.WordSize)
	for i, v := range members { // of variables that are no pointers
		if v-low >= high-low {
			continue
		}
		if !try(func() (string, *types.Type) {
			n, t := c.names().variableAt(near[0][0]+uint64(i)*word, word)
			if t == nil || !t.Strip().Pointer() {
				return "", nil
			}
			return plainPath(n), t
		}, v) {
			return
		}
	}
	for _, r := range near[1:] {
		if c.onStack(r[0]) {
			continue // those of its variables that are pointers are known
		}
		words, _ := c.mem.Words(r[0], int(r[1]-r[0])/c.arch.WordSize)
		for i, v := range words {
			if v < leastWild {
				continue
			}
			name := func() (string, *types.Type) {
				n, t := c.names().variableAt(r[0]+uint64(i)*word, word)
				return plainPath(n), t
			}
			if !try(name, v) {
				return
			}
		}
	}
	for _, b := range blocks {
		words, _ := c.mem.Words(b.to, maxDeadWords/c.arch.WordSize)
		for _, v := range words {
			if v-low >= high-low {
				continue
			}
			if dead, sure, _ := c.deadAt(v); dead {
				if n, _ := b.name(); n != "" && !yield(&stale{"what " + n + " points to", v, sure, ""}) {
					return
				}
			}
		}
	}
}

// toObject reports whether a pointer leads to a structure, class or union that has pointers.
func toObject(t *types.Type, word int) bool {
	if t == nil {
		return false
	}
	to := t.Strip().Target()
	return to != nil && to.Strip().Aggregate() && to.HasPointer(0, max(to.Size(), uint64(word)))
}

// deadAt reports whether no variable of the youngest frames is at an address of the stack, and whether that is below what is in use at all; else it names the
// array of characters or numbers that is there, if it began before: at its beginning a program may have put something else on purpose.
func (c *crash) deadAt(at uint64) (dead, sure bool, in string) {
	sp := uint64(c.stack[0].SP())
	if at < sp-redZone {
		return true, true, ""
	}
	for i, f := range c.stack[:min(len(c.stack), maxObjectFrames)] {
		cfa, ok := f.CFA()
		if !ok || at >= uint64(cfa) {
			continue
		}
		if lib := c.libraryPath(f.LookupAddr()); glibc(lib) || musl(lib) {
			return at < sp, false, "" // which points to what is its own
		}
		act, err := c.Variables.At(c.stack, i)
		if err != nil {
			return false, false, ""
		}
		v, low, _, lives := where.FrameOf(act).Object(f.LookupAddr(), at)
		act.Close()
		if lives && at != uint64(low) && v.Type != nil && v.Type.Strip().Tag == dwarf.TagArrayType && number(v.Type.Strip().Target()) {
			in = v.Variable
		}
		return !lives, false, in
	}
	return false, false, ""
}

// belowStack reports whether an address is on the stack of some frames, below all that is in use.
func (in *Engine) belowStack(stack []*unwind.Frame, at uint64) bool {
	sp := uint64(stack[0].SP())
	m, ok := in.Proc.MappingAt(at)
	return ok && at < sp && sp < uint64(m.End)
}

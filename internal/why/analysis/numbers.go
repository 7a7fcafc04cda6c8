package analysis

import (
	"fmt"
	"slices"
	"strings"

	"github.com/corewalk/corewalk/internal/format/dwarf"
	"github.com/corewalk/corewalk/internal/vars/types"
	"github.com/corewalk/corewalk/report"
)

// overranArray is said of a bad value in a variable that goes on with the numbers of the array before it: who filled that went past its end. Text that does so
// is part of the blame.
func (c *crash) overranArray() []report.Cause {
	if b := c.fault().blame; b == nil || slices.ContainsFunc(b.Steps, func(s report.BlameStep) bool { return s.Kind == report.BlameOverwritten }) {
		return nil
	}
	word := uint64(c.arch.WordSize)
	for _, at := range c.fault().readAt {
		if !c.onStack(at) && !c.isOfModule(at) {
			continue
		}
		r := c.runAround(at)
		if r.text || r.from == at {
			continue
		}
		array, size := c.arrayOf(r.from)
		end, ok := c.endOf(array, r.from, size)
		if !ok || end > at || at-end > maxPoured || end-r.from < minSeries*size {
			continue
		}
		name, t := c.names().variableAt(at, word)
		confidence := report.Possible
		if t != nil && t.Strip().Pointer() {
			confidence = report.Likely
		}
		if name == "" {
			name = "what is behind it"
		}
		return []report.Cause{{Confidence: confidence, Text: fmt.Sprintf("%s was overrun: a series of numbers, to %s, goes on in %s", array, c.content(at, int(word)), plainPath(name))}}
	}
	return nil
}

// onStack reports whether an address is on the stack of the thread that died.
func (c *crash) onStack(at uint64) bool {
	m, ok := c.Proc.MappingAt(at)
	sp := c.stack[0].SP()
	return ok && m.Start <= sp && sp < m.End
}

// arrayOf names the array of numbers of which an address is an element, and has the size of those; "" if there is none.
func (c *crash) arrayOf(at uint64) (name string, size uint64) {
	for _, n := range []uint64{uint64(c.arch.WordSize), 4} {
		element, t := c.names().variableAt(at, n)
		if t != nil && t.Size() == n && number(t) && strings.HasSuffix(element, "]") {
			return element[:strings.LastIndexByte(element, '[')], n
		}
	}
	return "", 0
}

// endOf is the first address past the array of a name, of which an address is an element.
func (c *crash) endOf(array string, at, size uint64) (end uint64, ok bool) {
	for end = at; array != "" && end < at+maxRun; end += size {
		if name, _ := c.names().variableAt(end, size); !strings.HasPrefix(name, array+"[") {
			return end, true
		}
	}
	return 0, false
}

// number reports whether a type is that of numbers.
func number(t *types.Type) bool {
	t = t.Strip()
	return !t.Pointer() && !t.Aggregate() && t.Tag != dwarf.TagArrayType
}

package analysis

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/corewalk/corewalk/internal/format/dwarf"
	"github.com/corewalk/corewalk/internal/vars/types"
	"github.com/corewalk/corewalk/libstate"
	"github.com/corewalk/corewalk/report"
)

// maxElements is how many of the last elements of an array are looked at.
const maxElements = 16

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
		if r.text {
			continue
		}
		if value, ok := c.mem.LookupWord(at); r.from == at || ok && value>>32 == 0 && at-r.from < minSeries*word { // two numbers are no series
			if text := c.numbersGoOn(at, c.names().variableAt); text != "" {
				return []report.Cause{{Confidence: report.Possible, Text: text}}
			}
			if r.from == at {
				continue
			}
		}
		array, size := c.arrayOf(r.from)
		end, ok := c.endOf(array, r.from, size)
		if !ok || at-end > maxPoured || end-r.from < minSeries*size {
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

// numbersGoOn is said of a pointer that has a number like those with which the array right before it ends.
// nameAt names what of some size is at an address.
func (c *crash) numbersGoOn(at uint64, nameAt func(at, size uint64) (string, *types.Type)) string {
	word := uint64(c.arch.WordSize)
	name, t := nameAt(at, word)
	value, ok := c.mem.Uint(at, int(word))
	if !ok || value == 0 || t == nil || !t.Strip().Pointer() {
		return ""
	}
	for _, size := range []uint64{word, 4} {
		array, floats := "", false
		var elements []uint64 // the last is the first
		for len(elements) < maxElements {
			from := at - uint64(len(elements)+1)*size
			element, t := nameAt(from, size)
			n, read := c.mem.Uint(from, int(size))
			of := rowsOf(element)
			if !read || t == nil || t.Size() != size || !number(t) || of == element || array != "" && of != array {
				break
			}
			array, floats, elements = of, t.Strip().Floats(), append(elements, n)
		}
		if len(elements) >= minSeries && alikeNumbers(value, elements, size, word, floats) {
			return fmt.Sprintf("%s may have been overrun: numbers like those at its end stand in %s, behind it", plainPath(array), plainPath(name))
		}
	}
	return c.recordsGoOn(at, nameAt)
}

// rowsOf is the name of the array of which an element has a name, with all its rows: "m" for "m[2][1]"; the name itself if it is no element.
func rowsOf(element string) string {
	for strings.HasSuffix(element, "]") {
		open := strings.LastIndexByte(element, '[')
		if open <= 0 {
			break
		}
		element = element[:open]
	}
	return element
}

// alikeNumbers reports whether all that a word has is numbers of a size like those of an array, of which the last is the first: of floating point neither very large
// nor very small, else none larger or smaller than all of them, or with their upper half.
func alikeNumbers(value uint64, elements []uint64, size, word uint64, floats bool) bool {
	parts := []uint64{value}
	if size < word {
		parts = []uint64{value & (1<<32 - 1), value >> 32}
	}
	if floats {
		for _, n := range append(parts, elements[:minSeries]...) {
			if size == 4 {
				n = math.Float64bits(float64(math.Float32frombits(uint32(n))))
			}
			if _, ok := realNumber(n); !ok {
				return false
			}
		}
		return true
	}
	if size == 8 && value>>32 != 0 && !slices.ContainsFunc(elements[:minSeries], func(n uint64) bool { return n>>32 != value>>32 }) {
		return true
	}
	low, high := slices.Min(elements), slices.Max(elements)
	if size == word && low > 0 && goesHigher(value, elements) {
		return true
	}
	return low > 0 && !slices.ContainsFunc(parts, func(n uint64) bool { return n < low || n > high })
}

// onStack reports whether an address is on the stack of the thread that died.
func (c *crash) onStack(at uint64) bool {
	m, ok := c.Proc.MappingAt(at)
	return ok && c.hasStack(m)
}

// hasStack reports whether a mapping has the stack of the thread that died.
func (c *crash) hasStack(m libstate.Mapping) bool {
	if len(c.stack) == 0 { // of another thread nothing was walked
		return false
	}
	sp := c.stack[0].SP()
	return m.Start <= sp && sp < m.End
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

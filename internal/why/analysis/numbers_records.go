package analysis

import (
	"fmt"
	"slices"
	"strings"

	"github.com/corewalk/corewalk/internal/vars/types"
)

const maxRecord = 256 // bytes of an element that is a structure

// recordsGoOn is said of a pointer that has a number like those that a member has in the last elements of the array of structures right before it, as if it were
// that of one more. nameAt names what of some size is at an address.
func (c *crash) recordsGoOn(at uint64, nameAt func(at, size uint64) (string, *types.Type)) string {
	word := uint64(c.arch.WordSize)
	name, t := nameAt(at, word)
	value, ok := c.mem.Uint(at, int(word))
	if !ok || value == 0 || t == nil || !t.Strip().Pointer() {
		return ""
	}
	for stride := 2 * word; stride <= maxRecord; stride += word {
		last, t := nameAt(at-stride, word)
		array, index, member := memberOf(last)
		if t == nil || !number(t) || member == "" || t.Strip().Floats() {
			continue
		}
		var elements []uint64 // the last is the first
		for k := int64(0); k <= index && len(elements) < maxElements; k++ {
			from := at - uint64(k+1)*stride
			n, read := c.mem.Uint(from, int(word))
			if element, _ := nameAt(from, word); !read || element != fmt.Sprintf("%s[%d]%s", array, index-k, member) {
				break
			}
			elements = append(elements, n)
		}
		if len(elements) >= minSeries && (alikeNumbers(value, elements, word, word, false) || near(value, elements)) {
			return fmt.Sprintf("%s may have been overrun: a number like those of %s at its end stands in %s, behind it", plainPath(array), strings.TrimPrefix(member, "."), plainPath(name))
		}
		return ""
	}
	return ""
}

// near reports whether a number is no farther from those of an array than they are from each other: who fills an array again and again leaves such.
func near(n uint64, elements []uint64) bool {
	low, high := slices.Min(elements), slices.Max(elements)
	return low >= leastSmall && n >= leastSmall && n <= high+(high-low) && n+(high-low) >= low
}

// memberOf takes the name of a member of an array's element apart: "r->slots", 11, ".seq" for "r->slots[11].seq".
func memberOf(name string) (array string, index int64, member string) {
	open := strings.LastIndex(name, "[")
	end := strings.LastIndex(name, "].")
	if open <= 0 || end < open {
		return "", 0, ""
	}
	if _, err := fmt.Sscanf(name[open+1:end], "%d", &index); err != nil {
		return "", 0, ""
	}
	return name[:open], index, name[end+1:]
}

// goesHigher reports whether a number is larger than those of an array that become larger from one to the next, of which the last is the first, by no more than these
// span: a sorted array goes on so.
func goesHigher(n uint64, elements []uint64) bool {
	for i := 1; i < len(elements); i++ {
		if elements[i] >= elements[i-1] {
			return false
		}
	}
	last, first := elements[0], elements[len(elements)-1]
	return n > last && n-last <= last-first
}

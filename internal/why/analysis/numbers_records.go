package analysis

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/corewalk/corewalk/internal/vars/types"
)

const maxRecord = 256 // bytes of an element that is a structure

// recordsGoOn is said of a pointer of which the parts are numbers like those that the members at the beginning of the last elements have, in the array of structures
// right before it: as if it were one more. nameAt names what of some size is at an address.
func (c *crash) recordsGoOn(at uint64, nameAt func(at, size uint64) (string, *types.Type)) string {
	word := uint64(c.arch.WordSize)
	name, t := nameAt(at, word)
	value, ok := c.mem.Uint(at, int(word))
	if !ok || value == 0 || t == nil || !t.Strip().Pointer() {
		return ""
	}
	for stride := word; stride <= maxRecord; stride += word {
		array := ""
		var members []string
		for off := uint64(0); off < word; {
			size, of, member := c.memberAt(at, off, stride, nameAt)
			if size == 0 || array != "" && of != array {
				members = nil
				break
			}
			array, members = of, append(members, strings.TrimPrefix(member, "."))
			off += size
		}
		if len(members) > 0 {
			return fmt.Sprintf("%s may have been overrun: numbers like those of %s at its end stand in %s, behind it", plainPath(array), strings.Join(members, ", "), plainPath(name))
		}
	}
	return ""
}

// memberAt is the member so many bytes from the beginning of the elements of an array of structures that ends at an address, if what is behind the array has a number
// there like those of its last elements; of size 0 if not.
func (c *crash) memberAt(end, off, stride uint64, nameAt func(at, size uint64) (string, *types.Type)) (size uint64, array, member string) {
	for size = uint64(c.arch.WordSize); size > 1; size /= 2 {
		last, t := nameAt(end-stride+off, size)
		array, index, member := memberOf(last)
		n, ok := c.mem.Uint(end+off, int(size))
		if off%size != 0 || t == nil || t.Size() != size || !number(t) || member == "" || t.Strip().Floats() || !ok {
			continue
		}
		var elements []uint64 // the last is the first
		for k := int64(0); k <= index && len(elements) < maxElements; k++ {
			from := end - uint64(k+1)*stride + off
			v, read := c.mem.Uint(from, int(size))
			if element, _ := nameAt(from, size); !read || element != fmt.Sprintf("%s[%d]%s", array, index-k, member) {
				break
			}
			elements = append(elements, v)
		}
		if len(elements) < minSeries || !near(n, elements) {
			return 0, "", ""
		}
		return size, array, member
	}
	return 0, "", ""
}

// near reports whether a number is no farther from those of an array than they are from each other: who fills an array again and again leaves such.
func near(n uint64, elements []uint64) bool {
	low, high := slices.Min(elements), slices.Max(elements)
	return high >= leastSmall && n <= high+(high-low) && n+(high-low) >= low
}

// memberOf takes the name of a member of an array's element apart: "r->slots", 11, ".seq" for "r->slots[11].seq".
func memberOf(name string) (array string, index int64, member string) {
	open := strings.LastIndex(name, "[")
	end := strings.LastIndex(name, "].")
	if open <= 0 || end < open {
		return "", 0, ""
	}
	index, err := strconv.ParseInt(name[open+1:end], 10, 64)
	if err != nil {
		return "", 0, ""
	}
	return name[:open], index, name[end+1:]
}

// goesHigher reports whether a number is larger than those of an array that become larger from one to the next, of which the last is the first, by no more than these
// span: a sorted array goes on so.
func goesHigher(n uint64, elements []uint64) bool {
	for i := 1; i < len(elements); i++ {
		if elements[i] > elements[i-1] {
			return false
		}
	}
	last, first := elements[0], elements[len(elements)-1]
	return n >= last && n-last <= last-first
}

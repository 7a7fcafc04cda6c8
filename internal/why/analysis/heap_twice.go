package analysis

import (
	"fmt"
	"slices"
	"strings"

	"github.com/corewalk/corewalk/internal/heap"
	"github.com/corewalk/corewalk/internal/vars/types"
)

// maxBegun is how many blocks of one size that begin with one value are asked who has them.
const maxBegun = 64

// namelessRefused reports whether the program died in a function without a name of a module that is an allocator, whose records are damaged, and not of a
// pointer that it gave back.
func (c *crash) namelessRefused() bool {
	top := c.named.Frames[0]
	if top.Function != "" || !allocatorModule(top.Module) || !dataFault(c.stop().why.Kind) || c.heap() == nil {
		return false
	}
	return len(c.heap().Damages()) > 0 && !c.gaveBack().known
}

// handedTwice says which block may have been on a list twice, and was handed out twice therefore, or was written to while it was there: it begins with what that
// list begins with, and only to it two elements of one array lead, or else any two elements or members. two is false if it is the only one that begins so.
func (c *crash) handedTwice(d *heap.Damage, value uint64) (text string, two bool) {
	var of []*held
	blocks := map[uint64]heap.Block{}
	if value < leastWild {
		return "", false
	}
	c.heap().Blocks(func(b heap.Block) bool {
		if first, ok := c.mem.Uint(b.Start, c.arch.WordSize); ok && first == value && b.Size == d.Popped && !b.Own && !b.Free && !b.Contains(d.At) {
			of = append(of, &held{start: b.Start})
			blocks[b.Start] = b
		}
		return len(of) < maxBegun
	})
	if len(of) == 0 { // it was written to again since
		text = c.twoElements(d)
		return text, text != ""
	}
	if len(of) == maxBegun {
		return "", false
	}
	names := map[uint64][]string{}
	c.names().each(of, func(h *held, path string, _ *types.Type) bool {
		if list := names[h.start]; strings.ContainsAny(path, ".>[") && len(list) < maxHolds && !slices.Contains(list, path) { // a variable alone is often a copy
			names[h.start] = append(list, path)
		}
		return true
	}, func() bool { return len(names) > 0 })
	for _, same := range []func(a, b string) bool{
		func(a, b string) bool { return rowsOf(a) == rowsOf(b) && rowsOf(a) != a },
		func(string, string) bool { return true },
	} {
		var twice []uint64
		var pair [2]string
		for start, list := range names {
			if a, b, ok := twoOf(list, same); ok {
				twice, pair = append(twice, start), [2]string{a, b}
			}
		}
		if len(twice) > 0 {
			if len(twice) > 1 {
				return "", false
			}
			b := blocks[twice[0]]
			return fmt.Sprintf("the block of %s at %#x (%s, and %s, too) may have been freed twice, or while it was still used", byteCount(b.Size), b.Start, pair[0], pair[1]), true
		}
	}
	if len(of) > 1 {
		return "", false
	}
	b := blocks[of[0].start]
	return fmt.Sprintf("the block of %s at %#x%s may have been freed twice, or written to while it was free", byteCount(b.Size), b.Start, c.ownerOf(b)), false
}

// twoOf are the first two names of a list of which something is so.
func twoOf(list []string, is func(a, b string) bool) (a, b string, ok bool) {
	for i, a := range list {
		for _, b := range list[i+1:] {
			if is(a, b) {
				return a, b, true
			}
		}
	}
	return "", "", false
}

// twoElements says which block of the size of a list's, the only one, two elements of one array lead to.
func (c *crash) twoElements(d *heap.Damage) string {
	var of []*held
	c.heap().Blocks(func(b heap.Block) bool {
		if b.Size == d.Popped && !b.Own && !b.Free {
			of = append(of, &held{start: b.Start})
		}
		return len(of) < maxBegun
	})
	if len(of) == 0 || len(of) == maxBegun {
		return ""
	}
	names, twice := map[uint64]string{}, map[uint64]string{}
	c.names().each(of, func(h *held, path string, _ *types.Type) bool {
		switch first, ok := names[h.start]; {
		case rowsOf(path) == path:
		case !ok:
			names[h.start] = path
		case first != path && rowsOf(first) == rowsOf(path):
			twice[h.start] = fmt.Sprintf("the block of %s at %#x (%s, and %s, too) may have been freed twice, or while it was still used", byteCount(d.Popped), h.start, first, path)
		}
		return true
	}, func() bool { return len(twice) > 0 })
	if len(twice) != 1 {
		return ""
	}
	for _, text := range twice {
		return text
	}
	return ""
}

package analysis

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/corewalk/corewalk/report"
)

// overrunMember is the array of characters of an object in the block from which text goes on to the bad value, as those who point to the block see it: the last
// member before it, of the same object or of the one before in an array of such.
func (c *crash) overrunMember(v *invaded) (text, confidence string) {
	back, inside := c.textInto(v.at, v.block.Start)
	whole := inside >= int(v.word)
	if next, ok := c.mem.Uint(v.at+v.word, 1); inside == 0 || back < minText || !whole && back < 2*minText || whole && !c.ofTable() && (!ok || !printable(byte(next))) {
		return "", "" // where it ends with the pointer, that may be its own
	}
	objects := c.readOf(v)
	for i := range objects {
		o := &objects[i]
		h := &holder{path: o.path, to: o.name, size: o.typ.Size(), pointee: o.typ, whole: true}
		if text, confidence = c.intoMember(v, h, o.start, back, inside); text != "" {
			return text, confidence
		}
	}
	for _, base := range []uint64{v.block.Start, v.block.Start + v.word} { // behind the number of elements that new[] keeps
		of := v
		if base != v.block.Start {
			if of = c.ofNew(v); of == nil {
				continue
			}
		}
		for i := range of.holds {
			if text, confidence = c.intoMember(v, &of.holds[i], base, back, inside); text != "" {
				return text, confidence
			}
		}
	}
	return "", ""
}

// intoMember says so of the objects to which one pointer leads, the first of which is at an address.
func (c *crash) intoMember(v *invaded, h *holder, base uint64, back, inside int) (text, confidence string) {
	into, _ := h.member(v.at-base, v.word)
	for k := uint64(1); into != "" && k <= min(uint64(back), v.at-base); k++ { // members without text may be between
		member, char := h.member(v.at-base-k, 1)
		array := strings.LastIndexByte(member, '[')
		if array <= 0 || !char || !strings.HasSuffix(member, "]") {
			continue
		}
		if off := (v.at - base) % h.size; strings.HasPrefix(into, member[:array]+"[") || !h.pointee.HasPointer(off, off+v.word) {
			return "", ""
		}
		shown := c.mem.Some(v.at-uint64(back), back+inside)
		if len(shown) > maxTextShown {
			shown = shown[len(shown)-maxTextShown:]
		}
		if confidence = report.Likely; inside < int(v.word) || v.guessed {
			confidence = report.Possible
		}
		return fmt.Sprintf("%s was overrun by at least %s: its text ...%s goes on in %s", member[:array], byteCount(k-1+uint64(inside)), strconv.Quote(string(shown)), into), confidence
	}
	return "", ""
}

// readOf are the objects of which the bad value was read as a member, by the code: also where that does not tell the address, and the value was found.
func (c *crash) readOf(v *invaded) []typedAt {
	out := slices.Clone(c.fault().within)
	if o := c.fault().as; v.guessed && o.typ != nil && v.at >= o.start {
		o.start = v.at - o.start
		out = append(out, o)
	}
	return slices.DeleteFunc(out, func(o typedAt) bool { return o.start < v.block.Start || o.start > v.at })
}

// member names the bytes at an offset of the memory that a pointer leads to, of an object or an array of such: "p->name[3]", "p[2].name[3]". It reports whether they
// are one character.
func (h *holder) member(off, size uint64) (name string, char bool) {
	if !h.whole || h.size == 0 {
		return "", false
	}
	part, t, ok := h.pointee.Part(off%h.size, size)
	if !ok {
		return "", false
	}
	_, char = t.Char()
	if off < h.size {
		return h.path + "->" + strings.TrimPrefix(part, "."), char
	}
	return fmt.Sprintf("%s[%d]%s", h.path, off/h.size, part), char
}

// textInto is how many bytes of text end right before an address, down to another, and how many follow in the word there: all of it, or the end of a string.
func (c *crash) textInto(at, least uint64) (back, inside int) {
	word := c.arch.WordSize
	b := c.mem.Bytes(at-min(at-least, maxRun), int(min(at-least, maxRun))+word)
	if b == nil {
		return 0, 0
	}
	before, after := b[:len(b)-word], b[len(b)-word:]
	for back < len(before) && printable(before[len(before)-1-back]) {
		back++
	}
	for inside < word && printable(after[inside]) {
		inside++
	}
	if inside < word && after[inside] != 0 {
		return back, 0
	}
	return back, inside
}

// ofNew is the block without the word at its beginning, if that is the number of objects behind it, and pointers lead to these: as new[] makes it. It is nil if not.
func (c *crash) ofNew(v *invaded) *invaded {
	n, ok := c.mem.LookupWord(v.block.Start)
	if !ok || n == 0 || n > v.block.Size || v.at < v.block.Start+v.word || len(v.holds) > 0 {
		return nil
	}
	out := &invaded{heapWord: v.heapWord, run: v.run, word: v.word}
	out.block.Start, out.block.Size = v.block.Start+v.word, v.block.Size-v.word
	c.holders(out, maxScannedPlace)
	out.holds = slices.DeleteFunc(out.holds, func(h holder) bool { return !h.whole || h.size == 0 || h.size*n > out.block.Size })
	if len(out.holds) == 0 {
		return nil
	}
	return out
}

// readAs says who has the block in which the code read an object of another type: a pointer that was kept leads into what has been handed out again.
func (c *crash) readAs(v *invaded) (text, confidence string) {
	for _, o := range c.readOf(v) {
		if o.start < v.block.Start || o.start > v.at {
			continue
		}
		off := o.start - v.block.Start
		var other *holder
		for i := range v.holds {
			switch h := &v.holds[i]; {
			case h.size == 0 || h.pointer:
			case plainType(h.to) == o.name, h.whole && (h.size > v.block.Size || h.size <= v.block.Size/2 || h.hasA(o.name, off)), h.chars && !(v.run.text && v.run.from <= o.start):
				return "", "" // of which the object may be a part
			case h.numbers() || h.chars || h.whole && !h.points:
				other = h
			}
		}
		const again = "it may have been freed, and handed out again"
		as := "a " + o.name
		if off > 0 {
			as += fmt.Sprintf(", %s from its beginning", byteCount(off))
		}
		switch block := fmt.Sprintf("the block of %s at %#x", byteCount(v.block.Size), v.block.Start); {
		case other != nil && other.chars:
			return fmt.Sprintf("%s is that of the text %s, and was read as %s: %s, or text is taken for that", block, other.path, as, again), report.Possible
		case other != nil:
			return fmt.Sprintf("%s is that of %s (%s), and was read as %s: %s", block, other.path, other.to, as, again), report.Possible
		case len(v.holds) == 0 && v.run.text && v.run.from <= v.block.Start && off == 0:
			return fmt.Sprintf("%s holds text from its beginning, which is no %s: %s, or text was read into it", block, o.name, again), report.Possible
		}
	}
	return "", ""
}

// maxOwnPart is how large an object may be that another has, in bytes.
const maxOwnPart = 1 << 12

// hasA reports whether what a pointer leads to, or one of an array of such, has an object of a type of some name at an offset.
func (h *holder) hasA(name string, off uint64) bool {
	off %= h.size
	for size := uint64(1); size <= min(h.size-off, maxOwnPart); size++ {
		if _, t, ok := h.pointee.Part(off, size); ok && plainType(t.Strip().Name()) == name {
			return true
		}
	}
	return false
}

// plainType is the name of a type without the word before it that C has there.
func plainType(name string) string {
	for _, word := range []string{"struct ", "union ", "class "} {
		name = strings.TrimPrefix(name, word)
	}
	return name
}

// noneLeft says that none of the pointers that all who point to a block have in it leads anywhere: it is something else by now.
func (c *crash) noneLeft(v *invaded) (text, confidence string) {
	const least = 2
	whole := func(h holder) bool { return h.whole }
	if slices.ContainsFunc(v.holds, func(h holder) bool { return strings.HasSuffix(h.path, "]") }) {
		return "", "" // the others of the array may have such, too
	}
	if value, ok := c.mem.LookupWord(v.at); !ok || value < leastWild || c.mappedAt(value) || v.guessed && value>>32 == 0 || !slices.ContainsFunc(v.holds, whole) {
		return "", ""
	}
	for i := range v.holds {
		h, n := &v.holds[i], 0
		for off := uint64(0); off+v.word <= min(h.size, v.block.Size, maxUnknownObject); off += v.word {
			value, ok := c.mem.LookupWord(v.block.Start + off)
			if !h.pointee.HasPointer(off, off+v.word) {
				continue
			}
			if !ok || value < leastWild || c.mappedAt(value) {
				return "", ""
			}
			n++
		}
		if h.size != 0 && n < least {
			return "", ""
		}
	}
	h := &v.holds[slices.IndexFunc(v.holds, whole)]
	return fmt.Sprintf("the block of %s at %#x (%s), in which it was, has no pointer where %s has some: it may have been freed, and handed out again, or written to by others",
		byteCount(v.block.Size), v.block.Start, h.path, h.to), report.Possible
}

// aloneThere says what a bad value is that fills one pointer of an object alone, text or a number of floating point, while all others lead somewhere: what was there
// before is left where nobody has set it.
func (c *crash) aloneThere(v *invaded) (what string, ok bool) {
	value, _ := c.mem.LookupWord(v.at)
	switch _, floats := realNumber(value); {
	case v.guessed || !v.aimed():
		return "", false
	case v.run.text && v.run.from == v.at && v.run.end == v.at+v.word:
		what = "text"
	case !v.run.text && floats && v.word == 8:
		what = "number of floating point"
	default:
		return "", false
	}
	for i := range v.holds {
		h := &v.holds[i]
		for off := uint64(0); off+v.word <= min(h.size, v.block.Size, maxUnknownObject); off += v.word {
			if at := v.block.Start + off; at == v.at || !h.pointee.HasPointer(off, off+v.word) {
				continue
			}
			if value, ok := c.mem.LookupWord(v.block.Start + off); !ok || value != 0 && !c.mappedAt(value) {
				return "", false
			}
		}
	}
	return what, true
}

package analysis

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/corewalk/corewalk/internal/heap"
	"github.com/corewalk/corewalk/internal/vars/types"
	"github.com/corewalk/corewalk/report"
)

// Limits of what is looked at to say why a block holds what it should not.
const (
	maxRun    = 1024 // bytes before a bad value, and from there on
	minSeries = 3    // words of the block before that the value continues
	maxHolds  = 16   // pointers to one block
	maxStep   = 1 << 20

	maxShownHolders = 3
)

// foreign is said of a fault whose bad value was read from a block in use, if that holds what others wrote: whoever overran the block before, or whoever
// has the block now, after the program gave it back and kept a pointer. What the block may hold of its own is no sign of either.
func (c *crash) foreign() []report.Cause {
	p := c.readFrom()
	if p.heap == nil {
		return c.pastText()
	}
	if p.known && (p.block.Free || p.block.Own) {
		return nil
	}
	r := c.runAround(p.at)
	if !p.known {
		return c.behindDamage(p, r)
	}
	v := &invaded{heapWord: p, run: r, word: uint64(c.arch.WordSize)}
	v.findBefore()
	c.throughFreed(v)
	v.cut()
	scanned := maxScanned
	if !r.text && v.before.Size == 0 {
		value, ok := c.mem.Uint(p.at, int(v.word))
		null := ok && value == 0
		if !ok || null && !c.nameless() {
			return nil // null is what programs put there on purpose
		}
		scanned = maxScannedPlace
		if c.holders(v, scanned); null {
			if text, confidence := c.inUse(v); text != "" {
				return []report.Cause{{Text: text, Confidence: p.atMost(confidence)}}
			}
			return nil
		}
	} else {
		c.holders(v, scanned)
	}
	var block *report.CauseBlock
	text, confidence := c.unfilled(v) // first: the bytes of a link may look like text
	if text == "" {
		text, confidence = v.reused()
	}
	if text == "" {
		if text, confidence = v.overrun(c); text != "" && !v.through {
			block = c.causeBlock(report.BlockOverrun, v.before)
		}
	}
	if text == "" {
		text, confidence = v.twoTypes()
	}
	if text != "" && block == nil && !v.through {
		block = c.causeBlock(report.BlockReused, v.block)
	}
	if text == "" {
		text, confidence = c.pouredInto(v)
	}
	if text == "" {
		text, confidence = c.within(v)
	}
	named := slices.ContainsFunc(c.steps(), func(s report.BlameStep) bool { return s.Kind == report.BlameOverwritten && s.Name != "" })
	if text == "" && !named {
		text, confidence = c.overrunMember(v)
	}
	if text == "" && !named {
		if text, confidence = c.readAs(v); text != "" {
			block = c.causeBlock(report.BlockReused, v.block)
		}
	}
	if text == "" {
		if text, confidence = c.spoilt(v); text == "" {
			text, confidence = c.beside(v)
		}
		if text != "" { // who means something else by the block tells more, and may be farther away
			c.allHolders(v)
			if two, possible := v.twoTypes(); two != "" {
				text, confidence = two, possible
			}
		}
	}
	if text == "" {
		text, confidence = c.noneLeft(v)
	}
	if text == "" {
		text, confidence = v.leftover(c)
	}
	if text == "" {
		text, confidence = c.pointsInto(v)
	}
	if text == "" && len(v.holds) > 0 && !v.holdersNamed(c) { // who it was read for is farther away
		c.allHolders(v)
		text, confidence = v.twoTypes()
	}
	if text == "" {
		text, confidence = c.inUse(v)
	}
	if text == "" && len(v.holds) > 0 { // others may be farther away
		if c.allHolders(v); len(v.holds) > 1 {
			text, confidence = v.twoTypes()
		}
	}
	if text == "" {
		return nil
	}
	return []report.Cause{{Text: text, Confidence: p.atMost(confidence), Block: block}}
}

// steps are those of the fault's blame.
func (c *crash) steps() []report.BlameStep {
	if b := c.fault().blame; b != nil {
		return b.Steps
	}
	return nil
}

// allHolders adds who points to a block from farther away.
func (c *crash) allHolders(v *invaded) {
	names := c.names()
	names.most = maxScannedPlace
	defer func() { names.most = maxScanned }()
	names.each([]*held{{start: v.block.Start}}, func(_ *held, path string, t *types.Type) bool {
		if !slices.ContainsFunc(v.holds, func(h holder) bool { return h.path == path }) {
			v.holds = append(v.holds, v.holder(path, t))
		}
		return len(v.holds) < maxHolds
	}, nil)
}

// unfilled says that a block in use begins with what the C library leaves in a freed block: the link to the next one on its list, as it is kept since 2.32.
func (c *crash) unfilled(v *invaded) (text, confidence string) {
	const shift, glibcHeap = 12, "glibc malloc"
	value, ok := c.mem.Uint(v.at, int(v.word))
	if !ok || v.heap.Name() != glibcHeap || v.at != v.block.Start || value < leastWild {
		return "", ""
	}
	if next := value ^ v.at>>shift; next != 0 {
		if b, ok := v.heap.BlockAt(next); !ok || b.Start != next || b.Size != v.block.Size {
			return "", ""
		}
	}
	name := ""
	if len(v.holds) > 0 {
		name = " (" + v.holds[0].path + ")"
	}
	return fmt.Sprintf("the block of %s at %#x%s begins with what the C library leaves in a freed block: it was freed, handed out again, and not filled since", byteCount(v.block.Size), v.block.Start, name), report.Likely
}

// pouredInto says which of the blocks before was overrun, if a block has a pointer where the bad value is: its first words may have been written again since.
func (c *crash) pouredInto(v *invaded) (text, confidence string) {
	value, ok := c.mem.Uint(v.at, int(v.word))
	typed := slices.ContainsFunc(v.holds, func(h holder) bool { return h.size != 0 })
	if !ok || typed && !v.aimed() && !v.ofPointers() || slices.ContainsFunc(v.holds, func(h holder) bool { return h.text }) || v.run.text && v.run.from-v.block.Start > maxReset {
		return "", ""
	}
	b, what := c.source(v.block, v.at, value)
	if what.text == "" || (!typed || !v.aimed()) && !what.real || typed && !v.aimed() && !c.partly(v) {
		return "", ""
	}
	from := &invaded{heapWord: heapWord{at: b.Start, block: b}, run: run{from: b.Start, end: b.End()}, word: v.word}
	if c.holders(from, maxScannedPlace); slices.ContainsFunc(from.holds, func(h holder) bool {
		return slices.ContainsFunc(v.holds, func(o holder) bool { return o.to == h.to && o.size != 0 })
	}) {
		return "", "" // each may have such of its own
	}
	text, _ = c.pouredFrom(b, what, b.End() == v.block.Start, fmt.Sprintf("in the block at %#x%s", v.block.Start, c.ownerOf(v.block)))
	return text, report.Possible
}

// within says which array of the block itself goes on in the bad value.
func (c *crash) within(v *invaded) (text, confidence string) {
	for i := range v.holds {
		h := &v.holds[i]
		if !h.whole || v.run.text || h.size > v.block.Size {
			continue
		}
		text = c.numbersGoOn(v.at, func(at, size uint64) (string, *types.Type) {
			if at-v.block.Start >= h.size {
				return "", nil
			}
			part, t, ok := h.pointee.Part(at-v.block.Start, size)
			if !ok {
				return "", nil
			}
			return h.path + "->" + strings.TrimPrefix(part, "."), t
		})
		if text != "" {
			return text, report.Possible
		}
	}
	return "", ""
}

// partly reports whether a block has addresses behind the bad value, and none before.
func (c *crash) partly(v *invaded) bool {
	words, _ := c.mem.Words(v.block.Start, int(min(v.block.Size, maxPoured))/c.arch.WordSize)
	first := slices.IndexFunc(words, func(w uint64) bool { return w >= leastWild && c.mappedAt(w) })
	return first > int(v.at-v.block.Start)/c.arch.WordSize
}

// ofPointers reports whether all that lead to a block mean pointers there.
func (v *invaded) ofPointers() bool {
	return !slices.ContainsFunc(v.holds, func(h holder) bool { return !h.pointer && h.size != 0 })
}

// aimed reports whether all that lead to a block have a pointer where the bad value is, and one of them has more.
func (v *invaded) aimed() bool {
	whole := false
	for i := range v.holds {
		if v.holds[i].size == 0 {
			continue // void *
		}
		if !v.holds[i].points {
			return false
		}
		whole = whole || v.holds[i].whole
	}
	return whole
}

// spoilt says which block ends where one begins that has none of its pointers from its beginning to the bad value: whoever overruns a block writes to the
// beginning of the next one first.
func (c *crash) spoilt(v *invaded) (text, confidence string) {
	if value, ok := c.mem.LookupWord(v.at); v.guessed && (!ok || value>>32 == 0) || v.run.text || !v.aimed() {
		return "", ""
	}
	for i := range v.holds {
		if v.holds[i].size != 0 && !c.noPointers(v, v.holds[i].pointee) {
			return "", ""
		}
	}
	const most = 4 // blocks on the way
	ends := "which ends where that begins,"
	at := v
	for range most {
		near := c.neighbours(at.block)
		if len(near) == 0 || near[0].Start > at.block.Start || near[0].Free || near[0].Own || near[0].Mapped {
			return "", ""
		}
		b := near[0]
		before := &invaded{heapWord: heapWord{at: b.End() - v.word, block: b}, run: run{from: b.Start, end: b.End()}, word: v.word}
		c.holders(before, maxScanned)
		if len(before.holds) == 0 { // what was written may have gone through, over the only pointer to it
			if b.Size != v.block.Size || !c.wildOnly(b) {
				return "", ""
			}
			at, ends = before, "or one of those behind it,"
			continue
		}
		if i := slices.IndexFunc(before.holds, func(h holder) bool { return h.size != 0 && h.to == v.holds[0].to }); i >= 0 {
			// Those of one type are seldom overrun, but what was written may have gone through.
			h := &before.holds[i]
			if before.at = b.Start + h.size - v.word; h.size < v.word || h.size > b.Size || !h.pointee.HasPointer(0, h.size) || !c.noPointers(before, h.pointee) {
				return "", ""
			}
			at, ends = before, "or one of those behind it,"
			continue
		}
		return fmt.Sprintf("the block of %s at %#x (%s), in which it was, has no pointer up to there: the block of %s at %#x (%s), %s may have been overrun, or it was freed, and handed out again",
			byteCount(v.block.Size), v.block.Start, v.holds[0].path, byteCount(b.Size), b.Start, before.holds[0].path, ends), report.Possible
	}
	return "", ""
}

// wildOnly reports whether no word of a block is an address, or small.
func (c *crash) wildOnly(b heap.Block) bool {
	words, _ := c.mem.Words(b.Start, int(min(b.Size, maxUnknownObject))/c.arch.WordSize)
	return len(words) > 0 && !slices.ContainsFunc(words, func(w uint64) bool { return w < leastWild || c.mappedAt(w) })
}

// noPointers reports whether nothing that is a pointer by a type leads anywhere, from a block's beginning to the bad value.
func (c *crash) noPointers(v *invaded, t *types.Type) bool {
	const most = 64 // words
	off := v.at - v.block.Start
	if off/v.word >= most {
		return false
	}
	for o := uint64(0); o <= off; o += v.word {
		value, ok := c.mem.LookupWord(v.block.Start + o)
		if _, mapped := c.Proc.MappingAt(value); !ok || t.HasPointer(o, o+v.word) && (mapped || value < leastWild) {
			return false
		}
	}
	return true
}

// nameless reports whether the bad value has no name in the source.
func (c *crash) nameless() bool {
	b := c.fault().blame
	return b != nil && (c.fault().led || b.Expression == "") && (c.fault().led || !slices.ContainsFunc(stepNames(b), func(name string) bool { return name != "" && name[0] != '[' }))
}

// behindDamage says who overran a block, if what the bad value goes on with has damaged the record of the next one on its way.
func (c *crash) behindDamage(p heapWord, r run) []report.Cause {
	from := r.from
	if !r.text && r.end-r.from < minSeries*uint64(c.arch.WordSize) {
		r.from = p.at // two numbers are no series
	}
	if r.from == p.at { // it went on with something else
		if value, ok := c.mem.Uint(p.at, c.arch.WordSize); !ok || value == 0 {
			return nil
		}
		from = p.at - min(p.at, maxRun)
	}
	record := uint64(0)
	if r.from != p.at && p.at-r.from < maxRun {
		record = 2 * uint64(c.arch.WordSize) // of which the first word may have other bytes
	}
	for _, d := range p.heap.Damages() {
		if d.Before.Size == 0 || d.At+record < from || d.At >= p.at {
			continue
		}
		text, confidence := c.damaged(&d)
		if text == "" {
			continue
		}
		if r.from == p.at {
			confidence = report.Possible
		}
		return []report.Cause{{Text: text, Confidence: p.atMost(confidence), Block: c.damagedBlock(&d)}}
	}
	return nil
}

// reused says who has a block besides whom the bad value was read for: the block has text, and a pointer to characters leads there, or one to what has none.
// It is possible only, as a program may read text as something else on purpose.
func (v *invaded) reused() (text, confidence string) {
	if !v.run.text {
		return "", ""
	}
	b := v.block
	var chars, other *holder
	for i := range v.holds {
		switch h := &v.holds[i]; {
		case h.text && !h.denies:
			return "", ""
		case h.chars && chars == nil:
			chars = h
		case other == nil && h.size > 0 && h.size <= b.Size && (h.whole && (h.size > v.at-b.Start || !h.pointee.MayHoldText(0, h.size)) || h.pointer && v.run.from == b.Start):
			other = h
		}
	}
	block := fmt.Sprintf("the block of %s at %#x", byteCount(b.Size), b.Start)
	const again = "it may have been freed, and handed out again, or "
	switch {
	case chars != nil && other != nil:
		return fmt.Sprintf("%s is in use as the text %s, and %s (%s) points to it, too: %stext is taken for a %s", block, chars.path, other.path, other.to, again, other.to), report.Possible
	case chars != nil:
		return fmt.Sprintf("it was read from %s, which is in use as the text %s: %stext is taken for a pointer", block, chars.path, again), report.Possible
	case other != nil && v.run.from == b.Start:
		return fmt.Sprintf("%s (%s) holds text from its beginning, which is no %s: %stext was read into it", block, other.path, other.to, again), report.Possible
	}
	return "", ""
}

// twoTypes says who has a block besides whom the bad value was read for, if those who point to it mean objects of two types, of which neither begins with the
// other. It is possible only, as a program may use memory so on purpose.
func (v *invaded) twoTypes() (text, confidence string) {
	var one *holder
	for i := range v.holds {
		h := &v.holds[i]
		switch {
		case h.pointee == nil || h.chars || h.size == 0 || h.size > v.block.Size:
		case one == nil:
			one = h
		case one.to != h.to && (h.points && one.numbers() && one.size > 1 || one.points && h.numbers() && h.size > 1): // bytes may be anything
			return v.ofTwo(one, h), report.Possible
		case one.to != h.to && !(one.whole || h.whole):
		case one.to != h.to && !one.pointee.BeginsWith(h.pointee) && !h.pointee.BeginsWith(one.pointee):
			return v.ofTwo(one, h), report.Possible
		}
	}
	return "", ""
}

func (v *invaded) ofTwo(one, other *holder) string {
	return fmt.Sprintf("the block of %s at %#x, in which it was, is that of %s (%s), and of %s (%s), too: it may have been freed, and handed out again",
		byteCount(v.block.Size), v.block.Start, one.path, one.to, other.path, other.to)
}

// numbers reports whether a pointer leads to numbers.
func (h *holder) numbers() bool {
	t, _ := elements(h.pointee)
	return t != nil
}

// inUse says which block has the bad value, as far as the source does not name it by a variable that everybody knows.
func (c *crash) inUse(v *invaded) (text, confidence string) {
	var names []string
	for i := range v.holds {
		if h := &v.holds[i]; len(names) < maxShownHolders && !slices.Contains(names, h.path) {
			names = append(names, h.path)
		}
	}
	if len(names) == 0 {
		names = c.pointersTo(v.block.Start) // in registers
	}
	if value, ok := c.mem.Uint(v.at, int(v.word)); len(names) == 0 && (v.run.text || ok && v.guessed && value >= leastMember) {
		names = []string{"no variable leads to it"}
	}
	if n := c.names().of(v.block); len(names) == 0 && n != "" {
		names = []string{n}
	}
	b := c.fault().blame
	if n := c.pointerInto(v); len(names) == 0 && n != "" {
		names = []string{n + " points into it"}
	}
	if len(names) == 0 {
		return "", ""
	}
	alone, is := c.aloneThere(v)
	if b != nil && len(names) == 1 && !c.ofTable() && !is {
		for _, s := range append([]string{b.Expression}, stepNames(b)...) {
			if strings.HasPrefix(s, names[0]+"->") || strings.HasPrefix(s, names[0]+"[") {
				return "", ""
			}
		}
	}
	at := ""
	if off := v.at - v.block.Start; off > 0 {
		at = fmt.Sprintf(", %s from its beginning", byteCount(off))
	}
	text = fmt.Sprintf("it was in the block of %s at %#x (%s)%s, which is in use", byteCount(v.block.Size), v.block.Start, strings.Join(names, ", "), at)
	if is {
		return text + ", and is the only " + alone + " there: it may never have been set since that was handed out", report.Possible
	}
	if v.run.text && v.run.from <= v.block.Start && len(v.holds) == 0 {
		shown := c.mem.Some(v.block.Start, int(min(v.run.end-v.block.Start, maxTextShown)))
		return text + fmt.Sprintf(", and holds text from its beginning, %s: it may have been freed, and handed out again, or text is taken for a pointer", strconv.Quote(string(shown))), report.Possible
	}
	if c.ofTable() {
		text += ": a table of virtual functions belongs there, which only who makes an object sets: it may have been freed, and handed out again, or written to by others"
	}
	return text, report.Likely
}

// ofTable reports whether the bad value is that of the place where an object has its table of virtual functions, of C++ or Rust.
func (c *crash) ofTable() bool {
	b := c.fault().blame
	if b == nil {
		return false
	}
	for _, s := range append([]string{b.Expression}, stepNames(b)...) {
		if strings.Contains(s, "_vptr") || strings.HasSuffix(s, ".vtable") {
			return true
		}
	}
	return false
}

// holdersNamed reports whether the source names the bad value by one who leads to its block.
func (v *invaded) holdersNamed(c *crash) bool {
	b := c.fault().blame
	if b == nil {
		return true
	}
	named := false
	locals := c.pointersTo(v.block.Start)
	for _, s := range append([]string{b.Expression}, stepNames(b)...) {
		if i := strings.LastIndex(s, "->"); i > 0 {
			named = true
			if slices.Contains(locals, s[:i]) || slices.ContainsFunc(v.holds, func(h holder) bool { return h.path == s[:i] }) {
				return true
			}
		}
	}
	return !named
}

// stepNames are the names in the steps of a blame.
func stepNames(b *report.Blame) []string {
	var out []string
	for i := range b.Steps {
		out = append(out, b.Steps[i].Name, b.Steps[i].Expression)
	}
	return out
}

// overrun says who wrote past the end of the block before, if the bad value goes on with what that ends with.
func (v *invaded) overrun(c *crash) (text, confidence string) {
	if full := v.run.end >= v.block.End() && !v.denied(); v.before.Size == 0 || full && !(v.run.text && len(v.holds) == 0) && !v.unlike() || v.alike() {
		return "", "" // both are full of the same: it is as likely to be the block's own
	}
	what := "a series of numbers, to " + c.content(v.at, int(v.word)) + ","
	if v.run.text {
		shown, dots := c.mem.Some(v.run.from, int(min(v.run.end-v.run.from, maxTextShown))), ""
		if v.run.end-v.run.from > maxTextShown {
			dots = "..."
		}
		what = strconv.Quote(string(shown)) + dots
	}
	before := fmt.Sprintf("the block of %s at %#x%s", byteCount(v.before.Size), v.before.Start, c.ownerOf(v.before))
	after := fmt.Sprintf("block at %#x%s", v.block.Start, c.ownerOf(v.block))
	past := span{n: v.run.end - v.before.End(), atLeast: !v.run.text}
	switch {
	case v.before.Free:
		return fmt.Sprintf("%s, which is free now, may have been overrun by %s before: %s goes on in the next %s", before, past, what, after), report.Possible
	case v.through:
		return fmt.Sprintf("%s goes on from %s to the %s: one of the blocks before that may have been overrun", what, before, after), report.Possible
	case !v.denied(), !v.run.text && len(v.holdsBefore) == 0:
		return fmt.Sprintf("%s may have been overrun by %s: %s goes on in the next %s, unless that has it of its own", before, past, what, after), report.Possible
	}
	return fmt.Sprintf("%s was overrun by %s: %s goes on in the next %s", before, past, what, after), report.Likely
}

// denied reports whether a block cannot have of its own what the one before has: all who point to it have a pointer there, and one does.
func (v *invaded) denied() bool {
	for i := range v.holds {
		if !v.holds[i].denies {
			return false
		}
	}
	return len(v.holds) > 0
}

// unlike reports whether a block to which no pointers lead, or those whose types say nothing, goes on with the numbers of an array of such.
func (v *invaded) unlike() bool {
	return !v.run.text && !slices.ContainsFunc(v.holds, func(h holder) bool { return h.size != 0 }) &&
		slices.ContainsFunc(v.holdsBefore, func(h holder) bool { return h.numbers() })
}

// alike reports whether a block may have of its own what the one before has: text, or numbers of the same type.
func (v *invaded) alike() bool {
	for _, h := range v.holds {
		if v.run.text {
			if !h.denies && (h.text || h.chars) {
				return true
			}
			continue
		}
		for _, b := range v.holdsBefore {
			if h.to == b.to {
				return true
			}
		}
	}
	return false
}

package dwarf

// The calls inlined at an address: a walk along the path of nested blocks that contain it.

// An inlineCall is a DW_TAG_inlined_subroutine that contains an address.
type inlineCall struct {
	die      DIE
	origin   Value
	rng      Range
	entry    uint64
	callFile uint64
	callLine uint64
	callCol  uint64
}

// maxInlineDepth limits the inlined calls of one frame.
const maxInlineDepth = 512

// maxPathRanges limits the ranges read on the way to one address: malicious entries may all
// share one long list.
const maxPathRanges = 1 << 18

// bytesPerEntry is about how large an entry is.
const bytesPerEntry = 16

// inlines appends to buf the calls inlined at pc in the function at off,
// outermost first.
func (u *Unit) inlines(off, pc uint64, buf []inlineCall) []inlineCall {
	var e Entry
	c := u.Cursor(off)
	if !c.Next(&e) || !e.HasChildren {
		return buf
	}
	budget, start := maxPathRanges, c.in.Off
	defer func() { u.Data.work.Add(int64(maxPathRanges - budget + (c.in.Off-start)/bytesPerEntry)) }()
	floor := 0 // the path leads through entries deeper than this
	for c.Level() > floor && c.Next(&e) {
		switch e.Tag {
		case 0:
		case TagInlinedSubroutine, TagLexicalBlock, TagTryBlock, TagCatchBlock, TagWithStmt:
			call, where := u.enter(&c, &e, pc, &budget)
			isCall := e.Tag == TagInlinedSubroutine
			switch {
			case where == outside || isCall && where == unknown:
				c.SkipChildren()
			case isCall:
				// From here on, nothing beside the call is on the path. A plain block does
				// not exclude its siblings: in Go, inlined calls can be beside the block
				// that contains their code.
				floor = e.Depth
				if len(buf) < maxInlineDepth {
					buf = append(buf, call)
				}
				if !e.HasChildren {
					return buf
				}
			}
		default:
			c.SkipChildren()
		}
	}
	return buf
}

// Position of an address relative to a block.
const (
	outside = iota
	inside
	unknown // the block has no addresses
)

// enter reads the attributes of a block and reports where pc is relative to it.
func (u *Unit) enter(c *Cursor, e *Entry, pc uint64, budget *int) (call inlineCall, where int) {
	if !c.ab.hasPC {
		return call, unknown
	}
	var v, entry Value
	var p pcAttrs
	for c.Attr(&v) {
		switch v.Attr {
		case AttrAbstractOrigin:
			call.origin = v
		case AttrCallFile:
			call.callFile = v.U
		case AttrCallLine:
			call.callLine = v.U
		case AttrCallColumn:
			call.callCol = v.U
		case AttrEntryPC:
			entry = v
		default:
			p.take(&v)
		}
	}
	it := u.rangesOf(&p, *budget)
	defer func() { *budget = it.left }()
	for {
		r, ok := it.next()
		if !ok {
			break
		}
		if r.Contains(pc) {
			call.die, call.rng = DIE{u, e.Off}, r
			if e.Tag == TagInlinedSubroutine {
				call.entry = u.entryFrom(&p, &entry, r.Low)
			}
			return call, inside
		}
	}
	return call, outside
}

package v8

import (
	"cmp"
	"context"
	"slices"
	"strconv"

	"github.com/corewalk/corewalk/internal/heap"
	"github.com/corewalk/corewalk/internal/heap/graph"
	"github.com/corewalk/corewalk/tasks"
	"github.com/corewalk/corewalk/unwind"
)

// collectionTable is where a Map or a Set has its table.
const collectionTable = 24

// throughWeakMap is the offset that is given for what an object keeps by being in a weak map: no reference is there.
const throughWeakMap = 1

// ObjectIn implements heap.Objects.
func (j *JavaScript) ObjectIn(start, _ uint64, b []byte) (heap.Object, bool) {
	h := j.objectHeap()
	if h == nil || len(b) < 8 || h.pageAt(start) == nil {
		return heap.Object{}, false
	}
	m := h.mapOf(littleEndian.Uint64(b))
	if m == nil {
		return heap.Object{}, false
	}
	o := heap.Object{Type: h.groupOf(m, start)}
	at := int(h.types.bufferData)
	t := &h.e.types
	switch {
	case m.typ == t.bytecode || m.typ == t.code || m.typ == t.stream || m.typ == t.sharedInfo || m.typ == t.script || m.typ == t.feedbackVector:
		o.Owns = h.codeParts(m, start, b)
	case len(b) >= 16 && m.rule == sizeElements:
		if n, ok := smi(littleEndian.Uint64(b[8:])); ok && h.isNative(m, n) {
			o.Type = groupSystem
		}
	case m.typ == h.types.buffer && at+8 <= len(b):
		if data := littleEndian.Uint64(b[at:]); data != 0 {
			o.Owns = []heap.Owned{{At: data, What: "ArrayBuffer's bytes"}}
		}
	case m.typ == h.e.types.symbol && len(b) >= 16 && littleEndian.Uint32(b[12:])&symbolPrivate != 0:
		o.Type = groupSystem
	}
	return o, true
}

// codeParts are the tables that belong to code.
func (h *jsHeap) codeParts(m *jsMap, start uint64, b []byte) (out []heap.Owned) {
	end := min(uint64(len(b)), maxCodeHead)
	if m.refs == refsHead {
		end = min(end, m.head)
	}
	for at := uint64(8); at+8 <= end; at += 8 {
		w := littleEndian.Uint64(b[at:])
		if !isObject(w) {
			continue
		}
		if p := h.pageAt(w); p == nil || p.heap == 0 { // what cannot be written to is everybody's
			continue
		}
		if part := h.jsMapAt(w - 1); part != nil && part.group == groupArray && part.size == 0 {
			out = append(out, heap.Owned{At: w - 1, What: groupCode})
		}
	}
	return out
}

// maxCodeHead is how much of what describes code has references to its tables.
const maxCodeHead = 96

// References implements heap.Pointing.
func (h *jsHeap) References(start, off uint64, b []byte, out []graph.Ref) []graph.Ref {
	var buf [8]byte
	head := b
	if off > 0 || len(b) < 8 {
		head = buf[:h.mem.Fill(start, buf[:])]
	}
	if len(head) < 8 {
		return out
	}
	m := h.mapOf(littleEndian.Uint64(head))
	if m == nil {
		return out
	}
	end := off + uint64(len(b))
	refs := m.refs
	if refs == refsAll && h.tables[start] {
		refs = refsTable
	}
	switch refs {
	case refsNone:
		end = 8
	case refsHead:
		end = min(end, m.head)
	case refsTable:
		end = ephemeronsAt
	}
	for at := (off + 7) &^ 7; at+8 <= min(end, off+uint64(len(b))); at += 8 {
		w := littleEndian.Uint64(b[at-off:])
		if w&3 == 1 && (refs != refsWeak || at != m.head && at != m.more || at == 0) {
			out = append(out, graph.Ref{Off: at, To: w})
		}
	}
	if off == 0 && len(h.ephemerons) > 0 {
		for _, w := range h.ephemerons[start] {
			out = append(out, graph.Ref{Off: throughWeakMap, To: w})
		}
	}
	return out
}

// Widened implements heap.Pointing: references are of 64 bits.
func (h *jsHeap) Widened(uint32) uint64 { return 0 }

// Tag implements heap.Tagged.
func (h *jsHeap) Tag() uint64 { return 1 }

// FieldAt implements heap.Fielded.
func (j *JavaScript) FieldAt(start, off uint64) string {
	h := j.objectHeap()
	if h == nil || h.pageAt(start) == nil {
		return ""
	}
	m := h.jsMapAt(start)
	e := h.e
	switch {
	case m == nil:
		return ""
	case off == throughWeakMap:
		return "(weak map)"
	case off == 0:
		return "map"
	case m.typ >= e.types.firstContext && m.typ <= e.types.lastContext:
		return h.contextNames(start)[off]
	case m.typ >= e.types.firstObject && m.size != 0:
		switch {
		case off == e.properties:
			return "properties"
		case off == e.elementsAt:
			return "elements"
		case off == collectionTable && (m.typ == e.types.jsMap || m.typ == e.types.jsSet || m.typ == h.types.weakMap || m.typ == h.types.weakSet):
			return "table"
		case off == e.shared && m.group == "(closure)":
			return "shared"
		case off == e.functionContext && m.group == "(closure)":
			return "context"
		}
		return h.fieldNames(m)[off]
	case m.group == groupArray && off >= 16:
		return "[" + strconv.FormatUint((off-16)/8, 10) + "]"
	}
	return ""
}

// contextNames are the names of the variables of a context, by offset.
func (h *jsHeap) contextNames(at uint64) map[uint64]string {
	names := map[uint64]string{16 + 8: "previous"}
	for _, s := range h.e.slots(at + 1) {
		names[s.off] = s.name
	}
	return names
}

// fieldNames are the names of the properties that objects of a map have in themselves, by offset.
func (h *jsHeap) fieldNames(m *jsMap) map[uint64]string {
	if m.names != nil {
		return m.names
	}
	m.names = map[uint64]string{}
	e := h.e
	bits, _ := e.U32(m.at + e.mapField3)
	if bits&mapDictionary != 0 {
		return m.names
	}
	size, _ := e.U8(m.at + 8)
	first, _ := e.U8(m.at + 9)
	entries := e.at(m.at+1, e.mapDescriptors) - 1 + 24
	for i := range uint64(bits >> mapOwnShift & mapOwnMask) {
		key := e.Word(entries + 24*i)
		details, ok := smi(e.Word(entries + 24*i + 8))
		if !ok || e.p.Spend(1) != nil {
			break
		}
		index := details >> detailIndex & detailIndexMask
		if details&(detailAccessor|detailInMap) != 0 || index >= int(size)-int(first) || !e.isString(key) {
			continue
		}
		if name, ok := e.text(key); ok {
			m.names[8*uint64(int(first)+index)] = name
		}
	}
	return m.names
}

// Variables implements heap.Objects: the properties of global objects, those that the program made first.
func (j *JavaScript) Variables(yield func(name string, value uint64) bool) {
	h := j.objectHeap()
	if h == nil {
		return
	}
	h.survey()
	for _, own := range []bool{true, false} {
		for _, at := range h.globals {
			if !h.global(at, own, yield) {
				return
			}
		}
	}
}

const (
	maxGlobalProperties = 1 << 16
	cellName            = 8 // of a PropertyCell
	cellDetails         = 16
	cellValue           = 24
	detailHidden        = 1 << 4 // DONT_ENUM, of the attributes
)

// global calls yield for the properties of a global object: those that for ... in shows, the last that were made first, or the others.
func (h *jsHeap) global(at uint64, shown bool, yield func(name string, value uint64) bool) bool {
	e := h.e
	table := e.at(at+1, e.properties)
	n, ok := smi(e.at(table, 8))
	if !ok || n > maxGlobalProperties {
		return true
	}
	type property struct {
		name  string
		value uint64
		order int
	}
	var list []property
	for i := range uint64(max(n, 0)) {
		cell := e.at(table, 16+8*i)
		if e.p.Spend(1) != nil {
			break
		}
		if !isObject(cell) || e.typeOf(cell) != h.types.propertyCell {
			continue
		}
		details, ok := smi(e.at(cell, cellDetails))
		value := e.at(cell, cellValue)
		if !ok || details&detailAccessor != 0 || (details&detailHidden == 0) != shown || !isObject(value) {
			continue
		}
		if name, ok := e.text(e.at(cell, cellName)); ok && name != "" {
			list = append(list, property{"global." + name, value, details >> detailOrder})
		}
	}
	slices.SortStableFunc(list, func(a, b property) int { return cmp.Compare(b.order, a.order) })
	for _, p := range list {
		if !yield(p.name, p.value) {
			return false
		}
	}
	return true
}

// Locals calls yield for the variables of the calls on a stack that refer to objects, until it returns false.
func (j *JavaScript) Locals(frames []*unwind.Frame, yield func(name string, value uint64) bool) {
	if h := j.objectHeap(); h == nil || len(frames) == 0 {
		return
	}
	list, _ := j.Stretches(context.Background(), 0, frames)
	for _, s := range list {
		for _, c := range s.Calls {
			if c.Variables == nil {
				continue
			}
			args, own := c.Variables(true, tasks.Limits{Elements: 1, String: 1, Depth: 1})
			for _, v := range slices.Concat(args, own) {
				if v.Address != 0 && !yield(v.Name+" of "+c.Function+"()", v.Address+1) {
					return
				}
			}
		}
	}
}

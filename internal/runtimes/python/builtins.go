package python

import "strconv"

// Values of types that C implements, whose fields are the same in all versions: after what each object begins with.

// byteArray writes a bytearray: size, allocated, memory, where the bytes begin.
func (w *printer) byteArray(at uint64) {
	own := at + w.r.at("object.size")
	n := w.r.word(own)
	b := w.r.bytes(w.r.word(own+24), min(n, uint64(w.most.String)))
	if b == nil && n > 0 {
		w.WriteString("<bytearray of length " + strconv.FormatUint(n, 10) + ">")
		return
	}
	w.WriteString("bytearray(b" + quoteBytes(b))
	if n > uint64(w.most.String) {
		w.WriteString("...")
	}
	w.WriteString(")")
}

// span writes a range or a slice: start, stop, step.
func (w *printer) span(at uint64, name string, depth int) {
	items := w.r.words(at+w.r.at("object.size"), 3)
	if items == nil {
		w.WriteString("<" + name + ">")
		return
	}
	if step, ok := w.r.integer(items[2]); name == "range" && ok && step == "1" {
		items = items[:2]
	}
	w.list(name+"(", ")", items, uint64(len(items)), -depth-1)
}

func isDeque(t *typ) bool { return t.name == "collections.deque" && t.item == 0 }

// dequeItems reads the first elements of a deque: size, first block, last block, index of the first element. A block is a link, 64
// elements, and a link to the next.
func (r *runtime) dequeItems(at, most uint64) (items []uint64, n uint64) {
	const inBlock = 64
	own := at + r.at("object.size")
	n, block, index := r.word(own), r.word(own+8), r.word(own+24)
	for uint64(len(items)) < min(n, most) {
		if index >= inBlock {
			return items, n
		}
		part := r.words(block+8+index*8, min(inBlock-index, min(n, most)-uint64(len(items))))
		if part == nil {
			return items, n
		}
		items = append(items, part...)
		block, index = r.word(block+8+inBlock*8), 0
	}
	return items, n
}

// fieldNames are the names of the elements of a named tuple; nil for other tuples.
func (r *runtime) fieldNames(t *typ) []string {
	if t.flags&flagHeap == 0 {
		return nil
	}
	if !t.fieldsRead {
		t.fieldsRead = true
		t.fields = r.strings(r.get(r.word(t.at+r.at("type.dict")), "_fields", 1<<10))
	}
	return t.fields
}

// named writes a named tuple.
func (w *printer) named(name string, names []string, items []uint64, depth int) {
	w.WriteString(name + "(")
	for i, v := range items {
		if i > 0 {
			w.WriteString(", ")
		}
		w.WriteString(names[i] + "=")
		w.value(v, depth+1)
		if w.parts > w.all {
			break
		}
	}
	w.WriteString(")")
}

// enumMember returns the name and the value of a member of an enumeration, by its attributes.
func enumMember(list []field) (name, value uint64, ok bool) {
	for _, f := range list {
		switch f.name {
		case "_name_":
			name = f.value
		case "_value_":
			value = f.value
		}
	}
	return name, value, name != 0 && value != 0
}

package export

import (
	"bufio"
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"

	"github.com/corewalk/corewalk/internal/heap/graph"
)

// Tags of records and of their parts, and types of fields (OpenJDK, heapDumper.cpp).
const (
	hprofUTF8    = 0x01
	hprofClass   = 0x02
	hprofTrace   = 0x05
	hprofSegment = 0x1c
	hprofEnd     = 0x2c

	partRoot     = 0xff // of an unknown kind
	partClass    = 0x20
	partInstance = 0x21
	partObjects  = 0x22
	partNumbers  = 0x23

	typeObject = 2
	typeByte   = 8
)

// Limits of a file.
const (
	maxFieldAsks  = 10_000
	maxHprofBytes = 16 << 30 // of all objects
	maxHprofArray = 1 << 30
	cutArray      = 4096 // bytes of objects that do not fit in that
	segmentSize   = 64 << 10
)

// WriteHprof writes the heap as the Java virtual machine writes its own (JAVA PROFILE 1.0.2), for Eclipse MAT and VisualVM. Types are classes; the most
// frequent size of a type decides what fields its class has, each as wide as a pointer and named as the program names it, and objects of other sizes are
// arrays of the type. Large objects without a type and without pointers are arrays of bytes. What is no pointer is null: the file has no contents of the heap, but
// is about as large, since tools add up sizes from it. Identifiers of objects are their addresses. Below an instance of a class "root NAME" is what that root
// points at.
func WriteHprof(ctx context.Context, w io.Writer, h *Heap) error {
	return writeHprof(ctx, w, h, maxHprofBytes)
}

// An hprof is a file that is being written. What is in the buffer is the segment that is being made.
type hprof struct {
	*classes
	ctx      context.Context
	w        *bufio.Writer
	g        *graph.Graph
	word     int // bytes of an identifier
	buf      []byte
	types    []hprofType // by class
	ids      uint64      // the next identifier that is no address
	strings  map[string]uint64
	serial   uint32 // of classes
	most     uint64 // bytes that objects may take
	left     uint64 // how many of those are left
	cut      int    // objects shown smaller than they are
	array    uint64 // class of arrays of java.lang.Object
	asked    int    // names of fields
	rootSets []rootSet
}

// An hprofType is how objects of a class are written.
type hprofType struct {
	size   uint64 // of instances; 0: none, all are arrays
	votes  int    // for that size
	first  graph.Node
	class  uint64 // identifiers
	array  uint64
	arrays bool // there are arrays
}

// A rootSet is what roots of one name point at.
type rootSet struct {
	name  string
	roots []uint32
	leaks int // or how many objects no root reaches
	class uint64
}

func writeHprof(ctx context.Context, w io.Writer, h *Heap, most uint64) error {
	x := &hprof{classes: newClasses(h), ctx: ctx, w: bufio.NewWriterSize(w, 64<<10), g: h.Graph, word: h.Graph.WordSize(), strings: map[string]uint64{}, most: most}
	if err := x.prepare(); err != nil {
		return err
	}
	x.w.WriteString("JAVA PROFILE 1.0.2\x00") // Flush returns its error
	x.u4(uint32(x.word))
	ms := uint64(0)
	if !h.Time.IsZero() {
		ms = uint64(h.Time.UnixMilli())
	}
	x.w.Write(binary.BigEndian.AppendUint64(nil, ms))
	x.record(hprofTrace, 12) // number 1, without frames: objects refer to it
	x.u4(1)
	x.u4(0)
	x.u4(0)
	x.describe()
	for _, r := range x.rootSets {
		if err := x.rootSet(&r); err != nil {
			return err
		}
	}
	if err := x.objects(); err != nil {
		return err
	}
	x.flush()
	x.record(hprofEnd, 0)
	return x.w.Flush()
}

// prepare finds the most frequent size of each class, by majority, and the roots.
func (x *hprof) prepare() error {
	leaks := 0
	for i := range x.g.Len() {
		if err := stopped(x.ctx, i); err != nil {
			return err
		}
		n := graph.Node(i)
		if !x.g.Reached(n) {
			leaks++
		}
		c := x.of(n)
		for int(c) >= len(x.types) {
			x.types = append(x.types, hprofType{})
		}
		t, size := &x.types[c], x.g.Size(n)
		switch {
		case t.votes == 0:
			t.size, t.votes, t.first = size, 1, n
		case size == t.size:
			t.votes++
		default:
			t.votes--
		}
	}
	for c := range x.types {
		t := &x.types[c]
		if !x.typed[c] && t.size > exactSizes || t.size > maxNamedSize || t.size < uint64(x.word) || strings.HasSuffix(x.names[c], "[]") {
			t.size = 0
		}
	}
	x.left = x.most
	for i := range x.g.Len() {
		if err := stopped(x.ctx, i); err != nil {
			return err
		}
		n := graph.Node(i)
		if t := &x.types[x.of(n)]; t.size == 0 || x.g.Size(n) != t.size {
			t.arrays = true
		}
		if x.shown(n) < x.g.Size(n) {
			x.cut++
		}
	}
	s := snapshot{classes: x.classes, ctx: x.ctx}
	names, roots, err := s.groupRoots()
	if err != nil {
		return err
	}
	for i, c := range names {
		x.rootSets = append(x.rootSets, rootSet{name: "root " + x.names[c], roots: roots[i]})
	}
	if leaks > 0 {
		x.rootSets = append(x.rootSets, rootSet{name: unreached, leaks: leaks})
	}
	if x.cut > 0 {
		x.rootSets = append(x.rootSets, rootSet{name: fmt.Sprintf("(%d objects are larger than shown)", x.cut)})
	}
	return x.free(uint64(2*len(x.types) + 3*len(x.rootSets) + 16))
}

// shown is how many bytes an object takes in the file, if asked once for each in their order.
func (x *hprof) shown(n graph.Node) uint64 {
	size := x.g.Size(n)
	if size > min(x.left, maxHprofArray) {
		size = min(size, cutArray)
	}
	x.left -= min(size, x.left)
	return size
}

// idStep is between identifiers of what has no address.
const idStep = 16

// free finds them: below the first object, or behind the last.
func (x *hprof) free(count uint64) error {
	const step = idStep
	need := step * count
	x.ids = step
	if x.g.Len() == 0 || x.g.Start(0) > need+step {
		return nil
	}
	last := x.g.Start(graph.Node(x.g.Len() - 1))
	limit := uint64(math.MaxUint64)
	if x.word == 4 {
		limit = math.MaxUint32
	}
	if need > limit/2 || last > limit-need-2*step {
		return fmt.Errorf("no identifiers are left for classes beside addresses up to %#x", last)
	}
	x.ids = last&^(step-1) + step
	return nil
}

func (x *hprof) next() uint64 {
	x.ids += idStep
	return x.ids - idStep
}

// address is the identifier of an object; 0 would be null.
func (x *hprof) address(n graph.Node) uint64 { return max(x.g.Start(n), 1) }

func (x *hprof) u4(v uint32) { x.w.Write(binary.BigEndian.AppendUint32(nil, v)) }

func (x *hprof) record(tag byte, size uint32) {
	x.w.Write(binary.BigEndian.AppendUint32([]byte{tag, 0, 0, 0, 0}, size))
}

func (x *hprof) id(v uint64) {
	if x.word == 4 {
		x.buf = binary.BigEndian.AppendUint32(x.buf, uint32(v))
	} else {
		x.buf = binary.BigEndian.AppendUint64(x.buf, v)
	}
}

func (x *hprof) put4(v uint32) { x.buf = binary.BigEndian.AppendUint32(x.buf, v) }
func (x *hprof) put2(v uint16) { x.buf = binary.BigEndian.AppendUint16(x.buf, v) }

// pass writes what is in the buffer.
func (x *hprof) pass() {
	x.w.Write(x.buf)
	x.buf = x.buf[:0]
}

// flush ends a segment.
func (x *hprof) flush() {
	if len(x.buf) > 0 {
		x.record(hprofSegment, uint32(len(x.buf)))
		x.pass()
	}
}

// string writes a name when it is first needed. Strings have identifiers of their own.
func (x *hprof) string(s string) uint64 {
	id, ok := x.strings[s]
	if !ok {
		id = uint64(len(x.strings) + 1)
		x.strings[s] = id
		x.record(hprofUTF8, uint32(x.word+len(s)))
		x.id(id)
		x.pass()
		x.w.WriteString(s)
	}
	return id
}

// load writes the record of a class.
func (x *hprof) load(name string) uint64 {
	text, id := x.string(name), x.next()
	x.serial++
	x.record(hprofClass, uint32(8+2*x.word))
	x.put4(x.serial)
	x.id(id)
	x.put4(1)
	x.id(text)
	x.pass()
	return id
}

// dump adds a class with fields, all of them pointers, to the segment.
func (x *hprof) dump(id, super uint64, fields []uint64) {
	x.buf = append(x.buf, partClass)
	x.id(id)
	x.put4(1)
	for _, v := range [6]uint64{super} { // loader, signers, protection domain, two reserved
		x.id(v)
	}
	x.put4(uint32(len(fields) * x.word))
	x.put2(0) // constants
	x.put2(0) // static fields
	x.put2(uint16(len(fields)))
	for _, f := range fields {
		x.id(f)
		x.buf = append(x.buf, typeObject)
	}
	if len(x.buf) > segmentSize {
		x.flush()
	}
}

// describe writes all classes: first their names, as nothing else may be between the parts of a segment.
func (x *hprof) describe() {
	object, meta := x.load("java.lang.Object"), x.load("java.lang.Class")
	x.array = x.load("[Ljava.lang.Object;")
	bytes := x.load("[B")
	fields := make([][]uint64, len(x.types))
	for c := range x.types {
		t := &x.types[c]
		name := x.names[c]
		if t.size != 0 {
			t.class = x.load(name)
			for off := uint64(0); off < t.size; off += uint64(x.word) {
				fields[c] = append(fields[c], x.string(x.field(class(c), t.first, off)))
			}
		}
		if t.arrays {
			t.array = x.load("[L" + strings.TrimSuffix(name, "[]") + ";")
		}
	}
	objects := x.string("objects")
	for i := range x.rootSets {
		x.rootSets[i].class = x.load(x.rootSets[i].name)
	}
	x.dump(object, 0, nil)
	for _, id := range []uint64{meta, x.array, bytes} {
		x.dump(id, object, nil)
	}
	for c := range x.types {
		t := &x.types[c]
		if t.class != 0 {
			x.dump(t.class, object, fields[c])
		}
		if t.array != 0 {
			x.dump(t.array, object, nil)
		}
	}
	for i := range x.rootSets {
		x.dump(x.rootSets[i].class, object, []uint64{objects})
	}
}

// field is the name of a pointer of a class's objects.
func (x *hprof) field(c class, n graph.Node, off uint64) string {
	if x.typed[c] && x.h.Field != nil && x.asked < maxFieldAsks {
		x.asked++
		if name := x.h.text(x.h.Field(n, off)); name != "" {
			return name
		}
	}
	return "+0x" + strconv.FormatUint(off, 16)
}

// rootSet writes an object that is reached, and what it points at.
func (x *hprof) rootSet(r *rootSet) error {
	n := len(r.roots) + r.leaks
	id, list := x.next(), x.next()
	x.buf = append(x.buf, partRoot)
	x.id(id)
	x.buf = append(x.buf, partInstance)
	x.id(id)
	x.put4(1)
	x.id(r.class)
	x.put4(uint32(x.word))
	x.id(list)
	x.flush()
	return x.objectArray(list, x.array, uint64(n), func(yield func(at uint64, n graph.Node) bool) {
		at := uint64(0)
		for _, i := range r.roots {
			if !yield(at, x.g.Roots[i].To) {
				return
			}
			at++
		}
		for i := 0; at < uint64(n) && i < x.g.Len(); i++ {
			if x.g.Reached(graph.Node(i)) {
				continue
			}
			if !yield(at, graph.Node(i)) {
				return
			}
			at++
		}
	})
}

// objectArray writes an array with objects at some of its places, in order; all others are null. A large one is a segment of its own.
func (x *hprof) objectArray(id, class, count uint64, each func(yield func(at uint64, n graph.Node) bool)) error {
	const head = 1 + 4 + 4
	size := head + uint64(2*x.word) + count*uint64(x.word)
	if size > math.MaxUint32 {
		return fmt.Errorf("an array of %d objects is larger than the format allows", count)
	}
	streamed := size > segmentSize
	if streamed {
		x.flush()
		x.record(hprofSegment, uint32(size))
	}
	x.buf = append(x.buf, partObjects)
	x.id(id)
	x.put4(1)
	x.put4(uint32(count))
	x.id(class)
	if err := x.words(count, streamed, each); err != nil {
		return err
	}
	if streamed {
		x.pass()
	} else if len(x.buf) > segmentSize {
		x.flush()
	}
	return nil
}

// words adds pointers.
func (x *hprof) words(count uint64, streamed bool, each func(yield func(at uint64, n graph.Node) bool)) error {
	var err error
	at := uint64(0)
	put := func(v uint64) bool {
		x.id(v)
		at++
		if streamed && len(x.buf) > segmentSize {
			x.pass()
			if x.ctx.Err() != nil {
				err = context.Cause(x.ctx)
			}
		}
		return err == nil
	}
	each(func(to uint64, n graph.Node) bool {
		for at < min(to, count) {
			if !put(0) {
				return false
			}
		}
		return at < count && put(x.address(n))
	})
	for at < count && err == nil {
		put(0)
	}
	return err
}

// objects writes all objects.
func (x *hprof) objects() error {
	x.left = x.most
	word := uint64(x.word)
	for i := range x.g.Len() {
		if err := stopped(x.ctx, i); err != nil {
			return err
		}
		n := graph.Node(i)
		c, size := x.of(n), x.g.Size(n)
		t, shown := &x.types[c], x.shown(n)
		count := (shown + word - 1) / word
		each := func(yield func(uint64, graph.Node) bool) {
			x.g.Words(n, func(off uint64, to graph.Node) bool { return yield(off/word, to) })
		}
		switch {
		case t.class != 0 && size == t.size:
			x.buf = append(x.buf, partInstance)
			x.id(x.address(n))
			x.put4(1)
			x.id(t.class)
			x.put4(uint32(count * word))
			if err := x.words(count, false, each); err != nil {
				return err
			}
		case !x.typed[c] && !x.points(n):
			if err := x.byteArray(n, shown); err != nil {
				return err
			}
		default:
			if err := x.objectArray(x.address(n), t.array, count, each); err != nil {
				return err
			}
		}
		if len(x.buf) > segmentSize {
			x.flush()
		}
	}
	return nil
}

// points reports whether an object points at any.
func (x *hprof) points(n graph.Node) (yes bool) {
	x.g.Out(n, func(graph.Node) bool {
		yes = true
		return false
	})
	return yes
}

// byteArray writes an array of zeros.
func (x *hprof) byteArray(n graph.Node, size uint64) error {
	const head = 1 + 4 + 4 + 1
	streamed := size > segmentSize
	if streamed {
		x.flush()
		x.record(hprofSegment, uint32(head+uint64(x.word)+size))
	}
	x.buf = append(x.buf, partNumbers)
	x.id(x.address(n))
	x.put4(1)
	x.put4(uint32(size))
	x.buf = append(x.buf, typeByte)
	for size > 0 {
		k := min(size, segmentSize)
		x.buf = append(x.buf, make([]byte, k)...)
		size -= k
		if streamed {
			x.pass()
			if x.ctx.Err() != nil {
				return context.Cause(x.ctx)
			}
		}
	}
	return nil
}

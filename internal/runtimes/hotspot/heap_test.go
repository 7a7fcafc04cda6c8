package hotspot

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/corewalk/corewalk/internal/heap"
	"github.com/corewalk/corewalk/internal/heap/graph"
	"github.com/corewalk/corewalk/internal/procmem"
)

// Where a made heap has what.
const (
	madeHeap    = 0x10000 // the virtual machine's record of it
	madeLoader  = 0x10400
	madeFlags   = 0x10600
	madeStatics = 0x10800
	madeThread  = 0x10c00
	madeNames   = 0x11000
	madeClasses = 0x12000 // one in each page/2
	madeMirror  = 0x1a000
	madeObjects = 0x20000 // eden, two pages; the old generation, one page
	madeOld     = madeObjects + 2*page
)

// Classes of a made heap, by their numbers.
const (
	madeObject = iota
	madeNode
	madeArray
	madeInts
	madeClass
	madeUnlisted // in no loader's list
	madeStranger // likewise, and its constants are another's
)

// A made heap is Serial's, with references and classes of 64 bits.
type made struct {
	*recorded
	names uint64
	spend func(int) error
	next  uint64 // where the next object is made
}

func (m *made) put(at, v uint64) {
	if m.Pages[at&^(page-1)] == nil {
		m.Pages[at&^(page-1)] = make([]byte, page)
	}
	littleEndian.PutUint64(m.Pages[at&^(page-1)][at%page:], v)
}

func (m *made) put32(at uint64, v uint32) {
	old, _ := m.ReadWord(at &^ 7)
	shift := at % 8 * 8
	m.put(at&^7, old&^(0xffffffff<<shift)|uint64(v)<<shift)
}

func (m *made) name(s string) (at uint64) {
	at = m.names
	b := append(littleEndian.AppendUint64(nil, uint64(len(s))), s...)
	for i, c := range b {
		p := at + uint64(i)
		m.put(p&^7, func() uint64 { v, _ := m.ReadWord(p &^ 7); return v | uint64(c)<<(p%8*8) }())
	}
	m.names += uint64(len(b)+15) &^ 7
	return at
}

func classNumber(i int) uint64 { return madeClasses + uint64(i)*page/2 }

// class makes a class. Its constants are behind it.
func (m *made) class(i int, name string, helper uint32, listed bool, maps ...oopMap) {
	at := classNumber(i)
	m.put(at+8, uint64(helper))
	m.put(at+24, m.name(name))
	m.put(at+112, madeMirror)
	m.put(at+232, at+1024)
	m.put(at+1024+8, at) // their holder
	m.put32(at+160, 1)   // words of tables
	m.put32(at+300, 2)
	m.put32(at+296, uint32(len(maps)))
	for k, x := range maps {
		m.put(at+464+24+8*uint64(k), x.offset|x.count<<32)
	}
	if listed {
		m.put(at+144, func() uint64 { v, _ := m.ReadWord(madeLoader + 56); return v }())
		m.put(madeLoader+56, at)
	}
}

// object makes an object of a class, of so many words.
func (m *made) object(class, words int, fields ...uint64) (at uint64) {
	at = m.next
	m.put(at, 1)
	m.put(at+8, classNumber(class))
	for i, f := range fields {
		m.put(at+16+8*uint64(i), f)
	}
	m.next += 8 * uint64(words)
	return at
}

func (m *made) flag(i int, name string, on uint64) {
	m.put(madeFlags+uint64(i)*16, m.name(name)+8)
	m.put(madeFlags+uint64(i)*16+8, madeStatics+0x200+8*uint64(i))
	m.put(madeStatics+0x200+8*uint64(i), on)
}

// makeHeap makes a heap with some objects. What has the last of them in eden is the thread's own up to theirs.
func makeHeap() *made {
	m := &made{recorded: &recorded{recording: &recording{Pages: map[uint64][]byte{}}}, names: madeNames, spend: func(int) error { return nil }, next: madeObjects}
	m.class(madeObject, "java/lang/Object", 16, true)
	m.class(madeNode, "Node", 32, true, oopMap{16, 1})
	m.class(madeArray, "[LNode;", 0x80_18_0c_03, true)
	m.put(classNumber(madeArray)+224, classNumber(madeNode))
	m.class(madeInts, "[I", 0xc0_18_0a_02, true)
	m.class(madeClass, mirrorClass, 40|1, true, oopMap{16, 1})
	m.class(madeUnlisted, "Unlisted", 16, false)
	m.class(madeStranger, "Stranger", 16, false)
	m.put(classNumber(madeStranger)+1024+8, classNumber(madeNode))
	m.flag(0, "UseSerialGC", 1)
	m.flag(1, "UseZGC", 0)
	static := func(i int, v uint64) { m.put(madeStatics+8*uint64(i), v) }
	static(0, madeHeap)
	static(1, madeLoader)
	static(2, madeFlags)
	static(3, 2)  // flags
	static(4, 24) // where a class says how large it is
	static(5, 28) // and how many references are static
	static(6, madeThread+0x100)
	m.put(madeHeap+32, madeObjects)
	m.put(madeHeap+40, 3*page/8)
	young, old := uint64(madeHeap+0x100), uint64(madeHeap+0x180)
	m.put(madeHeap+96, young)
	m.put(madeHeap+104, old)
	for i, s := range [][3]uint64{{madeObjects, 0, madeOld}, {madeOld, madeOld, madeOld}, {madeOld, madeOld, madeOld}} {
		m.space(young+8*uint64(i), madeHeap+0x200+0x40*uint64(i), s)
	}
	m.space(old, madeHeap+0x300, [3]uint64{madeOld, madeOld, madeOld + page})
	m.put(madeThread+0x100, 1) // threads
	m.put(madeThread+0x108, madeThread+0x110)
	m.put(madeThread+0x110, madeThread)
	return m
}

func (m *made) space(from, at uint64, s [3]uint64) {
	m.put(from, at)
	m.put(at+8, s[0])
	m.put(at+16, s[2])
	m.put(at+24, s[1])
}

// top says up to where eden has objects.
func (m *made) top(at uint64) { m.put(madeHeap+0x200+24, at) }

// tlab is what a thread has for itself.
func (m *made) tlab(start, top, end uint64) {
	for i, v := range []uint64{start, top, end - 24} { // an array fills the rest
		m.put(madeThread+8*uint64(i), v)
	}
}

// find finds the heap.
func (m *made) find() (*javaHeap, error) {
	fields := map[string]field{}
	for name, off := range map[string]uint64{
		"Klass._layout_helper": 8, "Klass._name": 24, "Klass._java_mirror": 112, "Klass._super": 120, "Klass._next_link": 144, "Klass._vtable_len": 160,
		"InstanceKlass._constants": 232, "InstanceKlass._itable_len": 300, "InstanceKlass._nonstatic_oop_map_size": 296, "ObjArrayKlass._element_klass": 224,
		"ClassLoaderData._next": 112, "ClassLoaderData._klasses": 56, "CollectedHeap._reserved": 32, "CollectedHeap._is_gc_active": 48, "MemRegion._start": 0,
		"MemRegion._word_size": 8, "GenCollectedHeap._young_gen": 96, "GenCollectedHeap._old_gen": 104, "DefNewGeneration._eden_space": 0,
		"DefNewGeneration._from_space": 8, "DefNewGeneration._to_space": 16, "TenuredGeneration._the_space": 0, "Space._bottom": 8, "Space._end": 16,
		"ContiguousSpace._top": 24, "JVMFlag._name": 0, "JVMFlag._addr": 8, "Thread._tlab": 0, "ThreadLocalAllocBuffer._start": 0,
		"ThreadLocalAllocBuffer._top": 8, "ThreadLocalAllocBuffer._end": 16, "ThreadsList._length": 0, "ThreadsList._threads": 8,
	} {
		fields[name] = field{offset: off}
	}
	for i, name := range []string{"Universe._collectedHeap", "ClassLoaderDataGraph._head", "JVMFlag.flags", "JVMFlag.numFlags", "java_lang_Class._oop_size_offset",
		"java_lang_Class._static_oop_field_count_offset", "ThreadsSMRSupport._java_thread_list"} {
		fields[name] = field{address: madeStatics + 8*uint64(i), static: true}
	}
	vm := &VM{memory: memory{procmem.Of(m.recorded)}, spend: m.spend, tables: &tables{fields: fields, sizes: map[string]uint64{"InstanceKlass": 464, "JVMFlag": 16}}}
	vm.layout.klassName, vm.layout.holder, vm.layout.symbolBody = 24, 8, 8
	vm.objects.ready = true
	return vm.findObjectHeap(procmem.Of(m.recorded))
}

// blocks are the objects of a heap, and what is wrong with it.
func (m *made) blocks(t *testing.T) (used, free []string, h *javaHeap) {
	t.Helper()
	h, err := m.find()
	if err != nil {
		t.Fatal(err)
	}
	h.Blocks(func(b heap.Block) bool {
		if b.Free {
			free = append(free, fmt.Sprintf("%s %#x+%d", b.List, b.Start-madeObjects, b.Size))
			return true
		}
		if b.Own {
			return true
		}
		c, _ := h.classAt(b.Start, 0, nil)
		used = append(used, fmt.Sprintf("%s %#x+%d", c.name, b.Start-madeObjects, b.Size))
		return true
	})
	return used, free, h
}

func same(t *testing.T, what string, got, want []string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("%s: %q, want %q", what, got, want)
	}
}

// TestHeapWalk: objects lie one behind the other; at the end of what a thread has for itself there are none.
func TestHeapWalk(t *testing.T) {
	m := makeHeap()
	node := m.object(madeNode, 4, 0x1234)
	array := m.object(madeArray, 6)
	m.put32(array+16, 3)
	m.put(array+24, node)
	m.put(array+40, array)
	m.object(madeUnlisted, 2)
	tlab := m.next
	own := m.object(madeObject, 2)
	top := m.next
	m.next += 128 // what was there before, or nothing
	mirror := m.object(madeClass, 8, node, 8|2<<32)
	m.put(mirror+24, 8|2<<32) // its size, and the number of references
	m.put(mirror+40, own)
	m.put(mirror+48, node)
	m.put(mirror+56, 0x7777) // a number
	m.top(m.next)
	m.tlab(tlab, top, top+128)
	used, free, h := m.blocks(t)
	same(t, "objects", used, []string{"Node 0x0+32", "Node[] 0x20+48", "Unlisted, class not loaded 0x50+16", "java.lang.Object 0x60+16", "java.lang.Class 0xf0+64"})
	same(t, "free", free, []string{"TLAB 0x70+128", "eden 0x130+7888", "old generation 0x2000+4096"})
	if d := h.Damages(); len(d) != 0 {
		t.Errorf("%+v", d)
	}
	for at, want := range map[uint64]uint64{node: node, node + 31: node, array + 8: array, own + 15: own, mirror + 63: mirror} {
		if b, ok := h.BlockAt(at); !ok || b.Start != want || b.Free {
			t.Errorf("at %#x: %+v, %v", at, b, ok)
		}
	}
	if b, ok := h.BlockAt(top + 5); !ok || !b.Free || b.List != "TLAB" {
		t.Errorf("in the end: %+v, %v", b, ok)
	}
	if _, ok := h.BlockAt(madeOld + page); ok {
		t.Error("a block past the heap")
	}
	for at, want := range map[uint64][]graph.Ref{
		node:   {{Off: 16, To: 0x1234}},
		array:  {{Off: 24, To: node}, {Off: 40, To: array}},
		mirror: {{Off: 16, To: node}, {Off: 40, To: own}, {Off: 48, To: node}},
		own:    nil,
	} {
		b, _ := h.BlockAt(at)
		whole := h.mem.Bytes(at, int(b.Size))
		if got := h.References(at, 0, whole, nil); !slices.Equal(got, want) {
			t.Errorf("references of %#x: %+v, want %+v", at, got, want)
		}
		var parts []graph.Ref
		for off := uint64(0); off < b.Size; off += 8 {
			parts = h.References(at, off, whole[off:off+8], parts)
		}
		if !slices.Equal(parts, want) {
			t.Errorf("references of %#x in parts: %+v, want %+v", at, parts, want)
		}
	}
}

// TestHeapDamage: what is no object is left out, with a reason, and what comes behind it is found.
func TestHeapDamage(t *testing.T) {
	for what, damage := range map[string]func(m *made, at uint64){
		"no class":                           func(m *made, at uint64) { m.put(at+8, 0) },
		"a class that is none":               func(m *made, at uint64) { m.put(at+8, madeFlags) },
		"a class with constants of another":  func(m *made, at uint64) { m.put(at+8, classNumber(madeStranger)) },
		"an array with less than nothing":    func(m *made, at uint64) { m.put(at+8, classNumber(madeInts)); m.put(at+16, 1<<31) },
		"an array past the end":              func(m *made, at uint64) { m.put(at+8, classNumber(madeInts)); m.put(at+16, page) },
		"a class's object of no size":        func(m *made, at uint64) { m.put(at+8, classNumber(madeClass)); m.put(at+24, 0) },
		"a class's object of one word":       func(m *made, at uint64) { m.put(at+8, classNumber(madeClass)); m.put(at+24, 1) },
		"a class's object larger than there": func(m *made, at uint64) { m.put(at+8, classNumber(madeClass)); m.put(at+24, 1<<29) },
	} {
		m := makeHeap()
		m.object(madeObject, 2)
		bad := m.object(madeNode, 4)
		for range 9 {
			m.object(madeNode, 4)
		}
		m.top(m.next)
		damage(m, bad)
		used, _, h := m.blocks(t)
		if d := h.Damages(); len(used) != 10 || len(d) != 1 || d[0].At != bad || d[0].Size != 32 {
			t.Errorf("%s: %q, %+v", what, used, d)
		}
	}
	// What a thread was making when the process died ends where its others would begin.
	m := makeHeap()
	m.object(madeObject, 2)
	bad := m.object(madeNode, 4)
	top := m.next
	m.put(bad+8, 0)
	m.next += 64
	last := m.object(madeObject, 2)
	m.top(m.next)
	m.tlab(madeObjects, top, last)
	used, _, h := m.blocks(t)
	if d := h.Damages(); len(used) != 2 || len(d) != 1 || d[0].Size != 32 {
		t.Errorf("half an object: %q, %+v", used, d)
	}
	// Memory that a thread took for an object and did not write to yet. Of more such places than threads one is damage.
	for places := 1; places <= 2; places++ {
		m = makeHeap()
		for range places {
			m.object(madeNode, 4)
			bad := m.object(madeNode, 4)
			m.put(bad, 0)
			m.put(bad+8, 0)
			for range 9 {
				m.object(madeNode, 4)
			}
		}
		m.top(m.next)
		used, _, h := m.blocks(t)
		if d := h.Damages(); len(used) != 10*places || len(d) != places-1 {
			t.Errorf("%d objects to be written: %d, %+v", places, len(used), d)
		}
	}
	// Memory that the dump lacks.
	m = makeHeap()
	for m.next < madeOld {
		m.object(madeNode, 4)
	}
	m.top(m.next)
	delete(m.Pages, madeObjects+page)
	used, _, h = m.blocks(t)
	if d := h.Damages(); len(used) != page/32 || len(d) != 1 || d[0].At != madeObjects+page || !strings.Contains(d[0].Why, "not in the dump") {
		t.Errorf("absent: %d, %+v", len(used), d)
	}
}

// TestHeapBudget: a walk ends when no more may be spent.
func TestHeapBudget(t *testing.T) {
	m := makeHeap()
	for m.next < madeOld {
		m.object(madeObject, 2)
	}
	m.top(m.next)
	left := 1 << 20
	m.spend = func(n int) error {
		if left -= n; left < 0 {
			return errors.New("over")
		}
		return nil
	}
	h, err := m.find()
	if err != nil {
		t.Fatal(err)
	}
	left = 200
	n := 0
	h.Blocks(func(b heap.Block) bool {
		if !b.Free {
			n++
		}
		return true
	})
	if d := h.Damages(); n > 200 || len(d) != 1 || !strings.Contains(d[0].Why, "more objects than may be looked at") {
		t.Errorf("%d objects, %+v", n, d)
	}
}

// TestHeapUnknown: a heap that cannot be trusted is not read, and why is told.
func TestHeapUnknown(t *testing.T) {
	for what, c := range map[string]struct {
		damage func(m *made)
		want   string
	}{
		"a collection":             {func(m *made) { m.put(madeHeap+48, 1) }, "the garbage collector was at work"},
		"another collector":        {func(m *made) { m.put(madeStatics+0x208, 1) }, "ZGC is not known"},
		"no collector":             {func(m *made) { m.put(madeStatics+0x200, 0) }, "the collector is not known"},
		"no heap":                  {func(m *made) { m.put(madeStatics, 0) }, "no heap"},
		"nothing reserved":         {func(m *made) { m.put(madeHeap+40, 0) }, "where the heap is"},
		"eden ends before its top": {func(m *made) { m.top(madeOld + 8) }, "its eden space"},
		"eden outside of the heap": {func(m *made) { m.put(madeHeap+0x200+8, madeObjects-8) }, "its eden space"},
		"old outside of the heap":  {func(m *made) { m.put(madeHeap+0x300+16, madeOld+2*page) }, "its old generation space"},
		"no classes":               {func(m *made) { m.put(madeLoader+56, 0) }, "no classes"},
		"a class's size, unknown":  {func(m *made) { m.put(madeStatics+8*4, 0) }, "java_lang_Class._oop_size_offset"},
		"a class's size, far away": {func(m *made) { m.put(madeStatics+8*4, 1<<20) }, "java_lang_Class._oop_size_offset"},
	} {
		m := makeHeap()
		m.top(madeObjects)
		c.damage(m)
		if h, err := m.find(); h != nil || err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, %v", what, h != nil, err)
		}
	}
}

// TestHeapClassGuards: classes that lead round in circles, or say what cannot be, have no objects.
func TestHeapClassGuards(t *testing.T) {
	m := makeHeap()
	m.top(madeObjects)
	m.put(classNumber(madeObject)+144, classNumber(madeNode)) // the list of classes has no end
	m.put(classNumber(madeNode)+464+24, 16|1000<<32)          // references past the object
	m.put(classNumber(madeArray)+8, 0x80_18_0c_02)            // references of 32 bits
	m.put(classNumber(madeInts)+8, 0xc0_08_0a_02)             // elements before the length
	m.put(classNumber(madeClass)+8, 1<<30)                    // too large
	spent := 0
	m.spend = func(n int) error { spent += n; return nil }
	h, err := m.find()
	if err != nil {
		t.Fatal(err)
	}
	if c := h.class(classNumber(madeNode)); c == nil || len(c.maps) != 0 {
		t.Errorf("%+v", c)
	}
	if spent > 1000 {
		t.Errorf("%d units for a circle of classes", spent)
	}
	for _, i := range []int{madeArray, madeInts, madeClass} {
		if c := h.class(classNumber(i)); c != nil {
			t.Errorf("class %d: %+v", i, c)
		}
	}
}

package v8

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/corewalk/corewalk/internal/heap"
	"github.com/corewalk/corewalk/internal/heap/graph"
	"github.com/corewalk/corewalk/internal/procmem"
	"github.com/corewalk/corewalk/libstate"
	"github.com/corewalk/corewalk/tasks"
	"github.com/corewalk/corewalk/unwind"
)

// Where a made heap has what: pages of V8's, and what is around.
const (
	madeMaps  = 0x400000 // it is no Isolate's
	madeOld   = 0x440000
	madeNew   = 0x480000
	madeNext  = 0x4c0000 // the second of the new space
	madeFrom  = 0x500000
	madeLarge = 0x540000 // and the next 256 KiB
	madeEnd   = 0x5c0000
	madeHeap  = 0x601000
	madeSpace = 0x602000
	madeYoung = 0x603000
	madeVars  = 0x604000 // V8's own variables
	madeHead  = 0x100    // bytes of a page before its objects
)

// Types of a made heap, and its maps by their numbers.
const (
	madeMeta = 200 + iota
	madeArray
	madeBytes
	madeFree
	madeFiller
	madeList
	madeProps
	madeEntries
	madeOther // an array of which nothing is known
	madeCode
	madeStream
	madeScope
	madeContext
	madeObject // those of the program
	madeRef
	madeWeak
	madeGlobal
	madeCell
	madeBuffer
)

const madeString = stringOneByte

type made struct {
	*recorded
	vars  uint64
	maps  map[int]uint64 // the word that leads to the map of a type
	next  uint64
	spend func(int) error
}

func (m *made) Mappings() []libstate.Mapping {
	all := libstate.Read | libstate.Write
	return []libstate.Mapping{{Start: madeMaps, End: madeEnd, Perm: all}, {Start: madeHeap, End: madeVars, Perm: all}}
}

func (m *made) put(at uint64, words ...uint64) {
	for i, v := range words {
		at := at + 8*uint64(i)
		if m.Pages[at&^(page-1)] == nil {
			m.Pages[at&^(page-1)] = make([]byte, page)
		}
		littleEndian.PutUint64(m.Pages[at&^(page-1)][at%page:], v)
	}
}

// variable makes a variable of V8's.
func (m *made) variable(name string, v uint64) {
	m.Symbols["v8dbg_"+name] = unwind.Symbol{Name: "v8dbg_" + name, Addr: m.vars}
	m.put(m.vars, v)
	m.vars += 8
}

// mapOf makes the map of a type, whose objects have so many bytes: 0 if that varies.
func (m *made) mapOf(typ int, size uint64) {
	at := madeMaps + madeHead + uint64(len(m.maps))*80
	m.put(at, madeMaps+madeHead+1, size/8|uint64(typ)<<32)
	m.maps[typ] = at + 1
	m.put(at+80, 0) // nothing is behind the last
}

// object makes an object behind the last.
func (m *made) object(typ int, words ...uint64) (at uint64) {
	at = m.next
	m.put(at, m.maps[typ])
	m.put(at+8, words...)
	m.next += 8 + 8*uint64(len(words))
	return at
}

func madeNumber(n int) uint64 { return uint64(n) << 32 }

// header makes the header of a page.
func (m *made) header(at, size, flags, owner, space uint64) {
	m.put(at, size, flags, owner, at+madeHead, at+size, 0, 0, 0, space)
	m.next = at + madeHead
}

func makeHeap() *made {
	m := &made{recorded: &recorded{recording: &recording{Pages: map[uint64][]byte{}, Symbols: map[string]unwind.Symbol{}}},
		vars: madeVars, maps: map[int]uint64{}, spend: func(int) error { return nil }}
	for at := uint64(madeMaps); at < madeEnd; at += page {
		m.Pages[at] = make([]byte, page)
	}
	for name, v := range map[string]uint64{
		"type_FixedArray__FIXED_ARRAY_TYPE": madeArray, "type_ByteArray__BYTE_ARRAY_TYPE": madeBytes, "type_FreeSpace__FREE_SPACE_TYPE": madeFree,
		"type_WeakArrayList__WEAK_ARRAY_LIST_TYPE": madeList, "type_PropertyArray__PROPERTY_ARRAY_TYPE": madeProps,
		"type_DescriptorArray__DESCRIPTOR_ARRAY_TYPE": madeEntries, "type_ScopeInfo__SCOPE_INFO_TYPE": madeScope, "type_JSWeakRef__JS_WEAK_REF_TYPE": madeRef,
		"type_JSWeakMap__JS_WEAK_MAP_TYPE": madeWeak, "type_JSGlobalObject__JS_GLOBAL_OBJECT_TYPE": madeGlobal, "type_PropertyCell__PROPERTY_CELL_TYPE": madeCell,
		"type_JSArrayBuffer__JS_ARRAY_BUFFER_TYPE": madeBuffer, "class_JSArrayBuffer__backing_store__uintptr_t": 40,
	} {
		m.variable(name, v)
	}
	m.header(madeMaps, regularPage, 0, 0, 0)
	for _, x := range [][2]int{{madeMeta, 80}, {madeArray, 0}, {madeBytes, 0}, {madeFree, 0}, {madeFiller, 8}, {madeList, 0}, {madeProps, 0}, {madeEntries, 0}, {madeOther, 0},
		{madeStream, 0}, {madeScope, 0}, {madeContext, 0}, {madeObject, 32}, {madeRef, 32}, {madeWeak, 32}, {madeString, 0}, {madeCode, 64}, {madeBuffer, 56}} {
		m.mapOf(x[0], uint64(x[1]))
	}
	m.put(madeSpace, 1, madeHeap)
	m.put(madeYoung, 1, madeHeap, 0, 0, 0, madeNew, madeNext, 0, 0, 0, madeNew)
	m.header(madeNew, regularPage, flagTo, madeHeap, madeYoung)
	m.header(madeNext, regularPage, flagTo, madeHeap, madeYoung)
	m.header(madeFrom, regularPage, flagFrom, madeHeap, madeYoung)
	for i, x := range [][2]uint64{{madeNext, 0}, {0, madeNew}} { // links of the list
		m.put(madeNew+uint64(i)*pageAlign+0x80, x[0], x[1])
	}
	m.header(madeLarge, 2*pageAlign, 0, madeHeap, madeSpace)
	m.header(madeOld, regularPage, 0, madeHeap, madeSpace)
	return m
}

func (m *made) find() (*jsHeap, error) {
	l := &layout{mapType: 12, mapField3: 16, mapDescriptors: 40, mapConstructor: 32, bytecodeData: 56, header: 16, codeStart: 40, codeSize: 48, bigIntType: 129}
	l.types.meta, l.types.code, l.types.stream = madeMeta, madeCode, madeStream
	l.types.firstContext, l.types.lastContext, l.types.firstObject = madeContext, madeContext, madeObject
	l.types.firstFunction, l.types.bytecode, l.types.symbol = 1000, 1001, 130
	p := &tasks.Process{State: m, Symbols: m}
	e := &engine{layout: l, p: p, version: "11.3.1", lib: &libstate.Library{}}
	e.Reader = procmem.Of(m).Charged(m.spend)
	p.Budget = madeBudget{m}
	return e.findHeap(m)
}

// madeBudget is that of a made heap.
type madeBudget struct{ m *made }

func (b madeBudget) Spend(n int) error { return b.m.spend(n) }

// blocks are the objects of a heap but for maps and what fills pages.
func (m *made) blocks(t *testing.T) (used, free []string, h *jsHeap) {
	t.Helper()
	h, err := m.find()
	if err != nil {
		t.Fatal(err)
	}
	h.Blocks(func(b heap.Block) bool {
		switch typ := uint16(0); {
		case b.Start < madeOld:
		case b.Free:
			free = append(free, fmt.Sprintf("%s %#x+%#x", b.List, b.Start-madeMaps, b.Size))
		default:
			typ = h.jsMapAt(b.Start).typ
			used = append(used, fmt.Sprintf("%d %#x+%d", typ, b.Start-madeMaps, b.Size))
		}
		return true
	})
	return used, free, h
}

// TestHeapWalk: objects lie one behind the other, in the pages that are in use; where new ones are made there are none.
func TestHeapWalk(t *testing.T) {
	m := makeHeap()
	m.object(madeArray, madeNumber(2), 0, 0)
	m.object(madeBytes, madeNumber(5), 0)
	m.object(madeFree, madeNumber(32), 7, 7)
	m.object(madeList, madeNumber(2), madeNumber(1), 0, 0)
	m.object(madeProps, madeNumber(1|3<<10), 0)
	m.object(madeEntries, 1|1<<16, 0, 0, 0, 0)
	m.object(madeOther, madeNumber(1), 0, 0) // with one more word than is counted
	m.object(madeScope, madeNumber(1), madeNumber(2), 0)
	m.object(madeContext, madeNumber(2), 0, 0)
	m.object(madeString, 5<<32, 0x6f6c6c6568)
	m.object(madeFiller)
	m.object(madeObject, 0, 0, 0)
	top := m.next
	m.object(madeObject, 0, 0, 0) // what was there before
	limit := m.next
	m.object(madeObject, 0, 0, 0)
	m.put(madeHeap+0x100, madeOld+madeHead, top, limit)
	m.next = madeNew + madeHead
	m.object(madeObject, 0, 0, 0)
	m.put(madeHeap+0x140, madeNew+madeHead, m.next, m.next+64)
	m.object(madeObject, 0, 0, 0)
	m.next = madeNext + madeHead // not used yet
	m.object(madeObject, 0, 0, 0)
	m.next = madeFrom + madeHead
	m.object(madeObject, 0, 0, 0)
	m.next = madeLarge + madeHead
	m.object(madeArray, madeNumber(maxRegular/8))
	used, free, h := m.blocks(t)
	same(t, "objects", used, []string{"201 0x40100+32", "202 0x40120+24", "205 0x40158+40", "206 0x40180+24", "207 0x40198+48", "208 0x401c8+32", "211 0x401e8+32", "212 0x40208+32",
		"8 0x40228+24", "213 0x40248+32", "213 0x40288+32", "213 0x80100+32", "201 0x140100+131088"})
	same(t, "free", free, []string{"free list 0x40138+0x20", "free list 0x40240+0x8", "allocation area 0x40268+0x20", "free list 0x402a8+0x3fd58", "allocation area 0x80120+0x3fee0",
		"semispace 0xc0100+0x3ff00", "semispace 0x100100+0x3ff00"})
	if d := h.Damages(); len(d) != 0 {
		t.Errorf("%+v", d)
	}
	if b, ok := h.BlockAt(madeOld + madeHead + 40); !ok || b.Start != madeOld+madeHead+32 || b.Free {
		t.Errorf("%+v, %v", b, ok)
	}
	if b, ok := h.BlockAt(top + 8); !ok || !b.Free || b.List != "allocation area" {
		t.Errorf("%+v, %v", b, ok)
	}
}

func same(t *testing.T, what string, got, want []string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("%s:\n%q, want\n%q", what, got, want)
	}
}

// TestHeapReferences: weak references keep nothing; what a weak map has for an object, that object keeps.
func TestHeapReferences(t *testing.T) {
	m := makeHeap()
	target := m.object(madeObject, 0, 0, 0)
	key := m.object(madeObject, 0, 0, 0)
	weakly := m.object(madeRef, 0, 0, target+1)
	table := m.object(madeArray, madeNumber(5), madeNumber(1), 0, madeNumber(1), key+1, target+1)
	m.object(madeWeak, 0, 0, table+1)
	text := m.object(madeString, 8<<32, target+1)
	list := m.object(madeArray, madeNumber(3), target+1, target+3, target)
	data := m.object(madeBuffer, 0, 0, 0, 0, 0x777000)
	_, _, h := m.blocks(t)
	mapped := func(typ int) graph.Ref { return graph.Ref{To: m.maps[typ]} }
	for at, want := range map[uint64][]graph.Ref{
		weakly: {mapped(madeRef)}, text: {mapped(madeString)}, table: {mapped(madeArray)}, list: {mapped(madeArray), {Off: 16, To: target + 1}},
		key: {mapped(madeObject), {Off: throughWeakMap, To: target + 1}},
	} {
		b, _ := h.BlockAt(at)
		if got := h.References(at, 0, h.mem.Bytes(at, int(b.Size)), nil); !slices.Equal(got, want) {
			t.Errorf("references of %#x: %+v, want %+v", at, got, want)
		}
	}
	j := &JavaScript{}
	j.objects.Find = func() (*jsHeap, error) { return h, nil }
	if o, ok := j.ObjectIn(data, 56, h.mem.Bytes(data, 56)); !ok || len(o.Owns) != 1 || o.Owns[0].At != 0x777000 {
		t.Errorf("a buffer: %+v, %v", o, ok)
	}
	if o, ok := j.ObjectIn(0x10000, 56, h.mem.Bytes(data, 56)); ok {
		t.Errorf("outside of the heap: %+v", o)
	}
}

// TestHeapDamage: what is no object is left out, with a reason, and what comes behind it is found.
func TestHeapDamage(t *testing.T) {
	for what, c := range map[string]struct {
		damage func(m *made, at uint64)
		want   string
	}{
		"no map":             {func(m *made, at uint64) { m.put(at, 0x1234) }, "leads to no map"},
		"a map that is none": {func(m *made, at uint64) { m.put(at, madeOld+madeHead+1) }, "leads to no map"},
		"a map that is not aligned": {func(m *made, at uint64) {
			const half = madeFrom + 0x8000 // what is there from the middle of a word on looks like one
			m.put(half, (madeMaps+madeHead+1)<<32, 4<<32, madeObject)
			m.put(at, half+4+1)
		}, "leads to no map"},
		"an array past the page":      {func(m *made, at uint64) { m.put(at, m.maps[madeArray], madeNumber(1<<30)) }, "past the end"},
		"an array of less than none":  {func(m *made, at uint64) { m.put(at, m.maps[madeArray], madeNumber(-1)) }, "has a length of"},
		"an array whose length is no": {func(m *made, at uint64) { m.put(at, m.maps[madeArray], 7) }, "has a length of"},
		"a string past the page":      {func(m *made, at uint64) { m.put(at, m.maps[madeString], 0xffffffff<<32) }, "past the end"},
		"free memory of no size":      {func(m *made, at uint64) { m.put(at, m.maps[madeFree], 0) }, "with 0 bytes"},
		"free memory past the page":   {func(m *made, at uint64) { m.put(at, m.maps[madeFree], madeNumber(1<<24)) }, "past the end"},
		"an object that was moved":    {func(m *made, at uint64) { m.put(at, madeNew+madeHead) }, "the garbage collector was at work"},
		"code that says it is endless": {func(m *made, at uint64) {
			m.put(at-64, m.maps[madeCode], 0, 0, 0, 0, at+16, 1<<31)
			m.put(at, m.maps[madeStream], at-64+1)
		}, "code has"},
	} {
		m := makeHeap()
		m.object(madeCode, 0, 0, 0, 0, 0, 0, 0)
		bad := m.object(madeObject, 0, 0, 0)
		for range 9 {
			m.object(madeObject, 0, 0, 0)
		}
		c.damage(m, bad)
		used, _, h := m.blocks(t)
		if d := h.Damages(); len(used) != 10 || len(d) != 1 || d[0].At != bad || d[0].Size != 32 || !strings.Contains(d[0].Why, c.want) {
			t.Errorf("%s: %q, %+v", what, used, d)
		}
	}
	m := makeHeap() // memory that the dump lacks
	for m.next < madeOld+3*page {
		m.object(madeObject, 0, 0, 0)
	}
	delete(m.Pages, madeOld+page)
	_, _, h := m.blocks(t)
	if d := h.Damages(); len(d) != 1 || d[0].At != madeOld+page || !strings.Contains(d[0].Why, "not in the dump") {
		t.Errorf("absent: %+v", d)
	}
}

// TestHeapPageGuards: what is no page has no objects.
func TestHeapPageGuards(t *testing.T) {
	for what, damage := range map[string]func(m *made){
		"a size that is no multiple":    func(m *made) { m.put(madeOld, regularPage+8) },
		"no size":                       func(m *made) { m.put(madeOld, 0) },
		"an absurd size":                func(m *made) { m.put(madeOld, maxPageSize+page) },
		"absurd flags":                  func(m *made) { m.put(madeOld+8, 1<<32) },
		"objects begin in another page": func(m *made) { m.put(madeOld+24, madeNew+madeHead) },
		"objects begin far behind":      func(m *made) { m.put(madeOld+24, madeOld+maxPageHead+8) },
		"objects begin between words":   func(m *made) { m.put(madeOld+24, madeOld+madeHead+4) },
		"objects end before they begin": func(m *made) { m.put(madeOld+32, madeOld+madeHead) },
		"objects end past the page":     func(m *made) { m.put(madeOld+32, madeNew+8) },
		"a space of another heap":       func(m *made) { m.put(madeOld+64, madeHeap) },
		"no space":                      func(m *made) { m.put(madeOld+64, 0) },
		"no heap, no map":               func(m *made) { m.put(madeOld+16, 0); m.put(madeOld+64, 0); m.put(madeOld+madeHead, 0) },
	} {
		m := makeHeap()
		for range 10 {
			m.object(madeObject, 0, 0, 0)
		}
		m.next = madeNew + madeHead
		m.object(madeObject, 0, 0, 0)
		damage(m)
		if used, _, h := m.blocks(t); len(used) != 1 || len(h.pages) != 5 {
			t.Errorf("%s: %d pages, %q", what, len(h.pages), used)
		}
	}
	m := makeHeap() // the list of new pages goes round in a circle: none is left out
	m.put(madeNext+0x80, madeNew)
	m.put(madeNew+0x88, madeNext)
	m.next = madeNext + madeHead
	m.object(madeObject, 0, 0, 0)
	if used, _, _ := m.blocks(t); len(used) != 1 {
		t.Errorf("a circle of pages: %q", used)
	}
	m = makeHeap() // what leads from page to page, but not back, is not the list
	m.put(madeNew+0x60, madeNext)
	m.put(madeNext+0x60, madeFrom)
	for _, at := range []uint64{madeNew, madeFrom, madeNext} {
		m.header(at, regularPage, flagTo, madeHeap, madeYoung)
		m.object(madeObject, 0, 0, 0)
	}
	m.put(madeNew+0x80, madeFrom, 0)
	m.put(madeFrom+0x80, madeNext, madeNew)
	m.put(madeNext+0x80, 0, madeFrom)
	m.put(madeYoung+80, madeFrom)
	if used, _, _ := m.blocks(t); len(used) != 2 || !strings.Contains(used[1], "0x100100") {
		t.Errorf("another list: %q", used)
	}
	m = makeHeap() // an area that no objects lead to hides none
	m.object(madeObject, 0, 0, 0)
	m.object(madeObject, 0, 0, 0)
	m.put(madeHeap+0x100, madeOld+madeHead, madeOld+madeHead+8, madeOld+madeHead+64)
	if used, _, _ := m.blocks(t); len(used) != 2 {
		t.Errorf("an area within an object: %q", used)
	}
}

// TestHeapUnknown: without pages, or without a variable that is needed, there is no heap, and why is told.
func TestHeapUnknown(t *testing.T) {
	m := makeHeap()
	for at := uint64(madeMaps); at < madeEnd; at += pageAlign {
		m.put(at, 0)
	}
	if h, err := m.find(); h != nil || err == nil || !strings.Contains(err.Error(), "no page") {
		t.Errorf("no pages: %v", err)
	}
	m = makeHeap()
	delete(m.Symbols, "v8dbg_type_PropertyCell__PROPERTY_CELL_TYPE")
	if h, err := m.find(); h != nil || err == nil || !strings.Contains(err.Error(), "v8dbg_type_PropertyCell__PROPERTY_CELL_TYPE is not among its symbols") {
		t.Errorf("no variable: %v", err)
	}
}

// TestHeapBudget: a walk ends when no more may be spent.
func TestHeapBudget(t *testing.T) {
	m := makeHeap()
	for m.next < madeOld+regularPage {
		m.object(madeObject, 0, 0, 0)
	}
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
	left = 300
	n := 0
	h.Blocks(func(b heap.Block) bool {
		if !b.Free {
			n++
		}
		return true
	})
	if d := h.Damages(); n > 300 || len(d) == 0 || !strings.Contains(d[0].Why, "more objects than may be looked at") {
		t.Errorf("%d objects, %+v", n, d)
	}
}

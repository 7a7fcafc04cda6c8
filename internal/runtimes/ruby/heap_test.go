package ruby

import (
	"cmp"
	"fmt"
	"slices"
	"testing"

	"github.com/corewalk/corewalk/internal/heap"
)

// Where the small process has its objects, of 40 bytes each.
const (
	atSpace, atPages, atPage, atSlots = 0x80000, 0x84000, 0x82000, 0x83000
	slot                              = 40
	atTableOfGlobals                  = 0x86000
)

// withObjects is the small process with a page of objects.
func withObjects(change func(r *runtime, m fake)) (*runtime, *objectHeap) {
	r, m := small()
	r.objects.Find = r.findHeap
	m.Words[atVM+r.at("vm.space")] = atSpace
	m.Zero(atSpace, 0x600)
	m.Words[atSpace+r.at("space.pages")], m.Words[atSpace+r.at("space.count")] = atPages, 1
	m.Words[atPages] = atPage
	m.Zero(atPage, 0x40)
	m.Words[atPage] = slot | 16<<16
	m.Words[atPage+r.at("page.start")] = atSlots
	m.Zero(atSlots, 16*slot)
	put := func(i, flags uint64, fields ...uint64) {
		m.object(atSlots+i*slot, flags, atOwner, slot)
		for k, v := range fields {
			m.Words[atSlots+i*slot+16+8*uint64(k)] = v
		}
	}
	put(0, typeObject, 3, 0x90000)                                  // variables of its own
	put(1, typeObject|flagHere, 1, 2, 3)                            // in itself
	put(2, typeString|flagHere, 5, 0x90008)                         // text of its own
	put(3, typeString|flagHere|1<<(flagUser+2), 5, 0x90008)         // another's
	put(4, typeArray, 9, 9, 0x90010)                                // elements of its own
	put(5, typeArray|flagHere, 1, 2, 3)                             // in itself
	put(6, typeHash|1<<(flagUser+3), 0x87000)                       // a table
	put(7, typeHash, 0x90020)                                       // a small one
	put(8, typeInternal|internalCode<<flagUser)                     //
	put(9, typeInternal|15<<flagUser)                               // of a type that is not known
	put(10, typeIncluded)                                           //
	put(11, typeStruct, 9, 0x90028)                                 // members of its own
	put(12, typeBignum, 9, 0x90030)                                 // digits of its own
	put(13, typeData, 0, 0, 0x90038)                                // data of C
	m.object(atSlots+14*slot, typeObject|flagHere, atSymbols, slot) // its class is none
	m.Zero(0x87000, 0x40)
	m.Words[0x87000+r.at("st.list")], m.Words[0x87000+r.at("st.bins")] = 0x87100, 0x87200
	if change != nil {
		change(r, m)
	}
	return r, r.objects.Known()
}

// in is what the heap has at an address.
func in(r *runtime, at, size uint64) string {
	b := make([]byte, size)
	r.Memory.ReadMem(at, b)
	o, ok := r.ObjectIn(at, size, b)
	if !ok {
		return ""
	}
	s := cmp.Or(o.Type, "something")
	for _, p := range o.Owns {
		s += fmt.Sprintf(" %#x %s", p.At, p.What)
	}
	if o.Links != 0 {
		s += fmt.Sprint(" without words ", o.Links)
	}
	return s
}

// TestObjectIn: each object is of its class, and has what belongs to it.
func TestObjectIn(t *testing.T) {
	r, h := withObjects(nil)
	if h == nil || r.Unknown() != "" || h.Name() == "" || h.Records() != nil || h.Damages() != nil {
		t.Fatalf("%+v, %s", h, r.Unknown())
	}
	for i, want := range []string{"Shop 0x90000 object's variables without words 2", "Shop without words 2", "Shop 0x90008 String's text without words 2", "Shop 0x90008 String's text without words 2",
		"Shop 0x90010 Array's elements without words 2", "Shop without words 2", "Shop 0x87000 Hash's table 0x87100 Hash's table 0x87200 Hash's table without words 2",
		"Shop 0x90020 Hash's table without words 2", "Ruby's instruction sequence", "Ruby's internal object", "included module", "Shop 0x90028 Struct's members without words 2",
		"Shop 0x90030 Integer's digits without words 2", "Shop 0x90038 data of C without words 2", "", ""} {
		at := atSlots + uint64(i)*slot
		if got := in(r, at, slot); got != want {
			t.Errorf("%d: %q, want %q", i, got, want)
		}
		b, ok := h.BlockAt(at + 7)
		if !ok || b.Start != at || b.Size != slot || b.Free != (i == 15) {
			t.Errorf("%d: block %+v, %t", i, b, ok)
		}
	}
	for what, got := range map[string]string{"between objects": in(r, atSlots+8, slot), "of another size": in(r, atSlots, slot+8), "past them": in(r, atSlots+16*slot, slot),
		"of which the dump has nothing": func() string { o, _ := r.ObjectIn(atSlots, slot, nil); return o.Type }()} {
		if got != "" {
			t.Errorf("%s: %s", what, got)
		}
	}
	if h.holds(atSlots+8) || h.holds(atSlots+15*slot) || !h.holds(atSlots) || (*objectHeap)(nil).holds(atSlots) {
		t.Error("holds is wrong")
	}
	n, free := 0, 0
	for b := range h.Blocks {
		if n++; b.Free {
			free++
		}
	}
	if n != 16 || free != 1 || !slices.Equal(h.Ranges(), [][2]uint64{{atSlots, atSlots + 16*slot}}) {
		t.Errorf("%d blocks, %d free, %x", n, free, h.Ranges())
	}
	if _, ok := h.BlockAt(atSlots + 16*slot); ok {
		t.Error("a block past the page")
	}
	for range h.Blocks {
		break
	}
}

// TestObjectInChanged: what an object has changes with its flags, and what contradicts itself is none.
func TestObjectInChanged(t *testing.T) {
	set := func(i, word, v uint64) func(*runtime, fake) {
		return func(_ *runtime, m fake) { m.Words[atSlots+i*slot+8*word] = v }
	}
	for what, c := range map[string]struct {
		i      uint64
		change func(*runtime, fake)
		want   string
	}{
		"of no class":                   {0, set(0, 1, atSlots+5*slot), ""},
		"of a class without a name":     {0, func(_ *runtime, m fake) { m.Words[atEntries] = 1<<64 - 1 }, "object of a class without a name 0x90000 object's variables without words 2"},
		"another object for variables":  {0, set(0, 3, atSlots+5*slot+8), "Shop without words 2"},
		"no variables":                  {0, set(0, 3, 0), "Shop without words 2"},
		"a Struct in itself":            {11, set(11, 0, typeStruct|2<<(flagUser+1)), "Shop without words 2"},
		"a Struct longer than there is": {11, set(11, 2, maxLength+1), "Shop without words 2"},
		"an Array that is odd":          {4, set(4, 4, 0x90011), "Shop without words 2"},
		"digits in itself":              {12, set(12, 0, typeBignum|bignumHere), "Shop without words 2"},
		"a class": {1, func(_ *runtime, m fake) {
			m.object(atSlots+slot, typeClass, atOwner, slot)
			m.Words[atSlots+slot+24] = 0x90040
		}, "Shop 0x90040 class's own without words 2"},
		"a pattern": {1, func(_ *runtime, m fake) {
			m.object(atSlots+slot, typeRegexp, atOwner, slot)
			m.Words[atSlots+slot+16] = 0x90048
		}, "Shop 0x90048 Regexp's pattern without words 2"},
		"of a singleton class": {0, func(_ *runtime, m fake) {
			m.Words[atOwner] |= singletonClass
			m.Words[atOwner+16] = atOwner + 0x80
			m.object(atOwner+0x80, typeClass, 0, 0x30)
		}, "object of a class without a name 0x90000 object's variables"},
		"text in itself":                     {2, set(2, 0, typeString), "Shop without words 2"},
		"internal, just past those known":    {9, set(9, 0, typeInternal|uint64(len(internalTypes))<<flagUser), "Ruby's internal object"},
		"internal, the last that is known":   {9, set(9, 0, typeInternal|uint64(len(internalTypes)-1)<<flagUser), "Ruby's constant cache"},
		"a small Hash, of what looks larger": {7, func(r *runtime, m fake) { m.Zero(0x90020, 0x40); m.Words[0x90020+r.at("st.list")] = 0x90100 }, "Shop 0x90020 Hash's table without words 2"},
		"a module": {1, func(_ *runtime, m fake) {
			m.object(atSlots+slot, typeModule, atOwner, slot)
			m.Words[atSlots+slot+24] = 0x90040
		}, "Shop 0x90040 class's own without words 2"},
		"of the last type":         {0, set(0, 0, typeIncluded+2), "moved object"},
		"a Symbol":                 {1, set(1, 0, typeSymbol), "Shop without words 2"},
		"of no type that is known": {0, set(0, 0, typeMask), ""},
	} {
		r, _ := withObjects(c.change)
		if got := in(r, atSlots+c.i*slot, slot); got != c.want {
			t.Errorf("%s: %q, want %q", what, got, c.want)
		}
	}
	r, _ := withObjects(nil)
	b := make([]byte, slot)
	r.Memory.ReadMem(atSlots, b)
	for n := range 16 {
		if o, ok := r.ObjectIn(atSlots, slot, b[:n]); ok {
			t.Errorf("of %d bytes: %+v", n, o)
		}
	}
	// Since 3.3 data may be in the object: what is there is the program's.
	r33 := &runtime{names: names{memory: memory{Reader: r.Reader, layout: tableLayout(layoutsText, "3.3"), version: "3.3", p: r.p}}}
	m := fake(r.Reader.Memory.(fake))
	at := uint64(atSlots + 13*slot)
	m.Words[at+r33.at("data.flag")], m.Words[at+r33.at("data.data")] = 3, 0x90038
	if got := r33.contents(at); got != at+r33.at("data.data") {
		t.Errorf("in the object: %#x", got)
	}
	m.Words[at+r33.at("data.flag")] = 1
	if got := r33.contents(at); got != 0x90038 {
		t.Errorf("elsewhere: %#x", got)
	}
	at = atSlots + 11*slot
	m.Words[at], m.Words[at+16], m.Words[at+24] = typeStruct|4<<(flagUser+1), 7, 0x90028
	if from, n, ok := r33.structure(at); from != at+16 || n != 4 || !ok {
		t.Errorf("a Struct of four members: %d at %#x, %t", n, from, ok)
	}
}

// TestNoObjects: lists of pages that end early are said to; without pages there is no heap.
func TestNoObjects(t *testing.T) {
	if _, h := withObjects(func(_ *runtime, m fake) { m.Words[atPage] = slot }); h != nil {
		t.Errorf("of a page without objects: %+v", h)
	}
	if r, h := withObjects(func(_ *runtime, m fake) { m.Words[atPages] = 0 }); h != nil || in(r, atSlots, slot) != "" || r.Heap() != heap.Allocator(nil) {
		t.Errorf("without pages: %+v", h)
	}
	r, h := withObjects(func(r *runtime, m fake) {
		m.Words[atSpace+r.at("space.count")] = 4
		m.Words[atPages+8], m.Words[atPages+16], m.Words[atPages+24] = atPage+0x100, atPage, 0
		m.Zero(atPage+0x100, 0x40)
		m.Words[atPage+0x100] = slot | 2<<16
		m.Words[atPage+0x100+r.at("page.start")] = atSlots + 80 // in another
	})
	if r.Heap() == nil || len(h.Damages()) != 1 || len(h.pages) != 1 {
		t.Errorf("%v, %d pages", h.Damages(), len(h.pages))
	}
}

// TestNextPage: a page that begins where another ends is one, also with one object; what of it the dump does not have is not in use.
func TestNextPage(t *testing.T) {
	_, h := withObjects(func(r *runtime, m fake) {
		m.Words[atSpace+r.at("space.count")] = 2
		m.Words[atPages+8] = atPage + 0x100
		m.Zero(atPage+0x100, 0x40)
		m.Words[atPage+0x100] = slot | 1<<16
		m.Words[atPage+0x100+r.at("page.start")] = atSlots + 16*slot
	})
	if h == nil || len(h.pages) != 2 {
		t.Fatalf("%+v", h)
	}
	var last heap.Block
	for b := range h.Blocks {
		last = b
	}
	if last.Start != atSlots+16*slot || !last.Free {
		t.Errorf("%+v", last)
	}
}

// withGlobals has a table of n global variables, each with the object in a slot.
func withGlobals(r *runtime, m fake, n int) {
	r.class = atTableOfGlobals + 0x20
	m.Zero(atTableOfGlobals, 0x1000)
	m.Words[atTableOfGlobals+0x100] = 0x88000
	m.Zero(0x88000, 0x20)
	m.Put32(0x88000, 64)
	m.Put32(0x88004, uint32(n))
	m.Words[0x88010] = 0x89000
	m.Zero(0x89000, 64*itemSize)
	m.Put32(atSymbols, 1000)
	for i := range uint64(n) {
		id, item, record := 300+i, 0x89000+2*i*itemSize, 0x8a000+i*0x40
		m.string(0xa0000+i*0x80, fmt.Sprintf("$g%d", i))
		m.Words[atIDText+16*id] = 0xa0000 + i*0x80
		m.Put32(item, uint32(id))
		m.Words[item+itemValue] = record
		m.Zero(record, 0x40)
		m.Words[record], m.Words[record+recordName] = record+0x20, id<<4
		m.Words[record+0x20+variableData] = atSlots + i%4*slot
	}
}

// TestGlobals: the variables of the table have their names; what is not quite one is none.
func TestGlobals(t *testing.T) {
	names := func(n int, change func(r *runtime, m fake)) (list []string) {
		r, _ := withObjects(func(r *runtime, m fake) {
			withGlobals(r, m, n)
			if change != nil {
				change(r, m)
			}
		})
		r.globalVariables(func(name string, value uint64) bool {
			list = append(list, fmt.Sprintf("%s %#x", name, value))
			return len(list) < 22
		})
		return list
	}
	if got := names(25, nil); len(got) != 22 || got[1] != "$g1 0x83028" {
		t.Errorf("%q", got)
	}
	if got := names(21, func(_ *runtime, m fake) { m.Words[0x8a000+0x20+variableData] = 7 }); len(got) != 20 {
		t.Errorf("with a variable that has no object: %q", got)
	}
	for what, change := range map[string]func(r *runtime, m fake){
		"a name without $":       func(_ *runtime, m fake) { m.string(0xa0000, "xg0") },
		"a record that is odd":   func(_ *runtime, m fake) { m.Words[0x89000+itemValue]++ },
		"no power of two":        func(_ *runtime, m fake) { m.Put32(0x88000, 65) },
		"more than there may be": func(_ *runtime, m fake) { m.Put32(0x88000, 2*maxGlobals) },
		"more than fit":          func(_ *runtime, m fake) { m.Put32(0x88004, 65) },
		"too few":                func(_ *runtime, m fake) { m.Put32(0x88004, leastNames-1) },
		"fewer than it says":     func(_ *runtime, m fake) { m.Zero(0x89000, 8*itemSize) },
		"no table":               func(_ *runtime, m fake) { m.Words[atTableOfGlobals+0x100] = 0x99990 },
	} {
		if got := names(21, change); got != nil {
			t.Errorf("%s: %q", what, got)
		}
	}
}

// TestVariables: those of calls name what they have.
func TestVariables(t *testing.T) {
	r, _ := withObjects(func(_ *runtime, m fake) { m.Words[atEnvironment-24] = atSlots })
	var got []string
	r.Variables(func(name string, value uint64) bool {
		got = append(got, fmt.Sprintf("%s %#x", name, value))
		return true
	})
	if !slices.Equal(got, []string{"count of Shop#pay 0x83000"}) {
		t.Errorf("%q", got)
	}
}

// FuzzHeap changes words of objects, of what says where they are, and of the table of global variables.
func FuzzHeap(f *testing.F) {
	f.Add(uint32(0), uint64(typeString|flagHere), uint32(16), uint64(1)<<60)
	f.Add(uint32(slot), uint64(typeHash|1<<(flagUser+3)), uint32(slot+16), uint64(atSlots))
	f.Add(uint32(0x1000), uint64(40|0xffff<<16), uint32(0x2000), uint64(1)<<40)
	f.Fuzz(func(t *testing.T, first uint32, a uint64, second uint32, b uint64) {
		r, h := withObjects(func(r *runtime, m fake) {
			withGlobals(r, m, 21)
			for at, v := range map[uint64]uint64{atSlots + uint64(first): a, atSlots + uint64(second): b, atPage + uint64(first)%64: a, 0x88000 + uint64(second)%0x2800: b} {
				m.Words[at&^7] = v
			}
		})
		r.Variables(func(string, uint64) bool { return true })
		if h == nil {
			return
		}
		for x := range h.Blocks {
			b := make([]byte, min(x.Size, heap.ObjectBytes))
			n, _ := r.Memory.ReadMem(x.Start, b)
			r.ObjectIn(x.Start, x.Size, b[:n])
		}
		h.Ranges()
	})
}

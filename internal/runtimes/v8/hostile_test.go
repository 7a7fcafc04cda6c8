package v8

import (
	"encoding/binary"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/corewalk/corewalk/internal/budget"
	"github.com/corewalk/corewalk/internal/fixture"
	"github.com/corewalk/corewalk/libstate"
	"github.com/corewalk/corewalk/tasks"
)

// A forgery is a recording to which objects were added that lie.
type forgery struct {
	*recorded
	*engine
	next uint64
	maps map[uint16]uint64
}

const (
	forgedAt = 0x100000000000
	zerosAt  = 0x200000000000 // 64 MB of zeros, which are small integers
	zeros    = 64 << 20
)

// forge begins a forgery. Its analysis has the budget of a dump of its size.
func forge(tb testing.TB) *forgery {
	r := read(tb, "node24-variables.zst").changed(nil)
	r.lib = &libstate.Library{Path: "/usr/bin/node"}
	empty := make([]byte, page)
	for at := uint64(zerosAt); at < zerosAt+zeros; at += page {
		r.Pages[at] = empty
	}
	p := &tasks.Process{State: r, Symbols: r, Modules: []*libstate.Library{r.lib}, Budget: budget.New(1 << 20)}
	e := New(func() *tasks.Process { return p }).anywhere()
	if e == nil {
		tb.Fatal("no V8")
	}
	return &forgery{recorded: r, engine: e, next: forgedAt, maps: map[uint16]uint64{}}
}

// object adds an object of words; the first is its map.
func (f *forgery) object(words ...uint64) uint64 {
	at := f.next
	f.room(8 * len(words))
	for i, w := range words {
		f.put(at+8*uint64(i), w)
	}
	return at + 1
}

func (f *forgery) room(n int) {
	end := f.next + uint64(n)
	for p := f.next &^ (page - 1); p < end; p += page {
		if f.Pages[p] == nil {
			f.Pages[p] = make([]byte, page)
		}
	}
	f.next = end
}

func (f *forgery) put(at, w uint64) {
	binary.LittleEndian.PutUint64(f.Pages[at&^(page-1)][at%page:], w)
}

// slot changes a word of an object.
func (f *forgery) slot(obj, offset, w uint64) { f.put(obj-1+offset, w) }

func (f *forgery) put32(obj, offset uint64, v uint32) {
	at := obj - 1 + offset
	binary.LittleEndian.PutUint32(f.Pages[at&^(page-1)][at%page:], v)
}

// mapOf is a map of a type.
func (f *forgery) mapOf(t uint16) uint64 {
	if f.maps[t] == 0 {
		f.maps[t] = f.newMap(t)
	}
	return f.maps[t]
}

func (f *forgery) newMap(t uint16) uint64 {
	meta := f.maps[f.types.meta]
	if meta == 0 { // its map is itself
		meta = f.object(make([]uint64, 16)...)
		f.slot(meta, 0, meta)
		f.kind(meta, f.types.meta)
		f.maps[f.types.meta] = meta
	}
	m := f.object(make([]uint64, 16)...)
	f.slot(m, 0, meta)
	f.kind(m, t)
	return m
}

func (f *forgery) kind(m uint64, t uint16) {
	at := m - 1 + f.mapType
	binary.LittleEndian.PutUint16(f.Pages[at&^(page-1)][at%page:], t)
}

func number(n int) uint64 { return uint64(uint32(n)) << 32 }

// zeroArray is an array of so many zeros, whose pages are all one.
func (f *forgery) zeroArray(t uint16, n int) uint64 {
	at := f.next + page - 16 - f.next%page // its elements begin a page
	f.next = at
	obj := f.object(f.mapOf(t), number(n))
	empty := make([]byte, page)
	for i := 0; i < 8*n; i += page {
		f.Pages[f.next] = empty
		f.next += page
	}
	return obj
}

// chars is a string of so many characters of one byte, which are all c.
func (f *forgery) chars(c byte, n int) uint64 {
	f.next += page - 16 - f.next%page
	obj := f.object(f.mapOf(8), uint64(n)<<32)
	full := make([]byte, page)
	for i := range full {
		full[i] = c
	}
	for i := 0; i < n; i += page {
		f.Pages[f.next] = full
		f.next += page
	}
	return obj
}

func (f *forgery) cons(length int, first, second uint64) uint64 {
	return f.object(f.mapOf(9), uint64(length)<<32, first, second)
}

// shared is a SharedFunctionInfo of a script.
func (f *forgery) shared(script uint64) uint64 {
	s := f.object(make([]uint64, 12)...)
	f.slot(s, 0, f.mapOf(f.types.sharedInfo))
	f.slot(s, f.sharedScript, script)
	return s
}

func (f *forgery) script(slots map[uint64]uint64) uint64 {
	s := f.object(make([]uint64, 24)...)
	f.slot(s, 0, f.mapOf(f.types.script))
	for at, w := range slots {
		f.slot(s, at, w)
	}
	return s
}

// hostile are lies of a heap, and what a report does with them.
var hostile = map[string]func(f *forgery) func(){
	"strings of two empty halves": func(f *forgery) func() {
		s := f.cons(0, f.chars('a', 0), f.chars('a', 0))
		f.slot(s, 8, 5<<32)
		for range 60 {
			s = f.cons(5, s, s)
		}
		return func() { f.value(s, tasks.Limits{}) }
	},
	"strings within themselves": func(f *forgery) func() {
		var list []uint64
		for _, t := range []uint16{9, 11, 13, 1, 3, 5} {
			s := f.object(f.mapOf(t), 1<<61, 0, 0)
			f.slot(s, 16, s)
			f.slot(s, 24, s)
			list = append(list, s)
		}
		return func() {
			for range 1000 {
				for _, s := range list {
					f.value(s, tasks.Limits{})
					f.text(s)
				}
			}
		}
	},
	"ends of lines that all scripts share": func(f *forgery) func() {
		ends := f.zeroArray(f.types.fixedArrays[0], maxLines)
		var all []uint64
		for range 2000 {
			all = append(all, f.shared(f.script(map[uint64]uint64{f.scriptLineEnds: ends})))
		}
		return func() {
			for _, s := range all {
				f.functionOf(s)
			}
		}
	},
	"a source of ends of lines that all scripts share": func(f *forgery) func() {
		source := f.chars('\n', maxSource)
		var all []uint64
		for range 2000 {
			all = append(all, f.shared(f.script(map[uint64]uint64{f.scriptSource: source})))
		}
		return func() {
			for _, s := range all {
				f.functionOf(s)
			}
		}
	},
	"evals in a circle": func(f *forgery) func() {
		var scripts, all []uint64
		for range 1000 {
			scripts = append(scripts, f.script(nil))
			all = append(all, f.shared(scripts[len(scripts)-1]))
		}
		for i, s := range scripts {
			f.slot(s, f.evalShared, all[(i+1)%len(all)])
		}
		return func() {
			for _, s := range all {
				f.functionOf(s)
			}
		}
	},
	"long tables of positions": func(f *forgery) func() {
		table := f.zeroArray(f.types.byteArrays[0], maxTable)
		return func() {
			for range 5000 {
				lookUp(f.byteArray(table), 1<<30)
			}
		}
	},
	"code with long tables": func(f *forgery) func() {
		table := f.zeroArray(f.types.byteArrays[0], maxTable)
		var all []uint64
		for range 5000 {
			c := f.object(make([]uint64, 64)...)
			f.slot(c, 0, f.mapOf(f.types.code))
			f.slot(c, f.codePositions, table)
			f.put32(c, f.codeSize, 1<<10)
			stream := f.object(f.mapOf(f.types.stream), c)
			f.slot(c, f.codeStart, stream)
			all = append(all, stream)
		}
		return func() {
			for i, stream := range all {
				f.codes.Get(uint64(i), func() *code { return f.readCode(stream, stream) })
			}
		}
	},
	"code that is looked for among words like maps": func(f *forgery) func() {
		full := make([]byte, page)
		for i := 0; i < page; i += 8 {
			binary.LittleEndian.PutUint64(full[i:], f.mapOf(f.types.array))
		}
		f.next += page - f.next%page
		for range maxCode / page {
			f.Pages[f.next] = full
			f.next += page
		}
		end := f.next
		return func() {
			for i := range uint64(5000) {
				f.codeAt(end - 1 - i)
			}
		}
	},
	"classes of many long names": func(f *forgery) func() {
		f.mapPrototype = 24 // the recording does not know it
		key := f.chars('n', 1<<20)
		descriptors := f.object(make([]uint64, 3+3*1024)...)
		f.slot(descriptors, 0, f.mapOf(f.types.fixedArrays[0]))
		for i := range uint64(1020) {
			f.slot(descriptors, 24+24*i, key)
		}
		var all []uint64
		for range 3000 {
			m := f.newMap(f.types.firstObject)
			obj := f.object(m, 0, 0, 0)
			f.put32(m, f.mapField3, 1020<<mapOwnShift)
			f.slot(m, f.mapDescriptors, descriptors)
			f.slot(m, f.mapPrototype, obj)
			all = append(all, obj)
		}
		return func() {
			for _, o := range all {
				f.value(o, tasks.Limits{})
			}
		}
	},
	"properties in a table of zeros": func(f *forgery) func() {
		const room = 1 << 20
		table := f.zeroArray(f.types.fixedArrays[0], 3*room+4)
		f.slot(table, 32, number(room))
		m := f.newMap(f.types.firstObject)
		f.put32(m, f.mapField3, mapDictionary)
		obj := f.object(m, 0, 0, 0)
		f.slot(obj, f.properties, table)
		return func() {
			for range 3000 {
				f.value(obj, tasks.Limits{})
			}
		}
	},
	"objects within themselves": func(f *forgery) func() {
		elements := f.object(make([]uint64, 2+64)...)
		f.slot(elements, 0, f.mapOf(f.types.fixedArrays[0]))
		f.slot(elements, 8, number(64))
		m := f.newMap(f.types.firstObject)
		f.slot(m, f.mapConstructor, m)
		var objs []uint64
		for range 64 {
			o := f.object(m, 0, 0, 0)
			f.slot(o, f.elementsAt, elements)
			f.slot(elements, 16+8*uint64(len(objs)), o)
			objs = append(objs, o)
		}
		return func() {
			for range 300 {
				for _, o := range objs {
					f.value(o, tasks.Limits{})
				}
			}
		}
	},
}

// TestHostile: what a heap claims costs no more than the budget of a dump allows, in time and in memory.
func TestHostile(t *testing.T) {
	slow := []string{"classes of many long names", "code that is looked for among words like maps", "properties in a table of zeros", "objects within themselves"}
	for name, of := range hostile {
		t.Run(name, func(t *testing.T) {
			if slices.Contains(slow, name) { // they spend the whole budget
				fixture.Long(t)
			}
			do := of(forge(t))
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			start := time.Now()
			do()
			took := time.Since(start)
			runtime.ReadMemStats(&after)
			t.Logf("%v, %d MB, %d MB kept", took, (after.TotalAlloc-before.TotalAlloc)>>20, (int64(after.HeapAlloc)-int64(before.HeapAlloc))>>20)
			if n := after.TotalAlloc - before.TotalAlloc; n > 1<<30 || took > 30*time.Second {
				t.Errorf("%v and %d MB", took, n>>20)
			}
		})
	}
}

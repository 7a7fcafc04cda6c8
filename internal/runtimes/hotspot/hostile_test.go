package hotspot

import (
	"bytes"
	"encoding/binary"
	"errors"
	"maps"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/corewalk/corewalk/internal/budget"
	"github.com/corewalk/corewalk/internal/fixture"
	"github.com/corewalk/corewalk/libstate"
	"github.com/corewalk/corewalk/tasks"
	"github.com/corewalk/corewalk/unwind"
	"github.com/corewalk/corewalk/unwind/arch"
)

// A forgery is a recording with memory that lies, and the budget of a small dump.
type forgery struct {
	*recorded
	*VM
	j    *Java
	next uint64
}

// filled has as little cost as the memory of a dump.
type filled struct{ *recorded }

var errAbsent = errors.New("no memory is there")

func (f filled) ReadWord(at arch.Address) (uint64, error) {
	p := f.Pages[at&^(page-1)]
	if p == nil || at%page > page-8 {
		var b [8]byte
		n, _ := f.ReadMem(at, b[:])
		if n < 8 {
			return 0, errAbsent
		}
		return binary.LittleEndian.Uint64(b[:]), nil
	}
	return binary.LittleEndian.Uint64(p[at%page:]), nil
}

func (f filled) ReadMem(at arch.Address, b []byte) (n int, err error) {
	for n < len(b) {
		p := f.Pages[(at+uint64(n))&^(page-1)]
		if p == nil {
			return n, errAbsent
		}
		n += copy(b[n:], p[(at+uint64(n))%page:])
	}
	return n, nil
}

func forge(tb testing.TB) *forgery {
	r := read(tb, recordings[len(recordings)-1]).changed(nil)
	f := &forgery{recorded: r, next: 0x100000000000}
	f.j = New(func() *tasks.Process {
		return &tasks.Process{State: filled{r}, Symbols: r, Modules: []*libstate.Library{{Path: "/jdk/lib/server/libjvm.so"}}, Budget: budget.New(1 << 20)}
	})
	if f.VM = f.j.machine(); f.VM == nil {
		tb.Fatal("no virtual machine")
	}
	return f
}

// fill adds pages that are all the same one, full of a pattern of a power of two.
func (f *forgery) fill(n int, pattern ...byte) uint64 {
	at := f.next
	full := bytes.Repeat(pattern, page/len(pattern))
	for i := 0; i < n; i += page {
		f.Pages[f.next] = full
		f.next += page
	}
	return at
}

// room adds zeros that may be changed.
func (f *forgery) room(n int) uint64 {
	at := f.next
	for i := 0; i < n; i += page {
		f.Pages[f.next] = make([]byte, page)
		f.next += page
	}
	return at
}

func (f *forgery) put(at, w uint64) {
	binary.LittleEndian.PutUint64(f.Pages[at&^(page-1)][at%page:], w)
}

// hostile are lies of a virtual machine, and what a report does with them.
var hostile = map[string]func(t *testing.T, f *forgery) func(){
	"lines that all methods share": func(_ *testing.T, f *forgery) func() {
		at := f.fill(1<<18, 0x0f) // one bytecode and seven lines on
		var kept [][]lineEntry
		return func() {
			for range 20_000 {
				kept = append(kept, f.lineTable(at, maxLines-1))
			}
		}
	},
	"variables with long names that all methods share": func(_ *testing.T, f *forgery) func() {
		symbol := f.fill(page, 0, 4)
		at := f.fill(1<<18, 1)
		var kept [][]localEntry
		return func() {
			for range 20_000 {
				kept = append(kept, f.localTable(numberList{at, maxLocals}, func(uint16) string {
					s, _ := f.symbol(symbol)
					return s
				}))
			}
		}
	},
	"scopes that all code shares": func(t *testing.T, f *forgery) func() {
		var all []*blob
		for range 2000 { // the offsets lead from each to the next ones
			b := &blob{at: f.room(page)}
			for name, v := range map[string]uint32{"nmethod._scopes_pcs_offset": 8, "nmethod._scopes_data_offset": 16, "nmethod._dependencies_offset": 1 << 22} {
				if off, ok := f.off(name); ok && off < page-8 {
					binary.LittleEndian.PutUint32(f.Pages[b.at][off:], v)
				}
			}
			if off, ok := f.off("CompiledMethod._scopes_data_begin", "nmethod._scopes_data_begin"); ok {
				f.put(b.at+off, b.at)
			}
			all = append(all, b)
		}
		f.fill(maxScopes, 1)
		return func() {
			held := 0
			for _, b := range all {
				f.readCompiled(b)
				held += len(b.descs)
			}
			if held == 0 || held > maxKept {
				t.Errorf("%d bytes are held", held)
			}
		}
	},
	"handlers of all bytecodes": func(_ *testing.T, f *forgery) func() {
		m := &method{code: f.fill(1<<16, 0), codeSize: 1<<16 - 1}
		for i := range maxHandlers {
			m.handlers = append(m.handlers, handlerEntry{0, 1<<16 - 1, 1000 + i})
		}
		return func() {
			for range maxHandlers {
				f.handledBy(handler{&blob{}, activation{method: m, bci: 60_000}, javaFrame{}})
			}
		}
	},
	"dead slots of long methods": func(_ *testing.T, f *forgery) func() {
		m := &method{code: f.fill(1<<16, 0), codeSize: 1<<16 - 1}
		return func() {
			for i := range 20_000 {
				s := undoneSlot{f.VM, m, 0, i}
				s.dead()
			}
		}
	},
	"class loaders in a circle": func(t *testing.T, f *forgery) func() {
		next, ok := f.off("ClassLoaderData._next")
		first, ok2 := f.off("ClassLoaderData._klasses")
		link, ok3 := f.off("Klass._next_link")
		if !ok || !ok2 || !ok3 {
			t.Skip("the recording has no class loaders")
		}
		klass, loader := f.room(page), f.room(page)
		f.put(klass+link, klass)
		f.put(klass+f.layout.klassName, f.fill(page, 0, 4))
		f.put(loader+next, loader)
		f.put(loader+first, klass)
		f.put(f.static("ClassLoaderDataGraph._head"), loader)
		return func() {
			for range 1000 {
				f.classNamed("none")
			}
		}
	},
	"threads that all wait for one": func(_ *testing.T, f *forgery) func() {
		f.j.threads = map[unwind.ThreadID]Thread{}
		for i := range 60_000 {
			f.j.threads[unwind.ThreadID(i)] = Thread{at: 8 * uint64(i+1)}
		}
		monitor := f.room(page)
		for at := monitor; at < monitor+page; at += 8 {
			f.put(at, 1<<40)
		}
		return func() {
			for range 60_000 {
				f.j.monitorOwner(monitor, 0)
			}
		}
	},
	"names of 2^31 bytes": func(_ *testing.T, f *forgery) func() {
		at := f.fill(1<<20, 0xff)
		return func() {
			for range 100_000 {
				f.symbol(at)
				f.arrayAt(at)
				f.stringAt(at)
				f.methodAt(at)
			}
		}
	},
}

// TestHostile: what a virtual machine claims costs no more than the budget of a dump allows, in time and in memory.
func TestHostile(t *testing.T) {
	for _, name := range slices.Sorted(maps.Keys(hostile)) {
		t.Run(name, func(t *testing.T) {
			fixture.Long(t)
			do := hostile[name](t, forge(t))
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			start := time.Now()
			do()
			took := time.Since(start)
			runtime.ReadMemStats(&after)
			t.Logf("%v, %d MB", took, (after.TotalAlloc-before.TotalAlloc)>>20)
			if n := after.TotalAlloc - before.TotalAlloc; n > 1<<30 || took > 30*time.Second {
				t.Errorf("%v and %d MB", took, n>>20)
			}
		})
	}
}

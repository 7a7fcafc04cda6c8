package main

import (
	"context"
	"encoding/binary"
	"io"
	"maps"
	"math/rand/v2"
	"slices"

	"github.com/corewalk/corewalk/internal/budget"
	"github.com/corewalk/corewalk/internal/heap/export"
	"github.com/corewalk/corewalk/internal/heap/heaptest"
	"github.com/corewalk/corewalk/internal/runtimes/hotspot"
	"github.com/corewalk/corewalk/internal/runtimes/lua"
	"github.com/corewalk/corewalk/internal/runtimes/php"
	"github.com/corewalk/corewalk/internal/runtimes/python"
	"github.com/corewalk/corewalk/internal/runtimes/ruby"
	"github.com/corewalk/corewalk/internal/runtimes/v8"
	"github.com/corewalk/corewalk/internal/why/analysis"
	"github.com/corewalk/corewalk/libstate"
	"github.com/corewalk/corewalk/report"
	"github.com/corewalk/corewalk/tasks"
	"github.com/corewalk/corewalk/unwind"
)

// Heaps of allocators and runtimes, as recordings of the memory of processes have them (record_test.go).

// heapNames are the recordings.
var heapNames = []string{"glibc", "jemalloc", "jemalloc32", "jemalloc32_52", "jemalloc57", "jemalloc64k", "tcmalloc", "tcmalloc32", "mimalloc", "mimalloc32", "mimalloc32_34", "mimalloc21", "mimalloc24", "mimalloc30", "mimalloc34", "mimalloc36", "gtcmalloc", "gtcmalloc21", "gtcmalloc22", "mallocng", "oldmalloc", "oldmalloc32", "asan", "asan32", "scudo", "scudo32", "python", "java", "node", "ruby", "php", "lua"}

// heapLimit is how much memory the graph of a heap may take, in bytes.
const heapLimit = 64 << 20

func heapParts(t tb) (list []base) {
	for _, name := range heapNames {
		var h *recordedHeap
		read := func() (files map[string][]byte, err error) {
			err = caught(func() error {
				h = newRecordedHeap(heaptest.Recorded(t, name))
				files = map[string][]byte{name: h.data}
				return nil
			})
			return files, err
		}
		list = append(list, part{"heap", read, func([]byte) *shape { return h.shape() }, func(b []byte, rng *rand.Rand) { h.use(b, rng) }}.bases(name)...)
	}
	return list
}

// A recordedHeap is a recording whose pages lie one behind the other.
type recordedHeap struct {
	rec   *heaptest.Recording
	pages []uint64 // addresses of those in data
	zero  []uint64 // and of those that are zero
	data  []byte
}

func newRecordedHeap(rec *heaptest.Recording) *recordedHeap {
	h := &recordedHeap{rec: rec}
	var empty [heaptest.PageSize]byte
	for _, at := range slices.Sorted(maps.Keys(rec.Pages)) {
		if b := rec.Pages[at]; [heaptest.PageSize]byte(b) != empty {
			h.pages = append(h.pages, at)
			h.data = append(h.data, b...)
		} else {
			h.zero = append(h.zero, at)
		}
	}
	return h
}

// shape has the words that are not zero: addresses, and numbers.
func (h *recordedHeap) shape() *shape {
	s := &shape{word: 8, addrOf: func(off int) uint64 { return h.pages[off/heaptest.PageSize] + uint64(off%heaptest.PageSize) }}
	if h.rec.Arch == "i386" {
		s.word = 4
	}
	rd := mutator{data: h.data, shape: s}
	for i, at := range h.pages {
		s.regions = append(s.regions, region{i * heaptest.PageSize, heaptest.PageSize})
		s.addrs = append(s.addrs, at)
	}
	for off := 0; off < len(h.data); off += s.word {
		v := rd.read(off, s.word)
		if v == 0 {
			continue
		}
		f := field{off: off, size: s.word}
		if _, ok := slices.BinarySearch(h.pages, v&^(heaptest.PageSize-1)); ok {
			f.role = roleAddr
			if len(s.addrs) < 1<<16 {
				s.addrs = append(s.addrs, v)
			}
		}
		if f.role == roleAddr || v < 1<<32 {
			s.fields = append(s.fields, f)
		}
	}
	return s
}

// process has the pages as data says.
func (h *recordedHeap) process(data []byte) *heaptest.Process {
	rec := *h.rec
	rec.Pages = make(map[uint64][]byte, len(h.pages)+len(h.zero))
	for _, at := range h.zero {
		rec.Pages[at] = zeros[:heaptest.PageSize]
	}
	for i, at := range h.pages {
		if end := (i + 1) * heaptest.PageSize; end <= len(data) {
			rec.Pages[at] = data[end-heaptest.PageSize : end]
		}
	}
	return rec.Process()
}

// use asks what fills the heap, or what is at some addresses.
func (h *recordedHeap) use(data []byte, rng *rand.Rand) {
	p := h.process(data)
	if rng.IntN(2) == 0 {
		var m analysis.Process = p
		if rng.IntN(4) == 0 {
			m = newEndless(p, data)
		}
		e := heapEngine(m, p)
		for range 1 + rng.IntN(16) {
			e.At(context.Background(), h.pages[rng.IntN(len(h.pages))]+rng.Uint64N(heaptest.PageSize))
		}
		return
	}
	memoryOf(p, p, rng)
}

// heapEngine is for a process whose symbols names knows.
func heapEngine(p analysis.Process, names unwind.SymbolReader) *analysis.Engine {
	parts := analysis.Parts{Proc: p, Runtimes: func([]*libstate.Library, *budget.Budget) []tasks.Runtime { return nil }, Budget: budget.New(64 << 20)}
	for _, find := range []tasks.Finder{python.Find, hotspot.Find, v8.Find, ruby.Find, php.Find, lua.Find} {
		parts.Languages = append(parts.Languages, analysis.Language{Find: func(libs []*libstate.Library, b *budget.Budget) tasks.Runtime {
			r, err := find(&tasks.Process{State: p, Modules: libs, Symbols: names, Budget: b})
			if err != nil {
				return nil
			}
			return r
		}})
	}
	var how []unwind.Option
	if names != nil {
		how = append(how, unwind.WithSymbolReader(names))
	}
	parts.Walker, _ = unwind.NewWalker(p, how...)
	return analysis.NewEngine(parts)
}

// memoryOf says what fills a process's memory, and writes it in the formats that there are. It returns the blocks that there are.
func memoryOf(p analysis.Process, names unwind.SymbolReader, rng *rand.Rand) (blocks int) {
	ctx := context.Background()
	m, g, err := heapEngine(p, names).Memory(ctx, analysis.MemoryOptions{Limit: heapLimit})
	if err != nil {
		return 0
	}
	report.WriteMemoryText(counter{}, m, report.TextOptions{})
	report.WriteMemoryJSON(counter{}, m)
	if g == nil {
		return 0
	}
	write := []func(context.Context, io.Writer, *export.Heap) error{export.WriteHTML, export.WritePprof, export.WriteHeapSnapshot, export.WriteHprof}[rng.IntN(4)]
	write(ctx, counter{}, &export.Heap{Graph: g.Graph, Type: g.TypeName, Root: g.RootName, Field: g.FieldName, Retained: g.Retained, By: g.By, Summary: m.Summary(), Clean: report.Clean})
	return g.Len()
}

// An endless process has memory at every address of its mappings, which begin and end elsewhere: pages that it has are at others, too. So has a dump
// whose segments share bytes of the file.
type endless struct {
	*heaptest.Process
	maps []libstate.Mapping
	data []byte
}

func newEndless(p *heaptest.Process, data []byte) *endless {
	e := &endless{p, slices.Clone(p.Maps), data}
	for i := range e.maps {
		m := &e.maps[i]
		m.Perm |= libstate.Read | libstate.Write
		m.End += 1 << 40
		if i+1 < len(e.maps) {
			m.End = min(m.End, e.maps[i+1].Start)
		}
	}
	return e
}

func (e *endless) Mappings() []libstate.Mapping { return e.maps }

func (e *endless) MappingAt(at unwind.Address) (libstate.Mapping, bool) {
	return heaptest.MappingIn(e.maps, at)
}

func (e *endless) ReadMem(at unwind.Address, b []byte) (n int, err error) {
	for n < len(b) {
		here := at + uint64(n)
		page := here &^ (heaptest.PageSize - 1)
		from := e.Pages[page]
		if from == nil {
			if _, ok := e.MappingAt(here); !ok || len(e.data) < heaptest.PageSize {
				return n, errNothing
			}
			i := int(page / heaptest.PageSize % uint64(len(e.data)/heaptest.PageSize))
			from = e.data[i*heaptest.PageSize:][:heaptest.PageSize]
		}
		n += copy(b[n:], from[here%heaptest.PageSize:])
	}
	return n, nil
}

func (e *endless) ReadWord(at unwind.Address) (uint64, error) {
	b := make([]byte, e.Arch().WordSize)
	if _, err := e.ReadMem(at, b); err != nil {
		return 0, err
	}
	if len(b) == 4 {
		return uint64(binary.LittleEndian.Uint32(b)), nil
	}
	return binary.LittleEndian.Uint64(b), nil
}

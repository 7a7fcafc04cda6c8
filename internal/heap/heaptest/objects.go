package heaptest

import (
	"cmp"
	"encoding/binary"
	"flag"
	"fmt"
	"hash"
	"hash/crc32"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/corewalk/corewalk/internal/heap"
	"github.com/corewalk/corewalk/internal/procmem"
	"github.com/corewalk/corewalk/tasks"
)

// Found is what a runtime knows of the objects of a process.
type Found struct {
	Runtime tasks.Runtime
	Types   map[string]int    // how many objects there are of each
	Names   map[string]uint64 // of variables: the objects that they lead to
	Free    int               // blocks that are not in use, of the runtime's own heap or the one that was given

	heap    heap.Allocator
	mem     procmem.Reader
	objects heap.Objects
}

// Objects asks the runtime that find finds in a recorded process for all objects: in its own heap, or in the one that of finds.
func (r *Recording) Objects(tb testing.TB, find tasks.Finder, of func(heap.Process) heap.Allocator) Found {
	tb.Helper()
	p := r.Process()
	modules, _ := p.LibraryTracker().Libraries(false)
	rt, err := find(&tasks.Process{State: p, Modules: modules, Symbols: p})
	if err != nil || rt == nil {
		tb.Fatalf("no runtime: %v", err)
	}
	out := Found{Runtime: rt, Types: map[string]int{}, Names: map[string]uint64{}}
	var h heap.Allocator
	if o, ok := rt.(heap.Owner); ok {
		h = o.Heap()
	} else {
		h = of(p)
	}
	if h == nil {
		tb.Fatal("no heap")
	}
	if d := h.Damages(); d != nil {
		tb.Errorf("%+v", d)
	}
	mem := procmem.Of(p)
	objects := rt.(heap.Objects)
	out.heap, out.mem, out.objects = h, mem, objects
	for b := range h.Blocks {
		switch o, ok := objects.ObjectIn(b.Start, b.Size, mem.Some(b.Start, int(min(b.Size, heap.ObjectBytes)))); {
		case b.Free:
			out.Free++
		case ok:
			out.Types[o.Type]++
		}
	}
	objects.Variables(func(name string, value uint64) bool { out.Names[name] = value; return true })
	return out
}

// Wants checks how many objects of some types there are.
func (f *Found) Wants(tb testing.TB, want map[string]int) {
	tb.Helper()
	for name, n := range want {
		if f.Types[name] != n {
			tb.Errorf("%d of %s, want %d: %v", f.Types[name], name, n, f.Types)
		}
	}
}

var update = flag.Bool("update-objects", false, "write what recorded heaps hold anew, testdata/objects.txt")

// Golden compares what is known of all objects with a file: of each type how many there are, of how many bytes, what belongs to them, which of their words
// have names, and of each variable what it leads to.
func (f *Found) Golden(tb testing.TB, path string) {
	tb.Helper()
	got := f.all()
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			tb.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		tb.Fatal(err)
	}
	if got == string(want) {
		return
	}
	known := map[string]bool{}
	for line := range strings.Lines(string(want)) {
		known[line] = true
	}
	for line := range strings.Lines(got) {
		if !known[line] {
			tb.Errorf("not in %s: %s", path, line)
		}
		delete(known, line)
	}
	for line := range known {
		tb.Errorf("missing of %s: %s", path, line)
	}
}

// typeRow is what is known of the objects of a type.
type typeRow struct {
	count, freed       int
	bytes, head, links uint64
	owns, lost, weak   map[string]int
	fields             map[string]int
	first              uint64
}

func (f *Found) all() string {
	rows := map[string]*typeRow{}
	fielded, _ := f.Runtime.(heap.Fielded)
	var empty typeRow
	kept, unknown := &empty, &typeRow{}
	for b := range f.heap.Blocks {
		o, ok := f.objects.ObjectIn(b.Start, b.Size, f.mem.Some(b.Start, int(min(b.Size, heap.ObjectBytes))))
		switch {
		case b.Free || b.Own:
			kept.count++
			kept.bytes += b.Size
			continue
		case !ok:
			unknown.count++
			unknown.bytes += b.Size
			continue
		}
		r := rows[o.Type]
		if r == nil {
			r = &typeRow{owns: map[string]int{}, lost: map[string]int{}, weak: map[string]int{}, fields: map[string]int{}, first: b.Start}
			rows[o.Type] = r
		}
		r.count++
		r.bytes += b.Size
		r.head += o.Head
		r.links |= o.Links
		if o.Freed {
			r.freed++
		}
		for _, w := range o.Owns {
			if x, ok := f.heap.BlockAt(w.At); ok && !x.Free {
				r.owns[w.What]++
			} else {
				r.lost[w.What]++
			}
			if w.Weak {
				r.weak[w.What]++
			}
		}
		if fielded != nil && r.count <= 20 {
			for off := uint64(0); off < min(b.Size, 256); off += 8 {
				if name := fielded.FieldAt(b.Start, off); name != "" {
					r.fields[name]++
				}
			}
		}
	}
	var lines []string
	of := func(what string, m map[string]int) string {
		s := ""
		for _, k := range slices.Sorted(maps.Keys(m)) {
			s += fmt.Sprintf(" %s %q %d", what, k, m[k])
		}
		return s
	}
	for name, r := range rows {
		lines = append(lines, fmt.Sprintf("%q: %d of %d bytes, %d freed, heads %d, links %#x%s\n", name, r.count, r.bytes, r.freed, r.head, r.links,
			of("owns", r.owns)+of("owns what is no block,", r.lost)+of("weakly", r.weak)+of("field", r.fields)))
	}
	f.objects.Variables(func(name string, value uint64) bool {
		what := "nothing"
		if b, ok := f.heap.BlockAt(value); ok {
			what = fmt.Sprintf("a block of %d bytes", b.Size)
			if o, ok := f.objects.ObjectIn(b.Start, b.Size, f.mem.Some(b.Start, int(min(b.Size, heap.ObjectBytes)))); ok {
				what = o.Type
			}
		}
		lines = append(lines, fmt.Sprintf("variable %q is %q\n", name, what))
		return true
	})
	lines = append(lines, f.nearly()...)
	slices.SortFunc(lines, cmp.Compare[string])
	return fmt.Sprintf("%d blocks of %d bytes are free, %d of %d bytes are no objects\n", kept.count, kept.bytes, unknown.count, unknown.bytes) + strings.Join(lines, "")
}

// nearly asks about what is not quite an object: the first ones of each type with less memory, another size, or a word or byte changed. It says how many are
// taken for objects, and has a sum over the answers.
func (f *Found) nearly() (lines []string) {
	const each = 3
	asked := map[string]int{}
	tried, taken, sums := map[string]int{}, map[string]int{}, map[string]hash.Hash32{}
	for b := range f.heap.Blocks {
		if b.Free || b.Own {
			continue
		}
		whole := slices.Clone(f.mem.Some(b.Start, int(min(b.Size, heap.ObjectBytes))))
		o, ok := f.objects.ObjectIn(b.Start, b.Size, whole)
		name := o.Type
		if !ok {
			name = "no object"
		}
		if asked[name]++; asked[name] > each {
			continue
		}
		if sums[name] == nil {
			sums[name] = crc32.NewIEEE()
		}
		ask := func(size uint64, part []byte) {
			o, ok := f.objects.ObjectIn(b.Start, size, part)
			tried[name]++
			if !ok {
				o = heap.Object{}
			} else {
				taken[name]++
			}
			fmt.Fprintln(sums[name], o.Type, o.Head, o.Links, o.Freed, o.Owns)
		}
		for n := range len(whole) + 1 {
			ask(b.Size, whole[:n])
		}
		for d := range uint64(64) {
			ask(b.Size-min(d, b.Size), whole[:min(uint64(len(whole)), b.Size-min(d, b.Size))])
			ask(b.Size+d*d, whole)
		}
		for i := 0; i+8 <= min(len(whole), 96); i += 8 {
			old := binary.LittleEndian.Uint64(whole[i:])
			for _, v := range []uint64{0, 1, 2, 3, 7, 8, old + 1, old - 1, old + 8, old - 8, old ^ 1<<32, b.Start, b.Start + 8, ^uint64(0)} {
				binary.LittleEndian.PutUint64(whole[i:], v)
				ask(b.Size, whole)
			}
			binary.LittleEndian.PutUint64(whole[i:], old)
			for k := i; k < i+8; k++ {
				for _, v := range []byte{0, 1, 2, 4, 5, 16, 17, 127, 255} {
					old := whole[k]
					whole[k] = v
					ask(b.Size, whole)
					whole[k] = old
				}
			}
		}
	}
	for name, n := range tried {
		lines = append(lines, fmt.Sprintf("near %q: %d of %d taken, %08x\n", name, taken[name], n, sums[name].Sum32()))
	}
	return lines
}

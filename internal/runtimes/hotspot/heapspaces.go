package hotspot

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"github.com/corewalk/corewalk/internal/heap"
)

// findSpaces finds the spaces of the heap, as the collector lays it out.
func (h *javaHeap) findSpaces(at uint64) error {
	vm := h.vm
	start, ok := vm.off("MemRegion._start")
	words, ok2 := vm.off("MemRegion._word_size")
	reserved, ok3 := vm.off("CollectedHeap._reserved")
	if !ok || !ok2 || !ok3 || at == 0 {
		return fmt.Errorf("%w: no heap", ErrNoTables)
	}
	f := vm.flags("UseSerialGC", "UseParallelGC", "UseG1GC", "UseZGC", "UseShenandoahGC", "UseEpsilonGC", "UseConcMarkSweepGC")
	for name, known := range map[string]string{"UseZGC": "ZGC", "UseShenandoahGC": "Shenandoah", "UseEpsilonGC": "Epsilon", "UseConcMarkSweepGC": "CMS"} {
		if f[name] {
			return fmt.Errorf("the heap of the collector %s is not known", known)
		}
	}
	first, size := vm.Word(at+reserved+start), vm.Word(at+reserved+words)
	if h.reserved = [2]uint64{first, first + 8*size}; first == 0 || size == 0 || size > maxHeapBytes/8 {
		return errors.New("where the heap is cannot be read")
	}
	var err error
	switch {
	case f["UseSerialGC"]:
		err = h.serialSpaces(at)
	case f["UseParallelGC"]:
		err = h.parallelSpaces()
	case f["UseG1GC"]:
		err = h.regions(at)
	default:
		err = errors.New("the collector is not known")
	}
	if err != nil {
		return err
	}
	slices.SortFunc(h.spaces, func(a, b space) int { return cmp.Compare(a.start, b.start) })
	end := uint64(0)
	h.spaces = slices.DeleteFunc(h.spaces, func(s space) bool {
		bad := s.start < end
		end = max(end, s.end)
		return bad
	})
	return nil
}

// field is the word of a structure; 0 if it has none of the names.
func (h *javaHeap) field(at uint64, names ...string) uint64 {
	off, ok := h.vm.off(names...)
	if !ok || at == 0 {
		return 0
	}
	return h.vm.Word(at + off)
}

// add adds a space; false if it is none.
func (h *javaHeap) add(name string, bottom, top, end uint64) bool {
	if bottom < h.reserved[0] || bottom > top || top > end || end > h.reserved[1] || bottom%8 != 0 || top%8 != 0 || len(h.spaces) >= maxSpaces {
		return false
	}
	if bottom < end {
		h.spaces = append(h.spaces, space{start: bottom, top: top, end: end, name: name})
	}
	return true
}

func (h *javaHeap) serialSpaces(at uint64) error {
	young := h.field(at, "GenCollectedHeap._young_gen", "SerialHeap._young_gen")
	old := h.field(at, "GenCollectedHeap._old_gen", "SerialHeap._old_gen")
	for _, s := range []struct {
		name string
		at   uint64
	}{
		{"eden", h.field(young, "DefNewGeneration._eden_space")},
		{"survivors", h.field(young, "DefNewGeneration._from_space")},
		{"survivors", h.field(young, "DefNewGeneration._to_space")},
		{"old generation", h.field(old, "TenuredGeneration._the_space")},
	} {
		if !h.add(s.name, h.field(s.at, "Space._bottom", "ContiguousSpace._bottom"), h.field(s.at, "ContiguousSpace._top"),
			h.field(s.at, "Space._end", "ContiguousSpace._end")) {
			return fmt.Errorf("its %s space cannot be read", s.name)
		}
	}
	return nil
}

func (h *javaHeap) parallelSpaces() error {
	young := h.vm.Word(h.vm.static("ParallelScavengeHeap._young_gen"))
	old := h.vm.Word(h.vm.static("ParallelScavengeHeap._old_gen"))
	for _, s := range []struct {
		name string
		at   uint64
	}{
		{"eden", h.field(young, "PSYoungGen._eden_space")},
		{"survivors", h.field(young, "PSYoungGen._from_space")},
		{"survivors", h.field(young, "PSYoungGen._to_space")},
		{"old generation", h.field(old, "PSOldGen._object_space")},
	} {
		if !h.add(s.name, h.field(s.at, "MutableSpace._bottom", "ImmutableSpace._bottom"), h.field(s.at, "MutableSpace._top"),
			h.field(s.at, "MutableSpace._end", "ImmutableSpace._end")) {
			return fmt.Errorf("its %s space cannot be read", s.name)
		}
	}
	return nil
}

// regions are those of G1's heap. An object that is larger than half of one has regions of its own, of which only the first begins with an object.
func (h *javaHeap) regions(at uint64) error {
	vm := h.vm
	manager, ok := vm.off("G1CollectedHeap._hrm")
	table, ok2 := vm.off("HeapRegionManager._regions", "G1HeapRegionManager._regions")
	base, ok3 := vm.off("G1HeapRegionTable._base")
	length, ok4 := vm.off("G1HeapRegionTable._length")
	kind, ok5 := vm.off("HeapRegion._type", "G1HeapRegion._type")
	tag, ok6 := vm.off("HeapRegionType._tag", "G1HeapRegionType._tag")
	constant := func(name string) (uint32, bool) {
		if v, ok := vm.constants["HeapRegionType::"+name]; ok {
			return v, true
		}
		v, ok := vm.constants["G1HeapRegionType::"+name]
		return v, ok
	}
	begins, ok7 := constant("StartsHumongousTag")
	goesOn, ok8 := constant("ContinuesHumongousTag")
	if !ok8 || !ok || !ok2 || !ok3 || !ok4 || !ok5 || !ok6 || !ok7 {
		return fmt.Errorf("%w: no regions", ErrNoTables)
	}
	at += manager + table
	list, n := vm.Word(at+base), vm.Word(at+length)
	if list == 0 || n > maxSpaces {
		return errors.New("its list of regions cannot be read")
	}
	damaged := 0
	var b [1]byte
	for i := range n {
		r := vm.Word(list + 8*i)
		if r == 0 {
			continue // never used
		}
		if vm.spend(1) != nil {
			break
		}
		bottom, end := h.field(r, "HeapRegion._bottom", "G1HeapRegion._bottom", "Space._bottom"), h.field(r, "HeapRegion._end", "G1HeapRegion._end", "Space._end")
		top := h.field(r, "HeapRegion._top", "G1HeapRegion._top", "G1ContiguousSpace._top")
		t, _ := vm.U32(r + kind + tag)
		if t == goesOn {
			if k := len(h.spaces); k > 0 && h.spaces[k-1].end == bottom && top <= end { // with that in which the object begins
				h.spaces[k-1].top, h.spaces[k-1].end = max(top, h.spaces[k-1].top), end
			}
			continue
		}
		if top == bottom && h.mem.Fill(bottom, b[:]) == 0 {
			continue // given back to the system
		}
		if !h.add("region", bottom, top, end) {
			damaged++
		} else if t == begins {
			h.spaces[len(h.spaces)-1].single = true
		}
	}
	if damaged > 0 {
		return fmt.Errorf("%d of its %d regions cannot be read", damaged, n)
	}
	return nil
}

// maxReserve is the most bytes that a thread leaves at the end of its TLAB.
const maxReserve = 4 << 10

// findGaps finds the ends of what threads have for themselves. Where one is, is behind its limit for objects: as much is left as an array needs that
// fills it, and as the processor may fetch ahead.
func (h *javaHeap) findGaps() {
	vm := h.vm
	tlab, ok := vm.off("Thread._tlab")
	start, ok2 := vm.off("ThreadLocalAllocBuffer._start")
	top, ok3 := vm.off("ThreadLocalAllocBuffer._top")
	end, ok4 := vm.off("ThreadLocalAllocBuffer._allocation_end", "ThreadLocalAllocBuffer._end")
	if !ok || !ok2 || !ok3 || !ok4 {
		return
	}
	reserve := max(8, (h.lengthAt+4+7)&^7)
	if ahead, _ := vm.U32(vm.static("ThreadLocalAllocBuffer._reserve_for_allocation_prefetch")); ahead <= maxReserve/8 {
		reserve = max(reserve, 8*uint64(ahead))
	}
	reserve = (reserve + h.align - 1) &^ (h.align - 1)
	threads, _ := vm.threadList()
	h.threads = len(threads)
	for _, t := range threads {
		if vm.spend(4) != nil {
			break
		}
		at := t + tlab
		g := gap{vm.Word(at + start), vm.Word(at + top), vm.Word(at+end) + reserve}
		i := heap.Within(h.spaces, g.first, func(s *space) (start, end uint64) { return s.start, s.top })
		if i >= 0 && g.first <= g.start && g.start < g.end && g.start%8 == 0 && g.end-reserve <= h.spaces[i].top {
			g.end = min(g.end, h.spaces[i].top)
			h.gaps = append(h.gaps, g)
		}
	}
	slices.SortFunc(h.gaps, func(a, b gap) int { return cmp.Compare(a.start, b.start) })
	last := uint64(0)
	h.gaps = slices.DeleteFunc(h.gaps, func(g gap) bool {
		bad := g.first < last
		last = max(last, g.end)
		return bad
	})
}

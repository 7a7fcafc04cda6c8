package asan

import (
	"slices"

	"github.com/corewalk/corewalk/internal/heap"
	"github.com/corewalk/corewalk/libstate"
)

// On 32 bits regions are at multiples of their size, and a table of the runtime's has the class of each. What is in a region tells it, too: a chunk
// is of the smallest class that has room for the block and its redzone.
const (
	regionSize32 = 1 << 20    // kRegionSizeLog
	shadow32     = 0x20000000 // ASAN_SHADOW_OFFSET_CONST of Linux
	shadowEnd32  = 0x40000000
	sampled32    = regionSize32 / 4 // bytes of a region that tell its class
	maxRegions32 = 1 << 12
	maxTries32   = 256     // places that are looked at without finding a region, and again for each that is found
	maxTransfer  = 1 << 10 // chunks in one TransferBatch
)

// regions32 finds the regions. Other processes of 32 bits have no shadow where the sanitizer's is: of them nothing is read.
func (h *Heap) regions32(mappings []libstate.Mapping) {
	if heap.Within(mappings, shadow32, func(m *libstate.Mapping) (start, end uint64) { return uint64(m.Start), uint64(m.End) }) < 0 {
		return
	}
	b := make([]byte, sampled32)
	tries := maxTries32
	for _, m := range mappings {
		start, end := uint64(m.Start), uint64(m.End)
		if m.Perm&libstate.Write == 0 || m.Path != "" || start < shadowEnd32 {
			continue
		}
		for at := (start + regionSize32 - 1) &^ (regionSize32 - 1); at < end && end-at >= regionSize32 && tries > 0 && len(h.regions) < maxRegions32; at += regionSize32 {
			tries--
			if class := h.classOf(at, b[:h.mem.Fill(at, b)]); class != 0 {
				h.regions = append(h.regions, region{at, at + regionSize32, classSize(class)})
				tries = maxTries32
			}
		}
	}
}

// classOf is the class of the chunks of a region, of which b is the beginning; 0 if none is proved.
func (h *Heap) classOf(at uint64, b []byte) (class uint64) {
	if !slices.ContainsFunc(b, func(c byte) bool { return c != 0 }) {
		return 0
	}
	best := 0
	for k := uint64(1); k <= numClasses; k++ {
		size := classSize(k)
		good, bad := 0, 0
		for off := uint64(0); off+size <= uint64(len(b)) && good < sampled && bad <= good; off += size {
			if h.mem.Arch.Word(b[off:]) == 0 {
				continue
			}
			if h.budget--; h.budget <= 0 {
				return 0
			}
			switch c := h.chunk(at+off, size, b[off:][:size]); {
			case c.damage != "":
				bad++
			case c.header != 0 && c.used+c.header+headerSize-c.beg > classSize(k-1): // else it were of a smaller class
				good++
			}
		}
		if good-bad > best {
			class, best = k, good-bad
		}
	}
	return class
}

// isTransfer says whether a chunk is a list of free chunks (TransferBatch), which is in one of them if that is large enough.
func (h *Heap) isTransfer(c *chunk, b []byte) bool {
	if len(b) < headerSize {
		return false
	}
	next, n, first := h.mem.Arch.Word(b), h.mem.Arch.Word(b[4:]), h.mem.Arch.Word(b[8:])
	if next%16 != 0 || n == 0 || n > maxTransfer || first == 0 || first%16 != 0 || first>>20 == 0 {
		return false
	}
	c.state = 0
	for k := uint64(0); k < min(n, uint64(len(b)-8)/4); k++ {
		if h.mem.Arch.Word(b[8+4*k:]) == c.beg {
			return true
		}
	}
	c.own = n*4+8 <= uint64(len(b))
	return true
}

// search32 finds large chunks: the runtime's data have the array of their headers.
func (h *Heap) search32() {
	a := h.mem.Arch
	heap.Data(runtimeFirst{h.p}, maxData, func(at uint64, b []byte) bool {
		for off := 0; off+4 <= len(b) && h.large == nil; off += 4 {
			if v := a.Word(b[off:]); v != 0 && v%page == 0 {
				h.large = h.largeChunks(at + uint64(off))
			}
		}
		return h.large == nil
	})
}

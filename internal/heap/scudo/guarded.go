package scudo

import (
	"cmp"
	"slices"

	"github.com/corewalk/corewalk/internal/heap"
)

// Some of the blocks, chosen at random, are not Scudo's own: GWP-ASan has each in a page of its own between pages that cannot be read, without a header.
// Its records say where they are (AllocatorState and AllocationMetadata of gwp_asan/common.h).
const (
	pageBytes    = 4096
	traceBytes   = 256        // CompressedTrace
	magicGuarded = 0x4e415341 // kAllocatorVersionMagic
	version      = 2          // kAllocatorVersion
	maxGuarded   = 1 << 12
	metadataMost = 64 // words of the state, among which is where the records are
)

// readGuarded finds the state in a library's data, and notes the blocks.
func (h *Heap) readGuarded(b []byte) {
	w := int(h.word)
	word := func(off int) uint64 { return h.mem.Arch.Word(b[off:]) }
	for off := 0; off+8+4*w <= len(b); off += w {
		if h.order.Uint32(b[off:]) != magicGuarded || h.order.Uint16(b[off+4:]) != version {
			continue
		}
		n, pool, end := word(off+8), word(off+8+w), word(off+8+2*w) // MaxSimultaneousAllocations, GuardedPagePool, GuardedPagePoolEnd
		if n == 0 || n > maxGuarded || pool%pageBytes != 0 || end != pool+(2*n+2)*pageBytes || word(off+8+3*w) != pageBytes {
			continue
		}
		for at := off + 8 + 4*w; at+w <= min(len(b), off+metadataMost*w); at += w {
			if v := word(at); v != 0 && v%h.word == 0 && h.guardedAt(v, n, pool, end) {
				return
			}
		}
	}
}

// guardedAt reads the records of n blocks; false if they are of none.
func (h *Heap) guardedAt(at, n, pool, end uint64) bool {
	record := 2*h.word + 2*(traceBytes+(h.word+8+7)&^7) + 8
	flag := record - 8 // IsDeallocated
	if h.word == 4 {   // the compiler of 32 bits aligns numbers of 64 bits by 4
		record = 2*h.word + 2*(traceBytes+h.word+8) + 4
		flag = record - 4
	}
	b := h.mem.Bytes(at, int(n*record))
	if b == nil {
		return false
	}
	var list []large
	for ; len(b) > 0; b = b[record:] {
		user, size := h.mem.Arch.Word(b), h.mem.Arch.Word(b[h.word:])
		if user == 0 {
			continue
		}
		slot := user &^ (pageBytes - 1)
		if user < pool || user >= end || (slot-pool)/pageBytes%2 != 1 || size > slot+pageBytes-user || b[flag] > 1 {
			return false
		}
		list = append(list, large{start: slot, end: slot + pageBytes, user: user, size: size, guarded: true, freed: b[flag] == 1})
	}
	h.large = append(h.large, list...)
	return len(list) > 0
}

// sortLarge puts what has mappings of its own in order.
func (h *Heap) sortLarge() {
	slices.SortFunc(h.large, func(a, b large) int { return cmp.Compare(a.start, b.start) })
	end := uint64(0)
	h.large = slices.DeleteFunc(h.large, func(l large) bool {
		if l.start < end {
			return true
		}
		end = l.end
		return false
	})
}

// block is what others see of a block with a mapping of its own.
func (l *large) block() heap.Block {
	b := heap.Block{Start: l.user, Size: l.size, Mapped: true}
	if l.freed {
		b.Free, b.List = true, "guarded slot"
	}
	return b
}

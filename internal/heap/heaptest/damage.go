package heaptest

import (
	"encoding/binary"
	"testing"
	"time"

	"github.com/corewalk/corewalk/internal/heap"
	"github.com/corewalk/corewalk/internal/vars/types"
	"github.com/corewalk/corewalk/unwind/arch"
)

// A damaged process reads as another one, but for some words.
type damaged struct {
	heap.Process
	words map[uint64]uint64 // by their aligned addresses
	read  func(at uint64, n int)
}

func (d *damaged) ReadMem(at arch.Address, b []byte) (int, error) {
	n, err := d.Process.ReadMem(at, b)
	if d.read != nil {
		d.read(at, n)
	}
	for w, v := range d.words {
		var word [8]byte
		binary.LittleEndian.PutUint64(word[:], v)
		for i, c := range word {
			if off := w + uint64(i) - at; off < uint64(n) {
				b[off] = c
			}
		}
	}
	return n, err
}

// SymbolNamed finds what the process finds.
func (d *damaged) SymbolNamed(name string) (addr, size uint64, ok bool) {
	if p, is := d.Process.(interface {
		SymbolNamed(name string) (addr, size uint64, ok bool)
	}); is {
		return p.SymbolNamed(name)
	}
	return 0, 0, false
}

// TypeOfUnit finds what the process finds.
func (d *damaged) TypeOfUnit(code uint64, name string) (*types.Type, bool) {
	if p, is := d.Process.(interface {
		TypeOfUnit(code uint64, name string) (*types.Type, bool)
	}); is {
		return p.TypeOfUnit(code, name)
	}
	return nil, false
}

func (d *damaged) ReadWord(at arch.Address) (uint64, error) {
	var word [8]byte
	b := word[:d.Arch().WordSize]
	if n, err := d.ReadMem(at, b); n < len(b) {
		return 0, err
	}
	return d.Arch().Word(b), nil
}

// Changed is a process some of whose words are others, by their addresses, which are aligned.
func Changed(p heap.Process, words map[uint64]uint64) heap.Process {
	return &damaged{Process: p, words: words}
}

// Fuzz walks the heap of a recorded process with other words where the walk reads: it must end, and soon. find is to bound its work to some
// thousands of blocks.
func Fuzz(f *testing.F, r *Recording, find func(heap.Process) heap.Allocator) {
	f.Helper()
	p := r.Process()
	type span struct {
		at uint64
		n  int
	}
	var spans []span
	whole := &damaged{Process: p, read: func(at uint64, n int) {
		if len(spans) < 1<<16 && n > 0 {
			spans = append(spans, span{at, n})
		}
	}}
	walk := func(p heap.Process) {
		h := find(p)
		if h == nil {
			return
		}
		h.Damages()
		n := 0
		h.Blocks(func(b heap.Block) bool {
			if n++; n%64 == 0 {
				h.BlockAt(b.Start)
			}
			return true
		})
	}
	walk(whole)
	// Each 13 bytes say which word that is read has another value, and which: the value itself, or one near an address that was read.
	f.Add([]byte("\x01\x00\x00\x00\x01\xff\xff\xff\xff\xff\xff\xff\xff"))
	f.Add([]byte("\x02\x00\x02\x00\x00\x41\x41\x41\x41\x41\x41\x41\x41\x09\x00\x02\x00\x01\x08\x00\x00\x00\x00\x00\x00\x00"))
	f.Fuzz(func(t *testing.T, data []byte) {
		d := &damaged{Process: p, words: map[uint64]uint64{}}
		for ; len(data) >= 13 && len(d.words) < 16; data = data[13:] {
			s := spans[int(binary.LittleEndian.Uint16(data))%len(spans)]
			at := (s.at + uint64(binary.LittleEndian.Uint16(data[2:]))*8%uint64(s.n)) &^ 7
			v := binary.LittleEndian.Uint64(data[5:])
			if data[4]&1 != 0 {
				v = spans[int(v>>8&0xffff)%len(spans)].at + uint64(int8(v))*8
			}
			d.words[at] = v
		}
		start := time.Now()
		walk(d)
		if took := time.Since(start); took > 20*time.Second {
			t.Errorf("the walk took %v", took)
		}
	})
}

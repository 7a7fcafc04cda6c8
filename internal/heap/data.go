package heap

import (
	"encoding/binary"

	"github.com/corewalk/corewalk/internal/procmem"
	"github.com/corewalk/corewalk/libstate"
	"github.com/corewalk/corewalk/unwind/arch"
)

// MaxData is how much of a library's writable data most allocators search.
const MaxData = 8 << 20

// maxKept is how much data KeptData has.
const maxKept = 16 << 20

// KeptData is the data of a process's libraries that was read already. A Process with a method KeptData, which returns one, has it read once for all
// allocators that are looked for.
type KeptData struct {
	parts map[[2]uint64][]byte // by where they begin, and how many bytes were asked for
	bytes int
}

// read returns n bytes of data, or as many as are there. buf is for those that are not kept.
func (k *KeptData) read(mem procmem.Reader, at, n uint64, buf *[]byte) []byte {
	if k != nil {
		if b, ok := k.parts[[2]uint64{at, n}]; ok {
			return b
		}
		if n <= maxKept-uint64(k.bytes) {
			b := make([]byte, n)
			b = b[:mem.Fill(at, b)]
			if k.parts == nil {
				k.parts = map[[2]uint64][]byte{}
			}
			k.parts[[2]uint64{at, n}] = b
			k.bytes += int(n)
			return b
		}
	}
	if uint64(len(*buf)) < n {
		*buf = make([]byte, min(n, procmem.MaxBytes))
	}
	b := (*buf)[:min(n, uint64(len(*buf)))]
	return b[:mem.Fill(at, b)]
}

// Data calls yield for the writable data of the libraries, the program among them, until it returns false: allocators have their first records there.
// Of each, most bytes are read.
// The bytes are good until yield returns, and must not be changed.
func Data(p Process, most uint64, yield func(at uint64, b []byte) bool) {
	libs := p.LibraryTracker()
	if libs == nil {
		return
	}
	var kept *KeptData
	if k, ok := p.(interface{ KeptData() *KeptData }); ok {
		kept = k.KeptData()
	}
	mem := procmem.Of(p)
	list, _ := libs.Libraries(false)
	var buf []byte
	for _, lib := range list {
		left := most
		for _, m := range lib.Mappings {
			if m.Perm&libstate.Write == 0 || m.Perm&libstate.Exec != 0 && m.Perm&libstate.Unknown == 0 || left == 0 {
				continue
			}
			n := min(uint64(m.End-m.Start), left)
			left -= n
			if !yield(uint64(m.Start), kept.read(mem, uint64(m.Start), n, &buf)) {
				return
			}
		}
	}
}

// Words calls do for the words in b that are not zero, with where they are, until it returns false; then it returns false, too. What allocators are found by
// is in tables that are nearly all zero.
func Words(a *arch.Arch, b []byte, do func(off int, v uint64) bool) bool {
	little := binary.LittleEndian
	if a.WordSize != 8 || a.ByteOrder != little {
		for off := 0; off+a.WordSize <= len(b); off += a.WordSize {
			if v := a.Word(b[off:]); v != 0 && !do(off, v) {
				return false
			}
		}
		return true
	}
	const line = 64
	off := 0
	for ; off+line <= len(b); off += line {
		l := (*[line]byte)(b[off:])
		if little.Uint64(l[0:])|little.Uint64(l[8:])|little.Uint64(l[16:])|little.Uint64(l[24:])|
			little.Uint64(l[32:])|little.Uint64(l[40:])|little.Uint64(l[48:])|little.Uint64(l[56:]) == 0 {
			continue
		}
		for k := 0; k < line; k += 8 {
			if v := little.Uint64(l[k:]); v != 0 && !do(off+k, v) {
				return false
			}
		}
	}
	for ; off+8 <= len(b); off += 8 {
		if v := little.Uint64(b[off:]); v != 0 && !do(off, v) {
			return false
		}
	}
	return true
}

// Crowded reports whether more than few other words near one in data are less away from it than least: then they are not of a table of pointers to what is
// that large.
func Crowded(a *arch.Arch, b []byte, off int, least uint64, few int) bool {
	const near = 32
	word := a.WordSize
	v := a.Word(b[off:])
	for k := max(off-near*word, off%word); k < min(off+near*word, len(b)-word+1); k += word {
		if u := a.Word(b[k:]); k != off && u != 0 && (u-v < least || v-u < least) {
			if few--; few < 0 {
				return true
			}
		}
	}
	return false
}

// A Window reads long tables piece by piece.
type Window struct {
	buf []byte
	// Asked is how many bytes were asked for.
	Asked uint64
}

const (
	firstPiece = 4096 // a little is enough to see that something is no table
	pieceBytes = 256 << 10
)

// Words calls do for the words of n bytes of memory that are not zero, with their number, until it returns false. What is not there is left out.
func (w *Window) Words(mem procmem.Reader, at, n uint64, do func(i, v uint64) bool) {
	if w.buf == nil {
		w.buf = make([]byte, pieceBytes)
	}
	word := uint64(mem.Arch.WordSize)
	size := uint64(firstPiece)
	for off := uint64(0); off < n; off, size = off+size, min(2*size, pieceBytes) {
		b := w.buf[:min(size, n-off)]
		w.Asked += uint64(len(b))
		if !Words(mem.Arch, b[:mem.Fill(at+off, b)], func(k int, v uint64) bool { return do((off+uint64(k))/word, v) }) {
			return
		}
	}
}

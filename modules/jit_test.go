package modules_test

import (
	"bytes"
	"testing"

	"github.com/corewalk/corewalk/libstate"
	"github.com/corewalk/corewalk/modules"
)

func jit(at, size uint64) *libstate.Library {
	return &libstate.Library{Kind: libstate.JIT, HeaderAddr: at, ImageSize: size}
}

// The file of JIT-compiled code is read from where the library says, all of it.
func TestJITFile(t *testing.T) {
	// Its sections are beyond what is read at once.
	file := elfWith(idA, code, symTab)
	long := append(bytes.Clone(file[:0x400]), make([]byte, 3<<20)...)
	le.PutUint64(long[40:], 2<<20)
	copy(long[2<<20:], file[0x400:0x800])
	copy(long[0xc00:], file[0xc00:])
	for _, data := range [][]byte{file, long} {
		size := uint64(len(data))
		set := newSet(t, regions{base: data})
		r := set.Resolve(jit(base, size))
		if r.Match != modules.Matched || r.Image == nil || r.Why != "" || r.Path != "" || r.Image.DebugOnly() || !bytes.Equal(r.Image.BuildID(), idA) {
			t.Fatalf("%+v", r)
		}
		if w := r.Image.Warnings(); len(w) > 0 {
			t.Errorf("warnings %q", w)
		}
		if set.Image(jit(base, size)) != r.Image {
			t.Error("read again")
		}
		for _, lib := range []*libstate.Library{jit(base+1, size), jit(base-1, size), jit(base, 16), jit(base, 0), jit(0, size)} {
			if r := newSet(t, regions{base: data}).Resolve(lib); r.Match != modules.Missing || r.Image != nil || r.Why == "" {
				t.Errorf("%#x bytes at %#x: %+v", lib.ImageSize, lib.HeaderAddr, r)
			}
		}
	}
}

// No byte beyond the file is read, and what memory lacks of it is left out.
func TestJITSize(t *testing.T) {
	file := elfWith(idA, noCode, symTab)
	tail := append(bytes.Clone(file), bytes.Repeat([]byte{0xff}, 64)...)
	lib := jit(base, uint64(len(file)))
	r := newSet(t, exact{regions{base: tail}, base + lib.ImageSize, t}).Resolve(lib)
	if r.Match != modules.Matched || !r.Image.DebugOnly() {
		t.Errorf("%+v", r)
	}
	if r := newSet(t, regions{base: file}).Resolve(jit(base, 8<<20)); r.Match != modules.Matched {
		t.Errorf("its end is not in the dump: %+v", r)
	}
}

// exact is memory that nobody may read beyond an address.
type exact struct {
	regions
	end uint64
	t   *testing.T
}

func (m exact) ReadMem(addr uint64, b []byte) (int, error) {
	if addr+uint64(len(b)) > m.end {
		m.t.Errorf("read of %d bytes at %#x", len(b), addr)
	}
	return m.regions.ReadMem(addr, b)
}

// The files of one process take 256 MiB in all.
func TestJITBound(t *testing.T) {
	const most = 256 << 20
	file := elfWith(idA, code)
	// Each at an address of its own: what has been read is not read again.
	mem := regions{}
	for i := range uint64(4) {
		mem[base+i<<32] = file
	}
	for _, c := range []struct {
		name  string
		sizes []uint64
		last  modules.Match // of the last; the others are read
	}{
		{"all at once", []uint64{most}, modules.Matched},
		{"more at once", []uint64{most + 1}, modules.Missing},
		{"far more", []uint64{1 << 63}, modules.Missing},
		{"together", []uint64{most - 0x2000, 0x1000, 0x1000}, modules.Matched},
		{"more together", []uint64{most - 0x1fff, 0x1000, 0x1000}, modules.Missing},
	} {
		set := newSet(t, mem)
		for i, size := range c.sizes {
			want := modules.Matched
			if i == len(c.sizes)-1 {
				want = c.last
			}
			r := set.Resolve(jit(base+uint64(i)<<32, size))
			if r.Match != want || want == modules.Missing && r.Why != "files of JIT-compiled code in memory are larger than 268435456 bytes" {
				t.Errorf("%s: %#x bytes: %+v", c.name, size, r)
			}
		}
	}
	// One that is too large alone takes no room from others.
	set := newSet(t, mem)
	set.Resolve(jit(base, most+1))
	if r := set.Resolve(jit(base+1<<32, most)); r.Match != modules.Matched {
		t.Errorf("after one that is too large: %+v", r)
	}
}

package corestate

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math/rand/v2"
	"testing"

	"github.com/corewalk/corewalk/internal/corebuild"
	"github.com/corewalk/corewalk/internal/format/elffile"
	"github.com/corewalk/corewalk/libstate"
	"github.com/corewalk/corewalk/unwind/arch"
)

const (
	rFlag  = elffile.PF_R
	rxFlag = elffile.PF_R | elffile.PF_X
	rwFlag = elffile.PF_R | elffile.PF_W
)

// threaded begins a core that can be opened.
func threaded() *corebuild.Core {
	b := corebuild.New()
	b.Thread(1, 11, corebuild.AMD64Regs(map[arch.Reg]uint64{arch.RIP: 0x401000, arch.RSP: 0x7000}))
	return b
}

func fill(n int, first byte) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = first + byte(i)
	}
	return b
}

func TestReadMem(t *testing.T) {
	b := threaded()
	b.Load(0x1000, rwFlag, 0x10, fill(16, 0x00))
	b.Load(0x1010, rwFlag, 0x10, fill(16, 0x10)) // adjacent
	b.Load(0x2000, rwFlag, 0x20, fill(8, 0x80))  // the rest was left out
	b.Load(0x3000, rwFlag, 0x10, nil)            // all of it
	b.Load(0x4000, rwFlag, 0, nil)               // empty
	b.Files(corebuild.Mapping{Start: 0x5000, End: 0x6000, Path: "/only/in/the/note"})
	c := open(t, b)
	for _, tt := range []struct {
		addr arch.Address
		n    int // to read
		got  int // readable
		at   arch.Address
		err  error
	}{
		{0x1000, 16, 16, 0, nil},
		{0x1008, 16, 16, 0, nil},
		{0x1000, 32, 32, 0, nil},
		{0x1018, 16, 8, 0x1020, arch.ErrUnmapped},
		{0x0fff, 4, 0, 0x0fff, arch.ErrUnmapped},
		{0x2000, 16, 8, 0x2008, arch.ErrNotInDump},
		{0x2010, 16, 0, 0x2010, arch.ErrNotInDump},
		{0x3000, 1, 0, 0x3000, arch.ErrNotInDump},
		{0x4000, 1, 0, 0x4000, arch.ErrUnmapped},
		{0x5008, 1, 0, 0x5008, arch.ErrNotInDump},
		{0x1000, 0, 0, 0, nil},
		{^arch.Address(0), 2, 0, ^arch.Address(0), arch.ErrUnmapped},
	} {
		buf := bytes.Repeat([]byte{0xee}, tt.n)
		n, err := c.ReadMem(tt.addr, buf)
		if n != tt.got || !errors.Is(err, tt.err) || (err == nil) != (tt.err == nil) {
			t.Errorf("ReadMem(%#x, %d) = %d, %v; want %d, %v", tt.addr, tt.n, n, err, tt.got, tt.err)
		}
		var me *arch.MemError
		if errors.As(err, &me) && me.Addr != tt.at {
			t.Errorf("ReadMem(%#x, %d) failed at %#x, want %#x", tt.addr, tt.n, me.Addr, tt.at)
		}
		for i := range n {
			if a := tt.addr + uint64(i); a < 0x2000 && buf[i] != byte(a) || a >= 0x2000 && buf[i] != byte(a)+0x80 {
				t.Errorf("byte at %#x is %#x", a, buf[i])
			}
		}
		for _, x := range buf[n:] {
			if x != 0xee {
				t.Fatalf("ReadMem(%#x, %d) made bytes up", tt.addr, tt.n)
			}
		}
		view := c.ViewMem(tt.addr, tt.n)
		if piece := min(n, int(-tt.addr&0xf)); len(view) > n || len(view) < piece || !bytes.Equal(view, buf[:len(view)]) {
			t.Errorf("ViewMem(%#x, %d) is %x, and %x was read", tt.addr, tt.n, view, buf[:n])
		}
	}
}

func TestReadWord(t *testing.T) {
	b := threaded()
	b.Load(0x1000, rwFlag, 0x10, fill(16, 0))
	b.Load(0x1010, rwFlag, 0x10, fill(16, 0x10))
	b.Load(0x2000, rwFlag, 0x10, fill(16, 0))
	c := open(t, b)
	for addr, want := range map[arch.Address]uint64{0x1000: 0x0706050403020100, 0x1001: 0x0807060504030201, 0x100c: 0x131211100f0e0d0c} {
		if v, err := c.ReadWord(addr); v != want || err != nil {
			t.Errorf("ReadWord(%#x) = %#x, %v; want %#x", addr, v, err, want)
		}
	}
	if v, err := c.ReadWord(0x1019); !errors.Is(err, arch.ErrUnmapped) || v != 0 {
		t.Errorf("a word over the end: %#x, %v", v, err)
	}
	if n := testing.AllocsPerRun(100, func() { c.ReadWord(0x1008); c.ReadWord(0x100c); c.ReadWord(0x2000) }); n != 0 {
		t.Errorf("ReadWord allocates %v times", n)
	}
	var m arch.Memory = c
	if n := testing.AllocsPerRun(100, func() { m.ReadWord(0x1008) }); n != 0 {
		t.Errorf("ReadWord through Memory allocates %v times", n)
	}

	be := corebuild.New32(elffile.EM_PPC, binary.BigEndian)
	be.Thread(1, 11, make([]byte, 200))
	be.Load(0xfffffff8, rwFlag, 8, fill(8, 0))
	c = open(t, be)
	if v, err := c.ReadWord(0xfffffffc); v != 0x04050607 || err != nil {
		t.Errorf("big-endian word at the very end: %#x, %v", v, err)
	}
	if _, err := c.ReadWord(0xfffffffe); err == nil {
		t.Error("a word past the end of the address space")
	}
}

// What is viewed was read.
func TestViewMemIsRecorded(t *testing.T) {
	b := threaded()
	b.Load(0x1000, rwFlag, 0x10, fill(16, 0))
	c := open(t, b)
	c.reads = new(Reads)
	if v := c.ViewMem(0x1008, -1); len(v) != 0 || c.reads.Was(0x1008) {
		t.Errorf("%x of -1 bytes", v)
	}
	if v := c.ViewMem(0x1004, 4); !bytes.Equal(v, fill(4, 4)) || c.reads.Was(0x1003) || !c.reads.Was(0x1004) || !c.reads.Was(0x1007) || c.reads.Was(0x1008) {
		t.Errorf("%x, recorded as %+v", v, c.reads.pages)
	}
}

func TestTruncatedMemory(t *testing.T) {
	b := threaded()
	b.Load(0x1000, rwFlag, 0x1000, fill(0x1000, 1))
	b.Load(0x3000, rwFlag, 0x2000, fill(0x1000, 2))
	b.Load(0x8000, rwFlag, 0x1000, fill(0x1000, 3))
	whole := b.Bytes()
	cut, have, want := open(t, b).Truncated()
	if cut || have != int64(len(whole)) || want != have {
		t.Errorf("whole: %v, %d of %d", cut, have, want)
	}
	c, err := openBytes("core", whole[:len(whole)-0x1800], nil) // the last and half of the second are lost
	if err != nil {
		t.Fatal(err)
	}
	if cut, have, want := c.Truncated(); !cut || have != int64(len(whole)-0x1800) || want != int64(len(whole)) {
		t.Errorf("cut: %v, %d of %d", cut, have, want)
	}
	for addr, want := range map[arch.Address]error{
		0x1fff: nil, 0x37ff: nil, 0x3800: arch.ErrTruncated, 0x3fff: arch.ErrTruncated,
		0x4000: arch.ErrNotInDump, 0x8000: arch.ErrTruncated, 0x5000: arch.ErrUnmapped,
	} {
		if _, err := c.ReadMem(addr, make([]byte, 1)); !errors.Is(err, want) {
			t.Errorf("byte at %#x: %v, want %v", addr, err, want)
		}
	}
	segs := c.Segments()
	if len(segs) != 3 || segs[1].InFile != 0x1000 || segs[1].InDump != 0x800 || segs[1].End-segs[1].Start != 0x2000 ||
		segs[1].Perm != libstate.Read|libstate.Write || segs[2].InDump != 0 {
		t.Errorf("segments %+v", segs)
	}
}

// Segments in disorder and on top of each other: the first header wins, byte by
// byte, as a slow reading of the headers has it.
func TestOverlappingSegments(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	for round := range 300 {
		b := threaded()
		type seg struct{ start, memsz, filesz uint64 }
		var list []seg
		for i := range 1 + rnd.IntN(6) {
			s := seg{start: 0x1000 + rnd.Uint64N(40), memsz: rnd.Uint64N(30)}
			s.filesz = rnd.Uint64N(s.memsz + 1)
			list = append(list, s)
			b.Load(s.start, rwFlag, s.memsz, bytes.Repeat([]byte{byte(i + 1)}, int(s.filesz)))
		}
		c := open(t, b)
		for a := arch.Address(0xff8); a < 0x1050; a++ {
			want, wantErr := byte(0), arch.ErrUnmapped
			for i, s := range list {
				if a >= s.start && a-s.start < s.memsz {
					want, wantErr = byte(i+1), nil
					if a-s.start >= s.filesz {
						want, wantErr = 0, arch.ErrNotInDump
					}
					break
				}
			}
			var buf [1]byte
			if _, err := c.ReadMem(a, buf[:]); !errors.Is(err, wantErr) || buf[0] != want {
				t.Fatalf("round %d, %v: byte at %#x is %d, %v; want %d, %v", round, list, a, buf[0], err, want, wantErr)
			}
		}
	}
}

func TestSegmentsAtTheEdges(t *testing.T) {
	b := threaded()
	b.Load(0xffffffffffffff00, rwFlag, 0x1000, fill(0x100, 0)) // over the end of the address space
	b.Load(0x1000, rwFlag, 4, fill(16, 0))                     // more in the file than in memory
	c := open(t, b)
	if v, err := c.ReadWord(0xffffffffffffff00); err != nil || v != 0x0706050403020100 {
		t.Errorf("%#x, %v", v, err)
	}
	if v, err := c.ReadWord(0x1008); err != nil || v != 0x0f0e0d0c0b0a0908 {
		t.Errorf("%#x, %v", v, err)
	}
}

func TestConcurrentReads(t *testing.T) {
	b := threaded()
	for i := range uint64(16) {
		b.Load(0x1000*(i+1), rwFlag, 0x1000, fill(0x1000, byte(i)))
	}
	c := open(t, b)
	done := make(chan bool)
	for g := range uint64(4) {
		go func() {
			ok := true
			for i := range uint64(2000) {
				k := (i*7 + g) % 16
				v, err := c.ReadWord(0x1000 * (k + 1))
				ok = ok && err == nil && byte(v) == byte(k)
			}
			done <- ok
		}()
	}
	for range 4 {
		if !<-done {
			t.Error("a concurrent read went wrong")
		}
	}
}

func BenchmarkReadWord(b *testing.B) {
	build := threaded()
	for i := range uint64(100) {
		build.Load(0x10000*(i+1), rwFlag, 0x8000, make([]byte, 0x8000))
	}
	c := open(b, build)
	var m arch.Memory = c
	b.Run("one stack", func(b *testing.B) {
		for i := 0; b.Loop(); i++ {
			m.ReadWord(0x50000 + uint64(i)%4096*8)
		}
	})
	b.Run("scattered", func(b *testing.B) {
		for i := 0; b.Loop(); i++ {
			m.ReadWord(0x10000 * (1 + uint64(i)*37%100))
		}
	})
}

package pdb

import (
	"errors"
	"fmt"
	"math/rand"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/corewalk/corewalk/internal/fixture"
)

func TestOtherFormats(t *testing.T) {
	for text, want := range map[string]error{
		"":                                  ErrFormat,
		"MZ":                                ErrFormat,
		magic7:                              ErrFormat,
		magic2 + "\r\n\x1aJG\x00":           ErrUnsupported,
		magicPort + "\x01\x00\x01":          ErrUnsupported,
		magic7 + string(make([]byte, 4096)): ErrFormat,
	} {
		if _, err := Open([]byte(text)); !errors.Is(err, want) {
			t.Errorf("%.40q: %v, want %v", text, err, want)
		}
	}
}

// TestStreamAcrossBlocks reads every part of a stream with blocks in arbitrary order.
func TestStreamAcrossBlocks(t *testing.T) {
	c := &container{blockSize: 512, data: make([]byte, 512*6), blocks: 6}
	s := stream{c, 512*4 + 100, []uint32{3, 4, 1, 0, 5}}
	for i := range s.size {
		c.data[int(s.blocks[i/512])*512+i%512] = byte(i * 7 >> 3)
	}
	for off := 0; off <= s.size; off += 37 {
		for n := 0; n <= s.size-off; n += 101 {
			b, ok := s.bytes(off, n)
			if !ok || len(b) != n {
				t.Fatalf("%d bytes at %d: %v", n, off, ok)
			}
			for i := range b {
				if b[i] != byte((off+i)*7>>3) {
					t.Fatalf("%d bytes at %d: wrong at %d", n, off, i)
				}
			}
		}
		if _, ok := s.bytes(off, s.size-off+1); ok {
			t.Fatalf("bytes after the end at %d", off)
		}
	}
}

func TestOmap(t *testing.T) {
	m := []omap{{0x1000, 0x5000}, {0x1010, 0}, {0x1020, 0x3000}}
	for _, c := range []struct {
		in, out uint32
		ok      bool
	}{{0xfff, 0, false}, {0x1000, 0x5000, true}, {0x100f, 0x500f, true}, {0x1010, 0, false}, {0x1030, 0x3010, true}} {
		if out, ok := moved(m, c.in); out != c.out || ok != c.ok {
			t.Errorf("%#x: %#x, %v", c.in, out, ok)
		}
	}
	if out, ok := moved(nil, 7); out != 7 || !ok {
		t.Error("no map must leave addresses alone")
	}
}

func TestAnnotations(t *testing.T) {
	for _, c := range []struct {
		b    []byte
		want string
	}{
		// line +3, code +4; code +2 and line +1; length 5
		{[]byte{opLineOffset, 6, opAddCodeOffset, 4, opAddCodeAndLineOffset, 0x22, opCodeLength, 5}, "4-6:3 6-11:4 "},
		// a length, then a gap: the next delta is relative to the end
		{[]byte{opAddCodeOffset, 1, opCodeLength, 2, opAddCodeOffset, 4, opCodeLength, 1}, "1-3:0 7-8:0 "},
		{[]byte{opAddCodeOffset, 1, opCodeLengthAndOffset, 3, 9, opLineOffset, 3}, "1-10:0 10-13:0 "},
		{[]byte{opCodeOffset, 0x81, 0x02, opCodeLength, 0xc0, 1, 0, 0}, "258-65794:0 "},
		{[]byte{opAddCodeOffset, 1, opCodeLength}, ""},
		{[]byte{77, 1}, ""},
		{[]byte{opAddCodeOffset, 0xff}, ""},
	} {
		got := ""
		a := annotations{b: c.b}
		for a.next() {
			if a.have {
				got += fmt.Sprintf("%d-%d:%d ", a.rowStart, a.rowEnd, a.row.line)
			}
		}
		if got != c.want {
			t.Errorf("% x: %s, want %s", c.b, got, c.want)
		}
	}
	if signed(7) != -3 || signed(6) != 3 {
		t.Error("signs")
	}
}

// TestPublicsOnly uses a program compiled without debug information: only the linker's
// names are known.
func TestPublicsOnly(t *testing.T) {
	clang, link := fixture.LLVM(t, "clang"), fixture.LLVM(t, "lld-link")
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "c.c"), []byte("int g(int x) { return x; }\nint start(void) { return g(3); }\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{
		{clang, "--target=x86_64-pc-windows-msvc", "-c", "c.c", "-o", "c.obj"},
		{link, "/debug", "/nodefaultlib", "/entry:start", "/subsystem:console", "c.obj", "/out:c.exe", "/pdb:c.pdb"},
	} {
		cmd := exec.Command(args[0], args[1:]...)
		cmd.Dir = dir
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%s: %v\n%s", cmd, err, out)
		}
	}
	data, err := os.ReadFile(filepath.Join(dir, "c.pdb"))
	if err != nil {
		t.Fatal(err)
	}
	f, err := Open(data)
	if err != nil {
		t.Fatal(err)
	}
	for rva, want := range map[uint32]string{0xfff: "", 0x1000: "g 0x1000+16", 0x100f: "g 0x1000+16", 0x1010: "start 0x1010+0", 0x9000: ""} {
		s, ok, err := f.Lookup(rva)
		got := ""
		if ok {
			got = fmt.Sprintf("%s %#x+%d", s.Name, s.Start, s.Size)
		}
		if got != want || err != nil || ok && !s.Public {
			t.Errorf("%#x: %s, %v; want %s", rva, got, err, want)
		}
	}
}

// exercise calls every method.
func exercise(data []byte) {
	f, err := Open(data)
	if err != nil {
		return
	}
	for rva := uint32(0x1000); rva < 0x1400; rva += 5 {
		f.Lookup(rva)
		f.WinFrame(rva)
		f.FuncAt(rva)
		f.VirtualFrame(rva, 0x8000, func(string) (uint32, bool) { return 0x9000, true }, func(uint64) (uint64, error) { return 4, nil })
	}
	for id := TypeID(0); id < firstRecord+0x80; id++ {
		t, _ := f.Type(id)
		f.Args(t.Args)
		f.Members(t.Fields)
		f.Definition(id)
		f.Global(t.Name)
	}
}

// TestDamage changes bytes in all parts of a file: only errors and wrong results may come
// of it.
func TestDamage(t *testing.T) {
	p := build(t, nil, "x86_64-pc-windows-msvc", "-O2")
	r := rand.New(rand.NewSource(1))
	vars, _ := buildVars(t, "x86_64-pc-windows-msvc", "-O2")
	rounds := 400
	if !fixture.IsLong(t) {
		rounds = 100
	}
	for i := range rounds {
		data := append([]byte(nil), p.data...)
		if i >= rounds/2 {
			data = append([]byte(nil), vars.data...)
		}
		for range 1 + r.Intn(20) {
			data[r.Intn(len(data))] = byte(r.Intn(256))
		}
		exercise(data[:len(data)-r.Intn(2)*r.Intn(len(data)/2)])
	}
}

func FuzzOpen(f *testing.F) {
	f.Add([]byte(magic7))
	if _, err := exec.LookPath("clang-19"); err == nil {
		p := build(f, nil, "i686-pc-windows-msvc", "-O2")
		f.Add(p.data)
		p, _ = buildVars(f, "x86_64-pc-windows-msvc", "-O2")
		f.Add(p.data)
	}
	f.Fuzz(func(t *testing.T, data []byte) { exercise(data) })
}

// TestGlobal finds static members by their names.
func TestGlobal(t *testing.T) {
	_, f := buildVars(t, "x86_64-pc-windows-msvc", "-O0")
	rva, ok := f.Global("ns::Base::count")
	if x, err := f.sections(); err != nil || !ok || x.list[2].start != rva { // the first of .data
		t.Errorf("%#x, %v, %v", rva, ok, err)
	}
	for _, name := range []string{"", "ns::Base", "ns::Base::counter", "start"} {
		if rva, ok := f.Global(name); ok {
			t.Errorf("%s at %#x", name, rva)
		}
	}
}

// BenchmarkLookup counts the blocks of 4 KB that the first address of a file needs,
// including headers and directory, and measures the time of later ones.
func BenchmarkLookup(b *testing.B) {
	p := build(b, nil, "x86_64-pc-windows-msvc", "-O2")
	f, err := Open(p.data)
	if err != nil {
		b.Fatal(err)
	}
	touched := make(map[uint32]bool)
	f.c.touch = func(n uint32) { touched[n] = true }
	start, _ := p.text(b)
	if _, ok, err := f.Lookup(start + 8); !ok || err != nil {
		b.Fatal(err)
	}
	f.c.touch = nil
	for b.Loop() {
		f.Lookup(start + 8)
	}
	b.ReportMetric(float64(len(touched)), "blocks")
	b.ReportMetric(float64(f.c.blocks), "blocks-in-file")
}

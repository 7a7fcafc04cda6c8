package pdb

import (
	"bytes"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/corewalk/corewalk/internal/format/pefile"
	"github.com/corewalk/corewalk/internal/format/unwindrules"
	"github.com/corewalk/corewalk/internal/format/winunwind"
	"github.com/corewalk/corewalk/unwind/arch"
)

// framesSource has frames of all kinds.
const framesSource = `int _fltused; volatile int sink;
void *memset(void *p, int c, unsigned long long n) { volatile char *q = p; while (n--) *q++ = c; return p; }
__attribute__((noinline)) int leaf(int n) { return n + sink; }
__attribute__((noinline)) int saves(int a, int b, int c, int d) { int e = leaf(a), f = leaf(b), g = leaf(c); return leaf(e + f + g + d) + a + b + c + e; }
__attribute__((noinline)) int big(int n) { volatile char p[9000]; p[n] = leaf(n); return p[n / 2]; }
__attribute__((noinline)) int grows(int n) { volatile char *p = __builtin_alloca(n); p[0] = leaf(n); return p[n / 2] + saves(n, 1, 2, 3); }
__attribute__((noinline)) int growsbig(int n) { volatile char room[400]; volatile char *p = __builtin_alloca(n); p[0] = room[n] = leaf(n); return p[n / 2] + grows(n); }
__attribute__((noinline)) int aligned(int n) { volatile _Alignas(64) char p[128]; p[n] = leaf(n); return p[n / 2] + saves(n, 4, 2, 3); }
__attribute__((noinline)) double vectors(double a, double b) { double c = a * b; int n = leaf(3); double d = a + n; n = leaf(4); return c + d + n + a + b; }
__attribute__((naked)) int bare(void) { __asm__("push %rax; pop %rax; ret"); }
int start(void) { return (int)vectors(sink, 3) + big(4) + growsbig(5) + aligned(6) + bare(); }
`

// TestFrameSize compares sizes of frames with the unwind tables of the image.
func TestFrameSize(t *testing.T) {
	for _, level := range []string{"-O0", "-O1", "-O2", "-Os"} {
		p := buildSources(t, map[string]string{"f.c": framesSource}, "x86_64-pc-windows-msvc", level, "-fno-builtin", "-fno-stack-protector")
		f, err := Open(p.data)
		if err != nil {
			t.Fatal(err)
		}
		image, err := pefile.Parse(must(os.ReadFile(p.exe)))
		if err != nil {
			t.Fatal(err)
		}
		table := must(winunwind.New(arch.AMD64, image.Pdata(), image))
		start, end := p.text(t)
		seen, moving := 0, 0
		for rva := start; rva < end; rva++ {
			w, err := f.FrameSize(rva)
			if err != nil {
				t.Fatal(err)
			}
			if w == nil || rva-w.Start != max(w.Body, 1) {
				continue
			}
			s, _, _ := f.Lookup(rva)
			if s.Name == "bare" {
				t.Error("a naked function has a size")
			}
			if !w.LLVM || !w.ByLines {
				t.Errorf("%s: %+v", s.Name, w)
			}
			fn, ok := table.Find(rva)
			if !ok {
				if w.FixedSize() != 0 {
					t.Errorf("%s %s: %+v; it has no frame", level, s.Name, w)
				}
				continue
			}
			const sp, rbp = 0x100000, 0x200000
			var at winunwind.Frame
			at.Regs.Set(arch.RSP, sp)
			at.Regs.Set(arch.RBP, rbp)
			at.Regs.Set(arch.RIP, 0x140000000+uint64(fn.Begin)+uint64(image.At(fn.Data)[1])+1) // after the prologue
			if err := table.Step(&at, anyMemory{}, 0x140000000, false); err != nil {
				t.Fatal(err)
			}
			got, want := []uint64{sp + w.FixedSize() + 8}, at.CFA
			if w.ByRBP {
				moving++
				got = []uint64{rbp + w.Pointed()[0] + 8}
				other := *w
				other.LLVM = false
				for _, d := range other.Pointed() {
					got = append(got, rbp+d+8)
				}
				if !slices.Contains(got[1:], want) {
					t.Errorf("%s %s: %#x for another compiler, want %#x", level, s.Name, got[1:], want)
				}
			}
			if got[0] != want {
				t.Errorf("%s %s: %#x, want %#x; %+v", level, s.Name, got[0], want, w)
			}
			if at.Saved.Has(arch.RBP) && w.PushesRBP && at.At[arch.RBP] != at.CFA-16 {
				t.Errorf("%s %s: rbp is at %#x, not first", level, s.Name, at.At[arch.RBP])
			}
			if w.KeepsRegisters() && at.Saved&^arch.Mask(arch.RBP, arch.RIP) != 0 {
				t.Errorf("%s %s: saves registers", level, s.Name)
			}
			seen++
		}
		if seen < 7 || moving < 3 {
			t.Errorf("%s: %d frames, %d of variable size", level, seen, moving)
		}
	}
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// anyMemory has each address's number at it.
type anyMemory struct{ arch.Memory }

func (anyMemory) ReadWord(addr uint64) (uint64, error) { return addr, nil }

// A function of Microsoft's compiler: its records say where prologue and epilogue are.
func TestFrameSizeOfRecords(t *testing.T) {
	const alloca, naked, local, param = 1, 1 << 7, 1 << 14, 1 << 16
	record := func(kind uint16, b []byte) []byte {
		return append(le.AppendUint16(le.AppendUint16(nil, uint16(len(b)+2)), kind), b...)
	}
	for _, c := range []struct {
		name           string
		machine        uint16
		size, saved    uint32
		flags          uint32
		compiler       string
		body, epilogue uint32
		want           *unwindrules.FrameSize
	}{
		{"plain", 0x8664, 0x20, 8, local * 1, "Microsoft (R) Optimizing Compiler", 4, 0x20, &unwindrules.FrameSize{Body: 4, Epilog: 0x20, Bytes: 0x20, Saved: 8}},
		{"alloca", 0x8664, 0x20, 8, alloca | local*2 | param*2, "Microsoft", 4, 0, &unwindrules.FrameSize{Body: 4, Bytes: 0x20, Saved: 8, ByRBP: true, PushesRBP: true}},
		{"aligned", 0x8664, 0x20, 0, local*1 | param*2, "rustc, LLVM", 0, 0, &unwindrules.FrameSize{ByLines: true, Bytes: 0x20, ByRBP: true, PushesRBP: true, LLVM: true}},
		{"alloca by another register", 0x8664, 0x20, 0, alloca | local*3 | param*3, "Microsoft", 4, 0, nil},
		{"naked", 0x8664, 0, 0, naked, "clang", 0, 0, nil},
		{"huge", 0x8664, 1<<30 + 1, 0, local, "clang", 0, 0, nil},
		{"too many registers", 0x8664, 0, 1<<30 + 1, local, "clang", 0, 0, nil},
		{"a prologue beyond the end", 0x8664, 8, 0, local, "Microsoft", 0x1000, 0, &unwindrules.FrameSize{Body: 0x100, Bytes: 8}},
		{"arm64", 0xaa64, 0x20, 8, local, "clang", 0, 0, nil},
	} {
		b := []byte{4, 0, 0, 0}
		b = append(b, record(symCompile3, append(make([]byte, 22), c.compiler+"\x00"...))...)
		fn := len(b)
		head := make([]byte, 36)
		le.PutUint32(head[12:], 0x100)
		le.PutUint32(head[16:], c.body)
		le.PutUint32(head[20:], c.epilogue)
		le.PutUint16(head[32:], 1)
		b = append(b, record(symGlobalProc, append(head[:35], "f\x00"...))...)
		frame := make([]byte, 26)
		le.PutUint32(frame, c.size)
		le.PutUint32(frame[12:], c.saved)
		le.PutUint32(frame[22:], c.flags)
		b = append(b, record(symFrameProc, frame)...)
		s := stored(b)
		p := &procs{symbols: view{s, 0, s.size}, list: []proc{{place{1, 0}, 0x100, fn}}}
		contribs := stored(slices.Concat(make([]byte, 4), []byte{1, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0}, make([]byte, 16)))
		f := &File{Machine: c.machine, dbi: dbi{contribs: view{contribs, 0, contribs.size}, contribOff: 4, contribSize: 28, contribN: 1}}
		code := []section{{0x1000, 0x1000, true}}
		f.sections = func() (*sections, error) { return &sections{list: code, order: orderOf(code)}, nil }
		f.modules = func() ([]*module, error) { return []*module{{procs: func() (*procs, error) { return p, nil }}}, nil }
		got, err := f.FrameSize(0x1010)
		if c.want != nil {
			c.want.Start, c.want.Size = 0x1000, 0x100
		}
		if err != nil || (got == nil) != (c.want == nil) || got != nil && *got != *c.want {
			t.Errorf("%s: %+v, %v, want %+v", c.name, got, err, c.want)
		}
		if got, err := f.FrameSize(0x1100); got != nil || err != nil {
			t.Errorf("%s: beyond the function: %+v, %v", c.name, got, err)
		}
	}
}

// The copies of .pdata and .xdata that some linkers write.
func TestUnwindTables(t *testing.T) {
	blob := func(version, header, size, rva uint32, data string) []byte {
		b := make([]byte, 32)
		for i, v := range []uint32{version, header, size, rva} {
			le.PutUint32(b[4*i:], v)
		}
		return append(b, data...)
	}
	pdata := blob(1, 32, 12, 0x4000, "abcdefghijkl")
	for _, c := range []struct {
		name         string
		pdata, xdata []byte
		moved        bool
		want         bool
	}{
		{"both", pdata, blob(1, 32, 4, 0x5000, "wxyz"), false, true},
		{"moved code", pdata, blob(1, 32, 4, 0x5000, "wxyz"), true, false},
		{"no .xdata", pdata, nil, false, false},
		{"no .pdata", nil, blob(1, 32, 4, 0x5000, "wxyz"), false, false},
		{"another version", pdata, blob(2, 32, 4, 0x5000, "wxyz"), false, false},
		{"another header", pdata, blob(1, 28, 4, 0x5000, "wxyz"), false, false},
		{"cut off", pdata, blob(1, 32, 5, 0x5000, "wxyz"), false, false},
		{"too large", pdata, blob(1, 32, 1<<31, 0x5000, "wxyz"), false, false},
		{"cut header", pdata, blob(1, 32, 4, 0x5000, "")[:31], false, false},
	} {
		ct := &container{blockSize: 4096, data: make([]byte, 3*4096), blocks: 3, dir: *stored([]byte{0, 0, 0, 0, 1, 0, 0, 0})}
		f := &File{c: ct}
		for i := range f.dbi.debug {
			f.dbi.debug[i] = -1
		}
		for kind, b := range map[int][]byte{debugPdata: c.pdata, debugXdata: c.xdata} {
			if b == nil {
				continue
			}
			n := len(ct.sizes)
			copy(ct.data[n*4096:], b)
			ct.sizes, ct.lists = append(ct.sizes, uint32(len(b))), append(ct.lists, uint32(4*n))
			f.dbi.debug[kind] = n
		}
		if c.moved {
			f.dbi.debug[debugOmapFrom] = 0
		}
		p, x := f.UnwindTables()
		if ok := string(p) == "abcdefghijkl" && string(x.At(0x5001)) == "xyz" && x.At(0x5004) == nil && x.At(0x4fff) == nil; ok != c.want {
			t.Errorf("%s: %q, %+v", c.name, p, x)
		}
		if !c.want && (len(p) > 0 || len(x.Bytes) > 0) {
			t.Errorf("%s: %q, %+v", c.name, p, x)
		}
	}
}

// Sections tell code from data.
func TestIsCode(t *testing.T) {
	p := buildSources(t, map[string]string{"f.c": framesSource}, "x86_64-pc-windows-msvc", "-O2", "-fno-builtin")
	f, err := Open(bytes.Clone(p.data))
	if err != nil {
		t.Fatal(err)
	}
	image := must(pefile.Parse(must(os.ReadFile(p.exe))))
	if len(image.Sections) < 3 {
		t.Fatal(image.Sections)
	}
	for _, s := range image.Sections {
		if code, known := f.IsCode(s.RVA); !known || code != strings.HasPrefix(s.Name, ".text") {
			t.Errorf("%s: %v, %v", s.Name, code, known)
		}
	}
	if code, known := f.IsCode(0x10); code || !known {
		t.Error("the headers are no code")
	}
}

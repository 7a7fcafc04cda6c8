package dwarfvars_test

import (
	"encoding/binary"
	"errors"
	"slices"
	"testing"

	"github.com/corewalk/corewalk/dwarfvars"
	"github.com/corewalk/corewalk/internal/fixture"
	"github.com/corewalk/corewalk/internal/vars/where"
	"github.com/corewalk/corewalk/unwind"
)

// A scene is a walked stack and a reader of its variables.
type scene struct {
	*dwarfvars.Reader
	frames []*unwind.Frame
}

func newScene(t testing.TB, name string) scene {
	t.Helper()
	target := openCase(t, fixture.Get(t, name))
	w, err := target.NewWalker()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { w.Close() })
	stack, _ := w.WalkStack(unwind.NullThread)
	return scene{target.Variables(), stack.Frames}
}

// frame is the number of the frame of a function.
func (s scene) frame(t testing.TB, function string) int {
	t.Helper()
	for i, f := range s.frames {
		if fn, err := s.FunctionForFrame(f); err == nil && fn.Name == function {
			return i
		}
	}
	t.Fatalf("no frame of %s", function)
	return 0
}

// variable finds a variable anywhere in the function of a frame.
func (s scene) variable(t testing.TB, frame int, name string) *dwarfvars.LocalVar {
	t.Helper()
	fn, err := s.FunctionForFrame(s.frames[frame])
	if err != nil {
		t.Fatal(err)
	}
	for _, sc := range fn.Scopes() {
		for _, v := range slices.Concat(sc.Params, sc.Locals) {
			if v.Name == name {
				return v
			}
		}
	}
	t.Fatalf("%s has no %s", fn.Name, name)
	return nil
}

func TestGetLocalVariableValue(t *testing.T) {
	s := newScene(t, "amd64-vars-c-O0")
	numbers, arrays := s.frame(t, "numbers"), s.frame(t, "arrays")
	lo := s.variable(t, numbers, "kept")
	buf := make([]byte, 64)

	n, code, err := s.GetLocalVariableValue(lo, s.frames, numbers, buf)
	if n != 4 || code != dwarfvars.GlvvSuccess || err != nil || binary.LittleEndian.Uint32(buf) != 88 {
		t.Errorf("kept: %d bytes %x, %v, %v", n, buf[:4], code, err)
	}
	n, code, err = s.GetLocalVariableValue(lo, s.frames, numbers, buf[:3])
	if n != 4 || code != dwarfvars.GlvvEBufferSize || !errors.Is(err, dwarfvars.ErrBufferSize) {
		t.Errorf("kept in 3 bytes: %d, %v, %v", n, code, err)
	}
	for what, call := range map[string]func() (int, dwarfvars.Code, error){
		"another function's": func() (int, dwarfvars.Code, error) { return s.GetLocalVariableValue(lo, s.frames, arrays, buf) },
		"no variable":        func() (int, dwarfvars.Code, error) { return s.GetLocalVariableValue(nil, s.frames, arrays, buf) },
		"frame past the end": func() (int, dwarfvars.Code, error) {
			return s.GetLocalVariableValue(lo, s.frames, len(s.frames), buf)
		},
		"frame -1": func() (int, dwarfvars.Code, error) { return s.GetLocalVariableValue(lo, s.frames, -1, buf) },
	} {
		if n, code, err := call(); n != 0 || code != dwarfvars.GlvvEParam || err == nil {
			t.Errorf("%s: %d, %v, %v", what, n, code, err)
		}
	}
	// The counter of a loop that is over.
	i := s.variable(t, arrays, "i")
	if n, code, err := s.GetLocalVariableValue(i, s.frames, arrays, buf); n != 0 || code != dwarfvars.GlvvEOutOfScope || !errors.Is(err, dwarfvars.ErrOutOfScope) {
		t.Errorf("i: %v, %v", code, err)
	}
	// An array whose length only the frame knows.
	n, code, _ = s.GetLocalVariableValue(s.variable(t, arrays, "vla"), s.frames, arrays, buf)
	if n != 12 || code != dwarfvars.GlvvSuccess || binary.LittleEndian.Uint32(buf[8:]) != 4 {
		t.Errorf("vla: %d bytes, %v", n, code)
	}
}

func TestReasons(t *testing.T) {
	s := newScene(t, "amd64-vars-c-O2")
	arrays, numbers := s.frame(t, "arrays"), s.frame(t, "numbers")
	buf := make([]byte, 256)
	if _, code, err := s.GetLocalVariableValue(s.variable(t, arrays, "vla"), s.frames, arrays, buf); code != dwarfvars.GlvvEUnknown || !errors.Is(err, dwarfvars.ErrOptimisedOut) {
		t.Errorf("vla: %v, %v", code, err)
	}
	if _, code, err := s.GetLocalVariableValue(s.variable(t, numbers, "argc"), s.frames, numbers, buf); code != dwarfvars.GlvvEUnknown || !errors.Is(err, dwarfvars.ErrEntryValue) {
		t.Errorf("argc: %v, %v", code, err)
	}
	c := newScene(t, "amd64-clang")
	main := c.frame(t, "main")
	if _, code, err := c.GetLocalVariableValue(c.variable(t, main, "argv"), c.frames, main, buf); code != dwarfvars.GlvvEUnknown || !errors.Is(err, dwarfvars.ErrRegister) || err.Error() != "rsi not recovered" {
		t.Errorf("argv: %v, %v", code, err)
	}
}

func TestCodes(t *testing.T) {
	for code, want := range map[dwarfvars.Code]string{
		0: "glvv_Success", -1: "glvv_EParam", -2: "glvv_EOutOfScope", -3: "glvv_EBufferSize", -4: "glvv_EUnknown", 7: "Code(7)",
	} {
		if code.String() != want {
			t.Errorf("%d: %s, want %s", int(code), code, want)
		}
	}
}

// TestWhere checks places in words.
func TestWhere(t *testing.T) {
	s := newScene(t, "amd64-vars-c-O2")
	for _, tc := range []struct{ function, name, where, expr string }{
		{"stop", "p", "register rdi", "DW_OP_reg5(rdi)"},
		{"numbers", "str", "optimised away", ""},
		{"arrays", "reals", "constant", ""},
	} {
		n := s.frame(t, tc.function)
		a, err := s.At(s.frames, n)
		if err != nil {
			t.Fatal(err)
		}
		v := s.variable(t, n, tc.name)
		if got := a.Where(v); got != tc.where {
			t.Errorf("%s: %q, want %q", tc.name, got, tc.where)
		}
		if got := a.Expression(v); tc.expr != "" && got != tc.expr {
			t.Errorf("%s: %q, want %q", tc.name, got, tc.expr)
		}
		a.Close()
	}
	o := newScene(t, "amd64-vars-rust-O2")
	at := o.frame(t, "stop")
	p, err := o.At(o.frames, at)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	if got := p.Where(o.variable(t, at, "why")); got != "pieces: nowhere; register rdi" {
		t.Errorf("why: %q", got)
	}
	// A callee saved what the caller keeps in a register.
	n := s.frame(t, "arrays")
	a, _ := s.At(s.frames, n)
	defer a.Close()
	if got := a.Where(s.variable(t, n, "n")); got != "register r13" {
		t.Errorf("n: %q", got)
	}
}

// TestBounds checks that values are cut where the options say.
func TestBounds(t *testing.T) {
	s := newScene(t, "amd64-vars-cxx-O0")
	for _, tc := range []struct {
		function, name string
		opts           dwarfvars.Options
		want           string
	}{
		{"containers<int>", "primes", dwarfvars.Options{MaxElements: 2}, "std::set with 5 elements = {2, 3...}"},
		{"containers<int>", "words", dwarfvars.Options{MaxString: 3}, `std::vector of length 3, capacity 3 = {"one", "a s"..., ""}`},
		{"containers<int>", "nested", dwarfvars.Options{MaxParts: 2}, "std::vector of length 3, capacity 3 = {std::vector of length 2, capacity 2 = {1...} ...}"},
		{"containers<int>", "nested", dwarfvars.Options{MaxDepth: 1}, "std::vector of length 3, capacity 3 = {std::vector of length 2, capacity 2 = {...}, std::vector of length 0, capacity 0, std::vector of length 1, capacity 1 = {...}}"},
	} {
		n := s.frame(t, tc.function)
		a, err := s.At(s.frames, n)
		if err != nil {
			t.Fatal(err)
		}
		if got := a.Read(s.variable(t, n, tc.name), tc.opts).String(); got != tc.want {
			t.Errorf("%s with %+v:\n%s\nwant\n%s", tc.name, tc.opts, got, tc.want)
		}
		a.Close()
	}
}

// TestLocateAllocatesNothing: finding where a variable is costs no memory.
func TestLocateAllocatesNothing(t *testing.T) {
	for _, tc := range []struct{ fixture, function, name string }{
		{"amd64-vars-c-O0", "numbers", "lo"},
		{"amd64-vars-c-O2", "arrays", "n"},
		{"amd64-vars-c-O2", "arrays", "len"},
	} {
		s := newScene(t, tc.fixture)
		n := s.frame(t, tc.function)
		v := s.variable(t, n, tc.name)
		a, err := s.At(s.frames, n)
		if err != nil {
			t.Fatal(err)
		}
		if got := testing.AllocsPerRun(100, func() { a.Locate(v) }); got != 0 {
			t.Errorf("%s of %s: %v allocations", tc.name, tc.fixture, got)
		}
		a.Close()
	}
}

func benchLocate(b *testing.B, fixture, function, name string) {
	s := newScene(b, fixture)
	n := s.frame(b, function)
	v := s.variable(b, n, name)
	a, err := s.At(s.frames, n)
	if err != nil {
		b.Fatal(err)
	}
	defer a.Close()
	b.ReportAllocs()
	for b.Loop() {
		a.Locate(v)
	}
}

func BenchmarkLocateFrameBase(b *testing.B) { benchLocate(b, "amd64-vars-c-O0", "numbers", "lo") }
func BenchmarkLocateList(b *testing.B)      { benchLocate(b, "amd64-vars-c-O2", "arrays", "n") }

func benchRead(b *testing.B, fixture, function, name string) {
	s := newScene(b, fixture)
	n := s.frame(b, function)
	v := s.variable(b, n, name)
	a, err := s.At(s.frames, n)
	if err != nil {
		b.Fatal(err)
	}
	defer a.Close()
	b.ReportAllocs()
	for b.Loop() {
		a.Read(v, dwarfvars.Options{})
	}
}

func BenchmarkReadInt(b *testing.B)    { benchRead(b, "amd64-vars-c-O0", "numbers", "lo") }
func BenchmarkReadStruct(b *testing.B) { benchRead(b, "amd64-vars-c-O0", "records", "here") }
func BenchmarkReadMap(b *testing.B)    { benchRead(b, "amd64-vars-cxx-O0", "containers<int>", "ages") }

// BenchmarkFrame is all of a frame: its function, its variables, their values.
func BenchmarkFrame(b *testing.B) {
	s := newScene(b, "amd64-vars-c-O0")
	n := s.frame(b, "arrays")
	b.ReportAllocs()
	for b.Loop() {
		a, err := s.At(s.frames, n)
		if err != nil {
			b.Fatal(err)
		}
		for _, sc := range a.Live() {
			for _, v := range sc.Params {
				a.Read(v, dwarfvars.Options{})
			}
		}
		a.Close()
	}
}

// TestBoundsOfFunctions: where functions begin and end, by call frame information.
func TestBoundsOfFunctions(t *testing.T) {
	s := newScene(t, "amd64-vars-c-O0")
	fn, err := s.FunctionForFrame(s.frames[s.frame(t, "numbers")])
	if err != nil {
		t.Fatal(err)
	}
	for addr, want := range map[uint64]bool{fn.Low: true, fn.High - 1: true, fn.High: false, 8: false} {
		low, high, ok := where.ProcessOf(s.Reader).Bounds(addr)
		if got := ok && low == fn.Low && high == fn.High; got != want || !ok && (low != 0 || high != 0) && addr == 8 {
			t.Errorf("%#x is of %#x to %#x, %v; the function is at %#x to %#x", addr, low, high, ok, fn.Low, fn.High)
		}
	}
	a, err := s.At(s.frames, s.frame(t, "numbers"))
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	if name, typ, off := where.FrameOf(a).Global(fn.Low + 1); name != "numbers+1" || typ != nil || off != 0 {
		t.Errorf("%s, %v+%d", name, typ, off)
	}
}

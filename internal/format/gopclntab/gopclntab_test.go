package gopclntab_test

import (
	"bytes"
	"debug/elf"
	"debug/gosym"
	"encoding/binary"
	"errors"
	"slices"
	"testing"

	"github.com/corewalk/corewalk/internal/fixture"
	"github.com/corewalk/corewalk/internal/format/gopclntab"
)

// textAddr is where the code of the tables made here begins, tableAddr where they are.
const (
	textAddr  = 0x10000
	tableAddr = 0x50000
)

// A build is a table to make: functions outer, of 0x40 bytes with an inlined call of inner, and last.
type build struct {
	order     binary.AppendByteOrder
	version   gopclntab.Version
	ptr       int
	minLC     byte
	frameSize int // of outer, once it is set up
}

// made is a table and what lies beside it.
type made struct {
	table  []byte
	inline []byte   // function data
	module []uint64 // the start of runtime.moduledata
}

func zigzag(v int) []byte { return binary.AppendUvarint(nil, uint64(uint32(v<<1^v>>31))) }

// values encodes a table of values by pc: pairs of a value and how many bytes of code have it.
func (b *build) values(pairs ...int) []byte {
	var out []byte
	prev := -1
	for i := 0; i < len(pairs); i += 2 {
		out = append(out, zigzag(pairs[i]-prev)...)
		out = binary.AppendUvarint(out, uint64(pairs[i+1]/int(b.minLC)))
		prev = pairs[i]
	}
	return append(out, 0)
}

func (b *build) make() made {
	names := []byte("\x00outer\x00inner\x00last\x00")
	files := []byte("a.go\x00b.go\x00")
	cus := b.order.AppendUint32(b.order.AppendUint32(nil, 0), 5)
	pcs := []byte{0}
	table := func(pairs ...int) uint32 {
		at := len(pcs)
		pcs = append(pcs, b.values(pairs...)...)
		return uint32(at)
	}
	sp := table(0, 8, b.frameSize, 0x30, 0, 8)
	file := table(0, 0x10, 1, 0x10, 0, 0x20)
	line := table(10, 0x10, 77, 0x10, 12, 0x20)
	inl := table(-1, 0x10, 0, 0x10, -1, 0x20)
	record := func(entry, name, flags uint32, tables ...uint32) []byte {
		var r []byte
		put := func(v ...uint32) {
			for _, v := range v {
				r = b.order.AppendUint32(r, v)
			}
		}
		put(entry, name, 0, 0, tables[0], tables[1], tables[2], uint32(len(tables)-3), 0)
		if b.version == gopclntab.Go120 {
			put(9) // line of the declaration
		}
		r = append(r, 0, byte(flags), 0, 4)
		put(tables[3:]...)
		put(^uint32(0), ^uint32(0), ^uint32(0), 0) // function data: the fourth is of inlined calls
		return r
	}
	outer := record(0, 1, 4, sp, file, line, 0, 0, inl)
	last := record(0x40, 13, 1, 0, 0, 0)
	index := []uint32{0, 20, 0x40, 20 + uint32(len(outer)), 0x60}
	var funcs []byte
	for _, v := range index {
		funcs = b.order.AppendUint32(funcs, v)
	}
	funcs = append(append(funcs, outer...), last...)

	magic := uint32(0xfffffff0)
	if b.version == gopclntab.Go120 {
		magic = 0xfffffff1
	}
	head := append(b.order.AppendUint32(nil, magic), 0, 0, b.minLC, byte(b.ptr))
	word := func(v int) {
		if b.ptr == 4 {
			head = b.order.AppendUint32(head, uint32(v))
		} else {
			head = b.order.AppendUint64(head, uint64(v))
		}
	}
	m := made{module: make([]uint64, gopclntab.ModuleWords)}
	m.module[0] = tableAddr
	off := 8 + 8*b.ptr
	for _, v := range []int{2, 2, textAddr} {
		word(v)
	}
	parts := [][]byte{names, cus, files, pcs, funcs}
	for i, p := range parts {
		word(off)
		copy(m.module[1+3*i:], []uint64{tableAddr + uint64(off), uint64(len(p)), uint64(len(p))})
		off += len(p)
	}
	m.table = head
	for _, p := range parts {
		m.table = append(m.table, p...)
	}
	copy(m.module[16:], []uint64{m.module[13], 3, 3, 0, textAddr, textAddr + 0x60, textAddr, textAddr + 0x60})
	types := 35
	if b.version == gopclntab.Go120 {
		types += 2
	}
	copy(m.module[types:], []uint64{0x60000, 0x61000, 0x60000, 0x62000})
	if b.version == gopclntab.Go118 {
		m.inline = append(make([]byte, 12), b.order.AppendUint32(b.order.AppendUint32(nil, 7), 4)...)
	} else {
		m.inline = append(make([]byte, 4), b.order.AppendUint32(b.order.AppendUint32(b.order.AppendUint32(nil, 7), 4), 70)...)
	}
	return m
}

func (m *made) loaded(t *testing.T) *gopclntab.Table {
	t.Helper()
	tab, err := gopclntab.Parse(m.table)
	if err != nil {
		t.Fatal(err)
	}
	return tab.Loaded(textAddr, func(off uint64) []byte { return m.inline[min(off, uint64(len(m.inline))):] })
}

func builds() []build {
	var out []build
	for _, order := range []binary.AppendByteOrder{binary.LittleEndian, binary.BigEndian} {
		for _, version := range []gopclntab.Version{gopclntab.Go118, gopclntab.Go120} {
			for _, ptr := range []int{4, 8} {
				out = append(out, build{order, version, ptr, 4, 0x28})
			}
		}
	}
	return append(out, build{binary.LittleEndian, gopclntab.Go120, 8, 1, 0x28}, build{binary.BigEndian, gopclntab.Go120, 8, 2, 0x28})
}

var standard = build{binary.LittleEndian, gopclntab.Go120, 8, 1, 0x28}

func TestLookups(t *testing.T) {
	for _, b := range builds() {
		m := b.make()
		tab := m.loaded(t)
		if start, end := tab.Text(); start != textAddr || end != textAddr+0x60 || tab.HeaderText != textAddr || tab.Big != (b.order == binary.BigEndian) {
			t.Errorf("%v: text %#x to %#x", b, start, end)
		}
		f, ok := tab.Find(textAddr + 0x14)
		if !ok || f.Name() != "outer" || f.Entry != textAddr || f.End != textAddr+0x40 || !f.Asm() || f.TopFrame() {
			t.Fatalf("%v: %v, %+v", b, ok, f)
		}
		for off, want := range map[uint64]gopclntab.Frame{
			0: {textAddr, textAddr + 8, 0}, 8: {textAddr + 8, textAddr + 0x38, 0x28}, 0x37: {textAddr + 8, textAddr + 0x38, 0x28}, 0x38: {textAddr + 0x38, textAddr + 0x40, 0},
		} {
			if got, ok := f.FrameAt(textAddr + off); !ok || got != want {
				t.Errorf("%v: frame at %#x %v, %+v", b, off, ok, got)
			}
		}
		if got, want := f.Calls(textAddr+8), []gopclntab.Call{{Name: "outer", File: "a.go", Line: 10}}; !slices.Equal(got, want) {
			t.Errorf("%v: calls %v", b, got)
		}
		want := []gopclntab.Call{{Name: "inner", File: "b.go", Line: 77, Inlined: true}, {Name: "outer", File: "a.go", Line: 10}}
		if got := f.Calls(textAddr + 0x18); !slices.Equal(got, want) {
			t.Errorf("%v: calls %v", b, got)
		}
		last, ok := tab.Find(textAddr + 0x5f)
		if !ok || last.Name() != "last" || last.Asm() || !last.TopFrame() {
			t.Errorf("%v: %v, %q", b, ok, last.Name())
		}
		if _, ok := last.FrameAt(textAddr + 0x50); ok { // it has no table of sizes
			t.Errorf("%v: a frame of a function without a table", b)
		}
		if got := last.Calls(textAddr + 0x50); !slices.Equal(got, []gopclntab.Call{{Name: "last"}}) {
			t.Errorf("%v: calls %v", b, got)
		}
		if g, ok := tab.ByName("last"); !ok || g.Entry != last.Entry {
			t.Errorf("%v: by name %v", b, ok)
		}
		for _, name := range []string{"", "las", "ast", "inner", "none", "last\x00"} {
			if _, ok := tab.ByName(name); ok {
				t.Errorf("%v: found %q", b, name)
			}
		}
	}
}

// Addresses outside the text are nobody's.
func TestOutside(t *testing.T) {
	m := standard.make()
	tab := m.loaded(t)
	for _, pc := range []uint64{0, textAddr - 1, textAddr + 0x60, textAddr + 1<<32, textAddr + 1<<32 + 8, ^uint64(0)} {
		if f, ok := tab.Find(pc); ok {
			t.Errorf("%#x is in %s", pc, f.Name())
		}
	}
	f, _ := tab.Find(textAddr)
	for _, pc := range []uint64{textAddr - 1, textAddr + 0x40} {
		f.Pointers(pc)
		if fr, ok := f.FrameAt(pc); ok {
			t.Errorf("%#x: frame %+v of another function's code", pc, fr)
		}
	}
}

// A frame that no stack can hold is damage.
func TestFrameBounds(t *testing.T) {
	for _, size := range []int{-8, 3, 1<<30 + 8, 1<<31 - 8} {
		b := standard
		b.frameSize = size
		m := b.make()
		f, _ := m.loaded(t).Find(textAddr)
		if got, ok := f.FrameAt(textAddr + 0x10); ok {
			t.Errorf("size %#x: %+v", size, got)
		}
		if _, ok := f.FrameAt(textAddr); !ok {
			t.Errorf("size %#x: the frame before it is set up is lost too", size)
		}
	}
}

// Where the inlined calls are damaged or not there, the function keeps its name, and has no position, which
// would be that of the inlined one.
func TestDamagedInlining(t *testing.T) {
	damage := map[string]func(m *made){
		"missing":                 func(m *made) { m.inline = nil },
		"cut":                     func(m *made) { m.inline = m.inline[:15] },
		"a name's middle":         func(m *made) { m.inline[4]++ },
		"a name beyond the names": func(m *made) { m.inline[6] = 1 },
		"a call in other code":    func(m *made) { m.inline[8] = 0x40 },
		"a call in itself":        func(m *made) { m.inline[8] = 0x10 },
	}
	for name, do := range damage {
		m := standard.make()
		do(&m)
		f, _ := m.loaded(t).Find(textAddr)
		if got := f.Calls(textAddr + 0x18); !slices.Equal(got, []gopclntab.Call{{Name: "outer"}}) {
			t.Errorf("%s: %v", name, got)
		}
	}
	m := standard.make()
	tab, err := gopclntab.Parse(m.table)
	if err != nil {
		t.Fatal(err)
	}
	f, _ := tab.Loaded(textAddr, nil).Find(textAddr)
	if got := f.Calls(textAddr + 0x18); !slices.Equal(got, []gopclntab.Call{{Name: "outer"}}) {
		t.Errorf("no function data: %v", got)
	}
}

// A lookup ends before long, whatever the tables hold.
func TestLongTables(t *testing.T) {
	const entries = 1 << 23
	b := standard
	m := b.make()
	le := binary.LittleEndian
	funcs := le.Uint64(m.table[64:])
	pcs := le.Uint64(m.table[56:])
	long := bytes.Repeat([]byte{2, 1}, entries) // one more for each byte of code
	table := append(slices.Clone(m.table[:funcs]), long...)
	at := uint32(funcs - pcs)
	rest := slices.Clone(m.table[funcs:])
	le.PutUint32(rest[8:], entries+1) // where the first function ends
	le.PutUint32(rest[16:], entries+0x100)
	for _, off := range []int{16, 20, 24} {
		le.PutUint32(rest[20+off:], at)
	}
	table = append(table, rest...)
	le.PutUint64(table[64:], funcs+uint64(len(long)))
	tab, err := gopclntab.Parse(table)
	if err != nil {
		t.Fatal(err)
	}
	tab = tab.Loaded(textAddr, nil)
	if f, ok := tab.Find(textAddr + 1000); !ok {
		t.Error("no function")
	} else if fr, ok := f.FrameAt(textAddr + 1000); !ok || fr.Size != 1000 {
		t.Errorf("%v, %+v", ok, fr)
	}
	pc := uint64(textAddr + entries - 1000)
	if f, ok := tab.Find(pc); !ok {
		t.Error("no function")
	} else if fr, ok := f.FrameAt(pc); ok {
		t.Errorf("read to the end: %+v", fr)
	}
}

func TestParseErrors(t *testing.T) {
	for name, tc := range map[string]struct {
		damage func(b []byte) []byte
		want   error
	}{
		"nothing":             {func(b []byte) []byte { return nil }, gopclntab.ErrFormat},
		"another magic":       {func(b []byte) []byte { b[0] = 0xf2; return b }, gopclntab.ErrFormat},
		"Go 1.16":             {func(b []byte) []byte { b[0] = 0xfa; return b }, gopclntab.ErrVersion},
		"Go 1.2":              {func(b []byte) []byte { b[0] = 0xfb; return b }, gopclntab.ErrVersion},
		"padding":             {func(b []byte) []byte { b[5] = 1; return b }, gopclntab.ErrFormat},
		"instructions":        {func(b []byte) []byte { b[6] = 3; return b }, gopclntab.ErrFormat},
		"pointers":            {func(b []byte) []byte { b[7] = 2; return b }, gopclntab.ErrFormat},
		"cut":                 {func(b []byte) []byte { return b[:70] }, gopclntab.ErrTruncated},
		"no functions":        {func(b []byte) []byte { b[8] = 0; return b }, gopclntab.ErrTruncated},
		"too many functions":  {func(b []byte) []byte { b[9] = 1; return b }, gopclntab.ErrTruncated},
		"parts out of order":  {func(b []byte) []byte { b[32] = 0xff; return b }, gopclntab.ErrTruncated},
		"a part in the head":  {func(b []byte) []byte { b[32] = 8; return b }, gopclntab.ErrTruncated},
		"a part beyond":       {func(b []byte) []byte { b[66] = 1; return b }, gopclntab.ErrTruncated},
		"an index cut in two": {func(b []byte) []byte { return b[:binary.LittleEndian.Uint64(b[64:])+17] }, gopclntab.ErrTruncated},
	} {
		m := standard.make()
		if _, err := gopclntab.Parse(tc.damage(m.table)); !errors.Is(err, tc.want) {
			t.Errorf("%s: error %v, want %v", name, err, tc.want)
		}
	}
}

// What does not describe the table in every word that can be checked is no description of it.
func TestModule(t *testing.T) {
	for _, b := range builds() {
		m := b.make()
		tab, err := gopclntab.Parse(m.table)
		if err != nil {
			t.Fatal(err)
		}
		want := gopclntab.Module{Text: textAddr, Types: 0x60000, EndTypes: 0x61000, FuncData: 0x62000}
		if got, ok := tab.Module(m.module, tableAddr); !ok || got != want {
			t.Errorf("%v: %v, %+v", b, ok, got)
		}
		if _, ok := tab.Module(m.module[:len(m.module)-1], tableAddr); ok {
			t.Errorf("%v: a cut module", b)
		}
		if _, ok := tab.Module(m.module, tableAddr+8); ok {
			t.Errorf("%v: a module of another table", b)
		}
		for _, word := range []int{0, 1, 4, 7, 10, 13, 16, 17, 20, 21, 22} {
			words := slices.Clone(m.module)
			words[word]++
			if _, ok := tab.Module(words, tableAddr); ok {
				t.Errorf("%v: word %d may be anything", b, word)
			}
		}
		words := slices.Clone(m.module)
		words[2] = words[3] + 1 // longer than its capacity
		if _, ok := tab.Module(words, tableAddr); ok {
			t.Errorf("%v: a slice that cannot be", b)
		}
		words = slices.Clone(m.module)
		words[23] = textAddr - 1 // the text ends before it begins
		if _, ok := tab.Module(words, tableAddr); ok {
			t.Errorf("%v: a text that cannot be", b)
		}
	}
}

func TestMagics(t *testing.T) {
	for _, b := range builds() {
		m := b.make()
		if !slices.ContainsFunc(gopclntab.Magics(b.order == binary.BigEndian), func(p []byte) bool { return bytes.HasPrefix(m.table, p) }) {
			t.Errorf("%v: not begun by a magic", b)
		}
	}
}

// fromFixture returns the table of a fixture's program, and the address of its code.
func fromFixture(tb testing.TB, name string) (data []byte, text uint64) {
	tb.Helper()
	f, err := elf.Open(fixture.Get(tb, name).Binary(tb))
	if err != nil {
		tb.Fatal(err)
	}
	defer f.Close()
	data, err = f.Section(".gopclntab").Data()
	if err != nil {
		tb.Fatal(err)
	}
	return data, f.Section(".text").Addr
}

var programs = []string{"amd64-go-stripped", "amd64-go-stripped-118", "amd64-go-nil"}

// Names and lines of whole programs are those that debug/gosym finds.
func TestAgainstGosym(t *testing.T) {
	for _, name := range programs {
		data, text := fromFixture(t, name)
		peer, err := gosym.NewTable(nil, gosym.NewLineTable(data, text))
		if err != nil {
			t.Fatal(err)
		}
		raw, err := gopclntab.Parse(data)
		if err != nil {
			t.Fatal(err)
		}
		tab, n := raw.Loaded(text, nil), 0
		if len(peer.Funcs) != tab.Funcs {
			t.Errorf("%s: %d functions, gosym finds %d", name, tab.Funcs, len(peer.Funcs))
		}
		for i := range peer.Funcs {
			fn := &peer.Funcs[i]
			f, ok := tab.Find(fn.Entry)
			if !ok || f.Name() != fn.Name || f.Entry != fn.Entry || f.End != fn.End {
				t.Fatalf("%s: %v, %q at %#x; gosym: %q", name, ok, f.Name(), f.Entry, fn.Name)
			}
			for pc := fn.Entry; pc < fn.End; pc += 5 {
				calls := f.Calls(pc)
				file, line, _ := peer.PCToLine(pc)
				if calls[0].File == "" { // inlined code, of which this table has nothing; or no code
					continue
				}
				if n++; calls[0].File != file || calls[0].Line != line {
					t.Fatalf("%s: %#x is %v; gosym: %s:%d", name, pc, calls[0], file, line)
				}
			}
		}
		if n < 20000 {
			t.Errorf("%s: only %d positions compared", name, n)
		}
	}
}

func FuzzTable(f *testing.F) {
	for _, b := range builds() {
		m := b.make()
		f.Add(m.table, m.inline, uint64(textAddr+0x18))
	}
	f.Fuzz(func(t *testing.T, table, inline []byte, pc uint64) {
		tab, err := gopclntab.Parse(table)
		if err != nil {
			return
		}
		tab = tab.Loaded(textAddr, func(off uint64) []byte {
			if off > uint64(len(inline)) {
				return nil
			}
			return inline[off:]
		})
		tab.Text()
		tab.ByName("last")
		for _, at := range []uint64{pc, textAddr, textAddr + 0x18, textAddr + 0x50} {
			fn, ok := tab.Find(at)
			if !ok {
				continue
			}
			if at < fn.Entry || at >= fn.End {
				t.Fatalf("%#x is not in %#x to %#x", at, fn.Entry, fn.End)
			}
			if fr, ok := fn.FrameAt(at); ok && (at < fr.Start || at >= fr.End || fr.Size > 1<<30) {
				t.Fatalf("%#x: %+v", at, fr)
			}
			calls := fn.Calls(at)
			if len(calls) > 0 && calls[len(calls)-1].Inlined {
				t.Fatalf("the last call is inlined: %v", calls)
			}
		}
	})
}

func BenchmarkFind(b *testing.B) {
	data, text := fromFixture(b, programs[0])
	raw, err := gopclntab.Parse(data)
	if err != nil {
		b.Fatal(err)
	}
	tab := raw.Loaded(text, nil)
	f, ok := tab.ByName("runtime.gopanic")
	if !ok {
		b.Fatal("no runtime.gopanic")
	}
	pc := f.Entry + (f.End-f.Entry)/2
	b.ReportAllocs()
	for b.Loop() {
		fn, _ := tab.Find(pc)
		if _, ok := fn.FrameAt(pc); !ok {
			b.Fatal("no frame")
		}
		fn.Calls(pc)
	}
}

func BenchmarkParse(b *testing.B) {
	data, _ := fromFixture(b, programs[0])
	b.ReportAllocs()
	for b.Loop() {
		if _, err := gopclntab.Parse(data); err != nil {
			b.Fatal(err)
		}
	}
}

// Look-ups say what they have cost: whoever makes many charges it.
func TestWork(t *testing.T) {
	m := standard.make()
	tab, err := gopclntab.Parse(m.table)
	if err != nil {
		t.Fatal(err)
	}
	u := tab.Loaded(textAddr, nil)
	f, ok := u.Find(textAddr)
	if !ok {
		t.Fatal("no function")
	}
	for range 100 {
		f.FrameAt(textAddr)
		f.Calls(textAddr)
	}
	if u.Work() < 50 || u.Work() != tab.Work() {
		t.Errorf("%d units, %d of what it was made of", u.Work(), tab.Work())
	}
}

package python

import (
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand"
	"slices"
	"strconv"
	"testing"

	"github.com/corewalk/corewalk/internal/fixture"
	"github.com/corewalk/corewalk/internal/heap"
	"github.com/corewalk/corewalk/internal/runtimes/remote"
	"github.com/corewalk/corewalk/libstate"
	"github.com/corewalk/corewalk/report"
	"github.com/corewalk/corewalk/tasks"
	"github.com/corewalk/corewalk/unwind"
	"github.com/corewalk/corewalk/unwind/arch"
)

// A hole is a process whose memory is one block that a test makes, at base, repeated nowhere.
type hole struct {
	unwind.ProcessState
	data []byte
	base uint64
}

var errHole = errors.New("not in the dump")

func (h *hole) Arch() *arch.Arch { return arch.AMD64 }
func (h *hole) ThreadIDs() ([]unwind.ThreadID, error) {
	return []unwind.ThreadID{1}, nil
}
func (h *hole) Registers(unwind.ThreadID) (arch.RegSet, error) { return arch.RegSet{}, errHole }
func (h *hole) ReadMem(at uint64, b []byte) (int, error) {
	if at < h.base || at-h.base >= uint64(len(h.data)) {
		return 0, errHole
	}
	n := copy(b, h.data[at-h.base:])
	if n < len(b) {
		return n, errHole
	}
	return n, nil
}
func (h *hole) ReadWord(at uint64) (uint64, error) {
	var b [8]byte
	if _, err := h.ReadMem(at, b[:]); err != nil {
		return 0, err
	}
	return binary.LittleEndian.Uint64(b[:]), nil
}

// A meter counts work, and ends it.
type meter struct{ left int }

func (m *meter) Spend(n int) error {
	if m.left -= n; m.left < 0 {
		return errHole
	}
	return nil
}
func (m *meter) Err() error { return nil }

const base = 0x10000

// kinds is how many layouts over knows: the versions, then the free-threaded builds of 3.13 to 3.15.
const kinds = newest - oldest + 1 + 3

// over makes a runtime that reads a block of memory as a version does.
func over(data []byte, minor int) (*runtime, *meter) {
	m := &meter{left: 1 << 15}
	h := &hole{data: data, base: base}
	r := &runtime{codes: map[uint64]*code{}, methods: map[method]string{}, types: map[uint64]*typ{}}
	l := tableLayout(layoutsText, minor, "")
	if minor > newest {
		l = tableLayout(layoutsText, minor-3, freeThreaded)
		l.free = true
	}
	r.memory = memory{p: &tasks.Process{State: h, Budget: m}, layout: l}
	return r, m
}

// explore asks everything of a thread state at the start of the memory.
func explore(r *runtime, at uint64) int {
	s := &threadState{at: at, interp: at, thread: 1, known: true}
	r.states = []threadState{*s}
	list, _ := r.chain(s)
	list = list[:min(len(list), 64)]
	for i := range list {
		c := r.call(&list[i])
		if c.Variables != nil {
			c.Variables(true, tasks.Limits{})
		}
	}
	for _, v := range []uint64{at, at + 64, at + 128} {
		w := newPrinter(r, tasks.Limits{})
		w.value(v, 0)
		if w.Len() > 1<<20 {
			panic("a value of " + strconv.Itoa(w.Len()) + " bytes")
		}
		if n := size(r.tree(v, tasks.Limits{})); n > remote.TreeParts+2 {
			panic("a tree of " + strconv.Itoa(n) + " values")
		}
	}
	for _, v := range []uint64{at, at + 32, at + 64} {
		if b := r.bytes(v, heap.ObjectBytes); b != nil {
			for _, head := range []uint64{0, 16, 32} {
				r.typeType = binary.LittleEndian.Uint64(b[head:]) // some word
				if o, ok := r.ObjectIn(v, 256, b); ok && (o.Head > 64 || len(o.Owns) > 1<<16) {
					panic(fmt.Sprintf("%+v", o))
				}
			}
		}
	}
	r.modules = append(r.modules, at, at+64)
	named := 0
	r.Variables(func(string, uint64) bool {
		named++
		return true
	})
	if named > maxRootNames {
		panic("variables without end")
	}
	r.Raised(1)
	r.linked(at)
	if r.has("gc.head") {
		if found, _ := r.findGreenlets(context.Background()); len(found) > 0 {
			r.greenletTask(found[0])
		}
	}
	for _, v := range []uint64{at, at + 64} {
		r.greenletTask(v)
		r.frameObjects(v)
		r.awaits(v)
	}
	return len(list)
}

// size counts the values of a tree.
func size(v report.Data) int {
	n := 1
	for i := range v.Children {
		if n += size(v.Children[i].Data); v.Children[i].Key != nil {
			n += size(*v.Children[i].Key)
		}
	}
	return n
}

// TestTreeBounds reads lists that contain themselves, one another without end, and more elements than memory has.
func TestTreeBounds(t *testing.T) {
	data := make([]byte, 1<<16)
	r, m := over(data, 12)
	put := func(at, v uint64) { binary.LittleEndian.PutUint64(data[at-base:], v) }
	const meta, typeAt, first, items = base + 0x400, base + 0x1000, base + 0x2000, base + 0x8000
	put(meta+8, meta)
	put(meta+r.at("type.flags"), flagType)
	put(typeAt+8, meta)
	put(typeAt+r.at("type.flags"), flagList)
	put(typeAt+r.at("type.name"), base+0x1800)
	copy(data[0x1800:], "list\x00")
	list := func(at, items, n uint64) {
		put(at+8, typeAt)
		put(at+r.at("var.size"), n)
		put(at+r.at("list.items"), items)
	}
	list(first, items, 2)
	put(items, first)
	put(items+8, first)
	if v := r.tree(first, tasks.Limits{}); size(v) != 3 || !v.Children[1].Data.Truncated {
		t.Errorf("a list of itself is %+v", v)
	}
	for i := range uint64(64) { // each has the next 16: trees of 16 to the power of 64 values
		list(first+i*64, items+i*8, 16)
	}
	for i := range uint64(128) {
		put(items+i*8, first+i%64*64)
	}
	m.left = 1 << 30
	if n := size(r.tree(first, tasks.Limits{})); n > remote.TreeParts+1 || n < remote.TreeParts/2 {
		t.Errorf("%d values, of at most %d", n, remote.TreeParts)
	}
	if v := r.tree(first, tasks.Limits{}); depth(v) > remote.TreeDepth+1 {
		t.Errorf("%d levels", depth(v))
	}
	list(first, items, 1<<50)
	if v := r.tree(first, tasks.Limits{}); len(v.Children) > remote.TreeElements || !v.Truncated {
		t.Errorf("of an absurd length: %d parts, truncated %v", len(v.Children), v.Truncated)
	}
	m.left = 100
	if n := size(r.tree(first, tasks.Limits{})); n > 100 {
		t.Errorf("%d values: the budget is not charged", n)
	}
}

// depth is the number of levels of a tree.
func depth(v report.Data) int {
	most := 0
	for i := range v.Children {
		most = max(most, depth(v.Children[i].Data))
	}
	return most + 1
}

// FuzzMemory reads memory that is not Python's: words that point into the memory itself, so that lists are circles
// and objects are of each other's types. Nothing may hang, panic, or take memory without end.
func FuzzMemory(f *testing.F) {
	rnd := rand.New(rand.NewSource(1))
	for i := range kinds {
		f.Add(wild(rnd), uint8(i))
	}
	f.Fuzz(func(t *testing.T, data []byte, minor uint8) {
		if len(data) > 1<<16 {
			return
		}
		r, _ := over(data, oldest+int(minor)%kinds)
		explore(r, base)
	})
}

// wild makes memory whose words point into it, or are numbers, absurd ones among them.
func wild(rnd *rand.Rand) []byte {
	data := make([]byte, 4096)
	for i := 0; i < len(data); i += 8 {
		v := uint64(base + 8*rnd.Intn(len(data)/8))
		if rnd.Intn(4) == 0 {
			v = uint64(rnd.Intn(1 << 16))
		}
		if rnd.Intn(8) == 0 {
			v = ^uint64(0) >> rnd.Intn(33)
		}
		binary.LittleEndian.PutUint64(data[i:], v)
	}
	// An object whose type is a type, so that more than types is reached.
	at := rnd.Intn(128) * 8
	binary.LittleEndian.PutUint64(data[at+8:], base+uint64(at))
	binary.LittleEndian.PutUint64(data[at+168:], flagType|uint64(1)<<(24+rnd.Intn(7)))
	binary.LittleEndian.PutUint64(data[at+24:], base+uint64(at)+400)
	copy(data[at+400:], "dict\x00")
	for i := 0; i+16 <= len(data); i += 64 {
		if rnd.Intn(2) == 0 && (i+8 < at || i > at+416) {
			binary.LittleEndian.PutUint64(data[i+8:], base+uint64(at))
		}
	}
	return data
}

// TestWild explores many memories like those that the fuzz target begins with.
func TestWild(t *testing.T) {
	rounds := 4000
	if !fixture.IsLong(t) {
		rounds /= 4
	}
	rnd := rand.New(rand.NewSource(7))
	calls, shown := 0, 0
	for i := range rounds {
		r, _ := over(wild(rnd), oldest+i%kinds)
		calls += explore(r, base)
		for _, c := range r.types {
			if c != nil {
				shown++
			}
		}
	}
	if calls == 0 || shown == 0 {
		t.Errorf("%d calls and %d types: nothing is reached", calls, shown)
	}
}

// TestCircle gives the list of a thread's calls a circle: it ends with what there is and an error.
func TestCircle(t *testing.T) {
	for minor := oldest; minor < oldest+kinds; minor++ {
		data := make([]byte, 1<<16)
		r, m := over(data, minor)
		put := func(at, v uint64) { binary.LittleEndian.PutUint64(data[at-base:], v) }
		const first, second, third = base + 0x1000, base + 0x2000, base + 0x3000
		top := "thread.frame"
		switch {
		case minor >= 13:
			top = "thread.current_frame"
		case minor >= 11:
			top = "thread.cframe"
			put(base+0x800+r.at("cframe.current_frame"), first)
		}
		put(base+r.at(top), first)
		if top == "thread.cframe" {
			put(base+r.at(top), base+0x800)
		}
		put(first+r.at("frame.previous"), second)
		put(second+r.at("frame.previous"), third)
		put(third+r.at("frame.previous"), second)
		list, err := r.chain(&threadState{at: base})
		if !errors.Is(err, errCycle) || len(list) < 2 || len(list) > 16 {
			t.Errorf("3.%d: %d calls, %v", minor, len(list), err)
		}
		m.left = 8
		if _, err := r.chain(&threadState{at: base}); err == nil {
			t.Errorf("3.%d: the budget is not charged", minor)
		}
	}
}

// TestTypes gives an object a type whose type is not a type, and types that are each other's.
func TestTypes(t *testing.T) {
	data := make([]byte, 1<<14)
	r, _ := over(data, 12)
	put := func(at, v uint64) { binary.LittleEndian.PutUint64(data[at-base:], v) }
	const object, a, b = base + 0x100, base + 0x1000, base + 0x2000
	put(object+8, a)
	put(a+8, b)
	put(b+8, a)
	put(a+r.at("type.flags"), flagType|flagStr)
	put(b+r.at("type.flags"), flagType)
	put(a+r.at("type.name"), object+0x40)
	copy(data[0x140:], "str\x00")
	if _, ok := r.str(object, 10); ok {
		t.Error("a type that is not made by type is believed")
	}
	r, _ = over(data, 12)
	put(a+8, a)
	put(object+r.at("str.length"), 5)
	put(object+r.at("str.state"), 1<<2|1<<5|1<<6)
	copy(data[0x100+r.at("str.ascii"):], "hello")
	if s, ok := r.str(object, 10); !ok || s != "hello" {
		t.Errorf("%q %v", s, ok)
	}
	for _, c := range []struct {
		minor int
		state uint64
		want  bool
	}{{14, 1<<2 | 1<<5 | 1<<6 | 0xcd<<8, true}, {14, 3 | (1|1<<3|1<<4)<<16, true}, {newest + 2, 1 | (1|1<<3|1<<4)<<8, true}, {13, (1 | 1<<3 | 1<<4) << 16, false}, {14, 3, false}} {
		r, _ := over(data, c.minor)
		at := uint64(base + 0x3000)
		put(at+r.at("object.type"), a+0x800)
		put(a+0x800+r.at("object.type"), a+0x800)
		put(a+0x800+r.at("type.flags"), flagType|flagStr)
		put(a+0x800+r.at("type.name"), object+0x40)
		copy(data[0x140:], "str\x00")
		put(at+r.at("str.length"), 5)
		put(at+r.at("str.state"), c.state)
		copy(data[0x3000+r.at("str.ascii"):], "hello")
		if s, _ := r.str(at, 10); (s == "hello") != c.want {
			t.Errorf("3.%d with the state %#x: %q", c.minor, c.state, s)
		}
	}
	put(object+r.at("str.length"), 1<<39)
	if s, whole, ok := r.text(object, 5); s != "hello" || whole || !ok {
		t.Errorf("of a string that is absurdly long: %q %v %v", s, whole, ok)
	}
}

// TestLineTables checks the three formats with tables that CPython's compilers made, and with cut ones.
func TestLineTables(t *testing.T) {
	if n := lnotab([]byte{0, 1, 8, 1, 10, 0xff}, 10, 9); n != 12 {
		t.Errorf("lnotab: line %d, want 12", n)
	}
	if n := lnotab([]byte{0, 1, 8, 1, 10, 0xff}, 10, 18); n != 11 {
		t.Errorf("lnotab: line %d, want 11", n)
	}
	if n := lineTable([]byte{4, 1, 6, 0x80, 2, 2}, 10, 5); n != 0 {
		t.Errorf("3.10: line %d of code without one", n)
	}
	if n := lineTable([]byte{4, 1, 6, 0x80, 2, 2}, 10, 10); n != 13 {
		t.Errorf("3.10: line %d, want 13", n)
	}
	for n := range 64 {
		table := make([]byte, n)
		for i := range table {
			table[i] = 0xff ^ byte(i*7)
		}
		for unit := range 64 {
			locations(table, 1, unit)
		}
	}
	// One unit of the first line, columns 4 to 8; then two of the next but one.
	table := []byte{0x80 | 10<<3, 4, 8, 0x80 | 12<<3 | 1, 0, 3, 0x80 | 15<<3}
	for unit, want := range [][2]int{{7, 5}, {9, 1}, {9, 1}, {0, 0}} {
		if line, col := locations(table, 7, unit); line != want[0] || col != want[1] {
			t.Errorf("unit %d is at %d:%d, want %v", unit, line, col, want)
		}
	}
}

// noSymbols is a process without symbols.
type noSymbols struct{ unwind.SymbolReader }

func (noSymbols) SymbolByName(*libstate.Library, string) (unwind.Symbol, bool) {
	return unwind.Symbol{}, false
}

// TestProve makes a thread state that agrees with the layout, and then one thing at a time that does not.
func TestProve(t *testing.T) {
	const interp, state, frame = base + 0x1000, base + 0x3000, base + 0x5000
	for name, spoil := range map[string]func(r *runtime, put func(at, v uint64)){
		"":                    func(*runtime, func(at, v uint64)) {},
		"another interpreter": func(r *runtime, put func(at, v uint64)) { put(state+r.at("thread.interp"), interp+8) },
		"a state before":      func(r *runtime, put func(at, v uint64)) { put(state+r.at("thread.prev"), interp) },
		"an unknown thread":   func(r *runtime, put func(at, v uint64)) { put(state+r.at("thread.native_thread_id"), 77) },
		"no state":            func(r *runtime, put func(at, v uint64)) { put(interp+r.at("interp.threads_head"), 0) },
		"a frame without code": func(r *runtime, put func(at, v uint64)) {
			put(state+r.at("thread.cframe"), base+0x4000)
			put(base+0x4000+r.at("cframe.current_frame"), frame)
			put(frame+r.at("frame.code"), interp)
		},
	} {
		data := make([]byte, 1<<15)
		r, _ := over(data, 12)
		r.p.Symbols = noSymbols{}
		put := func(at, v uint64) { binary.LittleEndian.PutUint64(data[at-base:], v) }
		r.root = base
		put(base, interp)
		put(interp+r.at("interp.threads_head"), state)
		put(state+r.at("thread.interp"), interp)
		put(state+r.at("thread.native_thread_id"), 1)
		spoil(r, put)
		if err := r.prove(); (err == nil) != (name == "") {
			t.Errorf("%q: %v", name, err)
		}
	}
}

// TestLockGuards makes a thread that waits for an RLock, and then one thing at a time that does not agree.
func TestLockGuards(t *testing.T) {
	const state, other, frame, lock, native, typeAt, meta = base + 0x400, base + 0x800, base + 0x1000, base + 0x3000, base + 0x3800, base + 0x4000, base + 0x5000
	for name, c := range map[string]struct {
		spoil        func(put func(at, v uint64))
		kind         tasks.WaitKind
		held, starve bool
		as           tasks.WaitKind // of the wait before; a semaphore if it is empty
	}{
		"":                        {func(func(at, v uint64)) {}, tasks.WaitLock, true, false, ""},
		"another native lock":     {func(put func(at, v uint64)) { put(lock+16+lockNative, native+8) }, tasks.WaitSemaphore, false, false, ""},
		"another type":            {func(put func(at, v uint64)) { copyName(put, typeAt+0x800, "_thread.local") }, tasks.WaitSemaphore, false, false, ""},
		"a type that is none":     {func(put func(at, v uint64)) { put(meta+8, 0) }, tasks.WaitSemaphore, false, false, ""},
		"held by itself":          {func(put func(at, v uint64)) { put(lock+16+lockOwner, 0x111) }, tasks.WaitLock, false, false, ""},
		"held by no known thread": {func(put func(at, v uint64)) { put(lock+16+lockOwner, 0x333) }, tasks.WaitLock, false, false, ""},
		"not held":                {func(put func(at, v uint64)) { put(lock+16+lockCount, 0) }, tasks.WaitLock, false, false, ""},
		"at an address":           {func(func(at, v uint64)) {}, tasks.WaitAddress, false, false, tasks.WaitAddress},
		"no budget":               {func(func(at, v uint64)) {}, tasks.WaitSemaphore, false, true, ""},
	} {
		data := make([]byte, 1<<15)
		r, m := over(data, 13)
		put := func(at, v uint64) { binary.LittleEndian.PutUint64(data[at-base:], v) }
		r.states = []threadState{{at: state, thread: 1, known: true}, {at: other, thread: 2, known: true}}
		put(state+r.at("thread.current_frame"), frame)
		put(state+r.at("thread.thread_id"), 0x111)
		put(other+r.at("thread.thread_id"), 0x222)
		put(frame+r.at("frame.localsplus")+40, lock)
		put(lock+8, typeAt)
		put(lock+16+lockNative, native)
		put(lock+16+lockOwner, 0x222)
		put(lock+16+lockCount, 1)
		put(typeAt+8, meta)
		put(typeAt+r.at("type.name"), typeAt+0x800)
		copyName(put, typeAt+0x800, "_thread.RLock")
		put(meta+8, meta)
		put(meta+r.at("type.flags"), flagType)
		c.spoil(put)
		if c.starve {
			m.left = 20
		}
		task := &tasks.Task{Key: tasks.Key{Kind: tasks.KindThread, ID: 1}, Wait: &tasks.Wait{Kind: cmp.Or(c.as, tasks.WaitSemaphore), Object: tasks.Object{Address: native}}}
		r.locks([]*tasks.Task{task})
		if w := task.Wait; w.Kind != c.kind || (len(w.Holders) == 1 && w.Holders[0].ID == 2) != c.held || w.Proved != c.held {
			t.Errorf("%q: %+v", name, w)
		}
	}
}

// copyName writes a text of at most 16 bytes.
func copyName(put func(at, v uint64), at uint64, name string) {
	var b [16]byte
	copy(b[:], name)
	put(at, binary.LittleEndian.Uint64(b[:]))
	put(at+8, binary.LittleEndian.Uint64(b[8:]))
}

// TestGreenletGuards makes a list of the garbage collector with a greenlet, and then one thing at a time that does not agree.
func TestGreenletGuards(t *testing.T) {
	const interp, first, second, typeAt, meta, saved, other = base + 0x400, base + 0x2000, base + 0x2100, base + 0x3000, base + 0x4000, base + 0x5000, base + 0x5800
	for name, c := range map[string]struct {
		spoil func(r *runtime, put func(at, v uint64))
		want  int // greenlets found
		read  bool
	}{
		"":               {func(*runtime, func(at, v uint64)) {}, 2, true},
		"a torn list":    {func(_ *runtime, put func(at, v uint64)) { put(first+8, second) }, 0, true},
		"a circle":       {func(_ *runtime, put func(at, v uint64)) { put(second, first) }, 2, true},
		"another type":   {func(_ *runtime, put func(at, v uint64)) { copyName(put, typeAt+0x800, "greenlet.hub") }, 0, false},
		"a type of none": {func(_ *runtime, put func(at, v uint64)) { put(meta+8, 0) }, 0, false},
		"of another":     {func(_ *runtime, put func(at, v uint64)) { put(saved+8, second+16) }, 2, false},
		"no parent":      {func(_ *runtime, put func(at, v uint64)) { put(saved+0x60, 0) }, 2, false},
		"nothing saved":  {func(_ *runtime, put func(at, v uint64)) { put(first+16+32, 0) }, 2, false},
		"still to call":  {func(_ *runtime, put func(at, v uint64)) { put(saved+0x58, 8) }, 2, false},
		"no calls": {func(r *runtime, put func(at, v uint64)) {
			put(saved+0x28, other+0x100) // a frame without code
			put(other+0x108, typeAt+0x900)
			put(typeAt+0x908, meta)
			put(typeAt+0x900+r.at("type.name"), typeAt+0x880)
			copyName(put, typeAt+0x880, "frame")
		}, 2, true},
		"it runs nowhere": {func(_ *runtime, put func(at, v uint64)) { put(saved+0x10, 1); put(saved+0x18, 1<<40) }, 2, true},
	} {
		data := make([]byte, 1<<15)
		r, m := over(data, 12)
		m.left = 1 << 20
		put := func(at, v uint64) { binary.LittleEndian.PutUint64(data[at-base:], v) }
		r.states = []threadState{{at: other, interp: interp}}
		list := interp + r.at("interp.generations")
		for i := range uint64(4) {
			put(list+24*i, list+24*i)
			put(list+24*i+8, list+24*i)
		}
		put(list, first)
		put(list+8, second)
		put(first, second)
		put(first+8, list|1) // flags
		put(second, list)
		put(second+8, first)
		for _, at := range []uint64{first + 16, second + 16} {
			put(at+8, typeAt)
		}
		put(first+16+32, saved)
		put(saved+8, first+16)
		put(saved+0x50, second+16)
		put(saved+0x60, second+16)
		put(typeAt+8, meta)
		put(typeAt+r.at("type.name"), typeAt+0x800)
		copyName(put, typeAt+0x800, "greenlet.greenle")
		put(typeAt+0x810, 't')
		put(meta+8, meta)
		put(meta+r.at("type.flags"), flagType)
		c.spoil(r, put)
		found, err := r.findGreenlets(t.Context())
		if len(found) != c.want || err != nil {
			t.Errorf("%q: %d greenlets are found, %v", name, len(found), err)
		}
		if g, ok := r.readGreenlet(first + 16); ok != c.read || ok && g.parent != second+16 {
			t.Errorf("%q: %+v %v", name, g, ok)
		}
		if task := r.greenletTask(first + 16); task != nil {
			t.Errorf("%q: it is %+v, which has no calls", name, task)
		}
	}
}

// TestCopies: threads of free-threaded builds run copies of a code's instructions.
func TestCopies(t *testing.T) {
	const at, frame, copies, second = base + 0x400, base + 0x1000, base + 0x2000, base + 0x3000
	data := make([]byte, 1<<14)
	r, _ := over(data, newest+2) // 3.14
	put := func(at, v uint64) { binary.LittleEndian.PutUint64(data[at-base:], v) }
	put(at+r.at("code.tlbc"), copies)
	put(copies, 2)
	put(copies+8, at+r.at("code.adaptive"))
	put(copies+16, second)
	first := at + r.at("code.adaptive")
	for _, c := range []struct {
		index, instr uint64
		want         int
	}{{0, first + 6, 6}, {1, second + 8, 8}, {1, second - 2, -1}, {2, first + 4, 4}, {1 << 31, first + 2, 2}} {
		put(frame+r.at("frame.tlbc"), c.index)
		if got := r.instruction(at, c.instr, frame); got != c.want {
			t.Errorf("of copy %d %#x is %d, want %d", c.index, c.instr, got, c.want)
		}
	}
}

// TestTaskList makes the list of asyncio's tasks of 3.14, and then one thing at a time that does not agree.
func TestTaskList(t *testing.T) {
	const interp, first, second, typeAt, meta = base, base + 0x4000, base + 0x4400, base + 0x5000, base + 0x5800
	for name, c := range map[string]struct {
		spoil func(r *runtime, put func(at, v uint64))
		want  int
	}{
		"":               {func(*runtime, func(at, v uint64)) {}, 2},
		"not a task":     {func(_ *runtime, put func(at, v uint64)) { put(second+8, meta) }, 1},
		"torn":           {func(r *runtime, put func(at, v uint64)) { put(second+r.at("task.node")+8, 0) }, 1},
		"a circle":       {func(r *runtime, put func(at, v uint64)) { put(second+r.at("task.node"), second+r.at("task.node")) }, 2},
		"not in memory":  {func(r *runtime, put func(at, v uint64)) { put(first+r.at("task.node"), 1<<40) }, 1},
		"nothing begins": {func(r *runtime, put func(at, v uint64)) { put(interp+r.at("interp.tasks"), 0) }, 0},
	} {
		data := make([]byte, 1<<15)
		r, m := over(data, 14)
		m.left = 1 << 20
		put := func(at, v uint64) { binary.LittleEndian.PutUint64(data[at-base:], v) }
		head, node := interp+r.at("interp.tasks"), r.at("task.node")
		put(head, first+node)
		put(first+node, second+node)
		put(first+node+8, head)
		put(second+node, head)
		put(second+node+8, first+node)
		put(first+8, typeAt)
		put(second+8, typeAt)
		put(typeAt+8, meta)
		put(typeAt+r.at("type.name"), typeAt+0x700)
		copyName(put, typeAt+0x700, "_asyncio.Task")
		put(meta+8, meta)
		put(meta+r.at("type.flags"), flagType)
		c.spoil(r, put)
		if got := r.linked(interp); len(got) != c.want {
			t.Errorf("%q: %d tasks, want %d", name, len(got), c.want)
		}
	}
}

// A stacked process has two threads with a stack pointer each.
type stacked struct{ hole }

func (s *stacked) ThreadIDs() ([]unwind.ThreadID, error) { return []unwind.ThreadID{1, 2}, nil }
func (s *stacked) Registers(id unwind.ThreadID) (regs arch.RegSet, err error) {
	regs.Set(arch.RSP, base+0x4000+uint64(id)*0x4000) // 0x8000, 0xc000
	return regs, nil
}

// TestWhereRun: whichever thread made a thread state, who runs it has its calls on the stack.
func TestWhereRun(t *testing.T) {
	data := make([]byte, 1<<16)
	r, m := over(data, 13)
	m.left = 1 << 20
	r.p.State = &stacked{hole{data: data, base: base}}
	put := func(at, v uint64) { binary.LittleEndian.PutUint64(data[at-base:], v) }
	state := func(at, shim uint64) {
		if shim != 0 {
			frame := at + 0x200
			put(at+r.at("thread.current_frame"), frame)
			put(frame+r.at("frame.previous"), shim)
			data[shim+r.at("frame.owner")-base] = ownerShim
		}
		r.states = append(r.states, threadState{at: at, interp: at, thread: 1, known: true})
	}
	const first, second, third, idle, lost = base + 0x1000, base + 0x1800, base + 0x2000, base + 0x2800, base + 0x3000
	state(first, base+0x9000)  // of thread 1
	state(second, base+0xd000) // of thread 2
	state(third, base+0x8800)  // within the first
	state(idle, 0)
	state(lost, base+0x7000) // on no stack that is known
	r.whereRun()
	var got []uint64
	for _, id := range []unwind.ThreadID{1, 2} {
		for _, s := range r.statesOf(id) {
			got = append(got, uint64(id), s.at-base)
		}
	}
	want := []uint64{1, lost - base, 1, third - base, 1, first - base, 2, second - base}
	if !slices.Equal(got, want) {
		t.Errorf("%#x, want %#x", got, want)
	}
	if list, err := r.callsOf(1); err != nil || len(list) != 3 || list[1].at != third+0x200 {
		t.Errorf("the calls of the first thread are %+v, %v", list, err)
	}
	r.minor = 9
	if r.whereRun(); r.states[0].at == lost {
		t.Error("before 3.10 the first interpreter's states do not come first")
	}
}

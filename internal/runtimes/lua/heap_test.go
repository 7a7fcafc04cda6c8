package lua

import (
	"slices"
	"strings"
	"testing"

	"github.com/corewalk/corewalk/internal/heap"
	"github.com/corewalk/corewalk/libstate"
	"github.com/corewalk/corewalk/unwind"
)

// has says what the small process has in a block, after change.
func has(at, size uint64, change func(r *runtime, m fake)) (heap.Object, bool) {
	r, m := small()
	m.Words[atGlobal+r.stringTable()], m.Words[atState-8] = 0x7000, 0 // the program has 8 bytes before each thread
	if change != nil {
		change(r, m)
	}
	b := make([]byte, min(size, heap.ObjectBytes))
	r.Memory.ReadMem(at, b)
	return r.ObjectIn(at, size, b)
}

const (
	atData    = 0x9000
	atShared  = 0x9100 // an upvalue
	atForeign = 0x9200 // a function of C

	atOpen, atOpenList = 0x9300, 0x9400 // an upvalue whose value is on the stack
)

// one is a process with a module.
type one struct{ unwind.ProcessState }

func (one) LibraryTracker() libstate.LibraryState {
	return libstate.NewTable([]*libstate.Library{{Path: "/bin/lua", Start: 0x400000, End: 0x500000, Mappings: []libstate.Mapping{{Start: 0x400000, End: 0x500000}}}}, 0)
}

// none is a process whose modules are not known.
type none struct{ unwind.ProcessState }

func (none) LibraryTracker() libstate.LibraryState { return nil }

// more adds objects to the small process.
func more(r *runtime, m fake) {
	r.p.State = one{}
	m.Zero(atData, 64)
	m.Put(atData+8, tagData)
	m.Put(atData+16, 24)
	m.Words[atData+r.at("data.meta")] = atTable
	m.Zero(atShared, 64)
	m.Put(atShared+8, 9)
	m.Words[atShared+r.at("upvalue.at")], m.Words[atShared+24] = atShared+24, 1
	m.Put(atShared+32, tagBool)
	m.Zero(atOpen, 64)
	m.Put(atOpen+8, 9)
	m.Words[atOpen+r.at("upvalue.at")], m.Words[atOpen+32], m.Words[atOpenList] = atStack+32, atOpenList, atOpen
	m.Zero(atForeign, 64)
	m.Put(atForeign+8, 1<<5|tagFunction)
	m.Words[atForeign+r.at("closure.native")] = native
}

// TestObjectIn: each type is known by what it says of itself, and by nothing less.
func TestObjectIn(t *testing.T) {
	text := uint64(24 + len("@shop.lua") + 1)
	for name, c := range map[string]struct {
		at, size uint64
		want     string
		links    uint64
	}{
		"a table":           {atTable, 56, "table", 1 | 1<<6},
		"a string":          {atSource, text, "string", 1},
		"a larger block":    {atSource, text + slack - 1, "string", 1},
		"a function":        {atClosure, 32, "function", 1},
		"a function of C":   {atForeign, 32, "function", 1},
		"userdata":          {atData, 56, "userdata", 1},
		"an upvalue":        {atShared, 40, "upvalue", 1},
		"an open upvalue":   {atOpen, 40, "upvalue", 1},
		"the main thread":   {atState - 8, 1000, "main thread, with what all threads share", 1 << 1},
		"prototypes":        {atPrototype, 128, "function prototype", 1},
		"no object":         {atNodes, 24, "", 1},
		"a stack":           {atStack, 192, "", 1},
		"a table too large": {atTable, 56 + slack, "", 1},
		"a text too large":  {atSource, text + slack, "", 1},
		"a text too short":  {atSource, text - 1, "", 1},
	} {
		o, ok := has(c.at, c.size, more)
		if len(c.want) > 0 && o.Type == "function prototype" && len(o.Owns) != 3 { // code, lines and names: it has no others
			t.Errorf("%s: %+v", name, o.Owns)
		}
		if o.Type != c.want || ok != (c.want != "") || o.Links != c.links {
			t.Errorf("%s: %+v, %t", name, o, ok)
		}
	}
	if o, _ := has(atTable, 56, nil); !slices.Equal(o.Owns, []heap.Owned{{At: atArray, What: partArray}, {At: atNodes, What: partFields}}) {
		t.Errorf("a table owns %+v", o.Owns)
	}
	if o, _ := has(atState-8, 1000, nil); o.Head != 8 || !slices.Equal(o.Owns, []heap.Owned{{At: atStack, What: partStack}, {At: 0x7000, What: partStrings, Weak: true}}) {
		t.Errorf("the main thread: %+v", o)
	}
}

// TestNotObjectIn: what contradicts itself is no object.
func TestNotObjectIn(t *testing.T) {
	for name, c := range map[string]struct {
		at, size uint64
		change   func(r *runtime, m fake)
	}{
		"the next object is none":          {atTable, 56, func(_ *runtime, m fake) { m.Words[atTable] = 0x1234567 }},
		"a table without a part":           {atTable, 56, func(r *runtime, m fake) { m.Words[atTable+r.at("table.nodes")] = 0 }},
		"a part that is nowhere":           {atTable, 56, func(r *runtime, m fake) { m.Words[atTable+r.at("table.nodes")] = 0x99990 }},
		"an odd part":                      {atTable, 56, func(r *runtime, m fake) { m.Words[atTable+r.at("table.nodes")] = atNodes + 4 }},
		"an odd array":                     {atTable, 56, func(r *runtime, m fake) { m.Words[atTable+r.at("table.array")] = atArray + 4 }},
		"a metatable that is none":         {atTable, 56, func(r *runtime, m fake) { m.Words[atTable+r.at("table.meta")] = atSource }},
		"too many fields":                  {atTable, 56, func(r *runtime, m fake) { m.Put(atTable+r.at("table.sizelog"), maxNodes+1) }},
		"a text without an end":            {atSource, 34, func(_ *runtime, m fake) { m.Put(atSource+33, 'x') }},
		"a function without its prototype": {atClosure, 32, func(r *runtime, m fake) { m.Words[atClosure+r.at("closure.function")] = atTable }},
		"more values than the block has":   {atClosure, 32, func(r *runtime, m fake) { m.Put(atClosure+r.at("closure.count"), 4) }},
		"a function of C that is data":     {atForeign, 32, func(r *runtime, m fake) { m.Words[atForeign+r.at("closure.native")] = atTable }},
		"userdata of another size":         {atData, 56, func(_ *runtime, m fake) { m.Put(atData+16, 80) }},
		"userdata whose size wraps":        {atData, 40, func(_ *runtime, m fake) { m.Words[atData+16] = ^uint64(0) }},
		"a thread before an odd object":    {atState - 8, 1000, func(_ *runtime, m fake) { m.Words[atState] = 4 }},
		"a function of C without modules":  {atForeign, 32, func(r *runtime, _ fake) { r.p.State = none{} }},
		"userdata with values":             {atData, 56, func(_ *runtime, m fake) { m.Put(atData+10, 9) }},
		"userdata with no metatable":       {atData, 56, func(r *runtime, m fake) { m.Words[atData+r.at("data.meta")] = atSource }},
		"an upvalue that leads nowhere":    {atShared, 40, func(r *runtime, m fake) { m.Words[atShared+r.at("upvalue.at")] = 0x99990 }},
		"an upvalue in no list":            {atOpen, 40, func(_ *runtime, m fake) { m.Words[atOpenList] = atShared }},
		"an upvalue in an odd list":        {atOpen, 40, func(_ *runtime, m fake) { m.Words[atOpen+32]++ }},
		"an open upvalue of no value":      {atOpen, 40, func(r *runtime, m fake) { m.Words[atOpen+r.at("upvalue.at")] = 0x99990 }},
		"an upvalue of another value":      {atShared, 40, func(r *runtime, m fake) { m.Words[atShared+r.at("upvalue.at")] = atStack + 32 }},
		"a free field elsewhere":           {atTable, 56, func(r *runtime, m fake) { m.Words[atTable+r.at("table.nodes")+8] = atNodes + 24 + 8 }},
		"a free field before":              {atTable, 56, func(r *runtime, m fake) { m.Words[atTable+r.at("table.nodes")+8] = atNodes - 8 }},
		"a table of which there is half":   {atTable, 40, nil},
		"an upvalue of another size":       {atShared, 100, nil},
		"a prototype without code":         {atPrototype, 128, func(r *runtime, m fake) { m.Words[atPrototype+r.at("function.code")] = 0 }},
		"code that is nowhere":             {atPrototype, 128, func(r *runtime, m fake) { m.Words[atPrototype+r.at("function.code")] = 0x99990 }},
		"a source that is none":            {atPrototype, 128, func(r *runtime, m fake) { m.Words[atPrototype+r.at("function.source")] = atTable }},
		"a prototype too small":            {atPrototype, 64, nil},
		"a thread of no state":             {atState - 8, 1000, func(r *runtime, m fake) { m.Words[atState+r.at("state.global")] = 0 }},
		"a state of another thread":        {atState - 8, 1000, func(r *runtime, m fake) { m.Words[atGlobal+r.at("global.main")] = atTable }},
	} {
		if o, ok := has(c.at, c.size, func(r *runtime, m fake) {
			more(r, m)
			if c.change != nil {
				c.change(r, m)
			}
		}); ok {
			t.Errorf("%s: %+v", name, o)
		}
	}
}

// TestRoom: a block may be larger than its object by little, or by a quarter, and no smaller.
func TestRoom(t *testing.T) {
	const n, need = 1000, 32 + 1000
	for size, want := range map[uint64]bool{need - 1: false, need: true, need + need/4 - 1: true, need + need/4: false} {
		if _, ok := has(atData, size, func(r *runtime, m fake) { more(r, m); m.Words[atData+16] = n }); ok != want {
			t.Errorf("userdata in a block of %d: %t", size, ok)
		}
	}
	r, _ := small()
	least := r.at("function.source") + 8
	for size, want := range map[uint64]bool{least - 1: false, least: true} {
		if _, ok := has(atPrototype, size, more); ok != want {
			t.Errorf("a prototype in a block of %d: %t", size, ok)
		}
	}
}

// TestObjectInCut: a block of which the dump has only the beginning, or nothing.
func TestObjectInCut(t *testing.T) {
	for at, size := range map[uint64]uint64{atTable: 56, atSource: 34, atClosure: 32, atPrototype: 128, atState - 8: 1000, atData: 56, atShared: 40, atForeign: 32} {
		r, m := small()
		more(r, m)
		for n := range size {
			b := make([]byte, n)
			r.Memory.ReadMem(at, b)
			r.ObjectIn(at, size, b)
		}
	}
}

// TestRegistered: what the main thread leads to is known once it was shown: global variables have their names.
func TestRegistered(t *testing.T) {
	r, m := small()
	m.Words[atState-8] = 0
	var names []string
	ask := func() []string {
		names = nil
		r.Variables(func(name string, _ uint64) bool { names = append(names, name); return true })
		return names
	}
	if ask() != nil {
		t.Errorf("before: %q", names)
	}
	m.Words[atGlobal+r.at("global.registry")], m.Words[atGlobal+r.at("global.registry")+8] = atTable, collectable|tagTable
	b := make([]byte, heap.ObjectBytes)
	r.Memory.ReadMem(atState-8, b)
	for range 2 {
		if _, ok := r.ObjectIn(atState-8, 1000, b); !ok || len(r.order) != 1 {
			t.Fatalf("%t, %d states", ok, len(r.order))
		}
	}
	if !slices.Equal(ask(), []string{"registry"}) {
		t.Errorf("after: %q", names)
	}
}

// FuzzObjectIn changes words of objects.
func FuzzObjectIn(f *testing.F) {
	f.Add(uint32(atTable), uint64(0), uint32(atTable+8), uint64(tagString), uint16(56))
	f.Add(uint32(atSource+16), uint64(1)<<63, uint32(atData+16), uint64(1)<<63, uint16(40))
	f.Add(uint32(atState), uint64(0), uint32(atGlobal+64), uint64(atTable), uint16(1000))
	f.Fuzz(func(t *testing.T, first uint32, a uint64, second uint32, b uint64, size uint16) {
		r, m := small()
		more(r, m)
		m.Words[uint64(first)&^7], m.Words[uint64(second)&^7] = a, b
		for _, at := range []uint64{atTable, atSource, atClosure, atPrototype, atState - 8, atData, atShared, atForeign} {
			b := make([]byte, min(size, heap.ObjectBytes))
			n, _ := r.Memory.ReadMem(at, b)
			if o, ok := r.ObjectIn(at, uint64(size), b[:n]); ok && o.Type == "" {
				t.Fatalf("%+v", o)
			}
		}
		r.Variables(func(string, uint64) bool { return true })
	})
}

// TestObjectInVersions: each version has its own forms.
func TestObjectInVersions(t *testing.T) {
	for _, c := range []struct {
		v                    version
		table, length, data  uint64 // how large a table is, where userdata has its length, and how much comes before what it holds
		head, strings, proto uint64
	}{{version{1, 5}, 64, 32, 40, 0, 0, 9}, {version{2, 2}, 64, 32, 40, 0, 48, 9}, {version{2, 4}, 56, 32, 40, 0, 48, 9}, {version{3, 6}, 56, 24, 40, 8, 48, 9}, {version{4, 4}, 56, 16, 32, 8, 48, 10}} {
		r, m := small()
		more(r, m)
		r.use(c.v)
		if r.threadHead() != c.head || r.stringTable() != c.strings || uint64(r.tagPrototype()) != c.proto {
			t.Errorf("%v: %d, %d, %d", c.v, r.threadHead(), r.stringTable(), r.tagPrototype())
		}
		in := func(at, size uint64) string {
			b := make([]byte, min(size, heap.ObjectBytes))
			r.Memory.ReadMem(at, b)
			o, _ := r.ObjectIn(at, size, b)
			return o.Type
		}
		m.Zero(atTable, 0x80)
		m.Put(atTable+8, tagTable)
		m.Words[atTable+r.at("table.nodes")] = atNodes
		m.Zero(atData, 0x80)
		m.Put(atData+8, tagData)
		m.Words[atData+c.length] = 300
		if c.v.minor == 4 { // it may have values besides
			m.Zero(atForeign, 0x200)
			m.Put(atForeign+8, tagData)
			m.Put(atForeign+10, 2)
			m.Words[atForeign+16] = 200
			if got := in(atForeign, 40+2*16+200); got != "userdata" {
				t.Errorf("with values: %q", got)
			}
			if got := in(atForeign, 32+200); got != "" {
				t.Errorf("without room for values: %q", got)
			}
		}
		if table, data := in(atTable, c.table), in(atData, c.data+300); table != "table" || data != "userdata" {
			t.Errorf("%v: %q, %q", c.v, table, data)
		}
		if table, data := in(atTable, c.table-8), in(atData, c.data+300-8); table != "" || data != "" {
			t.Errorf("%v, too small: %q, %q", c.v, table, data)
		}
	}
	jit := &runtime{memory: memory{jit: true}}
	if (&runtime{}).Unknown() != "" || jit.Unknown() == "" {
		t.Error("Unknown is wrong")
	}
}

// TestMetaName: userdata is called as its metatable is, if that has a name that is not too long.
func TestMetaName(t *testing.T) {
	for text, want := range map[string]string{"FILE*": "userdata FILE*", strings.Repeat("n", maxMetaName): "userdata " + strings.Repeat("n", maxMetaName), strings.Repeat("n", maxMetaName+1): "userdata"} {
		o, _ := has(atData, 56, func(r *runtime, m fake) {
			more(r, m)
			m.Zero(atNodes, 64)
			m.string(0x9500, "__name")
			m.string(0x9600, text)
			m.Words[atNodes], m.Words[atNodes+8] = 0x9600, collectable|tagString
			m.Put(atNodes+r.at("node.keytype"), collectable|tagString)
			m.Words[atNodes+r.at("node.key")] = 0x9500
		})
		if o.Type != want {
			t.Errorf("%q: %q", text, o.Type)
		}
	}
}

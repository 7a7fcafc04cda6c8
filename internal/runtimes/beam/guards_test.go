package beam

import (
	"context"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/corewalk/corewalk/internal/budget"
	"github.com/corewalk/corewalk/internal/runtimes/remote"
	"github.com/corewalk/corewalk/internal/runtimes/remote/remotetest"
	"github.com/corewalk/corewalk/libstate"
	"github.com/corewalk/corewalk/tasks"
	"github.com/corewalk/corewalk/unwind"
	"github.com/corewalk/corewalk/unwind/arch"
)

// A machine is a process with a small virtual machine: three atoms, two modules of two functions each, one scheduler, and two processes, the first of which runs.
type machine struct {
	*remotetest.Stopped
	remotetest.Words
	layout
	symbols map[string]uint64
	pointer uint64 // of the thread
	zeros   bool   // are where it has nothing
}

// Where it has what. Its functions begin where their names end.
const (
	atRelease, atVersion, atFlavor, atFrames = 0x1000, 0x1100, 0x1200, 0x1300
	atAtoms, atPages, atPage, atAtom         = 0x2000, 0x2200, 0x3000, 0x6000
	atNear, atActive, atRanges, atList       = 0x40000, 0x41000, 0x40100, 0x42000
	atModule, atNext                         = 0x50000, 0x60000
	atLines, atFirstLines, atLocations       = 0x51000, 0x51100, 0x51200
	atTable, atSlots                         = 0x70000, 0x71000
	atFirst, atSecond                        = 0x80000, 0x82000
	atStack, stackEnds                       = 0x90000, 0x90100
	atSchedulers, atScheduler, atX           = 0xa0000, 0xb0000, 0xd0000
	atCount, atHeap                          = 0xa0100, 0x90008
	atThread                                 = 0xdd00
)

// texts are its atoms: the first two are the same in all versions.
var texts = [...]string{"false", "true", "shop", "pay", "main", "external", ""}

func atomTerm(n uint64) uint64 { return n<<6 | tagAtom }
func small(n int64) uint64     { return uint64(n)<<4 | tagSmall }
func pid(number uint64) uint64 { return number<<4 | tagPid }
func (m *machine) set(at uint64, field string, v uint64) {
	at += m.at(field)
	if at%8 != 0 {
		m.Put32(at, uint32(v))
		return
	}
	m.Words[at] = v
}

func newMachine() *machine {
	m := &machine{Stopped: remotetest.NewStopped(nil), Words: remotetest.Words{}, layout: tableLayout(layoutsText, "27"), pointer: atThread}
	m.Libs = nil
	m.symbols = map[string]uint64{"etp_otp_release": atRelease, "etp_erts_version": atVersion, "etp_beamasm": atFlavor, "erts_frame_layout": atFrames, "erts_atom_table": atAtoms,
		"erts_dump_lit_areas": atNear, "the_active_code_index": atActive, "erts_proc": atTable, "erts_aligned_scheduler_data": atSchedulers, "erts_no_schedulers": atCount}
	m.Zero(atRelease, 16)
	m.Put(atRelease, []byte("27")...)
	m.Zero(atVersion, 24)
	m.Put(atVersion, []byte("15.2")...)
	m.Zero(atFlavor, 8)
	m.Put32(atFlavor, 1)
	m.Zero(atFrames, 8)
	m.Zero(atAtoms, 256)
	m.Put32(atAtoms+m.at("index.entries"), uint32(len(texts)))
	m.set(atAtoms, "index.segments", atPages)
	m.Zero(atPages, 8)
	m.Words[atPages] = atPage
	for i, s := range texts {
		at := uint64(atAtom + 0x100*i)
		m.Words[atPage+8*uint64(i)] = at
		m.Zero(at, 0x100)
		m.Put32(at+m.at("atom.index"), uint32(i))
		m.Put(at+m.at("atom.length"), byte(len(s)))
		m.set(at, "atom.name", at+0x80)
		m.Put(at+0x80, []byte(s)...)
	}
	m.Zero(atNear-1<<14, 1<<15)
	m.Zero(atActive, 8)
	m.Put32(atActive, 1)
	for i := range uint64(3) {
		for k, w := range []uint64{atList, 2, 8, atList + 16} {
			m.Words[atRanges+32*i+8*uint64(k)] = w
		}
	}
	for k, w := range []uint64{atModule, atModule + 0x800, atNext, atNext + 0x800} {
		m.Words[atList+8*uint64(k)] = w
	}
	for i, at := range []uint64{atModule, atNext} {
		m.Zero(at, 0x800)
		m.set(at, "code.count", 2)
		for k := range uint64(3) {
			m.Words[at+m.at("code.functions")+8*k] = at + 0x200 + 0x100*k
		}
		for k := range uint64(2) {
			f := at + 0x200 + 0x100*k + m.at("info.function")
			m.Words[f], m.Words[f+8], m.Words[f+16] = atomTerm(2), atomTerm(3+k), uint64(i)
		}
	}
	m.set(atModule, "code.lines", atLines)
	m.Zero(atLines, 0x300)
	m.set(atLines, "lines.locations", atLocations)
	m.Put32(atLines+m.at("lines.size"), 2)
	for k, w := range []uint64{atFirstLines, atFirstLines + 16, atFirstLines + 24} {
		m.Words[atLines+m.at("lines.functions")+8*uint64(k)] = w
	}
	for k, w := range []uint64{atModule + 0x228, atModule + 0x240, atModule + 0x300, atModule + 0x400} {
		m.Words[atFirstLines+8*uint64(k)] = w
	}
	m.Put(atLocations, 7, 0, 9, 0, 11, 0)
	m.Zero(atTable, 512)
	m.set(atTable, "table.slots", atSlots)
	m.Put32(atTable+m.at("table.max"), 16)
	m.Put32(atTable+m.at("table.count"), 2)
	m.Put32(atTable+m.at("table.mask"), 15)
	m.Put32(atTable+m.at("table.linemask"), 1)
	m.Put32(atTable+m.at("table.inmask"), 7)
	m.Put32(atTable+m.at("table.lineshift"), 3)
	m.Put32(atTable+m.at("table.inshift"), 1)
	m.Zero(atSlots, 128)
	for i, at := range []uint64{atFirst, atSecond} {
		m.Words[atSlots+8*uint64(i)] = at
		m.Zero(at, m.at("process.size"))
		m.set(at, "process.id", pid(uint64(i)))
		m.set(at, "process.stop", atStack+uint64(0x80*i))
		m.set(at, "process.heap", atStack)
		m.set(at, "process.end", stackEnds)
		m.set(at, "process.i", atModule+0x250)
	}
	m.Put32(atFirst+m.at("process.state"), uint32(m.at("state.running")))
	m.set(atFirst, "process.scheduler", atScheduler)
	m.Zero(atStack, 0x100)
	for i := range uint64(32) {
		m.Words[atStack+8*i] = tagNil
	}
	m.Words[atStack+16] = atNext + 0x250 // two values, then who called
	m.Words[atStack+24] = small(5)
	m.Zero(atSchedulers, 8)
	m.Words[atSchedulers] = atScheduler
	m.Words[atCount] = 1
	m.Zero(atScheduler, m.at("scheduler.size"))
	m.set(atScheduler, "scheduler.number", 1)
	m.set(atScheduler, "scheduler.thread", atThread)
	m.set(atScheduler, "scheduler.process", atFirst)
	m.set(atScheduler, "scheduler.registers", atX-m.at("registers.x"))
	return m
}

func (m *machine) ReadMem(at arch.Address, b []byte) (int, error) {
	if m.zeros {
		return remotetest.Full{Words: m.Words}.ReadMem(at, b)
	}
	return m.Words.ReadMem(at, b)
}
func (m *machine) ReadWord(at arch.Address) (uint64, error) { return m.Words.ReadWord(at) }
func (m *machine) ThreadIDs() ([]unwind.ThreadID, error)    { return []unwind.ThreadID{7}, nil }
func (m *machine) Registers(unwind.ThreadID) (regs arch.RegSet, err error) {
	regs.Set(arch.FSBase, m.pointer)
	return regs, nil
}

func (m *machine) SymbolByName(_ *libstate.Library, name string) (unwind.Symbol, bool) {
	at, ok := m.symbols[name]
	return unwind.Symbol{Name: name, Addr: at}, ok
}
func (m *machine) SymbolAt(*libstate.Library, unwind.Address) (unwind.Symbol, bool) {
	return unwind.Symbol{}, false
}

func (m *machine) process() *tasks.Process {
	return &tasks.Process{State: m, Symbols: m, Modules: []*libstate.Library{{Path: "/beam.smp"}}, Budget: budget.Of(1 << 22)}
}

func (m *machine) open(t *testing.T) *runtime {
	t.Helper()
	rt, err := Find(m.process())
	if err != nil {
		t.Fatal(err)
	}
	return rt.(*runtime)
}

// TestFound: the small virtual machine is one.
func TestFound(t *testing.T) {
	m := newMachine()
	r := m.open(t)
	if got, want := r.Describe(), "Erlang/OTP 27, erts 15.2 (with JIT), layout from the table"; got != want {
		t.Errorf("%q", got)
	}
	if got := r.ThreadName(7); got != "scheduler 1" || r.ThreadName(8) != "" {
		t.Errorf("%q", got)
	}
	p := r.runs(r.schedulerOf(7))
	if p == nil {
		t.Fatal("it runs nothing")
	}
	list, err := r.calls(p, r.suspended(p))
	if len(list) != 2 || err != nil {
		t.Fatalf("%d calls, %v", len(list), err)
	}
	if c := list[0]; c.name() != "shop:pay/0" || c.file != "shop.erl" || c.line != 9 || len(c.slots) != 2 {
		t.Errorf("%+v %+v", c.place, c.slots)
	}
	if c := list[1]; c.name() != "shop:pay/1" || c.file != "" || c.line != 0 || c.slots[0] != small(5) {
		t.Errorf("%+v %+v", c.place, c.slots)
	}
	n := 0
	for task, err := range r.Tasks(t.Context()) {
		if n++; err != nil || task.Kind != tasks.KindProcess || task.State == tasks.StateRunning != (n == 1) || n == 1 && task.Thread != 7 {
			t.Errorf("%+v, %v", task, err)
		}
	}
	if n != 2 {
		t.Errorf("%d processes", n)
	}
}

// TestNotFound: each thing that memory must say of itself.
func TestNotFound(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*machine)
		want   string
	}{
		"a release of no number":      {func(m *machine) { m.Put(atRelease, 'x') }, "its version is not known"},
		"no release":                  {func(m *machine) { delete(m.Words, atRelease) }, "its version is not known"},
		"an unknown release":          {func(m *machine) { m.Put(atRelease, '1') }, "known are 25 and 27"},
		"another architecture":        {func(m *machine) { m.CPU = arch.ARM64 }, "for x86-64 only"},
		"the first atom":              {func(m *machine) { m.Put(atAtom+0x80, 'F') }, "it has no atoms"},
		"the number of an atom":       {func(m *machine) { m.Put32(atAtom+0x100+m.at("atom.index"), 5) }, "it has no atoms"},
		"the count of atoms":          {func(m *machine) { m.Put32(atAtoms+m.at("index.entries"), 1) }, "it has no atoms"},
		"an atom too long":            {func(m *machine) { m.Put(atAtom+m.at("atom.length"), 0, 16) }, "it has no atoms"},
		"no symbol of the code":       {func(m *machine) { delete(m.symbols, "erts_dump_lit_areas") }, "where its code is"},
		"a version of the code":       {func(m *machine) { m.Put32(atActive, 3) }, "where its code is"},
		"no list in one version":      {func(m *machine) { m.Words[atRanges] = 0 }, "no list of modules"},
		"a list that is no list":      {func(m *machine) { m.Words[atRanges+32] |= 1 }, "no list of modules"},
		"more modules than places":    {func(m *machine) { m.Words[atRanges+32+16] = 1 }, "no list of modules"},
		"no modules":                  {func(m *machine) { m.Words[atRanges+32+8] = 0 }, "no list of modules"},
		"too many modules":            {func(m *machine) { m.Words[atRanges+32+8], m.Words[atRanges+32+16] = 1<<20, 1<<20 }, "no list of modules"},
		"a middle beyond the list":    {func(m *machine) { m.Words[atRanges+32+24] = atList + 48 }, "no list of modules"},
		"a middle before the list":    {func(m *machine) { m.Words[atRanges+32+24] = atList - 16 }, "no list of modules"},
		"a middle between entries":    {func(m *machine) { m.Words[atRanges+32+24] = atList + 8 }, "no list of modules"},
		"modules in another order":    {func(m *machine) { m.Words[atList+16] = atModule + 8 }, "no list of modules"},
		"a module that ends before":   {func(m *machine) { m.Words[atList+24] = atNext - 8 }, "no list of modules"},
		"a module not aligned":        {func(m *machine) { m.Words[atList+16] = atNext + 1 }, "no list of modules"},
		"modules that were unloaded":  {func(m *machine) { m.Words[atList+8], m.Words[atList+24] = atModule, atNext }, "no list of modules"},
		"no functions":                {func(m *machine) { m.Words[atModule+m.at("code.count")] = 0 }, "no list of modules"},
		"functions elsewhere":         {func(m *machine) { m.Words[atModule+m.at("code.functions")] = atNext }, "no list of modules"},
		"a function without a module": {func(m *machine) { m.Words[atModule+0x200+m.at("info.function")] = small(3) }, "no list of modules"},
		"no table":                    {func(m *machine) { m.set(atTable, "table.slots", 0) }, "no table of processes"},
		"a table of an odd size":      {func(m *machine) { m.Put32(atTable+m.at("table.max"), 12) }, "no table of processes"},
		"another mask":                {func(m *machine) { m.Put32(atTable+m.at("table.mask"), 7) }, "no table of processes"},
		"masks that do not meet":      {func(m *machine) { m.Put32(atTable+m.at("table.lineshift"), 2) }, "no table of processes"},
		"a shift too far":             {func(m *machine) { m.Put32(atTable+m.at("table.inshift"), 99) }, "no table of processes"},
	} {
		m := newMachine()
		c.change(m)
		rt, err := Find(m.process())
		if rt != nil || err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
	m := newMachine()
	delete(m.symbols, "etp_otp_release")
	if rt, err := Find(m.process()); rt != nil || err != nil {
		t.Errorf("without Erlang: %v, %v", rt, err)
	}
}

// TestProved: a process and a scheduler are what they are taken for only if they say so themselves.
func TestProved(t *testing.T) {
	for name, change := range map[string]func(*machine){
		"a process that is elsewhere in the table": func(m *machine) { m.set(atFirst, "process.id", pid(3)) },
		"a process without an identifier":          func(m *machine) { m.set(atFirst, "process.id", small(0)) },
		"a stack that ends before it begins":       func(m *machine) { m.set(atFirst, "process.end", atStack-8) },
		"the process that stands for none":         func(m *machine) { m.set(atTable, "table.invalid", atFirst) },
		"a process of another scheduler":           func(m *machine) { m.set(atFirst, "process.scheduler", atScheduler+8) },
		"a scheduler of another number":            func(m *machine) { m.set(atScheduler, "scheduler.number", 2) },
		"a scheduler of another thread":            func(m *machine) { m.set(atScheduler, "scheduler.thread", 8) },
		"too many schedulers":                      func(m *machine) { m.Words[atCount] = 1 << 12 },
		"no schedulers":                            func(m *machine) { m.Words[atSchedulers] = 0 },
	} {
		m := newMachine()
		change(m)
		r := m.open(t)
		if s := r.schedulerOf(7); s != nil && r.runs(s) != nil {
			t.Errorf("%s: it runs", name)
		}
	}
	m := newMachine()
	r := m.open(t)
	if r.processOf(pid(1)) == nil || r.processOf(pid(1+16)) != nil || r.processOf(small(1)) != nil || r.processOf(pid(5)) != nil {
		t.Error("the identifier of another process is taken")
	}
	m.Zero(0xe0000, 64)
	m.set(atSecond, "process.name", 0xe0000)
	m.set(0xe0000, "name.name", atomTerm(2))
	m.set(0xe0000, "name.process", atFirst)
	if p := newRuntime(m, t).processAt(atSecond); p.name != "" {
		t.Errorf("it has the name %q of another one", p.name)
	}
	m.set(0xe0000, "name.process", atSecond)
	if p := newRuntime(m, t).processAt(atSecond); p.name != "shop" {
		t.Errorf("its name is %q", p.name)
	}
}

func newRuntime(m *machine, t *testing.T) *runtime {
	t.Helper()
	return m.open(t)
}

// TestStack: a stack lies in the memory of its process, and is bounded.
func TestStack(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*machine, *position)
		calls  int
		fails  bool
	}{
		"as it is":         {func(*machine, *position) {}, 2, false},
		"not aligned":      {func(_ *machine, at *position) { at.stack++ }, 1, true},
		"beyond its end":   {func(_ *machine, at *position) { at.stack = stackEnds + 8 }, 1, true},
		"before its heap":  {func(m *machine, at *position) { at.stack = atStack - 8; m.Words[atStack-8] = tagNil }, 1, true},
		"not there":        {func(m *machine, _ *position) { delete(m.Words, atStack+64) }, 1, true},
		"code of no name":  {func(m *machine, _ *position) { m.Words[atStack+8] = atNext + 0x7f0 }, 1, true},
		"code of nobody":   {func(m *machine, _ *position) { m.Words[atStack+16] = 0x12340 }, 1, false},
		"unknown position": {func(_ *machine, at *position) { at.pc = 0x12340 }, 1, false},
	} {
		m := newMachine()
		r := m.open(t)
		p := r.processAt(atFirst)
		at := r.suspended(p)
		c.change(m, &at)
		list, err := r.calls(p, at)
		if len(list) != c.calls || (err != nil) != c.fails {
			t.Errorf("%s: %d calls, %v", name, len(list), err)
		}
	}
	m := newMachine()
	const deep, large = 0x10000000, maxDepth + 16
	for i := range uint64(large) {
		m.Words[deep+8*i] = atNext + 0x250
	}
	m.set(atFirst, "process.heap", deep)
	m.set(atFirst, "process.stop", deep)
	m.set(atFirst, "process.end", deep+8*large)
	r := m.open(t)
	p := r.processAt(atFirst)
	if list, err := r.calls(p, r.suspended(p)); err != errDeep || len(list) != maxDepth+1 {
		t.Errorf("%d calls, %v", len(list), err)
	}
	q := m.process()
	q.Budget = budget.Of(1 << 14)
	rt, err := Find(q)
	if err != nil {
		t.Fatal(err)
	}
	r = rt.(*runtime)
	if list, err := r.calls(r.processAt(atFirst), position{stack: deep}); err == nil || len(list) > 1<<13 {
		t.Errorf("%d calls without a budget, %v", len(list), err)
	}
	p.end = deep + maxStack + 8
	if _, err := r.calls(p, position{stack: deep}); err != errStack {
		t.Errorf("too large: %v", err)
	}
}

// TestLines: a line that nothing proves is none.
func TestLines(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*machine)
		line   int
	}{
		"as it is":               {func(*machine) {}, 9},
		"no table":               {func(m *machine) { m.set(atModule, "code.lines", 0) }, 0},
		"no location":            {func(m *machine) { m.Put(atLocations+2, 0) }, 0},
		"an odd size":            {func(m *machine) { m.Put32(atLines+m.at("lines.size"), 3) }, 0},
		"a table that runs back": {func(m *machine) { m.Words[atLines+m.at("lines.functions")+8] = atFirstLines - 8 }, 0},
		"before its beginning": {func(m *machine) {
			m.Words[atLines+m.at("lines.functions")] = atFirstLines + 8
			m.Words[atLines+m.at("lines.functions")+8] = atFirstLines
		}, 0},
		"too long": {func(m *machine) { m.Words[atLines+m.at("lines.functions")+8] = atFirstLines + 1<<40 }, 0},
	} {
		m := newMachine()
		c.change(m)
		p := m.open(t).placeAt(atModule + 0x250)
		if p == nil || p.line != c.line {
			t.Errorf("%s: %+v", name, p)
		}
	}
	for name, change := range map[string]func(*machine){
		"an arity of no function": func(m *machine) { m.Words[atModule+0x200+m.at("info.function")+16] = 300 },
		"a name of no atom":       func(m *machine) { m.Words[atModule+0x200+m.at("info.function")+8] = small(1) },
		"too many functions":      func(m *machine) { m.Words[atModule+m.at("code.count")] = 1 << 30 },
		"functions beyond":        func(m *machine) { m.Words[atModule+m.at("code.count")] = 0x200 },
	} {
		m := newMachine()
		r := m.open(t)
		change(m)
		if p := r.placeAt(atModule + 0x250); p != nil {
			t.Errorf("%s: %+v", name, p)
		}
	}
	m := newMachine()
	m.Put32(atLines+m.at("lines.size"), 4)
	m.Put32(atLocations+4, 1<<24|40)
	m.set(atLines, "lines.files", atLines+0x80)
	m.Words[atLines+0x80] = atomTerm(4)
	if p := m.open(t).placeAt(atModule + 0x250); p == nil || p.line != 40 || p.file != "main" {
		t.Errorf("%+v", p)
	}
}

// TestHostileValues: what has no end, or says that it is larger than memory.
func TestHostileValues(t *testing.T) {
	m := newMachine()
	r := m.open(t)
	const at = 0x200000
	boxed := func(words ...uint64) uint64 {
		m.Zero(at, 0x100)
		for i, w := range words {
			m.Words[at+8*uint64(i)] = w
		}
		return at | tagBoxed
	}
	header := func(kind, size uint64) uint64 { return size<<6 | kind<<2 }
	mapOf := func(kind, bits uint64) uint64 { return header(m.at("tag.map"), bits<<mapBits|kind) }
	for v, want := range map[uint64]string{0x12345678: "?", atomTerm(99): "?", 0: "?"} {
		if got := r.show(v, tasks.Limits{}); got != want {
			t.Errorf("%#x: %s", v, got)
		}
	}
	boxed(atomTerm(2), at|tagList)
	if got := r.show(at|tagList, tasks.Limits{}); got != "[shop,shop,shop,shop,shop,shop,shop,shop,shop,shop,...]" {
		t.Errorf("a list of itself: %s", got)
	}
	if d := r.tree(at|tagList, tasks.Limits{}); len(d.Children) != remote.TreeElements || !d.Truncated {
		t.Errorf("a list of itself: %d", len(d.Children))
	}
	boxed(small('a'), at|tagList)
	if got := r.show(at|tagList, tasks.Limits{}); len(got) != maxText+5 {
		t.Errorf("a text of itself: %s", got)
	}
	check := func(name, want string, words ...uint64) {
		t.Helper()
		v := boxed(words...)
		for i := range uint64(32) {
			if _, ok := m.Words[at+8*i]; ok && i >= uint64(len(words)) {
				m.Words[at+8*i] = tagNil
			}
		}
		if got := r.show(v, tasks.Limits{}); got != want {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
		r.tree(v, tasks.Limits{})
	}
	check("a tuple of itself", "{{{{{...}}}}}", header(tagTuple, 1), at|tagBoxed)
	check("a tuple larger than memory", "{[],[],[],[],[],[],[],[],[],[],...}", header(tagTuple, 1<<40))
	check("digits without end", "?", header(m.at("tag.positive"), 1<<30))
	check("a binary larger than memory", "?", header(m.at("tag.bits"), 2), math.MaxUint64)
	check("a part that ends before it begins", "?", header(m.at("tag.partbits"), 4), at, 9, 8)
	check("a map with no names", "#{...}", mapOf(mapFlat, 0), 2, tagNil)
	check("a map of all that there is", "#{...}", mapOf(mapFlat, 0), 1<<40, tagNil)
	check("a map of itself", "#{...}", mapOf(mapNode, 1), at|tagBoxed)
	check("a first part within", "#{...}", mapOf(mapBitmap, 1), 1, at|tagBoxed)
	check("a map of numbers", "#{...}", mapOf(mapArray, 0), 16, small(1))
	check("a fun of nothing", "?", header(m.at("tag.fun"), 1<<10), 0x30)
	check("a reference of C", "#Ref<0x200000>", header(m.at("tag.ref"), 3), 0x1000)
	r.p.Budget = budget.Of(1)
	check("no budget", "...", header(tagTuple, 1<<40))
}

// TestWaits: what a process waits for.
func TestWaits(t *testing.T) {
	const ref, node, data = 0x300000, 0x301000, 0x302000
	build := func() *machine {
		m := newMachine()
		m.Zero(ref, 32)
		m.Words[ref] = 3<<6 | m.at("tag.ref")<<2
		m.Words[ref+8], m.Words[ref+16] = 1<<32|(1<<32-1), 3<<32|2
		m.Words[atStack] = ref | tagBoxed
		monitor := uint64(node) + m.at("data.origin")
		m.Zero(node, 256)
		m.set(node, "data.ref", ref|tagBoxed)
		m.set(monitor, "monitor.other", pid(1))
		m.set(atFirst, "process.monitors", monitor)
		return m
	}
	wait := func(m *machine) *tasks.Wait {
		r := m.open(t)
		p := r.processAt(atFirst)
		list, err := r.calls(p, r.suspended(p))
		if err != nil {
			t.Fatal(err)
		}
		return r.wait(p, list, "waiting")
	}
	if w := wait(build()); w.Kind != tasks.WaitFuture || len(w.Holders) != 1 || w.Holders[0].ID != 2 || w.Holders[0].Certainty != tasks.Possible || w.Object.Address != ref {
		t.Errorf("%+v", w)
	}
	for name, change := range map[string]func(*machine){
		"it is monitored itself": func(m *machine) { m.Put(node+m.at("data.origin")+m.at("monitor.flags"), byte(m.at("monitor.target"))) },
		"it monitors something": func(m *machine) {
			m.Put(node+m.at("data.origin")+m.at("monitor.type"), byte(m.at("monitor.process")+1))
		},
		"another reference": func(m *machine) {
			m.Zero(data, 32)
			m.Words[data] = m.Words[ref]
			m.Words[data+8] = 1<<32 - 1
			m.set(node, "data.ref", data|tagBoxed)
		},
		"a reference of C":       func(m *machine) { m.Words[ref+8] = 0x1000 },
		"who it asked has ended": func(m *machine) { m.set(node+m.at("data.origin"), "monitor.other", pid(9)) },
		"a tree that is its own": func(m *machine) {
			m.set(node, "data.ref", tagNil)
			m.set(node+m.at("data.origin"), "monitor.left", node+m.at("data.origin"))
		},
		"no reference on its stack": func(m *machine) { m.Words[atStack] = tagNil },
	} {
		m := build()
		change(m)
		if w := wait(m); w.Kind != tasks.WaitReceive || len(w.Holders) != 0 || !w.Open {
			t.Errorf("%s: %+v", name, w)
		}
	}
	m := build()
	other := uint64(data) + m.at("data.origin") // asks another one with the same reference
	m.Zero(data, 256)
	m.set(data, "data.ref", ref|tagBoxed)
	m.set(other, "monitor.other", pid(0))
	m.set(node+m.at("data.origin"), "monitor.right", other)
	if w := wait(m); len(w.Holders) != 0 {
		t.Errorf("two: %+v", w)
	}
	m = newMachine()
	m.set(atFirst, "process.timer", 0x5000)
	if w := wait(m); !w.Timed {
		t.Error("no limit of time")
	}
	m.set(atFirst, "process.timer", 1)
	if w := wait(m); w.Timed {
		t.Error("a limit of time that is over")
	}
}

// TestQueue: messages are counted, marks are not, and lists have an end.
func TestQueue(t *testing.T) {
	m := newMachine()
	const first, second = 0x310000, 0x311000
	m.Zero(first, 32)
	m.Zero(second, 32)
	m.Words[first+16], m.Words[second+16] = small(1), m.at("tag.pid")<<2
	m.Words[first] = second
	m.set(atFirst, "process.messages", first)
	r := m.open(t)
	if n, more := r.queue(r.processAt(atFirst)); n != 1 || more {
		t.Errorf("%d, %t", n, more)
	}
	m.Words[second] = first
	if n, more := r.queue(r.processAt(atFirst)); n != maxQueue || !more {
		t.Errorf("%d of a circle, %t", n, more)
	}
	m.Words[second+16], m.Words[second], m.Words[first] = m.at("tag.pid")<<2, second, second // marks alone
	if n, more := r.queue(r.processAt(atFirst)); n != 1 || !more {
		t.Errorf("%d of a circle of marks, %t", n, more)
	}
}

// TestManyProcesses: lists of processes are bounded, and end with the last one.
func TestManyProcesses(t *testing.T) {
	m := newMachine()
	const slots, many = 0x20000000, maxListed + 8
	m.set(atTable, "table.slots", slots)
	m.Put32(atTable+m.at("table.max"), 1<<15)
	m.Put32(atTable+m.at("table.mask"), 1<<15-1)
	m.Put32(atTable+m.at("table.linemask"), 1<<12-1)
	m.Put32(atTable+m.at("table.inshift"), 12)
	m.Put32(atTable+m.at("table.count"), many)
	m.zeros = true
	for i := range uint64(many) {
		at := 0x30000000 + 0x1000*i
		m.Words[slots+8*i] = at
		m.set(at, "process.id", pid(i))
		m.set(at, "process.end", stackEnds)
		m.set(at, "process.stop", stackEnds)
	}
	q := m.process()
	q.Budget = nil
	rt, err := Find(q)
	if err != nil {
		t.Fatal(err)
	}
	n, last := 0, error(nil)
	for task, err := range rt.Tasks(t.Context()) {
		if last = err; task != nil {
			n++
		}
	}
	if n != maxListed || last != errMany {
		t.Errorf("%d processes, %v", n, last)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for range rt.Tasks(ctx) {
		t.Error("it goes on")
	}
}

// TestNames: atoms and numbers as Erlang writes them.
func TestNames(t *testing.T) {
	for s, want := range map[string]string{"a": "a", "aB_1@x": "aB_1@x", "": "''", "A": "'A'", "a b": "'a b'", "a'b": `'a\'b'`, "receive": "'receive'", "é": "é", "1": "'1'", "_": "'_'"} {
		if got := quoteAtom(s); got != want {
			t.Errorf("%q: %s", s, got)
		}
	}
	for v, want := range map[float64]string{0: "0.0", math.Copysign(0, -1): "-0.0", 1: "1.0", 0.1: "0.1", 1e22: "1.0e22", 1e-7: "1.0e-7", 123456: "123456.0", 1234567890123: "1234567890123.0",
		1e15: "1.0e15", -2.5e-10: "-2.5e-10", 1.5e300: "1.5e300", 0.001: "0.001", math.Inf(1): "?"} {
		if got := floatText(v); got != want {
			t.Errorf("%v: %s, want %s", v, got, want)
		}
	}
	if k := (tasks.Key{Kind: tasks.KindProcess, ID: 5 | 2<<28}); k.String() != "process <0.5.2>" {
		t.Error(k)
	}
	if !Shows("beam_jit_call_nif", "") || !Shows("", "/usr/lib/erlang/erts-13/bin/beam.smp") || Shows("main", "/bin/beaming/a") || !slices.Contains(texts[:], "shop") {
		t.Error("what shows it")
	}
}

// TestCode: what code says: that a call is before an address, from where it takes its stack again, that a function begins there.
func TestCode(t *testing.T) {
	const at = 0x400000
	m := newMachine()
	m.Zero(at, 256)
	r := m.open(t)
	for name, c := range map[string]struct {
		code []byte // that ends at the address
		want bool
	}{
		"by a distance":   {[]byte{0xe8, 1, 2, 3, 4}, true},
		"by a register":   {[]byte{0xff, 0xd0}, true},
		"by memory":       {[]byte{0xff, 0x15, 1, 2, 3, 4}, true},
		"with an index":   {[]byte{0xff, 0x94, 0x24, 1, 2, 3, 4}, true},
		"a jump":          {[]byte{0xff, 0xe0}, false},
		"a move":          {[]byte{0x8b, 0xd0}, false},
		"no instructions": {[]byte{0, 0, 0, 0, 0}, false},
	} {
		m.Zero(at, 64)
		m.Put(at+32-uint64(len(c.code)), c.code...)
		if got := r.behindCall(at + 32); got != c.want {
			t.Errorf("%s: %t", name, got)
		}
	}
	if r.behindCall(0x999000) {
		t.Error("what is not there")
	}
	own := []byte{0x49, 0x8b, 0x65, byte(m.at("process.stop"))}
	for name, c := range map[string]struct {
		code []byte
		fp   bool
		want bool
	}{
		"from a register":                {[]byte{0x48, 0x89, 0xec}, false, true},
		"the other form":                 {[]byte{0x90, 0x48, 0x8b, 0xe5}, false, true},
		"from the process":               {own, false, false},
		"from the process first":         {append(slices.Clip(own), 0x48, 0x89, 0xec), false, false},
		"from a register first":          {append([]byte{0x48, 0x89, 0xec}, own...), false, true},
		"not at all":                     {[]byte{0x90}, false, false},
		"a frame pointer is in that one": {[]byte{0x48, 0x89, 0xec}, true, false},
	} {
		m.Zero(at, 128)
		m.Put(at, c.code...)
		r.fp = c.fp
		if got := r.restores(at); got != c.want {
			t.Errorf("%s: %t", name, got)
		}
	}
	if !r.hasRegisters(atX) || r.hasRegisters(atX+8) || r.hasRegisters(0) {
		t.Error("the registers of a scheduler")
	}
	if r.threads[0].dirty = true; r.hasRegisters(atX) {
		t.Error("a scheduler that runs no compiled code")
	}
	p := r.processAt(atFirst)
	p.arity, p.i, p.arguments = 1, atNext+0x200+m.at("info.size"), atStack
	if at := r.suspended(p); at.args != 1 || at.from != atStack {
		t.Errorf("at the beginning of a function: %+v", at)
	}
	p.i += 8
	if at := r.suspended(p); at.args != 0 {
		t.Errorf("within a function: %+v", at)
	}
	p.i, p.arity = p.i-8, 2
	if at := r.suspended(p); at.args != 0 {
		t.Errorf("with other arguments: %+v", at)
	}
}

// TestShared: code that functions share is left to the one that called it, which is there once.
func TestShared(t *testing.T) {
	const odd = atNext + 0x252 // no call of Erlang's returns there
	for name, c := range map[string]struct {
		change func(*machine, *runtime)
		pc     uint64
		stack  uint64
		calls  int
	}{
		"as it is":                 {func(*machine, *runtime) {}, odd, atStack + 8, 2},
		"no code":                  {func(m *machine, _ *runtime) { m.Words[atStack] = tagNil }, 0, atStack, 1},
		"a frame pointer":          {func(m *machine, r *runtime) { r.fp, m.Words[atStack], m.Words[atStack+8] = true, atStack+32, odd }, odd, atStack + 16, 2},
		"one that nobody has":      {func(m *machine, _ *runtime) { m.Words[atStack], m.Words[atStack+8] = atStack+32, odd }, 0, atStack, 1},
		"one that leads elsewhere": {func(m *machine, r *runtime) { r.fp, m.Words[atStack], m.Words[atStack+8] = true, stackEnds+8, odd }, 0, atStack, 1},
	} {
		m := newMachine()
		m.Words[atStack] = odd
		r := m.open(t)
		p := r.processAt(atFirst)
		c.change(m, r)
		at := position{stack: p.stop, pc: 0x900000}
		r.leaveShared(&at, p)
		list, err := r.calls(p, at)
		if at.pc != c.pc || at.stack != c.stack || len(list) != c.calls || err != nil {
			t.Errorf("%s: %+v, %d calls, %v", name, at, len(list), err)
		}
	}
}

// TestSystemTask: a process for which a dirty scheduler collects garbage goes on where it was.
func TestSystemTask(t *testing.T) {
	m := newMachine()
	r := m.open(t)
	p := r.processAt(atFirst)
	s := &scheduler{at: atScheduler, dirty: true}
	frames := []*unwind.Frame{remotetest.Frame(t, m, 0x900000, 0, nil)}
	at, err := r.position(s, p, frames)
	if err != nil || at.pc != 0 {
		t.Errorf("in a function of C: %+v, %v", at, err)
	}
	p.state |= r.at("state.dirtysystem")
	if at, err = r.position(s, p, frames); err != nil || at.pc != p.i {
		t.Errorf("in a task of the system: %+v, %v", at, err)
	}
}

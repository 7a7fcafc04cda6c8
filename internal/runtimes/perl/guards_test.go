package perl

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/corewalk/corewalk/internal/budget"
	"github.com/corewalk/corewalk/internal/procmem"
	"github.com/corewalk/corewalk/internal/runtimes/remote/remotetest"
	"github.com/corewalk/corewalk/libstate"
	"github.com/corewalk/corewalk/tasks"
	"github.com/corewalk/corewalk/unwind"
	"github.com/corewalk/corewalk/unwind/arch"
)

// A fake is the memory of a process.
type fake struct {
	remotetest.Words
	r *runtime
}

// A threaded process has two threads.
type threaded struct {
	unwind.ProcessState
	fake
}

const atThread = 0x50000 // the pointer of thread 7; that of thread 8 is the next page

func (s *threaded) Arch() *arch.Arch                               { return arch.AMD64 }
func (s *threaded) ThreadIDs() ([]unwind.ThreadID, error)          { return []unwind.ThreadID{7, 8}, nil }
func (s *threaded) ReadMem(at arch.Address, b []byte) (int, error) { return s.fake.ReadMem(at, b) }
func (s *threaded) ReadWord(at arch.Address) (uint64, error)       { return s.fake.ReadWord(at) }
func (s *threaded) LibraryTracker() libstate.LibraryState          { return nil }
func (s *threaded) ProcessID() int                                 { return 7 }
func (s *threaded) Registers(id unwind.ThreadID) (regs arch.RegSet, err error) {
	regs.Set(arch.FSBase, atThread+0x1000*uint64(id-7))
	return regs, nil
}

// exported has the symbols of a module.
type exported map[string]uint64

func (e exported) SymbolByName(_ *libstate.Library, name string) (unwind.Symbol, bool) {
	at, ok := e[name]
	return unwind.Symbol{Addr: at, Name: name}, ok
}
func (e exported) SymbolAt(*libstate.Library, unwind.Address) (unwind.Symbol, bool) {
	return unwind.Symbol{}, false
}

// Where a small process has what.
const (
	atVariables    = 0x1000
	atInterpreter  = 0x2000
	atInfo, atSort = 0x4000, 0x4100
	atContexts     = 0x5000
	atOtherContext = 0x5800
	atCops         = 0x6000
	atVersion      = 0x7000
	atStash        = 0x8000
	atOuter        = 0x9000 // two subs
	atInner        = 0xa000
	atValues       = 0xb000
	atPad          = 0x10000
	stackEnv       = 0x70000
)

// symbols are those of the small process.
func symbols() exported {
	return exported{"perl_run": 1, "PL_op_name": 2, "PL_curinterp": atVariables, "PL_thr_key": atVariables + 8, "PL_interp_size": atVariables + 16}
}

func (m fake) set(at uint64, field string, v uint64)   { m.Words[at+m.r.at(field)] = v }
func (m fake) set32(at uint64, field string, v uint32) { m.Put32(at+m.r.at(field), v) }

// value puts a value whose body is 0x20 bytes behind it.
func (m fake) value(at, flags, here uint64) {
	m.Zero(at, 0xa0)
	m.Words[at], m.Words[at+valueHere] = at+0x20, here
	m.Put32(at+valueFlags, uint32(flags))
}

// text puts a value that is a text.
func (m fake) text(at uint64, s string) {
	m.value(at, m.r.at("type.pv")|flagText, at+0xa0)
	m.Words[at+0x20+bodyLength] = uint64(len(s))
	m.Zero(at+0xa0, uint64(len(s))+8)
	m.Put(at+0xa0, []byte(s)...)
}

// hek puts a name.
func (m fake) hek(at uint64, s string) uint64 {
	m.Zero(at, uint64(len(s))+24)
	m.Put32(at+4, uint32(len(s)))
	m.Put(at+8, []byte(s)...)
	return at
}

// sub puts a sub with a glob behind it, which has the name.
func (m fake) sub(at uint64, name string) {
	m.value(at, m.r.at("type.cv"), 0)
	m.set(at+0x20, "body.cvgv", at+0x100)
	m.value(at+0x100, m.r.at("type.gv"), at+0x300)
	m.set(at+0x120, "body.gvname", m.hek(at+0x200, name))
	m.set(at+0x120, "body.gvstash", atStash)
	m.Zero(at+0x300, 0x60)
}

// cop puts a place, and returns where it is.
func (m fake) cop(i uint64, line uint32) uint64 {
	at := atCops + 0x100*i
	m.Zero(at, 0x60)
	m.set32(at, "cop.line", line)
	m.set32(at, "cop.seq", 10+uint32(i))
	m.set(at, "cop.file", atCops-0x100)
	return at
}

// context puts a context.
func (m fake) context(list, i uint64, kind uint64, cop, cv, retop uint64) uint64 {
	at := list + i*m.r.at("context.size")
	m.Zero(at, m.r.at("context.size"))
	m.Put(at, byte(kind))
	m.set(at, "context.oldcop", cop)
	m.set(at, "context.retop", retop)
	if kind&15 == m.r.at("context.sub") {
		m.set(at, "context.cv", cv)
	}
	return at
}

func (m fake) info(at, list uint64, index, kind int32, previous uint64) {
	m.Zero(at, 0x40)
	m.set(at, "info.contexts", list)
	m.set32(at, "info.index", uint32(index))
	m.set32(at, "info.max", uint32(max(index, 9)))
	m.set32(at, "info.type", uint32(kind))
	if previous != 0 {
		m.set(at, "info.prev", previous)
		m.set(previous, "info.next", at)
	}
}

const operation = 0x7f000 // to which a call returns

// small is a process that runs Shop::outer, in it an eval, in it a sort that calls Shop::inner, all called by the main program.
func small() (*runtime, fake) {
	m := fake{remotetest.Words{}, nil}
	r := &runtime{memory: memory{Reader: procmem.Reader{Memory: m, Arch: arch.AMD64}, layout: tableLayout(layoutsText, "5.36t")}, threads: true, version: "5.36t", release: "5.36.0",
		first: atInterpreter, slot: 3, keyed: true, seen: map[unwind.ThreadID]uint64{}}
	m.r = r
	r.p = &tasks.Process{State: &threaded{fake: m}, Symbols: symbols(), Modules: []*libstate.Library{{Path: "libperl.so.5.36"}}}
	m.Zero(atVariables, 0x40)
	m.Words[atVariables], m.Words[atVariables+8], m.Words[atVariables+16] = atInterpreter, 3, 0xeb8
	m.Zero(atInterpreter, 0x1000)
	m.text(atVersion, "v5.36.0")
	m.set(atInterpreter, "interp.patchlevel", atVersion)
	m.set(atInterpreter, "interp.curcop", m.cop(0, 30))
	m.set(atInterpreter, "interp.curstackinfo", atSort)
	m.Zero(atCops-0x100, 0x40)
	m.Put(atCops-0x100, []byte("shop.pl")...)
	m.value(atStash, r.at("type.hv")|r.at("flag.aux"), 0)
	m.set(atStash+0x20+r.at("body.aux"), "aux.name", m.hek(atStash+0x200, "Shop"))
	m.sub(atOuter, "outer")
	m.sub(atInner, "inner")
	m.info(atInfo, atContexts, 2, 1, 0)
	m.info(atSort, atOtherContext, 1, 3, atInfo)
	m.context(atContexts, 0, 2, 0, 0, 0)
	m.context(atContexts, 1, r.at("context.sub")|r.at("context.hasargs"), m.cop(3, 5), atOuter, operation)
	eval := m.context(atContexts, 2, r.at("context.eval"), m.cop(2, 11), 0, operation)
	m.set(eval, "context.env", stackEnv)
	m.context(atOtherContext, 0, 0, 0, 0, 0)
	m.context(atOtherContext, 1, r.at("context.sub"), m.cop(1, 12), atInner, operation)
	for id := range uint64(2) {
		at := atThread + 0x1000*id
		m.Zero(at, 0x600)
		m.Words[at] = at
	}
	m.Words[atThread+specificValues+16*3], m.Words[atThread+specificValues+16*3+8] = 1, atInterpreter
	return r, m
}

// lines are the calls as text.
func lines(r *runtime) (list []string, err error) {
	s, err := r.calls(atInterpreter)
	for i := range s.list {
		c := &s.list[i]
		list = append(list, fmt.Sprintf("%s %s:%d", c.function, c.file, c.line))
	}
	return list, err
}

var asItIs = []string{"Shop::inner shop.pl:30", "eval {...} shop.pl:12", "Shop::outer shop.pl:11", "main program shop.pl:5"}

// TestSmall: the process as it is.
func TestSmall(t *testing.T) {
	r, _ := small()
	got, err := lines(r)
	if err != nil || !slices.Equal(got, asItIs) {
		t.Fatalf("%q, %v", got, err)
	}
	s, _ := r.calls(atInterpreter)
	if want := []level{{0, 1, -1, false}, {1, 4, -1, false}}; !slices.Equal(s.levels, want) {
		t.Errorf("%+v", s.levels)
	}
	if _, err := r.calls(atInterpreter + 0x100); err != nil {
		t.Errorf("no stack: %v", err)
	}
}

// TestGuards: each thing that is wrong with calls is seen.
func TestGuards(t *testing.T) {
	for what, harm := range map[string]func(r *runtime, m fake){
		"contexts before the first": func(_ *runtime, m fake) { m.set32(atInfo, "info.index", ^uint32(1)) },
		"contexts behind the last":  func(_ *runtime, m fake) { m.Zero(atContexts+0x138, 0x600); m.set32(atInfo, "info.index", 10) },
		"a million contexts":        func(_ *runtime, m fake) { m.set32(atInfo, "info.max", maxContexts+1) },
		"less than none": func(_ *runtime, m fake) {
			m.set32(atInfo, "info.index", ^uint32(0))
			m.set32(atInfo, "info.max", ^uint32(0))
		},
		"no kind":                      func(_ *runtime, m fake) { m.set32(atSort, "info.type", 99) },
		"a negative kind":              func(_ *runtime, m fake) { m.set32(atSort, "info.type", ^uint32(1)) },
		"no contexts":                  func(_ *runtime, m fake) { m.set(atInfo, "info.contexts", 0) },
		"contexts between words":       func(_ *runtime, m fake) { m.set(atInfo, "info.contexts", atContexts+1) },
		"a stack between words":        func(_ *runtime, m fake) { m.set(atSort, "info.prev", atInfo+4) },
		"a stack that leads elsewhere": func(_ *runtime, m fake) { m.set(atInfo, "info.next", 0x99000) },
		"contexts that are not there":  func(_ *runtime, m fake) { m.set(atInfo, "info.contexts", 0x99000) },
		"a sub that is a hash":         func(r *runtime, m fake) { m.Put32(atInner+valueFlags, uint32(r.at("type.hv"))) },
		"a sub that was given back":    func(_ *runtime, m fake) { m.Put32(atInner+valueFlags, typeFree) },
		"a sub without a body":         func(_ *runtime, m fake) { m.Words[atInner] = 0 },
		"a body between words":         func(_ *runtime, m fake) { m.Words[atInner]++ },
		"a name of a megabyte": func(_ *runtime, m fake) {
			m.Zero(0x100000, 1<<20+16)
			m.Put32(0x100004, 1<<20)
			m.set(atInner+0x120, "body.gvname", 0x100000)
		},
		"a name that is not there": func(_ *runtime, m fake) { m.set(atInner+0x120, "body.gvname", 0x99000) },
		"a glob that is a hash":    func(r *runtime, m fake) { m.Put32(atInner+0x100+valueFlags, uint32(r.at("type.hv"))) },
		"stacks without end": func(_ *runtime, m fake) {
			m.set(atSort, "info.prev", atSort)
			m.set(atSort, "info.next", atSort)
			m.set32(atSort, "info.index", ^uint32(0))
		},
	} {
		r, m := small()
		harm(r, m)
		if got, err := lines(r); err == nil {
			t.Errorf("%s: %q", what, got)
		}
	}
	// What there is before the damage stays.
	r, m := small()
	m.set32(atInfo, "info.type", 99)
	if got, err := lines(r); err == nil || !slices.Equal(got, asItIs[:1]) {
		t.Errorf("%q, %v", got, err)
	}
	r, m = small()
	size := r.at("context.size")
	r.Memory = endless{m, r.Bytes(atContexts+size, int(size))}
	m.set(atInfo, "info.contexts", atEndless)
	m.set32(atInfo, "info.max", maxContexts)
	m.set32(atInfo, "info.index", maxCalls+9)
	if _, err := r.calls(atInterpreter); err != errDeep {
		t.Errorf("too many calls: %v", err)
	}
}

// Endless memory has one context again and again.
type endless struct {
	fake
	context []byte
}

const atEndless = 0x10000000

func (m endless) ReadMem(at arch.Address, b []byte) (int, error) {
	if at < atEndless {
		return m.fake.ReadMem(at, b)
	}
	for n := 0; n < len(b); {
		n += copy(b[n:], m.context[(at-atEndless+uint64(n))%uint64(len(m.context)):])
	}
	return len(b), nil
}

// TestLevels: C calls subs that return nowhere, evals around them, destructors, and code that ends.
func TestLevels(t *testing.T) {
	for what, c := range map[string]struct {
		harm func(r *runtime, m fake)
		want []level
	}{
		"C called the outer": {func(r *runtime, m fake) { m.context(atContexts, 1, r.at("context.sub"), m.cop(3, 5), atOuter, 0) },
			[]level{{0, 1, -1, false}, {1, 3, -1, false}, {3, 4, -1, false}}},
		"within an eval of C": {func(r *runtime, m fake) {
			m.context(atContexts, 1, r.at("context.eval"), m.cop(3, 5), 0, 0)
			m.context(atContexts, 2, r.at("context.sub"), m.cop(2, 11), atOuter, 0)
		}, []level{{0, 1, -1, false}, {1, 3, -1, false}, {3, 4, -1, false}}},
		"an eval of C with something between": {func(r *runtime, m fake) {
			m.context(atContexts, 0, r.at("context.eval"), m.cop(3, 5), 0, 0)
			m.context(atContexts, 1, 2, 0, 0, 0)
			m.context(atContexts, 2, r.at("context.sub"), m.cop(2, 11), atOuter, 0)
		}, []level{{0, 1, -1, false}, {1, 2, -1, false}, {2, 3, -1, false}, {3, 4, -1, false}}},
		"the end of a block of sort": {func(r *runtime, m fake) { m.context(atOtherContext, 1, r.at("context.sub"), m.cop(1, 12), atInner, 0) },
			[]level{{0, 1, -1, true}, {1, 1, -1, false}, {1, 4, -1, false}}},
		"sort by a sub": {func(r *runtime, m fake) {
			m.context(atOtherContext, 0, r.at("context.sub"), m.cop(1, 12), atInner, 0)
			m.set32(atSort, "info.index", 0)
		}, []level{{0, 1, -1, false}, {1, 4, -1, false}}},
		"code in a pattern": {func(r *runtime, m fake) {
			m.context(atContexts, 2, r.at("context.sub")|r.at("context.fake")|r.at("context.pattern"), m.cop(2, 11), atOuter, 0)
		}, []level{{0, 1, -1, false}, {1, 1, -1, false}, {1, 3, -1, false}}},
		"the end of code in a pattern": {func(r *runtime, m fake) {
			m.context(atContexts, 1, r.at("context.sub")|r.at("context.pattern"), m.cop(3, 5), atOuter, 0)
			m.context(atContexts, 2, r.at("context.sub"), m.cop(2, 11), atInner, 0)
		}, []level{{0, 1, -1, false}, {1, 2, -1, true}, {2, 3, -1, false}, {3, 4, -1, false}}},
		"a defer block": {func(r *runtime, m fake) { m.context(atContexts, 2, r.at("context.defer"), m.cop(2, 11), 0, operation) },
			[]level{{0, 1, -1, false}, {1, 1, -1, false}, {1, 3, -1, false}}},
	} {
		r, m := small()
		c.harm(r, m)
		if s, err := r.calls(atInterpreter); err != nil || !slices.Equal(s.levels, c.want) {
			t.Errorf("%s: %+v, %v", what, s.levels, err)
		}
	}
}

// TestOrder: levels that may be one with the next are, if there are too many for the frames; else nothing is guessed.
func TestOrder(t *testing.T) {
	for what, c := range map[string]struct {
		levels []level
		frames []int
		want   []level
	}{
		"as many":                 {[]level{{0, 1, -1, false}, {1, 2, -1, false}}, []int{3, 5}, []level{{0, 1, 3, false}, {1, 2, 5, false}}},
		"soft, as many":           {[]level{{0, 1, -1, true}, {1, 2, -1, false}}, []int{3, 5}, []level{{0, 1, 3, true}, {1, 2, 5, false}}},
		"soft":                    {[]level{{0, 1, -1, true}, {1, 2, -1, false}}, []int{3}, []level{{0, 0, -1, true}, {0, 2, 3, false}}},
		"soft, twice":             {[]level{{0, 1, -1, true}, {1, 2, -1, true}, {2, 3, -1, false}}, []int{3}, []level{{0, 0, -1, true}, {0, 0, -1, true}, {0, 3, 3, false}}},
		"the program is compiled": {[]level{{0, 1, -1, false}, {1, 2, -1, false}}, []int{3}, []level{{0, 1, 3, false}, {1, 2, -1, false}}},
		"too few frames":          {[]level{{0, 1, -1, false}, {1, 2, -1, false}, {2, 3, -1, false}}, []int{3}, []level{{0, 1, -1, false}, {1, 2, -1, false}, {2, 3, -1, false}}},
		"too many":                {[]level{{0, 1, -1, false}}, []int{3, 5}, []level{{0, 1, -1, false}}},
	} {
		s := stack{levels: c.levels}
		s.order(0, len(s.levels), c.frames)
		if !slices.Equal(s.levels, c.want) {
			t.Errorf("%s: %+v, want %+v", what, s.levels, c.want)
		}
	}
}

// TestRaised: the error for which a handler runs, and no other.
func TestRaised(t *testing.T) {
	build := func() (*runtime, fake) {
		r, m := small()
		m.pads()
		m.sub(atInner, "handler")
		m.set(atInner+0x20, "body.padlist", atPad)
		m.info(atSort, atOtherContext, 0, int32(r.at("info.diehook")), atInfo)
		m.context(atOtherContext, 0, r.at("context.sub"), m.cop(1, 12), atInner, 0)
		m.text(atPad+0x2000, "no money\n")
		return r, m
	}
	for what, c := range map[string]struct {
		harm func(r *runtime, m fake)
		want string
	}{
		"as it is": {func(*runtime, fake) {}, "die: no money in eval {...} at shop.pl:12"},
		"taken out of @_": {func(_ *runtime, m fake) {
			m.Words[atPad+0x3000+valueHere] += 8
			m.set(atPad+0x3020, "body.fill", math.MaxUint64)
		}, "die: no money in eval {...} at shop.pl:12"},
		"a handler of warnings":    {func(_ *runtime, m fake) { m.set32(atSort, "info.type", 7) }, ""},
		"called by the handler":    {func(r *runtime, m fake) { m.set(atOtherContext, "context.retop", operation) }, ""},
		"no error":                 {func(_ *runtime, m fake) { m.value(atPad+0x2000, 0, 0) }, ""},
		"an error that was freed":  {func(_ *runtime, m fake) { m.value(atPad+0x2000, typeFree, 0) }, ""},
		"a handler that is no sub": {func(_ *runtime, m fake) { m.set(atInner+0x20, "body.padlist", 0) }, ""},
		"no list of arguments":     {func(_ *runtime, m fake) { m.number(atPad+0x3000, 1) }, ""},
	} {
		r, m := build()
		c.harm(r, m)
		got := ""
		for _, e := range r.Raised(7) {
			got += fmt.Sprintf("%s: %s in %s at %s:%d", e.Type, e.Message, e.Function, e.File, e.Line)
		}
		if got != c.want {
			t.Errorf("%s: %q, want %q", what, got, c.want)
		}
	}
	r, _ := build()
	if list := r.Raised(8); list != nil {
		t.Errorf("another thread: %+v", list)
	}
}

// TestEvals: which kind of eval one is.
func TestEvals(t *testing.T) {
	for what, c := range map[string]struct {
		op   string
		name string
		want string
	}{
		"a block": {"op.entertry", "", "eval {...}"},
		"a text":  {"op.entereval", "", "eval '...'"},
		"a file":  {"op.require", "Shop.pm", "require Shop.pm"},
		"do":      {"op.dofile", "do.pl", "do do.pl"},
	} {
		r, m := small()
		at := atContexts + 2*r.at("context.size")
		m.Put(at+r.at("context.u16"), byte(r.at(c.op)<<7), byte(r.at(c.op)>>1))
		if c.name != "" {
			m.text(atValues, c.name)
			m.set(at, "context.name", atValues)
		}
		if got, err := lines(r); err != nil || len(got) != 4 || got[1] != c.want+" shop.pl:12" {
			t.Errorf("%s: %q, %v", what, got, err)
		}
	}
	r, m := small()
	m.Put(atContexts+2*r.at("context.size"), byte(r.at("context.eval")|r.at("context.try")))
	s, err := r.calls(atInterpreter)
	if calls := r.describe(s.list); err != nil || len(calls) != 3 || calls[1].Function != "Shop::outer" || calls[1].Line != 12 {
		t.Errorf("try: %+v, %v", calls, err)
	}
}

// TestNames: names of subs, as caller has them.
func TestNames(t *testing.T) {
	for what, c := range map[string]struct {
		harm func(r *runtime, m fake)
		want string
	}{
		"as it is":                   {func(*runtime, fake) {}, "Shop::inner"},
		"no glob":                    {func(_ *runtime, m fake) { m.set(atInner+0x20, "body.cvgv", 0) }, "(unknown)"},
		"no package":                 {func(_ *runtime, m fake) { m.set(atInner+0x120, "body.gvstash", 0) }, "__ANON__::inner"},
		"a package without a name":   {func(r *runtime, m fake) { m.Put32(atStash+valueFlags, uint32(r.at("type.hv"))) }, "__ANON__::inner"},
		"a package that is an array": {func(r *runtime, m fake) { m.Put32(atStash+valueFlags, uint32(r.at("type.av")|r.at("flag.aux"))) }, "__ANON__::inner"},
		"a package with several names": {func(r *runtime, m fake) {
			aux := atStash + 0x20 + r.at("body.aux")
			m.set(aux, "aux.name", 0x8400)
			m.Words[0x8400] = m.hek(0x8500, "First")
			m.set32(aux, "aux.count", 2)
		}, "First::inner"},
		"another name that counts": {func(_ *runtime, m fake) { m.set(atInner+0x300, "gp.egv", atOuter+0x100) }, "Shop::outer"},
		"a name without a glob": {func(r *runtime, m fake) {
			m.set(atInner+0x20, "body.cvgv", m.hek(atInner+0x400, "named"))
			m.set32(atInner+0x20, "body.cvflags", uint32(r.at("cv.named")))
			m.set(atInner+0x20, "body.cvstash", atStash)
		}, "Shop::named"},
		"a lexical sub": {func(r *runtime, m fake) {
			m.set(atInner+0x20, "body.cvgv", m.hek(atInner+0x400, "hidden"))
			m.set32(atInner+0x20, "body.cvflags", uint32(r.at("cv.named")|r.at("cv.lexical")))
		}, "hidden"},
		"an empty name": {func(r *runtime, m fake) {
			m.set(atInner+0x20, "body.cvgv", m.hek(atInner+0x400, ""))
			m.set32(atInner+0x20, "body.cvflags", uint32(r.at("cv.named")))
		}, ""},
		"an empty name of a glob": {func(_ *runtime, m fake) { m.hek(atInner+0x200, "") }, ""},
	} {
		r, m := small()
		c.harm(r, m)
		if got, ok := r.subName(atInner); got != c.want || ok != (c.want != "") {
			t.Errorf("%s: %q", what, got)
		}
	}
	// Until 5.34 the name of a package is behind the lists of its entries.
	r, m := small()
	r.layout = tableLayout(layoutsText, "5.34t")
	m.Words[atStash+valueHere] = 0x8800
	m.set(atStash+0x20, "body.max", 7)
	m.Zero(0x8800, 0x100)
	m.set(0x8840, "aux.name", m.hek(0x8a00, "Older"))
	if got := r.packageName(atStash); got != "Older" {
		t.Errorf("%q", got)
	}
	r, m = small()
	r.layout = tableLayout(layoutsText, "5.34t")
	m.set(atStash+0x20, "body.max", 1<<61-1)
	m.Words[atStash+valueHere] = atStash + 0x20 + 32
	if got := r.packageName(atStash); got != "" {
		t.Errorf("a package of exabytes: %q", got)
	}
}

// TestPlaces: a line of no file is no place.
func TestPlaces(t *testing.T) {
	for what, harm := range map[string]func(r *runtime, m fake) uint64{
		"none":                     func(*runtime, fake) uint64 { return 0 },
		"between words":            func(*runtime, fake) uint64 { return atCops + 4 },
		"line 0":                   func(_ *runtime, m fake) uint64 { m.set32(atCops, "cop.line", 0); return atCops },
		"a line of the end":        func(_ *runtime, m fake) uint64 { m.set32(atCops, "cop.line", math.MaxUint32); return atCops },
		"no file":                  func(_ *runtime, m fake) uint64 { m.set(atCops, "cop.file", 0x99000); return atCops },
		"a file without a name":    func(_ *runtime, m fake) uint64 { m.Words[atCops-0x100] = 0; return atCops },
		"without threads, no glob": func(r *runtime, m fake) uint64 { r.layout = tableLayout(layoutsText, "5.36"); return atCops },
		"without threads, no prefix": func(r *runtime, m fake) uint64 {
			r.layout = tableLayout(layoutsText, "5.36")
			m.Words[atCops+48] = atInner + 0x100
			return atCops
		},
		"without threads, an array": func(r *runtime, m fake) uint64 {
			r.layout = tableLayout(layoutsText, "5.36")
			m.hek(atInner+0x200, "_<a.pl")
			m.Words[atCops+48] = atInner + 0x100
			m.Put32(atInner+0x100+valueFlags, uint32(r.at("type.av")))
			return atCops
		},
	} {
		r, m := small()
		if p, ok := r.placeOf(harm(r, m)); ok {
			t.Errorf("%s: %+v", what, p)
		}
	}
	r, m := small()
	r.layout = tableLayout(layoutsText, "5.36")
	m.hek(atInner+0x200, "_<a.pl")
	m.Words[atCops+48] = atInner + 0x100
	if p, ok := r.placeOf(atCops); !ok || p.file != "a.pl" || p.line != 30 {
		t.Errorf("%+v", p)
	}
}

// TestFind: what must be right before anything is believed.
func TestFind(t *testing.T) {
	for what, c := range map[string]struct {
		harm func(r *runtime, m fake, s exported)
		want string // of the error; "-" for none and no runtime
	}{
		"as it is":       {func(*runtime, fake, exported) {}, ""},
		"without a size": {func(_ *runtime, m fake, _ exported) { m.Words[atVariables+16] = 0 }, ""},
		"an object": {func(r *runtime, m fake, _ exported) {
			m.Words[atInterpreter+r.at("interp.patchlevel")] = atValues
			m.value(atValues, r.at("type.pv")|flagRef, atValues+0x100)
			m.hash(atValues+0x100, map[string]uint64{"original": atVersion})
		}, ""},
		"an object of a thousand entries": {func(r *runtime, m fake, _ exported) {
			m.Words[atInterpreter+r.at("interp.patchlevel")] = atValues
			m.value(atValues, r.at("type.pv")|flagRef, atValues+0x100)
			m.hash(atValues+0x100, map[string]uint64{"original": atVersion})
			m.set(atValues+0x120, "body.max", maxVersions)
		}, "its interpreter does not say one"},
		"no function":     {func(_ *runtime, _ fake, s exported) { delete(s, "perl_run") }, "-"},
		"another module":  {func(_ *runtime, _ fake, s exported) { delete(s, "PL_op_name") }, "-"},
		"5.44":            {func(_ *runtime, m fake, _ exported) { m.text(atVersion, "v5.44.0") }, "no layout is known for its version, 5.44.0"},
		"a development":   {func(_ *runtime, m fake, _ exported) { m.text(atVersion, "v5.37.1") }, "no layout is known for its version, 5.37.1"},
		"no version":      {func(_ *runtime, m fake, _ exported) { m.text(atVersion, "5.36.0") }, "its interpreter does not say one"},
		"six":             {func(_ *runtime, m fake, _ exported) { m.text(atVersion, "v6.36.0") }, "its interpreter does not say one"},
		"two numbers":     {func(_ *runtime, m fake, _ exported) { m.text(atVersion, "v5.36") }, "its interpreter does not say one"},
		"four":            {func(_ *runtime, m fake, _ exported) { m.text(atVersion, "v5.36.0.1") }, "its interpreter does not say one"},
		"words":           {func(_ *runtime, m fake, _ exported) { m.text(atVersion, "v5.x.0") }, "its interpreter does not say one"},
		"nothing between": {func(_ *runtime, m fake, _ exported) { m.text(atVersion, "v5..0") }, "its interpreter does not say one"},
		"nothing behind":  {func(_ *runtime, m fake, _ exported) { m.text(atVersion, "v5.36.") }, "its interpreter does not say one"},
		"long":            {func(_ *runtime, m fake, _ exported) { m.text(atVersion, "v5.36.0000000000000") }, "its interpreter does not say one"},
		"another place": {func(r *runtime, m fake, _ exported) {
			m.Words[atInterpreter+r.at("interp.patchlevel")+8] = atVersion
			m.set(atInterpreter, "interp.patchlevel", 0)
		}, "its version is at"},
		"no stack":              {func(_ *runtime, m fake, _ exported) { m.set(atInterpreter, "interp.curstackinfo", 0) }, "stacks of contexts are not there"},
		"no interpreter":        {func(_ *runtime, m fake, _ exported) { m.Words[atVariables] = 0 }, "it had not started"},
		"not in the dump":       {func(_ *runtime, m fake, _ exported) { delete(m.Words, atVariables) }, "its variables are not in the dump"},
		"no key":                {func(_ *runtime, _ fake, s exported) { delete(s, "PL_thr_key") }, "builds with several interpreters and without threads"},
		"without threads":       {func(r *runtime, m fake, s exported) { single(r, m, s) }, ""},
		"without threads, 5.44": {func(r *runtime, m fake, s exported) { single(r, m, s); m.text(atVersion, "v5.44.0") }, "no layout is known"},
		"without threads, none": {func(r *runtime, m fake, s exported) { single(r, m, s); m.Words[0x3100] = 0 }, "it had not started"},
		"without threads, nor stack": {func(r *runtime, m fake, s exported) { single(r, m, s); m.Words[0x3108] = 0 },
			"stacks of contexts are not there"},
	} {
		r, m := small()
		s := symbols()
		c.harm(r, m, s)
		r.p.Symbols = s
		rt, err := Find(r.p)
		switch {
		case c.want == "-":
			if rt != nil || err != nil {
				t.Errorf("%s: %v, %v", what, rt, err)
			}
		case c.want == "" && (err != nil || rt == nil || rt.(*runtime).release != "5.36.0"):
			t.Errorf("%s: %+v, %v", what, rt, err)
		case c.want != "" && (err == nil || rt != nil || !strings.Contains(err.Error(), c.want)):
			t.Errorf("%s: %v, want %s", what, err, c.want)
		}
	}
	for name, want := range map[string]bool{"/usr/lib/libperl.so.5.36": true, "/usr/bin/perl": true, "/usr/bin/python": false, "C:\\perl536.dll": true} {
		if Shows("", name) != want {
			t.Errorf("%s: %t", name, !want)
		}
	}
	if !Shows("Perl_call_sv", "") || !Shows("perl_run", "") || Shows("main", "") {
		t.Error("functions")
	}
}

// single makes the process one without threads.
func single(_ *runtime, m fake, s exported) {
	delete(s, "PL_thr_key")
	m.Zero(0x3000, 0x200)
	s["PL_patchlevel"], s["PL_curstackinfo"], s["PL_curcop"] = 0x3100, 0x3108, 0x3110
	m.Words[0x3100], m.Words[0x3108] = atVersion, atSort
}

// TestThreads: which interpreter a thread runs.
func TestThreads(t *testing.T) {
	const slot = atThread + specificValues + 16*3
	other := func(m fake, at uint64) { // an interpreter that was cloned
		m.Zero(at, 0x1000)
		m.set(at, "interp.patchlevel", atVersion)
		m.set(at, "interp.curstackinfo", atInfo)
	}
	for what, c := range map[string]struct {
		harm   func(r *runtime, m fake)
		thread unwind.ThreadID
		want   uint64
	}{
		"the first":              {func(*runtime, fake) {}, 7, atInterpreter},
		"no other":               {func(*runtime, fake) {}, 8, 0},
		"a cloned one":           {func(_ *runtime, m fake) { other(m, 0x60000); m.Words[slot+0x1000], m.Words[slot+0x1008] = 1, 0x60000 }, 8, 0x60000},
		"a key that is not used": {func(_ *runtime, m fake) { other(m, 0x60000); m.Words[slot+0x1000], m.Words[slot+0x1008] = 0, 0x60000 }, 8, 0},
		"what is no interpreter": {func(_ *runtime, m fake) { m.Words[slot+0x1000], m.Words[slot+0x1008] = 1, atInfo }, 8, 0},
		"one of another release": {func(_ *runtime, m fake) {
			other(m, 0x60000)
			m.text(atValues, "v5.36.1")
			m.set(0x60000, "interp.patchlevel", atValues)
			m.Words[slot+0x1000], m.Words[slot+0x1008] = 1, 0x60000
		}, 8, 0},
		"between words":             {func(_ *runtime, m fake) { m.Words[slot+0x1000], m.Words[slot+0x1008] = 1, atInterpreter+4 }, 8, 0},
		"the main thread's by rule": {func(_ *runtime, m fake) { m.Words[slot] = 0 }, 7, atInterpreter},
		"the other has it": {func(_ *runtime, m fake) {
			m.Words[slot] = 0
			m.Words[slot+0x1000], m.Words[slot+0x1008] = 1, atInterpreter
		}, 7, 0},
		"the other was seen with it": {func(r *runtime, m fake) { m.Words[slot] = 0; r.seen[8] = atInterpreter }, 7, 0},
		"seen":                       {func(r *runtime, _ fake) { r.seen[8] = 0x60000 }, 8, 0x60000},
		"a later key": {func(r *runtime, m fake) {
			r.slot = 35
			m.Zero(0x62000, 0x40)
			m.Words[atThread+specificLists] = 0x62000
			m.Words[0x62000+48], m.Words[0x62000+56] = 1, atInterpreter
		}, 7, atInterpreter},
		"a key of nobody": {func(r *runtime, _ fake) { r.slot = maxKeys }, 8, 0},
	} {
		r, m := small()
		c.harm(r, m)
		at, ok := r.interpreterOf(c.thread)
		if at != c.want || ok != (c.want != 0) {
			t.Errorf("%s: %#x, %t", what, at, ok)
		}
	}
}

// TestCharged: reading calls costs, and ends when nothing is left.
func TestCharged(t *testing.T) {
	r, _ := small()
	r.p.Budget = budget.Of(6)
	if _, err := r.calls(atInterpreter); err != errLimit {
		t.Errorf("%v", err)
	}
}

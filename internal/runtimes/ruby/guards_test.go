package ruby

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/corewalk/corewalk/internal/budget"
	"github.com/corewalk/corewalk/internal/procmem"
	"github.com/corewalk/corewalk/internal/runtimes/remote"
	"github.com/corewalk/corewalk/internal/runtimes/remote/remotetest"
	"github.com/corewalk/corewalk/libstate"
	"github.com/corewalk/corewalk/report"
	"github.com/corewalk/corewalk/tasks"
	"github.com/corewalk/corewalk/unwind"
	"github.com/corewalk/corewalk/unwind/arch"
)

// A fake is the memory of a process.
type fake struct{ remotetest.Words }

// string puts a String of 3.1.
func (m fake) string(at uint64, s string) {
	m.Zero(at, 48)
	m.Words[at] = typeString | flagHere
	m.Words[at+16], m.Words[at+24] = uint64(len(s)), at+48
	m.Zero(at+48, uint64(len(s))+8)
	m.Put(at+48, []byte(s)...)
}

// A threaded process has one thread.
type threaded struct {
	unwind.ProcessState
	fake
	largest int // what was read at once
}

func (s *threaded) Arch() *arch.Arch                      { return arch.AMD64 }
func (s *threaded) ThreadIDs() ([]unwind.ThreadID, error) { return []unwind.ThreadID{7}, nil }
func (s *threaded) ReadMem(at arch.Address, b []byte) (int, error) {
	s.largest = max(s.largest, len(b))
	return s.fake.ReadMem(at, b)
}
func (s *threaded) ReadWord(at arch.Address) (uint64, error)       { return s.fake.ReadWord(at) }
func (s *threaded) LibraryTracker() libstate.LibraryState          { return nil }
func (s *threaded) ProcessID() int                                 { return 7 }
func (s *threaded) Registers(unwind.ThreadID) (arch.RegSet, error) { return arch.RegSet{}, nil }

// Where a small process of 3.1 has what.
const (
	atVM, atThread, atEC, atStack       = 0x1000, 0x2000, 0x3000, 0x4000
	atRactor                            = 0x9000
	atCode, atBody, atWords             = 0xa000, 0xa100, 0xb000
	atLabel, atPath                     = 0xc000, 0xc100
	atMethod, atDefinition, atOwner     = 0xd000, 0xd100, 0xd200
	atClassExt, atClassTable, atEntries = 0xd300, 0xd400, 0xd500
	atClassName, atClassID              = 0xd600, 0xd700
	atSymbols, atIDs, atFirst, atIDText = 0xe000, 0xe100, 0xe200, 0xf000
	atInfos, atRanks                    = 0x14000, 0x14100
	stackWords                          = 0x100
	frames                              = 3 // and the beginning
	idClassPath, idArgument             = 200, 201
	atEnvironment                       = atStack + 0x100
)

// frame is where a frame is, youngest first.
func (r *runtime) frame(i uint64) uint64 {
	return atStack + 8*stackWords - (frames-i)*r.at("frame.size")
}

func (r *runtime) set32(m fake, at uint64, field string, v uint32) { m.Put32(at+r.at(field), v) }

// object puts the beginning of an object.
func (m fake) object(at, flags, class, size uint64) {
	m.Zero(at, size)
	m.Words[at], m.Words[at+8] = flags, class
}

// small is a process that runs Shop#pay, called by it, above the beginning.
func small() (*runtime, fake) {
	m := fake{remotetest.Words{}}
	r := &runtime{names: names{memory: memory{Reader: procmem.Reader{Memory: m, Arch: arch.AMD64}, layout: tableLayout(layoutsText, "3.1"), version: "3.1", p: &tasks.Process{State: &threaded{fake: m}}}, symbols: atSymbols}, vm: atVM}
	for _, at := range []uint64{atVM, atThread, atRactor} {
		m.Zero(at, 0x1000)
	}
	m.Zero(atEC, 0x400)
	m.Zero(atStack, 8*stackWords)
	set := func(at uint64, field string, v uint64) { m.Words[at+r.at(field)] = v }
	set(atVM, "vm.main", atThread)
	set(atVM, "vm.ractors", atRactor+r.at("ractor.list"))
	set(atRactor, "ractor.list", atVM+r.at("vm.ractors"))
	m.Words[atRactor+r.at("ractor.list")+8] = atVM + r.at("vm.ractors")
	set(atRactor, "ractor.threads", atThread)
	m.Words[atThread], m.Words[atThread+8] = atRactor+r.at("ractor.threads"), atRactor+r.at("ractor.threads")
	set(atThread, "thread.vm", atVM)
	set(atThread, "thread.ec", atEC)
	set(atEC, "ec.thread", atThread)
	set(atEC, "ec.stack", atStack)
	set(atEC, "ec.words", stackWords)
	set(atEC, "ec.cfp", r.frame(0))

	m.object(atCode, typeInternal|internalCode<<flagUser, 0, 0x20)
	set(atCode, "iseq.body", atBody)
	m.Zero(atBody, 0x140)
	r.set32(m, atBody, "body.type", codeMethod)
	r.set32(m, atBody, "body.size", 600)
	set(atBody, "body.code", atWords)
	set(atBody, "body.label", atLabel)
	set(atBody, "body.base", atLabel)
	set(atBody, "body.path", atPath)
	set(atBody, "body.first", 3<<1|1)
	set(atBody, "body.local", atCode)
	set(atBody, "body.infos", atInfos)
	set(atBody, "body.succinct", atRanks)
	r.set32(m, atBody, "body.infocount", 2)
	r.set32(m, atBody, "body.localcount", 1)
	r.set32(m, atBody, "body.params", 1)
	set(atBody, "body.locals", atIDs+0x80)
	m.Words[atIDs+0x80] = idArgument << 4
	m.Zero(atInfos-0x20, 0x60)
	m.Put32(atInfos-12, 9)
	m.Put32(atInfos+24, 9)
	m.Put32(atInfos, 4)
	m.Put32(atInfos+12, 7)
	m.Zero(atRanks, 48+2*80)
	for i := range uint64(6) { // the second entry begins at the third instruction
		for j := range uint64(9) {
			rank := uint64(2)
			if 9*i+j < 3 {
				rank = 1
			}
			m.Words[atRanks+8*i] |= rank << (7 * j)
		}
	}
	m.Put32(atRanks+48, 2)
	m.Put32(atRanks+48+80, 1)
	m.string(atLabel, "pay")
	m.string(atPath, "shop.rb")

	m.object(atMethod, typeInternal|internalMethod<<flagUser, 0, 0x30)
	set(atMethod, "method.definition", atDefinition)
	set(atMethod, "method.owner", atOwner)
	m.Zero(atDefinition, 0x40)
	m.object(atOwner, typeClass, 0, 0x30)
	set(atOwner, "class.ext", atClassExt)
	m.Zero(atClassExt, 0x40)
	set(atClassExt, "ext.variables", atClassTable)
	m.Zero(atClassTable, 0x40)
	set(atClassTable, "st.list", atEntries)
	set(atClassTable, "st.to", 1)
	m.Words[atEntries], m.Words[atEntries+8], m.Words[atEntries+16] = 1, idClassPath<<4, atClassName
	m.string(atClassName, "Shop")

	m.Zero(atSymbols, 0x20)
	r.set32(m, atSymbols, "symbols.last", 1000)
	set(atSymbols, "symbols.ids", atIDs)
	m.object(atIDs, typeArray|flagHere|1<<(flagUser+3), 0, 0x20)
	m.Words[atIDs+16] = atFirst
	m.object(atFirst, typeArray, 0, 0x28)
	m.Words[atFirst+16], m.Words[atFirst+32] = 2*unitIDs, atIDText
	m.Zero(atIDText, 16*unitIDs)
	m.string(atClassID, "__classpath__")
	m.string(atClassID+0x100, "count")
	m.Words[atIDText+16*idClassPath], m.Words[atIDText+16*idArgument] = atClassID, atClassID+0x100

	for i := range uint64(frames) {
		at, ep := r.frame(i), atEnvironment+0x80*i
		set(at, "frame.pc", atWords+8*4)
		set(at, "frame.iseq", atCode)
		set(at, "frame.self", 7<<1|1)
		set(at, "frame.ep", ep)
		m.Words[ep], m.Words[ep-16], m.Words[ep-24] = 0x11110001|envLocal|frameEntry, atMethod, 5<<1|1
	}
	return r, m
}

// functions are the calls as text.
func functions(r *runtime) (list []string, err error) {
	calls, err := r.calls(atEC)
	for i := range calls {
		list = append(list, calls[i].function)
	}
	return list, err
}

// TestSmall: the process as it is.
func TestSmall(t *testing.T) {
	r, _ := small()
	if got, err := functions(r); err != nil || !slices.Equal(got, []string{"Shop#pay", "Shop#pay"}) {
		t.Fatalf("%q, %v", got, err)
	}
	if !r.isVM(atVM) || len(r.threadList()) != 1 || r.failed != nil {
		t.Errorf("%+v, %v", r.threads, r.failed)
	}
	list, _ := r.calls(atEC)
	args, _ := r.variables(&list[0], true, tasks.Limits{})
	if len(args) != 1 || args[0].Name != "count" || args[0].Value != "5" {
		t.Errorf("%+v", args)
	}
}

// TestGuards: each thing that is wrong with calls is seen.
func TestGuards(t *testing.T) {
	for what, harm := range map[string]func(r *runtime, m fake){
		"a stack between words":        func(r *runtime, m fake) { m.Words[atEC] = atStack + 4; m.Words[atEC+r.at("ec.cfp")] += 4 },
		"a stack of a terabyte":        func(r *runtime, m fake) { m.Words[atEC+r.at("ec.words")] += 1 << 30 },
		"a frame before its stack":     func(r *runtime, m fake) { m.Words[atEC+r.at("ec.cfp")] = atStack - r.at("frame.size") },
		"a frame behind its stack":     func(r *runtime, m fake) { m.Words[atEC+r.at("ec.cfp")] += 8 * stackWords },
		"a frame between frames":       func(r *runtime, m fake) { m.Words[atEC+r.at("ec.cfp")] += 8 },
		"frames that are not there":    func(r *runtime, m fake) { delete(m.Words, r.frame(1)) },
		"no variables":                 func(r *runtime, m fake) { m.Words[r.frame(0)+r.at("frame.ep")] = 0 },
		"variables between words":      func(r *runtime, m fake) { m.Words[atEnvironment] |= 0x100; m.Words[r.frame(0)+r.at("frame.ep")]++ },
		"variables that are not there": func(r *runtime, m fake) { m.Words[r.frame(0)+r.at("frame.ep")] = 0x90000 },
		"variables without a type":     func(_ *runtime, m fake) { m.Words[atEnvironment] = 0x11110000 },
		"code that is another object":  func(_ *runtime, m fake) { m.Words[atCode] = typeInternal | internalMethod<<flagUser },
		"code between words":           func(r *runtime, m fake) { m.Words[r.frame(0)+r.at("frame.iseq")] += 4 },
		"code without a body":          func(r *runtime, m fake) { m.Words[atCode+r.at("iseq.body")] = 0 },
		"a body between words": func(r *runtime, m fake) {
			m.Zero(0x16000, 0x150)
			for i := range uint64(0x140) {
				b, _ := r.U8(atBody + i)
				m.Put(0x16001+i, b)
			}
			m.Words[atCode+r.at("iseq.body")] = 0x16001
		},
		"a body that is not there":   func(r *runtime, m fake) { m.Words[atCode+r.at("iseq.body")] = 0x90000 },
		"code of no type":            func(r *runtime, m fake) { r.set32(m, atBody, "body.type", 9) },
		"no instructions":            func(r *runtime, m fake) { r.set32(m, atBody, "body.size", 0) },
		"instructions without end":   func(r *runtime, m fake) { r.set32(m, atBody, "body.size", math.MaxUint32) },
		"instructions between words": func(r *runtime, m fake) { m.Words[atBody+r.at("body.code")]++ },
		"a label that is no String":  func(_ *runtime, m fake) { m.Words[atLabel] = typeArray | flagHere },
		"a label of a terabyte":      func(_ *runtime, m fake) { m.Words[atLabel+16] = 1 << 40 },
		"a label that is not there":  func(_ *runtime, m fake) { m.Words[atLabel+24] = 0x90000 },
		"a function of C without a method": func(r *runtime, m fake) {
			m.Words[r.frame(0)+r.at("frame.iseq")] = 0
			m.Words[atEnvironment] = frameC | envLocal
			m.Words[atEnvironment-16] = 0
		},
	} {
		r, m := small()
		harm(r, m)
		got, err := functions(r)
		if err == nil {
			t.Errorf("%s: %q", what, got)
		} else if strings.Contains(what, " stack") || what == "a frame between frames" {
			if err.Error() != "its stack of Ruby calls is damaged" {
				t.Errorf("%s: %v", what, err)
			}
		}
	}
	r, m := small()
	m.Words[atEC+r.at("ec.words")] = maxStack / 8
	if _, err := r.calls(atEC); err != errDeep {
		t.Errorf("a million calls: %v", err)
	}
}

// copy3 copies an entry of a table.
func copy3(m fake, to, from uint64) {
	for i := uint64(0); i < 24; i += 8 {
		m.Words[to+i] = m.Words[from+i]
	}
}

// TestNames: what is no class, no name and no method gives none, and nothing hangs.
func TestNames(t *testing.T) {
	for what, c := range map[string]struct {
		harm func(r *runtime, m fake)
		want string
	}{
		"a class of another type":  {func(_ *runtime, m fake) { m.Words[atOwner] = typeObject }, "pay"},
		"a singleton class":        {func(_ *runtime, m fake) { m.Words[atOwner] |= singletonClass }, "pay"},
		"a table that ends before": {func(r *runtime, m fake) { m.Words[atClassTable+r.at("st.from")] = 2 }, "pay"},
		"a table of a million": {func(r *runtime, m fake) {
			m.Words[atClassTable+r.at("st.to")], m.Words[atClassTable+r.at("st.list")] = 1<<20, 0x18000
			m.Zero(0x18000, 64*24)
			copy3(m, 0x18000, atEntries)
		}, "pay"},
		"an entry that was taken out":   {func(_ *runtime, m fake) { m.Words[atEntries] = math.MaxUint64 }, "pay"},
		"a name beyond the last":        {func(r *runtime, m fake) { r.set32(m, atSymbols, "symbols.last", 7) }, "pay"},
		"a list of names that is none":  {func(_ *runtime, m fake) { m.Words[atFirst] = typeHash }, "pay"},
		"a list of names that is short": {func(_ *runtime, m fake) { m.Words[atFirst+16] = 10 }, "pay"},
		"a method that is none":         {func(_ *runtime, m fake) { m.Words[atMethod] = typeInternal | internalScope<<flagUser }, "pay"},
		"a special variable before it": {func(_ *runtime, m fake) {
			m.object(0x30000, typeInternal|internalSpecial<<flagUser, atMethod, 0x20)
			m.Words[atEnvironment-16] = 0x30000
		}, "Shop#pay"},
		"variables around themselves": {func(_ *runtime, m fake) {
			m.Words[atEnvironment] &^= envLocal
			m.Words[atEnvironment-16], m.Words[atEnvironment-8] = 0, atEnvironment
		}, "pay"},
		"a method of the code around": {func(_ *runtime, m fake) {
			m.Words[atEnvironment] &^= envLocal
			m.Words[atEnvironment-16], m.Words[atEnvironment-8] = 0, (atEnvironment+0x80)|1
		}, "Shop#pay"},
	} {
		r, m := small()
		c.harm(r, m)
		if got, err := functions(r); err != nil || got[0] != c.want {
			t.Errorf("%s: %q, %v, want %s", what, got, err, c.want)
		}
	}
}

// TestLines: the table of ranks, and instructions that are none of the code's.
func TestLines(t *testing.T) {
	r, m := small()
	f := r.functionAt(atCode)
	block := uint64(atRanks + 48)
	m.Words[block+8] = 9 << 9 // of the third part
	m.Words[block+16+16] = 0b1011
	r.set32(m, atBody, "body.infocount", 2)
	for _, c := range []struct {
		pc          uint64
		line        int
		approximate bool
	}{
		{atWords, 4, false}, {atWords + 8, 4, false}, {atWords + 8*3, 4, false}, {atWords + 8*4, 7, false}, {atWords + 8*55, 7, false},
		{atWords + 4, 3, true}, {atWords - 8, 3, true}, {atWords + 8*601, 3, true}, {0, 3, true},
	} {
		if line, approximate := r.line(&call{f: f, pc: c.pc}); line != c.line || approximate != c.approximate {
			t.Errorf("at %#x: line %d, approximate %t", c.pc, line, approximate)
		}
	}
	if got := r.rank(atRanks, immediate+2*64+1); got != 2+9+2 {
		t.Errorf("rank %d", got)
	}
	for what, harm := range map[string]func(r *runtime, m fake){
		"a rank beyond the last":   func(_ *runtime, m fake) { m.Words[atRanks] = 3 << (7 * 3) },
		"no rank":                  func(_ *runtime, m fake) { m.Words[atRanks] = 0 },
		"ranks between words":      func(r *runtime, m fake) { m.Words[atBody+r.at("body.succinct")]++ },
		"ranks that are not there": func(r *runtime, m fake) { m.Words[atBody+r.at("body.succinct")] = 0x90000 },
		"no ranks":                 func(r *runtime, m fake) { m.Words[atBody+r.at("body.succinct")] = 0 },
		"no entries":               func(r *runtime, m fake) { r.set32(m, atBody, "body.infocount", 0) },
		"a line of two billion":    func(_ *runtime, m fake) { m.Put32(atInfos+12, math.MaxInt32) },
	} {
		r, m := small()
		harm(r, m)
		if line, approximate := r.line(&call{f: r.functionAt(atCode), pc: atWords + 8*4}); line != 3 || !approximate {
			t.Errorf("%s: line %d, approximate %t", what, line, approximate)
		}
	}
}

// TestThreads: lists that do not lead both ways end, and threads that do not lead back are none.
func TestThreads(t *testing.T) {
	for what, c := range map[string]struct {
		harm   func(r *runtime, m fake)
		failed bool
	}{
		"a thread that does not lead back": {func(_ *runtime, m fake) { m.Words[atThread+8] = 0 }, true},
		"a list without end":               {func(_ *runtime, m fake) { m.Words[atThread] = atThread }, true},
		"no ractor":                        {func(r *runtime, m fake) { m.Words[atVM+r.at("vm.ractors")] = 0 }, true},
		"a thread of another machine":      {func(r *runtime, m fake) { m.Words[atThread+r.at("thread.vm")] = atEC }, false},
		"a thread without what it runs":    {func(r *runtime, m fake) { m.Words[atThread+r.at("thread.ec")] = 0 }, false},
		"what another thread runs":         {func(r *runtime, m fake) { m.Words[atEC+r.at("ec.thread")] = atVM }, false},
	} {
		r, m := small()
		c.harm(r, m)
		if list := r.threadList(); len(list) > 0 && what != "a list without end" || (r.failed != nil) != c.failed {
			t.Errorf("%s: %+v, %v", what, list, r.failed)
		}
	}
	r, m := small()
	for i := range uint64(4) { // a list that is in order, and longer than asked for
		m.Words[0x60000+0x10*i], m.Words[0x60008+0x10*i] = 0x60000+0x10*((i+1)%4), 0x60000+0x10*((i+3)%4)
	}
	if list := r.linked(0x60000, 2); len(list) != 2 || r.failed == nil {
		t.Errorf("%d links, %v", len(list), r.failed)
	}
	for what, harm := range map[string]func(r *runtime, m fake){
		"a main thread of another machine": func(r *runtime, m fake) { m.Words[atThread+r.at("thread.vm")] = atEC },
		"a main thread between words":      func(r *runtime, m fake) { m.Words[atVM+r.at("vm.main")]++ },
		"no main thread":                   func(r *runtime, m fake) { m.Words[atVM+r.at("vm.main")] = 0 },
		"what another thread runs":         func(r *runtime, m fake) { m.Words[atEC+r.at("ec.thread")] = atVM },
	} {
		r, m := small()
		harm(r, m)
		if r.isVM(atVM) {
			t.Errorf("%s: it is a virtual machine", what)
		}
	}
}

// TestCharged: a deep stack is read as far as the budget goes, and lists end with it.
func TestCharged(t *testing.T) {
	r, m := small()
	const n = 5000
	at, size := uint64(0x100000), r.at("frame.size")
	m.Zero(at, (n+1)*size)
	for i := range uint64(n) {
		f := at + i*size
		m.Words[f], m.Words[f+r.at("frame.iseq")], m.Words[f+r.at("frame.ep")] = atWords, atCode, atEnvironment
	}
	m.Words[atEC], m.Words[atEC+8], m.Words[atEC+r.at("ec.cfp")] = at, (n+1)*size/8, at
	if list, err := r.calls(atEC); err != nil || len(list) != n {
		t.Fatalf("%d calls, %v", len(list), err)
	}
	r.p = &tasks.Process{State: r.p.State, Budget: budget.Of(1000)}
	if list, err := r.calls(atEC); err != errLimit || len(list) > 1000/8 {
		t.Errorf("%d calls, %v", len(list), err)
	}
}

// TestFibers: fibers that resumed one another in a circle end, and what does not lead back resumed nobody.
func TestFibers(t *testing.T) {
	build := func() (*runtime, fake, uint64, uint64) {
		r, m := small()
		const a, b = 0x40000, 0x41000
		m.Zero(a, 0x400)
		m.Zero(b, 0x400)
		for at, other := range map[uint64]uint64{a: b, b: a} {
			ec := at + r.at("fiber.ec")
			for i := uint64(0); i < 0x100; i += 8 {
				m.Words[ec+i] = m.Words[atEC+i]
			}
			m.Words[ec+r.at("ec.fiber")] = at
			m.Words[at+r.at("fiber.prev")] = other
		}
		return r, m, a, b
	}
	r, m, a, b := build()
	if list, err := r.stack(a + r.at("fiber.ec")); err != nil || len(list) != 4 {
		t.Errorf("a circle: %d calls, %v", len(list), err)
	}
	m.Words[b+r.at("fiber.ec")+r.at("ec.thread")] = atVM
	if list, _ := r.stack(a + r.at("fiber.ec")); len(list) != 2 {
		t.Errorf("a fiber of another thread: %d calls", len(list))
	}
	r, m, a, b = build()
	m.Zero(0x42000, 0x400)
	m.Words[0x42000+r.at("fiber.prev")] = b
	m.Words[a+r.at("fiber.ec")+r.at("ec.fiber")] = 0x42000
	if list, _ := r.stack(a + r.at("fiber.ec")); len(list) != 2 {
		t.Errorf("what is no fiber's: %d calls", len(list))
	}
}

// size counts the parts of a value, and how deep they are.
func size(d report.Data) (n, deep int) {
	for i := range d.Children {
		k, in := size(d.Children[i].Data)
		n, deep = n+k, max(deep, in)
	}
	return n + 1, deep + 1
}

// TestValuesAreBounded: values that lead to themselves, that are wide and that say that they are, end.
func TestValuesAreBounded(t *testing.T) {
	r, m := small()
	const array, data = 0x20000, 0x30000
	m.object(array, typeArray, 0, 0x28)
	m.Words[array+16], m.Words[array+32] = 1, data
	m.Words[data] = array
	text := func(v uint64, most tasks.Limits) string { return r.show(v, most) }
	if got, want := text(array, tasks.Limits{}), "[[...]]"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	for i := range uint64(1000) {
		m.Words[data+8*i] = i<<1 | 1
	}
	m.Words[array+16] = 1 << 32
	if got, want := text(array, tasks.Limits{Elements: 2}), "[0, 1, ...]"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	if n := len(r.tree(array, tasks.Limits{}).Children); n != remote.TreeElements {
		t.Errorf("%d parts", n)
	}
	m.Words[array+16] = math.MaxUint64
	if got := text(array, tasks.Limits{}); got != "[...]" {
		t.Errorf("an array without end is %s", got)
	}
	for i := range uint64(200) { // each is in the one before, twice
		at := 0x50000 + 0x40*i
		m.object(at, typeArray|flagHere|2<<(flagUser+3), 0, 0x28)
		m.Words[at+16], m.Words[at+24] = at+0x40, at+0x40
	}
	if got := text(0x50000, tasks.Limits{}); !strings.HasPrefix(got, "[[[[[...], [...]], ") {
		t.Error(got)
	}
	for i := range uint64(12) { // ten times
		at := 0x54000 + 0x100*i
		m.object(at, typeArray, 0, 0x28)
		m.Words[at+16], m.Words[at+32] = 10, at+0x40
		for k := range uint64(10) {
			m.Words[at+0x40+8*k] = at + 0x100
		}
	}
	if got := text(0x54000, tasks.Limits{}); len(got) > 1000 {
		t.Errorf("%d bytes", len(got))
	}
	if n, deep := size(r.tree(0x54000, tasks.Limits{})); n > remote.TreeParts+10 || deep > remote.TreeDepth+1 {
		t.Errorf("%d parts, %d deep", n, deep)
	}
	m.object(0x60000, typeBignum, 0, 0x28)
	m.Words[0x60000+16], m.Words[0x60000+24] = 2*maxDigits, data
	if got := text(0x60000, tasks.Limits{}); got != "?" {
		t.Errorf("an integer of 256 words is %s", got)
	}
	m.object(0x61000, typeHash|15<<(flagUser+8), 0, 0x28)
	m.Words[0x61000+16] = data
	if got := text(0x61000, tasks.Limits{}); got != "{...}" {
		t.Errorf("a hash that has 15 elements without a table is %s", got)
	}
	if got := r.show(0x99990, tasks.Limits{}); got != "?" {
		t.Errorf("what is not there is %s", got)
	}
}

// TestObjects: variables of objects are where the table of their class says, and within their object.
func TestObjects(t *testing.T) {
	r, m := small()
	const object, table, entries, index, values = 0x20000, 0x21000, 0x21100, 0x21200, 0x22000
	m.object(object, typeObject, atOwner, 0x28)
	m.Words[object+16], m.Words[object+24], m.Words[object+32] = 2, values, table
	m.Zero(table, 0x40)
	m.Words[table+r.at("st.list")], m.Words[table+r.at("st.to")] = entries, 1
	m.Words[entries], m.Words[entries+8], m.Words[entries+16] = 1, 202<<4, index
	m.Words[index] = 1
	m.string(atClassID+0x200, "@rate")
	m.Words[atIDText+16*202] = atClassID + 0x200
	m.Words[values+8] = 7<<1 | 1
	if got := r.show(object, tasks.Limits{}); !strings.HasSuffix(got, " @rate=7>") || !strings.HasPrefix(got, "#<Shop:0x") {
		t.Fatal(got)
	}
	for what, harm := range map[string]func(){
		"a place beyond the object": func() { m.Words[index] = 2 },
		"values between words":      func() { m.Words[index], m.Words[object+24], m.Words[values+16] = 1, values+4, 0 },
		"no class": func() {
			m.Words[object+24], m.Words[object] = values, typeObject|flagHere
		},
	} {
		harm()
		if got := r.show(object, tasks.Limits{}); strings.Contains(got, "rate") {
			t.Errorf("%s: %s", what, got)
		}
	}
}

// TestShapes: shapes that lead to themselves end.
func TestShapes(t *testing.T) {
	r, m := small()
	r.layout, r.version, r.shapes = tableLayout(layoutsText, "3.3"), "3.3", 0x70000
	const list, object = 0x71000, 0x72000
	build := func() {
		m.Zero(0x70000, 0x40)
		m.Words[0x70000+r.at("shapes.list")], m.Words[0x70000+r.at("shapes.root")] = list, list
		r.set32(m, 0x70000, "shapes.next", 3)
		m.Zero(list, 0x200)
		for i, parent := range []uint32{noShape, 0, 1} {
			at := list + uint64(i)*r.at("shape.size")
			m.Words[at+r.at("shape.name")] = idArgument << 4
			r.set32(m, at, "shape.parent", parent)
			r.set32(m, at, "shape.next", uint32(i))
			m.Put(at+r.at("shape.type"), byte(min(i, 1)))
		}
		m.object(object, typeObject|flagHere|2<<32, 0, 0x28)
		m.Words[object+16], m.Words[object+24] = 1<<1|1, 2<<1|1
	}
	read := func() (n int, ok bool) {
		ok = r.shaped(object, func(_, v uint64) bool { n++; return true })
		return n, ok
	}
	build()
	if n, ok := read(); n != 2 || !ok || !r.isShapes(0x70000) {
		t.Fatalf("%d variables, %t", n, ok)
	}
	for what, harm := range map[string]func(){
		"a shape that is its own parent": func() { r.set32(m, list+2*r.at("shape.size"), "shape.parent", 2) },
		"a circle":                       func() { r.set32(m, list+r.at("shape.size"), "shape.parent", 2) },
		"a shape beyond the last":        func() { m.Words[object] = typeObject | flagHere | 7<<32 },
		"a variable without a place":     func() { r.set32(m, list+2*r.at("shape.size"), "shape.next", 0) },
		"a variable far away":            func() { r.set32(m, list+2*r.at("shape.size"), "shape.next", math.MaxUint32) },
	} {
		build()
		harm()
		if n, ok := read(); ok || n > 0 {
			t.Errorf("%s: %d variables, %t", what, n, ok)
		}
	}
	build()
	r.set32(m, list, "shape.parent", 0)
	if r.isShapes(0x70000) {
		t.Error("a root with a parent is one")
	}
}

// TestWaits: a Mutex says who has it, and what is no Mutex nothing.
func TestWaits(t *testing.T) {
	const mutex, data, kind, fiber, name, other = 0x20000, 0x21000, 0x22000, 0x23000, 0x25000, 0x27000
	build := func() (*runtime, fake) {
		r, m := small()
		m.object(mutex, typeData, 0, 0x28)
		m.Words[mutex+r.at("data.type")], m.Words[mutex+r.at("data.data")] = kind, data
		m.Words[kind] = name
		m.Zero(name, 8)
		m.Put(name, []byte("mutex")...)
		m.Zero(data, 16)
		m.Words[data] = fiber
		m.Zero(fiber, 0x400)
		m.Words[fiber+r.at("fiber.ec")+r.at("ec.thread")] = atThread
		m.Words[fiber+r.at("fiber.ec")+r.at("ec.fiber")] = fiber
		m.Words[atThread+r.at("thread.locking")] = mutex
		m.Zero(other, 16)
		m.Words[atThread+r.at("thread.keeping")] = other
		m.Words[other+r.at("mutex.next")] = data
		r.threadList()
		r.threads[0].id = 7
		r.threads = append(r.threads, thread{at: 0x2800, id: 8})
		m.Words[0x2800+r.at("thread.locking")] = mutex
		return r, m
	}
	r, m := build()
	w := r.mutexWait(&r.threads[1])
	if w == nil || !w.Proved || len(w.Holders) != 1 || w.Holders[0].ID != 7 {
		t.Fatalf("%+v", w)
	}
	if w := r.mutexWait(&r.threads[0]); w == nil || w.Proved { // nobody waits for itself
		t.Errorf("%+v", w)
	}
	for what, harm := range map[string]func(r *runtime, m fake){
		"what no thread has":                     func(r *runtime, m fake) { m.Words[fiber+r.at("fiber.ec")+r.at("ec.thread")] = atVM },
		"what no fiber has":                      func(r *runtime, m fake) { m.Words[fiber+r.at("fiber.ec")+r.at("ec.fiber")] = fiber + 8 },
		"what nobody has":                        func(_ *runtime, m fake) { m.Words[data] = 0 },
		"a thread that the system does not know": func(r *runtime, _ fake) { r.threads[0].id = unwind.NullThread },
		"a thread without an identifier":         func(r *runtime, _ fake) { r.threads[0].id = 0 },
		"what the thread does not list":          func(r *runtime, m fake) { m.Words[other+r.at("mutex.next")] = 0 },
		"a list of locks between words": func(r *runtime, m fake) {
			m.Words[other+r.at("mutex.next")] = other + 0x101
			m.Zero(other+0x100, 24)
			m.Words[other+0x108] = data << 8
			m.Words[other+0x110] = data >> 56
		},
		"a list of locks that leads to itself": func(r *runtime, m fake) { m.Words[other+r.at("mutex.next")] = other },
	} {
		r, m := build()
		harm(r, m)
		b := budget.Of(1 << 14)
		r.p = &tasks.Process{State: r.p.State, Budget: b}
		if w := r.mutexWait(&r.threads[1]); w == nil || w.Proved || len(w.Holders) > 0 || b.Err() != nil {
			t.Errorf("%s: %+v, %v", what, w, b.Err())
		}
	}
	r, m = build()
	b := budget.Of(100)
	m.Words[other+r.at("mutex.next")] = other
	r.p = &tasks.Process{State: r.p.State, Budget: b}
	if r.mutexWait(&r.threads[1]); b.Err() == nil {
		t.Error("a list of locks without end costs nothing")
	}
	for what, harm := range map[string]func(r *runtime, m fake){
		"what is no Mutex":            func(_ *runtime, m fake) { m.Put(name, 'x') },
		"a name that goes on":         func(_ *runtime, m fake) { m.Zero(name, 72); m.Put(name, []byte("mutexes")...) },
		"no object of C":              func(_ *runtime, m fake) { m.Words[mutex] = typeString },
		"no data":                     func(r *runtime, m fake) { m.Words[mutex+r.at("data.data")] = 0 },
		"data between words":          func(r *runtime, m fake) { m.Words[mutex+r.at("data.data")]++ },
		"a thread that locks nothing": func(r *runtime, m fake) { m.Words[0x2800+r.at("thread.locking")] = r.at("value.nil") },
	} {
		r, m := build()
		harm(r, m)
		if w := r.mutexWait(&r.threads[1]); w != nil {
			t.Errorf("%s: %+v", what, w)
		}
	}
	r, m = build()
	m.Words[0x2800+r.at("thread.locking")] = 0
	m.Words[atThread+r.at("thread.join")] = 0x26000
	m.Words[0x26000], m.Words[0x26008] = 0, 0x2800
	for _, c := range []struct {
		task tasks.Task
		want string
	}{
		{tasks.Task{Key: tasks.Key{Kind: tasks.KindThread, ID: 8}, State: tasks.StateWaiting}, "Thread#join"},
		{tasks.Task{Key: tasks.Key{Kind: tasks.KindThread, ID: 7}, State: tasks.StateWaiting}, "Mutex#lock"},
		{tasks.Task{Key: tasks.Key{Kind: tasks.KindThread, ID: 8}, State: tasks.StateRunning}, ""},
		{tasks.Task{Key: tasks.Key{Kind: tasks.KindThread, ID: 8}, State: tasks.StateDead}, ""},
		{tasks.Task{Key: tasks.Key{Kind: tasks.KindFiber, ID: 8}, State: tasks.StateWaiting}, ""},
		{tasks.Task{Key: tasks.Key{Kind: tasks.KindThread, ID: 9}, State: tasks.StateWaiting}, ""},
	} {
		r.Resolve(t.Context(), []*tasks.Task{&c.task}, nil)
		if got := c.task.Wait; got == nil && c.want != "" || got != nil && got.Reason != c.want {
			t.Errorf("%+v: %+v", c.task.Key, got)
		}
	}
	// A join has no limit of time if it has no argument, or nil.
	for what, c := range map[string]struct {
		harm         func(r *runtime, m fake)
		timed, known bool
	}{
		"no argument":                   {func(*runtime, fake) {}, false, true},
		"nil":                           {func(r *runtime, m fake) { m.Words[atEnvironment-24] = 8 }, false, true},
		"a limit":                       {func(r *runtime, m fake) { m.Words[atEnvironment-24] = 100<<1 | 1 }, true, true},
		"another function":              {func(r *runtime, m fake) { m.string(atClassID+0x300, "sleep") }, false, false},
		"code of Ruby":                  {func(r *runtime, m fake) { m.Words[r.frame(0)+r.at("frame.iseq")] = atCode }, false, false},
		"no call":                       {func(r *runtime, m fake) { m.Words[atEC+r.at("ec.cfp")] = 0 }, false, false},
		"value":                         {func(r *runtime, m fake) { m.string(atClassID+0x300, "value"); m.Words[atEnvironment-24] = 3 }, false, true},
		"an argument that is not there": {func(r *runtime, m fake) { delete(m.Words, atEnvironment-24) }, false, false},
	} {
		r, m := build()
		m.string(atClassName, "Thread")
		m.string(atClassID+0x300, "join")
		m.Words[atIDText+16*210] = atClassID + 0x300
		m.Words[atDefinition+r.at("definition.id")] = 210 << 4
		m.Words[r.frame(0)+r.at("frame.iseq")] = 0
		m.Words[atEnvironment] = frameC | envLocal
		m.Words[atEnvironment-24] = 7<<1 | 1 // self
		c.harm(r, m)
		w := r.joinWait(&r.threads[0], &r.threads[1])
		if timed, known := r.joinsFor(&r.threads[0]); known && timed != c.timed || known != c.known || w.Timed != timed && known || w.Proved != c.known || len(w.Holders) != 1 || (w.Holders[0].Certainty == tasks.Certain) != c.known {
			t.Errorf("%s: %t, %t, %+v", what, timed, known, w)
		}
	}
	r, m = build()
	m.Words[0x2800+r.at("thread.join")] = 0x26000 // a list that leads to itself
	m.Words[0x26000], m.Words[0x26008] = 0x26000, atThread
	b = budget.Of(1 << 20)
	r.Reader = r.Charged(b.Spend)
	if j := r.joins(); len(j) != 1 || j[atThread] == nil || b.Err() != nil {
		t.Errorf("%+v, %v", j, b.Err())
	}
}

// TestCauses: exceptions that came of one another in a circle end.
func TestCauses(t *testing.T) {
	r, m := small()
	m.string(atClassName, "Exception")
	const a, table, entries, index, values = 0x20000, 0x21000, 0x21100, 0x21200, 0x22000
	m.object(a, typeObject, atOwner, 0x28)
	m.Words[a+16], m.Words[a+24], m.Words[a+32] = 2, values, table
	m.Zero(table, 0x40)
	m.Words[table+r.at("st.list")], m.Words[table+r.at("st.to")] = entries, 1
	m.Words[entries], m.Words[entries+8], m.Words[entries+16] = 1, 202<<4, index
	m.Words[index] = 0
	m.string(atClassID+0x200, "cause")
	m.Words[atIDText+16*202] = atClassID + 0x200
	m.Words[values] = a
	if list := r.causes(r.exception(a), true); len(list) != 1 || list[0].Type != "Exception" || !list[0].Handled {
		t.Errorf("%+v", list)
	}
	m.string(atClassName, "Trouble")
	r, _ = &runtime{names: names{memory: r.memory, symbols: atSymbols}, vm: atVM}, m
	if r.exception(a) != 0 {
		t.Error("what is no exception is one")
	}
	m.Words[atOwner+r.at("class.super")] = atOwner // a class that descends from itself
	if r.descends(a, "Exception") {
		t.Error("it descends from itself")
	}
}

// TestDivide: a run ends with the call for which the virtual machine was entered, with a function of C, and where another fiber's calls begin.
func TestDivide(t *testing.T) {
	f := &function{}
	list := []call{{native: 1}, {f: f}, {f: f, outer: true}, {f: f}, {native: 2}, {f: f, ec: 1}, {f: f, ec: 2}}
	var got [][2]int
	for _, s := range divide(list) {
		got = append(got, [2]int{s.from, s.to})
	}
	if want := [][2]int{{0, 1}, {1, 3}, {3, 4}, {4, 5}, {5, 6}, {6, 7}}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

// TestHeap: pages that are none, and slots of no size, end the search for fibers.
func TestHeap(t *testing.T) {
	const space, pages, page, slots = 0x80000, 0x84000, 0x82000, 0x83000
	count := func(harm func(r *runtime, m fake)) (n int, err error) {
		r, m := small()
		m.Words[atVM+r.at("vm.space")] = space
		m.Zero(space, 0x600)
		m.Words[space+r.at("space.pages")], m.Words[space+r.at("space.count")] = pages, 1
		m.Words[pages] = page
		m.Zero(page, 0x40)
		m.Words[page] = 40 | 3<<16
		m.Words[page+r.at("page.start")] = slots
		m.Zero(slots, 3*40)
		harm(r, m)
		b := budget.Of(1 << 20)
		r.Reader, r.p = procmem.Of(r.p.State).Charged(b.Spend), &tasks.Process{State: r.p.State, Budget: b}
		for _, err = range r.Tasks(t.Context()) {
			n++
		}
		if most := r.p.State.(*threaded).largest; most > maxPages*8 {
			t.Errorf("%d bytes are read at once", most)
		}
		return n, err
	}
	for what, harm := range map[string]func(r *runtime, m fake){
		"as it is":            func(*runtime, fake) {},
		"no size":             func(_ *runtime, m fake) { m.Words[page] = 3 << 16 },
		"slots beyond a page": func(_ *runtime, m fake) { m.Words[page] = 0x7fff | 0x7fff<<16 },
		"pages without end":   func(r *runtime, m fake) { m.Words[space+r.at("space.count")] = maxPages + 1 },
		"pages between words": func(r *runtime, m fake) { m.Words[space+r.at("space.pages")]++ },
		"no page":             func(_ *runtime, m fake) { m.Words[pages] = 0 },
	} {
		if n, err := count(harm); n != 0 || err != nil {
			t.Errorf("%s: %d, %v", what, n, err)
		}
	}
	n, err := count(func(r *runtime, m fake) {
		m.Words[space+r.at("space.count")] = 330
		for i := range uint64(330) {
			m.Words[pages+8*i] = page
		}
		m.Words[page] = 40 | 1638<<16
	})
	if n != 1 || err == nil {
		t.Errorf("too many objects: %d, %v", n, err)
	}
}

// TestLayouts: all versions are in the table, with all that is read of each.
func TestLayouts(t *testing.T) {
	for _, v := range []string{"2.7", "3.0", "3.1", "3.2", "3.3", "3.4"} {
		l := tableLayout(layoutsText, v)
		for _, field := range []string{"vm.main", "thread.ec", "ec.errinfo", "frame.size", "body.localcount", "fiber.prev", "mutex.owner", "page.start", "value.nil"} {
			if !l.has(field) {
				t.Errorf("%s has no %s", v, field)
			}
		}
	}
	if tableLayout(layoutsText, "3.5") != nil || tableLayout(layoutsText, "field") != nil {
		t.Error("a version that is not known has a layout")
	}
	if at := (layout{}).at("x"); at < 1<<56 {
		t.Errorf("a field that is not there is at %#x", at)
	}
	for release, want := range map[string]string{"3.1.2": "3.1", "2.7.4": "2.7", "3.1": "", "3..1": "", "3.1.x": "", "": "", "3.1000.1": ""} {
		if got, ok := minor(release); got != want || ok != (want != "") {
			t.Errorf("%q is %q", release, got)
		}
	}
}

// TestScalars compares with what inspect writes.
func TestScalars(t *testing.T) {
	for v, want := range map[float64]string{0: "0.0", 1: "1.0", -0.25: "-0.25", 1e15: "1000000000000000.0", 1e16: "1.0e+16", 1.5e-7: "1.5e-07", 0.0001: "0.0001", 0.00001: "1.0e-05", 1e100: "1.0e+100",
		math.Inf(1): "Infinity", math.Inf(-1): "-Infinity"} {
		if got := floatText(v); got != want {
			t.Errorf("%g is %s, want %s", v, got, want)
		}
	}
	for name, want := range map[string]string{"a": ":a", "a b": `:"a b"`, "[]": ":[]", "a?": ":a?", "==": ":==", "a=": ":a="} {
		if got := symbol(name); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
	for _, c := range []struct {
		value string
		text  bool
		want  string
	}{{"a\x1b#{\"\\", true, `"a\e\#{\"\\"`}, {"\a\b\v\f\n\r\t\x01\x7f#$#@#", true, `"\a\b\v\f\n\r\t\u0001\x7F\#$\#@#"`}, {"\x01é\xff", false, `"\x01\xC3\xA9\xFF"`},
		{"é\u200b\U000e0001\xff", true, `"é\u200B\u{E0001}\xFF"`}} {
		if got := quoted(c.value, c.text); got != c.want {
			t.Errorf("%q is %s, want %s", c.value, got, c.want)
		}
	}
	for name, want := range map[string]string{":a": "a", ":a?": "a?", ":+": `"+"`, ":a=": `"a="`, `:"a b"`: `"a b"`, ":@a": `"@a"`, ":[]": `"[]"`, ":": `""`} {
		if got := symbolKey(name); got != want {
			t.Errorf("%s is written %s, want %s", name, got, want)
		}
	}
	r, _ := small()
	for v, want := range map[uint64]string{0: "false", 8: "nil", 20: "true", 3: "1", math.MaxUint64: "-1", smallZero: "0.0", 52: "?"} {
		if got := r.show(v, tasks.Limits{}); got != want {
			t.Errorf("%#x is %s, want %s", v, got, want)
		}
	}
}

// exported has the symbols of a module that says which version it is.
type exported struct{ unwind.SymbolReader }

func (exported) SymbolByName(_ *libstate.Library, name string) (unwind.Symbol, bool) {
	at := map[string]uint64{"ruby_version": 0x8f000, "rb_cObject": 0x91000}[name]
	return unwind.Symbol{Name: name, Addr: at}, at != 0
}

// TestFind: the virtual machine and the table of names are found among the variables of the module, and what is not known is said.
func TestFind(t *testing.T) {
	for _, c := range []struct {
		version string
		harm    func(m fake)
		want    string // of the error
	}{
		{"3.1.2", func(fake) {}, ""},
		{"3.1.2", func(m fake) { m.Words[0x91000+0x100] = 0 }, "it has no virtual machine"},
		{"3.1.2", func(m fake) { m.Words[atIDText] = 0 }, "it has no table of names"},
		{"3.5.0", func(fake) {}, "no layout is known for its version, 3.5.0"},
		{"new", func(fake) {}, "it says \"new\""},
		{"3.1.2", func(m fake) { delete(m.Words, 0x91000) }, "its variables are not there"},
		{"", func(m fake) { delete(m.Words, 0x8f000) }, "its version is not known"},
	} {
		r, m := small()
		m.Zero(0x8f000, 16)
		m.Put(0x8f000, []byte(c.version)...)
		m.Zero(0x91000-0x1000, 0x3000)
		m.Words[0x91000+0x100] = atVM
		for i := uint64(0); i < 0x20; i += 8 {
			m.Words[0x91000-0x200+i] = m.Words[atSymbols+i]
		}
		m.string(atClassID+0x200, "initialize")
		m.Words[atIDText] = atClassID + 0x200
		c.harm(m)
		p := &tasks.Process{State: r.p.State, Symbols: exported{}, Modules: []*libstate.Library{{Path: "libruby.so"}}}
		rt, err := Find(p)
		switch {
		case c.want == "" && (err != nil || rt.(*runtime).vm != atVM || rt.(*runtime).symbols != 0x91000-0x200):
			t.Errorf("%s: %+v, %v", c.version, rt, err)
		case c.want != "" && (err == nil || rt != nil || !strings.Contains(err.Error(), c.want)):
			t.Errorf("%s: %v, want %s", c.version, err, c.want)
		}
	}
	for name, want := range map[string]bool{"/usr/lib/libruby-3.1.so.3.1": true, "/usr/bin/ruby": true, "/usr/bin/python": false, "C:\\ruby.dll": true} {
		if Shows("", name) != want {
			t.Errorf("%s: %t", name, !want)
		}
	}
	if !Shows("rb_vm_exec", "") || Shows("main", "") {
		t.Error("functions")
	}
}

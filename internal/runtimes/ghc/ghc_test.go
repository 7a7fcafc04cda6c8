package ghc

import (
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

// fake is the memory of a process by words.
type fake = remotetest.Words

// table puts the table of a frame before the code at an address.
func table(m fake, code, layout, typ uint64) { m[code-16], m[code-8], m[code] = layout, typ, 0x90 }

func TestNext(t *testing.T) {
	const sp, code = 0x1000, 0x9000
	for _, tt := range []struct {
		name        string
		kind        uint64
		layout      uint64
		more        fake
		want        uint64
		why, absent string
	}{
		{name: "small", kind: small, layout: 0x42, want: sp + 24},
		{name: "update", kind: update, layout: 1, want: sp + 16},
		{name: "big", kind: big, layout: 0x100, more: fake{code + 0x100: 70}, want: sp + 8*71},
		{name: "big with a size of which none is", kind: big, layout: 0x100, more: fake{code + 0x100: 1 << 40}, why: "large"},
		{name: "function", kind: function, more: fake{sp + 8: 3}, want: sp + 8*6},
		{name: "function of any size", kind: function, more: fake{sp + 8: ^uint64(0) - 9}, why: "large"},
		{name: "underflow", kind: underflow, layout: 1, more: fake{sp + 8: 0x5000, 0x5010: 0x5100}, want: 0x5100},
		{name: "underflow into nothing", kind: underflow, layout: 1, more: fake{sp + 8: 0x5000}, why: "piece"},
		{name: "bytecode", kind: bytecode, why: "interpreter"},
		{name: "the last", kind: stop},
		{name: "no frame", kind: stop + 1, why: "table"},
	} {
		m := fake{sp: code}
		table(m, code, tt.layout, 29+tt.kind)
		for at, v := range tt.more {
			m[at] = v
		}
		e := &engine{Reader: procmem.Reader{Memory: m, Arch: arch.AMD64}, stop: 29 + stop}
		for _, entered := range []bool{false, true} {
			next, why := e.next(sp, code, entered)
			if next != tt.want || (why == "") != (tt.why == "") || !strings.Contains(why, tt.why) {
				t.Errorf("%s: %#x, %q", tt.name, next, why)
			}
		}
	}
}

// symbols are those of a runtime.
type symbols map[string]uint64

func (s symbols) SymbolByName(_ *libstate.Library, name string) (unwind.Symbol, bool) {
	at, ok := s[name]
	return unwind.Symbol{Name: name, Addr: at}, ok
}

func (symbols) SymbolAt(*libstate.Library, unwind.Address) (unwind.Symbol, bool) {
	return unwind.Symbol{}, false
}

type state struct {
	unwind.ProcessState
	m fake
}

func (s state) ReadWord(at arch.Address) (uint64, error)       { return s.m.ReadWord(at) }
func (s state) ReadMem(at arch.Address, b []byte) (int, error) { return s.m.ReadMem(at, b) }
func (state) Arch() *arch.Arch                                 { return arch.AMD64 }

// TestOpen: what is not as in versions that are known is refused.
func TestOpen(t *testing.T) {
	for name, change := range map[string]func(symbols, fake){
		"":          func(symbols, fake) {},
		"StgReturn": func(s symbols, _ fake) { delete(s, "StgReturn") },
		"stop":      func(_ symbols, m fake) { delete(m, 0x1000-8) },
		"update":    func(_ symbols, m fake) { m[0x4000-8]++ },
		"underflow": func(s symbols, _ fake) { delete(s, "stg_stack_underflow_frame_info") },
		"profiling": func(_ symbols, m fake) { m[0x3000-16] = 4 },
	} {
		s := symbols{"StgRun": 0x100, "StgReturn": 0x200, stopThread: 0x1000, "stg_stack_underflow_frame_info": 0x2000, "stg_catch_frame_info": 0x3000, "stg_upd_frame_info": 0x4000,
			"stg_atomically_frame_info": 0x5000}
		m := fake{}
		table(m, 0x1000, 0, 36)
		table(m, 0x2000, 1, 35)
		table(m, 0x3000, 0x42, 34)
		table(m, 0x4000, 1, 33)
		table(m, 0x5000, 2, 55)
		change(s, m)
		e, err := openIn(&tasks.Process{State: state{m: m}, Symbols: s}, nil)
		if (err == nil) != (name == "") {
			t.Errorf("%q: %v", name, err)
		}
		if err == nil {
			if kind, ok := e.info(0x5000); !ok || kind != small {
				t.Error("frames of transactions have bitmaps")
			}
		}
	}
}

func TestOwnFrame(t *testing.T) {
	m := fake{}
	for at := uint64(0x9000); at < 0x9400; at += 8 {
		m[at] = 0x9090909090909090
	}
	e := &engine{Reader: procmem.Reader{Memory: m, Arch: arch.AMD64}, stop: 36, resume: 0x9000}
	if e.resumes(0x9100) || e.otherTable(0x9100, 0x9200) {
		t.Error("nothing is there")
	}
	m.Put(0x9120, 0xe8, 0xdb, 0xfe, 0xff, 0xff) // call 0x9000
	if !e.resumes(0x9100) || e.resumes(0x9128) || e.resumes(0x9000) {
		t.Error("resumeThread is called at 0x9120")
	}
	m.Put(0x9130, 0xe8, 0x1b, 0, 0, 0)       // call 0x9150
	m.Put(0x9150, 0xff, 0x25, 0, 0, 0x10, 0) // jmp [0x109156], which is not there
	if e.resume = 0; e.resumes(0x9100) {
		t.Error("resumeThread is not known")
	}
	e.resume = 0x9000
	table(m, 0x9140, 0, 30)
	if !e.otherTable(0x9100, 0x9200) || e.otherTable(0x9140, 0x9200) || e.otherTable(0x9100, 0x9130) {
		t.Error("code that is returned to begins at 0x9140")
	}
	if !e.otherTable(0x9000, 0x9000+longestBlock+1) {
		t.Error("too long to look through")
	}
}

// TestEnds: code without a name is Haskell's if frames lead from its stack to the last one, and StgRun was called above it.
func TestEnds(t *testing.T) {
	const stack, update1, last, native, returns = 0x1000, 0x9000, 0xa000, 0x20008, 0x30000
	for name, change := range map[string]func(fake, *engine){
		"": func(fake, *engine) {},
		"through a linker's table": func(m fake, _ *engine) {
			m.Put(returns-5, 0xe8, 0, 1, 0, 0)
			m.Put(returns+0x100, 0xf3, 0x0f, 0x1e, 0xfa, 0xf2, 0xff, 0x25, 0, 1, 0, 0)
			m.Put(returns+0x20b, 0, 5, 0, 0)
		},
		"StgRun is not exported":    func(_ fake, e *engine) { e.run = 0 },
		"no code":                   func(m fake, _ *engine) { m[stack] = 0x77770 },
		"no end":                    func(m fake, _ *engine) { delete(m, stack+16) },
		"no call of StgRun":         func(m fake, _ *engine) { m.Put(returns-5, 0xe9) },
		"a call of another one":     func(_ fake, e *engine) { e.run = 0x600 },
		"a call far from StgReturn": func(_ fake, e *engine) { e.run, e.leaves = 0, 0x600 },
		"no function is known":      func(_ fake, e *engine) { e.run, e.leaves = 0, 0 },
		"elsewhere":                 func(m fake, _ *engine) { delete(m, native+room+saved) },
		"it goes round": func(m fake, _ *engine) {
			table(m, last, 1, 29+underflow)
			m[stack+24], m[0x5000+pieceSP] = 0x5000, stack
		},
	} {
		m := fake{stack: update1, stack + 8: 0, stack + 16: last, native + room + saved: returns}
		table(m, update1, 1, 29+update)
		table(m, last, 0, 29+stop)
		for at := uint64(returns - 0x20); at < returns+0x300; at += 8 {
			m[at] = 0
		}
		call := uint32(0x500)
		call -= returns
		m.Put(returns-5, 0xe8, byte(call), byte(call>>8), byte(call>>16), byte(call>>24))
		e := &engine{Reader: procmem.Reader{Memory: m, Arch: arch.AMD64}, p: &tasks.Process{Budget: budget.Of(1 << 50)}, stop: 29 + stop, run: 0x500, leaves: 0x52d}
		change(m, e)
		good := name == "" || strings.HasPrefix(name, "through") || strings.HasPrefix(name, "StgRun")
		if got := e.ends(stack, native); got != good {
			t.Errorf("%q: %t", name, got)
		}
	}
}

package perl

import (
	"strings"
	"testing"

	"github.com/corewalk/corewalk/internal/budget"
	"github.com/corewalk/corewalk/internal/runtimes/remote/remotetest"
	"github.com/corewalk/corewalk/tasks"
	"github.com/corewalk/corewalk/unwind"
	"github.com/corewalk/corewalk/unwind/arch"
)

// TestNothing: nothing is at address 0, nor between words, also if the process has memory there.
func TestNothing(t *testing.T) {
	r, m := small()
	m.Zero(0, 0x1000)
	const between = 0x7c004
	m.Zero(between&^7, 0x1000)
	for _, at := range []uint64{0, between} {
		for i := uint64(0); i < 0x200; i += 4 {
			m.Put32(at+i, 0x101)
		}
		if v := r.field(at, "info.contexts"); v != 0 {
			t.Errorf("%#x: a pointer %#x", at, v)
		}
		if v := r.number(at, "info.type"); v != 0 {
			t.Errorf("%#x: a number %#x", at, v)
		}
		if f, ok := r.flags(at); ok {
			t.Errorf("%#x: a value %#x", at, f)
		}
		if v := r.opOf(at); v != 0 {
			t.Errorf("%#x: an operation %d", at, v)
		}
		m.set(at, "cop.file", atCops-0x100)
		if p, ok := r.placeOf(at); ok {
			t.Errorf("%#x: a place %+v", at, p)
		}
	}
	m.Put32(r.at("hek.length"), 1)
	if s, ok := r.key(0); ok {
		t.Errorf("a name %q", s)
	}
	for _, at := range []uint64{0, atInterpreter + 4} {
		m.Put(at+r.at("interp.patchlevel"), 0, atVersion>>8, 0, 0, 0, 0, 0, 0)
		m.Put(at+r.at("interp.curstackinfo"), 0, atInfo>>8, 0, 0, 0, 0, 0, 0)
		if r.isInterpreter(at) {
			t.Errorf("%#x: an interpreter", at)
		}
	}
	m.info(0, atContexts, 1, 1, 0)
	if r.isInfo(0) {
		t.Error("contexts")
	}
	for what, at := range map[string]uint64{"nowhere": 0, "between words": atContexts + 4} {
		m.info(0x7d000, at, 1, 1, 0)
		if r.isInfo(0x7d000) {
			t.Errorf("contexts %s", what)
		}
	}
}

// TestTexts: a text that has no place, or more bytes than there are, is none.
func TestTexts(t *testing.T) {
	for what, harm := range map[string]func(r *runtime, m fake){
		"no body":        func(_ *runtime, m fake) { m.Zero(0, 0x40); m.Words[bodyLength] = 2; m.Words[atValues] = 0 },
		"no characters":  func(_ *runtime, m fake) { m.Zero(0, 0x40); m.Words[atValues+valueHere] = 0 },
		"an exabyte":     func(_ *runtime, m fake) { m.Words[atValues+0x20+bodyLength] = 1 << 60 },
		"not there":      func(_ *runtime, m fake) { m.Words[atValues+valueHere] = 0x99000 },
		"a reference":    func(_ *runtime, m fake) { m.Put32(atValues+valueFlags, flagText|flagRef) },
		"no text at all": func(r *runtime, m fake) { m.Put32(atValues+valueFlags, uint32(r.at("type.pv"))) },
	} {
		r, m := small()
		m.text(atValues, "ab")
		harm(r, m)
		if s, n, ok := r.text(atValues, 8); ok {
			t.Errorf("%s: %q of %d bytes", what, s, n)
		}
	}
	r, m := small()
	m.text(atValues, "")
	m.Words[atValues+valueHere] = 0x99000 // what is not needed may be missing
	if s, _, ok := r.text(atValues, 8); s != "" || !ok {
		t.Errorf("an empty text: %q, %t", s, ok)
	}
	m.hek(atValues+0x200, "")
	delete(m.Words, atValues+0x200+r.at("hek.text"))
	if s, ok := r.key(atValues + 0x200); s != "" || !ok {
		t.Errorf("an empty name: %q, %t", s, ok)
	}
	m.Zero(0, 0x40)
	m.array(atValues)
	m.Words[atValues] = 0
	if _, n, ok := r.list(atValues); ok {
		t.Errorf("an array without a body: %d", n)
	}
	m.array(atValues, atValues)
	if at := r.element(atValues, 1); at != 0 {
		t.Errorf("behind the last element: %#x", at)
	}
}

// TestHashesAreBounded: of a hash so much is read as there are entries and work may be done for.
func TestHashesAreBounded(t *testing.T) {
	r, m := small()
	m.value(atValues, r.at("type.hv"), 0x1000000)
	m.set(atValues+0x20, "body.max", maxEntries+7)
	m.hek(0xf00000, "k")
	for i := range uint64(maxEntries + 8) {
		at := 0x2000000 + 0x40*i
		m.Words[0x1000000+8*i] = at
		m.Zero(at, 0x40)
		m.set(at, "he.hek", 0xf00000)
	}
	if list, whole := r.entries(atValues); len(list) != maxEntries || whole {
		t.Errorf("%d entries, all of them: %t", len(list), whole)
	}
	r.p.Budget = budget.Of(8 + 4*10)
	if list, whole := r.entries(atValues); len(list) != 10 || whole {
		t.Errorf("%d entries for the work of ten, all of them: %t", len(list), whole)
	}
	m.hash(atValues, nil)
	m.Zero(atValues+0x100, 16)
	r.p.Budget = budget.Of(1)
	if _, whole := r.entries(atValues); whole {
		t.Error("no work may be done")
	}
}

// TestValuesAreCharged: a value costs, and ends where the work ends or as many parts are shown as may be.
func TestValuesAreCharged(t *testing.T) {
	build := func() *runtime {
		r, m := small()
		var outer []uint64
		for i := range uint64(9) {
			at := 0x1000000 + 0x10000*i
			var inner []uint64
			for k := range uint64(9) {
				m.number(at+0x1000+0x100*k, k)
				inner = append(inner, at+0x1000+0x100*k)
			}
			m.array(at+0x400, inner...)
			m.ref(at, at+0x400)
			outer = append(outer, at)
		}
		m.array(atValues, outer...)
		return r
	}
	full := build().show(atValues, tasks.Limits{})
	if !strings.HasPrefix(full, "([0, 1, 2, 3, 4, 5, 6, 7, 8], ") || !strings.HasSuffix(full, ", ...)") || strings.Count(full, "8") != 6 {
		t.Errorf("more than %d parts: %s", maxParts, full)
	}
	r := build()
	r.p.Budget = budget.Of(4 * 12)
	if got := r.show(atValues, tasks.Limits{}); got != "([0, 1, 2, 3, 4, 5, 6, 7, 8], [0, ..., ...], ...)" {
		t.Errorf("work for twelve: %s", got)
	}
	count := 0
	r = build()
	r.p.Budget = budget.Of(4 * 12)
	v := r.tree(atValues, tasks.Limits{})
	for _, c := range v.Children {
		count += len(c.Data.Children)
	}
	if !v.Truncated || len(v.Children) != 2 || count != 10 {
		t.Errorf("work for twelve: %d of %d", count, len(v.Children))
	}
	// A value that refers to itself is shown once.
	r, m := small()
	m.ref(atValues, atValues)
	if v := r.tree(atValues, tasks.Limits{}); v.Kind != "reference" || len(v.Children) != 1 || v.Children[0].Data.Text != "..." || !v.Children[0].Data.Truncated {
		t.Errorf("%+v", v)
	}
}

// TestHooked: the error of a handler is the first of its arguments.
func TestHooked(t *testing.T) {
	r, m := small()
	m.pads()
	m.text(atPad+0x2000, "no money")
	if at := r.hooked(&call{cv: atOuter, depth: 1}); at != atPad+0x2000 {
		t.Errorf("%#x", at)
	}
	m.Words[atPad+0x80+8*3] = m.Words[atPad+0x88] // behind the last depth
	for what, at := range map[string]uint64{
		"a depth that it does not have": r.hooked(&call{cv: atOuter, depth: 3}),
		"no code":                       r.hooked(&call{cv: 0x99000, depth: 1}),
	} {
		if at != 0 {
			t.Errorf("%s: %#x", what, at)
		}
	}
	m.set(atPad+0x1020, "body.fill", ^uint64(0))
	if at := r.hooked(&call{cv: atOuter, depth: 1}); at != 0 {
		t.Errorf("a list of nothing: %#x", at)
	}
	m.text(atValues, strings.Repeat("x", maxName+1))
	if e, ok := r.describeError(atValues); !ok || e.Message != strings.Repeat("x", maxName)+"..." {
		t.Errorf("%d bytes of a long error, %t", len(e.Message), ok)
	}
	m.array(atValues + 0x4000)
	m.ref(atValues, atValues+0x4000)
	if e, ok := r.describeError(atValues); !ok || e.Type != "ARRAY" || e.Message != "[]" {
		t.Errorf("a reference: %+v, %t", e, ok)
	}
}

// TestRunning: a thread runs the interpreter that a register of a frame of Perl's leads to, if it is one.
func TestRunning(t *testing.T) {
	const cloned = 0x60000
	for what, c := range map[string]struct {
		pc   uint64
		regs map[arch.Reg]uint64
		harm func(r *runtime, m fake)
		want uint64
	}{
		"a register of Perl's":           {atOwn + 0x30, map[arch.Reg]uint64{arch.RBX: cloned}, func(*runtime, fake) {}, cloned},
		"after another one":              {atOwn + 0x30, map[arch.Reg]uint64{arch.RBX: atInfo, arch.R12: cloned}, func(*runtime, fake) {}, cloned},
		"a register of somebody else's":  {atOther + 0x30, map[arch.Reg]uint64{arch.RBX: cloned}, func(*runtime, fake) {}, 0},
		"one that functions may change":  {atOwn + 0x30, map[arch.Reg]uint64{arch.RCX: cloned}, func(*runtime, fake) {}, 0},
		"what is no interpreter":         {atOwn + 0x30, map[arch.Reg]uint64{arch.RBX: atInfo}, func(*runtime, fake) {}, 0},
		"no work may be done":            {atOwn + 0x30, map[arch.Reg]uint64{arch.RBX: cloned}, func(r *runtime, _ fake) { r.p.Budget = budget.Of(1) }, 0},
		"a build for one interpreter":    {atOther + 0x30, nil, func(r *runtime, _ fake) { r.threads = false }, 1},
		"the thread's own says the same": {atOwn + 0x30, nil, func(r *runtime, _ fake) { r.seen[1] = cloned }, cloned},
	} {
		r, m := small()
		p := modules(m)
		m.Zero(cloned, 0x1000)
		m.set(cloned, "interp.patchlevel", atVersion)
		m.set(cloned, "interp.curstackinfo", atInfo)
		r.seen[2] = atInterpreter // another thread runs the first one
		c.harm(r, m)
		at, ok := r.running(1, []*unwind.Frame{remotetest.Frame(t, p, c.pc, stackEnv, c.regs)})
		if c.want == 1 {
			c.want = 0
			ok = !ok
		}
		if at != c.want || ok != (c.want != 0) {
			t.Errorf("%s: %#x, %t", what, at, ok)
		}
	}
}

// TestStretchesOfNobody: a stack without Perl's frames has none of its calls, nor one in which nothing runs operations.
func TestStretchesOfNobody(t *testing.T) {
	r, m := small()
	p := modules(m)
	r.seen[1] = atInterpreter
	frames := []*unwind.Frame{remotetest.Frame(t, p, atOther+0x30, stackEnv, nil)}
	for what, frames := range map[string][]*unwind.Frame{"no frames": nil, "another module's": frames} {
		if list, err := r.Stretches(t.Context(), 1, frames); list != nil || err != nil {
			t.Errorf("%s: %+v, %v", what, list, err)
		}
	}
	frames = append(frames, remotetest.Frame(t, p, atOwn+0x30, stackEnv+0x100, nil))
	list, err := r.Stretches(t.Context(), 1, frames)
	if err != nil || len(list) != 1 || list[0].From != 1 || list[0].To != 1 || len(list[0].Calls) != 4 {
		t.Errorf("none of the calls has a frame: %+v, %v", list, err)
	}
	r, m = small()
	p = modules(m)
	r.threads, r.globals = false, map[string]uint64{"curcop": atVariables + 0x20, "curstackinfo": atVariables + 0x28}
	m.Words[atVariables+0x20], m.Words[atVariables+0x28] = atCops, atSort
	frames = []*unwind.Frame{remotetest.Frame(t, p, atOther+0x30, stackEnv, nil), remotetest.Frame(t, p, atOwn+0x30, stackEnv+0x100, nil)}
	if list, err := r.Stretches(t.Context(), 1, frames); list != nil || err != nil {
		t.Errorf("a thread that does not run the only interpreter: %+v, %v", list, err)
	}
}

// TestFindOn64: Perl is looked for on 64 bits only.
func TestFindOn64(t *testing.T) {
	for _, cpu := range []*arch.Arch{nil, arch.X86} {
		r, m := small()
		modules(m).CPU = cpu
		r.p.Symbols = symbols()
		if rt, err := Find(r.p); rt != nil || err != nil {
			t.Errorf("%v: %v, %v", cpu, rt, err)
		}
	}
	r, m := small()
	s := symbols()
	delete(s, "PL_curinterp")
	r.p.Symbols = s
	if rt, err := Find(r.p); rt != nil || err == nil {
		t.Errorf("without the variable: %v, %v", rt, err)
	}
	m.Words[atVariables+16] = maxInterpreter + 8 // less than that is looked at
	r.p.Symbols = symbols()
	if rt, err := Find(r.p); rt == nil || err != nil {
		t.Errorf("a size of a megabyte: %v, %v", rt, err)
	}
}

// TestVersions: which texts are versions.
func TestVersions(t *testing.T) {
	for s, want := range map[string]string{"5.36.0": "5.36", "5.8.9": "5.8", "5.36.10": "5.36", "5.123456.0": "", "5.-1.0": "", "5.3+.0": "", "6.0.0": "", "..": "", "": ""} {
		if got, ok := minorOf(s); ok != (want != "") || ok && got != want {
			t.Errorf("%q: %q, %t", s, got, ok)
		}
	}
	r, m := small()
	for _, s := range []string{"v5.36.0", "w5.36.0", "v"} {
		m.text(atValues, s)
		if release, _, ok := r.memory.release(atValues); ok != (s == "v5.36.0") {
			t.Errorf("%q: %q", s, release)
		}
	}
}

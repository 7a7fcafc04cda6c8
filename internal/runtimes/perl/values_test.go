package perl

import (
	"math"
	"strings"
	"testing"

	"github.com/corewalk/corewalk/tasks"
	"github.com/corewalk/corewalk/unwind/arch"
)

// hash puts a hash with the lists of its entries behind it, all in the second.
func (m fake) hash(at uint64, in map[string]uint64) {
	m.value(at, m.r.at("type.hv"), at+0x100)
	m.set(at+0x20, "body.max", 1)
	m.Zero(at+0x100, 16)
	next := uint64(0)
	e := at + 0x200
	for k, v := range in {
		m.Words[e], m.Words[e+8], m.Words[e+16] = next, m.hek(e+0x20, k), v
		next = e
		e += 0x80
	}
	m.Words[at+0x108] = next
}

// array puts an array with its elements behind it.
func (m fake) array(at uint64, in ...uint64) {
	m.value(at, m.r.at("type.av"), at+0x100)
	m.set(at+0x20, "body.fill", uint64(len(in))-1)
	m.set(at+0x20, "body.alloc", at+0x100)
	m.Zero(at+0x100, 8*uint64(len(in))+8)
	for i, v := range in {
		m.Words[at+0x100+8*uint64(i)] = v
	}
}

// number puts an integer.
func (m fake) number(at, n uint64) {
	m.value(at, m.r.at("type.iv")|m.r.at("flag.iok"), 0)
	m.set(at+0x20, "body.iv", n)
}

// ref puts a reference.
func (m fake) ref(at, to uint64) { m.value(at, m.r.at("type.iv")|flagRef, to) }

// TestScalars: values without parts.
func TestScalars(t *testing.T) {
	for want, build := range map[string]func(r *runtime, m fake){
		`undef`: func(_ *runtime, m fake) { m.value(atValues, 0, 0) },
		`-7`:    func(_ *runtime, m fake) { m.number(atValues, math.MaxUint64-6) },
		`18446744073709551609`: func(_ *runtime, m fake) {
			m.number(atValues, math.MaxUint64-6)
			m.Put32(atValues+valueFlags, flagUV|0x101)
		},
		`0.1`:               func(r *runtime, m fake) { m.float(r, 0.1) },
		`1e+21`:             func(r *runtime, m fake) { m.float(r, 1e21) },
		`1.5e-07`:           func(r *runtime, m fake) { m.float(r, 1.5e-7) },
		`100`:               func(r *runtime, m fake) { m.float(r, 100) },
		`0.3`:               func(r *runtime, m fake) { tenth := 0.1; m.float(r, tenth+2*tenth) },
		`-0`:                func(r *runtime, m fake) { m.float(r, math.Copysign(0, -1)) },
		`NaN`:               func(r *runtime, m fake) { m.float(r, math.NaN()) },
		`Inf`:               func(r *runtime, m fake) { m.float(r, math.Inf(1)) },
		`-Inf`:              func(r *runtime, m fake) { m.float(r, math.Inf(-1)) },
		`"a\"\$\@\\\n\x01"`: func(_ *runtime, m fake) { m.text(atValues, "a\"$@\\\n\x01") },
		`""`:                func(_ *runtime, m fake) { m.text(atValues, "") },
		`"\x{c3}\x{a9}"`:    func(_ *runtime, m fake) { m.text(atValues, "é") },
		`"é"`:               func(r *runtime, m fake) { m.text(atValues, "é"); m.chars(r) },
		`"\x{c3}"`:          func(r *runtime, m fake) { m.text(atValues, "\xc3"); m.chars(r) },
		`"` + strings.Repeat("x", maxText-1) + `"...`: func(r *runtime, m fake) { m.text(atValues, strings.Repeat("x", maxText-1)+"é"); m.chars(r) },
		`*Shop::inner`:  func(_ *runtime, m fake) { m.sub(atValues-0x100, "inner") },
		`\&Shop::inner`: func(_ *runtime, m fake) { m.ref(atValues, atInner) },
		`sub {...}`:     func(_ *runtime, m fake) { m.hek(atInner+0x200, "__ANON__"); m.ref(atValues, atInner) },
		`\"in"`:         func(_ *runtime, m fake) { m.text(atValues+0x400, "in"); m.ref(atValues, atValues+0x400) },
		`\\...`:         func(_ *runtime, m fake) { m.ref(atValues, atValues) },
		`qr/(?^:a\/b$)/`: func(r *runtime, m fake) {
			m.text(atValues+0x400, "(?^:a/b$)")
			m.Put32(atValues+0x400+valueFlags, uint32(r.at("type.regexp")))
			m.ref(atValues, atValues+0x400)
		},
		`qr/?/`: func(r *runtime, m fake) {
			m.text(atValues+0x400, strings.Repeat("a", 999))
			m.Put32(atValues+0x400+valueFlags, uint32(r.at("type.regexp")))
			m.ref(atValues, atValues+0x400)
		},
		`[1, undef]`: func(_ *runtime, m fake) {
			m.number(atValues+0x800, 1)
			m.array(atValues+0x400, atValues+0x800, 0)
			m.ref(atValues, atValues+0x400)
		},
		`(1)`: func(_ *runtime, m fake) { m.number(atValues+0x800, 1); m.array(atValues, atValues+0x800) },
		`{}`:  func(_ *runtime, m fake) { m.hash(atValues+0x400, nil); m.ref(atValues, atValues+0x400) },
		`("" => 1, "a b" => 1, c2 => 1)`: func(_ *runtime, m fake) {
			m.number(atValues+0x800, 1)
			m.hash(atValues, map[string]uint64{"c2": atValues + 0x800, "a b": atValues + 0x800, "": atValues + 0x800})
		},
		`bless([], 'Shop')`: func(r *runtime, m fake) {
			m.array(atValues + 0x400)
			m.Put32(atValues+0x400+valueFlags, uint32(r.at("type.av")|r.at("flag.object")))
			m.set(atValues+0x420, "body.stash", atStash)
			m.ref(atValues, atValues+0x400)
		},
		`?`: func(_ *runtime, m fake) { m.value(atValues, typeFree, 0) },
		`[...]`: func(_ *runtime, m fake) {
			m.array(atValues+0x400, 1)
			m.Words[atValues+0x410] = 0x99000
			m.ref(atValues, atValues+0x400)
		},
		`(?)`:   func(_ *runtime, m fake) { m.array(atValues, 0x99000) },
		`*{IO}`: func(r *runtime, m fake) { m.value(atValues+0x400, r.at("type.io"), 0); m.ref(atValues, atValues+0x400) },
		`(a => 1, ...)`: func(_ *runtime, m fake) { // the lists of entries end early
			m.hash(atValues, nil)
			m.set(atValues+0x20, "body.max", maxBuckets)
			m.Zero(atValues+0x100, 8*maxBuckets)
			m.hash(0x800000, map[string]uint64{"a": 0x900000})
			m.number(0x900000, 1)
			m.Words[atValues+0x100] = m.Words[0x800108]
		},
	} {
		r, m := small()
		build(r, m)
		if got := r.show(atValues, tasks.Limits{}); got != want {
			t.Errorf("%s, want %s", got, want)
		}
		r.tree(atValues, tasks.Limits{})
	}
}

func (m fake) float(r *runtime, v float64) {
	m.value(atValues, r.at("type.nv")|r.at("flag.nok"), 0)
	m.set(atValues+0x20, "body.nv", math.Float64bits(v))
}

func (m fake) chars(r *runtime) {
	m.Put32(atValues+valueFlags, uint32(r.at("type.pv")|flagText|r.at("flag.utf8")))
}

// TestValuesAreBounded: as many parts are read as the limits say, however deep they are within each other.
func TestValuesAreBounded(t *testing.T) {
	r, m := small()
	var list []uint64
	for i := range uint64(40) {
		m.number(atValues+0x40000+0x100*i, i)
		list = append(list, atValues+0x40000+0x100*i)
	}
	m.array(atValues, list...)
	if got := r.show(atValues, tasks.Limits{}); got != "(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, ...)" {
		t.Errorf("%s", got)
	}
	if v := r.tree(atValues, tasks.Limits{Elements: 5}); len(v.Children) != 5 || !v.Truncated {
		t.Errorf("%+v", v)
	}
	// An array of references to itself.
	at := uint64(atValues)
	for i := range uint64(12) {
		m.ref(at+0x1000*i+0x800, at+0x1000*(i+1))
		m.array(at+0x1000*i, at+0x1000*i+0x800, at+0x1000*i+0x800)
	}
	m.array(at + 0x12000)
	if got := r.show(at, tasks.Limits{}); strings.Count(got, "[") > 2*maxParts || !strings.Contains(got, "[...]") {
		t.Errorf("%s", got)
	}
	if got := r.show(at, tasks.Limits{Depth: 12}); len(got) > 4096 {
		t.Errorf("%d bytes", len(got))
	}
	v := r.tree(at, tasks.Limits{})
	for range 6 {
		if len(v.Children) != 2 {
			t.Fatalf("%+v", v)
		}
		v = v.Children[0].Data
	}
	if v.Text != "..." || !v.Truncated {
		t.Errorf("%+v", v)
	}
	if _, ok := r.ValueAt(atValues, tasks.Limits{}); !ok {
		t.Error("nothing is there")
	}
	if _, ok := r.ValueAt(0x99000, tasks.Limits{}); ok {
		t.Error("something is where nothing is")
	}
}

// TestHashes: entries that lead to each other end.
func TestHashes(t *testing.T) {
	r, m := small()
	m.number(atValues+0x800, 1)
	m.hash(atValues, map[string]uint64{"a": atValues + 0x800})
	m.Words[atValues+0x200] = atValues + 0x200
	if list, _ := r.entries(atValues); len(list) > maxChained {
		t.Errorf("%d", len(list))
	}
	for what, harm := range map[string]func(){
		"an array":            func() { m.Put32(atValues+valueFlags, uint32(r.at("type.av"))) },
		"entries not there":   func() { m.Words[atValues+0x108] = 0x99000 },
		"lists not there":     func() { m.Words[atValues+valueHere] = 0x99000 },
		"a key of a megabyte": func() { m.Put32(atValues+0x224, 1<<20) },
	} {
		m.hash(atValues, map[string]uint64{"a": atValues + 0x800})
		harm()
		if list, whole := r.entries(atValues); whole || len(list) > 0 {
			t.Errorf("%s: %v", what, list)
		}
	}
}

// pads gives Shop::outer variables: $count, @list and %of at depth 1, and @_.
func (m fake) pads() {
	const list, names, pad = atPad, atPad + 0x100, atPad + 0x1000
	m.set(atOuter+0x20, "body.padlist", list)
	m.Zero(list, 0x40)
	m.set(list, "padlist.list", atPad+0x80)
	m.set(list, "padlist.max", 2)
	m.Zero(atPad+0x80, 0x20)
	m.Words[atPad+0x80], m.Words[atPad+0x88] = names, pad
	m.Zero(names, 0x40)
	m.set(names, "names.list", atPad+0x200)
	m.set(names, "names.fill", 3)
	m.Zero(atPad+0x200, 0x20)
	for i, s := range []string{"$count", "@list", "%of"} {
		at := atPad + 0x300 + 0x100*uint64(i)
		m.Words[atPad+0x208+8*uint64(i)] = at
		m.Zero(at, 0x80)
		m.set(at, "name.text", at+0x60)
		m.Put(at+m.r.at("name.length"), byte(len(s)))
		m.Put(at+0x60, []byte(s)...)
		m.set32(at, "name.low", 1)
		m.set32(at, "name.high", 100)
	}
	m.number(atPad+0x2000, 5)
	m.array(atPad+0x2400, atPad+0x2000)
	m.hash(atPad+0x2800, map[string]uint64{"k": atPad + 0x2000})
	m.array(atPad+0x3000, atPad+0x2000)
	m.array(pad, atPad+0x3000, atPad+0x2000, atPad+0x2400, atPad+0x2800)
}

// TestVariables: those that the part of the code has which runs.
func TestVariables(t *testing.T) {
	const name = atPad + 0x300
	for what, c := range map[string]struct {
		harm func(r *runtime, m fake)
		want string
	}{
		"as it is":       {func(*runtime, fake) {}, "@_=(5) $count=5 @list=(5) %of=(k => 5)"},
		"behind it":      {func(_ *runtime, m fake) { m.set32(name, "name.high", 11) }, "@_=(5) @list=(5) %of=(k => 5)"},
		"its last":       {func(_ *runtime, m fake) { m.set32(name, "name.high", 12) }, "@_=(5) $count=5 @list=(5) %of=(k => 5)"},
		"before it":      {func(_ *runtime, m fake) { m.set32(name, "name.low", 12) }, "@_=(5) @list=(5) %of=(k => 5)"},
		"not introduced": {func(_ *runtime, m fake) { m.set32(name, "name.low", notYet); m.set32(name, "name.high", 20) }, "@_=(5) @list=(5) %of=(k => 5)"},
		"being compiled": {func(_ *runtime, m fake) { m.set32(name, "name.high", notYet) }, "@_=(5) $count=5 @list=(5) %of=(k => 5)"},
		"begun anew":     {func(_ *runtime, m fake) { m.set32(name, "name.low", 1000); m.set32(name, "name.high", 50) }, "@_=(5) $count=5 @list=(5) %of=(k => 5)"},
		"of the code around": {func(r *runtime, m fake) {
			m.set32(name, "name.high", 0)
			m.Put(name+r.at("name.flags"), byte(r.at("name.outer")))
		}, "@_=(5) $count=5 @list=(5) %of=(k => 5)"},
		"of the package": {func(_ *runtime, m fake) { m.set(name, "name.our", atStash) }, "@_=(5) @list=(5) %of=(k => 5)"},
		"not reached": {func(r *runtime, m fake) {
			m.Put32(atPad+0x2000+valueFlags, uint32(r.at("type.iv")|r.at("flag.iok")|r.at("flag.stale")))
		}, "@_=(5) @list=(5) %of=(k => 5)"},
		"an array for $":    {func(_ *runtime, m fake) { m.Words[atPad+0x1108] = atPad + 0x2400 }, "@_=(5) @list=(5) %of=(k => 5)"},
		"a hash for @":      {func(_ *runtime, m fake) { m.Words[atPad+0x1110] = atPad + 0x2800 }, "@_=(5) $count=5 %of=(k => 5)"},
		"a sub's name":      {func(_ *runtime, m fake) { m.Put(name+0x60, '&') }, "@_=(5) @list=(5) %of=(k => 5)"},
		"no name":           {func(r *runtime, m fake) { m.Put(name+r.at("name.length"), 1) }, "@_=(5) @list=(5) %of=(k => 5)"},
		"no @_":             {func(_ *runtime, m fake) { m.number(atPad+0x3000, 1) }, " $count=5 @list=(5) %of=(k => 5)"},
		"other depth":       {func(_ *runtime, m fake) { m.set(atPad, "padlist.max", 0) }, " "},
		"names without end": {func(_ *runtime, m fake) { m.set(atPad+0x100, "names.fill", maxVariables) }, "@_=(5) "},
		"names not there":   {func(_ *runtime, m fake) { m.set(atPad+0x100, "names.list", 0x99000) }, "@_=(5) "},
		"a sub of C":        {func(r *runtime, m fake) { m.set32(atOuter+0x20, "body.cvflags", uint32(r.at("cv.native"))) }, " "},
		"no lists":          {func(_ *runtime, m fake) { m.set(atPad, "padlist.list", 0) }, " "},
		"between words":     {func(_ *runtime, m fake) { m.set(atPad, "padlist.list", atPad+0x81) }, " "},
	} {
		r, m := small()
		m.pads()
		c.harm(r, m)
		s, _ := r.calls(atInterpreter)
		enclose(s.list)
		outer := &s.list[2]
		args, own := r.variables(outer, true, tasks.Limits{})
		var a, o []string
		for _, v := range args {
			a = append(a, v.Name+"="+v.Value)
		}
		for _, v := range own {
			o = append(o, v.Name+"="+v.Value)
		}
		if got := strings.Join(a, " ") + " " + strings.Join(o, " "); got != c.want {
			t.Errorf("%s: %q, want %q", what, got, c.want)
		}
	}
	// An eval of a block has those that are its own.
	r, m := small()
	m.pads()
	m.set32(name, "name.low", 1000)
	m.set32(name, "name.high", 11)
	s, _ := r.calls(atInterpreter)
	enclose(s.list)
	args, own := r.variables(&s.list[1], true, tasks.Limits{})
	if args != nil || len(own) != 1 || own[0].Name != "$count" {
		t.Errorf("%v, %+v", args, own)
	}
	if args, own := r.variables(&s.list[2], false, tasks.Limits{}); len(args) != 1 || len(own) != 0 {
		t.Errorf("arguments only: %v, %v", args, own)
	}
}

// TestOperations: the type of an operation has nine bits, in the order of the machine.
func TestOperations(t *testing.T) {
	r, m := small()
	m.Zero(0x64000, 0x40)
	m.Put(0x64000+r.at("op.type"), 0x3f, 0xff)
	if got := r.opOf(0x64000); got != 0x13f {
		t.Errorf("%#x", got)
	}
	r.Arch = arch.S390X
	m.Put(0x64000+r.at("op.type"), 0x9f, 0xff)
	if got := r.opOf(0x64000); got != 0x13f {
		t.Errorf("%#x", got)
	}
	if r.opOf(0) != 0 || r.opOf(0x64004) != 0 || r.opOf(0x99000) != 0 {
		t.Error("no operation")
	}
}

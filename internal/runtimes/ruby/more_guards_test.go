package ruby

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/corewalk/corewalk/internal/runtimes/remote"
	"github.com/corewalk/corewalk/tasks"
	"github.com/corewalk/corewalk/unwind"
)

// dies is a small process whose youngest call is the code of a rescue, with an exception that is made of messages: its message, and its cause's.
func dies(messages ...string) (*runtime, fake, []uint64) {
	const table, entries, index, class = 0x21000, 0x21100, 0x21200, 0x21800
	r, m := small()
	m.object(class, typeClass, 0, 0x30) // Trouble < Exception
	m.Words[class+r.at("class.super")] = atOwner
	m.string(atClassName, "Exception")
	m.Zero(table, 0x40)
	m.Words[table+r.at("st.list")], m.Words[table+r.at("st.to")] = entries, 3
	for i, name := range []string{"mesg", "cause", "bt"} {
		at := entries + 24*uint64(i)
		m.Words[at], m.Words[at+8], m.Words[at+16] = 1, (300+uint64(i))<<4, index+8*uint64(i)
		m.Words[index+8*uint64(i)] = uint64(i)
		m.string(atClassID+0x200+0x100*uint64(i), name)
		m.Words[atIDText+16*(300+uint64(i))] = atClassID + 0x200 + 0x100*uint64(i)
	}
	var list []uint64
	for i, text := range messages {
		at := 0x22000 + 0x200*uint64(i)
		m.object(at, typeObject, atOwner, 0x28)
		m.Words[at+16], m.Words[at+24], m.Words[at+32] = 3, at+0x40, table
		m.string(at+0x80, text)
		m.Words[at+0x40], m.Words[at+0x48], m.Words[at+0x50] = at+0x80, at+0x200, 8
		list = append(list, at)
	}
	m.Words[list[len(list)-1]+0x48] = 8
	r.set32(m, atBody, "body.type", codeRescue)
	m.Words[atEnvironment-8*errInfo] = list[0]
	r.threadList()
	r.threads[0].id = 7
	return r, m, list
}

// TestRaised: what a thread raises is before what it handles; what is no exception is none, and chains end.
func TestRaised(t *testing.T) {
	say := func(r *runtime) (list []string) {
		for _, e := range r.Raised(7) {
			list = append(list, fmt.Sprintf("%s%s %s %t %s:%d in %s", e.Relation, e.Type, e.Message, e.Handled, e.File, e.Line, e.Function))
		}
		return list
	}
	const first, second = "Exception one true :0 in ", "causeException two false :0 in "
	for what, c := range map[string]struct {
		harm func(r *runtime, m fake, at []uint64)
		want []string
	}{
		"as it is":         {func(*runtime, fake, []uint64) {}, []string{first, second}},
		"code of a method": {func(r *runtime, m fake, _ []uint64) { r.set32(m, atBody, "body.type", codeMethod) }, nil},
		"an ensure": {func(r *runtime, m fake, _ []uint64) { r.set32(m, atBody, "body.type", codeEnsure) },
			[]string{strings.Replace(first, "true", "false", 1), second}},
		"raised":                     {func(r *runtime, m fake, at []uint64) { m.Words[atEC+r.at("ec.errinfo")] = at[1] }, []string{"Exception two false :0 in "}},
		"raised, but no exception":   {func(r *runtime, m fake, _ []uint64) { m.Words[atEC+r.at("ec.errinfo")] = atLabel }, []string{first, second}},
		"no exception":               {func(_ *runtime, m fake, _ []uint64) { m.Words[atEnvironment-8*errInfo] = atLabel }, nil},
		"an object of another class": {func(_ *runtime, m fake, _ []uint64) { m.string(atClassName, "Basket") }, nil},
		"a String with the class":    {func(_ *runtime, m fake, at []uint64) { m.Words[at[0]] = typeString }, nil},
		"a message that is none":     {func(_ *runtime, m fake, at []uint64) { m.Words[at[0]+0x40] = 8 }, []string{"Exception  true :0 in ", second}},
		"a long message": {func(_ *runtime, m fake, at []uint64) {
			m.Zero(at[0]+0x80+48, 2*maxName)
			m.Words[at[0]+0x80+16] = maxName + 1
			m.Put(at[0]+0x80+48, []byte(strings.Repeat("x", maxName+1))...)
		},
			[]string{"Exception " + strings.Repeat("x", maxName) + "... true :0 in "}},
		"a place that the program set": {func(r *runtime, m fake, at []uint64) { place(r, m, at[0], "shop.rb:12:in `pay'") }, []string{"Exception one true shop.rb:12 in pay", second}},
		"a place without a line":       {func(r *runtime, m fake, at []uint64) { place(r, m, at[0], "shop.rb") }, []string{first, second}},
		"a line that is none":          {func(r *runtime, m fake, at []uint64) { place(r, m, at[0], "shop.rb:x:in `pay'") }, []string{first, second}},
		"a line before the first":      {func(r *runtime, m fake, at []uint64) { place(r, m, at[0], "shop.rb:-1:in `pay'") }, []string{first, second}},
	} {
		r, m, at := dies("one", "two")
		c.harm(r, m, at)
		if got := say(r); !slices.Equal(got[:min(len(got), max(1, len(c.want)))], c.want) {
			t.Errorf("%s: %q, want %q", what, got, c.want)
		}
	}
	r, _, _ := dies(slices.Repeat([]string{"one"}, maxChain+3)...)
	if list := r.Raised(7); len(list) != maxChain {
		t.Errorf("%d exceptions", len(list))
	}
	if list := r.Raised(8); list != nil {
		t.Errorf("a thread that is none of Ruby's: %+v", list)
	}
}

// place sets what an exception has as its list of calls.
func place(r *runtime, m fake, at uint64, text string) {
	m.string(at+0x180, text)
	m.object(at+0x100, typeArray|flagHere|1<<(flagUser+3), 0, 0x28)
	m.Words[at+0x110] = at + 0x180
	m.Words[at+0x50] = at + 0x100
}

// TestSuspended: a fiber is one that is not begun, ended or running, and that leads to its object and back.
func TestSuspended(t *testing.T) {
	const object, data, kind, name = 0x40000, 0x41000, 0x42000, 0x42100
	build := func() (*runtime, fake, uint64) {
		r, m := small()
		m.object(object, typeData, 0, 0x28)
		m.Words[object+r.at("data.type")], m.Words[object+r.at("data.data")] = kind, data
		m.Words[kind] = name
		m.Zero(name, 8)
		m.Put(name, []byte("fiber")...)
		m.Zero(data, 0x600)
		m.Words[data+r.at("fiber.self")] = object
		ec := data + r.at("fiber.ec")
		for i := uint64(0); i < 0x100; i += 8 {
			m.Words[ec+i] = m.Words[atEC+i]
		}
		m.Words[ec+r.at("ec.fiber")] = data
		return r, m, ec
	}
	for what, c := range map[string]struct {
		harm func(r *runtime, m fake, ec uint64)
		want bool
	}{
		"as it is":                    {func(*runtime, fake, uint64) {}, true},
		"another object's":            {func(r *runtime, m fake, _ uint64) { m.Words[data+r.at("fiber.self")] = atOwner }, false},
		"what another fiber executes": {func(r *runtime, m fake, ec uint64) { m.Words[ec+r.at("ec.fiber")] = atVM }, false},
		"not begun":                   {func(r *runtime, m fake, ec uint64) { m.Words[ec+r.at("ec.cfp")] = 0 }, false},
		"ended":                       {func(r *runtime, m fake, ec uint64) { m.Words[ec+r.at("ec.stack")] = 0 }, false},
		"another object of C":         {func(_ *runtime, m fake, _ uint64) { m.Put(name, 'x') }, false},
		"what a thread executes":      {func(r *runtime, m fake, ec uint64) { m.Words[atThread+r.at("thread.ec")] = ec }, false},
		"who resumed what one executes": {func(r *runtime, m fake, ec uint64) {
			m.Zero(0x44000, 0x600)
			m.Words[0x44000+r.at("fiber.prev")] = data
			young := 0x44000 + r.at("fiber.ec")
			m.Words[young+r.at("ec.fiber")], m.Words[young+r.at("ec.thread")] = 0x44000, atThread
			m.Words[atThread+r.at("thread.ec")] = young
		}, false},
	} {
		r, m, ec := build()
		c.harm(r, m, ec)
		if got := r.fiber(object, r.running()); (got != nil) != c.want {
			t.Errorf("%s: %+v", what, got)
		}
	}
	// Who resumed a fiber is a fiber of the same thread.
	r, m, ec := build()
	const before = 0x46000
	m.Zero(before, 0x600)
	m.Words[data+r.at("fiber.prev")] = before
	of := before + r.at("fiber.ec")
	m.Words[of+r.at("ec.thread")] = atThread
	if got := r.resumer(ec); got != of {
		t.Errorf("%#x, want %#x", got, of)
	}
	m.Words[of+r.at("ec.thread")] = atVM
	if got := r.resumer(ec); got != 0 {
		t.Errorf("of another thread: %#x", got)
	}
	m.Zero(before+0x600, 8)
	m.Words[data+r.at("fiber.prev")], m.Words[of+r.at("ec.thread")] = before+4, 0
	m.Put(of+4+r.at("ec.thread"), 0, 0x20, 0, 0, 0, 0, 0, 0)
	if got := r.resumer(ec); got != 0 {
		t.Errorf("between words: %#x", got)
	}
}

// TestClasses: classes that descend from themselves have an end, and what is included is no class.
func TestClasses(t *testing.T) {
	const object, a, b, module = 0x20000, 0x23000, 0x23100, 0x23200
	r, m := small()
	m.object(object, typeObject, a, 0x28)
	m.object(a, typeIncluded, module, 0x30)
	m.object(module, typeModule, 0, 0x30)
	m.Words[a+r.at("class.super")] = a
	if got := r.classOf(object); got != "" || r.descends(object, "Shop") || r.realClass(object) != a {
		t.Errorf("%q", got)
	}
	m.Words[a+r.at("class.super")] = b
	m.object(b, typeClass|singletonClass, 0, 0x30)
	m.Words[b+r.at("class.super")] = atOwner
	r.classes = remote.Kept[class]{}
	if got := r.classOf(object); got != "Shop" || !r.descends(object, "Shop") || r.descends(object, "Basket") || r.realClass(object) != atOwner {
		t.Errorf("%q, %#x", got, r.realClass(object))
	}
	m.Words[a] = typeString
	r.classes = remote.Kept[class]{}
	if got := r.classOf(object); got != "" || r.descends(object, "Shop") {
		t.Errorf("what descends from a String is %q", got)
	}
}

// TestHashes: elements that were taken out are not shown, and what is not there ends a value.
func TestHashes(t *testing.T) {
	const hash, pairs = 0x20000, 0x24000
	build := func() (*runtime, fake) {
		r, m := small()
		m.object(hash, typeHash|3<<(flagUser+8), 0, 0x28)
		m.Words[hash+16] = pairs
		for i, v := range []uint64{1<<1 | 1, 2<<1 | 1, r.at("value.undef"), 8, 3<<1 | 1, 20} {
			m.Words[pairs+8*uint64(i)] = v
		}
		return r, m
	}
	for what, c := range map[string]struct {
		harm func(r *runtime, m fake)
		most int
		want string
	}{
		"as it is":      {func(*runtime, fake) {}, 9, "{1=>2, 3=>true}"},
		"one":           {func(*runtime, fake) {}, 1, "{1=>2, ...}"},
		"empty":         {func(_ *runtime, m fake) { m.Words[hash] = typeHash; m.Words[hash+16] = 0 }, 9, "{}"},
		"not there":     {func(_ *runtime, m fake) { m.Words[hash+16] = 0x90000 }, 9, "{...}"},
		"between words": {func(_ *runtime, m fake) { m.Zero(pairs+48, 8); m.Words[hash+16]++ }, 9, "{...}"},
	} {
		r, m := build()
		c.harm(r, m)
		if got := r.show(hash, tasks.Limits{Elements: c.most}); got != c.want {
			t.Errorf("%s: %s, want %s", what, got, c.want)
		}
	}
}

// TestAsksForTheEnd: only what sends a signal, from a function of the system, asks for the end.
func TestAsksForTheEnd(t *testing.T) {
	r, _ := small()
	f := new(unwind.Frame)
	for function, want := range map[string]bool{"Process.kill": true, "Kernel#abort": true, "Kernel#sleep": false, "Shop#kill": false} {
		if r.ends(&call{function: function}, []*unwind.Frame{f}) != want {
			t.Errorf("%s: %t", function, !want)
		}
	}
	if r.ends(&call{function: "Process.kill"}, nil) {
		t.Error("nothing was called")
	}
}

// singletonClass says of a class that only one object has it, in the versions that these tests take.
const singletonClass = 1 << flagUser

// TestLabels: since 3.4 Ruby says in which method code is, without what it is in of rescues, ensures and texts for eval.
func TestLabels(t *testing.T) {
	const method, block, inner, rescue, text, deep, top, free, circle, twin = 8, 16, 24, 32, 40, 48, 56, 64, 72, 80
	all := map[uint64]*function{
		method: {at: method, kind: codeMethod, label: "pay", base: "pay", local: method},
		block:  {at: block, kind: codeBlock, label: "block in pay", base: "pay", parent: method, local: method},
		rescue: {at: rescue, kind: codeRescue, label: "rescue in block in pay", base: "pay", parent: block, local: method},
		inner:  {at: inner, kind: codeBlock, label: "block in pay", base: "pay", parent: rescue, local: method},
		text:   {at: text, kind: codeEval, label: "<compiled>", base: "<compiled>", parent: inner, local: method},
		deep:   {at: deep, kind: codeBlock, label: "block in <compiled>", base: "<compiled>", parent: text, local: method},
		top:    {at: top, kind: codeMain, label: "<main>", base: "<main>", local: top},
		free:   {at: free, kind: codePlain, label: "block in <main>", base: "<main>", parent: 4096, local: top},
		circle: {at: circle, kind: codeEnsure, label: "ensure in x", base: "x", parent: twin, local: method},
		twin:   {at: twin, kind: codeRescue, label: "rescue in x", base: "x", parent: circle, local: method},
	}
	for version, want := range map[string]map[uint64]string{
		"3.4": {method: "pay", block: "block in pay", rescue: "block in pay", inner: "block (2 levels) in pay", text: "block (2 levels) in pay", deep: "block (3 levels) in pay",
			top: "<main>", free: "block in <main>"},
		"3.3": {method: "pay", block: "block in pay", rescue: "rescue in block in pay", inner: "block in pay", text: "<compiled>", deep: "block in <compiled>", top: "<main>",
			free: "block in <main>", circle: "ensure in x"},
	} {
		r, _ := small()
		r.version = version
		for at, f := range all {
			r.functions.Get(at, func() *function { return f })
		}
		for at, text := range want {
			if got := r.label(all[at], 0); got != text {
				t.Errorf("%s: %s is %s, want %s", version, all[at].label, got, text)
			}
		}
		r.label(all[circle], 0) // it ends
	}
}

// TestNativeLike: code that Ruby shows as a function of C has no place, and what its rescue stands for is not told.
func TestNativeLike(t *testing.T) {
	r, _ := small()
	list := []call{{function: "a", f: &function{path: "a.rb", first: 3}}, {function: "b", f: &function{path: "b.rb", first: 3}, hidden: true}, {function: "c", f: &function{path: "c.rb", first: 3, native: true}}}
	got := r.describe(list)
	if len(got) != 2 || got[0].File != "a.rb" || got[0].Line != 3 || got[1].Function != "c" || got[1].File != "" || got[1].Line != 0 {
		t.Errorf("%+v", got)
	}
}

// TestStructLengths: until 3.2 a Struct has at most three members in itself.
func TestStructLengths(t *testing.T) {
	const at = 0x90000
	for version, want := range map[string]uint64{"3.1": 1, "3.2": 1, "3.3": 5, "3.4": 5} {
		r, m := small()
		r.version = version
		m.Zero(at, 0x80)
		m.Words[at] = typeStruct | 5<<(flagUser+1)
		if from, n, ok := r.structure(at); !ok || n != want || from != at+r.at("struct.array") {
			t.Errorf("%s: %d at %#x, %t", version, n, from, ok)
		}
	}
}

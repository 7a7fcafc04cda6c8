package hotspot

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/corewalk/corewalk/report"
	"github.com/corewalk/corewalk/tasks"
	"github.com/corewalk/corewalk/unwind"
)

// variableOf is a variable of the recorded stack.
func (r *recorded) variableOf(t *testing.T, name string, limits ...tasks.Limits) tasks.SuspendedVariable {
	t.Helper()
	j := r.java()
	group := unwind.NewAddrRangeGroup()
	if err := group.RegisterStepper(j); err != nil {
		t.Fatal(err)
	}
	w, err := unwind.NewWalker(r, unwind.WithGroup(group))
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	f, err := unwind.NewFrame(r.PC, r.SP, r.FP, w)
	if err != nil {
		t.Fatal(err)
	}
	s, _ := w.WalkStackFromFrame(f)
	list, _ := j.Stretches(context.Background(), 1, s.Frames)
	for _, st := range list {
		for _, c := range st.Calls {
			if c.Variables == nil {
				continue
			}
			args, own := c.Variables(true, append(limits, tasks.Limits{})[0])
			for _, v := range slices.Concat(args, own) {
				if v.Name == name {
					return v
				}
			}
		}
	}
	t.Fatalf("no variable %s", name)
	return tasks.SuspendedVariable{}
}

// TestObjectGuards: what is no object is not shown as one.
func TestObjectGuards(t *testing.T) {
	r := read(t, "java25-values.zst")
	vm := r.java().machine()
	back, _ := vm.off("InstanceKlass._constants")
	helper, _ := vm.off("Klass._layout_helper")
	order, ints := r.variableOf(t, "order"), r.variableOf(t, "ints")
	if order.Err != nil || ints.Err != nil || ints.Value != "int[3] {1, -2, 3}" {
		t.Fatalf("undamaged: %+v, %+v", order, ints)
	}
	klass := vm.klassOf(order.Address)
	for _, c := range []struct {
		what, name string
		at, v      uint64
	}{
		{"constants of another class", "order", vm.Word(klass+back) + vm.layout.holder, klass + 8},
		{"a class without a name", "order", klass + vm.layout.klassName, 0},
		{"an array whose class is none of arrays", "ints", vm.klassOf(ints.Address) + helper, 0},
	} {
		if v := r.changed(map[uint64]uint64{c.at: c.v}).variableOf(t, c.name); !errors.Is(v.Err, errObject) {
			t.Errorf("%s: %s is %q", c.what, c.name, v.Value)
		}
	}
}

// TestNotKept: what C2 says of what it does not keep is not shown as a value.
func TestNotKept(t *testing.T) {
	vm := &VM{memory: read(t, "java25-values.zst").java().machine().memory}
	zero := place{isConst: true, isInt: true, unsure: true}
	vm.spend = func(int) error { return nil }
	dead := &undoneSlot{vm, &method{}, 0, 0} // without bytecode
	for _, c := range []struct {
		signature string
		p         place
		want      error
	}{
		{"I", zero, errZero},
		{"I", place{isConst: true, isInt: true, constant: 5, unsure: true}, nil},
		{"I", place{isConst: true, isInt: true}, nil},
		{"Ljava/lang/String;", zero, errDropped},
		{"[I", place{isConst: true, isInt: true, constant: 5}, errDropped},
		{"J", zero, errDropped},
		{"Ljava/lang/String;", place{isConst: true, unsure: true}, errNull},
		{"Ljava/lang/String;", place{err: errRegister}, errRegister},
		{"I", place{isConst: true, undone: dead}, errZero},
		{"I", place{isConst: true, constant: 7 << 32, undone: dead}, errZero}, // the upper half of a slot is nothing
		{"I", place{isConst: true, constant: 7, undone: dead}, nil},
		{"Z", place{isConst: true, undone: dead}, errZero},
		{"J", place{isConst: true, constant: 7 << 32, undone: dead}, nil},
		{"D", place{isConst: true, undone: dead}, errZero},
		{"[I", place{isConst: true, undone: dead}, errNull},
		{"Ljava/lang/String;", place{isConst: true}, nil},
	} {
		if v := vm.variable(local{name: "v", signature: c.signature}, c.p, tasks.Limits{}); !errors.Is(v.Err, c.want) || c.want == nil && v.Err != nil {
			t.Errorf("%s at %+v: %v, %q, want %v", c.signature, c.p, v.Err, v.Value, c.want)
		}
	}
}

// TestWaitGuards: an owner that no thread is holds nothing.
func TestWaitGuards(t *testing.T) {
	r := read(t, "java25-values.zst")
	off, _ := r.java().machine().off("ObjectMonitor._owner")
	monitor := r.FP &^ (page - 1) // any memory
	for _, owner := range []uint64{0, 1, 2, 99, 0x1000} {
		j := r.changed(map[uint64]uint64{monitor + off: owner}).java()
		j.machine()
		j.threads = map[unwind.ThreadID]Thread{7: {at: 0x1000, id: 7}}
		if id, ok := j.monitorOwner(monitor, 0x10); ok {
			t.Errorf("owner %d is thread %d", owner, id)
		}
	}
}

// TestLines: values in one line.
func TestLines(t *testing.T) {
	long := report.Data{Kind: "sequence", Text: "ArrayList(40)"}
	for range 40 {
		long.Children = append(long.Children, report.Child{Data: report.Data{Kind: "string", Text: `"0123456789"`}})
	}
	if got := line(long); !strings.HasSuffix(got, ", ...]") || len(got) > maxLine+20 {
		t.Errorf("got %s", got)
	}
	for want, v := range map[string]report.Data{
		"ArrayList(0) []": {Kind: "sequence", Text: "ArrayList(0)"},
		"HashMap {...}":   {Kind: "map", Text: "HashMap", Truncated: true},
		"Object{}":        {Kind: "struct", Text: "Object"},
		"int[0] {}":       {Kind: "array", Text: "int[0]"},
	} {
		if got := line(v); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}

// TestLimits: values are as long as somebody asks for, in text and as trees.
func TestLimits(t *testing.T) {
	r := read(t, "java25-values.zst")
	for want, limits := range map[string]tasks.Limits{
		"int[3] {1, -2, 3}":  {},
		"int[3] {1, ...}":    {Elements: 1},
		"int[3] {1, -2, 3} ": {Elements: 100, Depth: 1},
	} {
		v := r.variableOf(t, "ints", limits)
		if v.Value != strings.TrimSpace(want) {
			t.Errorf("%+v: %s", limits, v.Value)
		}
		if n := len(v.Tree().Children); limits.Elements == 1 && n != 1 || limits.Elements != 1 && n != 3 {
			t.Errorf("%+v: a tree with %d parts", limits, n)
		}
	}
	long := report.Data{Kind: "sequence", Text: "ArrayList(40)"}
	for range 40 {
		long.Children = append(long.Children, report.Child{Data: report.Data{Kind: "string", Text: `"0123456789"`}})
	}
	if got := lineUpTo(long, textLimits.limited(tasks.Limits{Elements: 100}).width()); strings.Count(got, "0123456789") != 40 {
		t.Errorf("all that was asked for: %s", got)
	}
}

// TestLineLimit: of a variable no more is read than its text shows, and the text is the same.
func TestLineLimit(t *testing.T) {
	for _, name := range []string{"java25-values.zst", "java8-values.zst", "java25-removed.zst"} {
		r := read(t, name)
		want := strings.Join(r.walk(t), "\n")
		func() {
			defer func(of limits) { textLimits = of }(textLimits)
			textLimits.line = 0
			r = read(t, name)
			if got := strings.Join(r.walk(t), "\n"); got != want {
				t.Errorf("%s: with all that may be read\n%s\nwant\n%s", name, got, want)
			}
		}()
	}
	p := treeBuilder{limits: limits{parts: 2, line: 5}}
	if p.told(report.Data{Text: "12345"}); p.full() {
		t.Error("full before its line is")
	}
	if p.told(report.Data{Text: "6"}); !p.full() {
		t.Error("not full behind its line")
	}
}

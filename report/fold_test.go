package report

import (
	"fmt"
	"strings"
	"testing"
)

// letters makes a stack with one frame for each letter.
func letters(s string) []Frame {
	fs := make([]Frame, len(s))
	for i := range fs {
		fs[i] = at(s[i:i+1], "a.c", 1)
	}
	return fs
}

func TestFoldFrames(t *testing.T) {
	rep := strings.Repeat
	tests := []struct {
		stack string
		limit int
		want  string // a letter is a frame, (ab*3) a fold, ... frames left out
	}{
		{"", 0, ""},
		{"abc", 0, "abc"},
		{"aaaa", 0, "aaaa"},
		{"aaaaa", 0, "a(a*3)a"},
		{"xababababy", 0, "xab(ab*2)aby"},
		{"xabababy", 0, "xabababy"},
		{"x" + rep("ab", 100) + "ay", 0, "xab(ab*98)abay"},
		{rep("aaaaab", 50), 0, "aaaaab(aaaaab*48)aaaaab"},
		{rep("abcdefgh", 5), 0, "abcdefgh(abcdefgh*3)abcdefgh"},
		{rep("abcdefghi", 5), 0, rep("abcdefghi", 5)},
		{"abcdefghij", 8, "abcdef...ij"},
		{"abcdefghi", 8, "abcdefghi"},
		{"abcdefghi", 1, "a..."},
		{"abcdefghi" + rep("z", 50) + "jklm", 8, "abcdef...lm"},
	}
	for _, test := range tests {
		frames := letters(test.stack)
		var b strings.Builder
		next := 0
		for _, r := range elide(foldFrames(frames, true), test.limit) {
			if r.first != next || r.last < r.first {
				t.Errorf("%s: row %+v, want first %d", test.stack, r, next)
			}
			next = r.last + 1
			switch {
			case r.elided:
				b.WriteString("...")
			case r.cycle > 0:
				fmt.Fprintf(&b, "(%s*%d)", test.stack[r.first:r.first+r.cycle], (r.last-r.first+1)/r.cycle)
			default:
				b.WriteByte(test.stack[r.first])
			}
		}
		if b.String() != test.want || next != len(frames) {
			t.Errorf("%s: %s up to %d, want %s", test.stack, b.String(), next, test.want)
		}
	}
}

func TestStackKey(t *testing.T) {
	plain := func() Thread { return stack(1, "a", at("f", "f.c", 1), in("g", "", 0)) }
	p := plain()
	key := StackKey(&p)
	if len(key) != 32 {
		t.Errorf("key %q", key)
	}
	tests := []struct {
		name   string
		change func(*Thread)
		same   bool
	}{
		{"nothing", func(*Thread) {}, true},
		{"identity, registers and addresses", func(t *Thread) {
			t.ID, t.Name, t.Registers, t.EndDetail = 2, "b", Registers{{"rax", 1}}, "at 0x1"
			t.Frames[1].PC, t.Frames[0].Offset, t.Frames[0].SP = 7, 8, 9
			t.Frames[0] = with(t.Frames[0], "a=1")
		}, true},
		{"offset where no line is known", func(t *Thread) { t.Frames[1].Offset++ }, false},
		{"module where no line is known", func(t *Thread) { t.Frames[1].Module = "x" }, false},
		{"line", func(t *Thread) { t.Frames[0].Source.Line++ }, false},
		{"function", func(t *Thread) { t.Frames[0].Function = "h" }, false},
		{"inlined", func(t *Thread) { t.Frames[0].Inlined = true }, false},
		{"tail", func(t *Thread) { t.Frames[0].Tail = true }, false},
		{"signal", func(t *Thread) { t.Frames[0].Signal = "SIGHUP" }, false},
		{"end", func(t *Thread) { t.End = "error" }, false},
		{"depth", func(t *Thread) { t.Frames = t.Frames[:1] }, false},
	}
	for _, test := range tests {
		th := plain()
		test.change(&th)
		if (StackKey(&th) == key) != test.same {
			t.Errorf("%s: key %s, that of the plain stack %s", test.name, StackKey(&th), key)
		}
		if sameStack(&p, &th) != test.same {
			t.Errorf("%s: sameStack is %v", test.name, !test.same)
		}
	}
}

// Functions of Go's runtime in which a goroutine waits are one line, if the goroutine is parked and something of the
// program is left.
func TestParked(t *testing.T) {
	frames := func(names ...string) []Frame {
		list := make([]Frame, len(names))
		for i, n := range names {
			list[i] = Frame{Index: i, Function: n}
		}
		return list
	}
	for _, c := range []struct {
		names []string
		o     TextOptions
		shown int // frames that are shown by themselves
	}{
		{[]string{"runtime.gopark", "runtime.chanrecv", "runtime.chanrecv1", "main.main", "runtime.main"}, TextOptions{}, 2},
		{[]string{"runtime.gopark", "internal/runtime/maps.x", "sync.runtime_Semacquire", "sync.(*WaitGroup).Wait"}, TextOptions{}, 1},
		{[]string{"runtime.gopark", "runtime.chanrecv", "main.main"}, TextOptions{AllTasks: true}, 3},
		{[]string{"runtime.gopark", "runtime.bgsweep", "runtime.goexit"}, TextOptions{}, 3},
		{[]string{"runtime.gopark", "main.main"}, TextOptions{}, 2},
		{[]string{"runtime.futex", "runtime.mPark", "main.main"}, TextOptions{}, 3},
	} {
		n := 0
		for _, s := range c.o.Shown(frames(c.names...)) {
			if s {
				n++
			}
		}
		if n != c.shown {
			t.Errorf("%v: %d shown, want %d", c.names, n, c.shown)
		}
	}
}

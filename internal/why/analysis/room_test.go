package analysis

import (
	"strings"
	"testing"

	"github.com/corewalk/corewalk/report"
)

// Names of frames take room, and are cut when there is none left. So do all parts of a variable.
func TestRoom(t *testing.T) {
	long := strings.Repeat("x", 1000)
	frames := func() []report.Frame {
		return []report.Frame{{Function: long, Symbol: long, Module: long, Source: report.Source{File: long}}}
	}
	r := room{all: 4*1000 + entryRoom, left: 4*1000 + entryRoom}
	list := frames()
	if r.entries(list); r.full || list[0].Function != long {
		t.Errorf("full %v, %d bytes left, %q", r.full, r.left, list[0].Function)
	}
	if r.entries(list); !r.full || len(list[0].Function) != maxNameAgain || len(list[0].Source.File) != maxNameAgain {
		t.Errorf("full %v, %q", r.full, list[0].Function)
	}
	key := report.Data{Text: "key"}
	v := report.Variable{Name: "12", Type: "345", Data: &report.Data{Type: long, Children: []report.Child{{Name: "n", Key: &key, Data: report.Data{Text: long, Error: "e"}}}}}
	r = room{all: 1 << 20, left: 1 << 20}
	if r.variable(&v); r.all-r.left != variableRoom+3*partRoom+5+1000+1+3+1001 {
		t.Errorf("%d bytes", r.all-r.left)
	}
	// The bytes of a very long name count more, for each frame that has it.
	if a, b := nameRoom(strings.Repeat("n", longName)), nameRoom(strings.Repeat("n", longName+10), "m"); a != longName || b != longName+10*longTimes+1 {
		t.Errorf("%d and %d bytes", a, b)
	}
	r = room{all: 3*longName + entryRoom, left: 3*longName + entryRoom}
	list = []report.Frame{{Function: strings.Repeat("n", 2*longName)}}
	if r.entries(list); !r.full || len(list[0].Function) != maxNameAgain {
		t.Errorf("full %v, %d bytes", r.full, len(list[0].Function))
	}
	var none room
	if none.entries(frames()); none.full {
		t.Error("no limit is one")
	}
	if none.variable(&v); none.full {
		t.Error("no limit is one")
	}
}

// A value has the long name of a type once, and the beginning of it for each other part of that type.
func TestTypeNames(t *testing.T) {
	var n typeNames
	short, long := strings.Repeat("s", maxNameAgain), strings.Repeat("é", maxTypeName)
	if got := n.name(short) + n.name(short); got != short+short {
		t.Errorf("%d bytes of a short name", len(got))
	}
	first, again := n.name(long), n.name(long)
	if want := strings.Repeat("é", (maxTypeName-3)/2) + "..."; first != want {
		t.Errorf("first %d bytes, not %d", len(first), len(want))
	}
	if want := strings.Repeat("é", (maxNameAgain-3)/2) + "..."; again != want {
		t.Errorf("again %d bytes, not %d", len(again), len(want))
	}
	if other := n.name(long + "x"); len(other) < maxTypeName-3 {
		t.Errorf("another name has %d bytes", len(other))
	}
}

// Small dumps have room for what is usual, and no dump for more than what a disk is for.
func TestRoomOf(t *testing.T) {
	if a, b, c := RoomOf(0), RoomOf(1<<20), RoomOf(1<<60); a != 32<<20 || b != 48<<20 || c < 1<<30 || c > 2<<30 {
		t.Error(a, b, c)
	}
}

// Texts have the room that JSON takes, whatever is escaped in them.
func TestTextRoom(t *testing.T) {
	for _, s := range []string{"", "main.run(int, char const*)", `a "quoted" \\ path`, "\x00\x01\x1b\x7f", "\u202e\u2066", "\u00ad", "\U000e0001\U0010ffff", "\xff\xfe\x80", "caf\u00e9 \xff", "\xed\xa0\x80", "a\u0301\u0301\u0301\u0301\u0301\u0301\u0301", strings.Repeat("\u202e", 1000), "\u2028\t\n"} {
		b, err := report.JSON(s, "")
		if err != nil {
			t.Fatal(err)
		}
		if n := textRoom(s); n < len(b)-2 || n > 2*len(b) {
			t.Errorf("%q has %d bytes in JSON, and room for %d", s, len(b)-2, n)
		}
	}
}

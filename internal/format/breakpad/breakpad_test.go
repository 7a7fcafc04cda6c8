package breakpad

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/corewalk/corewalk/internal/format/unwindrules"
)

const small = "MODULE windows x86 0123456789ABCDEF0123456789ABCDEF2 a file.pdb\n" +
	"INFO CODE_ID 4F5E6D7C1000 a.exe\r\n" +
	"INFO GENERATOR something 1.0\n" +
	"FILE 0 c:\\src\\a.c\r\r\n" +
	"FILE 7 b.h\n" +
	"INLINE_ORIGIN 0 inner(int, char*)\n" +
	"INLINE_ORIGIN 3 2 outer\n" + // a name that begins with a number
	"FUNC 1000 30 8 f(int)\n" +
	"INLINE 0 12 0 3 1008 8 1018 4\n" +
	"INLINE 1 40 7 0 1018 2\n" +
	"1000 8 10 0\n" +
	"1008 8 40 7\n" +
	"1010 8 13 0\n" +
	"1018 2 99 7\n" +
	"101a 6 0 0\n" +
	"\n" +
	"bad line\n" +
	"FUNC m 2000 10 0 shared name\n" +
	"FUNC 2000 4 0 inside\n" +
	"FUNC nothing\n" +
	"PUBLIC 500 0 early\n" +
	"PUBLIC m 1800 4 public one\n" +
	"PUBLIC 3000 0 last\n" +
	"STACK WIN 4 1000 30 1 2 8 4 c 0 1 $T0 .raSearch = $eip $T0 ^ = $esp $T0 4 + =\n" +
	"STACK WIN 0 1000 30 1 2 8 4 c 0 0 1\n" +
	"STACK WIN 0 2000 10 0 0 0 0 10 0 0 0\n" +
	"STACK WIN 4 1010 20 0 0 0 0 0 0 1 $T0 $ebp = $eip $T0 4 + ^ = $ebp $T0 ^ = $esp $T0 8 + =\r\n" +
	"STACK WIN 4 9000 20 0 0 0 0 0 0 1\n" +
	"STACK WIN 2 9000 20 0 0 0 0 0 0 0 0\n" +
	"STACK CFI INIT 1000 30 .cfa: $esp 4 + .ra: .cfa 4 - ^\n" +
	"STACK CFI 1001 .cfa: $esp 8 + $ebp: .cfa 8 - ^\n" +
	"STACK CFI 1003 .cfa: ebp 8 +\n" +
	"STACK CFI INIT 2000 10 .cfa: esp\n" +
	"STACK CFI INIT 2010 10 .cfa: esp .ra:\n" +
	"STACK CFI INIT 2020 10 .cfa\n" +
	"STACK CFI INIT 2030 10 .cfa: sp 4 + .ra: lr r4: .cfa ^ r5: nothing ^\n" +
	"STACK CFI INIT 3000 10 .cfa: sp 4 + .ra: .undef"

func parse(t *testing.T, text string) *File {
	t.Helper()
	f, err := Parse([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func TestModule(t *testing.T) {
	f := parse(t, small)
	got := fmt.Sprint(f.OS, "|", f.Arch, "|", f.ID, "|", f.Name, "|", f.CodeID, "|", f.CodeFile, "|", f.Generator)
	want := "windows|x86|0123456789ABCDEF0123456789ABCDEF2|a file.pdb|4F5E6D7C1000|a.exe|something 1.0"
	if got != want {
		t.Errorf("%s\nwant %s", got, want)
	}
	if want := (Counts{Funcs: 3, Publics: 3, CFI: 6, Win: 5, Files: 2, Origins: 2}); f.Counts() != want {
		t.Errorf("%+v, want %+v", f.Counts(), want)
	}
	// "bad line" begins like a line record; only "FUNC nothing" is detected.
	if f.Skipped != 1 || f.FirstError != strings.Index(small, "FUNC nothing") {
		t.Errorf("%d skipped, the first at %#x", f.Skipped, f.FirstError)
	}
	for _, bad := range []string{"", "FUNC 1 2 3 f", "MODULE", "MODULE a b", "MODULE a b c d\nMODULE a b c d\n"} {
		if _, err := Parse([]byte(bad)); !errors.Is(err, ErrFormat) {
			t.Errorf("%q: %v", bad, err)
		}
	}
}

func describe(s Symbol) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s %x+%x", s.Name, s.Start, s.Size)
	for flag, on := range map[string]bool{" public": s.Public, " shared": s.Shared} {
		if on {
			b.WriteString(flag)
		}
	}
	for _, f := range s.Frames {
		fmt.Fprintf(&b, " | %s %s:%d", f.Name, f.File, f.Line)
	}
	return b.String()
}

func TestLookup(t *testing.T) {
	f := parse(t, small)
	for _, c := range []struct {
		addr uint64
		want string
	}{
		{0x4ff, ""},
		{0x500, "early 500+0 public | early :0"},
		{0xfff, "early 500+0 public | early :0"},
		{0x1000, `f(int) 1000+30 | f(int) c:\src\a.c:10`},
		{0x1007, `f(int) 1000+30 | f(int) c:\src\a.c:10`},
		{0x1008, `f(int) 1000+30 | 2 outer b.h:40 | f(int) c:\src\a.c:12`},
		{0x1010, `f(int) 1000+30 | f(int) c:\src\a.c:13`},
		{0x1019, `f(int) 1000+30 | inner(int, char*) b.h:99 | 2 outer b.h:40 | f(int) c:\src\a.c:12`},
		{0x101a, `f(int) 1000+30 | 2 outer :0 | f(int) c:\src\a.c:12`},
		{0x1020, `f(int) 1000+30 | f(int) :0`},
		{0x1030, ""}, // after a function, and "early" is before it
		{0x1800, "public one 1800+0 public shared | public one :0"},
		{0x2001, "inside 2000+4 | inside :0"},
		{0x2004, "shared name 2000+10 shared | shared name :0"},
		{0x2010, ""},
		{1<<64 - 1, "last 3000+0 public | last :0"},
	} {
		got := ""
		if s, ok := f.Lookup(c.addr); ok {
			got = strings.Replace(describe(s), " shared public", " public shared", 1)
		}
		if got != c.want {
			t.Errorf("%#x: %s\nwant %s", c.addr, got, c.want)
		}
	}
}

func TestOlderInlineRecords(t *testing.T) {
	f := parse(t, "MODULE Linux x86_64 0 a\nFILE 0 a.c\nINLINE_ORIGIN 0 0 bar()\nINLINE_ORIGIN 1 0 foo()\n"+
		"FUNC 10 10 0 main\nINLINE 0 42 1 10 8\nINLINE 1 39 0 12 2 16 1\n10 10 5 0\n")
	for addr, want := range map[uint64]string{
		0x11: "main 10+10 | foo() a.c:5 | main :42",
		0x16: "main 10+10 | bar() a.c:5 | foo() :39 | main :42",
		0x18: "main 10+10 | main a.c:5",
	} {
		if s, _ := f.Lookup(addr); describe(s) != want {
			t.Errorf("%#x: %s\nwant %s", addr, describe(s), want)
		}
	}
}

func TestInlineWithoutItsCallerIsLeftOut(t *testing.T) {
	f := parse(t, "MODULE Linux x86_64 0 a\nFUNC 10 10 0 main\nINLINE 1 42 1 0 10 8\n10 10 5 0\n")
	if s, _ := f.Lookup(0x10); describe(s) != "main 10+10 | main :5" {
		t.Error(describe(s))
	}
}

func TestCFI(t *testing.T) {
	f := parse(t, small)
	for _, c := range []struct {
		addr uint64
		want string
		err  error
	}{
		{0xfff, "none", nil},
		{0x1000, ".cfa: $esp 4 + .ra: .cfa 4 - ^", nil},
		{0x1001, ".cfa: $esp 8 + .ra: .cfa 4 - ^ ebp: .cfa 8 - ^", nil},
		{0x1002, ".cfa: $esp 8 + .ra: .cfa 4 - ^ ebp: .cfa 8 - ^", nil},
		{0x102f, ".cfa: ebp 8 + .ra: .cfa 4 - ^ ebp: .cfa 8 - ^", nil},
		{0x1030, "none", nil},
		{0x2000, ".cfa: esp", nil},
		{0x2010, "", ErrFormat},
		{0x2020, "", ErrFormat},
		{0x203f, ".cfa: sp 4 + .ra: lr r4: .cfa ^ r5: nothing ^", nil},
	} {
		r, err := f.CFI(c.addr)
		got := "none"
		if r != nil {
			got = r.String()
		}
		if !errors.Is(err, c.err) || err == nil && got != c.want {
			t.Errorf("%#x: %s, %v; want %s, %v", c.addr, got, err, c.want, c.err)
		}
	}
}

func TestApply(t *testing.T) {
	f := parse(t, small)
	regs := map[string]uint64{"esp": 0x100, "ebp": 0x200, "sp": 0x300, "lr": 0x44}
	mem := map[uint64]uint64{0x204: 0x1234, 0x200: 0x220, 0x304: 4}
	reg := func(n string) (uint64, bool) { v, ok := regs[n]; return v, ok }
	read := func(a uint64) (uint64, error) {
		if v, ok := mem[a]; ok {
			return v, nil
		}
		return 0, errors.New("not there")
	}
	var got Caller
	for _, c := range []struct {
		addr uint64
		want string
		err  error
	}{
		{0x1003, "cfa 0x208, ra 0x1234 at 0x204, ebp 0x220 at 0x200", nil},
		{0x2030, "cfa 0x304, ra 0x44 in lr, r4 0x4 at 0x304, r5 lost", nil}, // r5's rule cannot be worked out
		{0x3000, "cfa 0x304, outermost", nil},
		{0x1000, "", unwindrules.ErrMemory},
		{0x2000, "", unwindrules.ErrSyntax}, // no rule for .ra
	} {
		r, err := f.CFI(c.addr)
		if err != nil {
			t.Fatal(err)
		}
		err = r.Apply(&got, &unwindrules.Machine{WordSize: 4, Reg: reg, Read: read})
		if !errors.Is(err, c.err) || err == nil && callerText(&got) != c.want {
			t.Errorf("%#x: %s, %v; want %s, %v", c.addr, callerText(&got), err, c.want, c.err)
		}
	}
}

func callerText(c *Caller) string {
	value := func(v unwindrules.Value) string {
		text := fmt.Sprintf("%#x", v.Bits)
		switch v.From {
		case unwindrules.FromMemory:
			text += fmt.Sprintf(" at %#x", v.Addr)
		case unwindrules.FromRegister:
			text += " in " + v.Reg
		}
		return text
	}
	text := "cfa " + value(c.CFA)
	if c.Outermost {
		return text + ", outermost"
	}
	text += ", ra " + value(c.RA)
	for _, r := range c.Regs {
		if r.Lost {
			text += ", " + r.Name + " lost"
		} else {
			text += ", " + r.Name + " " + value(r.Value)
		}
	}
	return text
}

func TestWin(t *testing.T) {
	f := parse(t, small)
	for _, c := range []struct {
		addr uint64
		want unwindrules.WinFrame
		err  error
	}{
		{0xfff, unwindrules.WinFrame{}, nil},
		{0x1000, unwindrules.WinFrame{Start: 0x1000, Size: 0x30, Prolog: 1, Epilog: 2, Params: 8, SavedRegs: 4, Locals: 12,
			Program: "$T0 .raSearch = $eip $T0 ^ = $esp $T0 4 + ="}, nil},
		{0x1010, unwindrules.WinFrame{Start: 0x1010, Size: 0x20,
			Program: "$T0 $ebp = $eip $T0 4 + ^ = $ebp $T0 ^ = $esp $T0 8 + ="}, nil},
		{0x2003, unwindrules.WinFrame{Start: 0x2000, Size: 0x10, Locals: 16}, nil},
		{0x9000, unwindrules.WinFrame{}, ErrFormat},
	} {
		w, err := f.Win(c.addr)
		if w == nil {
			w = &unwindrules.WinFrame{}
		}
		if *w != c.want || !errors.Is(err, c.err) {
			t.Errorf("%#x: %+v, %v; want %+v", c.addr, *w, err, c.want)
		}
	}
	// A record without a program in another's range is of a function there, or says less of the same.
	f = parse(t, "MODULE windows x86 0 a\nFUNC 1000 100 0 f\nFUNC 1080 20 0 between\n"+
		"STACK WIN 4 1000 100 0 0 0 0 0 0 1 $eip 4 =\nSTACK WIN 0 1020 10 0 0 0 0 0 0 0 0\nSTACK WIN 0 1080 20 0 0 0 0 0 0 0 0\n"+
		"STACK WIN 4 2000 100 0 0 0 0 0 0 1 $eip 4 =\nSTACK WIN 0 2020 10 0 0 0 0 0 0 0 0\n"+
		"PUBLIC 3080 0 between\nSTACK WIN 4 3000 100 0 0 0 0 0 0 1 $eip 4 =\nSTACK WIN 0 3080 10 0 0 0 0 0 0 0 0\n")
	for addr, start := range map[uint64]uint32{0x1020: 0x1000, 0x1080: 0x1080, 0x1040: 0x1000, 0x2020: 0x2000, 0x3088: 0x3080} {
		if w, err := f.Win(addr); err != nil || w.Start != start {
			t.Errorf("%#x: %+v, %v", addr, w, err)
		}
	}
	f = parse(t, small)
	if w, err := f.winIn(f.win0, 0x1000); err != nil || !w.UsesBP {
		t.Errorf("%+v, %v", w, err)
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(small), uint64(0x1019))
	f.Add([]byte("MODULE a b c\nFUNC 0 ffffffffffffffff 0 x\nINLINE 0 0 0 0 0 ffffffffffffffff\n0 1 2 3"), uint64(0))
	f.Fuzz(func(t *testing.T, data []byte, addr uint64) {
		file, err := Parse(data)
		if err != nil {
			return
		}
		addrs := []uint64{addr}
		for _, list := range [][]entry{file.funcs, file.publics, file.cfi, file.win0, file.win4} {
			for _, e := range list[:min(len(list), 20)] {
				addrs = append(addrs, e.key)
			}
		}
		for _, a := range addrs {
			if s, ok := file.Lookup(a); ok && len(s.Frames) == 0 {
				t.Errorf("%#x: no frame", a)
			}
			if r, err := file.CFI(a); err == nil && r != nil {
				r.Apply(new(Caller), &unwindrules.Machine{WordSize: 8, Reg: func(string) (uint64, bool) { return a, true },
					Read: func(x uint64) (uint64, error) { return x, nil }})
			}
			file.Win(a)
		}
	})
}

// TestCutLine: of the records of a function that are too many, one whose end is left out says nothing; those before it count.
func TestCutLine(t *testing.T) {
	const head = "MODULE Linux x86_64 000000000000000000000000000000000 x\nFILE 0 a.c\nINLINE_ORIGIN 0 inlined\nFUNC 1000 100 0 f\n"
	line := "1000 100 7 0\n"
	ranges := "INLINE 0 1 0 0 1000 100"
	ranges += strings.Repeat(" 9000 1", maxRecords/7+100) + "\n"
	for text, want := range map[string]int{head + line + ranges: 1, head + line + "INLINE 0 1 0 0 1000 100\n": 2} {
		s, ok := parse(t, text).Lookup(0x1010)
		if !ok || len(s.Frames) != want || s.Frames[len(s.Frames)-1].Line != 1 && want == 2 || want == 1 && s.Frames[0].Line != 7 {
			t.Errorf("%d bytes: %+v, %v, want %d calls", len(text), s.Frames, ok, want)
		}
	}
}

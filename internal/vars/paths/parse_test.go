package paths

import (
	"errors"
	"fmt"
	"strings"
	"testing"
)

// show writes a node with all its brackets.
func show(n Node) string {
	switch n := n.(type) {
	case nil:
		return ""
	case *Ident:
		return n.Name
	case *Register:
		return "$" + n.Name
	case *Number:
		return fmt.Sprint(n.Value)
	case *Text:
		return fmt.Sprintf("%q", n.Value)
	case *Member:
		return show(n.X) + "." + n.Name
	case *Index:
		return show(n.X) + "[" + show(n.I) + "]"
	case *Slice:
		if n.Run {
			return show(n.X) + "@" + show(n.To)
		}
		return show(n.X) + "[" + show(n.From) + ":" + show(n.To) + "]"
	case *Unary:
		return "(" + n.Op + show(n.X) + ")"
	case *Binary:
		return "(" + show(n.X) + " " + n.Op + " " + show(n.Y) + ")"
	case *Cast:
		return n.Op + "<" + n.Type.String() + ">" + show(n.X)
	case *Float:
		if n.Single {
			return fmt.Sprint(n.Value, "f")
		}
		return fmt.Sprintf("%g.", n.Value)
	case *Ternary:
		return "(" + show(n.If) + " ? " + show(n.X) + " : " + show(n.Y) + ")"
	case *Call:
		var args []string
		for _, a := range n.Args {
			args = append(args, show(a))
		}
		return show(n.Fun) + "(" + strings.Join(args, ", ") + ")"
	case *Range:
		return show(n.From) + ".." + show(n.To)
	case *Assertion:
		return show(n.X) + ".(" + n.Type + ")"
	case *Attribute:
		return show(n.X) + "'" + n.Name
	case *Sizeof:
		if n.X == nil {
			return "sizeof<" + n.Type.String() + ">"
		}
		return "sizeof " + show(n.X)
	}
	return "?"
}

func TestParse(t *testing.T) {
	for in, want := range map[string]string{
		"x":                                "x",
		"q->head->next[3].name":            "q.head.next[3].name",
		"*p":                               "(*p)",
		"**p":                              "(*(*p))",
		"&x.y":                             "(&x.y)",
		"*p.q":                             "(*p.q)",
		"(*p).q":                           "(*p).q",
		"(p)->q":                           "p.q",
		"arr[2:5]":                         "arr[2:5]",
		"arr[:5]":                          "arr[:5]",
		"arr[2:]":                          "arr[2:]",
		"arr[i+1]":                         "arr[(i + 1)]",
		"a[1][2]":                          "a[1][2]",
		"(struct tile *)0x55d0":            "<struct tile *>21968",
		"(tile*)p":                         "<tile *>p",
		"(T)x":                             "<T>x",
		"(T)(x)":                           "<T>x",
		"(a) * b":                          "(a * b)",
		"(a) - b":                          "(a - b)",
		"(a)&b":                            "(a & b)",
		"(unsigned char)c":                 "<unsigned char>c",
		"(const char *const)c":             "<char *>c",
		"(char**)p":                        "<char **>p",
		"(std::vector<int>*)p":             "<std::vector<int> *>p",
		"(std::map<int, a::b<char>>*)p":    "<std::map<int, a::b<char>> *>p",
		"*(int*)p":                         "(*<int *>p)",
		"*(int*)&x.y":                      "(*<int *>(&x.y))",
		"(*main.node)(0xc000)":             "<main.node *>49152",
		"p as *const Node":                 "<Node *>p",
		"(p as *mut Node)[1]":              "<Node *>p[1]",
		"t.0.1":                            "t.0.1",
		"ns::x":                            "ns::x",
		"a.*b":                             "(a .* b)",
		"a->*b + 1":                        "((a ->* b) + 1)",
		"a and not b or compl c":           "((a && (!b)) || (~c))",
		"s.and":                            "s.and",
		"f<int>":                           "f<int>",
		"(f<int>)":                         "f<int>",
		"a<b":                              "(a < b)",
		"x[a<b]":                           "x[(a < b)]",
		"sizeof(v[2])/2":                   "(sizeof v[2] / 2)",
		"sizeof(int[2])":                   "sizeof<int[2]>",
		`"a" "b"`:                          `"ab"`,
		"::x":                              "x",
		"ns::box<int, 3>::x":               "ns::box<int, 3>::x",
		"a < b":                            "(a < b)",
		"q->Base::x":                       "q.Base::x",
		"$rip":                             "$rip",
		"$rsp+8":                           "($rsp + 8)",
		"*(long*)($rsp+8)":                 "(*<long *>($rsp + 8))",
		"*p@10":                            "(*p)@10",
		"m[\"a b\"]":                       `m["a b"]`,
		"'net/http.DefaultClient'":         "net/http.DefaultClient",
		"'net/http.DefaultClient'.Jar":     "net/http.DefaultClient.Jar",
		"s['a']":                           "s[97]",
		`s['\n']`:                          "s[10]",
		"1 + 2 * 3":                        "(1 + (2 * 3))",
		"1 << 2 | 3 == 4":                  "((1 << 2) | (3 == 4))",
		"-1":                               "(-1)",
		"!a && ~b":                         "((!a) && (~b))",
		"0x1F":                             "31",
		"1_000":                            "1000",
		"3ull":                             "3",
		"sizeof x":                         "sizeof x",
		"sizeof(int)":                      "sizeof<int>",
		"sizeof(x)":                        "sizeof x",
		"sizeof(struct tile)":              "sizeof<struct tile>",
		"nil":                              "0",
		"this->x":                          "this.x",
		" x ":                              "x",
		"a ? b : c":                        "(a ? b : c)",
		"a == 1 ? b ? c : d : e":           "((a == 1) ? (b ? c : d) : e)",
		"arr[a ? 1 : 2 : 5]":               "arr[(a ? 1 : 2):5]",
		"x * 2.5":                          "(x * 2.5.)",
		"1e3":                              "1000.",
		"1e3f":                             "1000f",
		"1.5f32":                           "1.5f",
		"1_0.2_5":                          "10.25.",
		".5 + 2.":                          "(0.5. + 2.)",
		"1E-2":                             "0.01.",
		"0x1e3":                            "483",
		"t.0.1e":                           "t.0.1e",
		"$":                                "$",
		"$$":                               "$$",
		"$$2":                              "$$2",
		"$1.x":                             "$1.x",
		"$1 + $":                           "($1 + $)",
		"f(1)":                             "f(1)",
		"v.at(3).size()":                   "v.at(3).size()",
		"p->get()->x":                      "p.get().x",
		"m.at(\"k\", 2)":                   `m.at("k", 2)`,
		"int(x) + 1":                       "(<int>x + 1)",
		"static_cast<T>(x).y":              "static_cast<T>x.y",
		"static_cast<const a::T *>(x)":     "static_cast<a::T *>x",
		"static_cast<std::vector<int>>(x)": "static_cast<std::vector<int>>x",
		"static_cast<a<b<int>> *>(x)":      "static_cast<a<b<int>> *>x",
		"dynamic_cast<const T &>(*p)":      "dynamic_cast<T &>(*p)",
		"static_cast<int>(a) >> static_cast<T>(b)": "(static_cast<int>a >> static_cast<T>b)",
		"(T &)x":                "<T &>x",
		"(T &)*p":               "<T &>(*p)",
		"(a & b)":               "(a & b)",
		"(a &)":                 "?",
		"x.(T)":                 "x.(T)",
		"x.(*main.T).y":         "x.(*main.T).y",
		"x.(map[string]int)[3]": "x.(map[string]int)[3]",
		"app::Buf<int,4>::def":  "app::Buf<int,4>::def",
		"'file.c'::f::x":        "file.c::f::x",
		strings.Repeat("(", 40) + "x" + strings.Repeat(")", 40): "x",
	} {
		n, err := Parse(in)
		if want == "?" {
			if err == nil {
				t.Errorf("%s: %s, want an error", in, show(n))
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", in, err)
		} else if got := show(n); got != want {
			t.Errorf("%s: got %s, want %s", in, got, want)
		}
	}
}

// What would change the process, or call its functions, is refused with a sentence, at the right place.
func TestRefuse(t *testing.T) {
	for in, want := range map[string]string{
		"":                        "0 an empty expression",
		"x = 1":                   `2 "=" would change the process, which is only read`,
		"x++":                     `1 "++" would change the process, which is only read`,
		"x += 1":                  `2 "+=" would change the process, which is only read`,
		"x <<= 1":                 `2 "<<=" would change the process, which is only read`,
		"f(1":                     `3 ")" is missing at the end`,
		"f(1, ":                   "5 the expression ends too early",
		"a ? b":                   `5 ":" is missing at the end`,
		"a ? : b":                 `4 ": b" is not expected here`,
		"1.5x":                    "0 1.5x is not a floating-point number",
		"x.(":                     `3 ")" is missing at the end`,
		"x.()":                    "3 a type is expected in .(T)",
		"static_cast<3>(x)":       "12 a type is expected after static_cast<",
		"static_cast<T>x":         `14 "(" expected before "x"`,
		strings.Repeat("f(", 200): "100 an expression that nests too deep",
		strings.Repeat("a?", 200): "200 an expression that nests too deep",
		"a[1":                     `3 "]" is missing at the end`,
		"a.":                      `2 the name of a member is expected after "."`,
		"a->0":                    `3 the name of a member is expected after "->"`,
		"a b":                     `2 "b" is not expected here`,
		"a + ":                    "4 the expression ends too early",
		`"a`:                      "0 a quote is not closed",
		"a#b":                     "1 '#' is not part of an expression",
		"(a":                      `2 ")" is missing at the end`,
		"0xfffffffffffffffff":     "0 0xfffffffffffffffff is not an integer of 64 bits",
		strings.Repeat("(", 200):  "50 an expression that nests too deep",
		strings.Repeat("*", 200):  "100 an expression that nests too deep",
		strings.Repeat("x", 5000): "4096 an expression of more than 4096 bytes",
	} {
		n, err := Parse(in)
		var e *Error
		if !errors.As(err, &e) {
			t.Errorf("%.30s: %v, %v", in, n, err)
			continue
		}
		if got := fmt.Sprint(e.Where, " ", e.Text); got != want {
			t.Errorf("%.30s: got %s, want %s", in, got, want)
		}
	}
}

func TestDialects(t *testing.T) {
	for _, c := range []struct {
		in   Dialect
		text string
		want string // of an error: where and its text
	}{
		{Fortran, "a(2)%x", "a(2).x"},
		{Fortran, "a(1:3)", "a(1..3)"},
		{Fortran, "a(:, 2)", "a(.., 2)"},
		{Fortran, "a(i:)", "a(i..)"},
		{Fortran, ".true. .and. .not. done", "(1 && (!done))"},
		{Fortran, "x .eq. 1.5d0", "(x == 1.5.)"},
		{Fortran, "x .ge. 1.eq.y", "((x >= 1) == y)"},
		{Fortran, "n /= 3", "(n != 3)"},
		{Fortran, "name == 'abc'", `(name == "abc")`},
		{Fortran, "x**2", "(x ** 2)"},
		{Fortran, ".maybe. x", `0 ".maybe. x" is not expected here`},
		{Ada, "rec.field'First", "rec.field'First"},
		{Ada, "arr(1)(2)", "arr(1)(2)"},
		{Ada, "arr(1 .. 3)", "arr(1..3)"},
		{Ada, "arr(1..3)", "arr(1..3)"},
		{Ada, "a = b and then c /= d", "((a == b) && (c != d))"},
		{Ada, "not a or else b", "((!a) || b)"},
		{Ada, "p.all.x", "(*p).x"},
		{Ada, "x in 1 .. 3", "((x >= 1) && (x <= 3))"},
		{Rust, "a & 1 == 0", "((a & 1) == 0)"},
		{Go, "a & 1 == 0", "((a & 1) == 0)"},
		{Plain, "a & 1 == 0", "(a & (1 == 0))"},
		{Go, "^a &^ b", "((~a) &^ b)"},
		{Fortran, ".not. a == b", "(!(a == b))"},
		{Fortran, "-a**2", "(-(a ** 2))"},
		{D, "a !is b", "(a != b)"},
		{Ada, "x mod 3", "(x mod 3)"},
		{Ada, "c = 'x'", "(c == 120)"},
		{Ada, "x'", "1 a quote is not closed"},
		{Ada, "x := 1", `2 ":=" would change the process, which is only read`},
	} {
		got := ""
		n, err := ParseIn(c.text, c.in)
		var e *Error
		if errors.As(err, &e) {
			got = fmt.Sprint(e.Where, " ", e.Text)
		} else {
			got = show(n)
		}
		if got != c.want {
			t.Errorf("%s: got %s, want %s", c.text, got, c.want)
		}
	}
}

// The type of a function has some parameters, which may be functions to some depth.
func TestSignatures(t *testing.T) {
	of := func(n int) string { return "(int (*)(" + strings.Repeat("int, ", n-1) + "int))n" }
	deep := func(n int) string { return "(int " + strings.Repeat("(*)(int ", n) + strings.Repeat(")", n) + ")n" }
	for text, ok := range map[string]bool{of(maxSignature): true, of(maxSignature + 1): false, deep(10): true, deep(maxDepth + 1): false} {
		if n, err := Parse(text); (err == nil) != ok {
			t.Errorf("%.40s...: %v %v", text, n, err)
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, s := range []string{"q->a[3].b", "(T*)p", "(int (**)(char *, ...))p", "a::b<c<d>>::e", "x@3", "t.0.1", "'a'", "sizeof(int)", "$a", "p as *const T",
		"a ? b : c", "1.5e3f * .5", "v.at(3).size()", "static_cast<a<b<int>>>(x)", "(T &)x", "x.(map[string]int)", "$$2 + $", "a(1:3)%x", ".true. .and. x",
		"rec.f'First", "a(1 .. 3) = b and then c", "p.all", "'file.c'::f::x", "p^.x^[1, 2..3]", "not (c in ['a'..'z', #65]) and (@x <> nil)", "7 div 2 mod 3 shl 1 = 'it''s'"} {
		for in := range uint8(Pascal) + 1 {
			f.Add(in, s)
		}
	}
	f.Fuzz(func(t *testing.T, in uint8, s string) {
		n, err := ParseIn(s, Dialect(in)%(Pascal+1))
		if (n == nil) == (err == nil) && err == nil {
			t.Errorf("%q: no node and no error", s)
		}
		var e *Error
		if err != nil && (!errors.As(err, &e) || e.Where < 0 || e.Where > len(s)) {
			t.Errorf("%q: %v", s, err)
		}
	})
}

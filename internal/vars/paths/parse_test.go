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
		return "<" + n.Type.String() + ">" + show(n.X)
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
		"x":                             "x",
		"q->head->next[3].name":         "q.head.next[3].name",
		"*p":                            "(*p)",
		"**p":                           "(*(*p))",
		"&x.y":                          "(&x.y)",
		"*p.q":                          "(*p.q)",
		"(*p).q":                        "(*p).q",
		"(p)->q":                        "p.q",
		"arr[2:5]":                      "arr[2:5]",
		"arr[:5]":                       "arr[:5]",
		"arr[2:]":                       "arr[2:]",
		"arr[i+1]":                      "arr[(i + 1)]",
		"a[1][2]":                       "a[1][2]",
		"(struct tile *)0x55d0":         "<struct tile *>21968",
		"(tile*)p":                      "<tile *>p",
		"(T)x":                          "<T>x",
		"(T)(x)":                        "<T>x",
		"(a) * b":                       "(a * b)",
		"(a) - b":                       "(a - b)",
		"(a)&b":                         "(a & b)",
		"(unsigned char)c":              "<unsigned char>c",
		"(const char *const)c":          "<char *>c",
		"(char**)p":                     "<char **>p",
		"(std::vector<int>*)p":          "<std::vector<int> *>p",
		"(std::map<int, a::b<char>>*)p": "<std::map<int, a::b<char>> *>p",
		"*(int*)p":                      "(*<int *>p)",
		"*(int*)&x.y":                   "(*<int *>(&x.y))",
		"(*main.node)(0xc000)":          "<main.node *>49152",
		"p as *const Node":              "<Node *>p",
		"(p as *mut Node)[1]":           "<Node *>p[1]",
		"t.0.1":                         "t.0.1",
		"ns::x":                         "ns::x",
		"::x":                           "x",
		"ns::box<int, 3>::x":            "ns::box<int, 3>::x",
		"a < b":                         "(a < b)",
		"a<b":                           "(a < b)",
		"q->Base::x":                    "q.Base::x",
		"$rip":                          "$rip",
		"$rsp+8":                        "($rsp + 8)",
		"*(long*)($rsp+8)":              "(*<long *>($rsp + 8))",
		"*p@10":                         "(*p)@10",
		"m[\"a b\"]":                    `m["a b"]`,
		"'net/http.DefaultClient'":      "net/http.DefaultClient",
		"'net/http.DefaultClient'.Jar":  "net/http.DefaultClient.Jar",
		"s['a']":                        "s[97]",
		`s['\n']`:                       "s[10]",
		"1 + 2 * 3":                     "(1 + (2 * 3))",
		"1 << 2 | 3 == 4":               "((1 << 2) | (3 == 4))",
		"-1":                            "(-1)",
		"!a && ~b":                      "((!a) && (~b))",
		"0x1F":                          "31",
		"1_000":                         "1000",
		"3ull":                          "3",
		"sizeof x":                      "sizeof x",
		"sizeof(int)":                   "sizeof<int>",
		"sizeof(x)":                     "sizeof x",
		"sizeof(struct tile)":           "sizeof<struct tile>",
		"nil":                           "0",
		"this->x":                       "this.x",
		" x ":                           "x",
		strings.Repeat("(", 40) + "x" + strings.Repeat(")", 40): "x",
	} {
		n, err := Parse(in)
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
		"f(1)":                    "1 a call: functions of the process are not called",
		"a.f()":                   "3 a call: functions of the process are not called",
		"a[1":                     `3 "]" is missing at the end`,
		"a.":                      `2 the name of a member is expected after "."`,
		"a->0":                    `3 the name of a member is expected after "->"`,
		"a b":                     `2 "b" is not expected here`,
		"1.5":                     "0 numbers with a point are not computed with",
		"a + ":                    "4 the expression ends too early",
		`"a`:                      "0 a quote is not closed",
		"a#b":                     "1 '#' is not part of an expression",
		"$":                       `0 "$" without the name of a register`,
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

func FuzzParse(f *testing.F) {
	for _, s := range []string{"q->a[3].b", "(T*)p", "a::b<c<d>>::e", "x@3", "t.0.1", "'a'", "sizeof(int)", "$a", "p as *const T"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		n, err := Parse(s)
		if (n == nil) == (err == nil) && err == nil {
			t.Errorf("%q: no node and no error", s)
		}
		var e *Error
		if err != nil && (!errors.As(err, &e) || e.Where < 0 || e.Where > len(s)) {
			t.Errorf("%q: %v", s, err)
		}
	})
}

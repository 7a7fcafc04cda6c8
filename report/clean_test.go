package report

import (
	"fmt"
	"strings"
	"testing"
)

func TestClean(t *testing.T) {
	tests := []struct{ in, want string }{
		{"", ""},
		{"std::vector<int>::at(unsigned long)", "std::vector<int>::at(unsigned long)"},
		{"größe 日本 😀", "größe 日本 😀"},
		{"a\x1b[31mb", `a\x1b[31mb`},
		{"\x00\x7f\r\n\t", `\x00\x7f\x0d\n\t`},
		{"x\u202eabc\u2066\u200f", `x\u{202e}abc\u{2066}\u{200f}`},
		{"\u0085\u009b31m", `\u{85}\u{9b}31m`},
		{"\xffé\xc3", `\xffé\xc3`},
		{"\ufffd\ufeff\u00a0", `` + "\ufffd" + `\u{feff}\u{a0}`},
		{`C:\dir`, `C:\dir`},
		{"\xed\xa0\xbd\xc0\xaf", `\u{d83d}\xc0\xaf`},
		{"e\u0301\u0301\u0301\u0301\u0301x\u0301", "e\u0301\u0301\u0301\u0301" + `\u{301}` + "x\u0301"},
		{"\u0301 \u0301e\u200b\u0301", `\u{301} \u{301}e\u{200b}\u{301}`},
		{"\U000e0041\u3164\ufe0f\u0915\u093e", `\u{e0041}\u{3164}\u{fe0f}` + "\u0915\u093e"},
	}
	for _, test := range tests {
		if got := clean(test.in); got != test.want {
			t.Errorf("clean(%q) = %q, want %q", test.in, got, test.want)
		}
		if got := clean(clean(test.in)); got != test.want {
			t.Errorf("clean is not stable on %q: %q", test.in, got)
		}
	}
}

// Of each kind of characters that nobody sees the first, the last and some others, after a letter, where a mark is shown.
func TestUnseen(t *testing.T) {
	for _, r := range []rune{0x034f, 0x115f, 0x1160, 0x17b4, 0x17b5, 0x180b, 0x180d, 0x180e, 0x180f, 0x2800, 0x3164, 0xfe00, 0xfe0e, 0xfe0f, 0xffa0, 0xe0000, 0xe0041, 0xe007f, 0xe0100, 0xe01ef, 0xe0fff} {
		if got, want := clean("a"+string(r)+"b"), fmt.Sprintf(`a\u{%x}b`, r); got != want {
			t.Errorf("%q, not %q", got, want)
		}
		if got := appendJSONString(nil, "a"+string(r)+"b"); strings.ContainsRune(string(got), r) {
			t.Errorf("%q shows U+%X", got, r)
		}
	}
	for _, r := range []rune{0x034e, 0x0350, 0x2801, 0x3163, 0xfdff, 0xffa1} { // beside them
		if got := clean("a" + string(r)); got != "a"+string(r) {
			t.Errorf("%q hides U+%X", got, r)
		}
	}
}

// A mark at the start of a string of JSON would change the quotation mark before it.
func TestMarkAtStart(t *testing.T) {
	const mark = "\u0301"
	for in, shown := range map[string]bool{mark: false, mark + "a": false, "a" + mark: true} {
		if got := string(appendJSONString(nil, in)); strings.Contains(got, mark) != shown {
			t.Errorf("%q: %q", in, got)
		}
		if got := string(EscapeJSON([]byte(`{"k": "` + in + `"}`))); strings.Contains(got, mark) != shown {
			t.Errorf("%q in a document: %q", in, got)
		}
	}
}

func TestBrief(t *testing.T) {
	tests := []struct {
		in    string
		limit int
		want  string
	}{
		{"abcdef", 6, "abcdef"},
		{"abcdefghij", 7, "abcd…ij"},
		{"éééééééééé", 4, "éé…é"},
		{"abc", 0, "abc"},
		{"abcd", 0, "ab…"},
		{strings.Repeat("\x1b", 1<<20), 8, `\x1b\…1b`},
		{strings.Repeat("é", 1<<20), 8, `ééééé…éé`},
	}
	for _, test := range tests {
		if got := brief(test.in, test.limit); got != test.want {
			t.Errorf("brief(%.20q, %d) = %q, want %q", test.in, test.limit, got, test.want)
		}
	}
}

func TestBriefValue(t *testing.T) {
	for _, c := range []struct {
		value, want string
		limit       int
	}{
		{`0x3f50978e2730: {name = "tail"}`, `0x3f50978e2730: {name = "tail"}`, 40},
		{`0x3f50978e2730: {name = "tail"}`, "0x3f50978e2730: …", 24},
		{`(*main.E) 0x3f50978e27: {name = "tail"}`, "(*main.E) 0x3f50978e27: …", 25},
		{`(*main.E) 0x3f50978e27: {name = "tail"}`, `(*main.E) 0x3f50…"tail"}`, 24},
		{`"a sentence: with words in it"`, `"a sentence: wit… in it"`, 24},
	} {
		if got := briefValue(c.value, c.limit); got != c.want {
			t.Errorf("%s in %d: %s, want %s", c.value, c.limit, got, c.want)
		}
	}
}

func TestPointing(t *testing.T) {
	for _, c := range []struct {
		value, want string
		most        int
	}{
		{`0x3f50978e2730: {name = "tail"}`, `0x3f50978e2730: {name = "tail"}`, 40},
		{`0x3f50978e2730: {name = "tail"}`, "0x3f50978e2730: …", 30},
		{`(*main.E) 0x3f50978e27: "text: 0x1"`, "(*main.E) 0x3f50978e27: …", 0},
		{`"a sentence: with words in it"`, `"a sentence: with words in it"`, 0},
		{`{a = 0x1, b = "x: y"}`, `{a = 0x1, b = "x: y"}`, 0},
		{`{err = (*main.E) 0x3f50978e27: {n = 1}}`, `{err = (*main.E) 0x3f50978e27: {n = 1}}`, 0},
		{`"at 0x1: " + 2`, `"at 0x1: " + 2`, 0},
	} {
		if got := pointing(Variable{Value: c.value}, c.most).Value; got != c.want {
			t.Errorf("%s in %d: %s, want %s", c.value, c.most, got, c.want)
		}
	}
}

func TestBriefFunction(t *testing.T) {
	tests := []struct {
		in    string
		limit int
		want  string
	}{
		{"a<b<c<d<e<f>>>>>::g", 19, "a<b<c<d<e<f>>>>>::g"},
		{"a<b<c<d<e<fffffffff>>>>>::g", 18, "a<b<c<d<…>>>>::g"},
		{"a<b<c<d<e<fffffffff>>>>>::g", 12, "a<b<…>>::g"},
		{"a<b<c<d<e<fffffffff>>>>>::g", 8, "a<…>::g"},
		{"ns::operator<< <int, long>(ns::x<int>)", 30, "ns::operator<< <…>(ns::x<…>)"},
		{"T<aaaaaaaaaaaaaaaaaa>::operator->() const", 30, "T<…>::operator->() const"},
		{"<alloc::vec::Vec<T> as core::iter::Iterator>::next", 20, "<…>::next"},
		{"f<aaaaaaaaaaaaaaaaaaaaaaa", 10, "f<aaaa…aaa"},
		{"f>aaaaaaaaaaaaaaaaaaaaaaa", 10, "f>aaaa…aaa"},
		{"f(x->yyyyyyyyyyyyy, a<b>)", 23, "f(x->yyyyyyyyyy…, a<…>)"},
		{"aaaaaaaaaa::bbbbbbbbbb::last_one", 20, "aaaaaaaaa…::last_one"},
		{"aaaaaaaaaa::bbbbbbbbbb::last<x>(int a, b::c)", 30, "aaaaaaa…::last<…>(int a, b::c)"},
		{"aaaaaaaaaaaaaaaa::the_last_is_too_long", 20, "aaaaaaaaaaaaa…o_long"},
		{"main::{lambda(int)#1}::operator()", 20, "main::{lambda…ator()"},
		{"main::sorted<int>::operator()<x>", 20, "main::sorted<…r()<…>"},
		{"a_crate::a_module::run::{{closure}}", 20, "a_crate::a_mo…sure}}"},
		{"example.org/some/where/pkg.(*T).read", 20, "examp…/pkg.(*T).read"},
		{"aaaaaaaaaaaaaaaaaaaaaaaaa::", 20, "aaaaaaaaaaaaaaaaa…::"},
		{"operator" + strings.Repeat("<", 40), 12, "operator…<<<"},
	}
	for _, test := range tests {
		got := briefFunction(test.in, test.limit)
		if width(got) > test.limit {
			t.Errorf("briefFunction(%q, %d) has %d characters", test.in, test.limit, width(got))
		}
		if got != test.want {
			t.Errorf("briefFunction(%q, %d) = %q, want %q", test.in, test.limit, got, test.want)
		}
	}
}

func TestSizeText(t *testing.T) {
	for n, want := range map[uint64]string{0: "0 bytes", 999: "999 bytes", 1000: "1.0 kB", 14_200_000: "14 MB", 2_100_000_000: "2.1 GB",
		999_999: "1.0 MB", 1 << 63: "9223372 TB"} {
		if got := sizeText(n); got != want {
			t.Errorf("sizeText(%d) = %q, want %q", n, got, want)
		}
	}
}

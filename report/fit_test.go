package report

import (
	"bytes"
	"strings"
	"testing"
	"unicode/utf8"
)

// Columns of a terminal, not bytes and not characters.
func TestColumns(t *testing.T) {
	for s, want := range map[string]int{"": 0, "abc": 3, "a…b": 3, "日本": 4, "e\u0301a": 2, "ä": 1, "📦": 2} {
		if got := width(s); got != want {
			t.Errorf("%q takes %d columns, want %d", s, got, want)
		}
	}
	for s, want := range map[string]string{
		"abcdefghij": "abcd…ij", "日本語日本語": "日本…語", "e\u0301e\u0301e\u0301e\u0301e\u0301e\u0301e\u0301e\u0301": "e\u0301e\u0301e\u0301e\u0301…e\u0301e\u0301", "abcdefg": "abcdefg",
		"aaaaaaa\u0301\u0301": "aaaaaaa\u0301\u0301", "aaaaaaaaa\u0301": "aaaa…aa\u0301",
	} {
		if got := cut(s, 7); got != want || width(got) > 7 || !utf8.ValidString(got) {
			t.Errorf("%q is cut to %q of %d columns, want %q", s, got, width(got), want)
		}
	}
}

// A line that is too wide is broken between words, and words that are too wide are shortened in the middle; what is
// of no use in part is left whole.
func TestFit(t *testing.T) {
	url := "https://debuginfod.example.org/buildid/00112233445566778899aabbccddeeff/debuginfo"
	for line, want := range map[string]string{
		"  fits": "  fits",
		"  #1  f(a=1, b=2, c=3) at a_file_with_a_name.c:12":                      "  #1  f(a=1, b=2, c=3)\n      at a_file_with_a_name.c:12",
		"  one   two  three four five six seven eight":                           "  one   two  three four five six seven\n      eight",
		"  aaaaaaaaaabbbbbbbbbbccccccccccddddddddddeeeeee":                       "  aaaaaaaaaabbbbbbbbbbcc…dddddeeeeee",
		"  see /usr/lib/debug/.build-id/with/many/more/directories/libfoo.so.1:": "  see /usr/lib/debug/.buil…/libfoo.so.1:",
		"/" + strings.Repeat("d", 10) + "/" + strings.Repeat("f", 60):            "/dddddddddd/ffffffffffff…fffffffffff",
		"  get " + url + " now":                                                  "  get\n      " + url + "\n      now",
		"  id " + strings.Repeat("01234567ab", 4) + ".":                          "  id\n      " + strings.Repeat("01234567ab", 4) + ".",
		"  bits = " + strings.Repeat("1", 41):                                    "  bits\n      = 111111111111111111111…1111111111",
		"  日本語日本語日本語 日本語日本語日本語 日本語":                                              "  日本語日本語日本語 日本語日本語日本語\n      日本語",
	} {
		var out bytes.Buffer
		l := newLineWriter(&out, TextOptions{Width: 40})
		l.line(plain, line)
		l.w.Flush()
		if got := strings.TrimSuffix(out.String(), "\n"); got != want {
			t.Errorf("%q becomes\n%s\nwant\n%s", line, got, want)
		}
		for _, whole := range []TextOptions{{}, {Width: 40, Wide: true}} {
			out.Reset()
			l := newLineWriter(&out, whole)
			l.line(plain, line)
			l.w.Flush()
			if out.String() != line+"\n" {
				t.Errorf("%+v: %q becomes %q", whole, line, out.String())
			}
		}
	}
}

// Memory has fewer bytes on a line that is narrow, and each of them once.
func TestNarrowMemory(t *testing.T) {
	r := &Report{Threads: []Thread{{ID: 1}}, Memory: []MemoryArea{{Names: []string{"rax"}, Address: 0x7ffc00001014, Start: 0x7ffc00001000, Bytes: strings.Repeat("00112233445566778899aabbccddeeff", 2)}}}
	for columns, lines := range map[int]int{0: 2, 90: 2, 86: 2, 85: 4, 60: 4, 40: 8} {
		var out bytes.Buffer
		WriteText(&out, r, TextOptions{Width: columns})
		text := out.String()
		if strings.Count(text, "|\n") != lines || strings.Count(text, " ff") != 2 || strings.Count(text, "\n> ") != 1 {
			t.Errorf("%d columns:\n%s", columns, text)
		}
		checkText(t, text, false, max(columns, 100*(1-min(columns, 1))))
	}
}

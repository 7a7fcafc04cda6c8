package v8

import "testing"

// TestPlace: the youngest place in the program's own files is found in what V8 writes of a stack.
func TestPlace(t *testing.T) {
	for trace, want := range map[string]struct {
		function, file string
		line           int
	}{
		"\n    at JSON.parse (<anonymous>)\n    at parse (/x/bug.js:3:33)\n    at load (/x/bug.js:2:45)":        {"parse", "/x/bug.js", 3},
		"\n    at new Cart [as made] (file:///x/a b.mjs:12:1)":                                                  {"new Cart [as made]", "/x/a b.mjs", 12},
		"\n    at Object.open (node:internal/fs/promises:5:3)\n    at async file:///x/a.mjs:7:9":                {"<anonymous>", "/x/a.mjs", 7},
		"\n    at eval (eval at f (/x/e.js:3:5), <anonymous>:1:7)\n":                                            {"eval", "eval at f (/x/e.js:3:5)", 1},
		"\n    at shop.inner (wasm://wasm/shop-1:wasm-function[1]:0xc5)\n    at C:\\x\\a.js:4:1":                {"<anonymous>", `C:\x\a.js`, 4},
		"a message\n  at nothing (x:1:2)\n    at native\n    at f (/x/y.js)\n    at f (/x/y.js:0:0)\n    at ()": {"", "", 0},
		"": {"", "", 0},
	} {
		f, file, line := place(trace)
		if line == 0 {
			f = ""
		}
		if f != want.function || file != want.file || line != want.line {
			t.Errorf("%q: %s at %s:%d", trace, f, file, line)
		}
	}
}

package message

import (
	"encoding/binary"
	"testing"

	"github.com/corewalk/corewalk/unwind"
)

func TestPythonWords(t *testing.T) {
	const name, text, notText = fakeBase + 0x100, fakeBase + 0x200, fakeBase + 0x300
	const unsure = 1 << 63 // of a value that is not certain
	type passed struct {
		frame, n int
		direct   bool
	}
	type values map[passed]uint64
	given := func(n int) passed { return passed{2, n, true} }   // what Py_FatalError was called with
	passes := func(n int) passed { return passed{1, n, false} } // what it calls fatal_error with
	const bare, named = "Fatal Python error: no heap", "Fatal Python error: GC: no heap"
	for what, c := range map[string]struct {
		function string
		args     values
		want     string
	}{
		"nothing known":                {"Py_FatalError", nil, "Fatal Python error"},
		"another function":             {"Py_FatalErrors", values{given(0): text}, ""},
		"given":                        {"Py_FatalError", values{given(0): text}, bare},
		"given, with a name":           {"_Py_FatalErrorFunc", values{given(0): name, given(1): text}, named},
		"given a name alone":           {"_Py_FatalErrorFunc", values{given(0): name}, "Fatal Python error"},
		"passed on, before 3.9":        {"Py_FatalError", values{passes(0): 0, passes(1): text}, bare},
		"passed on":                    {"Py_FatalError", values{passes(1): 1, passes(2): 0, passes(3): text}, bare},
		"passed on, with a name":       {"_Py_FatalErrorFunc", values{passes(1): 1, passes(2): name, passes(3): text}, named},
		"passed on, a name alone":      {"_Py_FatalErrorFunc", values{passes(1): 1, passes(2): name}, "Fatal Python error"},
		"passed on, no name wanted":    {"Py_FatalError", values{passes(1): 1, passes(2): name, passes(3): text}, "Fatal Python error"},
		"passed on, a name is wanted":  {"_Py_FatalErrorFunc", values{passes(1): 1, passes(2): 0, passes(3): text}, "Fatal Python error"},
		"no text":                      {"Py_FatalError", values{given(0): notText}, "Fatal Python error"},
		"an empty text":                {"Py_FatalError", values{given(0): fakeBase + 0x400}, "Fatal Python error"},
		"given, perhaps":               {"Py_FatalError", values{given(0): text | unsure}, "Fatal Python error"},
		"given a name, and perhaps":    {"_Py_FatalErrorFunc", values{given(0): name, given(1): text | unsure}, "Fatal Python error"},
		"passed on, perhaps since 3.9": {"Py_FatalError", values{passes(1): 1 | unsure, passes(2): 0, passes(3): text}, "Fatal Python error"},
		"passed on, perhaps":           {"Py_FatalError", values{passes(1): 1, passes(2): 0, passes(3): text | unsure}, "Fatal Python error"},
		"passed on, perhaps a name":    {"_Py_FatalErrorFunc", values{passes(1): 1, passes(2): name | unsure, passes(3): text}, "Fatal Python error"},
		"passed on, perhaps no name":   {"Py_FatalError", values{passes(1): 1, passes(2): 0 | unsure, passes(3): text}, "Fatal Python error"},
		"nowhere":                      {"Py_FatalError", values{given(0): 8}, "Fatal Python error"},
	} {
		m := make(fakeMemory, 0x500)
		copy(m[0x100:], "GC")
		copy(m[0x200:], "no heap\n")
		copy(m[0x300:], "\x01\x02")
		p := m.process(nil)
		for _, f := range []string{"abort", c.function, "collect"} {
			p.Stack = append(p.Stack, Frame{Frame: new(unwind.Frame), Names: []string{f}})
		}
		p.Argument = func(frame, n int, direct bool) (uint64, bool) {
			v, ok := c.args[passed{frame, n, direct}]
			return v &^ unsure, ok && v&unsure == 0
		}
		if got := pythonWords(p); got.Message != c.want {
			t.Errorf("%s: %q, want %q", what, got.Message, c.want)
		}
	}
	for what, c := range map[string]struct {
		stack []string
		list  uint64
		ok    bool
		want  string
	}{
		"by libffi":        {[]string{"abort", "Py_FatalError", "", "", "ffi_call", "callproc"}, fakeBase + 0x10, true, bare},
		"perhaps":          {[]string{"abort", "Py_FatalError", "", "", "ffi_call", "callproc"}, fakeBase + 0x10, false, "Fatal Python error"},
		"no list":          {[]string{"abort", "Py_FatalError", "", "", "ffi_call", "callproc"}, 8, true, "Fatal Python error"},
		"no argument":      {[]string{"abort", "Py_FatalError", "", "", "ffi_call", "callproc"}, fakeBase + 0x18, true, "Fatal Python error"},
		"no text there":    {[]string{"abort", "Py_FatalError", "", "", "ffi_call", "callproc"}, fakeBase + 0x20, true, "Fatal Python error"},
		"not by libffi":    {[]string{"abort", "Py_FatalError", "", "", "callproc", "callproc"}, fakeBase + 0x10, true, "Fatal Python error"},
		"from further off": {[]string{"abort", "Py_FatalError", "", "", "", "", "ffi_call", "callproc"}, fakeBase + 0x10, true, "Fatal Python error"},
		"with a name":      {[]string{"abort", "_Py_FatalErrorFunc", "", "", "ffi_call", "callproc"}, fakeBase + 0x10, true, "Fatal Python error"},
	} {
		m := make(fakeMemory, 0x500)
		binary.LittleEndian.PutUint64(m[0x10:], fakeBase+0x40) // a list, of which the argument is a text
		binary.LittleEndian.PutUint64(m[0x40:], text)
		binary.LittleEndian.PutUint64(m[0x18:], 8)
		binary.LittleEndian.PutUint64(m[0x20:], fakeBase+0x48)
		binary.LittleEndian.PutUint64(m[0x48:], notText)
		copy(m[0x200:], "no heap\n")
		copy(m[0x300:], "\x01\x02")
		p := m.process(nil)
		for _, f := range c.stack {
			p.Stack = append(p.Stack, Frame{Frame: new(unwind.Frame), Names: []string{f}})
		}
		p.Argument = func(frame, n int, direct bool) (uint64, bool) {
			return c.list, c.ok && n == 3 && direct && c.stack[frame-1] == "ffi_call"
		}
		if got := pythonWords(p); got.Message != c.want {
			t.Errorf("%s: %q, want %q", what, got.Message, c.want)
		}
	}
	p := make(fakeMemory, 16).process(nil)
	p.Stack = []Frame{{Frame: new(unwind.Frame), Names: []string{"Py_FatalError"}}}
	if got := pythonWords(p); got.Message != "Fatal Python error" {
		t.Errorf("%q, without a way to ask for arguments", got.Message)
	}
}

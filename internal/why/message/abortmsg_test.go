package message

import "testing"

func TestParseAssertion(t *testing.T) {
	for _, tc := range []struct {
		text, program string
		want          Assertion
		ok            bool
	}{
		{"ends: ends.c:23: claim: Assertion `x == 7' failed.", "ends", Assertion{"x == 7", "", "ends.c", "claim", 23}, true},
		{"a.c:5: Assertion `0' failed.", "", Assertion{"0", "", "a.c", "", 5}, true},
		{"my: prog: ../a b/list.cc:101: int ns::list::pop(node*, int): Assertion `n && \"it's 3: 4\"' failed.", "my: prog",
			Assertion{"n && \"it's 3: 4\"", "", "../a b/list.cc", "int ns::list::pop(node*, int)", 101}, true},
		// The core may have a shortened name.
		{"averyveryverylongname: x.c:1: f: Assertion `p' failed.", "averyveryverylo", Assertion{"p", "", "x.c", "f", 1}, true},
		{"p: x.c:9: f: Unexpected error: No such file or directory.", "p", Assertion{"", "No such file or directory", "x.c", "f", 9}, true},
		{"p: x.c: f: Assertion `p' failed.", "p", Assertion{}, false},
		{"x.c:1: f: Assertion `p", "", Assertion{}, false},
		{"Assertion `' failed.", "", Assertion{}, false},
		{"Assertion `", "", Assertion{}, false},
		{"", "", Assertion{}, false},
	} {
		got, ok := parseAssertion(tc.text, tc.program)
		if ok != tc.ok || ok && *got != tc.want {
			t.Errorf("%q: %+v %v, want %+v %v", tc.text, got, ok, tc.want, tc.ok)
		}
	}
}

func TestJudge(t *testing.T) {
	for _, tc := range []struct {
		text, reason string
		cause        Cause
	}{
		{"double free or corruption (!prev)", "double free or corruption (!prev)", HeapCorruption},
		{"free(): invalid pointer", "free(): invalid pointer", HeapCorruption},
		{"Fatal glibc error: malloc assertion failure in sysmalloc: (old_top == initial_top (av))", "Fatal glibc error: malloc assertion failure in sysmalloc: (old_top == initial_top (av))", HeapCorruption},
		{"p: malloc.c:2379: sysmalloc: Assertion `(old_top == initial_top (av))' failed.", "assertion `(old_top == initial_top (av))' failed at malloc.c:2379 in sysmalloc", HeapCorruption},
		{"p: malloc.c:12: read: Assertion `n' failed.", "assertion `n' failed at malloc.c:12 in read", FailedAssertion},
		{"*** stack smashing detected ***: terminated", "stack smashing detected", StackOverrun},
		{"*** stack smashing detected ***: <unknown> terminated", "stack smashing detected ***: <unknown> terminated", StackOverrun},
		{"*** %n in writable segment detected ***", "%n in writable segment detected", InvalidArgument},
		{"*** bit out of range 0 - FD_SETSIZE on fd_set ***: terminated", "bit out of range 0 - FD_SETSIZE on fd_set", InvalidArgument},
		{"The futex facility returned an unexpected error code.", "The futex facility returned an unexpected error code.", Abort},
	} {
		w := Words{Message: tc.text}
		w.judge("p")
		if w.Reason != tc.reason || w.Cause != tc.cause {
			t.Errorf("%q: %q %d, want %q %d", tc.text, w.Reason, w.Cause, tc.reason, tc.cause)
		}
	}
}

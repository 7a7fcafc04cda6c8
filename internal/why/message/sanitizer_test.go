package message

import (
	"slices"
	"strings"
	"testing"
)

const asanFreed = `=================================================================
` + "\x1b[1m\x1b[31m" + `==10823==ERROR: AddressSanitizer: heap-use-after-free on address 0x60400000001c at pc 0x555a025211dc bp 0x7fffe0b54650 sp 0x7fffe0b54648
` + "\x1b[1m\x1b[0m\x1b[1m\x1b[34m" + `READ of size 4 at 0x60400000001c thread T0` + "\x1b[1m\x1b[0m" + `
    #0 0x555a025211db in peek /src/freed.c:3
    #1 0x555a025211f9 in main /src/freed.c:4

0x60400000001c is located 12 bytes inside of 40-byte region [0x604000000010,0x604000000038)
freed by thread T0 here:
    #0 0x7faf6f0b76a8 in __interceptor_free ../../../../src/libsanitizer/asan/asan_malloc_linux.cpp:52
    #1 0x555a025211f1 in main /src/freed.c:4

previously allocated by thread T0 here:
    #0 0x7faf6f0b89cf in operator new[](unsigned long) ../../../../src/libsanitizer/asan/asan_new_delete.cpp:98
    #1 0x555a025211e6 in make(int, char const*) /src/freed.c:5

SUMMARY: AddressSanitizer: heap-use-after-free /src/freed.c:3 in peek
`

func TestParseASan(t *testing.T) {
	got := parseASan(dropEscapes(asanFreed))
	want := asanText{
		message: "==10823==ERROR: AddressSanitizer: heap-use-after-free on address 0x60400000001c at pc 0x555a025211dc bp 0x7fffe0b54650 sp 0x7fffe0b54648\n" +
			"READ of size 4 at 0x60400000001c thread T0",
		found: "heap-use-after-free: read of 4 bytes at 0x60400000001c",
		findings: []string{
			"0x60400000001c is located 12 bytes inside of 40-byte region [0x604000000010,0x604000000038)",
			"freed by thread T0 in main at freed.c:4",
			"previously allocated by thread T0 in make(int, char const*) at freed.c:5",
		},
	}
	if got.message != want.message || got.found != want.found || !slices.Equal(got.findings, want.findings) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
	for _, tc := range []struct{ text, found string }{
		{"==1==ERROR: AddressSanitizer: attempting double-free on 0x60 in thread T0:\n", "attempting double-free on 0x60 in thread T0"},
		{"==1==ERROR: AddressSanitizer: SEGV on unknown address 0x000000000000 (pc 0x5 bp 0x7 sp 0x7 T0)\n", "SEGV"},
		{"==1==ERROR: AddressSanitizer: stack-overflow on address 0x7 (pc 0x5 bp 0x7 sp 0x7 T0)\n", "stack-overflow"},
		{"WRITE of size 1 at 0x60 thread T0\nx is located 1 bytes\n", ""},
		{"==1==ERROR: AddressSanitizer: heap-buffer-overflow on address 0x60\nWRITE of size 1 at 0x60 thread T0", "heap-buffer-overflow: write of 1 byte at 0x60"},
		{"==1==ERROR: AddressSanitizer: heap-buffer-overflow on address 0x60\nWRITE of size ", "heap-buffer-overflow"},
		{"", ""},
	} {
		if got := parseASan(tc.text).found; got != tc.found {
			t.Errorf("%q: got %q, want %q", tc.text, got, tc.found)
		}
	}
}

// Of a runtime without debug information in the program the first frame looks like the program's own; a stripped program has no names at all.
func TestASanWhere(t *testing.T) {
	for text, want := range map[string]string{
		"    #0 0x55 in malloc (/tmp/p+0xcb5cf) (BuildId: 67fa)\n    #1 0x56 in grow /tmp/a.c:3:30\n":                              "grow at a.c:3:30",
		"    #0 0x55 in malloc (/tmp/p+0xcb5cf)\n    #1 0x56  (/tmp/p+0x10ba63) (BuildId: 67fa)\n    #2 0x57 in main /tmp/a.c:9\n": "p+0x10ba63",
		"    #0 0x55  (/lib/libasan.so.8+0xcb5cf)\n    #1 0x56 in main /tmp/a.c:9\n":                                               "main at a.c:9",
		"    #0 0x55 in grow /tmp/a.c:3:30\n": "grow at a.c:3:30",
	} {
		if got := asanWhere(strings.Split(text, "\n")); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

// TestASanReport reads a report that a word of a frame points to.
func TestASanReport(t *testing.T) {
	const report = 0x1000
	m := make(fakeMemory, 0x6000)
	copy(m[report:], asanFreed)
	copy(m[2*report:], "== something else")
	p := m.process(nil)
	got, ok := p.asanReport([]uint64{0, 7, fakeBase + report + 8, fakeBase + 2*report, 1 << 40, fakeBase + report})
	if want := "heap-use-after-free: read of 4 bytes at 0x60400000001c"; !ok || got.found != want {
		t.Errorf("got %q, %v", got.found, ok)
	}
	if got, ok := p.asanReport([]uint64{fakeBase, fakeBase + 2*report, ^uint64(0xfff)}); ok {
		t.Errorf("found %q where there is no report", got.found)
	}
}

func TestSanitizerNames(t *testing.T) {
	for name, want := range map[string]string{
		"__asan_report_load4":          "bad read of 4 bytes",
		"__asan_report_store1":         "bad write of 1 byte",
		"__asan_report_store_n":        "bad write",
		"__asan::ReportDoubleFree":     "error found",
		"__asan_report_load16_noabort": "bad read of 16 bytes",
	} {
		if got := asanCheck(name); got != want {
			t.Errorf("%s: got %q, want %q", name, got, want)
		}
	}
	for name, want := range map[string]string{
		"__ubsan::__ubsan_handle_add_overflow_abort": "undefined behaviour found: integer overflow in an addition",
		"__ubsan_handle_out_of_bounds":               "undefined behaviour found: subscript out of bounds",
		"__ubsan_handle_new_check_abort":             "undefined behaviour found: new check",
		"peek":                                       "",
	} {
		p := &Process{Stack: []Frame{{Names: []string{"abort"}}, {Names: []string{"inlined", name}}}}
		if got := sanitizerWords(p).Reason; got != want {
			t.Errorf("%s: got %q, want %q", name, got, want)
		}
	}
}

package signature

import (
	"testing"

	"github.com/corewalk/corewalk/report"
)

// TestPlace: the frame that failed, and that there is none where it would be guessed.
func TestPlace(t *testing.T) {
	frame := func(name string) report.Frame {
		f := stackOf("", name).Threads[0].Frames[0]
		return f
	}
	signal := func(name string) report.Frame { return report.Frame{Signal: name} }
	guess := func(f report.Frame) report.Frame { f.Trust = report.TrustScan; return f }
	const none = -1
	python := report.Frame{Function: "pay", Language: "python", Source: report.Source{File: "shop.py"}}
	pythonAbort := report.Frame{Function: "abort", Module: "/lib/libc.so.6", Language: "python", Source: report.Source{File: "shop.py"}}
	ctypes, setattr := report.Frame{Function: "i_set", Module: "/x/_ctypes.cpython-312-x86_64-linux-gnu.so"}, report.Frame{Function: "PyObject_SetAttr", Module: "/x/libpython3.12.so.1.0"}
	eval := setattr
	eval.Function = "_PyEval_EvalFrameDefault"
	patch, patched := frame("f"), frame("f")
	patch.Function, patch.Source, patched.Trust = "f_dyninst", report.Source{}, report.TrustInstrumentation
	for _, c := range []struct {
		name   string
		ended  bool
		frames []report.Frame
		want   int
	}{
		{"nothing", true, nil, none},
		{"nothing, still alive", false, nil, none},
		{"main", false, []report.Frame{frame("abort" + libc), frame("main"), frame("__libc_start_main" + libc)}, 1},
		{"a function of the C library", false, []report.Frame{frame("memcpy" + libc), frame("f")}, 1},
		{"a hook of abort's, still alive", false, []report.Frame{frame("raise" + libc), frame("on_abort"), frame("abort" + libc), frame("f")}, 3},
		{"a frame of Python", false, []report.Frame{python, frame("f")}, 0},
		{"a frame of Python with a name of machinery", true, []report.Frame{frame("abort" + libc), frame("helper"), pythonAbort, frame("f")}, 1},
		{"an access by ctypes", false, []report.Frame{ctypes, setattr, setattr, eval, frame("main")}, 3},
		{"an access by ctypes, of no call", false, []report.Frame{ctypes, setattr, setattr, frame("main")}, 1},
		{"an access by ctypes, at the end", false, []report.Frame{ctypes, setattr, setattr}, 1},
		{"an access by ctypes, and a call of Python", false, []report.Frame{ctypes, setattr, python}, 2},
		{"an access by ctypes through the C library", false, []report.Frame{ctypes, frame("memcpy" + libc), setattr, eval, frame("main")}, 4 - 1},
		{"the C library, and functions of CPython", false, []report.Frame{frame("memcpy" + libc), setattr, eval}, 1},
		{"a function of CPython", false, []report.Frame{setattr, eval}, 0},
		{"code in place of a function", false, []report.Frame{patch, patched, frame("f")}, 1},
		{"code in place of the last function", false, []report.Frame{patch, patched}, 1},
		{"code with a line, in place of a function", false, []report.Frame{frame("f"), patched}, 0},
		{"code without a line", false, []report.Frame{patch, frame("f")}, 0},
		{"code without a line, alone", false, []report.Frame{patch}, 0},
		{"a handler that is a helper", false, []report.Frame{frame("strlen" + libc), frame("memcpy" + libc), signal("SIGUSR1"), frame("f")}, 1},
		{"such a one of a fault's", false, []report.Frame{frame("memcpy" + libc), signal("SIGSEGV"), frame("f")}, 0},
		{"a handler that ended the program", true, []report.Frame{frame("memcpy" + libc), signal("SIGUSR1"), frame("f")}, 2},
		{"a signal in the handler of another", false, []report.Frame{signal("SIGUSR2"), signal("SIGUSR1"), frame("f")}, 2},
		{"a signal that nobody handled", false, []report.Frame{signal("SIGALRM"), frame("f")}, 1},
		{"its own function", false, []report.Frame{frame("f"), frame("main")}, 0},
		{"abort", false, []report.Frame{frame("abort" + libc), frame("f")}, 1},
		{"a handler of a fault aborts", true, []report.Frame{frame("abort" + libc), frame("on_fault"), signal("SIGSEGV"), frame("f")}, 3},
		{"an assertion in a handler of a fault", true, []report.Frame{frame("abort" + libc), frame("__assert_fail" + libc), frame("closing"), signal("SIGSEGV"), frame("f")}, 2},
		{"a handler of a fault, still alive", false, []report.Frame{frame("on_fault"), signal("SIGSEGV"), frame("f")}, 0},
		{"a handler of a timer aborts", true, []report.Frame{frame("abort" + libc), frame("on_timer"), signal("SIGALRM"), frame("f")}, 1},
		{"a handler of a timer, in abort", true, []report.Frame{frame("on_timer"), signal("SIGALRM"), frame("abort" + libc), frame("f")}, 0},
		{"a handler of nobody knows what, in abort", true, []report.Frame{frame("on_signal"), signal(report.UnknownSignal), frame("abort" + libc), frame("f")}, 3},
		{"a guess", false, []report.Frame{frame("abort" + libc), guess(frame("f"))}, none},
		{"guessed machinery", true, []report.Frame{frame("f"), guess(frame("abort" + libc)), frame("g")}, 0},
		{"the start", false, []report.Frame{frame("abort" + libc), frame("__libc_start_main" + libc), frame("f")}, none},
		{"only machinery", false, []report.Frame{frame("abort" + libc)}, none},
	} {
		got, ok := Place(c.frames, c.ended, func(*report.Frame) bool { return false })
		if !ok {
			got = none
		}
		if got != c.want {
			t.Errorf("%s: frame %d, want %d", c.name, got, c.want)
		}
	}
	if got, ok := Place([]report.Frame{frame("f"), frame("g")}, false, func(f *report.Frame) bool { return f.Function == "f" }); !ok || got != 1 {
		t.Errorf("a helper that only the caller knows: frame %d, %v", got, ok)
	}
	if got, ok := Place([]report.Frame{python, frame("f")}, false, func(f *report.Frame) bool { return true }); !ok || got != 0 {
		t.Errorf("a call of a language that the caller would take for a helper: frame %d, %v", got, ok)
	}
	deep := make([]report.Frame, maxPlace+1)
	for i := range deep {
		deep[i] = frame("abort" + libc)
	}
	deep[maxPlace] = frame("f")
	if got, ok := Place(deep, false, func(*report.Frame) bool { return false }); ok {
		t.Errorf("frame %d of so many is looked at", got)
	}
}

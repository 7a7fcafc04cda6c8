package signature

import (
	"testing"

	"github.com/corewalk/corewalk/report"
)

// TestClassOfAllocator: what an allocator meets is a corrupted heap if it is a bad access, and nothing else.
func TestClassOfAllocator(t *testing.T) {
	for kind, want := range map[string]string{"wild-read": report.CrashHeapCorruption, "stack-overflow": report.CrashStackOverflow} {
		if s := Of(stackOf(kind, "_int_malloc"+libc, "malloc"+libc, "grow", "grow", "grow", "grow", "main")); s.Class != want {
			t.Errorf("%s: class %s, want %s", kind, s.Class, want)
		}
	}
}

// TestClassOfOwnSignal: a fault's signal that the program sent itself stands for the fault, unless something else is known.
func TestClassOfOwnSignal(t *testing.T) {
	for kind, want := range map[string]string{report.CrashSignal: "access", report.CrashWatchdog: report.CrashWatchdog} {
		r := stackOf(kind, "work", "main")
		r.Crash.Signal, r.Crash.Reason = "SIGSEGV", "sent by the program to itself"
		if s := Of(r); s.Class != want {
			t.Errorf("%s: class %s, want %s", kind, s.Class, want)
		}
	}
}

// TestReturns: a function whose return leads nowhere is to blame though nothing is left of the stack below it.
func TestReturns(t *testing.T) {
	for text, weak := range map[string]bool{"ret": false, "retn 8": false, "retf": false, "call rax": true, "": true} {
		r := stackOf("wild-call", "smashed")
		r.Threads[0].End = "bad-frame"
		if text != "" {
			r.Crash.Instruction = &report.Instruction{Text: text}
		}
		if s := Of(r); s.Weak != weak {
			t.Errorf("%q: weak %v, want %v", text, s.Weak, weak)
		}
	}
}

// TestThrownWithoutText: of an exception whose text is not known the message has the words; another kind of crash has no exception.
func TestThrownWithoutText(t *testing.T) {
	r := stackOf(report.CrashException, "parse", "main")
	r.Crash.Message = "terminate called after throwing an instance of 'oops'\n  what():  cannot read the table"
	r.Crash.Thrown = []report.Thrown{{Type: "oops"}}
	if s := Of(r); s.Class != "exception: oops: cannot read the table" {
		t.Errorf("class %q", s.Class)
	}
	r = stackOf(report.CrashAssertion, "parse", "main")
	r.Crash.Thrown = []report.Thrown{{Type: "oops"}}
	if s := Of(r); s.Class != report.CrashAssertion {
		t.Errorf("an assertion has the class %q", s.Class)
	}
}

package message

import "testing"

// Rust's SIGSEGV handler ends the program for a stack overflow only.
func TestRustStackOverflow(t *testing.T) {
	for name, want := range map[string]Cause{
		"std::sys::pal::unix::stack_overflow::imp::signal_handler": StackOverflow,
		"std::sys::unix::stack_overflow::imp::signal_handler":      StackOverflow,
		"app::sys::stack_overflow::imp::signal_handler":            Abort,
		"std::sys::pal::unix::stack_overflow::imp::make_handler":   Abort,
	} {
		p := &Process{Stack: []Frame{{Names: []string{"abort"}}, {Names: []string{name}}, {Names: []string{"app::deep"}}}}
		w := rustWords(p)
		if w.Cause != want || (w.Reason == "stack overflow") != (want == StackOverflow) {
			t.Errorf("%s: %q, cause %d", name, w.Reason, w.Cause)
		}
	}
}

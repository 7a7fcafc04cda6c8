package dwarfvars_test

import (
	"errors"
	"testing"

	"github.com/corewalk/corewalk/dwarfvars"
	"github.com/corewalk/corewalk/internal/vars/unknown"
)

// TestEntryValues reads what only the callers know: parameters whose registers
// hold something else by now, of a function that was called by way of two others,
// which left no frame.
func TestEntryValues(t *testing.T) {
	s := newScene(t, "amd64-passed-O2")
	n := s.frame(t, "third")
	a, err := s.At(s.frames, n)
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	for _, tc := range []struct{ name, want, entry string }{
		{"p", "0x0", "0x0"},
		{"b", "8", "8"}, // first's b, one more, by way of second
		{"c", "0", "42"},
		{"x", "4.5", "4.5"},
		// What a signal interrupted has its floating-point registers in the
		// signal's frame; the thread's own are the handler's.
		{"half", "2.25", ""},
		{"third", "1.5", ""},
	} {
		v := s.variable(t, n, tc.name)
		if got := a.Read(v, dwarfvars.Options{}).String(); got != tc.want {
			t.Errorf("%s: %s, want %s", tc.name, got, tc.want)
		}
		entry, ok := a.ReadEntry(v, dwarfvars.Options{})
		if got := ""; ok != (tc.entry != "") || ok && entry.String() != tc.entry {
			if ok {
				got = entry.String()
			}
			t.Errorf("%s@entry: %q, want %q", tc.name, got, tc.entry)
		}
	}
}

// TestEntryValuesAmbiguous: with two ways from the call to the function, what it
// was given is not known from the call, only from the function's own code.
func TestEntryValuesAmbiguous(t *testing.T) {
	s := newScene(t, "amd64-tail-ambiguous-O2")
	n := s.frame(t, "sink")
	a, err := s.At(s.frames, n)
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	if got, ok := a.ReadEntry(s.variable(t, n, "v"), dwarfvars.Options{}); !ok || got.String() != "2" {
		t.Errorf("v@entry: %v, %v", got, ok)
	}
	if s.DoubtCode() == 0 {
		t.Fatal("no code was followed")
	}
	if got, ok := a.ReadEntry(s.variable(t, n, "v"), dwarfvars.Options{}); ok {
		t.Errorf("v@entry: %v", got)
	}
	// Nor has the caller of a signal's handler given it anything.
	p := newScene(t, "amd64-passed-O2")
	n = p.frame(t, "on_segv")
	h, err := p.At(p.frames, n)
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	v := p.variable(t, n, "signal")
	if got, ok := h.ReadEntry(v, dwarfvars.Options{}); ok {
		t.Errorf("signal@entry: %v", got)
	}
	var entry *unknown.Entry
	err = h.Read(v, dwarfvars.Options{}).Err()
	if !errors.Is(err, dwarfvars.ErrEntryValue) || !errors.As(err, &entry) || entry.Why == "" {
		t.Errorf("signal: %v", err)
	}
}

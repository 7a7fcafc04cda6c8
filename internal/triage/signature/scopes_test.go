package signature

import (
	"slices"
	"testing"

	"github.com/corewalk/corewalk/report"
)

// TestScopes: functions of C++ are compared with their class, since others override them, and without the scopes around it; all others with all of them.
func TestScopes(t *testing.T) {
	of := func(function string, change func(*report.Frame)) Signature {
		r := stackOf("wild-read", function, "main")
		if change != nil {
			change(&r.Threads[0].Frames[0])
		}
		return Of(r)
	}
	full, short := of("bank::Ledger::find", nil), of("Ledger::find", nil)
	if full.Hash != short.Hash || full.Strict == short.Strict {
		t.Errorf("%s and %s, strictly %s and %s", full.Hash, short.Hash, full.Strict, short.Strict)
	}
	if !slices.Equal(full.Frames, []string{"bank::Ledger::find", "main"}) {
		t.Errorf("frames %q", full.Frames)
	}
	for _, other := range []string{"bank::Ledger::list", "bank::Account::find", "find", "Ledger"} {
		if of(other, nil).Hash == full.Hash {
			t.Errorf("%s has the same signature", other)
		}
	}
	for name, change := range map[string]func(*report.Frame){
		"a file of Rust":       func(f *report.Frame) { f.Source.File = "/src/bank.rs" },
		"a symbol of Rust":     func(f *report.Frame) { f.Symbol = "_ZN4bank6Ledger4find17h0123456789abcdefE" },
		"another, of Rust":     func(f *report.Frame) { f.Symbol = "_RNvNtC4bank6Ledger4find" },
		"a language's own":     func(f *report.Frame) { f.Language = "ruby" },
		"a clone's, of Rust":   func(f *report.Frame) { f.Symbol = "_ZN4bank6Ledger4find17h0123456789abcdefE.llvm.77" },
		"a hash within a name": func(f *report.Frame) { f.Symbol = "_ZN417hbank6Ledger4find17h0123456789abcdefE" },
	} {
		if got, want := of("bank::Ledger::find", change), of("Ledger::find", change); got.Hash == want.Hash {
			t.Errorf("%s: the scope does not count", name)
		}
	}
	for _, symbol := range []string{"_ZN4bank6Ledger4findEi", "_ZN4bank6Ledger3f17hEv", "_ZN4bank6Ledger23f17h0123456789abcdeEEv", "_ZN4bank6Ledger24f17h0123456789abcdegEEv", "f17h0123456789abcdefE"} {
		if rustSymbol(symbol) {
			t.Errorf("%s is Rust's", symbol)
		}
	}
	// The round of a recursion begins with the same function, whatever the scopes are.
	round := func(outer, inner string) Signature {
		return Of(stackOf("stack-overflow", outer, inner, outer, inner, outer, inner, "main"))
	}
	if full, short := round("z::List::add", "a::Item::link"), round("List::add", "Item::link"); full.Hash != short.Hash || full.Top != 2 {
		t.Errorf("recursions: %s %q and %s %q", full.Hash, full.Frames, short.Hash, short.Frames)
	}
	irregular := func(f, g, h string) Signature {
		return Of(stackOf("stack-overflow", f, g, h, f, h, g, g, f, h, g, "main"))
	}
	if full, short := irregular("z::List::add", "a::Item::link", "m::walk"), irregular("List::add", "Item::link", "m::walk"); full.Hash != short.Hash || full.Top != 3 {
		t.Errorf("irregular recursions: %s %q and %s %q", full.Hash, full.Frames, short.Hash, short.Frames)
	}
	// In a deadlock, too: the order of the waits and of the functions does not depend on the scopes.
	with, without := Of(hungReport("b::z::Bank::deposit", "a::Bank::withdraw")), Of(hungReport("Bank::deposit", "Bank::withdraw"))
	if with.Hash != without.Hash || !slices.Equal(with.Frames, []string{"b::z::Bank::deposit", "a::Bank::withdraw"}) {
		t.Errorf("%s %q and %s %q", with.Hash, with.Frames, without.Hash, without.Frames)
	}
}

// Places without names tell bugs apart, also before functions with names.
func TestNamelessFirst(t *testing.T) {
	at := func(offset report.Addr) Signature {
		r := stackOf("wild-read", "", "work", "main")
		r.Threads[0].Frames[0].Module, r.Threads[0].Frames[0].Offset = "/usr/bin/app", offset
		return Of(r)
	}
	if a, b := at(0x1000), at(0x2000); a.Hash == b.Hash || a.Weak != true || len(a.Frames) != 3 {
		t.Errorf("%s %s, frames %q", a.Hash, b.Hash, a.Frames)
	}
}

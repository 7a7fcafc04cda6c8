package signature

import (
	"testing"

	"github.com/corewalk/corewalk/report"
)

// TestBlock: a heap that was damaged, or used after it was given back, is one bug wherever that is noticed, if memory shows which block it was.
func TestBlock(t *testing.T) {
	of := func(kind, function string, causes ...report.Cause) Signature {
		r := stackOf(kind, function, "main")
		r.Crash.Causes = causes
		return Of(r)
	}
	cause := func(fault string, size uint64, typ, confidence string) report.Cause {
		return report.Cause{Confidence: confidence, Block: &report.CauseBlock{Fault: fault, Size: size, Type: typ}}
	}
	numbers := func(size uint64, typ string) report.Cause {
		return report.Cause{Confidence: report.Possible, Block: &report.CauseBlock{Fault: report.BlockOverrun, Size: size, Elements: typ}}
	}
	past := cause(report.BlockOverrun, 24, "", report.Possible)
	freed := cause(report.BlockFreed, 40, "Room", report.Likely)
	words := report.Cause{Text: "rax holds text", Confidence: report.Likely}
	for _, c := range []struct {
		name string
		a, b Signature
		same bool
	}{
		{"an overrun", of("heap-corruption", "leave", past), of("wild-read", "join@/lib/libchat.so.1", words, past), true},
		{"a call", of("heap-corruption", "leave", past), of("wild-call", "join", past), true},
		{"its type is lost in one", of("heap-corruption", "leave", past), of("heap-corruption", "join", cause(report.BlockOverrun, 24, "Nick", report.Likely)), true},
		{"another size", of("heap-corruption", "leave", past), of("heap-corruption", "leave", cause(report.BlockOverrun, 40, "", report.Possible)), false},
		{"freed", of("wild-read", "leave", freed), of("null-read", "join", freed), true},
		{"of another type", of("wild-read", "leave", freed), of("wild-read", "leave", cause(report.BlockFreed, 40, "Lane", report.Likely)), false},
		{"overrun and freed", of("wild-read", "leave", freed), of("wild-read", "leave", cause(report.BlockOverrun, 40, "Room", report.Likely)), false},
		{"of a type that is not known", of("wild-read", "leave", cause(report.BlockFreed, 40, "", report.Likely)), of("wild-read", "join", cause(report.BlockFreed, 40, "", report.Likely)), false},
		{"a library's own", of("wild-read", "leave", cause(report.BlockFreed, 72, "_Rb_tree_node", report.Likely)), of("wild-read", "join", cause(report.BlockFreed, 72, "_Rb_tree_node", report.Likely)), false},
		{"perhaps", of("wild-read", "leave", cause(report.BlockFreed, 40, "Room", report.Possible)), of("wild-read", "join", cause(report.BlockFreed, 40, "Room", report.Possible)), false},
		{"perhaps, and not", of("wild-read", "leave", cause(report.BlockFreed, 40, "Room", report.Possible)), of("wild-read", "leave"), true},
		{"handed out again", of("wild-read", "leave", freed), of("wild-read", "join", cause(report.BlockReused, 40, "Room", report.Possible)), true},
		{"an array of numbers", of("heap-corruption", "leave", numbers(24, "int")), of("wild-read", "join", numbers(400, "int")), true},
		{"of other numbers", of("heap-corruption", "leave", numbers(24, "int")), of("heap-corruption", "leave", numbers(24, "double")), false},
		{"no block", of("wild-read", "leave", words), of("wild-read", "join", words), false},
		{"ended otherwise", of("abort", "leave", past), of("abort", "join", past), false},
	} {
		if (c.a.Hash == c.b.Hash) != c.same {
			t.Errorf("%s: %s %q and %s %q", c.name, c.a.Class, c.a.Module, c.b.Class, c.b.Module)
		}
	}
	if s := of("heap-corruption", "leave", past); s.Class != "overrun block of 24 bytes" || s.Module != "app" || s.Weak || s.Top != 0 || len(s.Frames) != 2 {
		t.Errorf("%+v", s)
	}
	if a, b := of("heap-corruption", "leave", past), of("heap-corruption", "join", past); a.Strict == b.Strict {
		t.Error("strictly the same")
	}
	// Whose program it is counts; the module in which it was noticed does if that is not known.
	r := stackOf("heap-corruption", "leave", "main")
	r.Crash.Causes, r.Modules = []report.Cause{past}, nil
	if s := Of(r); s.Module != "app" {
		t.Errorf("module %q", s.Module)
	}
	r = stackOf("heap-corruption", "", "", "")
	r.Crash.Causes, r.Threads[0].End = []report.Cause{past}, ""
	if s := Of(r); s.Class != "overrun block of 24 bytes" || s.Weak != true {
		t.Errorf("without names: %+v", s)
	}
	if Of(r).Hash != of("heap-corruption", "leave", past).Hash {
		t.Error("a program without names has another bug")
	}
}

package analysis

import (
	"testing"

	"github.com/corewalk/corewalk/internal/code/provenance"
	"github.com/corewalk/corewalk/internal/fixture"
	"github.com/corewalk/corewalk/unwind/arch"
)

// TestLeadTexts: how an element is named of which nobody knows which it is, and names that are a library's own.
func TestLeadTexts(t *testing.T) {
	for text, want := range map[string]string{
		"h.plans[3]->seats": "h.plans[...]->seats", "a[1].b[2]": "a[...]", "[rbx+8]": "", "p": "", "a]b[": "", "a[": "", `cache["x"]->seats`: "cache[...]->seats",
	} {
		if got := elementOf(text); got != want {
			t.Errorf("%s: %q, want %q", text, got, want)
		}
	}
	for text, want := range map[string]bool{
		"s._M_impl": true, "__begin": true, "v._Mybase": true, "_x": false, `m["__x"]`: false, "a__b": false, "x._M_": true, "*_M_ptr": true,
	} {
		if internalName(text) != want {
			t.Errorf("%s is a library's own: %v", text, !want)
		}
	}
}

// TestGoTexts: what Go says of indexes, and how the source writes what was compared.
func TestGoTexts(t *testing.T) {
	for text, want := range map[string]bool{
		"runtime error: index out of range [5] with length 3":           true,
		"runtime error: index out of range [-1]":                        true,
		"runtime error: slice bounds out of range [:9] with capacity 4": true,
		"runtime error: slice bounds out of range [7:3]":                true,
		"runtime error: slice bounds out of range [::9] with length 4":  true,
		"runtime error: integer divide by zero":                         false,
		"index out of range [5] with length 3":                          false,
		"runtime error: index out of range [5] with length 3, too":      false,
	} {
		if boundsError.Get().MatchString(text) != want {
			t.Errorf("%s: %v", text, !want)
		}
	}
	for text, want := range map[string]string{"*&list": "list", "list.array[2]": "list[2]", "s.str[1]": "s[1]", "*list.array": "list[0]", "*o.name.str": "o.name[0]", "list.arrays": "list.arrays"} {
		if got := goText(text); got != want {
			t.Errorf("%s: %s, want %s", text, got, want)
		}
	}
	for k, want := range map[int64]string{-1: "-1", 0: "+0", 2: "+2"} {
		if got := goOffset(k); got != want {
			t.Errorf("%d: %s", k, got)
		}
	}
}

// TestPart: of a value that was cut several times, the least of the parts is known.
func TestPart(t *testing.T) {
	o := openCase(t, fixture.Get(t, "amd64-vars-c-O0"))
	for name, c := range map[string]string{
		"a byte of a word":       "\x8b\x03\x89\xc1\x0f\xb6\xc9", // mov eax,[rbx]; mov ecx,eax; movzx ecx,cl
		"a word that was a byte": "\x8b\x03\x0f\xb6\xc8\x89\xc9", // mov eax,[rbx]; movzx ecx,al; mov ecx,ecx
	} {
		code := machine(c + "\x90")
		end := uint64(machineStart + len(c))
		died, _ := newPair().crash(t, o)
		w := &witness{in: died.question, state: provenance.State{PC: end},
			code: provenance.New(arch.AMD64, provenance.ABIOf(arch.AMD64, false), code, machineStart, end+1)}
		tr := &tracer{in: died.question, stack: died.stack}
		v := w.code.Before(end, provenance.Reg(arch.RCX))
		for range 2 {
			var ok bool
			if v, _, _, ok = tr.back(w, v, 5); !ok {
				t.Fatalf("%s: lost", name)
			}
		}
		if tr.part != 1 || !tr.loose || v.Kind != provenance.Load {
			t.Errorf("%s: %d bytes of a %v", name, tr.part, v.Kind)
		}
	}
}

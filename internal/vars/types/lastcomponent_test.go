package types

import "testing"

func TestLastComponent(t *testing.T) {
	for name, want := range map[string]string{
		"": "", "a": "a", "a::b": "b", "a::b<c::d>": "b<c::d>", "a<b::c>::d": "d", "f<int (__cdecl*)(a::b)>::g": "g",
		"`anonymous namespace'::x": "x", "a::<unnamed-tag>": "<unnamed-tag>", "a::operator>": "operator>", "x::": "", "<a::b>": "<a::b>", "a<b<c>, d::e>": "a<b<c>, d::e>", "a:b": "a:b",
	} {
		if got := lastComponent(name); got != want {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
	}
}

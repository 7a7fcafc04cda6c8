package session

import "testing"

// A variable of another module may be doubtful, too.
func TestWhose(t *testing.T) {
	for want, v := range map[string]Variable{
		"":                          {},
		"   (of libx.so)":           {Module: "/lib/libx.so"},
		"   (doubtful)":             {Doubtful: true},
		"   (of libx.so, doubtful)": {Module: "/lib/libx.so", Doubtful: true},
	} {
		if got := v.Whose(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

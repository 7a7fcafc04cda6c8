package signature

import "testing"

func TestNormalizeSwift(t *testing.T) {
	for name, want := range map[string]string{
		"default argument 1 of total #1 in closure #1 in Shop.run": "Shop.run.{closure}.total",
		" of total #1 in Shop.run":                                 "Shop.run.total",
		"closure #2 in static Shop.run":                            "Shop.run.{closure}",
	} {
		if got, ok := normalizeSwift(name); !ok || got != want {
			t.Errorf("%s: %q %v, want %q", name, got, ok, want)
		}
	}
}

package symlookup

import "testing"

func TestDisplay(t *testing.T) {
	for _, c := range []struct{ name, linkage, shown, link string }{
		{"main", "", "main", ""},
		{"main", "main", "main", ""},
		{"", "memcpy", "memcpy", ""},
		{"", "memcpy@@GLIBC_2.14", "memcpy", "memcpy@@GLIBC_2.14"},
		{"", "f.cold", "f", "f.cold"},
		{"load", "_ZN6LoaderIiE4loadEv", "Loader<int>::load", "_ZN6LoaderIiE4loadEv"},
		{"", "_ZN6LoaderIiE4loadEv", "Loader<int>::load", "_ZN6LoaderIiE4loadEv"},
		{"broken", "_Zbroken", "broken", "_Zbroken"}, // cannot be demangled
		{"", "_Zbroken", "_Zbroken", ""},
		{"get", "renamed", "get", "renamed"}, // asm("renamed")
		{"main.(*queue).pop", "", "main.(*queue).pop", ""},
		{"", "", "", ""},
	} {
		shown, link := display(c.name, c.linkage)
		if shown != c.shown || link != c.link {
			t.Errorf("display(%q, %q) = %q, %q; want %q, %q", c.name, c.linkage, shown, link, c.shown, c.link)
		}
	}
}

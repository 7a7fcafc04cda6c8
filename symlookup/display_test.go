package symlookup

import (
	"context"
	"testing"

	"github.com/corewalk/corewalk/internal/files/find"
	"github.com/corewalk/corewalk/internal/files/image"
	"github.com/corewalk/corewalk/internal/fixture"
	"github.com/corewalk/corewalk/internal/format/dwarf"
	"github.com/corewalk/corewalk/unwind"
)

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

// TestScopeBySymbol: a function that its debugging information describes without a scope has that of its symbol, if the symbol is the function's.
func TestScopeBySymbol(t *testing.T) {
	cache := image.NewCache(find.New(context.Background(), find.Options{DebugDirs: []string{t.TempDir()}}))
	defer cache.Close()
	im, err := cache.Open(fixture.Get(t, "amd64-cxx-lines").Binary(t))
	if err != nil {
		t.Fatal(err)
	}
	post, _ := im.SymbolByName("_ZN4bank6Ledger4postEii")
	folded, _ := im.SymbolByName("_ZN4bank7anotherEi")
	for _, c := range []struct {
		name  string
		entry uint64
		want  string
	}{
		{"post", post.Value, "bank::Ledger::post"},
		{"post", post.Value + 1, "post"}, // code before it has a symbol, this has none
		{"post", 0, "post"}, {"", 0, ""},
		{"folded", folded.Value, "folded"},
		{"ost", post.Value, "ost"},
	} {
		call := unwind.Call{Name: c.name, Entry: c.entry}
		if scopeBySymbol(&call, im); call.Name != c.want || (call.LinkageName != "") != (c.want != c.name) {
			t.Errorf("%s at %#x: %s, %s; want %s", c.name, c.entry, call.Name, call.LinkageName, c.want)
		}
	}
	for name, call := range map[string]dwarf.Call{
		"C":                   {Func: valid, FuncInfo: dwarf.FuncInfo{Name: "post", Language: dwarf.LangC11}},
		"a linkage name":      {Func: valid, FuncInfo: dwarf.FuncInfo{Name: "post", LinkageName: "_Z4postv", Language: dwarf.LangCPlus14}},
		"a scope":             {Func: valid, FuncInfo: dwarf.FuncInfo{Name: "bank::post", Language: dwarf.LangCPlus14}},
		"main":                {Func: valid, FuncInfo: dwarf.FuncInfo{Name: "main", Language: dwarf.LangCPlus14}},
		"a line without more": {FuncInfo: dwarf.FuncInfo{Language: dwarf.LangCPlus14}},
	} {
		if scopeless(&call) {
			t.Errorf("%s: without a scope", name)
		}
	}
	if !scopeless(&dwarf.Call{Func: valid, FuncInfo: dwarf.FuncInfo{Name: "post", Language: dwarf.LangCPlus14}}) {
		t.Error("a function of C++ has a scope")
	}
}

// valid is an entry of debugging information.
var valid = dwarf.DIE{Unit: new(dwarf.Unit), Off: 1}

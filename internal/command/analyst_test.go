package command

import (
	"os"
	"testing"

	"github.com/corewalk/corewalk/modules"
)

// The program that handed over analyses dumps, but not where servers are asked, and not one that did not say it is of the same build.
func TestAnalyst(t *testing.T) {
	own, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { starter = "" })
	for _, tt := range []struct {
		by, path string
		asks     string
		want     string
	}{
		{want: own},
		{path: "/opt/corewalk", want: own},
		{by: build(), path: "/opt/corewalk", want: "/opt/corewalk"},
		{by: build(), want: own},
		{by: build(), path: "/opt/corewalk", asks: "files", want: own},
		{by: build(), path: "/opt/corewalk", asks: "symbols", want: own},
		{by: "corewalk of yesterday", path: "/opt/corewalk", want: own},
	} {
		starter = ""
		t.Setenv(starterPathVar, tt.path)
		os.Unsetenv(starterVar)
		if tt.by != "" {
			t.Setenv(starterVar, tt.by)
		}
		if err := checkStarter(); (err != nil) != (tt.by != "" && tt.by != build()) {
			t.Errorf("%+v: %v", tt, err)
		}
		var f fileFlags
		switch tt.asks {
		case "files":
			f.fetch.client = anyServer{}
		case "symbols":
			f.fetch.symbols.client = anySymbols{}
		}
		if got, err := f.analyst(); err != nil || got != tt.want {
			t.Errorf("%+v: %s, %v", tt, got, err)
		}
	}
}

type anyServer struct{ modules.Fetcher }

type anySymbols struct{ modules.SymbolFetcher }

package modules_test

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/corewalk/corewalk/internal/fixture"
	"github.com/corewalk/corewalk/modules"
)

// What the public handle tells of a file, opened and made of its bytes.
func TestImage(t *testing.T) {
	path := fixture.Get(t, "amd64-inline-tail-O2").Binary(t)
	opened, err := modules.OpenImage(context.Background(), path)
	if err != nil {
		t.Fatal(err)
	}
	defer opened.Close()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	made, err := modules.NewImage(data)
	if err != nil {
		t.Fatal(err)
	}
	for name, im := range map[string]*modules.Image{path: opened, "": made} {
		if im.Path() != name || len(im.BuildID()) == 0 || !im.HasUnwindTables() || !im.HasDebugInfo() || im.DebugOnly() || im.CodeID() != "" {
			t.Errorf("%q: path %q, build-id %x, unwind tables %v, debug information %v", name, im.Path(), im.BuildID(), im.HasUnwindTables(), im.HasDebugInfo())
		}
		sym, ok := im.SymbolByName("third")
		if at, found := im.SymbolAt(sym.Addr + 1); !ok || !found || at != sym || sym.Size == 0 {
			t.Errorf("%q: symbol %+v, at its second byte %+v", name, sym, at)
		}
		lines, err := im.Lines(sym.Addr)
		if err != nil || len(lines) == 0 || lines[len(lines)-1].Function != "third" || lines[0].Line == 0 || filepath.Ext(lines[0].File) != ".c" {
			t.Errorf("%q: lines %+v, %v", name, lines, err)
		}
		if _, err := im.Lines(1); !errors.Is(err, modules.ErrNoLine) {
			t.Errorf("%q: lines of no code: %v", name, err)
		}
		if im.Bias(0x1000) != 0x1000 {
			t.Errorf("%q: bias %#x", name, im.Bias(0x1000))
		}
	}
}

// Nil is an image that knows nothing.
func TestNoImage(t *testing.T) {
	var im *modules.Image
	if im.Path() != "" || im.BuildID() != nil || im.CodeID() != "" || im.DebugPath() != "" || im.SymbolPath() != "" || im.DebugOnly() ||
		im.HasUnwindTables() || im.HasDebugInfo() || im.Warnings() != nil || im.Bias(7) != 7 || im.Close() != nil {
		t.Error("nil knows something")
	}
	if _, ok := im.SymbolAt(1); ok {
		t.Error("nil has a symbol")
	}
	if _, ok := im.SymbolByName("main"); ok {
		t.Error("nil has main")
	}
	if _, err := im.Lines(1); !errors.Is(err, modules.ErrNoLine) {
		t.Error(err)
	}
	if _, err := modules.OpenImage(context.Background(), filepath.Join(t.TempDir(), "none")); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
	if _, err := modules.NewImage([]byte("text")); err == nil {
		t.Error("text is a module")
	}
}

package image_test

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/corewalk/corewalk/internal/files/find"
	"github.com/corewalk/corewalk/internal/files/image"
	"github.com/corewalk/corewalk/internal/format/codeview"
)

// breakpadServer has only Breakpad symbol files, of every module.
type breakpadServer struct {
	dir   string
	asked []string
}

func (s *breakpadServer) FetchSymbols(_ context.Context, wanted []find.StoreKey) (string, error) {
	k := wanted[0]
	s.asked = append(s.asked, k.Kind.String())
	if k.Kind != find.KindBreakpad {
		return "", fs.ErrNotExist
	}
	path := filepath.Join(s.dir, k.ID+".sym")
	text := fmt.Sprintf("MODULE Linux x86_64 %s %s\nFUNC 1000 10 0 function\n", k.ID, k.Name)
	return path, os.WriteFile(path, []byte(text), 0o600)
}

func TestServersOfOneKind(t *testing.T) {
	s := &breakpadServer{dir: t.TempDir()}
	cache := image.NewCache(find.New(context.Background(), find.Options{SymbolFetcher: s}))
	ask := func(m find.Module) string {
		t.Helper()
		s.asked = nil
		im := cache.Bare(m)
		if !im.SymbolsUnfetched() || im.HasBreakpad() {
			t.Errorf("%s: nothing to be fetched", m.Path)
		}
		if len(s.asked) != 0 {
			t.Errorf("%s: fetched unasked", m.Path)
		}
		if im.Breakpad() == nil {
			t.Errorf("%s: no symbol file", m.Path)
		}
		return strings.Join(s.asked, ", ")
	}
	for i := range 5 {
		want := "PDB, symbol file"
		if i >= 3 {
			want = "symbol file"
		}
		id := codeview.GUID{byte(i), 1}
		if got := ask(find.Module{Path: fmt.Sprintf(`C:\m%d.dll`, i), DebugID: id.DebugID(1), DebugFile: fmt.Sprintf("m%d.pdb", i)}); got != want {
			t.Errorf("module %d: asked for %s, want %s", i, got, want)
		}
	}
	// There are no PDBs to ask for with ELF modules.
	if got := ask(find.Module{Path: "/lib/libx.so", BuildID: []byte("0123456789abcdefghij")}); got != "symbol file" {
		t.Errorf("ELF: asked for %s", got)
	}
}

package find

import (
	"encoding/hex"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/corewalk/corewalk/internal/format/decompress/cabtest"
	"github.com/corewalk/corewalk/internal/format/elffile/elftest"
)

// Files from a server are rejected or verified, never used unchecked.
func FuzzVerifyELF(f *testing.F) {
	id := []byte{0xde, 0xad, 0xbe, 0xef, 1, 2, 3, 4}
	f.Add(elftest.WithID(3, id, 0))
	f.Add([]byte("\x7fELF"))
	f.Fuzz(func(t *testing.T, data []byte) {
		want := hex.EncodeToString(id)
		for _, kind := range []string{KindDebugInfo, KindExecutable} {
			if verifyELF(data, kind, want) == nil && !strings.Contains(hex.EncodeToString(data), want) {
				t.Errorf("%s accepted, but the id is nowhere in it", want)
			}
		}
	})
}

// What is stored by an identifier is a complete file that says that it is this build.
func TestVerifyStored(t *testing.T) {
	other := strings.Replace(testDebugID, "0123", "3210", 1)
	sym, pdb, pe := symWith(testDebugID, testCodeID, "app.pdb"), pdbWith(t, testDebugID), peWith(t, testCodeID, testDebugID, "app.pdb")
	for name, c := range map[string]struct {
		id   string
		data []byte
		want string // in the error; "" is none
	}{
		"symbol file":               {testDebugID, sym, ""},
		"in lower case":             {strings.ToLower(testDebugID), sym, ""},
		"by code":                   {testCodeID, sym, ""},
		"of another build":          {other, sym, "want " + other},
		"cut symbol file":           {testDebugID, sym[:len(sym)-3], "truncated"},
		"PDB":                       {testDebugID, pdb, ""},
		"PDB of another build":      {other, pdb, "want " + other},
		"cut PDB":                   {testDebugID, pdb[:7*512], "truncated"},
		"image":                     {testCodeID, pe, ""},
		"image by its PDB":          {testDebugID, pe, "want " + testDebugID},
		"ELF":                       {"0102", elftest.WithID(3, []byte{1, 2}, 0), "buildid/"},
		"zeros":                     {testDebugID, make([]byte, 1<<16), "no PE image"},
		"nothing":                   {testDebugID, nil, "no PE image"},
		"cabinet":                   {testDebugID, cabtest.MSZIP("app.pdb", pdb), ""},
		"cabinet of another build":  {other, cabtest.MSZIP("app.sym", sym), "want " + other},
		"cabinet of cabinets":       {testDebugID, cabtest.Stored("a", cabtest.Stored("a", pdb)), "another cabinet"},
		"cabinet of something else": {testDebugID, cabtest.Stored("a", make([]byte, 1<<16)), "no PE image"},
		"cut cabinet":               {testDebugID, cabtest.Stored("app.pdb", pdb)[:600], "cabinet"},
	} {
		dir := t.TempDir()
		err := VerifyStored(write(t, filepath.Join(dir, "f"), c.data), c.id, func(put func(io.Writer) error) (string, error) {
			f, err := os.Create(filepath.Join(dir, "inner"))
			if err != nil {
				t.Fatal(err)
			}
			defer f.Close()
			return f.Name(), put(f)
		})
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
}

// A file says itself where a store has it, and what is there by that path is found right.
func TestStorePath(t *testing.T) {
	for name, c := range map[string]struct {
		data []byte
		want string
	}{
		"app.pdb":   {pdbWith(t, testDebugID), "app.pdb/" + strings.ToLower(testDebugID) + "/app.pdb"},
		"app.dll":   {peWith(t, testCodeID, testDebugID, "app.pdb"), "app.dll/5f3a00bc7000/app.dll"},
		"app.so":    {elftest.WithID(3, []byte{1, 2}, 0), "buildid/0102/executable"},
		"none.so":   {elftest.WithID(3, nil, 0), ""},
		"app.sym":   {symWith(testDebugID, testCodeID, "app.pdb"), ""}, // it has its name in it
		"notes.txt": {make([]byte, 4096), ""},
	} {
		path := write(t, filepath.Join(t.TempDir(), "f"), c.data)
		got, err := StorePath(path, name)
		if got != c.want || (err == nil) != (c.want != "") {
			t.Errorf("%s: %q, %v, want %q", name, got, err, c.want)
		}
		if parts := strings.Split(got, "/"); err == nil && parts[0] != "buildid" {
			if err := VerifyStored(path, parts[1], nil); err != nil {
				t.Errorf("%s: %v", got, err)
			}
		}
	}
}

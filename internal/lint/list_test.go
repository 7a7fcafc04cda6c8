package lint

import (
	"encoding/json"
	"errors"
	"fmt"
	"go/importer"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
)

// A goPackage is a package of the module, or one that it imports.
type goPackage struct {
	path, name, dir string
	export          string   // the file that the compiler made for who imports it
	files, imports  []string // without tests; its files are those for this machine
}

// goList lists all packages of the module and those that they import, each after what it imports.
func goList(t *testing.T) []goPackage {
	t.Helper()
	list, err := listAll()
	if err != nil {
		t.Fatal(err)
	}
	return list
}

var listAll = sync.OnceValues(func() (list []goPackage, err error) {
	out, err := exec.Command("go", "list", "-export", "-deps", "-json=ImportPath,Name,Dir,Export,GoFiles,Imports", module+"/...").Output()
	if err != nil {
		return nil, fmt.Errorf("go list: %w", err)
	}
	for d := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p struct {
			ImportPath, Name, Dir, Export string
			GoFiles, Imports              []string
		}
		if err := d.Decode(&p); errors.Is(err, io.EOF) {
			return list, nil
		} else if err != nil {
			return nil, err
		}
		list = append(list, goPackage{p.ImportPath, p.Name, p.Dir, p.Export, p.GoFiles, p.Imports})
	}
})

// exportImporter imports packages as the compiler left them.
func exportImporter(list []goPackage) types.Importer {
	exports := map[string]string{}
	for _, p := range list {
		exports[p.path] = p.export
	}
	return importer.ForCompiler(token.NewFileSet(), "gc", func(path string) (io.ReadCloser, error) { return os.Open(exports[path]) })
}

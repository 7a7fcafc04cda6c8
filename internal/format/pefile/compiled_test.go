package pefile

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/corewalk/corewalk/internal/fixture"
)

const program = `
int x;
__declspec(dllexport) __attribute__((noinline)) int exported(int a) { return x + a; }
__declspec(dllexport) int other(int a) { return exported(a) * exported(a + 1); }
`

// compile makes a DLL of text for a machine with clang and lld; the test is
// skipped where they are missing.
func compile(t *testing.T, target, text string, link ...string) (path string, data []byte) {
	t.Helper()
	clang, linker := fixture.LLVM(t, "clang"), fixture.LLVM(t, "lld-link")
	dir := t.TempDir()
	src, obj, out := filepath.Join(dir, "a.c"), filepath.Join(dir, "a.obj"), filepath.Join(dir, "a.dll")
	if err := os.WriteFile(src, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	debug := []string{"-g", "-gcodeview"}
	if strings.Contains(target, "mingw") || strings.Contains(target, "gnu") {
		debug = []string{"-gdwarf-4"}
	}
	run(t, clang, append(debug, "--target="+target, "-O1", "-c", src, "-o", obj)...)
	run(t, linker, append(link, "-nodefaultlib", "-dll", "-noentry", "-out:"+out, obj)...)
	data, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	return out, data
}

func run(t *testing.T, name string, args ...string) string {
	t.Helper()
	out, err := exec.Command(name, args...).CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v: %s", filepath.Base(name), err, out)
	}
	return string(out)
}

// TestCompiled compares linked images with llvm-readobj's output.
func TestCompiled(t *testing.T) {
	for _, machine := range []string{"x86_64", "aarch64", "i686"} {
		t.Run(machine, func(t *testing.T) {
			path, data := compile(t, machine+"-pc-windows-msvc", program, "-debug")
			f, err := Parse(data)
			if err != nil || len(f.Warnings) > 0 {
				t.Fatal(err, f)
			}
			text := run(t, fixture.LLVM(t, "llvm-readobj"), "--file-headers", "--coff-exports", "--coff-debug-directory", path)
			v, err := f.CodeView()
			if err != nil {
				t.Fatal(err)
			}
			guid := strings.NewReplacer("-", "", "{", "", "}", "", "(", "", ")", "", " ", "").Replace(field(t, text, "PDBGUID"))
			// Older versions print the bytes in file order.
			if got := v.DebugID(); got != guid+field(t, text, "PDBAge") && fmt.Sprintf("%X", v.GUID) != guid {
				t.Errorf("debug identifier %s, llvm-readobj: %s", got, guid)
			}
			if v.Path != field(t, text, "PDBFileName") {
				t.Errorf("PDB %s", v.Path)
			}
			var size uint32
			fmt.Sscan(field(t, text, "SizeOfImage"), &size)
			if f.SizeOfImage != size || !strings.Contains(text, fmt.Sprintf("(0x%X)", f.TimeDateStamp)) {
				t.Errorf("code identifier %s", f.CodeID())
			}
			n := 0
			for e, err := range f.Exports() {
				n++
				want := fmt.Sprintf("Ordinal: %d\n  Name: %s\n  RVA: 0x%X\n", e.Ordinal, e.Name, e.RVA)
				if err != nil || !strings.Contains(text, want) {
					t.Errorf("%+v, %v", e, err)
				}
			}
			if n != 2 {
				t.Errorf("%d exports", n)
			}
			if (len(f.Pdata()) > 0) != (machine != "i686") {
				t.Errorf("function table of %d bytes", len(f.Pdata()))
			}
		})
	}
}

func field(t *testing.T, text, name string) string {
	t.Helper()
	m := regexp.MustCompile(name + `: (.*)`).FindStringSubmatch(text)
	if m == nil {
		t.Fatalf("no %s in %s", name, text)
	}
	return m[1]
}

// TestMinGW reads the symbols and DWARF sections of images as MinGW makes them.
func TestMinGW(t *testing.T) {
	_, data := compile(t, "x86_64-w64-mingw32", program, "-lldmingw", "-debug:dwarf,symtab")
	f, err := Parse(data)
	if err != nil || len(f.Warnings) > 0 {
		t.Fatal(err, f)
	}
	for _, name := range []string{".debug_info", ".debug_abbrev", ".debug_line"} {
		s := f.Section(name)
		if s == nil {
			t.Errorf("no %s", name)
		} else if b, err := f.SectionData(s); len(b) == 0 {
			t.Errorf("%s: %v", name, err)
		}
	}
	e, ok := f.ExportAt(f.Section(".text").RVA)
	s, ok2 := f.SymbolAt(e.RVA + 1)
	if !ok || !ok2 || e.Name != "exported" || s.Name != "exported" || s.RVA != e.RVA {
		t.Errorf("%+v, %+v", e, s)
	}
}

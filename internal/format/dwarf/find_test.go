package dwarf

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"testing"

	"github.com/corewalk/corewalk/internal/fixture"
)

// TestFind compares the entries that names lead to with those that llvm-dwarfdump --find prints, in one index of two units by
// lld and in an index of each.
func TestFind(t *testing.T) {
	clang, dump := fixture.LLVM(t, "clang++"), fixture.LLVM(t, "llvm-dwarfdump")
	run := func(dir, name string, args ...string) string {
		cmd := exec.Command(name, args...)
		cmd.Dir = dir
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Skipf("%s %v: %v: %.300s (Debian: clang-19, lld, llvm-19)", name, args, err, out)
		}
		return string(out)
	}
	sources := map[string]string{
		"a.cpp": "namespace n { struct Box { int v; struct Inner { int i; } in; Box(int x) : v(x) {} }; enum Kind { A }; Kind kind; int total; }\n" +
			"namespace { struct Hidden { int h; } hidden; }\nint f(int); template<class T> T same(T x) { return x; } int g(int x) { n::Box b(x); return b.v + hidden.h + same(2) + f(x); }\n",
		"b.cpp": "namespace n { struct Box { int v; Box(int x) : v(x) {} }; } struct box { long l; }; box lower; typedef int number;\nint f(number x) { n::Box b(x); return b.v + lower.l; } int main() { return f(1); }\n",
	}
	entry := regexp.MustCompile(`(?m)^0x([0-9a-f]+): +DW_TAG_`)
	for _, link := range []string{"-Wl,--debug-names", "-Wl,--gc-sections"} {
		args := []string{"-g", "-gdwarf-5", "-gpubnames", "-O1", "-fuse-ld=lld", link, "a.cpp", "b.cpp", "-o", "program"}
		dir := fixture.Made(t, append(args, sources["a.cpp"], sources["b.cpp"]), []string{clang}, func(dir string) {
			for name, text := range sources {
				if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			run(dir, clang, args...)
		})
		s := readELF(t, filepath.Join(dir, "program"))
		d := s.data()
		all := d.names.all(d)
		if len(all) == 0 {
			t.Skip("no .debug_names")
		}
		names := map[string]bool{"Nothing": true}
		for _, x := range all {
			for i := range x.names {
				b, _ := d.str(SecStr, x.word(x.texts, i))
				names[string(b)] = true
			}
		}
		if len(names) < 15 {
			t.Errorf("%d names", len(names))
		}
		for name := range names {
			var want, got []uint64
			for _, m := range entry.FindAllStringSubmatch(run(dir, dump, "--find="+name, "program"), -1) {
				off, _ := strconv.ParseUint(m[1], 16, 64)
				want = append(want, off)
			}
			hash, _ := nameHash(name)
			for _, x := range all {
				n, ok, err := x.find(d, name, hash)
				if err == nil && ok {
					err = x.each(d, n, func(e *nameEntry) bool { got = append(got, e.unit+e.off); return true })
				}
				if err != nil {
					t.Errorf("%s: %v", name, err)
				}
			}
			slices.Sort(want)
			slices.Sort(got)
			if want = slices.Compact(want); !slices.Equal(slices.Compact(got), want) {
				t.Errorf("%s: %s: entries %#x, llvm-dwarfdump has %#x", link, name, got, want)
			}
		}
		run(dir, dump, "--verify", "program")
	}
}

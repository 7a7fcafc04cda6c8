package image_test

import (
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/corewalk/corewalk/internal/files/image"
	"github.com/corewalk/corewalk/internal/fixture"
	"github.com/corewalk/corewalk/internal/format/elffile"
)

// stubs returns the names of a module's stubs, tested every 8 bytes.
func stubs(im *image.Image) map[uint64]string {
	found := map[uint64]string{}
	for _, s := range im.ELF().Sections() {
		if s.Flags&elffile.SHF_EXECINSTR == 0 {
			continue
		}
		for at := s.Addr; at < s.Addr+s.Size; at += 8 {
			if name, start, ok := im.PLTStub(at + 3); ok {
				found[start] = name
			}
		}
	}
	return found
}

func TestPLTStub(t *testing.T) {
	for name, want := range map[string][]string{
		"amd64-pie":          {"__cxa_finalize"},
		"amd64-cxx-uncaught": {"__cxa_throw"},
		"amd64-static":       {"strlen"}, // chosen at start-up
		"amd64-go-nil":       nil,
		"i386-pic":           {"fill"}, // relative to ebx
	} {
		c := fixture.Get(t, name)
		im := open(t, c.Binary(t), t.TempDir())
		got := stubs(im)
		all := map[string]bool{}
		for at, n := range got {
			all[n] = true
			if !im.InPLT(at) {
				t.Errorf("%s: the stub of %s at %#x is not among the stubs", name, n, at)
			}
		}
		if text := im.ELF().Section(".text"); im.InPLT(text.Addr) || im.InPLT(text.Addr+text.Size-1) {
			t.Errorf("%s: all code is among the stubs", name)
		}
		for _, n := range want {
			if !all[n] {
				t.Errorf("%s: no stub of %s among %v", name, n, got)
			}
		}
		if want == nil && len(got) > 0 {
			t.Errorf("%s: stubs %v", name, got)
		}
	}
}

// The names must be those that objdump prints.
func TestPLTStubOracle(t *testing.T) {
	fixture.Tools(t)
	objdump, err := exec.LookPath("objdump")
	if err != nil {
		t.Skip("objdump is not installed (Debian: binutils)")
	}
	label := regexp.MustCompile(`(?m)^([0-9a-f]{8,16}) <([^>]+)@plt>:$`)
	for _, name := range []string{"amd64-pie", "amd64-cxx-uncaught", "amd64-musl", "amd64-rust-segv", "amd64-clang", "i386-pic"} {
		path := fixture.Get(t, name).Binary(t)
		out, err := exec.Command(objdump, "-d", "-j", ".plt", "-j", ".plt.sec", "-j", ".plt.got", path).Output()
		if err != nil {
			t.Logf("%s: objdump: %v", name, err)
		}
		got := stubs(open(t, path, t.TempDir()))
		labels := label.FindAllStringSubmatch(string(out), -1)
		for _, m := range labels {
			at, _ := strconv.ParseUint(m[1], 16, 64)
			want, _, _ := strings.Cut(m[2], "@") // its version
			if got[at] != want {
				t.Errorf("%s: stub at %#x is %q, objdump has %q", name, at, got[at], want)
			}
		}
		t.Logf("%s: %d stubs", name, len(labels))
	}
}

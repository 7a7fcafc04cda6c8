package disasm

import (
	"encoding/hex"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/corewalk/corewalk/internal/fixture"
	"github.com/corewalk/corewalk/unwind/arch"
)

func TestCallBeforeUndecoded(t *testing.T) {
	t.Parallel()
	const pc = 0x80001000
	for _, c := range []struct {
		arch *arch.Arch
		code string // what ends at pc
		want CallSite
		ok   bool
	}{
		{arch.M68K, "4e b9 80 00 03 9a", CallSite{6, 0x8000039a, true}, true},
		{arch.M68K, "61 ff 00 00 01 a2", CallSite{6, pc - 4 + 0x1a2, true}, true},
		{arch.M68K, "61 00 07 ee", CallSite{4, pc - 2 + 0x7ee, true}, true},
		{arch.M68K, "61 f0", CallSite{2, pc - 16, true}, true},
		{arch.M68K, "4e 90", CallSite{Len: 2}, true},
		{arch.M68K, "4e a8 00 10", CallSite{Len: 4}, true},
		{arch.M68K, "4e b0 0c 00", CallSite{Len: 4}, true},
		{arch.M68K, "4e bb 01 70 00 00 12 34", CallSite{Len: 8}, true},
		{arch.M68K, "4e ba ff f0", CallSite{4, pc - 2 - 16, true}, true},
		{arch.M68K, "4e 75", CallSite{}, false},
		{arch.M68K, "60 10", CallSite{}, false},
		{arch.M68K, "4e d0", CallSite{}, false}, // jmp
		{arch.M68K, "4e", CallSite{}, false},
		{arch.SPARC64, "7f ff ff 84 ae 05 e3 f0", CallSite{8, pc - 8 - 4*0x7c, true}, true},
		{arch.SPARC64, "9f c0 40 00 01 00 00 00", CallSite{Len: 8}, true},
		{arch.SPARC64, "81 c7 e0 08 91 e8 00 08", CallSite{}, false}, // ret
		{arch.SPARC64, "01 00 00 00", CallSite{}, false},
		{arch.Alpha, "f1 ff 5f d3", CallSite{4, pc - 15*4, true}, true},
		{arch.Alpha, "00 40 5b 6b", CallSite{Len: 4}, true},
		{arch.Alpha, "01 80 fa 6b", CallSite{}, false}, // ret
		{arch.Alpha, "01 80 5a 6b", CallSite{}, false}, // ret that links
		{arch.Alpha, "00", CallSite{}, false},
		{arch.HPPA, "e8 5f 1f 9d 0e 79 12 90", CallSite{Len: 8}, true},
		{arch.HPPA, "eb ff 1b d5 08 1f 02 42", CallSite{Len: 8}, true},
		{arch.HPPA, "e4 00 82 00 34 14 00 f0", CallSite{Len: 8}, true},
		{arch.HPPA, "e8 40 c0 00 0b 99 0a 1c", CallSite{}, false}, // bv r0(rp)
		{arch.HPPA, "e8 00 00 92 03 60 08 bc", CallSite{}, false}, // b
		{arch.HPPA, "08 00 02 40", CallSite{}, false},
	} {
		got, ok := CallBefore(c.arch, unhex(t, c.code), pc)
		if ok != c.ok || ok && got != c.want {
			t.Errorf("%s: %s: %+v, %v; want %+v, %v", c.arch.Name, c.code, got, ok, c.want, c.ok)
		}
		if _, err := Decode(c.arch, unhex(t, c.code), pc); err == nil {
			t.Errorf("%s: decoded", c.arch.Name)
		}
	}
}

// TestCallsUndecodedLibrary finds the calls in each architecture's libc, using the output
// of its objdump.
func TestCallsUndecodedLibrary(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		arch        *arch.Arch
		tool, path  string
		behind      uint64 // bytes from a call's end to where it returns to
		calls, ends []string
	}{
		{arch.M68K, "m68k-linux-gnu-objdump", "/usr/m68k-linux-gnu/lib/libc.so.6", 0, []string{"bsr", "jsr"}, nil},
		{arch.SPARC64, "sparc64-linux-gnu-objdump", "/usr/sparc64-linux-gnu/lib/libc.so.6", 4, []string{"call"}, nil},
		{arch.Alpha, "alpha-linux-gnu-objdump", "/usr/alpha-linux-gnu/lib/libc.so.6.1", 0, []string{"bsr\tra", "jsr\tra"}, nil},
		{arch.HPPA, "hppa-linux-gnu-objdump", "/usr/hppa-linux-gnu/lib/libc.so.6", 4, []string{"b,l"}, []string{",rp"}},
	} {
		t.Run(c.arch.Name, func(t *testing.T) {
			fixture.Tools(t)
			if _, err := exec.LookPath(c.tool); err != nil {
				t.Skip(c.tool + " is not installed (make deps installs it on Debian)")
			}
			if _, err := os.Stat(c.path); err != nil {
				t.Skip(c.path + " is not installed (make deps installs it on Debian)")
			}
			callsOfObjdump(t, c.arch, c.tool, c.path, c.behind, func(text string) bool {
				starts, ends := false, c.ends == nil
				for _, s := range c.calls {
					starts = starts || strings.HasPrefix(text, s)
				}
				for _, s := range c.ends {
					ends = ends || strings.HasSuffix(text, s)
				}
				return starts && ends
			})
		})
	}
}

// callsOfObjdump tests CallBefore after every instruction that tool prints, or a sample of them: it must find
// those that isCall accepts, and few others.
func callsOfObjdump(t *testing.T, a *arch.Arch, tool, path string, behind uint64, isCall func(text string) bool) {
	var window []byte
	calls, others, wrong, bad := 0, 0, 0, 0
	returns := map[uint64]string{} // where calls return to
	next := uint64(0)
	if err := objdumpColumns(t, func(addr uint64, bytes, text string) bool {
		code, err := hex.DecodeString(strings.ReplaceAll(bytes, " ", ""))
		if err != nil || len(code) == 0 {
			return false
		}
		if addr != next {
			window, next = window[:0], addr
		}
		window, next = append(window, code...), next+uint64(len(code))
		if isCall(text) {
			returns[next+behind] = text
		}
		_, ok := CallBefore(a, window[max(0, len(window)-8):], next)
		switch text, call := returns[next]; {
		case call:
			if calls++; !ok {
				if bad++; bad < 20 {
					t.Errorf("%x: after %s: no call found", next, text)
				}
			}
		case ok:
			wrong++
			others++
		default:
			others++
		}
		return true
	}, tool, "-d", "-w", path); err != nil {
		t.Skipf("%s: %v", tool, err)
	}
	t.Logf("%d calls found; %d of %d other addresses look like one", calls, wrong, others)
	if calls < 1000 || wrong*100 > others {
		t.Errorf("%d calls; %d of %d addresses that follow none are taken for return addresses", calls, wrong, others)
	}
}

func FuzzCallBeforeUndecoded(f *testing.F) {
	f.Add([]byte{0x4e, 0xbb, 0x01, 0x70, 0, 0, 0x12, 0x34})
	f.Add([]byte{0x61})
	f.Add([]byte{0xe8, 0x5f, 0x1f, 0x9d, 0, 0, 0, 0})
	f.Fuzz(func(t *testing.T, code []byte) {
		for _, a := range []*arch.Arch{arch.M68K, arch.SPARC64, arch.Alpha, arch.HPPA} {
			site, ok := CallBefore(a, code, 0x80001000)
			if ok && (site.Len < 2 || site.Len > len(code) || a.Truncate(site.Target) != site.Target) {
				t.Fatalf("%s: % x: %+v", a.Name, code, site)
			}
		}
	})
}

package disasm

import (
	"os"
	"strings"
	"testing"

	"github.com/corewalk/corewalk/unwind/arch"
)

func TestCallBefore(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, code string
		want       CallSite
		ok         bool
	}{
		{"call rel32", "e8 10 00 00 00", CallSite{5, testPC + 0x10, true}, true},
		{"call rel32 backwards", "e8 00 ff ff ff", CallSite{5, testPC - 0x100, true}, true},
		{"call far away", "e8 00 00 00 70", CallSite{5, testPC + 0x70000000, true}, true},
		{"call rax", "90 ff d0", CallSite{Len: 2}, true},
		{"call r12", "41 ff d4", CallSite{Len: 3}, true},
		{"notrack call rax", "3e ff d0", CallSite{Len: 3}, true},
		{"call [rax]", "90 90 ff 10", CallSite{Len: 2}, true},
		{"call [rax+8]", "90 ff 50 08", CallSite{Len: 3}, true},
		{"call [rsp]", "90 ff 14 24", CallSite{Len: 3}, true},
		{"call [rsp+8]", "90 ff 54 24 08", CallSite{Len: 4}, true},
		{"call [r12+8]", "41 ff 54 24 08", CallSite{Len: 5}, true},
		{"call [rip+disp32]", "ff 15 fa 2f 00 00", CallSite{Len: 6}, true},
		{"call [rbx+disp32]", "90 ff 93 00 01 00 00", CallSite{Len: 6}, true},
		{"call [r12+disp32]", "41 ff 94 24 00 01 00 00", CallSite{Len: 8}, true},
		{"call [rax*8+disp32]", "ff 14 c5 00 20 40 00", CallSite{Len: 7}, true},
		{"call fs:[disp32]", "64 ff 14 25 10 00 00 00", CallSite{Len: 8}, true},
		{"bnd call [rip+disp32]", "f2 ff 15 00 00 00 00", CallSite{Len: 7}, true},
		{"call far [rax]", "90 ff 18", CallSite{Len: 2}, true},
		{"rex.w __tls_get_addr", "66 66 48 e8 10 00 00 00", CallSite{5, testPC + 0x10, true}, true},
		{"e8 inside call rax", "e8 90 90 ff d0", CallSite{Len: 2}, true},
		{"push", "55", CallSite{}, false},
		{"jmp rax", "90 90 90 ff e0", CallSite{}, false},
		{"jmp rel32", "e9 10 00 00 00", CallSite{}, false},
		{"ff d0 not at the end", "ff d0 90", CallSite{}, false},
		{"e8 cut off", "10 00 00 00", CallSite{}, false},
		{"modrm cut off", "ff", CallSite{}, false},
		{"SIB cut off", "90 90 ff 14", CallSite{}, false},
		{"register form of a far call", "90 90 ff d8", CallSite{}, false},
		{"nothing", "", CallSite{}, false},
	} {
		got, ok := CallBefore(arch.AMD64, unhex(t, c.code), testPC)
		if got != c.want || ok != c.ok {
			t.Errorf("%s: %+v, %v; want %+v, %v", c.name, got, ok, c.want, c.ok)
		}
	}
	if _, ok := CallBefore(nil, unhex(t, "ff d0"), testPC); ok {
		t.Error("no architecture, but a call")
	}
}

// TestCallBeforeLibrary finds every call in libraries of this machine from the address
// after it, and counts how often other addresses look like return addresses.
func TestCallBeforeLibrary(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		libraryOf
		oneIn int // at most one other address in so many may look like one
	}{
		{libraryOf{arch.AMD64, "/lib/x86_64-linux-gnu/libc.so.6"}, 200},
		// Displacements relative to ebx are often negative: their ff bytes look like the
		// start of calls.
		{libraryOf{arch.X86, "/lib32/libc.so.6"}, 150},
	} {
		t.Run(c.arch.Name, func(t *testing.T) {
			if _, err := os.Stat(c.path); err != nil {
				t.Skip(c.path + " is not installed (make deps installs it on Debian)")
			}
			callsOfLibrary(t, c.libraryOf, c.oneIn)
		})
	}
}

func callsOfLibrary(t *testing.T, lib libraryOf, oneIn int) {
	var window []byte
	calls, others, wrong := 0, 0, 0
	next := uint64(0)
	objdumpLines(t, func(l objdumpLine) {
		if l.addr != next {
			window = window[:0]
		}
		next = l.addr + uint64(len(l.code))
		window = append(window, l.code...)
		code := window[max(0, len(window)-16):]
		site, ok := CallBefore(lib.arch, code, next)
		in, err := Decode(lib.arch, l.code, l.addr)
		if err == nil && in.Kind.IsCall() && !strings.Contains(l.text, "(bad)") {
			calls++
			if !ok || site.Direct != (in.Kind == Call) || site.Target != in.Target {
				t.Errorf("%x: %s: %+v, %v", l.addr, l.text, site, ok)
			}
			return
		}
		others++
		if ok {
			wrong++
		}
	}, "-d", lib.path)
	t.Logf("%d calls found; %d of %d other addresses look like one", calls, wrong, others)
	if wrong*oneIn > others {
		t.Errorf("%d of %d addresses that follow no call are taken for return addresses", wrong, others)
	}
}

func FuzzCallBefore(f *testing.F) {
	f.Add([]byte{0xe8, 0, 0, 0, 0})
	f.Add([]byte{0x41, 0xff, 0x54, 0x24, 0x08})
	f.Fuzz(func(t *testing.T, code []byte) {
		site, ok := CallBefore(arch.AMD64, code, testPC)
		if ok && (site.Len < 2 || site.Len > len(code)) {
			t.Fatalf("% x: %+v", code, site)
		}
		if !ok {
			return
		}
		in, err := Decode(arch.AMD64, code[len(code)-site.Len:], testPC-uint64(site.Len))
		if err != nil || !in.Kind.IsCall() || in.Len != site.Len {
			t.Fatalf("% x: %+v, but it decodes as %v %v", code, site, in.Kind, err)
		}
	})
}

func BenchmarkCallBefore(b *testing.B) {
	for name, s := range map[string]string{
		"direct": "48 89 df 48 8b 74 24 08 31 d2 90 e8 10 20 00 00",
		"none":   "48 89 df 48 8b 74 24 08 31 d2 90 41 5c 5d 5b c3",
	} {
		code := unhex(b, s)
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				CallBefore(arch.AMD64, code, testPC)
			}
		})
	}
}

package libstate

import (
	"slices"
	"testing"

	"github.com/corewalk/corewalk/unwind/arch"
)

func TestLibraryNames(t *testing.T) {
	for _, tt := range []struct {
		path            string
		libc, libthread bool
	}{
		{"/lib/x86_64-linux-gnu/libc.so.6", true, false},
		{"/lib/x86_64-linux-gnu/libc-2.31.so", true, false},
		{"/lib/libc-2.2.5.so", true, false},
		{"/system/lib64/libc.so", true, false},
		{"libc.so.6", true, false},
		{"/lib/ld-musl-x86_64.so.1", true, false},
		{"/lib/libc.musl-x86_64.so.1", true, false},
		{"/usr/lib/libc.so.12", true, false},
		{"/lib/libcrypt.so.1", false, false},
		{"/lib/libcrypt-2.31.so", false, false},
		{"/usr/lib/libc_nonshared.a", false, false},
		{"/usr/lib/libc++.so.1", false, false},
		{"/lib/libc", false, false},
		{"/lib/libc-2.31.so.debug", true, false},
		{"/lib/libc-extra.so", false, false},
		{"/lib/libc.so.6/other", false, false},
		{"/lib/libc-.so", false, false},
		{"/lib/libpthread.so.0", false, true},
		{"/lib/libpthread-2.31.so", false, true},
		{"/lib/libthr.so.3", false, true},
		{"/lib/libpthreads.so", false, false},
		{"", false, false},
	} {
		if got := isLibc(tt.path); got != tt.libc {
			t.Errorf("isLibc(%q) = %v", tt.path, got)
		}
		if got := isLibthread(tt.path); got != tt.libthread {
			t.Errorf("isLibthread(%q) = %v", tt.path, got)
		}
	}
}

func lib(path string, kind Kind, bias arch.Address, ranges ...arch.Address) *Library {
	l := &Library{Path: path, Kind: kind, LoadBias: bias}
	var maps []Mapping
	for i := 0; i < len(ranges); i += 2 {
		maps = append(maps, Mapping{Start: ranges[i], End: ranges[i+1], Path: path, Perm: Read})
	}
	l.SetMappings(maps)
	return l
}

func TestLibraryAt(t *testing.T) {
	a := lib("/a", Executable, 0x1000, 0x1000, 0x2000, 0x3000, 0x4000)
	b := lib("/b", SharedLibrary, 0x2000, 0x2000, 0x3000) // inside a's hole
	over := lib("/over", SharedLibrary, 0x3800, 0x3800, 0x5000)
	tab := NewTable([]*Library{over, b, a}, 0x1234)
	for addr, want := range map[arch.Address]*Library{
		0: nil, 0xfff: nil, 0x1000: a, 0x1fff: a, 0x2000: b, 0x2fff: b, 0x3000: a, 0x3fff: a,
		0x4000: over, 0x4fff: over, 0x5000: nil, ^arch.Address(0): nil,
	} {
		if got, ok := tab.LibraryAt(addr); got != want || ok != (want != nil) {
			t.Errorf("LibraryAt(%#x) = %v, %v; want %v", addr, got, ok, want)
		}
	}
	libs, err := tab.Libraries(true)
	if err != nil || !slices.Equal(libs, []*Library{a, b, over}) {
		t.Errorf("Libraries = %v, %v", libs, err)
	}
	if got, ok := tab.AOut(); got != a || !ok {
		t.Errorf("AOut = %v, %v", got, ok)
	}
	if tab.LibTrapAddress() != 0x1234 || tab.Refresh() != nil {
		t.Error("LibTrapAddress or Refresh")
	}
	if n := testing.AllocsPerRun(100, func() { tab.LibraryAt(0x2500) }); n != 0 {
		t.Errorf("LibraryAt allocates %v times", n)
	}
}

func TestLibcAndLibthread(t *testing.T) {
	exe := lib("/bin/prog", Executable, 0, 0x1000, 0x2000)
	vdso := lib(VDSOName, VDSO, 0x9000, 0x9000, 0xa000)
	ld := lib("/lib/ld-linux-x86-64.so.2", Interpreter, 0x5000, 0x5000, 0x6000)
	libc := lib("/lib/libc.so.6", SharedLibrary, 0x3000, 0x3000, 0x4000)
	thr := lib("/lib/libpthread-2.31.so", SharedLibrary, 0x4000, 0x4000, 0x5000)
	musl := lib("/lib/ld-musl-aarch64.so.1", Interpreter, 0x5000, 0x5000, 0x6000)
	for _, tt := range []struct {
		name            string
		libs            []*Library
		dynamic         bool
		libc, libthread *Library
	}{
		{"static", []*Library{exe}, false, exe, exe},
		{"static with the vDSO", []*Library{exe, vdso}, false, exe, exe},
		{"dynamic, libraries not found", []*Library{exe, vdso}, true, nil, nil},
		{"glibc 2.31", []*Library{exe, libc, thr, ld, vdso}, true, libc, thr},
		{"glibc 2.36", []*Library{exe, libc, ld, vdso}, true, libc, nil},
		{"musl", []*Library{exe, musl, vdso}, true, musl, nil},
		{"nothing", nil, false, nil, nil},
	} {
		tab := NewTable(tt.libs, 0)
		if tt.dynamic {
			tab.SetDynamic()
		}
		gotC, okC := tab.Libc()
		gotT, okT := tab.Libthread()
		if gotC != tt.libc || okC != (tt.libc != nil) || gotT != tt.libthread || okT != (tt.libthread != nil) {
			t.Errorf("%s: Libc %v, Libthread %v", tt.name, gotC, gotT)
		}
	}
}

func TestReplaceTellsTheDifference(t *testing.T) {
	exe := lib("/bin/prog", Executable, 0, 0x1000, 0x2000)
	a := lib("/a.so", SharedLibrary, 0x3000, 0x3000, 0x4000)
	moved := lib("/a.so", SharedLibrary, 0x7000, 0x7000, 0x8000)
	grown := lib("/bin/prog", Executable, 0, 0x1000, 0x3000)
	tab := NewTable([]*Library{exe, a}, 0)
	var news []string
	note := func(l *Library, c Change) { news = append(news, c.String()+" "+l.Path) }
	cancel := tab.Subscribe(note)
	other := 0
	tab.Subscribe(func(*Library, Change) { other++ })

	tab.Replace([]*Library{lib("/bin/prog", Executable, 0, 0x1000, 0x2000), moved}, 0)
	if want := []string{"library_unload /a.so", "library_load /a.so"}; !slices.Equal(news, want) {
		t.Errorf("a library that moved: %q, want %q", news, want)
	}
	if got, _ := tab.AOut(); got != exe {
		t.Error("an unchanged library became another *Library")
	}
	if _, ok := tab.LibraryAt(0x3000); ok {
		t.Error("the old place is still there")
	}
	news = nil
	tab.Replace([]*Library{grown, moved}, 0)
	if len(news) != 0 {
		t.Errorf("new mappings of a known library: %q", news)
	}
	if got, _ := tab.LibraryAt(0x2800); got != grown {
		t.Errorf("its new mapping belongs to %v", got)
	}
	cancel()
	cancel()
	tab.Replace([]*Library{grown}, 0)
	if len(news) != 0 || other != 3 {
		t.Errorf("after cancel: %q; the other subscriber heard %d of 3", news, other)
	}
}

func TestSubscriberMayCancelItself(t *testing.T) {
	tab := NewTable(nil, 0)
	n := 0
	var cancel func()
	cancel = tab.Subscribe(func(*Library, Change) { n++; cancel() })
	a := lib("/a.so", SharedLibrary, 0x3000, 0x3000, 0x4000)
	tab.Replace([]*Library{a}, 0)
	tab.Replace(nil, 0)
	if n != 1 {
		t.Errorf("called %d times", n)
	}
}

func BenchmarkLibraryAt(b *testing.B) {
	var libs []*Library
	for i := range arch.Address(200) {
		libs = append(libs, lib("/lib", SharedLibrary, i<<16, i<<16, i<<16+0x4000, i<<16+0x8000, i<<16+0xc000))
	}
	tab := NewTable(libs, 0)
	for i := 0; b.Loop(); i++ {
		tab.LibraryAt(arch.Address(i*7919) % (200 << 16))
	}
}

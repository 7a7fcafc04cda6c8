package steppers_test

import (
	"errors"
	"testing"

	"github.com/corewalk/corewalk/libstate"
	"github.com/corewalk/corewalk/steppers"
	"github.com/corewalk/corewalk/unwind"
	"github.com/corewalk/corewalk/unwind/arch"
)

func TestBottomOfStack(t *testing.T) {
	syms := symbols(names)
	unnamed := symbols(nil)
	tests := []struct {
		name  string
		ra    uint64 // in the file
		top   bool
		kind  libstate.Kind
		syms  unwind.SymbolReader
		extra []string
		want  bool
	}{
		{name: "_start, after its call", ra: raStart, kind: libstate.Executable, syms: syms, want: true},
		{name: "_start, its call being its last instruction", ra: endStart, kind: libstate.Executable, syms: syms, want: true},
		{name: "_start, interrupted at its first instruction", ra: fnStart, top: true, kind: libstate.Executable, syms: syms, want: true},
		{name: "interrupted just past _start", ra: endStart, top: true, kind: libstate.Executable, syms: syms},
		{name: "returning to _start's first byte", ra: fnStart, kind: libstate.Executable, syms: syms},
		{name: "stripped program", ra: raStart, kind: libstate.Executable, syms: unnamed, want: true},
		{name: "no symbol reader", ra: raStart, kind: libstate.Executable, want: true},
		{name: "dynamic linker", ra: raStart, kind: libstate.Interpreter, want: true},
		{name: "dynamic linker, _dl_start_user", ra: fnStart + 0x30, kind: libstate.Interpreter, syms: syms, want: true},
		{name: "past the dynamic linker's", ra: fnStart + 0x41, kind: libstate.Interpreter},
		{name: "entry point of a library", ra: raStart, kind: libstate.SharedLibrary, syms: syms},
		{name: "entry point that is an ordinary function", ra: raStart, kind: libstate.Executable, syms: syms.renamed("_start", "main")},
		{name: "Go's entry point", ra: raStart, kind: libstate.Executable, syms: syms.renamed("_start", "_rt0_amd64_linux"), want: true},
		{name: "an ordinary function", ra: raCaller, kind: libstate.Executable, syms: syms},
		{name: "thread of glibc", ra: raClone, kind: libstate.SharedLibrary, syms: syms, want: true},
		{name: "thread of a static program", ra: raClone, kind: libstate.Executable, syms: syms, want: true},
		{name: "thread of a stripped library", ra: raClone, kind: libstate.SharedLibrary, syms: unnamed, want: true},
		{name: "clone under another name, in a stripped library", ra: raClone, kind: libstate.SharedLibrary, syms: syms.renamed("clone", "umount2"), want: true},
		{name: "program that ends its thread itself", ra: raClone, kind: libstate.Executable, syms: syms.renamed("clone", "work")},
		{name: "parent in clone", ra: fnClone + 2, top: true, kind: libstate.SharedLibrary, syms: syms},
		{name: "interrupted after the thread's function", ra: raClone, top: true, kind: libstate.SharedLibrary, syms: syms},
		{name: "thread of musl", ra: raMusl, kind: libstate.Interpreter, syms: syms, want: true},
		{name: "thread of Go", ra: raGoClone, kind: libstate.Executable, syms: syms, want: true},
		{name: "thread of Go before ABI wrappers", ra: raGoClone, kind: libstate.Executable, syms: syms.renamed("runtime.clone.abi0", "runtime.clone"), want: true},
		{name: "thread of a stripped Go program", ra: raGoClone, kind: libstate.Executable, syms: unnamed, want: true},
		{name: "Go code that ends its thread itself", ra: raGoClone, kind: libstate.Executable, syms: syms.renamed("runtime.clone.abi0", "main.quit")},
		{name: "context", ra: fnContext, kind: libstate.SharedLibrary, syms: unnamed, want: true},
		{name: "interrupted at a context's end", ra: fnContext, top: true, kind: libstate.SharedLibrary, syms: unnamed},
		{name: "fiber of Boost.Context", ra: raFiber, kind: libstate.SharedLibrary, syms: unnamed, want: true},
		{name: "one with endbr64", ra: raFiber2, kind: libstate.Executable, syms: syms, want: true},
		{name: "interrupted at a fiber's end", ra: raFiber, top: true, kind: libstate.SharedLibrary, syms: unnamed},
		{name: "a call before a fiber's end", ra: raNoFiber, kind: libstate.SharedLibrary, syms: unnamed},
		{name: "goroutine", ra: fnGoexit + 1, kind: libstate.Executable, syms: syms, want: true},
		{name: "goroutine's look-alike", ra: fnGoexit + 1, kind: libstate.Executable, syms: unnamed},
		{name: "function that the user named", ra: raCaller, kind: libstate.Executable, syms: syms, extra: []string{"caller"}, want: true},
		{name: "NetBSD's start-up code", ra: raCaller, kind: libstate.Executable, syms: syms.renamed("caller", "___start"), want: true},
		{name: "a library's function of that name", ra: raCaller, kind: libstate.SharedLibrary, syms: syms.renamed("caller", "___start")},
		{name: "no such name", ra: raCaller, kind: libstate.Executable, syms: syms, extra: []string{"nobody"}},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			p := newProc(map[string]uint64{"rip": bias + tc.ra, "rsp": stack})
			p.libs = libstate.NewTable([]*libstate.Library{p.program(tc.kind)}, 0)
			w := walker(t, p, tc.syms, must(steppers.NewBottomOfStackStepper(arch.AMD64, tc.extra...)))
			in := called(t, w, bias+tc.ra, stack, 0)
			if tc.top {
				in = must(w.InitialFrame(1))
			}
			for range 2 { // the second time from what was remembered
				_, err := w.WalkSingleFrame(in)
				if got := errors.Is(err, unwind.ErrStackBottom); got != tc.want {
					t.Fatalf("bottom: %v (%v); want %v", got, err, tc.want)
				}
			}
			if in.IsBottomFrame() != tc.want {
				t.Errorf("IsBottomFrame is %v", in.IsBottomFrame())
			}
		})
	}
}

// TestFiberEnds: the ends of Boost.Context's fibers on other machines.
func TestFiberEnds(t *testing.T) {
	const at = 0x100
	for _, c := range []struct {
		name  string
		arch  *arch.Arch
		words []uint32
		off   uint64
		want  bool
	}{
		{"arm64", arch.ARM64, []uint32{0xd65f03c0, 0xd2800000, bl(at+8, 0x200)}, 4, true},
		{"arm64, the next function", arch.ARM64, []uint32{0xd65f03c0, 0xd2800000, 0xd503201f}, 4, false},
		{"arm64, after a call", arch.ARM64, []uint32{0xd63f0000, 0xd2800000, bl(at+8, 0x200)}, 4, false},
		{"i386", arch.X86, []uint32{0xe8e3ff55, 0, 0x5b}, 3, true},
		{"i386, after a call", arch.X86, []uint32{0xe8d3ff55, 0, 0x5b}, 3, false},
		{"i386, without its pop", arch.X86, []uint32{0xe8e3ff55, 0, 0x90}, 3, false},
	} {
		p := newForeign(c.arch, map[int][]uint32{at: c.words})
		w := walker(t, p, nil, must(steppers.NewBottomOfStackStepper(c.arch)))
		_, err := w.WalkSingleFrame(called(t, w, foreignCode+at+c.off, foreignStack+0x100, 0))
		if got := errors.Is(err, unwind.ErrStackBottom); got != c.want {
			t.Errorf("%s: bottom: %v (%v)", c.name, got, err)
		}
	}
}

func TestBottomOfStackForgets(t *testing.T) {
	p := newProc(map[string]uint64{"rip": bias + raCaller, "rsp": stack})
	lib := p.program(libstate.Executable)
	p.libs = libstate.NewTable([]*libstate.Library{lib}, 0)
	syms := symbols(names)
	s := must(steppers.NewBottomOfStackStepper(arch.AMD64, "caller"))
	w := walker(t, p, syms, s)
	if _, err := w.WalkSingleFrame(called(t, w, bias+raCaller, stack, 0)); !errors.Is(err, unwind.ErrStackBottom) {
		t.Fatal(err)
	}
	syms[0].Name = "renamed"
	defer func() { syms[0].Name = "caller" }()
	w.StepperGroup().NewLibraryNotification(lib, libstate.Unload)
	if _, err := w.WalkSingleFrame(called(t, w, bias+raCaller, stack, 0)); errors.Is(err, unwind.ErrStackBottom) {
		t.Error("an unloaded library's symbols are still used")
	}
}

func TestUnknownArch(t *testing.T) {
	if _, err := steppers.DefaultGroup(&arch.Arch{Name: "pdp11"}, noFile); !errors.Is(err, unwind.ErrUnsupported) {
		t.Errorf("default group of an unknown architecture: %v; want ErrUnsupported", err)
	}
	if _, err := steppers.DefaultGroup(nil, noFile); err == nil {
		t.Error("default group without an architecture")
	}
	if _, err := steppers.DefaultGroup(arch.AMD64, nil); !errors.Is(err, unwind.ErrBadParam) {
		t.Errorf("default group without a resolver: %v; want ErrBadParam", err)
	}
}

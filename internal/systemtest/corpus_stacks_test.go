package systemtest

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/corewalk/corewalk"
	"github.com/corewalk/corewalk/internal/fixture"
	"github.com/corewalk/corewalk/report"
)

// TestCorpusStacks walks foreign cores of architectures and systems that no
// machine at hand has, without any of their files, and compares with what gdb and
// eu-stack make of them: the pc of each frame of a thread, or its first ones.
func TestCorpusStacks(t *testing.T) {
	files := foreignDumps(t)
	empty := t.TempDir()
	for _, tc := range []struct {
		path, arch, os string
		thread         int
		pcs            []report.Addr
		whole          bool // pcs are all frames
	}{
		// gdb. The vDSO lies below the addresses that its file has.
		{"elfutils/backtrace.i386.fp.core", "i386", "linux", 12045, []report.Addr{0x8a7416, 0x8051ab9, 0x80485c1, 0x8048699, 0x8048702,
			0x804871b, 0x804a7cf, 0x80746fe}, true},
		{"elfutils/backtrace.i386.fp.core", "i386", "linux", 12044, []report.Addr{0x8a7416, 0x804ae30, 0x804847c, 0x8053188, 0x80481e1}, true},
		// eu-stack.
		{"elfutils/testcore-rtlib", "i386", "linux", 1802, []report.Addr{0xf77b74e3, 0x80484c5, 0xf761c785}, false},
		{"elfutils/testfile_i686_core", "i386", "linux", 27395, []report.Addr{0x8048408, 0x4f781b73}, false},
		{"lldb/elf-core/linux-i386.core", "i386", "linux", 32306, []report.Addr{0x80480c5, 0x80480df, 0x80480ff}, true},
		{"lldb/elf-core/gcore/linux-i386.core", "i386", "linux", 5586, []report.Addr{0xf771cc99}, true},
		// By hand: the return address on the stack of main's frame.
		{"elfutils/testfile-x32-core", "x32", "linux", 6885, []report.Addr{0x400380, 0xf71b92ec}, false},
		{"elfutils/testfile-m68k-core", "m68k", "linux", 1963, []report.Addr{0x800003fe, 0xc00527a0}, false},
		// By hand: the windows on the stack.
		{"rizin-testbins/core-linux-sparc64", "sparc64", "linux", 597, []report.Addr{0x100000009cc, 0xfffff8010014f130, 0x100000006ac}, true},
		{"rizin-testbins/core-linux-hppa", "hppa", "linux", 418, []report.Addr{0x107e8}, true},
		// gdb and eu-stack with the program, which is not in the corpus: raise, sigusr2,
		// stdarg, backtracegen, start, start_thread, clone.
		{"elfutils/backtrace.ppc64le.fp.core", "ppc64le", "linux", 23728, []report.Addr{0x100104bc, 0x10002a1c, 0x10002b38, 0x10002bc4,
			0x10002bf0, 0x10004c28, 0x100418cc}, true},
		{"elfutils/backtrace.s390x.core", "s390x", "linux", 58546, []report.Addr{0x8000ed50, 0x800003c6, 0x8000051e, 0x80000552,
			0x80000584, 0x800040a4, 0x80030cec}, true},
		// eu-stack for the first two; the others by hand, along the back chain.
		{"elfutils/testcore-rtlib-ppc", "ppc", "linux", 10531, []report.Addr{0xfd55254, 0x100005a0, 0xfe111d4, 0xfe11390}, true},
		{"elfutils/testfile67", "s390x", "linux", 805, []report.Addr{0x800000d6}, false},
		{"elfutils/testfile68", "s390", "linux", 839, []report.Addr{0x40009a}, false},
		// lldb's register of the thread that died.
		{"lldb/netbsd-core/2lwp_process_SIGSEGV.aarch64.core", "aarch64", "netbsd", 2, []report.Addr{0x200100a44}, false},
		{"lldb/netbsd-core/2lwp_t2_SIGSEGV.amd64.core", "x86-64", "netbsd", 2, []report.Addr{0x200c10, 0x200c37, 0x200c59}, false},
	} {
		t.Run(filepath.Base(tc.path), func(t *testing.T) {
			target, err := corewalk.Open(context.Background(), filepath.Join(files, filepath.FromSlash(tc.path)), corewalk.WithSysroot(empty), corewalk.WithDebugDir(empty))
			if err != nil {
				t.Fatal(err)
			}
			defer target.Close()
			r, err := target.Analyze(context.Background(), corewalk.AnalyzeOptions{})
			if err != nil {
				t.Fatal(err)
			}
			if r.Dump.Arch != tc.arch || r.Dump.OS != tc.os {
				t.Errorf("%s on %s; want %s on %s", r.Dump.OS, r.Dump.Arch, tc.os, tc.arch)
			}
			i := slices.IndexFunc(r.Threads, func(th report.Thread) bool { return th.ID == tc.thread })
			if i < 0 {
				t.Fatalf("no thread %d", tc.thread)
			}
			var pcs []report.Addr
			for _, f := range r.Threads[i].Frames {
				pcs = append(pcs, f.PC)
			}
			if len(pcs) < len(tc.pcs) || !slices.Equal(pcs[:len(tc.pcs)], tc.pcs) || tc.whole && len(pcs) != len(tc.pcs) {
				t.Errorf("frames at %v; want %v", pcs, tc.pcs)
			}
		})
	}
}

// foreignDumps unpacks the corpus of other projects' dumps, and skips the test where
// there is none.
func foreignDumps(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(fixture.Root(t), "..", "shared", "corpus")
	if _, err := os.Stat(filepath.Join(dir, "dumps.tar.gz")); err != nil {
		t.Skipf("no foreign dumps in %s: they are no part of the repository", dir)
	}
	files := t.TempDir()
	if err := untar(filepath.Join(dir, "dumps.tar.gz"), files); err != nil {
		t.Fatal(err)
	}
	return files
}

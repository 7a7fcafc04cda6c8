package corestate

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/corewalk/corewalk/internal/fixture"
)

// A dump is one file of the corpus of other projects' dumps, with what its
// manifest says of it.
type dump struct {
	name, kind, arch, os, threads, signal, frames, note, check string

	data []byte
}

// corpus reads the corpus that may lie beside the repository.
func corpus(t *testing.T) []dump {
	t.Helper()
	manifest, files := fixture.Foreign(t)
	var list []dump
	for _, f := range manifest {
		data, ok := files[f[0]]
		if !ok {
			t.Errorf("%s is in the manifest only", f[0])
			continue
		}
		list = append(list, dump{name: f[0], kind: f[3], arch: f[4], os: f[6], threads: f[7], signal: f[8],
			frames: f[11], note: f[13], check: f[14], data: data})
	}
	return list
}

var (
	manifestPC   = regexp.MustCompile(`^pc=(0x[0-9a-f]+)`)
	manifestAddr = regexp.MustCompile(`addr (0x[0-9a-f]+)`)
)

func TestCorpusCores(t *testing.T) {
	seen := 0
	for _, d := range corpus(t) {
		if d.kind != "elf-core" || d.threads == "0" || strings.HasSuffix(d.name, "testfile62") {
			continue
		}
		seen++
		c, err := openBytes(d.name, d.data, nil)
		if err != nil {
			t.Errorf("%s (%s): %v", d.name, d.arch, err)
		}
		if c == nil {
			continue
		}
		exercise(c)
		ids, _ := c.ThreadIDs()
		if got := strconv.Itoa(len(ids)); got != d.threads {
			t.Errorf("%s: %s threads %v, want %s", d.name, got, ids, d.threads)
		}
		s := c.Signal()
		got := fmt.Sprintf("sig %d", s.Signo)
		if strings.Contains(d.signal, "code") {
			got += fmt.Sprintf(" code %d", s.Code)
		}
		if m := manifestAddr.FindStringSubmatch(d.signal); m != nil {
			got += fmt.Sprintf(" addr %#x", s.Addr)
		} else if s.HasAddr {
			t.Errorf("%s: fault address %#x, none wanted", d.name, s.Addr)
		}
		if got != d.signal {
			t.Errorf("%s: %s, want %s", d.name, got, d.signal)
		}
		m := manifestPC.FindStringSubmatch(d.frames)
		if c.Arch() == nil || m == nil {
			continue
		}
		regs, err := c.Registers(ids[0])
		want, _ := strconv.ParseUint(m[1], 0, 64)
		if pc, _ := regs.Get(c.Arch().PC); pc != c.Arch().CodeAddress(want) || err != nil {
			t.Errorf("%s: pc %#x, %v; want %s", d.name, pc, err, m[1])
		}
	}
	if seen < 35 {
		t.Errorf("only %d cores in the corpus", seen)
	}
}

func TestCorpusRefusals(t *testing.T) {
	want := map[string]error{
		"elfutils/testfile62": ErrKernelDump,
		"rizin-testbins/fuzzed/id_000001.sig_11.src_000000.op_havoc.rep_16": ErrTruncatedHeader,
		"rizin-testbins/more-than-65535-segments":                           ErrNoThreads,
		"rizin-testbins/triage_x64.dmp":                                     ErrKernelDump,
	}
	for _, d := range corpus(t) {
		start := time.Now()
		c, err := openBytes(d.name, d.data, nil)
		if c != nil {
			exercise(c)
		}
		if took := time.Since(start); took > 2*time.Second {
			t.Errorf("%s took %v", d.name, took)
		}
		switch {
		case want[d.name] != nil:
			if !errors.Is(err, want[d.name]) {
				t.Errorf("%s: %v, want %v", d.name, err, want[d.name])
			}
		case d.kind != "elf-core" && (c != nil || !errors.Is(err, ErrNotELF)):
			t.Errorf("%s (%s): core %v, %v", d.name, d.kind, c != nil, err)
		}
		if n := len(segmentsOf(c)); strings.HasSuffix(d.name, "65535-segments") && n != 131070 {
			t.Errorf("%s: %d segments, want 131070", d.name, n)
		}
	}
}

func segmentsOf(c *ELFCore) []segment {
	if c == nil {
		return nil
	}
	return c.segs
}

// The libraries of cores that name no file, or whose headers were not dumped, as
// eu-unstrip -n has them where it finds them at all.
func TestCorpusLibraries(t *testing.T) {
	want := map[string][]string{
		"elfutils/testcore-rtlib": {
			"executable ./rt_crash 0x8048000 f1c600bc36cb91bf01f9a63a634ecb79aa4c3199",
			"library /lib/libpthread.so.0 0xf75e9000 29a103420abe341e92072fb14274e250e4072148",
			"library /lib/libc.so.6 0xf7603000 0b9bf374699e141e5dfc14757ff42b8c2373b4de",
			"library /lib/librt.so.1 0xf77b3000 c6c5b5e35ab9589d4762ac85b4bd56b1b2720e37",
			"vdso [vdso] 0xf77d6000 676560b1b765cde9c2e53f134f4ee354ea894747",
			"interpreter /lib/ld-linux.so.2 0xf77d7000 6d2cb32650054f1c176d01d48713a4a5e5e84c1a",
		},
		"elfutils/testcore-rtlib-ppc": {
			"vdso [vdso] 0x100000 708b900b05176964512a6b0fe90c2a0c9d73d726",
			"library /lib/librt.so.1 0xfd50000 3f7d21508470322d2f47acddc20ab10516edba99",
			"library /lib/libpthread.so.0 0xfdb0000 f6ee91d4c629bc7dacc10534cb30056914e7e0b5",
			"library /lib/libc.so.6 0xfdf0000 edf3dd232e09d01b90683889bd16b9406c52d4de",
			"interpreter /lib/ld.so.1 0xffb0000 edec437a85026a1cf8cda94003706202733130c1",
			"executable ./rt_crash 0x10000000 979b7a26747cc09bd84a42b311b5288c704baea5",
		},
		"elfutils/testfile70.core": {
			"executable  0x7ff2cfe9b000 5f6a0461630f2c83ee8f6f676b5df88b87a929d0",
			"vdso [vdso] 0x7fff699ff000 ",
		},
		"pystack/signal.core": {
			"executable /src/a.out 0x400000 ",
			"library /usr/lib64/libc-2.17.so 0x7fcbedd7c000 ",
			"interpreter /usr/lib64/ld-2.17.so 0x7fcbee14a000 ",
			"vdso [vdso] 0x7ffde9da6000 1ce8d15cd8492ba5d751e65d0c25518a3d17e6cf",
		},
		"lldb/netbsd-core/1lwp_SIGSEGV.amd64.core": {
			"executable /home/mgorny/llvm-project/lldb/packages/Python/lldbsuite/test/functionalities/postmortem/netbsd-core/./1lwp_SIGSEGV.amd64 0x200000 ",
			"library /usr/lib/libc.so.12 0x7f7ff7800000 ",
			"interpreter /usr/libexec/ld.elf_so 0x7f7ff7c00000 ",
		},
	}
	for _, d := range corpus(t) {
		lines, ok := want[d.name]
		if !ok {
			continue
		}
		delete(want, d.name)
		c, _ := openBytes(d.name, d.data, nil)
		table, warnings := c.BuildLibraries(nil)
		var got []string
		libs, _ := table.Libraries(false)
		for _, l := range libs {
			got = append(got, fmt.Sprintf("%v %s %#x %x", l.Kind, l.Path, l.Start, l.BuildID))
		}
		if strings.Join(got, "\n") != strings.Join(lines, "\n") || len(warnings) > 0 {
			t.Errorf("%s:\n%s\nwant\n%s\nwarnings %q", d.name, strings.Join(got, "\n"), strings.Join(lines, "\n"), warnings)
		}
	}
	for name := range want {
		t.Errorf("%s is not in the corpus", name)
	}
}

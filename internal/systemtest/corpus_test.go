package systemtest

import (
	"archive/tar"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/corewalk/corewalk"
	"github.com/corewalk/corewalk/corestate"
	"github.com/corewalk/corewalk/internal/fixture"
	"github.com/corewalk/corewalk/report"
)

// A corpusDump is a line of the corpus's MANIFEST.tsv.
type corpusDump struct {
	path, kind, arch, os string
	threads              int
	signal, top          string
}

// TestCorpus opens dumps collected from other projects' test suites, where they
// have been put beside the module: cores that can be walked must give the threads,
// signals and frames that are known of them, and everything else a clear refusal,
// in bounded time and memory.
func TestCorpus(t *testing.T) {
	dir := filepath.Join(fixture.Root(t), "..", "shared", "corpus")
	manifest, err := os.ReadFile(filepath.Join(dir, "MANIFEST.tsv"))
	if err != nil {
		t.Skipf("no foreign dumps in %s: they are no part of the repository", dir)
	}
	files := t.TempDir()
	if err := untar(filepath.Join(dir, "dumps.tar.gz"), files); err != nil {
		t.Fatal(err)
	}
	empty := t.TempDir()
	for _, line := range strings.Split(strings.TrimSpace(string(manifest)), "\n")[1:] {
		f := strings.Split(line, "\t")
		d := corpusDump{path: f[0], kind: f[3], arch: f[4], os: f[6], signal: f[8], top: f[11]}
		d.threads, _ = strconv.Atoi(f[7])
		t.Run(d.path, func(t *testing.T) {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			done := make(chan struct{})
			go func() {
				defer close(done)
				d.check(t, filepath.Join(files, filepath.FromSlash(d.path)), empty)
			}()
			select {
			case <-done:
			case <-time.After(20 * time.Second):
				t.Fatal("not done after 20 seconds")
			}
			runtime.ReadMemStats(&after)
			if n := after.TotalAlloc - before.TotalAlloc; n > 512<<20 {
				t.Errorf("%d MB allocated", n>>20)
			}
		})
	}
}

func (d *corpusDump) check(t *testing.T, path, empty string) {
	target, err := corewalk.Open(context.Background(), path, corewalk.WithSysroot(empty), corewalk.WithDebugDir(empty))
	if target != nil {
		defer target.Close()
		if in := target.Info(); in.Dump.Arch == "" {
			t.Errorf("no architecture in %+v", in.Dump)
		}
	}
	switch want := d.refusal(); {
	case want != nil:
		if !errors.Is(err, want) {
			t.Errorf("error %v, want one that is %q", err, want)
		}
		if err != nil && (strings.Contains(err.Error(), "\n") || !strings.Contains(err.Error(), d.word())) {
			t.Errorf("error %q is not one line with %q in it", err, d.word())
		}
		return
	case err != nil:
		t.Error(err)
		return
	}
	if d.kind == "elf-core" {
		d.checkSignal(t, target)
	}
	r, err := target.Analyze(context.Background(), corewalk.AnalyzeOptions{Include: corewalk.Include{Details: true}})
	if err != nil {
		t.Error(err)
		return
	}
	// A program of 32 bits is reported on as such, also where its 64-bit side was recorded.
	if r.Details != nil && r.Details.System.WOW64 && d.arch == "x86_64" {
		d.arch = "i386"
	}
	if want := corpusArchs[d.arch]; r.Dump.Arch != want || !strings.EqualFold(r.Dump.OS, d.os) {
		t.Errorf("%s %s, want %s %s", r.Dump.Arch, r.Dump.OS, want, d.os)
	}
	if len(r.Threads) != d.threads {
		t.Errorf("%d threads, want %d", len(r.Threads), d.threads)
	}
	if d.kind == "minidump" {
		d.checkException(t, r.Crash)
	}
	if len(r.Threads) > 0 {
		d.checkFrames(t, &r.Threads[0])
	}
}

// corpusArchs are the architectures that can be analysed, by the manifest's names.
var corpusArchs = map[string]string{
	"x86_64": "x86-64", "i386": "i386", "x32": "x32", "aarch64": "aarch64", "arm": "arm", "ppc64le": "ppc64le", "ppc": "ppc",
	"s390x": "s390x", "s390": "s390", "m68k": "m68k", "riscv64": "riscv64", "mips-o32": "mipsel", "mips64": "mips64el",
	"mips": "mipsel", "hppa": "hppa", "sparc64": "sparc64", "loongarch64": "loongarch64",
}

// refusal is the kind of error wanted; nil for a dump that can be analysed.
func (d *corpusDump) refusal() error {
	switch {
	case d.kind == "other(win-kernel)" || d.path == "elfutils/testfile62":
		return corestate.ErrKernelDump
	case d.path == "rizin-testbins/fuzzed/npe_r_mdmp.c-364_1.mdmp":
		return corestate.ErrTruncatedHeader
	case (d.kind == "minidump" || d.kind == "microdump") && d.threads > 0:
		return nil
	case d.kind == "minidump":
		return corestate.ErrNoThreads
	case d.kind != "elf-core":
		return corestate.ErrNotELF
	case strings.HasPrefix(d.path, "rizin-testbins/fuzzed/"):
		return corestate.ErrTruncatedHeader
	case corpusArchs[d.arch] == "":
		return corestate.ErrUnsupportedArch
	case d.threads == 0:
		return corestate.ErrNoThreads
	}
	return nil
}

// word must be in the refusal.
func (d *corpusDump) word() string {
	switch {
	case d.kind == "minidump" || d.kind == "microdump":
		return d.kind
	case d.refusal() == corestate.ErrUnsupportedArch:
		return strings.TrimSuffix(d.arch, "-o32")
	case d.refusal() == corestate.ErrKernelDump:
		return "kernel"
	}
	return ""
}

var corpusSignal = regexp.MustCompile(`^sig (\d+)(?: code (-?\d+))?(?: addr (0x[0-9a-f]+))?`)

func (d *corpusDump) checkSignal(t *testing.T, target *corewalk.Target) {
	m := corpusSignal.FindStringSubmatch(d.signal)
	if m == nil {
		t.Errorf("signal %q of the manifest", d.signal)
		return
	}
	s := target.Core().Signal()
	if strconv.Itoa(s.Signo) != m[1] {
		t.Errorf("signal %d, want %s", s.Signo, m[1])
	}
	if m[2] != "" && strconv.Itoa(s.Code) != m[2] {
		t.Errorf("signal code %d, want %s", s.Code, m[2])
	}
	if m[3] != "" && fmt.Sprintf("%#x", s.Addr) != m[3] {
		t.Errorf("fault address %#x, want %s", s.Addr, m[3])
	}
}

var corpusException = regexp.MustCompile(`^exc (0x[0-9a-f]+) at 0x[0-9a-f]+ \(([A-Z0-9_]+)(?: / ([A-Z0-9_]+))?, crash addr (0x[0-9a-f]+)`)

// checkException compares the crash of a minidump with the manifest's, which another
// reader named.
func (d *corpusDump) checkException(t *testing.T, c *report.Crash) {
	m := corpusException.FindStringSubmatch(d.signal)
	if m == nil || m[1] == "0x0" {
		return
	}
	if c == nil {
		t.Errorf("no crash, want %s", d.signal)
		return
	}
	name := c.Signal
	if name == "" {
		name, _, _ = strings.Cut(c.Exception, " / ")
	}
	if name != m[2] && !strings.HasPrefix(m[2], "0x") {
		t.Errorf("died of %s, want %s", name, m[2])
	}
	addr, _ := strconv.ParseUint(m[4], 0, 64)
	if strings.HasPrefix(name, "EXCEPTION_ACCESS_VIOLATION") && (c.Address == nil || uint64(*c.Address) != addr) {
		t.Errorf("address %v, want %#x", c.Address, addr)
	}
}

var (
	corpusPC    = regexp.MustCompile(`^pc=(0x[0-9a-f]+)`)
	corpusChain = regexp.MustCompile(`; (0x[0-9a-f>x]+) \[[^]]*addresses\]`)
)

// checkFrames compares the crashing thread with the addresses that the manifest
// gives; the programs that would give names are not in the corpus.
func (d *corpusDump) checkFrames(t *testing.T, th *report.Thread) {
	want := corpusPC.FindStringSubmatch(d.top)
	if m := corpusChain.FindStringSubmatch(d.top); m != nil {
		want = append([]string{""}, strings.Split(m[1], ">")...)
	}
	if want == nil {
		return
	}
	for i, w := range want[1:] {
		pc, err := strconv.ParseUint(w, 0, 64)
		if err != nil {
			t.Errorf("address %q of the manifest", w)
			return
		}
		if d.arch == "hppa" {
			pc &^= 3 // the level of privilege
		}
		if i >= len(th.Frames) || uint64(th.Frames[i].PC) != pc {
			t.Errorf("frame %d is not at %#x:\n%s", i, pc, stackText(th))
			return
		}
	}
}

// untar unpacks the files of a tar.gz.
func untar(archive, dir string) error {
	f, err := os.Open(archive)
	if err != nil {
		return err
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		return err
	}
	for r := tar.NewReader(z); ; {
		h, err := r.Next()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		if h.Typeflag != tar.TypeReg || !filepath.IsLocal(h.Name) {
			continue
		}
		path := filepath.Join(dir, filepath.FromSlash(h.Name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		out, err := os.Create(path)
		if err == nil {
			_, err = io.Copy(out, r)
			err = errors.Join(err, out.Close())
		}
		if err != nil {
			return err
		}
	}
}

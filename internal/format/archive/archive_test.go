package archive

import (
	"archive/tar"
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zlib"
	"github.com/klauspost/compress/zstd"

	"github.com/corewalk/corewalk/internal/corebuild"
	"github.com/corewalk/corewalk/internal/format/decompress"
)

// core returns a core of n bytes more than its headers.
func core(n int) []byte {
	b := corebuild.New()
	b.Thread(1, 11, make([]byte, 27*8))
	memory := make([]byte, n)
	rand.NewChaCha8([32]byte{}).Read(memory)
	return append(b.Bytes(), memory...)
}

type file struct {
	name string
	data []byte
}

func tarOf(tb testing.TB, format tar.Format, files ...file) []byte {
	tb.Helper()
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for _, f := range files {
		if err := w.WriteHeader(&tar.Header{Name: f.name, Size: int64(len(f.data)), Mode: 0o644, Format: format}); err != nil {
			tb.Fatal(err)
		}
		w.Write(f.data)
	}
	if err := w.Close(); err != nil {
		tb.Fatal(err)
	}
	return b.Bytes()
}

func zst(data []byte) []byte {
	e, _ := zstd.NewWriter(nil)
	return e.EncodeAll(data, nil)
}

func gz(data []byte) []byte {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	w.Write(data)
	w.Close()
	return b.Bytes()
}

func zl(data []byte) []byte {
	var b bytes.Buffer
	w := zlib.NewWriter(&b)
	w.Write(data)
	w.Close()
	return b.Bytes()
}

// crash returns an apport report whose core is in lines of n bytes.
func crash(packed []byte, n int) []byte {
	var b bytes.Buffer
	b.WriteString("ProblemType: Crash\nArchitecture: amd64\nExecutablePath: /usr/bin/app\nPackage: app 1.2-3\nProcMaps:\n 400000-401000 r-xp\n 402000: rw-p\n")
	b.WriteString("CoreDump: base64\n")
	for len(packed) > 0 {
		n = min(n, len(packed))
		fmt.Fprintf(&b, " %s\n", base64.StdEncoding.EncodeToString(packed[:n]))
		packed = packed[n:]
	}
	b.WriteString("Signal: 11\nUname: Linux\n")
	return b.Bytes()
}

func extract(tb testing.TB, data []byte, opts decompress.Options) (content []byte, d Dump, err error) {
	tb.Helper()
	opts.Dir = tb.TempDir()
	d, err = Extract(context.Background(), iotest.HalfReader(bytes.NewReader(data)), opts)
	if d.File != nil {
		defer d.File.Close()
		var readErr error
		if content, readErr = io.ReadAll(io.NewSectionReader(d.File, 0, 1<<40)); readErr != nil {
			tb.Fatal(readErr)
		}
	}
	return content, d, err
}

func TestExtract(t *testing.T) {
	dump := core(300_000)
	mini := append([]byte("MDMP\x93\xa7\x00\x00"), make([]byte, 100)...)
	notes := file{"notes/core.txt", []byte("the core is the other one")}
	long := strings.Repeat("deep/", 60) + "core"
	one := []file{{"bin/app", []byte("\x7fELF\x02\x01\x01 not a core, e_type is 2: \x02\x00")}, notes, {"a/core.42", dump}, {"empty", nil}}
	for name, tt := range map[string]struct {
		data []byte
		want []byte
		from string
	}{
		"plain":                 {dump, dump, ""},
		"compressed":            {zst(dump), dump, ""},
		"empty":                 {nil, nil, ""},
		"text":                  {[]byte("ProblemTypes"), []byte("ProblemTypes"), ""},
		"tar":                   {tarOf(t, tar.FormatUSTAR, one...), dump, "a/core.42 in a tar archive"},
		"GNU tar":               {tarOf(t, tar.FormatGNU, notes, file{long, dump}), dump, long[:maxName] + "... in a tar archive"},
		"pax":                   {tarOf(t, tar.FormatPAX, file{"core \x1b[2J\u2028", dump}), dump, `"core \x1b[2J\u2028" in a tar archive`},
		"tar.gz":                {gz(tarOf(t, tar.FormatGNU, one...)), dump, "a/core.42 in a tar archive"},
		"zst in a tar":          {tarOf(t, tar.FormatGNU, notes, file{"core.zst", zst(dump)}), dump, "core.zst in a tar archive"},
		"zst in a tar.gz":       {gz(tarOf(t, tar.FormatGNU, notes, file{"core.zst", zst(dump)}, file{"notes.gz", gz(notes.data)})), dump, "core.zst in a tar archive"},
		"minidump":              {tarOf(t, tar.FormatGNU, file{"a.dmp", mini}), mini, "a.dmp in a tar archive"},
		"report":                {crash(gz(dump), 1000), dump, "an apport report of /usr/bin/app, package app 1.2-3"},
		"report with zstd":      {crash(zst(dump), 999), dump, "an apport report of /usr/bin/app, package app 1.2-3"},
		"report, long lines":    {crash(gz(dump), 1<<20), dump, "an apport report of /usr/bin/app, package app 1.2-3"},
		"report, nothing in it": {crash(dump, 70_001), dump, "an apport report of /usr/bin/app, package app 1.2-3"},
		"report, CRLF":          {bytes.ReplaceAll(crash(gz(dump), 1000), []byte("\n"), []byte("\r\n")), dump, "an apport report of /usr/bin/app, package app 1.2-3"},
		"report with zlib":      {crash(zl(dump), 1000), dump, "an apport report of /usr/bin/app, package app 1.2-3"},
		"compressed report":     {zst(crash(gz(dump), 1000)), dump, "an apport report of /usr/bin/app, package app 1.2-3"},
	} {
		got, d, err := extract(t, tt.data, decompress.Options{})
		if err != nil || d.From != tt.from || d.Note != "" || !bytes.Equal(got, tt.want) {
			t.Errorf("%s: %d bytes, want %d; from %q, note %q, %v", name, len(got), len(tt.want), d.From, d.Note, err)
		}
	}
}

// TestManyPacked: each compressed file of an archive is begun, and so many are too many.
func TestManyPacked(t *testing.T) {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	z.Write([]byte("x"))
	z.Close()
	var packed []file
	for range maxPacked {
		packed = append(packed, file{"x.gz", b.Bytes()})
	}
	for _, tt := range []struct {
		files []file
		err   error
	}{{packed, ErrNone}, {append(packed, packed[0]), decompress.ErrTooLarge}} {
		if d, err := Extract(t.Context(), bytes.NewReader(tarOf(t, tar.FormatGNU, tt.files...)), decompress.Options{}); d.File != nil || !errors.Is(err, tt.err) {
			t.Errorf("%d files: %v, want %v", len(tt.files), err, tt.err)
		}
	}
}

func TestExtractRefused(t *testing.T) {
	dump := core(1000)
	var seven []file
	for i := range 7 {
		seven = append(seven, file{fmt.Sprintf("core.%d", i), dump})
	}
	var packed []file
	for i := range maxWindows + 1 {
		packed = append(packed, file{fmt.Sprint(i), zst([]byte("x"))})
	}
	whole := tarOf(t, tar.FormatGNU, file{"core", dump})
	damaged := bytes.Clone(whole)
	damaged[len(dump)/tarBlock*tarBlock+2*tarBlock+1] = 1 // what follows the core
	for name, tt := range map[string]struct {
		data []byte
		max  int64
		err  error
		text string
	}{
		"no dump":          {tarOf(t, tar.FormatGNU, file{"a", nil}, file{"b", []byte("x")}), 0, ErrNone, "is a tar archive without a core or minidump among its files (2): "},
		"two":              {tarOf(t, tar.FormatGNU, seven[:2]...), 0, ErrSeveral, "is a tar archive with 2 dumps (core.0, core.1): unpack it and give one of them"},
		"seven":            {tarOf(t, tar.FormatGNU, seven...), 0, ErrSeveral, "is a tar archive with 7 dumps (core.0, core.1, core.2, core.3, core.4 ...): "},
		"tar in a tar":     {tarOf(t, tar.FormatGNU, file{"inner.tar", whole}), 0, ErrNone, "among its files (1)"},
		"too large":        {tarOf(t, tar.FormatGNU, file{"a", make([]byte, 9000)}, file{"core", dump}), 8000, decompress.ErrTooLarge, "more than 8000 bytes"},
		"many packed":      {tarOf(t, tar.FormatGNU, packed...), 0, decompress.ErrTooLarge, "more than 256 files in it are compressed"},
		"cut, no dump":     {tarOf(t, tar.FormatGNU, file{"a", make([]byte, 9000)})[:5000], 0, decompress.ErrTruncatedStream, "after 1 files"},
		"bad header":       {append(whole[:0:0], append(tarOf(t, tar.FormatGNU, file{"a", make([]byte, tarBlock)})[:2*tarBlock], bytes.Repeat([]byte("x"), 1024)...)...), 0, decompress.ErrCorrupt, "damaged header"},
		"no CoreDump":      {[]byte("ProblemType: Crash\nExecutablePath: /usr/bin/\x1bapp\n"), 0, ErrNone, `is an apport report of "/usr/bin/\x1bapp", and has no CoreDump: `},
		"not base64":       {[]byte("ProblemType: Crash\nCoreDump: hex\n 00\n"), 0, decompress.ErrUnsupported, "the value of CoreDump is hex"},
		"no field":         {[]byte("ProblemType: Crash\nhello\n"), 0, decompress.ErrCorrupt, "the line hello is not a field"},
		"blank lines":      {[]byte("ProblemType: Crash\nCoreDump: base64\n" + strings.Repeat(" \n", maxBlank+1)), 0, decompress.ErrCorrupt, "empty lines"},
		"report too large": {[]byte("ProblemType: Crash\n" + strings.Repeat("A: b\n", 3000)), 8000, decompress.ErrTooLarge, "more than 8000 bytes"},
	} {
		got, d, err := extract(t, tt.data, decompress.Options{MaxSize: tt.max})
		if d.File != nil || !errors.Is(err, tt.err) || !strings.Contains(err.Error(), tt.text) || strings.ContainsAny(err.Error(), "\n\x1b") {
			t.Errorf("%s: %d bytes, %v", name, len(got), err)
		}
	}
}

// Of a damaged archive there is what is before the damage.
func TestExtractDamaged(t *testing.T) {
	dump := core(1 << 20)
	whole := tarOf(t, tar.FormatGNU, file{"core", dump}, file{"b", make([]byte, 9000)})
	bad := crash(gz(dump), 1000)
	bad[len(bad)/2] = '!'
	report := crash(gz(dump), 1000)
	old := crash(zl(dump), 1000)
	oldBad := bytes.Clone(old)
	oldBad[len(oldBad)/2] = '!'
	for name, tt := range map[string]struct {
		data []byte
		err  error // of the dump
		note bool
	}{
		"tar cut in the core":     {whole[:len(dump)/2], decompress.ErrTruncatedStream, false},
		"tar cut after it":        {whole[:len(dump)+5000], nil, true},
		"report cut in the core":  {report[:len(report)/2], decompress.ErrTruncatedStream, false},
		"zlib, cut in the core":   {old[:len(old)/2], decompress.ErrTruncatedStream, false},
		"zlib, damaged":           {oldBad, decompress.ErrCorrupt, false},
		"report damaged":          {bad, decompress.ErrCorrupt, false},
		"report damaged after it": {append(bytes.Clone(report), "nothing\n"...), nil, true},
		"gzip in a tar, cut":      {tarOf(t, tar.FormatGNU, file{"core.gz", gz(dump)[:300_000]}), decompress.ErrTruncatedStream, false},
	} {
		got, d, err := extract(t, tt.data, decompress.Options{})
		if !errors.Is(err, tt.err) || (tt.err == nil) != (err == nil) || (d.Note != "") != tt.note || d.From == "" {
			t.Errorf("%s: %v, note %q, from %q", name, err, d.Note, d.From)
		}
		if len(got) == 0 || !bytes.HasPrefix(dump, got) || (tt.err == nil) != (len(got) == len(dump)) {
			t.Errorf("%s: %d of %d bytes", name, len(got), len(dump))
		}
	}
}

// An archive of zeros that claims to be endless ends at the limit, and with the context.
func TestExtractBounds(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	begin := tarOf(t, tar.FormatGNU, file{"a", nil})[:tarBlock]
	bomb := func() io.Reader {
		h := tarOf(t, tar.FormatGNU, file{"core.gz", nil})[:0]
		var b bytes.Buffer
		w := tar.NewWriter(&b)
		w.WriteHeader(&tar.Header{Name: "log", Size: 1 << 50, Format: tar.FormatGNU})
		return io.MultiReader(bytes.NewReader(begin), bytes.NewReader(append(h, b.Bytes()...)), zeros{})
	}
	var last int64
	d, err := Extract(ctx, bomb(), decompress.Options{Dir: t.TempDir(), MaxSize: 20 << 20, Progress: func(in, _ int64) { last = in }})
	if d.File != nil || !errors.Is(err, decompress.ErrTooLarge) || last < 15<<20 {
		t.Errorf("an endless archive: %v, progress up to %d", err, last)
	}
	if d, err = Extract(ctx, bomb(), decompress.Options{Dir: t.TempDir(), Progress: func(in, _ int64) { cancel() }}); d.File != nil || !errors.Is(err, context.Canceled) {
		t.Errorf("interrupted: %v", err)
	}
}

type zeros struct{}

func (zeros) Read(b []byte) (int, error) {
	clear(b)
	return len(b), nil
}

// Archives of GNU tar, of sparse files too.
func TestExtractGNUTar(t *testing.T) {
	if _, err := exec.LookPath("tar"); err != nil {
		t.Skip("tar is not installed (Debian: tar)")
	}
	dir := t.TempDir()
	dump := core(1000)
	f, err := os.Create(filepath.Join(dir, "core"))
	if err != nil {
		t.Fatal(err)
	}
	f.Write(dump)
	f.WriteAt([]byte("end"), 5<<20)
	f.Close()
	want, err := os.ReadFile(f.Name())
	if err != nil {
		t.Fatal(err)
	}
	for _, format := range []string{"v7", "oldgnu", "gnu", "ustar", "posix"} {
		out, err := exec.Command("tar", "-C", dir, "--sparse", "--format="+format, "-cf", "-", "core").Output()
		if err != nil && (format == "v7" || format == "ustar") { // have no sparse files
			out, err = exec.Command("tar", "-C", dir, "--format="+format, "-cf", "-", "core").Output()
		}
		if err != nil {
			t.Errorf("%s: %v", format, err)
			continue
		}
		if got, d, err := extract(t, out, decompress.Options{}); err != nil || !bytes.Equal(got, want) || d.From == "" {
			t.Errorf("%s: %d bytes of %d, from %q, %v", format, len(got), len(want), d.From, err)
		}
	}
}

func FuzzExtract(f *testing.F) {
	dump := core(2000)
	f.Add(tarOf(f, tar.FormatGNU, file{"a", []byte("x")}, file{"core", dump}))
	f.Add(tarOf(f, tar.FormatPAX, file{strings.Repeat("n", 300), zst(dump)}))
	f.Add(gz(tarOf(f, tar.FormatUSTAR, file{"core", dump})))
	f.Add(crash(gz(dump), 300))
	f.Add(crash(zst(dump), 70_000))
	f.Fuzz(func(t *testing.T, data []byte) {
		const limit = 1 << 20
		got, d, err := extract(t, data, decompress.Options{MaxSize: limit, MaxDisk: limit})
		if len(got) > limit {
			t.Errorf("%d bytes, limit is %d", len(got), limit)
		}
		if d.File == nil && err == nil {
			t.Error("neither a dump nor an error")
		}
		if err != nil && strings.Contains(err.Error(), "\n") {
			t.Errorf("several lines: %v", err)
		}
		if strings.ContainsAny(d.From, "\n\x1b") {
			t.Errorf("from %q", d.From)
		}
	})
}

func BenchmarkExtract(b *testing.B) {
	dump := core(4 << 20)
	for name, data := range map[string][]byte{"tar": tarOf(b, tar.FormatGNU, file{"core", dump}), "tar.gz": gz(tarOf(b, tar.FormatGNU, file{"core", dump})),
		"crash": crash(gz(dump), 1<<20)} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(dump)))
			b.ReportAllocs()
			dir := b.TempDir()
			for b.Loop() {
				d, err := Extract(context.Background(), bytes.NewReader(data), decompress.Options{Dir: dir})
				if err != nil {
					b.Fatal(err)
				}
				d.File.Close()
			}
		})
	}
}

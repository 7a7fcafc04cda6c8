package decompress

import (
	"bytes"
	"context"
	"errors"
	"io"
	"math/rand"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zlib"
	"github.com/klauspost/compress/zstd"
	"github.com/pierrec/lz4/v4"
	"github.com/ulikunitz/xz"
)

// pack compresses data in a whole-file format.
func pack(t testing.TB, kind Kind, data []byte) []byte {
	t.Helper()
	var b bytes.Buffer
	var w io.WriteCloser
	var err error
	switch kind {
	case None:
		return data
	case Zstd:
		w, err = zstd.NewWriter(&b)
	case LZ4:
		z := lz4.NewWriter(&b)
		err = z.Apply(lz4.BlockSizeOption(lz4.Block64Kb))
		w = z
	case XZFile:
		w, err = xz.WriterConfig{BlockSize: 100_000, DictCap: 1 << 16}.NewWriter(&b)
	case Gzip:
		w = gzip.NewWriter(&b)
	case Zlib:
		w = zlib.NewWriter(&b)
	}
	if err == nil {
		_, err = w.Write(data)
	}
	if err == nil {
		err = w.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// dump resembles a core: small islands in large areas of zeros, of odd size.
func dump(size int) []byte {
	rng := rand.New(rand.NewSource(7))
	data := make([]byte, size)
	for off := 0; off+5000 < size; off += 64<<10 + rng.Intn(100_000) {
		rng.Read(data[off : off+1000+rng.Intn(4000)])
	}
	return data
}

var allKinds = []Kind{None, Zstd, LZ4, XZFile, Gzip, Zlib}

func TestSniff(t *testing.T) {
	for _, k := range allKinds {
		head := pack(t, k, []byte("\x7fELF and more"))
		if got := Sniff(head); got != k && k != Zlib {
			t.Errorf("%v is taken for %v", k, got)
		}
		if got := SniffZlib(head); got != (k == Zlib) {
			t.Errorf("%v: zlib: %v", k, got)
		}
	}
	// Any level; not with a preset dictionary, a window that is too large, another method or a wrong check.
	for head, want := range map[string]bool{"\x78\x01": true, "\x78\x5e": true, "\x78\x9c": true, "\x78\xda": true, "\x08\x1d": true,
		"\x78\xbb": false, "\x88\x1c": false, "\x77\x09": false, "\x78\x9d": false, "\x78": false, "": false, "MDMP": false} {
		if SniffZlib([]byte(head)) != want {
			t.Errorf("%q: zlib: %v", head, !want)
		}
	}
	for _, head := range []string{"", "\x28", "\x78\x9c", "\x1f\x8b", "MDMP", "BZh9", "BZh01AY&SYxxx", "BZh91AY&SZxxx"} {
		if got := Sniff([]byte(head)); got != None {
			t.Errorf("%q is taken for %v", head, got)
		}
	}
	if got := Sniff([]byte("\x50\x2a\x4d\x18\x04\x00\x00\x00")); got != Zstd {
		t.Errorf("a skippable frame is taken for %v", got)
	}
}

// bzipped is "\x7fELF and more" by bzip2; it has no writer here.
const bzipped = "\x42\x5a\x68\x39\x31\x41\x59\x26\x53\x59\xf6\xb8\xfd\xa6\x00\x00\x06\x15\x80\x40\x00\x03\x04\x26\x03\x90\x00\xa0\x00\x22\x01\xa0\x68\x40\xd0\x34\x1c\x10\x06\x97\xce\x27\xc5\xdc\x91\x4e\x14\x24\x3d\xae\x3f\x69\x80"

func TestBZip2(t *testing.T) {
	const plain = "\x7fELF and more"
	for _, c := range []struct {
		name, packed, want string
		err                error
	}{
		{"one stream", bzipped, plain, nil},
		{"two, as pbzip2 writes", bzipped + bzipped, plain + plain, nil},
		{"nothing", "BZh9" + bzip2End + "\x00\x00\x00\x00", "", nil},
		{"cut", bzipped[:len(bzipped)-3], plain, ErrTruncatedStream},
		{"damaged", bzipped[:12] + "\xff\xff" + bzipped[14:], plain, ErrCorrupt}, // the sum alone,
	} {
		if got := Sniff([]byte(c.packed)); got != BZip2 || got.String() != "bzip2" {
			t.Errorf("%s: taken for %v", c.name, got)
		}
		f, n, err := ToSparse(context.Background(), strings.NewReader(c.packed), BZip2, Options{Dir: t.TempDir()})
		if !errors.Is(err, c.err) || c.err == nil && err != nil {
			t.Errorf("%s: %v, want %v", c.name, err, c.err)
		}
		if f != nil {
			got := make([]byte, n)
			if _, err := f.ReadAt(got, 0); err != nil && n > 0 || string(got) != c.want {
				t.Errorf("%s: %q, %v; want %q", c.name, got, err, c.want)
			}
			f.Close()
		}
	}
	cmd := exec.Command("bzip2", "-c")
	data := dump(3 << 20)
	cmd.Stdin = bytes.NewReader(data)
	packed, err := cmd.Output()
	if err != nil {
		t.Skipf("bzip2 is not installed (Debian: bzip2): no large file: %v", err)
	}
	f, n, err := ToSparse(context.Background(), iotest.HalfReader(bytes.NewReader(packed)), BZip2, Options{Dir: t.TempDir()})
	if err != nil || n != int64(len(data)) {
		t.Fatalf("%d bytes, %v", n, err)
	}
	defer f.Close()
	if got, err := io.ReadAll(io.NewSectionReader(f, 0, n)); err != nil || !bytes.Equal(got, data) {
		t.Errorf("other bytes came out, %v", err)
	}
	if _, n, err := ToSparse(context.Background(), bytes.NewReader(packed), BZip2, Options{Dir: t.TempDir(), MaxSize: 1 << 20}); !errors.Is(err, ErrTooLarge) || n != 1<<20 {
		t.Errorf("bounded: %d bytes, %v", n, err)
	}
}

func TestToSparse(t *testing.T) {
	for _, size := range []int{1, 4096, chunkSize, 3*chunkSize + 12345} {
		data := dump(size)
		for _, k := range allKinds {
			packed := pack(t, k, data)
			var in, out int64
			f, n, err := ToSparse(context.Background(), iotest.HalfReader(bytes.NewReader(packed)), k,
				Options{Dir: t.TempDir(), Progress: func(i, o int64) { in, out = i, o }})
			if err != nil {
				t.Fatalf("%v, %d bytes: %v", k, size, err)
			}
			got, err := io.ReadAll(io.NewSectionReader(f, 0, 1<<40))
			if err != nil || n != int64(size) || !bytes.Equal(got, data) {
				t.Errorf("%v, %d bytes: %d came out, %v", k, size, n, err)
			}
			if out != n || in == 0 || in > int64(len(packed)) {
				t.Errorf("%v, %d bytes: progress says %d in, %d out", k, size, in, out)
			}
			f.Close()
		}
	}
}

func TestToSparseLeavesHoles(t *testing.T) {
	data := make([]byte, 64<<20)
	copy(data[40<<20:], "island")
	f, n, err := ToSparse(context.Background(), bytes.NewReader(pack(t, Zstd, data)), Zstd, Options{Dir: t.TempDir(), MaxDisk: 4096})
	if err != nil || n != int64(len(data)) {
		t.Fatal(n, err)
	}
	defer f.Close()
	if _, err := os.Stat(f.Name()); runtime.GOOS == "linux" && !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the temporary file is still there: %v", err)
	}
	b := make([]byte, 6)
	if _, err := f.ReadAt(b, 40<<20); err != nil || string(b) != "island" {
		t.Errorf("%q, %v", b, err)
	}
}

func TestToSparseDamage(t *testing.T) {
	data := dump(3 << 20)
	for _, k := range allKinds[1:] {
		packed := pack(t, k, data)
		f, n, err := ToSparse(context.Background(), bytes.NewReader(packed[:len(packed)*2/3]), k, Options{Dir: t.TempDir()})
		if !errors.Is(err, ErrTruncatedStream) || f == nil || n < 1<<20 || n >= int64(len(data)) {
			t.Fatalf("%v truncated: %d bytes, %v", k, n, err)
		}
		got := make([]byte, n)
		if _, err := f.ReadAt(got, 0); err != nil || !bytes.Equal(got, data[:n]) {
			t.Errorf("%v truncated: the %d bytes that came are wrong (%v)", k, n, err)
		}
		f.Close()
		bad := bytes.Clone(packed)
		for i := len(bad) / 2; i < len(bad)/2+64; i++ {
			bad[i] ^= 0x55
		}
		f, n, err = ToSparse(context.Background(), bytes.NewReader(bad), k, Options{Dir: t.TempDir()})
		if err == nil || errors.Is(err, ErrTooLarge) || f == nil || n == 0 {
			t.Errorf("%v damaged: %d bytes, %v", k, n, err)
		}
		if f != nil {
			f.Close()
		}
		if f, _, err := ToSparse(context.Background(), bytes.NewReader(packed[:5]), k, Options{Dir: t.TempDir()}); err == nil || f != nil {
			t.Errorf("%v cut in its header: %v, %v", k, f, err)
		}
	}
}

func TestToSparseBounds(t *testing.T) {
	data := dump(2 << 20)
	for _, k := range allKinds {
		packed := pack(t, k, data)
		f, n, err := ToSparse(context.Background(), bytes.NewReader(packed), k, Options{Dir: t.TempDir(), MaxSize: 1 << 20})
		if !errors.Is(err, ErrTooLarge) || n != 1<<20 || f == nil {
			t.Errorf("%v, bounded size: %d bytes, %v", k, n, err)
		}
		f.Close()
		f, n, err = ToSparse(context.Background(), bytes.NewReader(packed), k, Options{Dir: t.TempDir(), MaxSize: 2 << 20})
		if err != nil || n != 2<<20 {
			t.Errorf("%v, exactly the bound: %d bytes, %v", k, n, err)
		}
		f.Close()
		f, n, err = ToSparse(context.Background(), bytes.NewReader(packed), k, Options{Dir: t.TempDir(), MaxDisk: 20_000})
		if !errors.Is(err, ErrTooLarge) || n == 0 || n >= 2<<20 {
			t.Errorf("%v, bounded disk: %d bytes, %v", k, n, err)
		}
		f.Close()
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if f, _, err := ToSparse(ctx, bytes.NewReader(data), None, Options{Dir: t.TempDir()}); f != nil || !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
	broken := errors.New("broken pipe")
	f, n, err := ToSparse(context.Background(), io.MultiReader(bytes.NewReader(pack(t, Gzip, data)[:4000]), iotest.ErrReader(broken)), Gzip, Options{Dir: t.TempDir()})
	if !errors.Is(err, broken) || errors.Is(err, ErrCorrupt) || n == 0 {
		t.Errorf("a reader that fails: %d bytes, %v", n, err)
	}
	f.Close()
}

func packSection(t testing.TB, m Method, data []byte) []byte {
	t.Helper()
	var b bytes.Buffer
	if m == MethodZlib {
		w := zlib.NewWriter(&b)
		w.Write(data)
		w.Close()
		return b.Bytes()
	}
	e, err := zstd.NewWriter(nil)
	if err != nil {
		t.Fatal(err)
	}
	return e.EncodeAll(data, nil)
}

func TestSection(t *testing.T) {
	for _, m := range []Method{MethodZlib, MethodZstd} {
		for _, data := range [][]byte{nil, []byte("x"), bytes.Repeat([]byte("abbreviations "), 10_000), dump(1 << 20), make([]byte, 10<<20)} {
			packed, size := packSection(t, m, data), uint64(len(data))
			if got, err := Section(m, packed, size, size); err != nil || !bytes.Equal(got, data) {
				t.Errorf("%d: %d bytes: %d came, %v", m, size, len(got), err)
			}
			if _, err := Section(m, packed, size+1, size+1); !errors.Is(err, ErrCorrupt) {
				t.Errorf("%d: %d bytes said to be one more: %v", m, size, err)
			}
			if size == 0 {
				continue
			}
			if _, err := Section(m, packed, size-1, size); !errors.Is(err, ErrCorrupt) {
				t.Errorf("%d: %d bytes said to be one less: %v", m, size, err)
			}
			if _, err := Section(m, packed, size, size-1); !errors.Is(err, ErrTooLarge) {
				t.Errorf("%d: %d bytes above the bound: %v", m, size, err)
			}
			if _, err := Section(m, packed[:len(packed)-1], size, size); !errors.Is(err, ErrCorrupt) {
				t.Errorf("%d: %d bytes truncated: %v", m, size, err)
			}
		}
	}
	if _, err := Section(3, nil, 0, 0); !errors.Is(err, ErrUnsupported) {
		t.Errorf("unknown method: %v", err)
	}
}

// TestSectionWithoutContentSize uses a frame as streaming compressors write it.
func TestSectionWithoutContentSize(t *testing.T) {
	data := dump(3 << 20)
	packed := pack(t, Zstd, data)
	if got, err := Section(MethodZstd, packed, uint64(len(data)), 1<<30); err != nil || !bytes.Equal(got, data) {
		t.Errorf("%d bytes, %v", len(got), err)
	}
}

// TestSectionLiesAboutSize uses a header that claims a GiB for a few bytes.
func TestSectionLiesAboutSize(t *testing.T) {
	var before, after runtime.MemStats
	for _, m := range []Method{MethodZlib, MethodZstd} {
		packed := packSection(t, m, []byte("a few bytes"))
		runtime.ReadMemStats(&before)
		_, err := Section(m, packed, 1<<30, 1<<40)
		runtime.ReadMemStats(&after)
		if !errors.Is(err, ErrCorrupt) {
			t.Errorf("%d: %v", m, err)
		}
		if n := after.TotalAlloc - before.TotalAlloc; n > 32<<20 {
			t.Errorf("%d: %d bytes were allocated", m, n)
		}
	}
}

func FuzzSection(f *testing.F) {
	for _, m := range []Method{MethodZlib, MethodZstd} {
		f.Add(uint32(m), packSection(f, m, []byte("some bytes, some bytes, some bytes")), uint64(34))
	}
	f.Fuzz(func(t *testing.T, m uint32, src []byte, size uint64) {
		data, err := Section(Method(m), src, size, 1<<20)
		if err == nil && uint64(len(data)) != size {
			t.Fatalf("%d bytes, want %d", len(data), size)
		}
	})
}

func FuzzStream(f *testing.F) {
	for _, k := range allKinds {
		f.Add(int(k), pack(f, k, []byte("some bytes, some bytes, some bytes")))
	}
	f.Fuzz(func(t *testing.T, k int, src []byte) {
		r, err := NewReader(bytes.NewReader(src), Kind(k))
		if err != nil {
			return
		}
		io.CopyN(io.Discard, r, 1<<20)
		r.Close()
	})
}

func BenchmarkSection(b *testing.B) {
	data := bytes.Repeat(dump(1<<20), 4)
	for _, m := range []Method{MethodZlib, MethodZstd} {
		packed := packSection(b, m, data)
		b.Run(map[Method]string{MethodZlib: "zlib", MethodZstd: "zstd"}[m], func(b *testing.B) {
			b.SetBytes(int64(len(data)))
			b.ReportAllocs()
			for b.Loop() {
				if _, err := Section(m, packed, uint64(len(data)), 1<<30); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkToSparse(b *testing.B) {
	data := dump(16 << 20)
	for _, k := range allKinds {
		packed := pack(b, k, data)
		b.Run(k.String(), func(b *testing.B) {
			b.SetBytes(int64(len(data)))
			b.ReportAllocs()
			for b.Loop() {
				f, _, err := ToSparse(context.Background(), bytes.NewReader(packed), k, Options{Dir: b.TempDir()})
				if err != nil {
					b.Fatal(err)
				}
				f.Close()
			}
		})
	}
}

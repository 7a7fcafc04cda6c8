package decompress

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/corewalk/corewalk/internal/fixture"
	"github.com/corewalk/corewalk/internal/format/decompress/cabtest"
)

// cabText is text of several blocks that repeats across them.
func cabText(n int) []byte {
	r := rand.New(rand.NewPCG(1, 2))
	var b []byte
	for len(b) < n {
		b = fmt.Appendf(b, "function %d of module %d\n", r.IntN(1000), r.IntN(10))
	}
	return b[:n]
}

func expand(cab []byte, limit uint64) ([]byte, error) {
	f, err := OpenCabinet(cab)
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	err = f.Expand(&out, limit)
	return out.Bytes(), err
}

func TestCabinet(t *testing.T) {
	for _, n := range []int{0, 1, 5, 32 << 10, 32<<10 + 1, 200_000} {
		data := cabText(n)
		for name, cab := range map[string][]byte{"stored": cabtest.Stored("app.pdb", data), "MSZIP": cabtest.MSZIP("app.pdb", data)} {
			f, err := OpenCabinet(cab)
			if err != nil {
				t.Errorf("%s, %d bytes: %v", name, n, err)
				continue
			}
			if f.Name != "app.pdb" || f.Size != uint64(n) {
				t.Errorf("%s: file %q of %d bytes, want app.pdb of %d", name, f.Name, f.Size, n)
			}
			var out bytes.Buffer
			if err := f.Expand(&out, uint64(n)); err != nil || !bytes.Equal(out.Bytes(), data) {
				t.Errorf("%s, %d bytes: got %d bytes that are equal: %v, %v", name, n, out.Len(), bytes.Equal(out.Bytes(), data), err)
			}
		}
	}
}

// The beginning of a file takes only the blocks that it is in: damage behind them does not
// matter, and what is before it has a limit.
func TestCabinetHead(t *testing.T) {
	data := cabText(100_000)
	for name, cab := range map[string][]byte{"stored": cabtest.Stored("a", data), "MSZIP": cabtest.MSZIP("a", data)} {
		cut := cab[:len(cab)-1]
		for n, src := range map[int][]byte{10: cut, 40_000: cut, 100_000: cab, 100_001: cab} {
			f, err := OpenCabinet(src)
			if err != nil {
				t.Fatal(err)
			}
			if got, err := f.Head(n); err != nil || !bytes.Equal(got, data[:min(n, len(data))]) {
				t.Errorf("%s: %d bytes: got %d, %v", name, n, len(got), err)
			}
		}
		f, _ := OpenCabinet(cut)
		if got, err := f.Head(100_000); !errors.Is(err, ErrTruncatedStream) {
			t.Errorf("%s, cut off: %d bytes, %v", name, len(got), err)
		}
		f.skip = maxBefore + 1
		if _, err := f.Head(10); !errors.Is(err, ErrTooLarge) {
			t.Errorf("%s, far in the cabinet: %v", name, err)
		}
	}
}

func TestCabinetRefused(t *testing.T) {
	data := cabText(100_000)
	cab := cabtest.MSZIP("app.pdb", data)
	flipped := bytes.Clone(cab)
	flipped[len(flipped)-3] ^= 1
	claims := bytes.Clone(cab)
	claims[36+8+3] = 0x7f // 2 GB
	spanned := bytes.Clone(cab)
	spanned[30] = cabHasNext
	for name, tt := range map[string]struct {
		cab  []byte
		max  uint64
		want error
	}{
		"too large":        {cab, 99_999, ErrTooLarge},
		"cut":              {cab[:len(cab)-10], 1 << 20, ErrTruncatedStream},
		"cut headers":      {cab[:40], 1 << 20, ErrTruncatedStream},
		"cut name":         {cab[:36+8+20], 1 << 20, ErrTruncatedStream},
		"flipped":          {flipped, 1 << 20, ErrCorrupt},
		"claims":           {claims, 1 << 40, ErrCorrupt},
		"several cabinets": {spanned, 1 << 20, ErrUnsupported},
		"LZX":              {cabtest.Method(cab, 0x1503), 1 << 20, ErrUnsupported},
		"Quantum":          {cabtest.Method(cab, 0x0072), 1 << 20, ErrUnsupported},
		"other":            {[]byte("SZDD\x88\xf0\x27\x33A"), 1 << 20, ErrCorrupt},
	} {
		if _, err := expand(tt.cab, tt.max); !errors.Is(err, tt.want) {
			t.Errorf("%s: %v, want %v", name, err, tt.want)
		}
	}
}

// TestCabextract checks the reader, and the cabinets made by tests, against common tools.
func TestCabextract(t *testing.T) {
	data := cabText(150_000)
	dir := t.TempDir()
	in := filepath.Join(dir, "app.pdb")
	if err := os.WriteFile(in, data, 0o644); err != nil {
		t.Fatal(err)
	}
	t.Run("cabextract", func(t *testing.T) {
		fixture.Tools(t)
		cabextract, err := exec.LookPath("cabextract")
		if err != nil {
			t.Skip("cabextract is not installed (Debian: cabextract)")
		}
		for name, cab := range map[string][]byte{"stored": cabtest.Stored("app.pdb", data), "MSZIP": cabtest.MSZIP("app.pdb", data)} {
			path := filepath.Join(dir, name)
			if err := os.WriteFile(path, cab, 0o644); err != nil {
				t.Fatal(err)
			}
			out, err := exec.Command(cabextract, "--pipe", "--quiet", path).Output()
			if err != nil || !bytes.Equal(out, data) {
				t.Errorf("%s: %d bytes, want %d; %v", name, len(out), len(data), err)
			}
		}
	})
	t.Run("gcab", func(t *testing.T) {
		fixture.Tools(t)
		gcab, err := exec.LookPath("gcab")
		if err != nil {
			t.Skip("gcab is not installed (Debian: gcab)")
		}
		for _, flags := range [][]string{{"-n", "-c"}, {"-n", "-c", "-z"}} {
			path := filepath.Join(dir, "app.pd_")
			if out, err := exec.Command(gcab, append(flags, path, in)...).CombinedOutput(); err != nil {
				t.Fatalf("%v: %v: %s", flags, err, out)
			}
			cab, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if got, err := expand(cab, 1<<20); err != nil || !bytes.Equal(got, data) {
				t.Errorf("%v: %d bytes, want %d; %v", flags, len(got), len(data), err)
			}
		}
	})
}

func FuzzCabinet(f *testing.F) {
	data := cabText(70_000)
	f.Add(cabtest.MSZIP("a", data))
	f.Add(cabtest.Stored("a", data[:40]))
	f.Add(cabtest.MSZIP("a", data)[:3000])
	f.Fuzz(func(t *testing.T, cab []byte) {
		const limit = 1 << 20
		got, err := expand(cab, limit)
		if len(got) > limit {
			t.Errorf("%d bytes expanded, limit is %d", len(got), limit)
		}
		if err == nil {
			return
		}
		for _, kind := range []error{ErrCorrupt, ErrTruncatedStream, ErrTooLarge, ErrUnsupported} {
			if errors.Is(err, kind) {
				return
			}
		}
		t.Errorf("error of no kind: %v", err)
	})
}

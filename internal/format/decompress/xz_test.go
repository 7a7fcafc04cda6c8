package decompress

import (
	"bytes"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"runtime"
	"testing"

	"github.com/ulikunitz/xz"
)

func packXZ(t testing.TB, c xz.WriterConfig, data []byte) []byte {
	t.Helper()
	var b bytes.Buffer
	w, err := c.NewWriter(&b)
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

func TestXZ(t *testing.T) {
	data := dump(300_001)
	for name, c := range map[string]xz.WriterConfig{
		"crc64": {CheckSum: xz.CRC64}, "crc32": {CheckSum: xz.CRC32}, "sha256": {CheckSum: xz.SHA256},
		"none": {NoCheckSum: true}, "blocks": {BlockSize: 50_000}, "small dictionary": {DictCap: 4096},
	} {
		packed := packXZ(t, c, data)
		twice := bytes.Join([][]byte{packed, make([]byte, 8), packed, make([]byte, 4)}, nil)
		for _, limit := range []int64{int64(len(data)), 1 << 40} {
			if got, err := XZ(packed, limit); err != nil || !bytes.Equal(got, data) {
				t.Errorf("%s, at most %d: %d bytes, %v", name, limit, len(got), err)
			}
		}
		if got, err := XZ(twice, 1<<30); err != nil || len(got) != 2*len(data) {
			t.Errorf("%s, two streams: %d bytes, %v", name, len(got), err)
		}
		if _, err := XZ(packed, int64(len(data))-1); !errors.Is(err, ErrTooLarge) {
			t.Errorf("%s above the limit: %v", name, err)
		}
		if _, err := XZ(packed[:len(packed)/2], 1<<30); !errors.Is(err, ErrTruncatedStream) {
			t.Errorf("%s truncated: %v", name, err)
		}
	}
	if got, err := XZ(packXZ(t, xz.WriterConfig{}, nil), 10); err != nil || len(got) != 0 {
		t.Errorf("empty: %q, %v", got, err)
	}
	if _, err := XZ(nil, 10); !errors.Is(err, ErrTruncatedStream) {
		t.Errorf("no bytes: %v", err)
	}
	if _, err := XZ([]byte("this is not an xz file"), 10); !errors.Is(err, ErrCorrupt) {
		t.Errorf("text: %v", err)
	}
}

func TestXZDamage(t *testing.T) {
	data := dump(100_000)
	packed := packXZ(t, xz.WriterConfig{DictCap: 1 << 16}, data)
	for i := 0; i < len(packed)-40; i += 7 { // the index at the end is not read
		bad := bytes.Clone(packed)
		bad[i] ^= 0x10
		if got, err := XZ(bad, 1<<20); err == nil && !bytes.Equal(got, data) {
			t.Errorf("a changed byte at %d of %d gave other data", i, len(packed))
		}
	}
}

// claimDict changes the dictionary size in the first block header of packed.
func claimDict(packed []byte, code byte) []byte {
	b := bytes.Clone(packed)
	b[bytes.Index(b[12:], []byte{0x21, 1})+12+2] = code
	end := 12 + 4*(int(b[12])+1)
	binary.LittleEndian.PutUint32(b[end-4:], crc32.ChecksumIEEE(b[12:end-4]))
	return b
}

// TestXZHugeDictionary uses block headers that claim dictionaries of 4 GiB and, within the
// limit, 192 MiB.
func TestXZHugeDictionary(t *testing.T) {
	data := []byte("a few bytes of data")
	packed := packXZ(t, xz.WriterConfig{}, data)
	claim := func(code byte) []byte { return claimDict(packed, code) }
	if _, err := XZ(claim(40), 1<<30); !errors.Is(err, ErrMemory) {
		t.Errorf("4 GiB: %v", err)
	}
	if _, err := XZ(claim(41), 1<<30); !errors.Is(err, ErrCorrupt) {
		t.Errorf("impossible size: %v", err)
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	got, err := XZ(claim(31), 1<<20)
	runtime.ReadMemStats(&after)
	if err != nil || !bytes.Equal(got, data) {
		t.Errorf("192 MiB: %q, %v", got, err)
	}
	if n := after.TotalAlloc - before.TotalAlloc; n > 8<<20 {
		t.Errorf("192 MiB: %d bytes were allocated for at most 1 MiB of data", n)
	}
}

func FuzzXZ(f *testing.F) {
	f.Add(packXZ(f, xz.WriterConfig{}, []byte("some bytes, some bytes")))
	f.Add(packXZ(f, xz.WriterConfig{CheckSum: xz.CRC32, BlockSize: 10}, []byte("some bytes, some bytes")))
	f.Fuzz(func(t *testing.T, src []byte) {
		if data, err := XZ(src, 1<<16); err == nil && len(data) > 1<<16 {
			t.Fatal(len(data))
		}
	})
}

func BenchmarkXZ(b *testing.B) {
	data := bytes.Repeat(dump(200_000), 2)
	packed := packXZ(b, xz.WriterConfig{}, data)
	b.SetBytes(int64(len(data)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := XZ(packed, 1<<30); err != nil {
			b.Fatal(err)
		}
	}
}

// TestXZManyDictionaries uses streams of a few bytes with dictionaries of 64 MiB each.
func TestXZManyDictionaries(t *testing.T) {
	packed := bytes.Repeat(claimDict(packXZ(t, xz.WriterConfig{DictCap: 4096}, []byte("abcdefghij")), 28), 20)
	if _, err := XZ(packed, 1<<40); !errors.Is(err, ErrMemory) {
		t.Errorf("unbounded: %v", err)
	}
	if data, err := XZ(packed, 200); err != nil || len(data) != 200 {
		t.Errorf("bounded by what may come out: %d bytes, %v", len(data), err)
	}
}

package s3

import (
	"crypto/rand"
	"runtime"
	"testing"

	"github.com/corewalk/corewalk/internal/fixture/servers"
)

// BenchmarkUpload stores 1 GiB: B/op is all that is allocated meanwhile, much less of it at once.
func BenchmarkUpload(b *testing.B) {
	const size = 1 << 30
	server := servers.StartS3(b)
	s, err := Open(b.Context(), Options{Endpoint: server.Address, Bucket: server.Bucket, Access: server.Access, Secret: server.Secret, Dir: b.TempDir()})
	if err != nil {
		b.Fatal(err)
	}
	block := make([]byte, 1<<20)
	_, _ = rand.Read(block)
	runtime.GC()
	b.SetBytes(size)
	b.ReportAllocs()
	for b.Loop() {
		f, err := s.New(b.Context())
		if err != nil {
			b.Fatal(err)
		}
		for range size / len(block) {
			if _, err := f.Write(block); err != nil {
				b.Fatal(err)
			}
		}
		if err := f.Keep(b.Context(), "large"); err != nil {
			b.Fatal(err)
		}
	}
}

package find

import (
	"context"
	"fmt"
	"path/filepath"
	"testing"

	"github.com/corewalk/corewalk/internal/format/elffile/elftest"
)

// BenchmarkIndex indexes a tree with many files of all kinds: the cost of a search if no
// path helps.
func BenchmarkIndex(b *testing.B) {
	dir := b.TempDir()
	kinds := [][]byte{elftest.WithID(3, []byte{1, 2, 3, 4}, 0), peWith(b, testCodeID, testDebugID, "a.pdb"), pdbWith(b, testDebugID),
		symWith(testDebugID, testCodeID, "a.pdb"), []byte("text of some other kind, longer than a head is\n")}
	const files = 10_000
	for i := range files {
		write(b, filepath.Join(dir, fmt.Sprint("d", i/100), fmt.Sprint("f", i)), kinds[i%len(kinds)])
	}
	b.ReportAllocs()
	for b.Loop() {
		New(context.Background(), Options{Search: []string{dir}}).files()
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/files, "ns/file")
}

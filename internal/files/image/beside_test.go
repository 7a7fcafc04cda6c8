package image

import (
	"runtime"
	"testing"

	"github.com/corewalk/corewalk/internal/files/kept"
)

// TestBeside: while much of .debug_info is decompressed, about as much of what is read with it is, too, and nothing
// else; for a little of it nothing is. Closing waits for that.
func TestBeside(t *testing.T) {
	if runtime.GOMAXPROCS(0) < 2 {
		defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(2))
	}
	for _, part := range []float64{0.02, 0.75, 1} {
		with(t, kept.New(t.TempDir(), 1<<30), packedFile(t), func(im *Image) {
			data, need, err := im.elf.LazyDebugSection("info")
			if err != nil || need == nil || len(data)*3/4 < besideLeast {
				t.Fatalf("%d bytes, compressed %v: %v", len(data), need != nil, err)
			}
			if err := need(0, uint64(float64(len(data))*part)); err != nil {
				t.Fatal(err)
			}
			im.side.Wait()
			filled := map[string]float64{}
			for _, s := range im.disk.sections {
				l := s.lazy.Load()
				filled[s.packed.Name()] = float64(l.Filled()) / float64(len(l.Data()))
			}
			delete(filled, ".debug_info")
			if got := filled[".debug_line"]; part > 0.1 && (got < part || got > part+0.3) || part < 0.1 && got > 0 {
				t.Errorf("with %.2f of .debug_info: %.2f of .debug_line", part, got)
			}
			for _, name := range companions { // the abbreviations are few
				delete(filled, ".debug_"+name)
			}
			if len(filled) > 0 {
				t.Errorf("with %.2f of .debug_info: %v", part, filled)
			}
		})
	}
	with(t, nil, packedFile(t), func(im *Image) { // and closed while that goes on
		if data, need, err := im.elf.LazyDebugSection("info"); err != nil || need(0, uint64(len(data))) != nil {
			t.Error(err)
		}
	})
}

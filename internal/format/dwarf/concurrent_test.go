package dwarf

import (
	"sync"
	"testing"
)

// Many goroutines may use one Data: every part is built once, and all results are the same.
func TestConcurrent(t *testing.T) {
	f := manyUnits(200, false)
	d := f.data()
	var wg sync.WaitGroup
	for g := range 8 {
		wg.Go(func() {
			var buf []Call
			for i := range uint64(200) {
				pc := 0x10000 + 0x100*((i*7+uint64(g)*31)%200) + 0x80*(i%2)
				var err error
				buf, err = d.Frames(pc, buf[:0])
				if want := []string{"f", "g"}[i%2]; err != nil || len(buf) != 1 || buf[0].Name != want {
					t.Errorf("%#x: %+v, %v", pc, buf, err)
					return
				}
				if u, err := d.UnitContaining(SecInfo, buf[0].Func.Off); err != nil || u != buf[0].Func.Unit {
					t.Errorf("%#x: unit %v, want %v: %v", pc, u, buf[0].Func.Unit, err)
				}
			}
		})
	}
	wg.Wait()
}

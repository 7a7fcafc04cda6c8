package message

import (
	"testing"

	"github.com/corewalk/corewalk/unwind"
	"github.com/corewalk/corewalk/unwind/arch"
)

func TestHotSpotWords(t *testing.T) {
	const detail, pointer, kind = 0x100, 0x800, 0x900
	symbols := map[string]arch.Address{"_ZN7VMError11_detail_msgE": fakeBase + detail, "_ZN7VMError8_messageE": fakeBase + pointer}
	for _, c := range []struct {
		name, function, kind, detail string
		want                         string
		cause                        Cause
	}{
		{"heap", "VMError::report_and_die", "fatal error", "OutOfMemory encountered: Java heap space", "fatal error: OutOfMemory encountered: Java heap space", OutOfMemory},
		{"native memory", "VMError::report_and_die", "Out of Memory Error", "AllocateHeap", "Out of Memory Error: AllocateHeap", OutOfMemory},
		{"an error of its own", "VMError::report_and_die", "guarantee(x) failed", "", "guarantee(x) failed", Abort},
		{"a fault", "VMError::report_and_die", "", "", "", Abort},
		{"another function", "main", "fatal error", "no", "", Abort},
	} {
		m := make(fakeMemory, 0x1000)
		copy(m[detail:], c.detail)
		copy(m[kind:], c.kind)
		if c.kind != "" {
			m.put(pointer, fakeBase+kind)
		}
		p := m.process(symbols)
		p.Stack = []Frame{{Frame: new(unwind.Frame), Names: []string{c.function}}}
		if got := hotspotWords(p); got.Message != c.want || got.Cause != c.cause {
			t.Errorf("%s: %+v", c.name, got)
		}
	}
}

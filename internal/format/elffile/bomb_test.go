package elffile

import (
	"errors"
	"testing"
)

// A section that would become much larger than compilers' do is refused before it is decompressed; any section may become large by as
// much as they do.
func TestImplausibleSize(t *testing.T) {
	for _, c := range []struct {
		have, size int
		ok         bool
	}{{4, maxUnlikely, true}, {4, maxUnlikely + 1, false}, {maxUnlikely / 16, maxUnlikely / 16 * maxExpansion, true}, {maxUnlikely / 16, maxUnlikely/16*maxExpansion + 64, false}} {
		m := &image{class: 64, typ: ET_DYN}
		h := enc{m: m}
		h.u32(uint32(Zlib))
		h.u32(0)
		h.word(uint64(c.size))
		h.word(1)
		m.secs = []sec{{name: ".debug_info", typ: SHT_PROGBITS, flags: SHF_COMPRESSED, data: append(h.b, make([]byte, c.have)...)}}
		f := mustParse(t, m.build(t))
		asked := false
		f.Decompress = func(p Packed) (Inflated, error) { asked = true; return inflated("short"), nil }
		_, err := f.DebugSection("info")
		if !errors.Is(err, ErrCompressed) && !asked || asked != c.ok {
			t.Errorf("%d bytes of %d: asked %t, %v", c.size, c.have, asked, err)
		}
	}
	if n := Plausible(1, 100); n != 100 {
		t.Errorf("%d of at most 100", n)
	}
}

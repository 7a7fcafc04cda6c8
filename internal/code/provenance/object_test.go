package provenance

import (
	"testing"

	"github.com/corewalk/corewalk/unwind/arch"
)

// TestObject tells apart variables of the frame: an address of one does not open another.
func TestObject(t *testing.T) {
	const escape = `
		56 # push rsi
		57 # push rdi
		48 8d 04 24 # lea rax,[rsp]
		e8 00 10 00 00 # call out
		48 8b 44 24 08 # mov rax,[rsp+8]
		c3 # ret` // rsi at -16, its neighbour at -24
	const index = `
		56 # push rsi
		48 89 54 fc 80 # mov [rsp+rdi*8-128],rdx
		48 8b 04 24 # mov rax,[rsp]
		c3 # ret` // from -144 on
	for _, c := range []struct {
		name      string
		code      string
		low, high int64
		want      string
	}{
		{"a neighbour", escape, -24, -16, "slot(rsi)"},
		{"one byte of it", escape, -24, -15, "slot(unknown)"},
		{"ends above it, begins in it", escape, -9, 0, "slot(unknown)"},
		{"begins behind it", escape, -8, 0, "slot(rsi)"},
		{"around it", escape, -32, 0, "slot(unknown)"},
		{"an array far below", index, -144, -80, "slot(rsi)"},
		{"an array near", index, -144, -79, "slot(unknown)"},
		{"an array far above", index, 56, 100, "slot(rsi)"},
		{"an array near above", index, 55, 100, "slot(unknown)"},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := function(t, arch.AMD64, c.code)
			var asked []int64
			f.Object = func(off int64) (int64, int64, bool) {
				asked = append(asked, off)
				return c.low, c.high, true
			}
			last := f.steps[len(f.steps)-1].Addr
			if got := text(f, f.Before(last, Reg(arch.RAX))); got != c.want {
				t.Errorf("%s, want %s", got, c.want)
			}
			want := int64(-24)
			if c.code == index {
				want = -144
			}
			if len(asked) != 1 || asked[0] != want {
				t.Errorf("asked for the objects at %d, want %d once", asked, want)
			}
		})
	}
	// An index by a frame pointer that is not known may be in any variable.
	f := function(t, arch.AMD64, `
		48 89 74 24 f8 # mov [rsp-8],rsi
		48 89 54 fd c0 # mov [rbp+rdi*8-64],rdx
		48 8b 44 24 f8 # mov rax,[rsp-8]
		c3 # ret`)
	f.Object = func(int64) (int64, int64, bool) { return 1000, 1100, true }
	if got := text(f, f.Before(base+15, Reg(arch.RAX))); got != "slot(unknown)" {
		t.Errorf("an index by an unknown register: %s", got)
	}
	for code, want := range map[string]string{
		escape: "slot(unknown)", // the address of what is not known to be a variable may reach all above it
		index:  "slot(unknown)",
		`
			56 # push rsi
			48 8d 44 24 08 # lea rax,[rsp+8]
			e8 00 10 00 00 # call out
			48 8b 04 24 # mov rax,[rsp]
			c3 # ret`: "slot(rsi)",
		`
			48 81 ec c8 00 00 00 # sub rsp,200
			48 89 34 24 # mov [rsp],rsi
			48 89 54 fc 80 # mov [rsp+rdi*8-128],rdx
			48 8b 04 24 # mov rax,[rsp]
			48 81 c4 c8 00 00 00 # add rsp,200
			c3 # ret`: "slot(unknown)",
	} {
		f := function(t, arch.AMD64, code)
		f.Object = func(int64) (int64, int64, bool) { return 0, 0, false }
		last := f.steps[len(f.steps)-1].Addr
		if got := text(f, f.Before(last, Reg(arch.RAX))); got != want {
			t.Errorf("no variable is known: %s, want %s", got, want)
		}
	}
}

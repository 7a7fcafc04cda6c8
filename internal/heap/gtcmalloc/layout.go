package gtcmalloc

import (
	_ "embed"
	"strings"

	"github.com/corewalk/corewalk/internal/runtimes/layouts"
)

// layoutsText has the layouts of some commits, by their dates, for programs without debugging information.
//
//go:embed layouts.txt
var layoutsText string

// known are the layouts of the table in which variables have some sizes, the newest first: they tell one release from most others.
func known(sizes map[string]uint64) (all []layout) {
	var columns []string
	for line := range strings.Lines(layoutsText) {
		if f := strings.Fields(line); len(f) > 1 && f[0] == "field" {
			columns = f[1:]
			break
		}
	}
	for i := len(columns) - 1; i >= 0; i-- {
		l, _ := layouts.Read(layoutsText, func(c string) bool { return c == columns[i] })
		fits := l != nil
		for _, name := range variables {
			size, is := sizes[name]
			fits = fits && is == l.Has(name) && (!is || size == l[name])
		}
		if fits {
			all = append(all, layout{l})
		}
	}
	return all
}

// A layout says where one build of the allocator keeps things, by names as those of describe.go: bytes from the beginning of a record, sizes of records and
// lengths of tables. Of numbers that may have some bits of a word only, "number" entries say which.
type layout struct{ layouts.Layout }

// A number is part of a record: how many bits, and the first one, from the record's beginning.
type number struct{ bit, bits uint64 }

const numberBits = 8 // of an entry that are for how many bits there are

// packed is a number as an entry of a layout.
func (n number) packed() uint64 { return n.bit<<numberBits | n.bits }

// number is the entry with a name; false if this build has none.
func (l layout) number(name string) (n number, ok bool) {
	v, ok := l.Layout[name]
	n = number{v >> numberBits, v & (1<<numberBits - 1)}
	return n, ok && n.bits > 0 && n.bits <= 64
}

// in reads the number from the bytes of a record; 0 where they end before it.
func (n number) in(b []byte) (v uint64) {
	for i := n.bit / 8; i <= (n.bit+n.bits-1)/8; i++ {
		if i >= uint64(len(b)) {
			return 0
		}
		v |= shifted(uint64(b[i]), int(i*8)-int(n.bit))
	}
	if n.bits < 64 {
		v &= 1<<n.bits - 1
	}
	return v
}

func shifted(v uint64, by int) uint64 {
	if by < 0 {
		return v >> -by
	}
	return v << by
}

// of reads a number of a record with a name; 0 if this build has none.
func (l layout) of(name string, b []byte) uint64 {
	n, ok := l.number(name)
	if !ok {
		return 0
	}
	return n.in(b)
}

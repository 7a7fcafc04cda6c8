//go:build countdwarf

package systemtest

import "github.com/corewalk/corewalk/internal/format/dwarf"

func resetDWARF() { dwarf.ResetCounted() }

// touchedDWARF is how many bytes of debugging entries were read since resetDWARF.
func touchedDWARF() (n uint64, ok bool) {
	dwarf.Counted(func(_ *dwarf.Unit, c dwarf.Count) { n += uint64(c.Bytes) })
	return n, true
}

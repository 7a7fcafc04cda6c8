//go:build !countdwarf

package systemtest

func resetDWARF() {}

func touchedDWARF() (uint64, bool) { return 0, false }

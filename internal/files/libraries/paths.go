package libraries

import "strings"

// deletedSuffix is what the kernel appends to the path of a mapped file that was
// removed.
const deletedSuffix = " (deleted)"

// cutDeleted strips deletedSuffix, and reports whether it was there.
func cutDeleted(path string) (string, bool) {
	return strings.CutSuffix(path, deletedSuffix)
}

// isVDSOName recognises the dynamic linker's names for the vDSO.
func isVDSOName(name string) bool {
	return strings.HasPrefix(name, "linux-vdso") || strings.HasPrefix(name, "linux-gate")
}

func baseName(path string) string { return path[strings.LastIndexByte(path, '/')+1:] }

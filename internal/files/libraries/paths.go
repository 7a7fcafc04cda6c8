package libraries

import "strings"

// deletedSuffix is what the kernel appends to the path of a mapped file that has
// been removed.
const deletedSuffix = " (deleted)"

// cutDeleted strips deletedSuffix, and reports whether it was there.
func cutDeleted(path string) (string, bool) {
	return strings.CutSuffix(path, deletedSuffix)
}

// isVDSOName recognises what the dynamic linker calls the vDSO.
func isVDSOName(name string) bool {
	return strings.HasPrefix(name, "linux-vdso") || strings.HasPrefix(name, "linux-gate")
}

func baseName(path string) string { return path[strings.LastIndexByte(path, '/')+1:] }

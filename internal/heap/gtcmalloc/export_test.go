package gtcmalloc

import "path/filepath"

// Releases is a variable that has directories, named by dates of commits, each with the archives of the allocator and of Abseil of its time, libtcm.a and
// libabsl.a, with debugging information.
const Releases = "COREWALK_GTCMALLOC"

// Linked are the compiler's flags for a program with a release.
func Linked(dir string) []string {
	return []string{"-Wl,--whole-archive", filepath.Join(dir, "libtcm.a"), "-Wl,--no-whole-archive", filepath.Join(dir, "libabsl.a"), "-lstdc++", "-lm"}
}

// Chosen are how many blocks are sampled, and how many of them guarded.
func (h *Heap) Chosen() (sampled, guarded int) {
	for i := range h.spans {
		s := &h.spans[i]
		if s.sample != 0 {
			sampled++
		}
		if _, _, ok := h.guarded(s); ok {
			guarded++
		}
	}
	return sampled, guarded
}

package image

import "strings"

// variants are the suffixes by which the C library names implementations of a function for
// one kind of processor: __memmove_avx512_unaligned_erms implements memmove.
var variants = []string{"avx", "evex", "sse", "ssse", "erms", "generic", "ia32", "i386", "i586", "i686", "asimd", "sve", "mops", "falkor", "thunderx", "a64fx", "kunpeng",
	"power", "ppc", "z900", "z13", "z10", "neon", "vfp", "arm"}

// calledAs returns the names under which programs call a function: its own, and the name of
// the function that it implements. memcpy and memmove count as the same, since one
// implementation can serve both. free is also what C++'s operator delete becomes: that jumps to it and leaves no
// trace, and is in a library that mostly has no debug information.
func calledAs(name string) []string {
	if name == "free" || name == "cfree" || name == "__libc_free" {
		return []string{"free", "cfree", "__libc_free", "_ZdlPv", "_ZdaPv", "_ZdlPvm", "_ZdaPvm", "_ZdlPvj", "_ZdaPvj"}
	}
	names := []string{name}
	rest, ok := strings.CutPrefix(name, "__")
	if !ok {
		return names
	}
	for i := 1; i < len(rest); i++ {
		if rest[i] != '_' || !startsWithAny(rest[i+1:], variants) {
			continue
		}
		base := rest[:i]
		names = append(names, base, "__"+base)
		switch {
		case strings.HasPrefix(base, "memmove"):
			names = append(names, "memcpy"+base[len("memmove"):], "__memcpy"+base[len("memmove"):])
		case strings.HasPrefix(base, "memcpy"):
			names = append(names, "memmove"+base[len("memcpy"):], "__memmove"+base[len("memcpy"):])
		}
		break
	}
	return names
}

func startsWithAny(s string, list []string) bool {
	for _, begin := range list {
		if strings.HasPrefix(s, begin) {
			return true
		}
	}
	return false
}

package image

import "strings"

// variants are what the C library's names of a function's implementations for one kind
// of processor go on with: __memmove_avx512_unaligned_erms implements memmove.
var variants = []string{"avx", "evex", "sse", "ssse", "erms", "generic", "ia32", "i386", "i586", "i686", "asimd", "sve", "mops", "falkor", "thunderx", "a64fx", "kunpeng",
	"power", "ppc", "z900", "z13", "z10", "neon", "vfp", "arm"}

// calledAs are the names by which programs call a function: its own, and that of which
// it is an implementation. Overlapping or not, memory is copied by the same code.
func calledAs(name string) []string {
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

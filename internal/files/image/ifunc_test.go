package image

import (
	"slices"
	"testing"
)

func TestCalledAs(t *testing.T) {
	for name, want := range map[string][]string{
		"__memmove_avx512_unaligned_erms": {"memmove", "__memmove", "memcpy", "__memcpy"},
		"__memcpy_chk_evex_unaligned":     {"memcpy_chk", "__memcpy_chk", "memmove_chk", "__memmove_chk"},
		"__strlen_evex":                   {"strlen", "__strlen"},
		"__strcmp_sse2_unaligned":         {"strcmp", "__strcmp"},
		"strlen_avx2":                     nil,
		"drop":                            nil,
		"__":                              nil,
	} {
		if got := calledAs(name); got[0] != name || !slices.Equal(got[1:], want) {
			t.Errorf("%s: %q, want %q", name, got[1:], want)
		}
	}
}

// A stack with free has the function that deleted an object by a tail call: both names are known.
func TestCalledAsDelete(t *testing.T) {
	for _, name := range []string{"free", "cfree", "__libc_free"} {
		if got := calledAs(name); !slices.Contains(got, name) || !slices.Contains(got, "_ZdlPvm") || !slices.Contains(got, "_ZdaPv") {
			t.Errorf("%s: %q", name, got)
		}
	}
}

package dwarfvars_test

import (
	"regexp"
	"strconv"
	"strings"
)

var (
	cast       = regexp.MustCompile(`\((?:[A-Za-z_][^(){}"]*|[^(){}"]*\([*&][^(){}"]*\)\([^{}"]*?\))\) (0x|@0x)`)
	floats     = regexp.MustCompile(`-?\b\d+\.\d+(?:e[-+]\d+)?\b|-?\b\d+e[-+]\d+\b`)
	nulls      = regexp.MustCompile(`(?:\\000)+"`)
	manyNull   = regexp.MustCompile(`, '\\000' <repeats \d+ times>`)
	onlyNull   = regexp.MustCompile(`'\\000' <repeats \d+ times>`)
	noMemory   = regexp.MustCompile(`<error: Cannot access memory at address 0x[0-9a-f]+>|<no memory at 0x[0-9a-f]+>|<memory not in the dump: 0x[0-9a-f]+>`)
	optimised  = regexp.MustCompile(`<optimi[sz]ed out>|<points to an object that was optimised away>|<[a-z0-9]+ not recovered>|<value on entry not known: [^>]*>`)
	clones     = regexp.MustCompile(`<([^<>+.@]*)(?:\.\d+|@[^<>+]*)(\+\d+)?>`)
	synthetic  = regexp.MustCompile(`\(synthetic pointer\).*`)
	structAddr = regexp.MustCompile(`\{(?:[a-z ]*\()[^{}]*\)\} (0x)`)
)

// normal brings a value's text, gdb's or ours, to what both would write.
func normal(s string) string {
	s = optimised.ReplaceAllString(s, "<optimized out>")
	s = cast.ReplaceAllString(s, "$1")
	s = noMemory.ReplaceAllString(s, "<no memory>")
	s = manyNull.ReplaceAllString(s, "")
	s = onlyNull.ReplaceAllString(s, `""`)
	s = nulls.ReplaceAllString(s, `"`)
	s = synthetic.ReplaceAllString(s, "(synthetic pointer)")
	s = clones.ReplaceAllString(s, "<$1$2>")
	s = floats.ReplaceAllStringFunc(s, func(n string) string {
		f, err := strconv.ParseFloat(n, 64)
		if err != nil {
			return n
		}
		return strconv.FormatFloat(f, 'g', 8, 64)
	})
	return strings.TrimSpace(s)
}

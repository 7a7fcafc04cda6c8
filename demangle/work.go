package demangle

import "strings"

// maxWork limits what a name may cost; see tooMuchWork. Names of real programs stay below a hundredth of it.
const maxWork = 1 << 25

// tooMuchWork reports whether demangling a name might take much longer than its length explains. The time grows
// with the square of the name's structure, that is its bytes without those of identifiers, and with the number of
// pack expansions ("Dp", "sp", "sZ"), each of which may copy all else.
func tooMuchWork(s string) bool {
	structure, expansions := 0, 1
	for i := 0; i < len(s); {
		if s[i] >= '1' && s[i] <= '9' {
			n, j := 0, i
			for ; j < len(s) && s[j] >= '0' && s[j] <= '9' && n <= len(s); j++ {
				n = 10*n + int(s[j]-'0')
			}
			// Other numbers than lengths of identifiers end with "_" or "E".
			if j < len(s) && n <= len(s)-j && s[j] != '_' && s[j] != 'E' && identifier(s[j:j+n]) {
				structure += 2
				i = j + n
				continue
			}
		}
		if strings.HasPrefix(s[i:], "Dp") || strings.HasPrefix(s[i:], "sp") || strings.HasPrefix(s[i:], "sZ") {
			expansions++
		}
		structure++
		i++
	}
	return structure*structure*expansions > maxWork
}

// identifier reports whether s looks like one.
func identifier(s string) bool {
	for i := range len(s) {
		if c := s[i]; c < '0' && c != '$' && c != '.' && c != '-' || c > '9' && c < 'A' || c > 'Z' && c < 'a' && c != '_' || c > 'z' && c < 0x80 {
			return false
		}
	}
	return true
}

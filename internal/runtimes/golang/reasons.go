package golang

// The words for waits are numbered anew in most versions. The runtime has a list of them, by number.

// Limits on the list.
const (
	maxReasons = 128
	maxReason  = 64 // bytes of a word
)

// reasonFunctions have the list's address in their code.
var reasonFunctions = []string{"runtime.waitReason.String", "runtime.goroutineheader"}

// ownReasons reads the words for waits from the program's own list of them, found by its name or in code; nil if it is not found.
func (r *runtime) ownReasons() []string {
	var at []uint64
	if s, ok := r.p.Symbols.SymbolByName(r.lib, "runtime.waitReasonStrings"); ok {
		at = append(at, s.Addr)
	}
	for _, f := range reasonFunctions {
		if len(at) == 0 {
			at = r.globals(f)
		}
		for _, list := range at {
			if words := r.readReasons(list); words != nil {
				return words
			}
		}
		at = nil
	}
	return nil
}

// readReasons reads a list of words for waits, which has no end of its own; nil if it is none: the first is empty, and
// the third the same in all versions.
func (r *runtime) readReasons(list uint64) []string {
	size := uint64(r.Arch.WordSize)
	var words []string
	for at := list; len(words) < maxReasons; at += 2 * size {
		n, ok := r.word(at + size)
		if !ok || n > maxReason || (n == 0) != (at == list) {
			break
		}
		word, ok := r.stringAt(at)
		if !ok || !printable(word) {
			break
		}
		words = append(words, word)
	}
	const ioWait = 2
	if len(words) <= ioWait || words[ioWait] != "IO wait" {
		return nil
	}
	return words
}

func printable(s string) bool {
	for i := range len(s) {
		if s[i] < ' ' || s[i] > '~' {
			return false
		}
	}
	return true
}

package find

import (
	"encoding/hex"
	"strings"
	"testing"
)

// Files from a server are rejected or verified, never used unchecked.
func FuzzVerifyELF(f *testing.F) {
	id := []byte{0xde, 0xad, 0xbe, 0xef, 1, 2, 3, 4}
	f.Add(elfWithID(3, id))
	f.Add([]byte("\x7fELF"))
	f.Fuzz(func(t *testing.T, data []byte) {
		want := hex.EncodeToString(id)
		for _, kind := range []string{KindDebugInfo, KindExecutable} {
			if verifyELF(data, kind, want) == nil && !strings.Contains(hex.EncodeToString(data), want) {
				t.Errorf("%s accepted, but the id is nowhere in it", want)
			}
		}
	})
}

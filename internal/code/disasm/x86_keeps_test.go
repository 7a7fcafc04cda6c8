package disasm_test

import (
	"encoding/hex"
	"testing"

	"github.com/corewalk/corewalk/internal/code/disasm"
	"github.com/corewalk/corewalk/unwind/arch"
)

// Stack probes leave the memory as it was; what is nearly one does not.
func TestKeepsMemory(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		code, text string
		keeps      bool
	}{
		{"48830c2400", "or qword ptr [rsp], 0", true}, {"4883342400", "xor qword ptr [rsp], 0", true}, {"83042400", "add dword ptr [rsp], 0", true},
		{"81ac240010000000000000", "sub dword ptr [rsp+0x1000], 0", true}, {"800c2400", "or byte ptr [rsp], 0", true}, {"f0830c2400", "lock or dword ptr [rsp], 0", true},
		{"48830c2401", "or 1", false}, {"4883242400", "and 0", false}, {"4883142400", "adc 0: the carry counts", false}, {"48831c2400", "sbb 0", false},
		{"48833c2400", "cmp 0: nothing is written", false}, {"4883c800", "or rax, 0: no memory", false}, {"48c7042400000000", "mov qword ptr [rsp], 0", false}, {"48090424", "or [rsp], rax", false},
	} {
		code, err := hex.DecodeString(c.code)
		if err != nil {
			t.Fatal(err)
		}
		in, err := disasm.Decode(arch.AMD64, code, 0x1000)
		if err != nil || in.Len != len(code) {
			t.Fatalf("%s: %v, %d bytes", c.text, err, in.Len)
		}
		if got := in.KeepsMemory(); got != c.keeps {
			t.Errorf("%s: %v", c.text, got)
		}
	}
	if in, err := disasm.Decode(arch.ARM64, []byte{0xe0, 0x03, 0x00, 0xf9}, 0); err == nil && in.KeepsMemory() {
		t.Error("str on arm64")
	}
}

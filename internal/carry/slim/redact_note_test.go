package slim

import (
	"bytes"
	"encoding/binary"
	"testing"

	"github.com/corewalk/corewalk/corestate"
	"github.com/corewalk/corewalk/unwind/arch"
)

// A small number stays where a note begins, as the number of a segment does in NT_386_TLS: it ends nothing.
func TestNoteBeginsWithNumber(t *testing.T) {
	r := &redactor{arch: arch.X86, whole: spots{{0x8000000, 0x9000000}}, found: new(corestate.Reads), walked: new(corestate.Reads), module: func(arch.Address) bool { return false }}
	le := binary.LittleEndian
	data := le.AppendUint32(le.AppendUint32(le.AppendUint32(nil, 12), 0x8189d0c), 0xfffff)
	want := append(le.AppendUint32(le.AppendUint32(nil, 12), 0x8189d0c), "xxx\x00"...)
	if got := r.note(corestate.Note{Owner: "LINUX", Type: 0x200, Data: data}); !bytes.Equal(got, want) {
		t.Errorf("% x, want % x", got, want)
	}
}

// What says which registers there are stays in NT_X86_XSTATE, whatever numbers it has: those of processors with AMX are large. The registers do not.
func TestXStateDescribed(t *testing.T) {
	r := &redactor{arch: arch.AMD64, whole: spots{{0x8000000, 0x9000000}}, found: new(corestate.Reads), walked: new(corestate.Reads), module: func(arch.Address) bool { return false }}
	data := bytes.Repeat([]byte("secrets!"), 100)
	binary.LittleEndian.PutUint64(data[464:], 0x600e7)
	for _, n := range []corestate.Note{{Owner: "LINUX", Type: 0x202, Data: data}, {Owner: "LINUX", Type: 0x202, Data: data[:570]}, {Owner: "GNU", Type: 0x202, Data: data}} {
		got := r.note(n)
		if kept := binary.LittleEndian.Uint64(got[464:]) == 0x600e7; kept != (n.Owner == "LINUX" && len(n.Data) == 800) {
			t.Errorf("%s, %d bytes: XCR0 kept %v", n.Owner, len(n.Data), kept)
		}
		for _, at := range []int{0, 456, 576, 792} {
			if at+8 <= len(got) && bytes.Contains(got[at:at+8], []byte("secrets!")) {
				t.Errorf("the register at %d is kept", at)
			}
		}
	}
}

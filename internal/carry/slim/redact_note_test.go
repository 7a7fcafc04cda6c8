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

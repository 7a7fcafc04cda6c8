package livestate

import (
	"encoding/binary"
	"runtime"
	"unsafe"

	"github.com/corewalk/corewalk/corestate"
	"github.com/corewalk/corewalk/internal/format/elffile"
)

// decodeSigInfo decodes what PTRACE_GETSIGINFO gives, which has this program's
// layout whatever the target's is.
func decodeSigInfo(b []byte) corestate.SignalInfo {
	machine := uint16(elffile.EM_X86_64)
	switch runtime.GOARCH {
	case "mips", "mipsle", "mips64", "mips64le":
		machine = elffile.EM_MIPS
	}
	order := binary.ByteOrder(binary.LittleEndian)
	if one := uint16(1); *(*byte)(unsafe.Pointer(&one)) == 0 {
		order = binary.BigEndian
	}
	return corestate.DecodeSigInfo(&elffile.File{Machine: machine, Class: 8 * int(unsafe.Sizeof(uintptr(0))), Order: order}, b)
}

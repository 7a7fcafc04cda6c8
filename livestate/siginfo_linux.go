package livestate

import (
	"encoding/binary"
	"runtime"
	"unsafe"

	"github.com/corewalk/corewalk/corestate"
	"github.com/corewalk/corewalk/unwind/arch"
)

// decodeSigInfo decodes a siginfo from PTRACE_GETSIGINFO, which has this program's
// layout, whatever the target's is.
func decodeSigInfo(b []byte) corestate.SignalInfo {
	own := &arch.Arch{WordSize: int(unsafe.Sizeof(uintptr(0))), ByteOrder: binary.LittleEndian, Family: arch.FamilyX86}
	switch runtime.GOARCH {
	case "mips", "mipsle", "mips64", "mips64le":
		own.Family = arch.FamilyMIPS
	}
	if one := uint16(1); *(*byte)(unsafe.Pointer(&one)) == 0 {
		own.ByteOrder = binary.BigEndian
	}
	return corestate.DecodeSigInfo(own, b)
}

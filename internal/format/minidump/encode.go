package minidump

import (
	"encoding/binary"

	"github.com/corewalk/corewalk/unwind/arch"
)

// CPUOf returns how SYSTEM_INFO numbers an architecture; CPUUndefined if EncodeContext cannot write its registers.
func CPUOf(a *arch.Arch) CPU {
	switch a {
	case arch.AMD64:
		return CPUAMD64
	case arch.X86:
		return CPUX86
	case arch.ARM64:
		return CPUARM64
	case arch.ARM:
		return CPUARM
	}
	return CPUUndefined
}

// EncodeContext makes the CONTEXT record that DecodeContext decodes to regs and vector, which is as long as the record's
// field or nil. Flags of parts of which nothing is known are not set. It returns nil for processors that CPUOf does not
// return, and for a vector of another length.
func EncodeContext(cpu CPU, regs *arch.RegSet, vector []byte) []byte {
	kinds := layouts(cpu)
	if len(kinds) == 0 || cpu == CPUUndefined {
		return nil
	}
	l, order := kinds[0], binary.ByteOrder(binary.LittleEndian)
	if l.wide || vector != nil && len(vector) != l.vectorLen {
		return nil
	}
	rec := make([]byte, l.size)
	flags := l.cpu &^ 0xff // the low bits are those of parts
	if vector != nil {
		copy(rec[l.vector.off:], vector)
		flags |= l.vector.flag
	}
	for _, p := range l.parts {
		for _, fd := range p.fields {
			v, ok := regs.Get(fd.reg)
			if !ok {
				continue
			}
			flags |= p.flag
			switch fd.size {
			case 2:
				order.PutUint16(rec[fd.off:], uint16(v))
			case 4:
				order.PutUint32(rec[fd.off:], uint32(v))
			default:
				order.PutUint64(rec[fd.off:], v)
			}
		}
	}
	order.PutUint32(rec[l.flags:], flags)
	return rec
}

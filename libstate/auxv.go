package libstate

import "encoding/binary"

// Keys of the auxiliary vector (a_type), as the kernel's
// include/uapi/linux/auxvec.h and asm/auxvec.h number them.
const (
	ATNull        = 0
	ATPhdr        = 3  // address of the program's program headers
	ATPhEnt       = 4  // size of one, in bytes
	ATPhNum       = 5  // how many
	ATPageSize    = 6  // in bytes
	ATBase        = 7  // where the interpreter was loaded; 0 for none
	ATEntry       = 9  // the program's entry point
	ATUID         = 11 // real user id
	ATPlatform    = 15 // address of a string
	ATHWCap       = 16 // bits of the processor's features
	ATClockTick   = 17 // ticks of times(2) in a second
	ATSecure      = 23 // not 0 for a setuid program and the like
	ATRandom      = 25 // address of 16 random bytes
	ATExecFn      = 31 // address of the name that was executed
	ATSysinfo     = 32 // address of the vDSO's entry point for system calls, on x86
	ATSysinfoEhdr = 33 // address of the vDSO's ELF header
)

// An AuxEntry is one entry of the auxiliary vector.
type AuxEntry struct{ Key, Value uint64 }

// Auxv is the auxiliary vector that the kernel gave a process when it started,
// in the kernel's order and without the final ATNull.
type Auxv []AuxEntry

// maxAuxv limits the entries that ParseAuxv reads; a kernel writes about twenty.
const maxAuxv = 1024

// ParseAuxv decodes an auxiliary vector of words of wordSize bytes (4 or 8), in the
// form of NT_AUXV and /proc/PID/auxv. It stops at ATNull or at the end of data.
func ParseAuxv(data []byte, wordSize int, order binary.ByteOrder) Auxv {
	var a Auxv
	word := func(b []byte) uint64 {
		if wordSize == 4 {
			return uint64(order.Uint32(b))
		}
		return order.Uint64(b)
	}
	for len(data) >= 2*wordSize && len(a) < maxAuxv {
		e := AuxEntry{word(data), word(data[wordSize:])}
		if e.Key == ATNull {
			break
		}
		a = append(a, e)
		data = data[2*wordSize:]
	}
	return a
}

// Get returns the value of the first entry with the key.
func (a Auxv) Get(key uint64) (uint64, bool) {
	for _, e := range a {
		if e.Key == key {
			return e.Value, true
		}
	}
	return 0, false
}

package dyninst

import (
	"errors"
	"fmt"

	"github.com/corewalk/corewalk/unwind/arch"
)

// A Trap is an entry of the trap map: a breakpoint in the original text, and the relocated
// code at which to continue.
type Trap struct{ Source, Target uint64 }

// Layout of the trap map in memory: u32 signature, u32 number of entries, i32 position in
// the run-time library's list (-1 until registered), u32 padding, u64 lowest and highest
// entry, then the entries of two pointers each. Registering adds the load bias to the
// entries.
const (
	trapSignature  = 0x759191D6
	trapHeaderSize = 32
	maxTraps       = 1 << 16
)

// ErrTrapMap: there is no trap map at the expected address.
var ErrTrapMap = errors.New("not a trap map")

// ReadTrapMap reads the trap map with link-time address addr of a module at bias. It
// returns the entries with link-time addresses: as many as can be read, at most 65536. The
// error wraps ErrTrapMap or is the memory's.
func ReadTrapMap(mem arch.Memory, a *arch.Arch, addr, bias uint64) ([]Trap, error) {
	var head [trapHeaderSize]byte
	at := a.Truncate(addr + bias)
	if n, err := mem.ReadMem(at, head[:]); n < len(head) {
		return nil, fmt.Errorf("trap map at %#x: %w", at, err)
	}
	o := a.ByteOrder
	if sig := o.Uint32(head[:]); sig != trapSignature {
		return nil, fmt.Errorf("signature %#x at %#x: %w", sig, at, ErrTrapMap)
	}
	if int32(o.Uint32(head[8:])) < 0 {
		bias = 0 // not registered: still as in the file
	}
	size := uint64(2 * a.WordSize)
	left := min(uint64(o.Uint32(head[4:])), maxTraps)
	at = a.Truncate(at + trapHeaderSize)
	var traps []Trap
	var buf [4096]byte
	for left > 0 {
		n, err := mem.ReadMem(at, buf[:min(left*size, uint64(len(buf)))])
		whole := uint64(n) / size
		for i := range whole {
			e := buf[i*size:]
			traps = append(traps, Trap{a.Truncate(a.Word(e) - bias), a.Truncate(a.Word(e[a.WordSize:]) - bias)})
		}
		if err != nil || whole == 0 {
			return traps, err
		}
		left -= whole
		at = a.Truncate(at + whole*size)
	}
	return traps, nil
}

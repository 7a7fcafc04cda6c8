package analysis

import (
	"encoding/binary"
	"strings"
	"testing"

	"github.com/corewalk/corewalk/internal/code/provenance"
	"github.com/corewalk/corewalk/internal/fixture"
	"github.com/corewalk/corewalk/unwind/arch"
)

// machine is code of a made function.
type machine []byte

const machineStart = 0x1000

func (m machine) CodeAt(addr uint64) []byte {
	if addr < machineStart || addr >= machineStart+uint64(len(m)) {
		return nil
	}
	return m[addr-machineStart:]
}
func (m machine) DataAt(uint64) []byte { return nil }
func (m machine) FuncAt(uint64) bool   { return false }
func (m machine) NoReturn(uint64) bool { return false }

// A pointer that was read from the frame is what was given back only if nothing could write between.
func TestOnFrame(t *testing.T) {
	o := openCase(t, fixture.Get(t, "amd64-vars-c-O0"))
	const load, nop, store, call, ret = "\x48\x8b\x7d\xf8", "\x90", "\x48\x89\x06", "\xe8\x00\x01\x00\x00", "\xc3"
	for name, c := range map[string]struct {
		code      string // up to the call
		size      int
		cfa       bool
		exact, ok bool
	}{
		"at once":      {load, 8, true, true, true},
		"soon":         {load + nop + nop, 8, true, true, true},
		"a write":      {load + store, 8, true, false, true},
		"a call":       {load + call, 8, true, false, true},
		"a part":       {load, 4, true, false, false},
		"no frame":     {load, 8, false, false, false},
		"much between": {load + strings.Repeat(nop, maxGivenSteps), 8, true, false, true},
	} {
		p := newPair()
		binary.LittleEndian.PutUint64(p.data[placeSize-8:], wildWord)
		died, _ := p.crash(t, o)
		code := machine(c.code + call + ret)
		at := uint64(machineStart + len(c.code))
		w := &witness{in: died.question, state: provenance.State{CFA: placed + placeSize, HasCFA: c.cfa},
			code: provenance.New(arch.AMD64, provenance.ABIOf(arch.AMD64, false), code, machineStart, machineStart+uint64(len(code)))}
		value, exact, ok := w.onFrame(&provenance.Value{Kind: provenance.Slot, Size: c.size, K: -8, At: machineStart}, at)
		if exact != c.exact || ok != c.ok || ok && value != wildWord {
			t.Errorf("%s: %#x, exact %v, known %v", name, value, exact, ok)
		}
	}
}

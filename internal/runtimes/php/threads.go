package php

import (
	"bytes"
	"encoding/binary"
	"errors"
	"slices"

	"github.com/corewalk/corewalk/unwind"
	"github.com/corewalk/corewalk/unwind/arch"
)

// Where the GNU C library keeps what pthread_getspecific returns, in bytes from the thread pointer of x86-64: of the first keys, each with a
// number before it that is not 0 while it is used.
const (
	specificValues = 0x310
	specificSize   = 16
	specificKeys   = 32
)

// Ways in which tsrm_get_ls_cache begins.
var (
	landing = []byte{0xf3, 0x0f, 0x1e, 0xfa} // endbr64
	loadKey = []byte{0x8b, 0x3d}             // mov edi, [rip+key], before a jump to pthread_getspecific
)

// maxOffset limits how far into the block of a thread globals are.
const maxOffset = 1 << 24

// openSafe finds the globals of builds in which each thread has its own (ZTS).
func (r *runtime) openSafe() error {
	if r.p.State.Arch() != arch.AMD64 {
		return errors.New("where its threads keep their globals is known on x86-64 only")
	}
	key, known := r.keyOf(r.symbol("tsrm_get_ls_cache"))
	r.executor, r.core, r.request = r.Word(r.symbol("executor_globals_offset")), r.Word(r.symbol("core_globals_offset")), r.Word(r.symbol("sapi_globals_offset"))
	if r.executor == 0 || r.executor > maxOffset {
		return errors.New("where the globals of its threads are is not known")
	}
	ids, _ := r.p.State.ThreadIDs()
	if known {
		r.key = key
		failed := errors.New("none of its threads has globals")
		for _, id := range ids {
			if s, ok := r.safeState(id); ok {
				if failed = r.check(s.executor); failed == nil {
					return nil
				}
			}
		}
		return failed
	}
	// Other code, or code that the dump lacks: globals in which a call is prove the key.
	var proved []uint32
	for _, id := range ids {
		for r.key = range uint32(specificKeys) {
			if s, ok := r.safeState(id); ok && !slices.Contains(proved, r.key) && r.calling(s.executor) {
				proved = append(proved, r.key)
			}
		}
	}
	if len(proved) != 1 { // what was given back may look like globals, too
		return errors.New("where its threads keep their globals is not known: tsrm_get_ls_cache is other code, or not in the dump")
	}
	r.key = proved[0]
	return nil
}

// calling reports whether globals have calls, of which one runs an instruction of its function: no other memory has that.
func (r *runtime) calling(globals uint64) bool {
	list, _ := r.chain(r.Word(globals + r.at("globals.current")))
	return slices.ContainsFunc(list, func(c call) bool { return c.f.kind != funcInternal && c.op != 0 })
}

// keyOf reads of the instructions of tsrm_get_ls_cache with which key it asks for what a thread has.
func (r *runtime) keyOf(code uint64) (uint32, bool) {
	b := r.Some(code, 16)
	at := code
	if bytes.HasPrefix(b, landing) {
		b, at = b[len(landing):], at+uint64(len(landing))
	}
	b, ok := bytes.CutPrefix(b, loadKey)
	if !ok || len(b) < 4 {
		return 0, false
	}
	end := at + uint64(len(loadKey)) + 4
	key, ok := r.U32(end + uint64(int64(int32(binary.LittleEndian.Uint32(b)))))
	return key, ok && key < specificKeys
}

// safeState returns the globals of a thread of such a build.
func (r *runtime) safeState(id unwind.ThreadID) (state, bool) {
	regs, err := r.p.State.Registers(id)
	if err != nil {
		return state{}, false
	}
	pointer, ok := regs.Get(arch.FSBase)
	if !ok || pointer == 0 {
		return state{}, false
	}
	slot := pointer + specificValues + specificSize*uint64(r.key)
	block := r.Word(slot + 8)
	if used := r.Word(slot); used == 0 || block == 0 || block%8 != 0 {
		return state{}, false
	}
	s := state{executor: block + r.executor}
	if r.core > 0 && r.core < maxOffset {
		s.core = block + r.core
	}
	if r.request > 0 && r.request < maxOffset {
		s.request = block + r.request
	}
	return s, true
}

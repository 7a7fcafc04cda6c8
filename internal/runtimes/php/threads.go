package php

import (
	"bytes"
	"encoding/binary"
	"errors"

	"github.com/corewalk/corewalk/unwind"
	"github.com/corewalk/corewalk/unwind/arch"
)

// A cacheSlot says where each thread keeps the address of its globals (TSRM): in its thread-local storage.
type cacheSlot struct {
	offset int64  // from the thread pointer; for module 0
	module uint64 // the number of the library whose storage it is in
}

// Ways in which tsrm_get_ls_cache begins, as compilers write it.
var (
	readDirect  = []byte{0x64, 0x48, 0x8b, 0x04, 0x25}       // mov rax, fs:[offset]
	readTable   = []byte{0x48, 0x8b, 0x05}                   // mov rax, [rip+got]
	readPointer = []byte{0x64, 0x48, 0x8b, 0x00}             // mov rax, fs:[rax]
	askDynamic  = []byte{0x66, 0x48, 0x8d, 0x3d}             // lea rdi, [rip+index], before a call of __tls_get_addr
	landing     = []byte{0xf3, 0x0f, 0x1e, 0xfa}             // endbr64
	savesStack  = [][]byte{{0x48, 0x83, 0xec, 0x08}, {0x55}} // sub rsp, 8; push rbp
)

// openSafe finds the globals of builds in which each thread has its own (ZTS).
func (r *runtime) openSafe() error {
	if r.p.State.Arch() != arch.AMD64 {
		return errors.New("where its threads keep their globals is known on x86-64 only")
	}
	var ok bool
	if r.cache, ok = r.slot(r.symbol("tsrm_get_ls_cache")); !ok {
		return errors.New("where its threads keep their globals is not known: tsrm_get_ls_cache is other code")
	}
	r.executor, r.core, r.request = r.Word(r.symbol("executor_globals_offset")), r.Word(r.symbol("core_globals_offset")), r.Word(r.symbol("sapi_globals_offset"))
	if r.executor == 0 || r.executor > maxOffset {
		return errors.New("where the globals of its threads are is not known")
	}
	ids, _ := r.p.State.ThreadIDs()
	var failed error
	for _, id := range ids {
		if s, ok := r.safeState(id); ok {
			if err := r.prove(s.executor); err != nil {
				failed = err
				continue
			}
			return nil
		}
	}
	if failed == nil {
		failed = errors.New("none of its threads has globals")
	}
	return failed
}

// maxOffset limits how far into the block of a thread globals are.
const maxOffset = 1 << 24

// slot reads the instructions of tsrm_get_ls_cache.
func (r *runtime) slot(code uint64) (cacheSlot, bool) {
	b := r.Some(code, 32)
	at := code
	skip := func(p []byte) bool {
		if !bytes.HasPrefix(b, p) {
			return false
		}
		b, at = b[len(p):], at+uint64(len(p))
		return true
	}
	relative := func() uint64 { // after 4 bytes that count from behind themselves
		if len(b) < 4 {
			return 0
		}
		v := at + 4 + uint64(int64(int32(binary.LittleEndian.Uint32(b))))
		b, at = b[4:], at+4
		return v
	}
	skip(landing)
	for _, p := range savesStack {
		skip(p)
	}
	switch {
	case skip(readDirect) && len(b) >= 4:
		return cacheSlot{offset: int64(int32(binary.LittleEndian.Uint32(b)))}, true
	case skip(readTable):
		v, ok := r.LookupWord(relative())
		return cacheSlot{offset: int64(v)}, ok && skip(readPointer)
	case skip(askDynamic):
		index := relative()
		module, ok := r.LookupWord(index)
		offset, ok2 := r.LookupWord(index + 8)
		return cacheSlot{int64(offset), module}, ok && ok2 && module > 0 && module < 1<<16
	}
	return cacheSlot{}, false
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
	slot := pointer + uint64(r.cache.offset)
	if r.cache.module != 0 { // glibc has the vector of the storage of libraries behind the first word
		slot = r.Word(r.Word(pointer+8)+16*r.cache.module) + uint64(r.cache.offset)
	}
	block := r.Word(slot)
	if block == 0 {
		return state{}, false
	}
	s := state{block + r.executor, 0, 0}
	if r.core > 0 && r.core < maxOffset {
		s.core = block + r.core
	}
	if r.request > 0 && r.request < maxOffset {
		s.request = block + r.request
	}
	return s, true
}

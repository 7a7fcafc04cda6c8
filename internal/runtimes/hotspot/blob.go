package hotspot

import "strings"

// kind is what code of the code cache is.
type kind byte

const (
	kindOther       kind = iota // adapters, buffers: without frames of a size of their own
	kindInterpreter             // frames of the interpreter
	kindCompiled                // a compiled method
	kindNative                  // what calls a native method
	kindStub                    // a stub with a frame of fixed size, or one that a compiled method calls
	kindRoutines                // many routines in assembly: the one by which C++ calls Java among them
	kindTable                   // dispatch tables: without frames
)

// A blob is a piece of code in the code cache.
type blob struct {
	at, begin, end uint64 // of the structure; of its code
	name           string
	kind           kind
	frameSize      uint64 // in bytes, with the return address; 0 if it has none
	complete       uint64 // offset of the code behind which the frame is complete
	hasComplete    bool
	method         uint64 // of compiled methods
	descs          []byte // PcDescs, in the order of their code offsets
	scopes         uint64 // what scopes are encoded in
	scopesEnd      uint64
	metadata       uint64 // pointers to methods
	metadataCount  uint64
	oops           uint64 // the objects that the code names
	level          uint32 // of compilation; 0 if it is not known
}

// The most steps from a segment to the beginning of its block, each up to 254 segments long.
const maxSteps = 1 << 12

// blobAt is the blob that contains an address; nil if there is none.
func (vm *VM) blobAt(pc uint64) *blob {
	h := vm.heapOf(pc)
	if h == nil {
		return nil
	}
	i := (pc - h.low) >> h.shift
	for range maxSteps {
		t, ok := vm.U8(h.segments + i)
		if !ok || t == 0xff {
			return nil
		}
		if t == 0 {
			at := h.low + i<<h.shift + vm.sizes["HeapBlock"]
			b := vm.blobs.Get(at, func() *blob { return vm.readBlob(at) })
			if b == nil || pc < b.begin || pc >= b.end || b.begin < h.low || b.end > h.high {
				return nil
			}
			return b
		}
		if uint64(t) > i {
			return nil
		}
		i -= uint64(t)
	}
	return nil
}

func (vm *VM) readBlob(at uint64) *blob {
	b := &blob{at: at}
	nameOff, ok := vm.off("CodeBlob._name")
	if !ok {
		return nil
	}
	if b.name, ok = vm.Text(vm.Word(at + nameOff)); !ok {
		return nil
	}
	if begin, ok := vm.off("CodeBlob._code_begin"); ok {
		end, _ := vm.off("CodeBlob._code_end")
		b.begin, b.end = vm.Word(at+begin), vm.Word(at+end)
	} else { // offsets from the blob: from JDK 23 on, and before 9
		begin, ok := vm.off("CodeBlob._code_offset")
		end, ok2 := vm.off("CodeBlob._data_offset")
		if !ok || !ok2 {
			return nil
		}
		from, _ := vm.U32(at + begin)
		to, _ := vm.U32(at + end)
		b.begin, b.end = at+uint64(from), at+uint64(to)
	}
	if b.begin <= at || b.end < b.begin || b.end-at > 1<<28 {
		return nil
	}
	if off, ok := vm.off("CodeBlob._frame_size"); ok {
		if n, ok := vm.U32(at + off); ok && int32(n) > 0 && n < 1<<20 {
			b.frameSize = 8 * uint64(n)
		}
	}
	if off, ok := vm.off("CodeBlob._frame_complete_offset"); ok {
		n, ok := vm.U32(at + off)
		if typ, _ := vm.Text(vm.fields["CodeBlob._frame_complete_offset"].typ); typ == "int16_t" {
			n = uint32(int16(n))
		}
		b.hasComplete = ok && int32(n) >= 0
		b.complete = uint64(n)
	}
	switch {
	case b.name == "Interpreter":
		b.kind = kindInterpreter
	case b.name == "nmethod":
		b.kind = kindCompiled
	case b.name == "native nmethod":
		b.kind = kindNative
	case strings.HasPrefix(b.name, "StubRoutines"):
		b.kind = kindRoutines
	case b.name == "vtable chunks", b.name == "I2C/C2I adapters":
		b.kind = kindTable
	case b.frameSize > 0:
		b.kind = kindStub
	}
	if b.kind == kindCompiled || b.kind == kindNative {
		vm.readCompiled(b)
	}
	return b
}

// maxScopes bounds what is read of one method's debug information, in bytes.
const maxScopes = 1 << 24

// readCompiled finds the method of compiled code, and its debug information.
func (vm *VM) readCompiled(b *blob) {
	if off, ok := vm.off("CompiledMethod._method", "nmethod._method"); ok {
		b.method = vm.Word(b.at + off)
	}
	if off, ok := vm.off("nmethod._comp_level"); ok {
		n, _ := vm.U32(b.at + off)
		b.level = n & 0xff
	}
	// Offsets from the beginning of the blob, or of data that lies elsewhere (from JDK 23 on).
	at := func(base uint64, names ...string) uint64 {
		off, ok := vm.off(names...)
		if !ok || base == 0 {
			return 0
		}
		n, ok := vm.U32(b.at + off)
		if !ok || int32(n) < 0 {
			return 0
		}
		return base + uint64(n)
	}
	if b.oops = at(b.at, "nmethod._oops_offset"); b.oops == 0 {
		b.oops = at(b.at, "CodeBlob._data_offset")
	}
	var pcs, end uint64
	if off, ok := vm.off("nmethod._immutable_data"); ok {
		data := vm.Word(b.at + off)
		size, _ := vm.off("nmethod._immutable_data_size")
		n, _ := vm.U32(b.at + size)
		pcs, b.scopes = at(data, "nmethod._scopes_pcs_offset"), at(data, "nmethod._scopes_data_offset")
		end, b.scopesEnd = b.scopes, data+uint64(n)
		if off, ok := vm.off("CodeBlob._mutable_data"); ok {
			reloc, ok := vm.off("CodeBlob._relocation_size")
			n, _ := vm.U32(b.at + reloc)
			if m := vm.Word(b.at + off); ok && m != 0 {
				b.metadata, b.metadataCount = m+uint64(n), 1<<16
			}
		}
	} else {
		pcs, end = at(b.at, "nmethod._scopes_pcs_offset"), at(b.at, "nmethod._dependencies_offset")
		b.scopesEnd = pcs
		if off, ok := vm.off("CompiledMethod._scopes_data_begin", "nmethod._scopes_data_begin"); ok {
			b.scopes = vm.Word(b.at + off)
		} else {
			b.scopes = at(b.at, "nmethod._scopes_data_offset")
		}
		b.metadata = at(b.at, "nmethod._metadata_offset")
		if b.metadata != 0 && b.scopes > b.metadata {
			b.metadataCount = (b.scopes - b.metadata) / 8
		}
	}
	if pcs != 0 && pcs < end && end-pcs <= maxScopes && b.scopes != 0 && vm.mayKeep(int(end-pcs)) {
		b.descs = vm.Bytes(pcs, int(end-pcs))
	}
	if b.scopesEnd < b.scopes || b.scopesEnd-b.scopes > maxScopes {
		b.scopesEnd = b.scopes
	}
}

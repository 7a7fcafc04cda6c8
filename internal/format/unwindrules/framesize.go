package unwindrules

// A FrameSize says how much stack a function of x64 Windows uses: its S_FRAMEPROC record in
// a PDB. It does not say which registers are saved, nor where. Addresses are relative to the
// module's base; sizes are in bytes.
type FrameSize struct {
	Start, Size uint32 // the function's code
	// Body and Epilog are where the prologue ends and where the last epilogue begins, as
	// offsets in the code. Epilog is 0 if it is not known; Body is at most Size.
	Body, Epilog uint32
	// ByLines says that Body is only where the second source line begins.
	ByLines bool
	Bytes   uint32 // of the frame, without return address and Saved
	Saved   uint32 // of the registers that the function pushes
	// ByRBP says that the distance from RSP to the return address is not fixed: the function
	// aligns its frame or calls alloca. Then RBP is fixed.
	ByRBP bool
	// PushesRBP says that the function has a frame pointer. LLVM's code pushes the caller's
	// RBP before all else, and counts it among Bytes.
	PushesRBP bool
	LLVM      bool // the code is LLVM's, whose frames have one layout
}

// FixedSize is the distance in bytes from RSP after the prologue to the return address, or,
// if ByRBP is set, the least that it can be.
func (w *FrameSize) FixedSize() uint64 { return uint64(w.Bytes) + uint64(w.Saved) }

// maxPointed is the largest distance from RSP to where a prologue may point RBP: what unwind
// codes can express, in steps of 16 bytes.
const maxPointed = 15 * 16

// Pointed lists the distances from where RBP points to the return address that are possible
// after the prologue of a function with ByRBP. LLVM points RBP into the frame as far as 128
// bytes; other compilers choose freely.
func (w *FrameSize) Pointed() []uint64 {
	if w.LLVM {
		const pushed, most = 8, 128
		return []uint64{w.FixedSize() - min(uint64(max(w.Bytes, pushed)-pushed), most)&^15}
	}
	var list []uint64
	for off := uint64(0); off <= min(maxPointed, w.FixedSize()); off += 16 {
		list = append(list, w.FixedSize()-off)
	}
	return list
}

// KeepsRegisters reports whether the function surely leaves all callee-saved registers as
// they were, except RBP if it has a frame pointer.
func (w *FrameSize) KeepsRegisters() bool { return w.LLVM && w.Saved == 0 }

package minidump

import (
	"encoding/binary"

	"github.com/corewalk/corewalk/internal/format/binbuf"
)

// An XStateConfig says where the features of the extended state are: the newest version of
// MiscInfo has one (XSTATE_CONFIG_FEATURE_MSC_INFO).
type XStateConfig struct {
	ContextSize uint32
	Enabled     uint64 // features, one bit each
	Features    [64]XStateFeature
}

// An XStateFeature is the position of one feature in an XSAVE area in standard format, in
// bytes from its start, which includes the legacy area of 512 bytes.
type XStateFeature struct{ Offset, Size uint32 }

// Features of the extended state of x86 (Intel SDM, volume 1, 13.1).
const (
	XFeatureAVX  = 2
	XFeatureCETU = 11 // user-mode shadow stack: its control register and pointer
)

func readXStateConfig(c *binbuf.Cursor) XStateConfig {
	x := XStateConfig{}
	c.Skip(4)
	x.ContextSize, x.Enabled = c.U32(), c.U64()
	for i := range x.Features {
		x.Features[i] = XStateFeature{c.U32(), c.U32()}
	}
	if c.Error != nil {
		return XStateConfig{}
	}
	return x
}

// An XState is a thread's extended state: an XSAVE area without its first 512 bytes.
type XState struct {
	Mask      uint64 // the features present
	Compacted uint64 // XCOMP_BV: bit 63 means compacted format
	data      []byte // from the XSAVE header on
	config    *XStateConfig
}

const (
	xsaveLegacy = 512
	xsaveHeader = 64
)

// xstate finds the extended state after a context of size bytes. CONTEXT_EX precedes it and
// gives its position. Some writers set the flag but store no state.
func (f *File) xstate(rec []byte, size int) *XState {
	c := binbuf.New(rec, size, f.Big)
	c.Skip(16) // All, Legacy
	off, length := int64(int32(c.U32())), uint64(c.U32())
	if c.Error != nil || off <= 0 || length < xsaveHeader {
		return nil
	}
	data, ok := binbuf.Slice(rec, uint64(size)+uint64(off), length)
	if !ok {
		return nil
	}
	x := &XState{Mask: binary.LittleEndian.Uint64(data), Compacted: binary.LittleEndian.Uint64(data[8:]), data: data, config: &f.Misc.XState}
	return x
}

// Feature returns the bytes of a feature, or false if the state does not have it.
func (x *XState) Feature(n int) ([]byte, bool) {
	if x == nil || n < 2 || n >= 64 || x.Mask>>n&1 == 0 {
		return nil, false
	}
	f := x.config.Features[n]
	off := uint64(f.Offset)
	if x.Compacted>>63 != 0 {
		off = xsaveLegacy + xsaveHeader
		for i := 2; i < n; i++ {
			if x.Compacted>>i&1 != 0 {
				off += uint64(x.config.Features[i].Size)
			}
		}
	}
	if f.Size == 0 || off < xsaveLegacy+xsaveHeader {
		return nil, false
	}
	return binbuf.Slice(x.data, off-xsaveLegacy, uint64(f.Size))
}

// ShadowStack returns the thread's shadow stack pointer, or false if the processor has no
// shadow stack. The shadow stack contains the return addresses of all callers.
func (x *XState) ShadowStack() (uint64, bool) {
	b, ok := x.Feature(XFeatureCETU)
	if !ok || len(b) < 16 || binary.LittleEndian.Uint64(b)&1 == 0 {
		return 0, false
	}
	return binary.LittleEndian.Uint64(b[8:]), true
}

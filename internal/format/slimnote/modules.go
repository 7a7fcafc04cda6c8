package slimnote

import (
	"encoding/binary"
	"fmt"

	"github.com/corewalk/corewalk/internal/format/binbuf"
)

// TypeModules is the type of the note with the list of modules that another dump had of which a core was made; "mods".
const TypeModules = 0x6d6f6473

// UnknownPerm in Range.Flags says that it is not known what could be done with the memory, whatever the other flags are.
const UnknownPerm = 1 << 31

// The descriptor of TypeModules, in the byte order of the core:
//
//	version u32, flags u32, count u32, 0 u32
//	modules: base, size, bias u64; flags u32; lengths of the build-id and of five texts u32; these, without padding
const (
	modulesHead = 16
	moduleHead  = 3*8 + 4 + 6*4

	flagMapped  = 1
	flagFiles   = 2
	flagBias    = 1
	flagPartial = 2
)

// Modules is what the note says.
type Modules struct {
	Mapped bool // that the dump knew all mappings
	Files  bool // that it knew which files they were of
	List   []Module
}

// A Module is an entry of the list. See libstate.ModuleID.
type Module struct {
	Base, Size, Bias uint64
	HasBias, Partial bool
	BuildID          []byte
	Path             string
	DebugID, CodeID  string
	DebugFile        string
	Version          string
}

// Bytes returns the descriptor.
func (m *Modules) Bytes(o binary.ByteOrder) []byte {
	flags := bit(m.Mapped, flagMapped) | bit(m.Files, flagFiles)
	b := words(nil, o, version, flags, uint32(len(m.List)), 0)
	for _, e := range m.List {
		b = long(b, o, e.Base, e.Size, e.Bias)
		b = words(b, o, bit(e.HasBias, flagBias)|bit(e.Partial, flagPartial))
		texts := []string{string(e.BuildID), e.Path, e.DebugID, e.CodeID, e.DebugFile, e.Version}
		for _, t := range texts {
			b = words(b, o, uint32(len(t)))
		}
		for _, t := range texts {
			b = append(b, t...)
		}
	}
	return b
}

func bit(is bool, b uint32) uint32 {
	if is {
		return b
	}
	return 0
}

func words(b []byte, o binary.ByteOrder, list ...uint32) []byte {
	for _, v := range list {
		b = append(b, 0, 0, 0, 0)
		o.PutUint32(b[len(b)-4:], v)
	}
	return b
}

func long(b []byte, o binary.ByteOrder, list ...uint64) []byte {
	for _, v := range list {
		b = append(b, 0, 0, 0, 0, 0, 0, 0, 0)
		o.PutUint64(b[len(b)-8:], v)
	}
	return b
}

// ParseModules reads a descriptor.
func ParseModules(desc []byte, big bool) (*Modules, error) {
	c := binbuf.New(desc, 0, big)
	if v := c.U32(); c.Error == nil && v != version {
		return nil, fmt.Errorf("version %d, want %d: %w", v, version, errVersion)
	}
	flags, count := c.U32(), c.U32()
	c.Skip(4)
	if c.Error != nil || uint64(count) > uint64(c.Len())/moduleHead {
		return nil, fmt.Errorf("%d bytes for %d modules: %w", len(desc), count, errShort)
	}
	m := &Modules{Mapped: flags&flagMapped != 0, Files: flags&flagFiles != 0, List: make([]Module, count)}
	for i := range m.List {
		e := &m.List[i]
		e.Base, e.Size, e.Bias = c.U64(), c.U64(), c.U64()
		is := c.U32()
		e.HasBias, e.Partial = is&flagBias != 0, is&flagPartial != 0
		var n [6]uint32
		for j := range n {
			n[j] = c.U32()
		}
		if b := c.Bytes64(uint64(n[0])); len(b) > 0 {
			e.BuildID = append([]byte(nil), b...)
		}
		for j, to := range []*string{&e.Path, &e.DebugID, &e.CodeID, &e.DebugFile, &e.Version} {
			*to = string(c.Bytes64(uint64(n[j+1])))
		}
		if c.Error != nil {
			return nil, fmt.Errorf("module %d: %w", i, errShort)
		}
	}
	return m, nil
}

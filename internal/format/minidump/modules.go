package minidump

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/corewalk/corewalk/internal/format/codeview"
)

// A Module is an entry of the module list: a program, a library, or another file that the
// writer took for one. The first is the main program.
type Module struct {
	Base      uint64
	Size      uint64
	Checksum  uint32
	Timestamp uint32 // TimeDateStamp of PE
	Path      string // as the process named it, with \ on Windows
	Version   string // of the file; "" if unknown
	Format    CodeViewFormat
	GUID      codeview.GUID
	Age       uint32 // of PDB 7.0 and 2.0
	PDB20     uint32 // signature of a PDB 2.0: a time
	BuildID   []byte // of ELF
	// PartialID says that BuildID is a GUID made from the build-id: its first 16 bytes,
	// padded with zeros.
	PartialID bool
	DebugFile string // path of the PDB, or what the writer stored instead
	CodeView  []byte // the raw record

	apple, windows bool
}

// A CodeViewFormat is the kind of record that identifies a module's debug file.
type CodeViewFormat uint8

const (
	NoCodeView      CodeViewFormat = iota
	PDB70                          // "RSDS"; also on macOS and in old Linux dumps
	PDB20                          // "NB10"
	ELFBuildID                     // "LEpB"
	UnknownCodeView                // kept undecoded
)

// End is the first address after the module; 0 at the end of the address space.
func (m *Module) End() uint64 { return m.Base + m.Size }

// Name returns the last component of Path.
func (m *Module) Name() string { return baseName(m.Path) }

func baseName(path string) string { return path[strings.LastIndexAny(path, `/\`)+1:] }

const moduleSize = 108

// readModules decodes MINIDUMP_MODULE_LIST.
func (f *File) readModules(s []byte) {
	body, n := f.plainList(ModuleListStream, s, moduleSize)
	f.Modules = make([]Module, 0, n)
	for i := range n {
		m := f.module(body[i*moduleSize : (i+1)*moduleSize])
		switch {
		case m.Size == 0:
			f.warnf("module %s: has size 0", m.Path)
		case m.Base+m.Size < m.Base:
			f.warnf("module %s: its %#x bytes at %#x extend past the end of the address space", m.Path, m.Size, m.Base)
			m.Size = -m.Base
		}
		f.Modules = append(f.Modules, m)
	}
}

func (f *File) module(b []byte) Module {
	c := f.cursor(b)
	m := Module{Base: c.U64(), Size: uint64(c.U32()), Checksum: c.U32(), Timestamp: c.U32()}
	m.apple = f.System.Known && f.System.Platform.Apple()
	m.windows = !f.System.Known || f.System.Platform.Windows()
	name := uint64(c.U32())
	var ok bool
	if m.Path, ok = f.stringAt(name); !ok && name != 0 {
		f.warnf("module at %#x: its name at offset %#x is not in the file", m.Base, name)
	}
	m.Version = f.fileVersion(c.Bytes(52))
	f.codeView(&m, f.bytes(readLocation(&c)))
	return m
}

// fileVersion decodes VS_FIXEDFILEINFO. On Linux its words are plain numbers.
func (f *File) fileVersion(b []byte) string {
	c := f.cursor(b)
	const signature = 0xfeef04bd
	if c.U32() != signature {
		return ""
	}
	c.Skip(4)
	fileHi, fileLo, prodHi, prodLo := c.U32(), c.U32(), c.U32(), c.U32()
	if f.System.Platform.Linux() && f.System.Known {
		return fmt.Sprintf("%d.%d.%d.%d", fileHi, fileLo, prodHi, prodLo)
	}
	return fmt.Sprintf("%d.%d.%d.%d", fileHi>>16, fileHi&0xffff, fileLo>>16, fileLo&0xffff)
}

const cvELF = "LEpB" // 0x4270454c

// codeView decodes the record that identifies a module's debug file. In dumps from
// big-endian machines the signature may be byte-swapped.
func (f *File) codeView(m *Module, b []byte) {
	if len(b) < 4 || !f.spend(len(b)) { // all modules may have one long record
		return
	}
	m.CodeView, m.Format = b, UnknownCodeView
	if f.Big && b[0] != 'R' && b[0] != 'N' && b[0] != 'L' {
		b = slices.Clone(b)
		slices.Reverse(b[:4])
	}
	if string(b[:4]) == cvELF {
		m.Format = ELFBuildID
		if id := m.CodeView[4:]; !allZero(id) {
			m.BuildID = id
		}
		return
	}
	r, err := codeview.Parse(b, f.order())
	switch {
	case errors.Is(err, codeview.ErrUnknown):
		return
	case err != nil:
		f.warnf("module %s: its CodeView record is truncated after %d bytes", m.Path, len(b))
		return
	case r.Old:
		m.Format, m.PDB20 = PDB20, r.Stamp
	default:
		m.Format, m.GUID = PDB70, r.GUID
		if f.System.Known && f.System.Platform.Linux() {
			f.oldBuildID(m, m.CodeView[4:20])
		}
	}
	m.Age, m.DebugFile = r.Age, string(r.Path)
}

// oldBuildID extracts the build-id from the GUID that old Breakpad versions wrote on Linux:
// the first 16 bytes of the id, or a made-up one for a file without an id.
func (f *File) oldBuildID(m *Module, guid []byte) {
	if !allZero(guid) {
		m.BuildID, m.PartialID = guid, true
	}
}

func allZero(b []byte) bool {
	for _, x := range b {
		if x != 0 {
			return false
		}
	}
	return true
}

// An UnloadedModule is a module that the process had unloaded. The list is a log whose
// entries may overlap and repeat.
type UnloadedModule struct {
	Base                uint64
	Size                uint64
	Checksum, Timestamp uint32
	Path                string
}

// CodeID identifies the module's file, like Module.CodeID.
func (u *UnloadedModule) CodeID() string {
	if u.Timestamp == 0 && u.Size == 0 {
		return ""
	}
	return fmt.Sprintf("%08X%x", u.Timestamp, u.Size)
}

// readUnloaded decodes MINIDUMP_UNLOADED_MODULE_LIST.
func (f *File) readUnloaded(s []byte) {
	body, n, stride := f.sizedList(UnloadedModuleListStream, s, 4, 24)
	f.Unloaded = make([]UnloadedModule, 0, n)
	for i := range n {
		c := f.cursor(body[i*stride : (i+1)*stride])
		u := UnloadedModule{Base: c.U64(), Size: uint64(c.U32()), Checksum: c.U32(), Timestamp: c.U32()}
		u.Path, _ = f.stringAt(uint64(c.U32()))
		f.Unloaded = append(f.Unloaded, u)
	}
}

// UnloadedAt lists the unloaded modules that once contained addr.
func (f *File) UnloadedAt(addr uint64) []UnloadedModule {
	var list []UnloadedModule
	for _, u := range f.Unloaded {
		if addr >= u.Base && addr-u.Base < u.Size {
			list = append(list, u)
		}
	}
	return list
}

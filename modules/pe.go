package modules

import (
	"fmt"
	"strings"

	"github.com/corewalk/corewalk/internal/files/find"
	"github.com/corewalk/corewalk/internal/files/image"
	"github.com/corewalk/corewalk/internal/format/pefile"
	"github.com/corewalk/corewalk/libstate"
)

// identity is what to search for a library's files by.
func identity(lib *libstate.Library) find.Module {
	m := find.Module{Path: lib.Path, BuildID: lib.BuildID, PartialID: lib.PartialBuildID(), Main: lib.Kind == libstate.Executable,
		Archive: lib.Archive, Offset: lib.ArchiveOffset, Linked: lib.Linked, Deleted: lib.Deleted}
	if id := lib.Module; id != nil {
		m.DebugID, m.DebugFile = id.DebugID, id.DebugFile
		if id.Format == libstate.FormatPE {
			m.CodeID = id.CodeID
		}
	}
	return m
}

// WhyPEInELF is why a PE image is not used for a module of an ELF core: .NET maps such images itself, and not as Windows does.
const WhyPEInELF = "file is a PE image, which the process mapped itself"

func isPE(lib *libstate.Library) bool {
	return lib.Module != nil && lib.Module.Format == libstate.FormatPE
}

// comparePE says whether im is the PE image that the process had loaded as lib: by the
// code id, or else by the debug id, or else by the headers that the process's memory has.
func (s *Set) comparePE(lib *libstate.Library, im *image.Image) (Match, string) {
	pe := im.PE()
	switch {
	case pe == nil:
		return Mismatched, "file is an ELF file, the process had a PE image"
	case lib.Module == nil:
		return Mismatched, WhyPEInELF
	case !isPE(lib):
		return Mismatched, "file is a PE image, the process had another kind of file"
	}
	want, have := lib.Module, pe.CodeID()
	if want.CodeID != "" {
		if strings.EqualFold(want.CodeID, have) {
			return Matched, ""
		}
		return Mismatched, fmt.Sprintf("file has code id %s, the process had %s", have, want.CodeID)
	}
	if cv, err := pe.CodeView(); err == nil && want.DebugID != "" {
		if strings.EqualFold(want.DebugID, cv.DebugID()) {
			return Matched, ""
		}
		return Mismatched, fmt.Sprintf("file has debug id %s, the process had %s", cv.DebugID(), want.DebugID)
	}
	if want.Size != 0 && want.Size != uint64(pe.SizeOfImage) {
		return Mismatched, fmt.Sprintf("file takes %d bytes in memory, the process's module %d", pe.SizeOfImage, want.Size)
	}
	head := make([]byte, 4096)
	n, _ := s.mem.ReadMem(lib.Start, head)
	mem, err := pefile.ParseMemory(head[:n])
	if err != nil {
		return NoID, "the dump has neither an identifier of the module nor its headers"
	}
	if !strings.EqualFold(mem.CodeID(), have) {
		return Mismatched, fmt.Sprintf("file has code id %s, the process had %s", have, mem.CodeID())
	}
	return NoID, ""
}

// bare returns what symbol files say about a library whose own file is not available;
// nil if there are no symbol files either, and no server to ask.
func (s *Set) bare(m find.Module) *image.Image {
	if m.DebugID == "" && m.CodeID == "" && m.BuildID == nil {
		return nil
	}
	im := s.cache.Bare(m)
	if im.HasPDB() || im.HasBreakpad() || im.SymbolsUnfetched() {
		return im
	}
	return nil
}

// maxPEImage limits the bytes read of a PE image in memory.
const maxPEImage = 256 << 20

// peFromMemory reads a PE image from the process's memory, which full dumps have; nil
// if its headers are not there.
func (s *Set) peFromMemory(lib *libstate.Library) *image.Image {
	if !isPE(lib) || lib.End-lib.Start > maxPEImage {
		return nil
	}
	head := make([]byte, 4096)
	n, _ := s.mem.ReadMem(lib.Start, head)
	if _, err := pefile.ParseMemory(head[:n]); err != nil {
		return nil
	}
	data := make([]byte, lib.End-lib.Start)
	const chunk = 4096 // missing pages between stay zero
	for at := 0; at < len(data); {
		n, _ := s.mem.ReadMem(lib.Start+uint64(at), data[at:])
		at += n
		at += chunk - at%chunk
	}
	im, _ := s.cache.FromPEMemory(data, identity(lib)) // its headers have been read
	return im
}

// fetchBinary asks the servers for a library's file.
func (s *Set) fetchBinary(lib *libstate.Library) (string, error) {
	if isPE(lib) {
		return s.finder.FetchSymbolFile(identity(lib), find.KindPE)
	}
	return s.finder.Fetch(lib.BuildID, find.KindExecutable)
}

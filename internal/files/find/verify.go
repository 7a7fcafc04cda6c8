package find

import (
	"encoding/hex"
	"errors"
	"fmt"
	"io"

	"github.com/corewalk/corewalk/internal/files/mmapfile"
	"github.com/corewalk/corewalk/internal/format/decompress"
	"github.com/corewalk/corewalk/internal/format/elffile"
)

// VerifyELF returns an error unless a file is a complete ELF file with a build-id, in lower-case hexadecimal. A file of KindExecutable
// also has the code.
func VerifyELF(path, kind, id string) error {
	m, err := mmapfile.Open(path)
	if err != nil {
		return err
	}
	defer m.Close()
	fault := mmapfile.Guard(func() { err = verifyELF(m.Data(), kind, id) })
	return errors.Join(fault, err)
}

func verifyELF(data []byte, kind, id string) error {
	f, err := elffile.Parse(data)
	if err != nil {
		return err
	}
	switch got := hex.EncodeToString(f.BuildID()); {
	case got == "":
		return fmt.Errorf("the file has no build-id, want %s", id)
	case got != id:
		return fmt.Errorf("the file has build-id %s, want %s", got, id)
	}
	if len(f.Warnings) > 0 {
		return fmt.Errorf("file is damaged: %s", f.Warnings[0])
	}
	for i, s := range f.Sections() {
		if s.Type != elffile.SHT_NOBITS && s.Type != elffile.SHT_NULL && (s.Off > uint64(len(data)) || s.Size > uint64(len(data))-s.Off) {
			return fmt.Errorf("file is truncated: section %d ends at %#x, the file at %#x", i, s.Off+s.Size, len(data))
		}
	}
	if kind == KindExecutable && f.DebugOnly() {
		return errors.New("file has only debug information, not the code")
	}
	return nil
}

// VerifyStored returns an error unless a file is complete and is what a symbol store has by an identifier: a PE image, a PDB or a Breakpad
// symbol file that says itself that it is this build, as it is or in a cabinet. expand is called for what is in a cabinet: it writes what it is
// given to a file, and returns its path.
func VerifyStored(path, id string, expand func(write func(io.Writer) error) (path string, err error)) error {
	buf := make([]byte, headSize)
	switch got := identify(path, buf); {
	case got.kind == elfFile:
		return errors.New("this is an ELF file: such files are stored as buildid/ID/debuginfo or buildid/ID/executable")
	case got.kind != otherFile:
		return StoreKey{ID: id, Kind: symbolKinds[got.kind]}.verify(path)
	case !decompress.IsCabinet(buf):
		return errors.New("this is no PE image, PDB or Breakpad symbol file, and no cabinet with one")
	case expand == nil:
		return errors.New("a cabinet contains another cabinet")
	}
	m, err := mmapfile.Open(path)
	if err != nil {
		return err
	}
	defer m.Close()
	var inner string
	fault := mmapfile.Guard(func() {
		var cab *decompress.CabinetFile
		if cab, err = decompress.OpenCabinet(m.Data()); err == nil {
			inner, err = expand(func(w io.Writer) error { return cab.Expand(w, MaxSymbolFile) })
		}
	})
	if fault != nil || err != nil {
		return errors.Join(fault, err)
	}
	return VerifyStored(inner, id, nil)
}

// symbolKinds are the kinds of files that symbol stores have.
var symbolKinds = [...]SymbolKind{pdbFile: KindPDB, symFile: KindBreakpad, peFile: KindPE}

// StorePath returns the path at which a store of symbols has a file, by what the file says of itself: buildid/ID/debuginfo for ELF files with
// debug information only, buildid/ID/executable for others, NAME/ID/NAME for PE images and PDBs. name is the base name that the file had where it
// was made. Breakpad symbol files have their names in them, and are not answered here.
func StorePath(file, name string) (string, error) {
	switch got := identify(file, make([]byte, headSize)); got.kind {
	case elfFile:
		if got.buildID == "" {
			return "", errors.New("the file has no build-id")
		}
		kind, err := elfKind(file)
		return "buildid/" + got.buildID + "/" + kind, err
	case pdbFile:
		return name + "/" + got.debugID + "/" + name, nil
	case peFile:
		return name + "/" + got.codeID + "/" + name, nil
	}
	return "", errors.New("this is no ELF file, PE image or PDB")
}

// elfKind returns whether an ELF file has the code, or debug information only.
func elfKind(path string) (kind string, err error) {
	m, err := mmapfile.Open(path)
	if err != nil {
		return "", err
	}
	defer m.Close()
	fault := mmapfile.Guard(func() {
		var f *elffile.File
		if f, err = elffile.Parse(m.Data()); err != nil {
			return
		}
		if kind = KindExecutable; f.DebugOnly() {
			kind = KindDebugInfo
		}
	})
	return kind, errors.Join(fault, err)
}

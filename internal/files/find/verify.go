package find

import (
	"encoding/hex"
	"errors"
	"fmt"

	"github.com/corewalk/corewalk/internal/files/mmapfile"
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

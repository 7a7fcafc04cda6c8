package debuginfod

import (
	"encoding/hex"
	"errors"
	"fmt"
	"os"

	"github.com/corewalk/corewalk/internal/files/find"
	"github.com/corewalk/corewalk/internal/files/mmapfile"
	"github.com/corewalk/corewalk/internal/format/elffile"
)

// verify checks that a file is a complete ELF file of the requested kind and with the
// requested build-id. Of source files only the size can be checked.
func verify(path string, r request) error {
	if r.kind == kindSource {
		st, err := os.Stat(path)
		if err == nil && st.Size() > maxSource {
			err = errSource
		}
		return err
	}
	m, err := mmapfile.Open(path)
	if err != nil {
		return err
	}
	defer m.Close()
	fault := mmapfile.Guard(func() { err = verifyELF(m.Data(), r) })
	return errors.Join(fault, err)
}

func verifyELF(data []byte, r request) error {
	f, err := elffile.Parse(data)
	if err != nil {
		return err
	}
	switch id := hex.EncodeToString(f.BuildID()); {
	case id == "":
		return fmt.Errorf("the file has no build-id, want %s", r.id)
	case id != r.id:
		return fmt.Errorf("the file has build-id %s, want %s", id, r.id)
	}
	if len(f.Warnings) > 0 {
		return fmt.Errorf("file is damaged: %s", f.Warnings[0])
	}
	for i, s := range f.Sections() {
		if s.Type != elffile.SHT_NOBITS && s.Type != elffile.SHT_NULL && (s.Off > uint64(len(data)) || s.Size > uint64(len(data))-s.Off) {
			return fmt.Errorf("file is truncated: section %d ends at %#x, the file at %#x", i, s.Off+s.Size, len(data))
		}
	}
	if r.kind == find.KindExecutable && f.DebugOnly() {
		return errors.New("file has only debug information, not the code")
	}
	return nil
}

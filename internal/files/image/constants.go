package image

import (
	"strings"

	"github.com/corewalk/corewalk/internal/format/elffile"
)

// Constants returns the contents of the file's sections of constants: data that is neither written nor run. They are views of the file; do not
// write to them.
func (im *Image) Constants() [][]byte {
	if im == nil || im.elf.DebugOnly() {
		return nil
	}
	var out [][]byte
	for _, s := range im.elf.Sections() {
		const kind = elffile.SHF_ALLOC | elffile.SHF_WRITE | elffile.SHF_EXECINSTR
		if name := s.Name(); s.Flags&kind != elffile.SHF_ALLOC || !strings.HasPrefix(name, ".rodata") && name != ".rdata" {
			continue
		}
		if data, err := im.elf.SectionData(&s); err == nil && len(data) > 0 {
			out = append(out, data)
		}
	}
	return out
}

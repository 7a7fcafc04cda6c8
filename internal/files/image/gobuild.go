package image

import (
	"bytes"
	"encoding/binary"
	"strconv"
	"strings"

	"github.com/corewalk/corewalk/internal/format/elffile"
)

// goBuildMagic begins what Go's linker records of a build, at a multiple of 16 bytes
// (debug/buildinfo). Byte 15 says how the strings are stored: from Go 1.18 on they follow
// after 32 bytes, each after its length.
const (
	goBuildMagic  = "\xff Go buildinf:"
	goBuildHeader = 32
	goBuildInline = 2
	maxGoVersion  = 256
)

// GoVersion is the version of Go that built a program, as the linker recorded it: "go1.22.3";
// "" if the image has no such record, or one from before Go 1.18.
func (im *Image) GoVersion() string {
	if im == nil {
		return ""
	}
	if s := im.elf.Section(".go.buildinfo"); s != nil && s.Type != elffile.SHT_NOBITS {
		if data, err := im.elf.SectionData(s); err == nil {
			return goVersion(data)
		}
	}
	const most = 64 << 10 // where debug/buildinfo expects it
	for i := range im.elf.Progs {
		p := &im.elf.Progs[i]
		if p.Type != elffile.PT_LOAD || p.Flags&elffile.PF_W == 0 {
			continue
		}
		data := im.elf.SegmentData(p)
		data = data[:min(len(data), most)]
		if at := bytes.Index(data, []byte(goBuildMagic)); at >= 0 {
			return goVersion(data[at:])
		}
	}
	return ""
}

func goVersion(data []byte) string {
	if len(data) < goBuildHeader || !bytes.HasPrefix(data, []byte(goBuildMagic)) || data[15]&goBuildInline == 0 {
		return ""
	}
	n, used := binary.Uvarint(data[goBuildHeader:])
	rest := data[goBuildHeader+max(used, 0):]
	if used <= 0 || n > maxGoVersion || n > uint64(len(rest)) {
		return ""
	}
	return string(rest[:n])
}

// GoMinor is N of the release 1.N in a version of Go: "go1.22.3", "go1.24rc1", "devel go1.27-5f0a",
// "go1.21.5 X:nocoverageredesign". It is 0 if there is none.
func GoMinor(version string) int {
	_, rest, ok := strings.Cut(version, "go1.")
	if !ok {
		return 0
	}
	end := 0
	for end < len(rest) && rest[end] >= '0' && rest[end] <= '9' {
		end++
	}
	n, _ := strconv.Atoi(rest[:end])
	return n
}

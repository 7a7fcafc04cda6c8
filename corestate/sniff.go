package corestate

import (
	"bytes"
	"encoding/binary"
	"fmt"

	"github.com/corewalk/corewalk/internal/format/elffile"
	"github.com/corewalk/corewalk/internal/format/wincodes"
)

// foreign lists files that are often mistaken for cores, by their first bytes.
var foreign = [...]struct {
	magic, text string
	err         error
}{
	{"MDMP", "is a minidump (Windows, Breakpad, Crashpad), not an ELF core: see OpenMinidump", ErrNotELF},
	{"PAGEDU64", "is a Windows kernel crash dump (64-bit), not the dump of a process: use WinDbg", ErrKernelDump},
	{"PAGEDUMP", "is a Windows kernel crash dump (32-bit), not the dump of a process: use WinDbg", ErrKernelDump},
	{"KDUMP   ", "is a kernel crash dump (makedumpfile), not the core of a process: use the crash utility or drgn", ErrKernelDump},
	{"DISKDUMP", "is a kernel crash dump (diskdump), not the core of a process: use the crash utility", ErrKernelDump},
	{"makedumpfile", "is a kernel crash dump (makedumpfile, flattened), not the core of a process: use makedumpfile -R and the crash utility", ErrKernelDump},
	{"\xcf\xfa\xed\xfe", "is a Mach-O file, not an ELF core: macOS dumps cannot be analysed", ErrNotELF},
	{"\xce\xfa\xed\xfe", "is a Mach-O file, not an ELF core: macOS dumps cannot be analysed", ErrNotELF},
	{"\x1f\x9d", "is compressed with compress: unpack it first", ErrNotELF},
	{"PK\x03\x04", "is a zip archive: unpack it first", ErrNotELF},
	{"7z\xbc\xaf\x27\x1c", "is a 7z archive: unpack it first", ErrNotELF},
	{"MZ", "is a Windows program, not a dump: give the minidump first and the program after it", ErrNotELF},
}

// sniff rejects what is not an ELF file, and names what it is if the first bytes show it.
func sniff(data []byte) *OpenError {
	if len(data) == 0 {
		return &OpenError{Text: "is empty (0 bytes): the dump was never written; look for a full disk or ulimit -c 0", Err: ErrEmpty}
	}
	for i := range foreign {
		if bytes.HasPrefix(data, []byte(foreign[i].magic)) {
			return &OpenError{Text: foreign[i].text + stopCode(data), Err: foreign[i].err}
		}
	}
	const magic = "\x7fELF"
	if bytes.HasPrefix(data, []byte(magic)) {
		return nil
	}
	if len(data) < 64 && (bytes.HasPrefix([]byte(magic), data) || allZero(data)) {
		return &OpenError{Text: fmt.Sprintf("is cut off after %d bytes: copy the dump again", len(data)), Err: ErrTruncatedHeader}
	}
	if bytes.Contains(data[:min(len(data), 1<<16)], []byte("google-breakpad")) {
		return &OpenError{Text: "is a microdump (Breakpad, text from a log), not an ELF core: see OpenMinidump", Err: ErrNotELF}
	}
	if allZero(data[:min(len(data), 4096)]) {
		return &OpenError{Text: "begins with zeros instead of an ELF header: the dump was not completely written, or part of it was lost; copy it again", Err: ErrNotELF}
	}
	return &OpenError{Text: fmt.Sprintf("is not an ELF core: begins with % x, not with 7f 45 4c 46", data[:min(len(data), 4)]), Err: ErrNotELF}
}

// stopCode says why Windows' kernel stopped, of the header of its dump: BugCheckCode of DUMP_HEADER64 or DUMP_HEADER.
func stopCode(data []byte) string {
	at := 0x38
	switch {
	case bytes.HasPrefix(data, []byte("PAGEDUMP")):
		at = 0x28
	case !bytes.HasPrefix(data, []byte("PAGEDU64")):
		return ""
	}
	if len(data) < at+4 {
		return ""
	}
	code := binary.LittleEndian.Uint32(data[at:])
	if code == 0 {
		return "" // a header that is not filled in
	}
	if name := wincodes.BugCheck(code); name != "" {
		return fmt.Sprintf(" (stop code %#x, %s)", code, name)
	}
	return fmt.Sprintf(" (stop code %#x)", code)
}

func allZero(b []byte) bool {
	for _, x := range b {
		if x != 0 {
			return false
		}
	}
	return true
}

// badHeader returns what is wrong with an ELF header that cannot be read (gABI, "ELF
// Identification").
func badHeader(data []byte) *OpenError {
	text := fmt.Sprintf("is cut off after %d bytes, inside its ELF header: copy the dump again", len(data))
	if len(data) > 5 {
		const damaged = "has a damaged ELF header: %s %d at offset %d, must be 1 or 2"
		if class := data[4]; class != 1 && class != 2 {
			text = fmt.Sprintf(damaged, "class", class, 4)
		} else if order := data[5]; order != 1 && order != 2 {
			text = fmt.Sprintf(damaged, "byte order", order, 5)
		}
	}
	return &OpenError{Text: text, Err: ErrTruncatedHeader}
}

// noProgramHeaders rejects a core without program headers.
func noProgramHeaders(f *elffile.File) *OpenError {
	text := fmt.Sprintf("has no program headers within its %d bytes: cut off, copy the dump again", len(f.Data))
	const few = 256 // in bytes; no core has so few
	switch {
	case len(f.Data) < few:
	case len(f.Warnings) > 0:
		text = "has a damaged ELF header: " + f.Warnings[len(f.Warnings)-1]
	default:
		text = "has a damaged ELF header: it counts no program headers"
	}
	return &OpenError{Text: text, Err: ErrTruncatedHeader}
}

// notCore rejects an ELF file that is not a core.
func notCore(f *elffile.File) *OpenError {
	what := fmt.Sprintf("an ELF file of type %d", f.Type)
	switch f.Type {
	case elffile.ET_EXEC:
		what = "a program"
	case elffile.ET_DYN:
		what = "a shared library"
		if f.Interp() != "" {
			what = "a program"
		}
	case elffile.ET_REL:
		what = "an object file"
	}
	return &OpenError{Text: fmt.Sprintf("is %s (%s), not a core: give the core first and the program after it", what, machineName(f)), Err: ErrNotCore}
}

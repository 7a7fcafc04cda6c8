package find

import (
	"bytes"
	"encoding/hex"
	"os"
	"strings"

	"github.com/corewalk/corewalk/internal/files/mmapfile"
	"github.com/corewalk/corewalk/internal/format/decompress"
	"github.com/corewalk/corewalk/internal/format/elffile"
	"github.com/corewalk/corewalk/internal/format/pdb"
	"github.com/corewalk/corewalk/internal/format/pefile"
)

// A fileKind is a kind of file that the index lists.
type fileKind uint8

const (
	otherFile fileKind = iota
	elfFile
	peFile
	pdbFile
	symFile
)

// ids are the identifiers stored in a file, in lower-case hexadecimal; "" means none.
type ids struct {
	kind    fileKind
	buildID string // of ELF
	codeID  string // of a PE file, or of the module that a Breakpad symbol file describes
	debugID string // for a PE file, the id of its PDB
}

// headSize is the number of bytes needed to recognise a file and to read the header records
// of a Breakpad symbol file.
const headSize = 4096

const pdbMagic = "Microsoft C/C++ MSF 7.00\r\n\x1aDS"

// identify determines what a file is, reading only its headers. buf has headSize bytes. A
// file that cannot be read has no kind.
func identify(path string, buf []byte) ids {
	file, _, err := mmapfile.OpenRegular(path)
	if err != nil {
		return ids{}
	}
	defer file.Close()
	n, _ := file.ReadAt(buf[:minHead], 0)
	switch head := buf[:n]; {
	case n < minHead:
	case string(head[:4]) == "\x7fELF":
		if !isCore(head) {
			return mapped(file, elfIDs)
		}
	case string(head[:2]) == "MZ":
		return mapped(file, peIDs)
	case bytes.HasPrefix(head, []byte(pdbMagic)):
		return mapped(file, pdbIDs)
	case bytes.HasPrefix(head, []byte("MODULE ")):
		n, _ = file.ReadAt(buf, 0)
		return symIDs(buf[:n])
	}
	return ids{}
}

// identifyPacked is identify, but also looks into cabinets with Breakpad symbol files, whose
// identifiers are at their beginning.
func identifyPacked(path string, buf []byte) ids {
	got := identify(path, buf)
	if got.kind != otherFile || !decompress.IsCabinet(buf) {
		return got
	}
	file, _, err := mmapfile.OpenRegular(path)
	if err != nil {
		return ids{}
	}
	defer file.Close()
	return mapped(file, func(data []byte) ids {
		cab, err := decompress.OpenCabinet(data)
		if err != nil {
			return ids{}
		}
		head, err := cab.Head(headSize)
		if err != nil || !bytes.HasPrefix(head, []byte("MODULE ")) {
			return ids{}
		}
		return symIDs(head)
	})
}

// minHead is the minimum size in bytes of every file of interest.
const minHead = 32

// mapped calls look with the bytes of a file.
func mapped(file *os.File, look func([]byte) ids) ids {
	m, err := mmapfile.FromOS(file)
	if err != nil {
		return ids{}
	}
	defer m.Close()
	var got ids
	if mmapfile.Guard(func() { got = look(m.Data()) }) != nil {
		return ids{}
	}
	return got
}

// elfIDs returns the ids of an ELF file. A damaged ELF file counts, without a build-id.
func elfIDs(data []byte) ids {
	got := ids{kind: elfFile}
	if f, err := elffile.Parse(data); err == nil {
		got.buildID = hex.EncodeToString(f.BuildID())
	}
	return got
}

func peIDs(data []byte) ids {
	f, err := pefile.Parse(data)
	if err != nil {
		return ids{} // DOS programs begin with the same magic
	}
	got := ids{kind: peFile, codeID: strings.ToLower(f.CodeID())}
	if v, err := f.CodeView(); err == nil {
		got.debugID = strings.ToLower(v.DebugID())
	}
	return got
}

func pdbIDs(data []byte) ids {
	f, err := pdb.Open(data)
	if err != nil {
		return ids{}
	}
	return ids{kind: pdbFile, debugID: strings.ToLower(f.DebugID())}
}

// symIDs reads the records at the beginning of a Breakpad symbol file: MODULE and INFO
// CODE_ID.
func symIDs(head []byte) ids {
	got := ids{kind: symFile}
	for i, line := range bytes.Split(head, []byte("\n")) {
		words := strings.Fields(string(line))
		switch {
		case i == 0 && len(words) >= 4:
			got.debugID = strings.ToLower(words[3])
		case i == 0:
			return ids{}
		case len(words) >= 3 && words[0] == "INFO" && words[1] == "CODE_ID":
			got.codeID = strings.ToLower(words[2])
		case len(words) > 0 && words[0] != "INFO":
			return got
		}
	}
	return got
}

// isCore reports whether an ELF header is a core's, according to e_type.
func isCore(head []byte) bool {
	lo, hi := head[16], head[17]
	if head[5] == 2 {
		lo, hi = hi, lo
	}
	return hi == 0 && lo == 4
}

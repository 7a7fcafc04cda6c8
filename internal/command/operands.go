package command

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"github.com/corewalk/corewalk/internal/files/mmapfile"
	"github.com/corewalk/corewalk/internal/format/archive"
	"github.com/corewalk/corewalk/internal/format/decompress"
	"github.com/corewalk/corewalk/internal/format/elffile"
	"github.com/corewalk/corewalk/report"
)

// operands are the files on the command line.
type operands struct {
	core, binary string // binary is "" if none was given, or if it cannot be used
	given        string // BINARY as given
}

// operands takes CORE [BINARY] from the command line. If BINARY cannot be used, it says
// why and leaves BINARY out: the core alone is still useful.
func (e env) operands(args []string) (operands, error) {
	switch len(args) {
	case 0:
		return operands{}, errors.New("need a core file")
	case 1:
		return operands{core: args[0]}, nil
	case 2:
	default:
		if args[0] == "info" {
			return operands{}, errors.New("info comes first: corewalk info [flags] CORE")
		}
		return operands{}, fmt.Errorf("%d files given; need one core file and, if it cannot be found, the binary that made it", len(args))
	}
	o := operands{core: args[0], binary: args[1], given: args[1]}
	if args[0] == "info" && kindOf("info").err != nil {
		return o, errors.New("info comes first: corewalk info [flags] CORE")
	}
	core, program := kindOf(o.core), kindOf(o.binary)
	switch {
	case core.kind == kindProgram && program.kind == kindCore:
		e.say("%s is the program and %s the core: taken the other way round; the core comes first", o.core, o.binary)
		return operands{core: o.binary, binary: o.core, given: o.core}, nil
	case core.kind == kindCore && core.info != nil && program.info != nil && os.SameFile(core.info, program.info):
		e.say("%s is given twice, and is the core: give the program that dumped it as BINARY, or no BINARY", o.binary)
	case program.kind != kindProgram:
		e.say("%s: not used as BINARY: %s", o.binary, program.wrong(o.binary))
	default:
		return o, nil
	}
	o.binary = ""
	return o, nil
}

// A content is what a file contains, as far as its first bytes show.
type content struct {
	kind   int
	info   fs.FileInfo // nil if not known
	err    error       // why it cannot be read
	head   []byte      // unpacked
	packed bool        // it is compressed
}

// Kinds of content.
const (
	kindOther   = iota
	kindCore    // an ELF core, or an archive
	kindProgram // an ELF file that is not a core
)

// kindOf examines a regular file, what is in it if it is compressed. It does not read others,
// such as pipes.
func kindOf(path string) content {
	st, err := os.Stat(path)
	if err != nil {
		return content{err: err}
	}
	c := content{info: st}
	if !st.Mode().IsRegular() {
		return c
	}
	f, _, err := mmapfile.OpenRegular(path)
	if err != nil {
		c.err = err
		return c
	}
	defer f.Close()
	if c.head, c.err = beginning(f); c.err != nil {
		return c
	}
	if kind := decompress.Sniff(c.head); kind != decompress.None {
		c.packed = true
		if c.head, c.err = unpackedBeginning(f, kind); c.err != nil {
			return c
		}
	}
	switch {
	case archive.Sniff(c.head) != archive.None:
		c.kind = kindCore
	case len(c.head) >= 18 && string(c.head[:4]) == "\x7fELF":
		c.kind = kindProgram
		order := binary.ByteOrder(binary.LittleEndian)
		if c.head[5] == 2 {
			order = binary.BigEndian
		}
		if order.Uint16(c.head[16:]) == elffile.ET_CORE {
			c.kind = kindCore
		}
	}
	return c
}

// beginning reads what shows the kind of a file.
func beginning(r io.Reader) ([]byte, error) {
	head := make([]byte, archive.SniffLen)
	n, err := io.ReadFull(r, head)
	if err == io.EOF || err == io.ErrUnexpectedEOF {
		err = nil
	}
	return head[:n], err
}

// maxBeginning is how many compressed bytes are read for the beginning of what is in them: some come to nothing.
const maxBeginning = 64 << 20

// unpackedBeginning is beginning of what is in a compressed file.
func unpackedBeginning(f *os.File, kind decompress.Kind) ([]byte, error) {
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return nil, err
	}
	z, err := decompress.NewReader(io.LimitReader(f, maxBeginning), kind)
	if err != nil {
		return nil, err
	}
	defer z.Close()
	return beginning(z)
}

// wrong says why a file cannot be the program, and what to do.
func (c *content) wrong(path string) string {
	const advice = "give the program that dumped the core, or no BINARY"
	switch {
	case c.err != nil:
		return plainError(c.err).Error() + ": " + advice
	case c.info.IsDir():
		return "is a directory: give the program itself, or --search " + path
	case !c.info.Mode().IsRegular():
		return "not a regular file: " + advice
	case len(c.head) == 0:
		return "is empty: " + advice
	case c.kind == kindCore && archive.Sniff(c.head) != archive.None:
		return "is an archive: " + advice
	case c.kind == kindCore:
		return "is a core, too: " + advice
	}
	what := "it"
	if c.packed {
		what = "unpacked it"
	}
	return fmt.Sprintf("not an ELF file, %s begins with % x: %s", what, c.head[:min(4, len(c.head))], advice)
}

// unused says why a BINARY that looked good was not used for the main program. It
// reports whether the program has no other file either.
func (e env) unused(o operands, modules []report.Module) bool {
	main := mainModule(modules)
	if o.given == "" {
		return false
	}
	if o.binary != "" && (main == nil || !sameFile(main.File, o.binary) && !sameFile(main.DebugFile, o.binary)) {
		switch {
		case main == nil:
			e.say("%s: not used as BINARY: the core does not say which of its modules is the program", o.binary)
		case main.File == "" && kindOf(o.binary).packed:
			e.say("%s: not used as BINARY: it does not match %s, the program of the core, or cannot be unpacked (the report says which)", o.binary, main.Path)
		case main.File == "":
			e.say("%s: not used as BINARY: it does not match %s, the program of the core", o.binary, main.Path)
		default:
			e.say("%s: not used as BINARY: it is from a different build than the core; %s matches and was used", o.binary, main.File)
		}
	} else if o.binary != "" && main.Status == report.ModuleMismatched && !sameFile(main.DebugFile, o.binary) {
		if id := wantedID(main); id != "" {
			e.say("%s: is from a different build than the core: give the one with %s", o.binary, id)
		} else {
			e.say("%s: is from a different build than the core, which has no build-id of its program: the report says what differs", o.binary)
		}
	}
	return main == nil || main.File == "" || main.Status == report.ModuleMismatched
}

// wantedID says which file a module's is; "" if the dump has nothing that does.
func wantedID(m *report.Module) string {
	switch {
	case m.BuildID != "":
		return "build-id " + m.BuildID
	case m.CodeID != "":
		return "code id " + m.CodeID
	case m.DebugID != "":
		return "debug-id " + m.DebugID
	}
	return ""
}

func mainModule(modules []report.Module) *report.Module {
	for i := range modules {
		if modules[i].Main {
			return &modules[i]
		}
	}
	return nil
}

func sameFile(a, b string) bool {
	if a == b {
		return true
	}
	x, err := os.Stat(a)
	if err != nil {
		return false
	}
	y, err := os.Stat(b)
	return err == nil && os.SameFile(x, y)
}

// plainError returns err without the operation and the path at the start of a system
// error.
func plainError(err error) error {
	var pe *fs.PathError
	if errors.As(err, &pe) {
		return pe.Err
	}
	return err
}

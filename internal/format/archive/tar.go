package archive

import (
	"archive/tar"
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/corewalk/corewalk/internal/format/decompress"
)

const (
	tarBlock = 512 // bytes of a header
	sumAt    = 148 // its checksum, in octal digits
	sumLen   = 8
)

// isTar reports whether head is the header of a tar archive's first file. All formats of tar
// have the checksum at the same place.
func isTar(head []byte) bool {
	if len(head) < tarBlock || head[0] == 0 {
		return false
	}
	digits := strings.Trim(string(head[sumAt:sumAt+sumLen]), " \x00")
	want, err := strconv.ParseUint(digits, 8, 32)
	if err != nil {
		return false
	}
	sum := uint64(sumLen * ' ')
	for i, c := range head[:tarBlock] {
		if i < sumAt || i >= sumAt+sumLen {
			sum += uint64(c)
		}
	}
	return sum == want
}

const (
	maxFiles   = 1 << 20 // entries of an archive that are looked at
	maxWindows = 256     // compressed files that may need large windows
	maxPacked  = 1 << 14 // compressed files
	maxListed  = 5       // names in a message
	headLen    = 64      // bytes that tell what a file is
	maxName    = 200     // bytes of a name in a message
)

// fromTar unpacks the dump in a tar archive if there is exactly one. Whether there is another
// is known at the end of the archive.
func (x *extraction) fromTar(r io.Reader) (Dump, error) {
	s := tarSearch{x: x}
	err := s.run(tar.NewReader(r))
	switch {
	case x.ctx.Err() != nil:
		err = x.ctx.Err()
	case s.found > 1:
		err = refuse(ErrSeveral, "is a tar archive with %s: unpack it and give one of them", s.list())
	case s.dump.File != nil && s.damage == nil && err != nil:
		s.dump.Note = "the archive could not be read beyond the dump, and may contain others: " + err.Error()
		return s.dump, nil
	case s.found == 1:
		return s.dump, s.damage
	case err == nil:
		err = refuse(ErrNone, "is a tar archive without a core or minidump among its files (%d): give the dump itself", s.files)
	}
	if s.dump.File != nil {
		s.dump.File.Close()
	}
	return Dump{}, err
}

// A tarSearch is a search for dumps in one archive.
type tarSearch struct {
	x      *extraction
	files  int      // regular files so far
	found  int      // dumps among them
	names  []string // of the first dumps
	dump   Dump     // the first dump
	damage error    // what is wrong with it

	head    [headLen]byte // of a file
	windows int           // files so far whose compression may need a large window
	packed  int           // compressed files so far
}

// run looks at all files of an archive.
func (s *tarSearch) run(t *tar.Reader) error {
	for n := 0; ; n++ {
		h, err := t.Next()
		switch {
		case err == io.EOF:
			return nil
		case errors.Is(err, tar.ErrInsecurePath): // names are only printed
		case err != nil:
			return tarError(err, "after %d files", s.files)
		}
		if n == maxFiles {
			return fmt.Errorf("tar archive: more than %d entries: %w", maxFiles, decompress.ErrTooLarge)
		}
		if h.Typeflag != tar.TypeReg && h.Typeflag != tar.TypeGNUSparse {
			continue
		}
		s.files++
		if err := s.file(h.Name, t); err != nil {
			return err
		}
	}
}

// file looks at one file, and unpacks it if it is the first dump.
func (s *tarSearch) file(name string, r io.Reader) error {
	n, _ := io.ReadFull(r, s.head[:]) // an error comes again
	head := s.head[:n]
	if !isDump(head) && decompress.Sniff(head) == decompress.None {
		return nil
	}
	if !isDump(head) {
		if s.packed++; s.packed > maxPacked {
			return tooManyPacked(maxPacked)
		}
	}
	p, err := unpack(s.x.ctx, io.MultiReader(bytes.NewReader(head), r))
	if err != nil {
		return nil // its compression is damaged
	}
	defer p.close()
	if p.kind == decompress.Zstd || p.kind == decompress.XZFile {
		if s.windows++; s.windows > maxWindows {
			return tooManyPacked(maxWindows)
		}
	}
	if !isDump(p.head()) {
		return nil
	}
	name = shown(name)
	if s.found++; s.found <= maxListed {
		s.names = append(s.names, name)
	}
	if s.found > 1 {
		return nil
	}
	s.dump.From = name + " in a tar archive"
	if s.dump.File, err = s.x.save(p); err != nil {
		s.damage = tarError(err, "%s", name)
	}
	return nil
}

func tooManyPacked(limit int) error {
	return fmt.Errorf("tar archive: more than %d files in it are compressed: unpack it and give the dump: %w", limit, decompress.ErrTooLarge)
}

// list says how many dumps there are, and their names.
func (s *tarSearch) list() string {
	more := ""
	if s.found > len(s.names) {
		more = " ..."
	}
	return fmt.Sprintf("%d dumps (%s%s)", s.found, strings.Join(s.names, ", "), more)
}

// tarError wraps an error of package tar in one of package decompress.
func tarError(err error, format string, args ...any) error {
	where := fmt.Sprintf("tar archive: "+format, args...)
	switch {
	case errors.Is(err, io.ErrUnexpectedEOF):
		return fmt.Errorf("%s: %w", where, decompress.ErrTruncatedStream)
	case errors.Is(err, tar.ErrHeader):
		return fmt.Errorf("%s: damaged header: %w", where, decompress.ErrCorrupt)
	}
	return fmt.Errorf("%s: %w", where, err)
}

// shown makes a name or value fit for a message: short, and without control characters.
func shown(s string) string {
	cut := s[:min(len(s), maxName)]
	if quoted := strconv.Quote(cut); quoted[1:len(quoted)-1] != cut {
		cut = quoted
	}
	if len(s) > maxName {
		cut += "..."
	}
	return cut
}

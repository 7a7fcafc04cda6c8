package archive

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/base64"
	"fmt"
	"io"
	"os"

	"github.com/corewalk/corewalk/internal/format/decompress"
)

// apportBegin is how the reports of apport (Ubuntu's /var/crash/*.crash) begin. Such a report
// is a list of fields, "Key: value" with further lines after a space. The field of a file has
// the value base64; each of its further lines is encoded by itself, and their bytes, one after
// the other, are the compressed file: with gzip, in reports of old versions with zlib.
const apportBegin = "ProblemType:"

const (
	apportCore   = "CoreDump"
	maxFieldKept = 512       // bytes of a line that are looked at
	maxOther     = 256 << 20 // bytes of all fields but the dump
	maxBlank     = 1000      // lines of a file without data
)

// An apportReport is a report that is being read.
type apportReport struct {
	r     *bufio.Reader
	other int64 // bytes of fields other than the dump
	kept  []byte
	// executable and pkg are the program's path and package.
	executable, pkg string
}

// fromApport unpacks the core in a report of apport.
func (x *extraction) fromApport(r io.Reader) (Dump, error) {
	a := &apportReport{r: bufio.NewReaderSize(r, bufferSize)}
	var d Dump
	var damage, err error // damage is the dump's
	for err == nil && damage == nil {
		var key, value string
		switch key, value, err = a.field(); {
		case err != nil:
		case key == "ExecutablePath":
			a.executable = value
		case key == "Package":
			a.pkg = value
		case key != apportCore || d.File != nil: // the first counts
		case value != "base64":
			err = fmt.Errorf("apport report: the value of %s is %s, not base64: %w", apportCore, shown(value), decompress.ErrUnsupported)
		default:
			d.File, damage = x.fromField(&base64Field{r: a.r})
		}
	}
	if ctxErr := x.ctx.Err(); ctxErr != nil {
		if d.File != nil {
			d.File.Close()
		}
		return Dump{}, ctxErr
	}
	if err == io.EOF {
		err = nil
	}
	if d.File != nil {
		d.From = "an " + a.String()
		if damage == nil && err != nil {
			d.Note, err = "the report is damaged after the dump: "+err.Error(), nil
		}
		return d, cmp.Or(damage, err)
	}
	if damage == nil && err == nil {
		err = refuse(ErrNone, "is an %v, and has no %s: apport removes it from reports that it has sent; cores may be in /var/lib/apport/coredump", a, apportCore)
	}
	return Dump{}, cmp.Or(damage, err)
}

// fromField unpacks the core in a field.
func (x *extraction) fromField(field io.Reader) (*os.File, error) {
	p, err := unpackAs(x.ctx, field, sniffField)
	if err != nil {
		return nil, fmt.Errorf("apport report: %s: %w", apportCore, err)
	}
	defer p.close()
	f, err := x.save(p)
	if err != nil {
		err = fmt.Errorf("apport report: %s: %w", apportCore, err)
	}
	return f, err
}

// sniffField returns the compression of a file in a field.
func sniffField(head []byte) decompress.Kind {
	kind := decompress.Sniff(head)
	if kind == decompress.None && decompress.SniffZlib(head) {
		return decompress.Zlib
	}
	return kind
}

// String says what the report is about.
func (a *apportReport) String() string {
	s := "apport report"
	if a.executable != "" {
		s += " of " + shown(a.executable)
	}
	if a.pkg != "" {
		s += ", package " + shown(a.pkg)
	}
	return s
}

// field returns the next field; of a long value it returns the beginning of the first line.
func (a *apportReport) field() (key, value string, err error) {
	for {
		line, err := a.line()
		if err != nil {
			return "", "", err
		}
		if len(line) == 0 || line[0] == ' ' {
			continue
		}
		key, value, ok := bytes.Cut(line, []byte(":"))
		if !ok {
			return "", "", fmt.Errorf("apport report: the line %s is not a field: %w", shown(string(line)), decompress.ErrCorrupt)
		}
		return string(key), string(bytes.TrimSpace(value)), nil
	}
}

// line returns the beginning of the next line. It is valid until the next call.
func (a *apportReport) line() ([]byte, error) {
	line := a.kept[:0]
	for {
		b, err := a.r.ReadSlice('\n')
		if a.other += int64(len(b)); a.other > maxOther {
			return nil, fmt.Errorf("apport report: more than %d bytes besides the dump: %w", maxOther, decompress.ErrTooLarge)
		}
		line = append(line, b[:min(len(b), maxFieldKept-len(line))]...)
		a.kept = line
		switch {
		case err == nil, err == io.EOF && len(line) > 0:
			return bytes.TrimRight(line, "\r\n"), nil
		case err != bufio.ErrBufferFull:
			return nil, err
		}
	}
}

// A base64Field reads the file in the further lines of a field. It ends with the field.
type base64Field struct {
	r      *bufio.Reader
	inside bool   // a line has begun
	blank  int    // lines without data
	buf    []byte // memory for decoded bytes
	rest   []byte // decoded, not read yet
	err    error  // after rest
}

func (f *base64Field) Read(b []byte) (int, error) {
	for len(f.rest) == 0 && f.err == nil {
		f.fill()
	}
	if len(f.rest) == 0 {
		return 0, f.err
	}
	n := copy(b, f.rest)
	f.rest = f.rest[n:]
	return n, nil
}

// fill decodes a line, or a part of a long one. The parts are whole groups of four
// characters: a line of them fills the reader's buffer.
func (f *base64Field) fill() {
	if !f.inside {
		switch b, err := f.r.Peek(1); {
		case err != nil:
			f.err = err
			return
		case b[0] != ' ':
			f.err = io.EOF
			return
		}
		f.r.Discard(1)
		f.inside = true
	}
	line, err := f.r.ReadSlice('\n')
	switch err {
	case nil:
		f.inside = false
	case bufio.ErrBufferFull:
	default:
		f.err = err
	}
	if f.buf == nil {
		f.buf = make([]byte, base64.StdEncoding.DecodedLen(bufferSize))
	}
	n, bad := base64.StdEncoding.Decode(f.buf, bytes.TrimRight(line, "\r\n"))
	f.rest = f.buf[:n]
	switch {
	case bad != nil && f.err == io.EOF:
		f.err = decompress.ErrTruncatedStream
	case bad != nil:
		f.err = fmt.Errorf("%w: %w", bad, decompress.ErrCorrupt)
	case n > 0:
	default:
		if f.blank++; f.blank > maxBlank && f.err == nil {
			f.err = fmt.Errorf("more than %d empty lines: %w", maxBlank, decompress.ErrCorrupt)
		}
	}
}

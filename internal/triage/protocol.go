package triage

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/corewalk/corewalk/internal/files/broker"
	"github.com/corewalk/corewalk/internal/triage/ledger"
	"github.com/corewalk/corewalk/modules"
)

// The two processes exchange lines of JSON. The first line tells the analysis process how to work; only the
// command knows its content (Options.Settings, Configure):
//
//	supervisor  {"settings":...}
//
// Then, for each dump:
//
//	supervisor  {"n":1,"path":"core.1"}
//	analysis    {"n":1,"identity":"sha256:..."}
//	supervisor  {"n":1,"go":true}             or false, if the dump is known
//	analysis    {"n":1,"dump":{...}}          only after true
//
// A dump's report is large. It follows the line as it is, and "report" is how many bytes it has.
//
// A path that comes with "build":true is opened, too, and its identity then has the build of the program. A path that comes with "go" is analysed at once. An analysis process without network asks for files:
//
//	analysis    {"fetch":{"n":1,"build_id":"abcd...","kind":"debuginfo"}}
//	supervisor  {"fetched":{"n":1,"path":"/home/..."}}
//
// After the last dump one that may write nothing says what it decompressed:
//
//	analysis    {"unkept":[{"path":"/usr/lib/debug/...","section":28,"end":2836802}]}

// A greeting is the first line to the analysis process.
type greeting struct {
	Settings json.RawMessage `json:"settings,omitempty"`
}

// An order is a message to the analysis process.
type order struct {
	N    int   `json:"n"`
	Path Exact `json:"path,omitempty"`
	Go   *bool `json:"go,omitempty"`
	// Build asks for the build with the identity.
	Build bool `json:"build,omitempty"`
	// SHA256 is the digest of the file, if it is known.
	SHA256 string `json:"sha256,omitempty"`
	// Fetched answers a request for a file.
	Fetched *broker.Answer `json:"fetched,omitempty"`
}

// A reply is a message from the analysis process.
type reply struct {
	N        int          `json:"n"`
	Identity *identity    `json:"identity,omitempty"`
	Dump     *ledger.Dump `json:"dump,omitempty"` // without its report
	Report   int          `json:"report,omitempty"`
	// Denied are paths of modules whose files are there, but may not be read.
	Denied []Exact `json:"denied,omitempty"`
	// Memory says that the process ends because it exceeded its memory limit.
	Memory bool `json:"memory,omitempty"`
	// Fetch asks for a file.
	Fetch *broker.Request `json:"fetch,omitempty"`
	// Unkept is what the process decompressed of packages' files and may not keep. It comes after the last dump.
	Unkept []modules.Unkept `json:"unkept,omitempty"`
}

// An Exact is a name that has any bytes, as names of files have. In JSON one that is UTF-8 is a string, and another
// an array of one string, its bytes in base64.
type Exact string

// MarshalJSON implements json.Marshaler.
func (s Exact) MarshalJSON() ([]byte, error) {
	if utf8.ValidString(string(s)) {
		return json.Marshal(string(s))
	}
	return json.Marshal([][]byte{[]byte(s)})
}

// UnmarshalJSON implements json.Unmarshaler.
func (s *Exact) UnmarshalJSON(data []byte) error {
	if len(data) == 0 || data[0] != '[' {
		return json.Unmarshal(data, (*string)(s))
	}
	var list [][]byte
	if err := json.Unmarshal(data, &list); err != nil {
		return err
	}
	if len(list) != 1 {
		return fmt.Errorf("%d names, want 1", len(list))
	}
	*s = Exact(list[0])
	return nil
}

// An identity identifies a dump.
type identity struct {
	ID     string    `json:"id"`
	SHA256 string    `json:"sha256,omitempty"`
	Size   int64     `json:"size"`
	Time   time.Time `json:"time,omitzero"`   // modification time of the file
	Build  string    `json:"build,omitempty"` // of the program, if it was asked for
	// Fault says why the file cannot be read.
	Fault string `json:"fault,omitempty"`
}

// maxLine is the longest line, in bytes: a report of one thread, with its variables.
const maxLine = 64 << 20

// A lineWriter writes values as lines of JSON. It is safe for concurrent use.
type lineWriter struct {
	mu sync.Mutex
	w  *bufio.Writer
}

func newLineWriter(w io.Writer) *lineWriter { return &lineWriter{w: bufio.NewWriter(w)} }

func (l *lineWriter) write(v any) error { return l.writeWith(v, nil) }

// writeDump writes the result of a dump.
func (l *lineWriter) writeDump(n int, d *ledger.Dump, denied []Exact) error {
	bare := *d
	bare.Report = nil
	return l.writeWith(reply{N: n, Dump: &bare, Report: len(d.Report), Denied: denied}, d.Report)
}

// writeWith writes a line and what follows it.
func (l *lineWriter) writeWith(v any, more []byte) error {
	b, err := json.Marshal(v)
	if err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.w.Write(append(b, '\n'))
	l.w.Write(more)
	return l.w.Flush() // the first error of the three
}

// errLine is wrapped by errors about invalid lines.
var errLine = errors.New("not a line of the protocol")

// A lineReader reads what a lineWriter wrote.
type lineReader struct{ r *bufio.Reader }

func newLineReader(r io.Reader) *lineReader { return &lineReader{bufio.NewReaderSize(r, 1<<16)} }

// read decodes the next line into v. The error is io.EOF after the last one.
func (l *lineReader) read(v any) error {
	line, err := l.line()
	if len(line) == 0 && err != nil {
		return err
	}
	if err := json.Unmarshal(line, v); err != nil {
		return fmt.Errorf("%w: %v", errLine, err)
	}
	return nil
}

// line returns the next line, which is valid until the next call.
func (l *lineReader) line() ([]byte, error) {
	line, err := l.r.ReadSlice('\n')
	if err != bufio.ErrBufferFull {
		return line, err
	}
	long := bytes.Clone(line)
	for err == bufio.ErrBufferFull {
		line, err = l.r.ReadSlice('\n')
		if long = append(long, line...); len(long) > maxLine {
			return nil, fmt.Errorf("%w: it is longer than %d bytes", errLine, maxLine)
		}
	}
	return long, err
}

// readOrder decodes an order.
func (l *lineReader) readOrder() (o order, err error) {
	err = l.read(&o)
	return o, err
}

// readReply decodes a reply, with the report that follows it.
func (l *lineReader) readReply() (r reply, err error) {
	if err := l.read(&r); err != nil || r.Report == 0 {
		return r, err
	}
	if r.Dump == nil || r.Report < 0 || r.Report > maxLine {
		return r, fmt.Errorf("%w: a report of %d bytes", errLine, r.Report)
	}
	r.Dump.Report = make([]byte, r.Report)
	if _, err := io.ReadFull(l.r, r.Dump.Report); err != nil {
		return r, fmt.Errorf("%w: the report ends early: %v", errLine, err)
	}
	return r, nil
}

// readLines passes what read returns to each, until there is no more or an error.
func readLines[T any](read func() (T, error), each func(T) error) error {
	for {
		v, err := read()
		if err == nil {
			err = each(v)
		}
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

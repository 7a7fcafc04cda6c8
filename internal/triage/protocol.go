package triage

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/corewalk/corewalk/internal/triage/ledger"
)

// The two processes exchange lines of JSON. For each dump:
//
//	supervisor  {"n":1,"path":"core.1"}
//	analysis    {"n":1,"identity":"sha256:..."}
//	supervisor  {"n":1,"go":true}             or false, if the dump is known
//	analysis    {"n":1,"dump":{...}}          only after true
//
// A path that comes with "go" is analysed at once.

// An order is a message to the analysis process.
type order struct {
	N    int    `json:"n"`
	Path string `json:"path,omitempty"`
	Go   *bool  `json:"go,omitempty"`
}

// A reply is a message from the analysis process.
type reply struct {
	N        int          `json:"n"`
	Identity *identity    `json:"identity,omitempty"`
	Dump     *ledger.Dump `json:"dump,omitempty"`
	// Memory says that the process ends because it exceeded its memory limit.
	Memory bool `json:"memory,omitempty"`
}

// An identity identifies a dump.
type identity struct {
	ID     string    `json:"id"`
	SHA256 string    `json:"sha256,omitempty"`
	Size   int64     `json:"size"`
	Time   time.Time `json:"time,omitzero"` // modification time of the file
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

func (l *lineWriter) write(v any) error {
	b, err := json.Marshal(v)
	if err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if _, err = l.w.Write(append(b, '\n')); err == nil {
		err = l.w.Flush()
	}
	return err
}

// errLine is wrapped by errors about invalid lines.
var errLine = errors.New("not a line of the protocol")

// readLines decodes every line and passes it to each, until the end of r or an error.
func readLines[T any](r io.Reader, each func(T) error) error {
	s := bufio.NewScanner(r)
	s.Buffer(make([]byte, 0, 1<<16), maxLine)
	for s.Scan() {
		var v T
		if err := json.Unmarshal(s.Bytes(), &v); err != nil {
			return fmt.Errorf("%w: %v", errLine, err)
		}
		if err := each(v); err != nil {
			return err
		}
	}
	return s.Err()
}

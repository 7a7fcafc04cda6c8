package mcp

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"github.com/corewalk/corewalk/report"
)

// A sieve reads lines and lets messages of the protocol pass, as one such line each: the package that serves them ends with anything else.
// What is none is answered with an error.
type sieve struct {
	io.Closer
	in     *bufio.Reader
	out    io.Writer
	passed bytes.Buffer
	failed error
}

// errLong: a line is longer than maxMessage.
var errLong = fmt.Errorf("a message of more than %d bytes", maxMessage)

func newSieve(in io.ReadCloser, out io.Writer) *sieve {
	return &sieve{Closer: in, in: bufio.NewReaderSize(in, 64<<10), out: out}
}

// Read implements io.Reader.
func (s *sieve) Read(p []byte) (int, error) {
	for s.passed.Len() == 0 {
		if s.failed != nil {
			return 0, s.failed
		}
		line, err := s.line()
		s.failed = err
		if line = bytes.TrimSpace(line); len(line) == 0 || errors.Is(err, errLong) {
			continue
		}
		if err := s.sift(line); err != nil {
			s.failed = err
		}
	}
	return s.passed.Read(p)
}

// line reads a line, or the rest if the input ends.
func (s *sieve) line() (line []byte, err error) {
	for {
		part, err := s.in.ReadSlice('\n')
		if line = append(line, part...); len(line) > maxMessage {
			return nil, errLong
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return line, err
		}
	}
}

// sift passes a message, or each of a batch. The error is that of writing what was found wrong.
func (s *sieve) sift(line []byte) error {
	var batch []json.RawMessage
	if json.Unmarshal(line, &batch) != nil || batch == nil {
		batch = []json.RawMessage{line}
	}
	if len(batch) == 0 {
		return s.refuse(nil, jsonrpc.CodeInvalidRequest, errors.New("a batch without messages"))
	}
	for _, m := range batch {
		code := int64(jsonrpc.CodeInvalidRequest)
		if !json.Valid(m) {
			code = jsonrpc.CodeParseError
		}
		// The decoder takes what begins as JSON, as well.
		_, err := jsonrpc.DecodeMessage(m)
		if err == nil && code == jsonrpc.CodeParseError {
			err = errors.New("not JSON")
		}
		if err == nil {
			s.passed.Write(append(m[:len(m):len(m)], '\n'))
		} else if err := s.refuse(m, code, err); err != nil {
			return err
		}
	}
	return nil
}

// refuse answers what is no message. The answer has its identifier, if it has one.
func (s *sieve) refuse(m []byte, code int64, why error) error {
	var has struct {
		ID any `json:"id"`
	}
	_ = json.Unmarshal(m, &has)
	switch has.ID.(type) {
	case string, float64:
	default:
		has.ID = nil
	}
	b, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": has.ID, "error": map[string]any{"code": code, "message": report.Clean("not a message of the protocol: " + why.Error())}})
	if err == nil {
		_, err = s.out.Write(append(b, '\n'))
	}
	return err
}

// A lockedWriter writes for several goroutines.
type lockedWriter struct {
	io.WriteCloser
	mu sync.Mutex
}

// Write implements io.Writer.
func (w *lockedWriter) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.WriteCloser.Write(p)
}

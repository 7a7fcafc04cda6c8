package broker

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"sync"
)

// maxLine limits a line with one request or answer, in bytes.
const maxLine = 64 << 10

// Relay reads requests, one on each line, and writes their answers, until there are no more requests. When ctx is
// done it tells the client. The error is about a request that cannot be read.
func (s *Server) Relay(ctx context.Context, in io.Reader, out io.Writer) error {
	var mu sync.Mutex // held while an answer is written; no other lock is taken inside
	write := func(a Answer) {
		mu.Lock()
		defer mu.Unlock()
		writeLine(out, a) // if the asking process is gone, nobody misses the answer
	}
	stop := context.AfterFunc(ctx, func() { write(Answer{Interrupted: true}) })
	defer stop()
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, maxLine)
	for lines.Scan() {
		var r Request
		if err := json.Unmarshal(lines.Bytes(), &r); err != nil {
			return fmt.Errorf("request for a file: %w", err)
		}
		s.Serve(ctx, r, write)
	}
	return lines.Err()
}

// Connect returns a client of a Relay. It calls interrupted when the Relay says so; when there are no more answers
// it closes the client and calls gone.
func Connect(answers io.Reader, requests io.Writer, interrupted, gone func()) *Client {
	var mu sync.Mutex // held while a request is written; no other lock is taken inside
	c := NewClient(func(r Request) error {
		mu.Lock()
		defer mu.Unlock()
		return writeLine(requests, r)
	})
	go func() {
		defer gone()
		defer c.Close()
		d := json.NewDecoder(answers)
		for {
			var a Answer
			if err := d.Decode(&a); err != nil {
				return
			}
			if a.Interrupted {
				interrupted()
				continue
			}
			c.Answered(a)
		}
	}()
	return c
}

func writeLine(w io.Writer, v any) error {
	b, err := json.Marshal(v)
	if err != nil {
		return err
	}
	_, err = w.Write(append(b, '\n'))
	return err
}

package broker

import (
	"context"
	"encoding/hex"
	"errors"
	"sync"

	"github.com/corewalk/corewalk/internal/files/find"
	"github.com/corewalk/corewalk/modules"
)

// A Client asks a Server in another process. It is a modules.SourceFetcher and a modules.SymbolFetcher.
type Client struct {
	send func(Request) error

	mu      sync.Mutex // guards the three below; no other lock is taken inside, and nothing is sent
	n       int
	waiting map[int]chan<- Answer
	closed  bool
}

// NewClient returns a client. send sends a request to the server; several goroutines may call it at once. Answers
// come back through Answered.
func NewClient(send func(Request) error) *Client {
	return &Client{send: send, waiting: map[int]chan<- Answer{}}
}

// errClosed means that the server is gone.
var errClosed = errors.New("cannot fetch: the process that fetches is gone")

// Answered delivers an answer.
func (c *Client) Answered(a Answer) {
	c.mu.Lock()
	w := c.waiting[a.N]
	delete(c.waiting, a.N)
	c.mu.Unlock()
	if w != nil {
		w <- a
	}
}

// Close ends all requests, now and later, with an error.
func (c *Client) Close() {
	c.mu.Lock()
	waiting := c.waiting
	c.closed, c.waiting = true, map[int]chan<- Answer{}
	c.mu.Unlock()
	for _, w := range waiting {
		w <- Answer{Error: errClosed.Error()}
	}
}

// Fetch implements modules.Fetcher.
func (c *Client) Fetch(ctx context.Context, buildID []byte, kind string) (string, error) {
	return c.ask(ctx, Request{BuildID: hex.EncodeToString(buildID), Kind: kind})
}

// FetchSource implements modules.SourceFetcher.
func (c *Client) FetchSource(ctx context.Context, buildID []byte, path string) (string, error) {
	return c.ask(ctx, Request{BuildID: hex.EncodeToString(buildID), Kind: kindSource, Source: []byte(path)})
}

// FetchSymbols implements modules.SymbolFetcher.
func (c *Client) FetchSymbols(ctx context.Context, wanted []modules.StoreKey) (string, error) {
	return c.ask(ctx, Request{Symbols: wanted})
}

func (c *Client) ask(ctx context.Context, r Request) (string, error) {
	answer := make(chan Answer, 1)
	c.mu.Lock()
	if c.closed {
		c.mu.Unlock()
		return "", errClosed
	}
	c.n++
	r.N = c.n
	c.waiting[r.N] = answer
	c.mu.Unlock()
	if err := c.send(r); err != nil {
		c.forget(r.N)
		return "", err
	}
	select {
	case a := <-answer:
		if a.Error != "" {
			return "", &find.FetchError{Text: a.Error, Failed: !a.NotExist, Unreachable: a.Unreachable}
		}
		return string(a.Path), nil
	case <-ctx.Done():
		c.forget(r.N)
		return "", ctx.Err()
	}
}

func (c *Client) forget(n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.waiting, n)
}

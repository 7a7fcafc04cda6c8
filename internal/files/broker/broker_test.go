package broker

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strings"
	"testing"

	"github.com/corewalk/corewalk/internal/files/find"
	"github.com/corewalk/corewalk/modules"
)

// servers is a fetcher that says what it was asked for.
type servers struct{}

func (servers) Fetch(_ context.Context, id []byte, kind string) (string, error) {
	if id[0] == 0 {
		return "", &find.FetchError{Text: "not on x", Unreachable: []string{"y"}}
	}
	if id[0] == 1 {
		return "", errors.New("broken")
	}
	return fmt.Sprintf("/cache/%x/%s", id, kind), nil
}

func (servers) FetchSource(_ context.Context, id []byte, path string) (string, error) {
	return fmt.Sprintf("/cache/%x%s", id, path), nil
}

func (servers) FetchSymbols(_ context.Context, keys []modules.StoreKey) (string, error) {
	return "/store/" + keys[0].Name, nil
}

// connected is a client of a server that another goroutine runs.
func connected(t *testing.T, s *Server) (c *Client, hangUp func()) {
	t.Helper()
	requests, ask := io.Pipe()
	answers, answer := io.Pipe()
	go func() { s.Relay(t.Context(), requests, answer) }()
	t.Cleanup(func() { ask.Close(); answer.Close() })
	return Connect(answers, ask, func() {}, func() {}), func() { answer.Close() }
}

func TestFetch(t *testing.T) {
	c, hangUp := connected(t, &Server{Files: servers{}, Symbols: servers{}})
	ctx := t.Context()
	if p, err := c.Fetch(ctx, []byte{0xab, 0xcd}, modules.KindDebugInfo); p != "/cache/abcd/debuginfo" || err != nil {
		t.Errorf("%q, %v", p, err)
	}
	if p, err := c.FetchSource(ctx, []byte{0xab, 0xcd}, "/src/x.c"); p != "/cache/abcd/src/x.c" || err != nil {
		t.Errorf("%q, %v", p, err)
	}
	// Names of files, and the user's cache, may be in any encoding.
	if p, err := c.FetchSource(ctx, []byte{0xab, 0xcd}, "/src/\xff\xfe.c"); p != "/cache/abcd/src/\xff\xfe.c" || err != nil {
		t.Errorf("%q, %v", p, err)
	}
	key := modules.StoreKey{Name: "a.pdb", ID: "0123456789abcdef0123456789abcdef1", File: "a.pdb", Kind: modules.PDB}
	if p, err := c.FetchSymbols(ctx, []modules.StoreKey{key}); p != "/store/a.pdb" || err != nil {
		t.Errorf("%q, %v", p, err)
	}
	_, err := c.Fetch(ctx, []byte{0, 1}, modules.KindDebugInfo)
	var fe *find.FetchError
	if !errors.Is(err, fs.ErrNotExist) || !errors.As(err, &fe) || len(fe.Unreachable) != 1 || err.Error() != "not on x" {
		t.Errorf("a missing file: %#v", err)
	}
	if _, err := c.Fetch(ctx, []byte{1, 1}, modules.KindDebugInfo); err == nil || errors.Is(err, fs.ErrNotExist) || err.Error() != "broken" {
		t.Errorf("a failure: %#v", err)
	}
	hangUp()
	if _, err := c.Fetch(ctx, []byte{2, 2}, modules.KindDebugInfo); err == nil || !strings.Contains(err.Error(), "gone") {
		t.Errorf("without a server: %v", err)
	}
}

// TestInterrupted: the client hears of an interrupt, and of the end.
func TestInterrupted(t *testing.T) {
	requests, ask := io.Pipe()
	answers, answer := io.Pipe()
	defer ask.Close()
	ctx, cancel := context.WithCancel(t.Context())
	heard := make(chan string, 2)
	Connect(answers, ask, func() { heard <- "interrupted" }, func() { heard <- "gone" })
	go new(Server).Relay(ctx, requests, answer)
	cancel()
	if s := <-heard; s != "interrupted" {
		t.Error(s)
	}
	answer.Close()
	if s := <-heard; s != "gone" {
		t.Error(s)
	}
}

// TestRefused: no request that a process makes up gets as far as a fetcher.
func TestRefused(t *testing.T) {
	id := "0123456789abcdef0123456789abcdef1"
	for _, r := range []Request{
		{},
		{BuildID: "../../etc/passwd", Kind: "debuginfo"},
		{BuildID: "ab", Kind: "debuginfo"},
		{BuildID: strings.Repeat("ab", 65), Kind: "debuginfo"},
		{BuildID: "abcd", Kind: "../debuginfo"},
		{BuildID: "abcd", Kind: "section"},
		{BuildID: "abcd", Kind: "source", Source: []byte("etc/passwd.c")},
		{BuildID: "abcd", Kind: "source", Source: []byte("/etc/shadow")},
		{BuildID: "abcd", Kind: "source", Source: []byte("/" + strings.Repeat("x", maxSource) + ".c")},
		{Symbols: []modules.StoreKey{{Name: "..", ID: id, File: "a.pdb"}}},
		{Symbols: []modules.StoreKey{{Name: "a.pdb", ID: "../" + id, File: "a.pdb"}}},
		{Symbols: []modules.StoreKey{{Name: "a.pdb", ID: id, File: "http://x/a.pdb"}}},
		{Symbols: []modules.StoreKey{{Name: "a.pdb", ID: id, File: "a.pdb"}, {Name: "a.pdb", ID: id, File: "b/a.pdb"}}},
		{Symbols: []modules.StoreKey{{Name: "a.pdb", ID: id, File: "a.pdb", Kind: 77}}},
		{Symbols: slices.Repeat([]modules.StoreKey{{Name: "a.pdb", ID: id, File: "a.pdb"}}, maxKeys+1)},
	} {
		if p, err := (&Server{Files: servers{}, Symbols: servers{}}).fetch(t.Context(), r); !errors.Is(err, errRefused) || p != "" {
			t.Errorf("%+v: %q, %v", r, p, err)
		}
	}
	for _, r := range []Request{{BuildID: "abcd", Kind: "debuginfo"}, {Symbols: []modules.StoreKey{{Name: "a.pdb", ID: id, File: "a.pdb"}}}} {
		if _, err := new(Server).fetch(t.Context(), r); !errors.Is(err, errRefused) {
			t.Errorf("without servers: %v", err)
		}
	}
}

// waiting is a fetcher that does not answer.
type waiting struct{}

func (waiting) Fetch(ctx context.Context, _ []byte, _ string) (string, error) {
	<-ctx.Done()
	return "", ctx.Err()
}

func TestLimits(t *testing.T) {
	s := &Server{Files: waiting{}}
	r := Request{BuildID: "abcd", Kind: modules.KindDebugInfo}
	ctx, cancel := context.WithCancel(t.Context())
	answers := make(chan Answer, maxOpen+1)
	for range maxOpen + 1 {
		s.Serve(ctx, r, func(a Answer) { answers <- a })
	}
	if a := <-answers; !strings.Contains(a.Error, "too many") {
		t.Errorf("%+v", a)
	}
	cancel()
	for range maxOpen {
		<-answers
	}
	s.served = maxServed
	s.Serve(t.Context(), r, func(a Answer) { answers <- a })
	if a := <-answers; !strings.Contains(a.Error, "too many") {
		t.Errorf("after %d: %+v", maxServed, a)
	}
	if err := s.Relay(t.Context(), strings.NewReader(strings.Repeat("x", maxLine+1)), io.Discard); err == nil {
		t.Error("a line without end is no error")
	}
}

package broker

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"sync"

	"github.com/corewalk/corewalk/internal/files/find"
	"github.com/corewalk/corewalk/modules"
)

// A Server fetches for another process, which it does not trust.
type Server struct {
	Files   modules.Fetcher       // nil for none
	Symbols modules.SymbolFetcher // nil for none

	mu     sync.Mutex // guards the two below; no other lock is taken inside
	open   int        // requests without an answer
	served int
}

// Limits of a Server: requests at a time and altogether, keys of a request, and bytes of a source file's path. A
// report asks for a few files of each module.
const (
	maxOpen   = 256
	maxServed = 1 << 17
	maxKeys   = 16
	maxSource = 1024
)

// Serve answers a request from another goroutine, at once if it is refused.
func (s *Server) Serve(ctx context.Context, r Request, answer func(Answer)) {
	s.mu.Lock()
	busy := s.open >= maxOpen || s.served >= maxServed
	if !busy {
		s.open++
		s.served++
	}
	s.mu.Unlock()
	if busy {
		answer(failed(r, errors.New("not fetched: too many files are asked for")))
		return
	}
	go func() {
		path, err := s.fetch(ctx, r)
		s.mu.Lock()
		s.open--
		s.mu.Unlock()
		if err != nil {
			answer(failed(r, err))
			return
		}
		answer(Answer{N: r.N, Path: []byte(path)})
	}()
}

func failed(r Request, err error) Answer {
	a := Answer{N: r.N, Error: err.Error(), NotExist: errors.Is(err, fs.ErrNotExist)}
	var fe *find.FetchError
	if errors.As(err, &fe) {
		a.Unreachable = fe.Unreachable
	}
	return a
}

// errRefused is wrapped by the errors of requests that no report makes.
var errRefused = errors.New("not fetched")

// fetch checks a request and asks a fetcher.
func (s *Server) fetch(ctx context.Context, r Request) (string, error) {
	if len(r.Symbols) > 0 {
		return s.symbols(ctx, r.Symbols)
	}
	id, err := hex.DecodeString(r.BuildID)
	if err != nil || len(id) < 2 || len(id) > 64 {
		return "", fmt.Errorf("%w: %.140q is no build-id", errRefused, r.BuildID)
	}
	if s.Files == nil {
		return "", fmt.Errorf("%w: no server", errRefused)
	}
	switch r.Kind {
	case modules.KindDebugInfo, modules.KindExecutable:
		return s.Files.Fetch(ctx, id, r.Kind)
	case kindSource:
		sources, ok := s.Files.(modules.SourceFetcher)
		path := string(r.Source)
		if !ok || !strings.HasPrefix(path, "/") || len(path) > maxSource || !find.IsSource(path) {
			return "", fmt.Errorf("%w: source file %.80q", errRefused, path)
		}
		return sources.FetchSource(ctx, id, path)
	}
	return "", fmt.Errorf("%w: kind %.20q", errRefused, r.Kind)
}

func (s *Server) symbols(ctx context.Context, keys []modules.StoreKey) (string, error) {
	if s.Symbols == nil || len(keys) > maxKeys {
		return "", fmt.Errorf("%w: %d symbol files", errRefused, len(keys))
	}
	for _, k := range keys {
		key := find.StoreKey{Name: k.Name, ID: k.ID, File: k.File, Kind: find.SymbolKind(k.Kind)}
		if !key.Valid() {
			return "", fmt.Errorf("%w: symbol file %.80q %.140q %.80q", errRefused, k.Name, k.ID, k.File)
		}
	}
	return s.Symbols.FetchSymbols(ctx, keys)
}

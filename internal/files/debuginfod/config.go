package debuginfod

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// A Config says which servers are asked, and what is asked of them.
type Config struct {
	URLs     []string // of the servers, all asked at a time: http, https and file
	LeftOut  []string // servers that are not asked, and why, for people
	CacheDir string   // made when it is not there

	// Timeout is the time in which a server must bring another 100 KiB, or the end
	// of the file; 0 for any time.
	Timeout time.Duration
	MaxTime time.Duration // for one file; 0 for any time
	MaxSize int64         // of one file in bytes; 0 for any size
	Retries int           // how often a query is repeated that failed for no lasting reason

	// Connections bounds how many queries are under way at a time, to all servers
	// together; 0 for 16.
	Connections int

	Headers   http.Header    // sent to the servers named, besides the usual
	UserAgent string         // "" for corewalk
	Progress  func(Progress) // nil, or called by the goroutines that fetch

	// Warnings are what is wrong with the environment that the rest comes from.
	Warnings []string
}

// Progress tells how far a download has come.
type Progress struct {
	Kind        string // debuginfo or executable; of symbol servers what debugfind.SymbolKind says
	BuildID     string // in hex; of symbol servers the identifier
	Name        string // of the file, from symbol servers; "" otherwise
	Server      string // its host; "" while several are asked
	Done, Total int64  // bytes; Total is 0 when the server does not say
	Ended       bool   // the last call for this file, whatever came of it
	OK          bool   // and the file is there
}

// Defaults; debuginfod-client-config(7) has those of time.
const (
	defaultTimeout = 90 * time.Second
	defaultRetries = 2
	// defaultConnections is ours too: others ask for one file after the other.
	defaultConnections = 16
	// defaultMaxSize is ours: others have none. It keeps a server that lies from
	// filling the disk, and is ten times the largest debug files in distributions.
	defaultMaxSize = 16 << 30
)

// FromEnv makes the configuration that the environment asks for, with the
// variables that debuginfod-client-config(7) describes. Numbers that are none
// count as not set. It has the URLs of DEBUGINFOD_URLS, none unless servers says
// that they are wanted.
func FromEnv(getenv func(string) string, servers bool) Config {
	number := func(name string, otherwise int64) int64 {
		n, err := strconv.ParseInt(strings.TrimSpace(getenv(name)), 10, 64)
		if err != nil {
			return otherwise
		}
		return max(n, 0)
	}
	seconds := func(name string, otherwise time.Duration) time.Duration {
		const most = 1 << 30 // what fits a Duration, and is as good as no end
		return time.Duration(min(number(name, int64(otherwise/time.Second)), most)) * time.Second
	}
	c := Config{
		CacheDir: cacheDir(getenv),
		Timeout:  seconds("DEBUGINFOD_TIMEOUT", defaultTimeout),
		MaxTime:  seconds("DEBUGINFOD_MAXTIME", 0),
		MaxSize:  number("DEBUGINFOD_MAXSIZE", defaultMaxSize),
		Retries:  int(min(number("DEBUGINFOD_RETRY_LIMIT", defaultRetries), 10)),
	}
	if servers {
		c.setURLs(getenv("DEBUGINFOD_URLS"))
	}
	if path := getenv("DEBUGINFOD_HEADERS_FILE"); path != "" {
		c.readHeaders(path)
	}
	return c
}

// cacheDir is the directory that debuginfod clients share; "" when the
// environment does not tell.
func cacheDir(getenv func(string) string) string {
	if dir := getenv("DEBUGINFOD_CACHE_PATH"); dir != "" {
		return dir
	}
	home := getenv("HOME")
	if home != "" {
		old := filepath.Join(home, ".debuginfod_client_cache")
		if st, err := os.Stat(old); err == nil && st.IsDir() {
			return old
		}
	}
	if xdg := getenv("XDG_CACHE_HOME"); xdg != "" {
		return filepath.Join(xdg, "debuginfod_client")
	}
	if home != "" {
		return filepath.Join(home, ".cache", "debuginfod_client")
	}
	return ""
}

// check validates the configuration and returns the servers' base URLs.
func (c *Config) check() ([]*url.URL, error) {
	switch {
	case len(c.URLs) == 0 && len(c.LeftOut) > 0:
		return nil, fmt.Errorf("no debuginfod server is left: %s", strings.Join(c.LeftOut, "; "))
	case len(c.URLs) == 0:
		return nil, errors.New("no debuginfod server is named")
	}
	if c.CacheDir == "" {
		return nil, errors.New("no place for files from debuginfod servers: set DEBUGINFOD_CACHE_PATH or HOME")
	}
	var bases []*url.URL
	for _, text := range c.URLs {
		u, err := parseURL(text)
		if err != nil {
			return nil, fmt.Errorf("debuginfod server: %w", err)
		}
		if !usable(u) {
			return nil, fmt.Errorf("debuginfod server %s: a URL is wanted, such as https://debuginfod.elfutils.org or file:///srv/debug", u.Redacted())
		}
		u.Path = strings.TrimSuffix(strings.TrimRight(u.Path, "/"), "/buildid")
		u.RawPath, u.RawQuery, u.Fragment = "", "", ""
		if !slices.ContainsFunc(bases, func(b *url.URL) bool { return b.String() == u.String() }) {
			bases = append(bases, u)
		}
	}
	return bases, nil
}

// parseURL is url.Parse, but its error does not repeat the URL, which may have a
// password.
func parseURL(text string) (*url.URL, error) {
	u, err := url.Parse(text)
	var full *url.Error
	if errors.As(err, &full) {
		return nil, fmt.Errorf("a URL that makes no sense: %w", full.Err)
	}
	return u, err
}

// usable reports whether servers can have this URL. A file: URL names a directory
// of this machine.
func usable(u *url.URL) bool {
	switch u.Scheme {
	case "http", "https":
		return u.Host != ""
	case "file":
		return (u.Host == "" || u.Host == "localhost") && strings.HasPrefix(u.Path, "/")
	}
	return false
}

// Package settings has what programs tell the clients of package debuginfod, and what they hear of
// downloads. It links no HTTP client.
package settings

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// A Config says which servers to use, and how.
type Config struct {
	URLs     []string // of the servers, which are all queried at once; http, https or file
	LeftOut  []string // servers that are not used, each with the reason, for messages
	CacheDir string   // created if missing

	// Timeout is the time in which a server must send another 100 KiB or the end of the
	// file; 0 means no limit.
	Timeout time.Duration
	MaxTime time.Duration // for one file; 0 means no limit
	MaxSize int64         // of one file in bytes; 0 means no limit
	Retries int           // how often to repeat a query after a temporary failure

	// Connections is the maximum number of simultaneous queries, to all servers together; 0
	// means 16.
	Connections int

	Headers   []Header       // sent to the configured servers in addition to the usual ones
	UserAgent string         // "" means corewalk
	Progress  func(Progress) // called by the goroutines that fetch; may be nil

	// Warnings lists problems found in the environment by FromEnv.
	Warnings []string
}

// A Header is sent with each query. A name may occur several times.
type Header struct{ Name, Value string }

// Progress is the state of a download.
type Progress struct {
	Kind        string // debuginfo or executable; from symbol servers, find.SymbolKind's String
	BuildID     string // in hexadecimal; from symbol servers, the file's identifier
	Name        string // of the file, from symbol servers; otherwise ""
	Server      string // its host; "" while several are queried
	Done, Total int64  // in bytes; Total is 0 if unknown
	Ended       bool   // the last call for this file, whether or not it succeeded
	OK          bool   // the file was fetched
}

// Defaults; the times are those of debuginfod-client-config(7).
const (
	defaultTimeout = 90 * time.Second
	defaultRetries = 2
	// defaultMaxSize is corewalk's own; other clients have no limit. It keeps a misbehaving
	// server from filling the disk, and is ten times the size of the largest debug files in
	// distributions.
	defaultMaxSize = 16 << 30
)

// FromEnv returns the configuration given by the environment variables that
// debuginfod-client-config(7) describes. Invalid numbers count as unset. DEBUGINFOD_URLS is
// used only if servers is true.
func FromEnv(getenv func(string) string, servers bool) Config {
	number := func(name string, otherwise int64) int64 {
		n, err := strconv.ParseInt(strings.TrimSpace(getenv(name)), 10, 64)
		if err != nil {
			return otherwise
		}
		return max(n, 0)
	}
	seconds := func(name string, otherwise time.Duration) time.Duration {
		const most = 1 << 30 // fits a Duration, and is as good as no limit
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

// cacheDir returns the directory that debuginfod clients share, or "" if the environment
// does not determine one.
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

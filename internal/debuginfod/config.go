package debuginfod

import (
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// A Config says which servers are asked, and what is asked of them.
type Config struct {
	URLs     []string // of the servers, asked in this order
	CacheDir string   // made when it is not there

	// Timeout is the time in which a server must bring another 100 KiB, or the end
	// of the file; 0 for any time.
	Timeout time.Duration
	MaxTime time.Duration // for one file; 0 for any time
	MaxSize int64         // of one file in bytes; 0 for any size
	Retries int           // how often a query is repeated that failed for no lasting reason

	UserAgent string         // "" for corewalk
	Progress  func(Progress) // nil, or called by the goroutines that fetch
}

// Progress tells how far a download has come.
type Progress struct {
	Kind        string // debuginfo or executable
	BuildID     string // in hex
	Server      string // its host
	Done, Total int64  // bytes; Total is 0 when the server does not say
	Ended       bool   // the last call for this download, whatever came of it
}

// Defaults; debuginfod-client-config(7) has those of time.
const (
	defaultTimeout = 90 * time.Second
	defaultRetries = 2
	// defaultMaxSize is ours: others have none. It keeps a server that lies from
	// filling the disk, and is ten times the largest debug files in distributions.
	defaultMaxSize = 16 << 30
)

// FromEnv makes the configuration that the environment asks for, with the
// variables that debuginfod-client-config(7) describes. Numbers that are none
// count as not set. Without DEBUGINFOD_URLS it has no URLs.
func FromEnv(getenv func(string) string) Config {
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
	return Config{
		URLs:     SplitURLs(getenv("DEBUGINFOD_URLS")),
		CacheDir: cacheDir(getenv),
		Timeout:  seconds("DEBUGINFOD_TIMEOUT", defaultTimeout),
		MaxTime:  seconds("DEBUGINFOD_MAXTIME", 0),
		MaxSize:  number("DEBUGINFOD_MAXSIZE", defaultMaxSize),
		Retries:  int(min(number("DEBUGINFOD_RETRY_LIMIT", defaultRetries), 10)),
	}
}

// SplitURLs takes the value of DEBUGINFOD_URLS apart. Servers whose files are to
// be used only when they are signed (those after ima:enforcing) are left out,
// since signatures are not checked here.
func SplitURLs(list string) []string {
	var urls []string
	enforcing := false
	for _, word := range strings.Fields(list) {
		if policy, ok := strings.CutPrefix(word, "ima:"); ok {
			enforcing = policy == "enforcing"
		} else if !enforcing {
			urls = append(urls, word)
		}
	}
	return urls
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
	if len(c.URLs) == 0 {
		return nil, errors.New("no debuginfod server is named")
	}
	if c.CacheDir == "" {
		return nil, errors.New("no place for files from debuginfod servers: set DEBUGINFOD_CACHE_PATH or HOME")
	}
	var bases []*url.URL
	for _, text := range c.URLs {
		u, err := url.Parse(text)
		if err != nil {
			return nil, fmt.Errorf("debuginfod server: %w", err)
		}
		if (u.Scheme != "http" && u.Scheme != "https") || u.Host == "" {
			return nil, fmt.Errorf("debuginfod server %s: a URL is wanted, such as https://debuginfod.elfutils.org", u.Redacted())
		}
		u.Path = strings.TrimSuffix(strings.TrimRight(u.Path, "/"), "/buildid")
		u.RawPath, u.RawQuery, u.Fragment = "", "", ""
		bases = append(bases, u)
	}
	return bases, nil
}

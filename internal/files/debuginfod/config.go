package debuginfod

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/corewalk/corewalk/internal/files/debuginfod/settings"
)

// defaultConnections is corewalk's own; other clients fetch one file at a time.
const defaultConnections = 16

// check validates a configuration and returns the servers' base URLs.
func check(c *settings.Config) ([]*url.URL, error) {
	switch {
	case len(c.URLs) == 0 && len(c.LeftOut) > 0:
		return nil, fmt.Errorf("no usable debuginfod server: %s", strings.Join(c.LeftOut, "; "))
	case len(c.URLs) == 0:
		return nil, errors.New("no debuginfod server given; set DEBUGINFOD_URLS")
	}
	if c.CacheDir == "" {
		return nil, errors.New("no cache directory for debuginfod: set DEBUGINFOD_CACHE_PATH or HOME")
	}
	var bases []*url.URL
	for _, text := range c.URLs {
		u, err := parseURL(text)
		if err != nil {
			return nil, fmt.Errorf("debuginfod server: %w", err)
		}
		if !usable(u) {
			return nil, fmt.Errorf("debuginfod server %s: not a valid URL; use for example https://debuginfod.elfutils.org or file:///srv/debug", u.Redacted())
		}
		u.Path = strings.TrimSuffix(strings.TrimRight(u.Path, "/"), "/buildid")
		u.RawPath, u.RawQuery, u.Fragment = "", "", ""
		if !slices.ContainsFunc(bases, func(b *url.URL) bool { return b.String() == u.String() }) {
			bases = append(bases, u)
		}
	}
	return bases, nil
}

// parseURL is url.Parse, but its error does not contain the URL, which may include a
// password.
func parseURL(text string) (*url.URL, error) {
	u, err := url.Parse(text)
	var full *url.Error
	if errors.As(err, &full) {
		return nil, fmt.Errorf("invalid URL: %w", full.Err)
	}
	return u, err
}

// usable reports whether this can be the URL of a server. A file: URL must name a directory
// on this machine.
func usable(u *url.URL) bool {
	switch u.Scheme {
	case "http", "https":
		return u.Host != ""
	case "file":
		return (u.Host == "" || u.Host == "localhost") && strings.HasPrefix(u.Path, "/")
	}
	return false
}

// setHeaders sets the headers of a query. The user's override ours, except for the size
// limit.
func setHeaders(req *http.Request, c *settings.Config) {
	req.Header.Set("User-Agent", c.UserAgent)
	given := http.Header{}
	for _, h := range c.Headers {
		given.Add(h.Name, h.Value)
	}
	for name, values := range given {
		if name == "Host" {
			req.Host = values[0]
			continue
		}
		req.Header[name] = values
	}
	if c.MaxSize > 0 {
		req.Header.Set("X-Debuginfod-Maxsize", strconv.FormatInt(c.MaxSize, 10))
	}
}

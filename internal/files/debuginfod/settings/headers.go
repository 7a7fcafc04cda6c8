package settings

import (
	"fmt"
	"io"
	"os"
	"strings"
)

// maxHeaders limits how much of DEBUGINFOD_HEADERS_FILE is read, in bytes.
const maxHeaders = 64 << 10

// readHeaders reads the file of headers to send, "Name: value" on each line
// (debuginfod-client-config(7)). Invalid lines are skipped; warnings do not quote them,
// since they may contain a secret.
func (c *Config) readHeaders(path string) {
	text, err := ReadSmall(path, maxHeaders)
	if err != nil {
		c.Warnings = append(c.Warnings, fmt.Sprintf("DEBUGINFOD_HEADERS_FILE: %v; no headers are sent", err))
		return
	}
	n := 0
	for line := range strings.SplitSeq(text, "\n") {
		n++
		if line = strings.TrimSpace(line); line == "" {
			continue
		}
		name, value, ok := strings.Cut(line, ":")
		value = strings.TrimSpace(value)
		if !ok || value == "" || !isToken(name) || strings.ContainsFunc(value, isControl) {
			c.Warnings = append(c.Warnings, fmt.Sprintf("DEBUGINFOD_HEADERS_FILE: %s: line %d is not a header (\"Name: value\") and is not sent", path, n))
			continue
		}
		c.Headers = append(c.Headers, Header{name, value})
	}
}

// ReadSmall reads a regular file of at most limit bytes.
func ReadSmall(path string, limit int64) (string, error) {
	f, err := OpenRegular(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, limit+1))
	if err == nil && int64(len(data)) > limit {
		err = fmt.Errorf("%s: longer than %d bytes", path, limit)
	}
	return string(data), err
}

// OpenRegular opens a regular file. Other files, such as pipes, could block the caller.
func OpenRegular(path string) (*os.File, error) {
	st, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !st.Mode().IsRegular() {
		return nil, fmt.Errorf("%s: not a regular file", path)
	}
	return os.Open(path)
}

// isToken reports whether s is a valid header name (RFC 9110, section 5.6.2).
func isToken(name string) bool {
	return name != "" && strings.Trim(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789!#$%&'*+-.^_`|~") == ""
}

func isControl(r rune) bool { return r < ' ' && r != '\t' || r == 0x7f }

package debuginfod

import (
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/corewalk/corewalk/internal/files/debuginfod/settings"
	"github.com/corewalk/corewalk/internal/files/find"
)

// A cache is the directory in which debuginfod clients keep fetched files
// (debuginfod-client-config(7), "CACHE"):
//
//	BUILDID/debuginfo, BUILDID/executable
//
// Source files have names of our own, which begin with "source" as other clients' do, so
// that all clients remove old ones.
//
// An empty file records that no server had the file at that time. Clients before elfutils
// 0.186 removed all permissions from such a file; newer ones only check its size. Files are
// written under a temporary name and renamed when complete, so readers never see a partial
// file.
type cache struct{ dir string }

// A setting is a number of seconds kept in a file of the cache directory.
type setting struct {
	name  string
	value time.Duration // used if there is no such file
}

var (
	cacheMiss     = setting{"cache_miss_s", 10 * time.Minute}         // how long to remember that a file is missing
	cleanInterval = setting{"cache_clean_interval_s", 24 * time.Hour} // the file's time is that of the last cleaning
	maxUnusedAge  = setting{"max_unused_age_s", 7 * 24 * time.Hour}   // how long to keep files that nobody reads
)

func (c cache) path(r request) string {
	name := r.kind
	if r.kind == kindSource {
		name += fmt.Sprintf("-%x", sha256.Sum256([]byte(r.path)))
	}
	return filepath.Join(c.dir, r.id, name)
}

// lookup returns the path of a file in the cache after checking it, or "". missed says that
// the servers recently did not have it.
func (c cache) lookup(r request, now time.Time) (path string, missed bool) {
	path = c.path(r)
	st, err := os.Lstat(path)
	switch {
	case err != nil, !st.Mode().IsRegular():
		return "", false // a link could lead to any file of this user
	case st.Size() == 0:
		if now.Sub(st.ModTime()) <= c.setting(cacheMiss) {
			return "", true
		}
		os.Remove(path)
		return "", false
	case verify(path, r) != nil: // the fetched file will replace it
		return "", false
	}
	os.Chtimes(path, now, time.Time{}) // record the access, in case the file system does not
	return path, false
}

// verify returns an error unless a file is complete and the one that was requested. Of source files only the size can be checked.
func verify(path string, r request) error {
	if r.kind != kindSource {
		return find.VerifyELF(path, r.kind, r.id)
	}
	st, err := os.Stat(path)
	if err == nil && st.Size() > maxSource {
		err = errSource
	}
	return err
}

// miss records that no server has a file.
func (c cache) miss(r request) {
	if os.MkdirAll(filepath.Dir(c.path(r)), 0o700) != nil {
		return
	}
	if f, err := os.OpenFile(c.path(r), os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o666); err == nil {
		f.Close()
	}
}

// create makes a temporary file to write to.
func (c cache) create(r request) (*os.File, error) {
	dir := filepath.Dir(c.path(r))
	var f *os.File
	var err error
	for range 2 { // another client may remove the empty directory
		if err = os.MkdirAll(dir, 0o700); err == nil {
			if f, err = os.CreateTemp(dir, r.kind+".*"); err == nil {
				return f, nil
			}
		}
	}
	return nil, err
}

// discard removes what create made, and the directory if it is then empty.
func (c cache) discard(f *os.File) {
	f.Close()
	os.Remove(f.Name())
	os.Remove(filepath.Dir(f.Name()))
}

// keep closes a verified file and renames it to its final name.
func (c cache) keep(f *os.File, r request) (string, error) {
	err := f.Chmod(0o400)
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	if err == nil {
		err = os.Rename(f.Name(), c.path(r))
	}
	if err != nil {
		return "", fmt.Errorf("cannot keep file from debuginfod server: %w", err)
	}
	return c.path(r), nil
}

// maxSetting limits the length of a setting's file in bytes.
const maxSetting = 100

// setting reads a number of seconds, and writes the default if there is no file.
func (c cache) setting(s setting) time.Duration {
	path := filepath.Join(c.dir, s.name)
	text, err := settings.ReadSmall(path, maxSetting)
	if n, perr := strconv.ParseInt(strings.TrimSpace(text), 10, 64); err == nil && perr == nil {
		const most = 1 << 33 // number of seconds that fits a Duration
		return time.Duration(min(max(n, 0), most)) * time.Second
	}
	if os.IsNotExist(err) { // O_EXCL does not follow a link that leads to a file to be made
		if f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o666); err == nil {
			f.WriteString(strconv.FormatInt(int64(s.value/time.Second), 10))
			f.Close()
		}
	}
	return s.value
}

// clean removes files that have not been read for a long time, if cleaning is due.
func (c cache) clean(now time.Time) {
	interval := c.setting(cleanInterval)
	path := filepath.Join(c.dir, cleanInterval.name)
	st, err := os.Stat(path)
	if err != nil || now.Sub(st.ModTime()) < interval {
		return
	}
	os.Chtimes(path, now, now) // first, so that few clients clean at the same time
	age := c.setting(maxUnusedAge)
	dirs, err := os.ReadDir(c.dir)
	if err != nil {
		return
	}
	for _, d := range dirs {
		if d.IsDir() && isHex(d.Name()) {
			cleanDir(filepath.Join(c.dir, d.Name()), now, age)
		}
	}
}

// cleanDir removes the old files of one build-id, and their directory if it has been empty
// for as long.
func cleanDir(dir string, now time.Time, age time.Duration) {
	st, err := os.Stat(dir)
	if err != nil {
		return
	}
	files, _ := os.ReadDir(dir)
	for _, f := range files {
		info, err := f.Info()
		if err != nil || !f.Type().IsRegular() || !isCached(f.Name()) {
			continue
		}
		if read, ok := accessTime(info); ok && now.Sub(read) >= age {
			os.Remove(filepath.Join(dir, f.Name()))
		}
	}
	if now.Sub(st.ModTime()) >= age {
		os.Remove(dir) // fails if not empty
	}
}

// isCached reports whether clients use this name for fetched or temporary files.
func isCached(name string) bool {
	for _, kind := range []string{"debuginfo", "executable", "source", "hdr"} {
		if strings.HasPrefix(name, kind) {
			return true
		}
	}
	return false
}

func isHex(name string) bool {
	return name != "" && strings.Trim(name, "0123456789abcdef") == ""
}

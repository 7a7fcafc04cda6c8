// Package kept keeps on disk, from one run to the next, what was made of the files of
// modules at some cost: sections that were decompressed, and indexes. A run that finds them
// maps them, and makes nothing.
//
// What is kept of one file is an entry: one file in a directory of the user's, written once
// under a temporary name and renamed. An entry is bound to the file that it was made of by
// device, inode, size, times of last change (of the contents and of the inode) and build-id:
// a digest of the contents would cost more than it saves, and nobody but root can set the
// time of the inode's change. So another file with the same build-id has another entry.
//
// An entry is a hint. It is used only if its directory and itself belong to this user and
// nobody else may write to them, if its header is sound, and if each block of 4 KiB that is
// read has its checksum. A block that does not is made again. The checksums find damage and
// not forgery: whoever can write as this user can do worse.
//
// Writing is the last that a run does, and its failure has no effect but that nothing is
// kept. It has the time that its context says: what the disk has not taken by then is not
// kept. Entries are bounded in total; the oldest in use is removed first.
//
// A Room and an Entry are safe for concurrent use.
package kept

import (
	"cmp"
	"encoding/hex"
	"fmt"
	"hash/fnv"
	"io"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"github.com/corewalk/corewalk/internal/files/mmapfile"
)

// DefaultLimit is the size in bytes of all entries together if nothing else is said.
const DefaultLimit = 2 << 30

// Wings are the directories of a Room. A process in a sandbox may read the entries of
// packages' files and no others: those of the user's own files say what is in them.
const (
	wingPackages = "packages"
	wingOwn      = "own"
)

// suffix ends the names of entries; it has the version of the format. Entries of other
// versions are other files, so versions do not disturb each other.
const suffix = ".v2"

// tempPrefix begins the names of files that are being written.
const tempPrefix = "tmp-"

// settled is how old a file's last change must be when it is opened: with a younger one, a
// change that follows may leave the same time. Some file systems count in two seconds.
const settled = 2 * time.Second

// A Room is the place where entries are kept.
type Room struct {
	dir   string
	limit int64

	settled time.Duration
	now     func() time.Time

	// Writing, if set, is called before each piece of an entry is written. An error is as one of the disk. It is for tests.
	Writing func() error

	stuck atomic.Int32 // writers that have not ended although their time is over

	mu      sync.Mutex // guards the two below; no other lock is taken inside
	counted time.Time  // when the entries were last looked at, to know their size
	size    int64      // of all of them then, and of those written since
}

// DefaultDir is corewalk/kept in the user's cache directory.
func DefaultDir() (string, error) {
	dir, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("no cache directory: %w", err)
	}
	return filepath.Join(dir, "corewalk", "kept"), nil
}

// Packages makes and returns the directory of a Room in dir that a process in a sandbox may read.
func Packages(dir string) (string, error) {
	wing := filepath.Join(dir, wingPackages)
	return wing, makeDirs(wing, makeMost)
}

// New returns the Room in dir, which must be absolute. It opens nothing yet. limit bounds the size of all
// entries in bytes; with 0 or less nothing is written.
func New(dir string, limit int64) *Room {
	return &Room{dir: dir, limit: limit, settled: settled, now: time.Now}
}

// A Source is a file of which something is kept.
type Source struct {
	File    mmapfile.ID // as it was opened
	Path    string      // for those who look at the list of entries
	BuildID []byte      // without one nothing is kept
	Use     string      // a file may have several entries, each for a use of its own
	// Packaged says that the file is a package's, which every user can read.
	Packaged bool
}

func (s *Source) wing() string {
	if s.Packaged {
		return wingPackages
	}
	return wingOwn
}

// name is the name of the entry's file. Two sources may have the same name, if rarely; the
// header decides.
func (s *Source) name() string {
	h := fnv.New64a()
	fmt.Fprintf(h, "%d %d %d %d %d %x", s.File.Dev, s.File.Ino, s.File.Size, s.File.MtimeNs, s.File.CtimeNs, s.BuildID)
	io.WriteString(h, s.Use)
	return fmt.Sprintf("%s-%016x%s", hex.EncodeToString(s.BuildID[:min(len(s.BuildID), 20)]), h.Sum64(), suffix)
}

// usable reports whether the source's identity is good enough to keep something of it.
func (s *Source) usable() bool {
	return s.File.Ino != 0 && s.File.CtimeNs != 0 && len(s.BuildID) >= 2 && len(s.BuildID) <= maxBuildID
}

// Kinds of parts.
const (
	KindSection = 1       // a decompressed section
	KindIndex   = 1 << 24 // with the number and version of an index of the section, which are below it
	KindAnswers = 1 << 25 // what a build of this program found out, by question
)

// A Key says which part of the source a Part was made of.
type Key struct {
	Kind    uint32
	Section uint32 // its index in the source
	Offset  uint64 // of what the part was made of, in the source, in bytes
	Length  uint64
	Ends    uint32 // a checksum of the first and last bytes of that
}

func (k Key) compare(o Key) int {
	return cmp.Or(cmp.Compare(k.Kind, o.Kind), cmp.Compare(k.Section, o.Section), cmp.Compare(k.Offset, o.Offset),
		cmp.Compare(k.Length, o.Length), cmp.Compare(k.Ends, o.Ends))
}

// New parts are given to Entry.Keep.
type NewPart struct {
	Key  Key
	Size uint64 // of the whole part in bytes
	Data []byte // its beginning, as far as it was made
}

// Package rootfs reads the files of a root directory that is packed: a tar archive, an OCI
// image layout (a directory, or a tar archive of it), or an archive of docker save, each also
// compressed. It makes an index of what is where, and unpacks single files when they are asked
// for. Files of layers that are not compressed are mapped where they lie.
//
// Images are as hostile as dumps. Links and .. lead nowhere outside of the image, devices are
// no files, and the index, the bytes that are decompressed and the disk space are bounded.
package rootfs

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"github.com/corewalk/corewalk/internal/files/kept"
	"github.com/corewalk/corewalk/internal/files/mmapfile"
	"github.com/corewalk/corewalk/internal/format/decompress"
)

// ErrNoImage: the file or directory is none of the kinds of images.
var ErrNoImage = errors.New("neither a directory nor an image: a tar archive, an OCI layout or an archive of docker save")

// Limits of one image.
const (
	maxIndex    = 512 << 20 // bytes that the index takes, about
	maxUnpacked = 32 << 30  // bytes decompressed for the index
	maxPasses   = 1000      // times that a layer is decompressed to unpack a file
	maxSpool    = 512 << 20 // bytes of programs and libraries that are kept on the way
	maxSpooled  = 64 << 20  // bytes of one of them
	maxDisk     = 4 << 30   // bytes of other files that are unpacked
	maxWork     = 64 << 20  // entries that names and whiteouts lead over

	maxDocuments     = 1024      // indexes, manifests and configurations that are read
	maxDocumentBytes = 32 << 20  // bytes of them
	maxParts         = 1 << 15   // manifests and layers that they list
	maxOpened        = 2048      // layers that are read, each of which may be an open file
	maxPassed        = 256 << 30 // bytes that go into decompressing and come out of it, also when a layer is decompressed again

	// Layers of zeros expand without bound. Beyond freeMade bytes, all that is decompressed may be maxRatio times what
	// it is made of: more than gzip reaches.
	freeMade = 1 << 30
	maxRatio = 2048
)

// An Image is an opened image. It is safe for concurrent use.
type Image struct {
	ctx   context.Context
	path  string
	once  sync.Once
	roots []*Root

	mu    sync.Mutex // held while the image is read, and guards what is below; the locks of what is kept of it are taken inside
	notes []string
	left  budgets
	read  map[layer]*added // layers that were read
	spool *os.File         // unlinked
	at    int64            // where the spool ends
	room  *kept.Room
	parts []*part // of which something is kept, or to be
	files []io.Closer
	ended bool
}

// budgets are what is left of the limits. They are guarded by Image.mu once the image is open.
type budgets struct {
	index, unpacked, spool, disk, passes, work int64
	documents, json, parts, layers             int64
	passed, free                               int64

	fed, made int64 // bytes that went into decompressing and came out of it
}

func newBudgets() budgets {
	return budgets{index: maxIndex, unpacked: maxUnpacked, spool: maxSpool, disk: maxDisk, passes: maxPasses, work: maxWork,
		documents: maxDocuments, json: maxDocumentBytes, parts: maxParts, layers: maxOpened, passed: maxPassed, free: freeMade}
}

// spent reports whether no more layers can be read: a budget or the time is over. The caller holds im.mu.
func (im *Image) spent() bool {
	l := &im.left
	return im.ctx.Err() != nil || l.index < 0 || l.unpacked < 0 || l.work < 0 || l.layers < 0 || l.decompressed() != nil
}

// IsDir reports whether a directory is an image rather than a root directory.
func IsDir(dir string) bool {
	for _, name := range []string{"oci-layout", "manifest.json"} {
		if st, err := os.Stat(filepath.Join(dir, name)); err != nil || !st.Mode().IsRegular() {
			continue
		}
		if name == "oci-layout" {
			return true
		}
		f, _, err := mmapfile.OpenRegular(filepath.Join(dir, name))
		if err != nil {
			continue
		}
		defer f.Close()
		list, err := dockerManifests(f)
		return err == nil && len(list) > 0 && len(list[0].Layers) > 0
	}
	return false
}

// Check returns nil if a path may be that of an image, as far as its first bytes tell.
func Check(path string) error {
	st, err := os.Stat(path)
	if err != nil {
		return err
	}
	if st.IsDir() {
		if IsDir(path) {
			return nil
		}
		return ErrNoImage
	}
	f, _, err := mmapfile.OpenRegular(path)
	if err != nil {
		return err
	}
	defer f.Close()
	p, err := newPart(f)
	if err != nil {
		return err
	}
	if p.kind == decompress.None && !isTar(f) {
		return ErrNoImage
	}
	return nil
}

// Open returns the image at a path. Nothing is read before the first use. Reading ends with an
// error once ctx is done. What was found out by decompressing is kept in room for the next run;
// nil for nowhere.
func Open(ctx context.Context, path string, room *kept.Room) *Image {
	return &Image{ctx: ctx, path: path, room: room, left: newBudgets(), read: map[layer]*added{}}
}

// Close closes the files of the image. What was mapped of them stays; nothing more is read.
func (im *Image) Close() error {
	im.mu.Lock()
	defer im.mu.Unlock()
	im.ended = true
	var failed error
	for _, f := range im.files {
		failed = errors.Join(failed, f.Close())
	}
	for _, p := range im.parts {
		failed = errors.Join(failed, p.kept.Close())
	}
	im.files, im.parts, im.room = nil, nil, nil
	return failed
}

// owns has a file closed with the image. The caller holds im.mu.
func (im *Image) owns(f io.Closer) { im.files = append(im.files, f) }

// Roots returns the root directories in the image: one for each platform or image in it. It
// is empty if the image cannot be read; Notes says why.
func (im *Image) Roots() []*Root {
	im.once.Do(func() {
		im.mu.Lock()
		defer im.mu.Unlock()
		if im.ended {
			return
		}
		if err := im.open(); err != nil {
			im.note("%s: %v", im.path, im.reason(err))
		}
	})
	return im.roots
}

// Notes lists what could not be read so far.
func (im *Image) Notes() []string {
	im.mu.Lock()
	defer im.mu.Unlock()
	return slices.Clone(im.notes)
}

// reason is why reading ended: the time that was over says it better than what was read then.
func (im *Image) reason(err error) error {
	if im.ctx.Err() != nil {
		return fmt.Errorf("it was not read to its end: %w", context.Cause(im.ctx))
	}
	return err
}

const maxNotes = 20

// note adds a note. The caller holds im.mu.
func (im *Image) note(format string, args ...any) {
	if n := fmt.Sprintf(format, args...); len(im.notes) < maxNotes && !slices.Contains(im.notes, n) {
		im.notes = append(im.notes, n)
	}
}

// open finds out what kind of image it is.
func (im *Image) open() error {
	st, err := os.Stat(im.path)
	if err != nil {
		return err
	}
	if st.IsDir() {
		dir, err := os.OpenRoot(im.path)
		if err != nil {
			return err
		}
		im.owns(dir)
		return im.openContainer(directory{dir})
	}
	f, _, err := mmapfile.OpenRegular(im.path)
	if err != nil {
		return err
	}
	im.owns(f)
	p, err := newPart(f)
	if err != nil {
		return err
	}
	t := &tree{im: im}
	if err := t.add(p, nil); err != nil {
		if t.empty() {
			return err
		}
		im.note("%s: %v", im.path, im.reason(err))
	}
	if t.isContainer() {
		return im.openContainer(t)
	}
	r := &Root{im: im, path: im.path, tree: t}
	r.once.Do(func() {})
	im.roots = []*Root{r}
	return nil
}

// A Root is a root directory in an image.
type Root struct {
	im     *Image
	path   string // stands for it: the image's, and which of several
	arch   string // as Go calls it; "" if unknown
	layers []layer

	once sync.Once
	tree *tree
}

// Path is the path that stands for the root directory. No file is there.
func (r *Root) Path() string { return r.path }

// Arch is the architecture that the image is for, as Go calls it; "" if it does not say.
func (r *Root) Arch() string { return r.arch }

// files returns the index, which the first call makes of the layers.
func (r *Root) files() *tree {
	r.once.Do(func() {
		r.im.mu.Lock()
		defer r.im.mu.Unlock()
		r.tree = &tree{im: r.im}
		for _, l := range r.layers {
			if err := r.tree.over(l); err != nil {
				r.im.note("%s: layer %.100q: %v", r.path, l.name, r.im.reason(err))
				if r.im.spent() {
					return
				}
			}
		}
	})
	return r.tree
}

// Resolve returns where a path in the image leads: without links and .., with slashes, and
// without one at its beginning. The file need not exist.
func (r *Root) Resolve(path string) string {
	at, _ := r.files().resolve(path)
	return at
}

// List returns the names of the files in a directory of the image, sorted.
func (r *Root) List(dir string) []string {
	_, n := r.files().resolve(dir)
	if n == nil {
		return nil
	}
	var names []string
	for name := range n.below {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// Open maps a file of the image. The error wraps fs.ErrNotExist if there is none.
func (r *Root) Open(path string) (*mmapfile.File, error) {
	shown := filepath.Join(r.path, path)
	_, n := r.files().resolve(path)
	switch {
	case n == nil:
		return nil, &fs.PathError{Op: "open", Path: shown, Err: fs.ErrNotExist}
	case n.kind != isFile:
		return nil, fmt.Errorf("%s: %w", shown, mmapfile.ErrNotRegular)
	}
	f, off, err := r.im.unpacked(n)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", shown, err)
	}
	return mmapfile.FromRange(f, shown, off, n.size, n.changed)
}

// unpacked returns a file that has the bytes of a file in the image, and where.
func (im *Image) unpacked(n *node) (*os.File, int64, error) {
	if f, off, ok := n.in.inPlace(); ok {
		return f, off + n.off, nil
	}
	im.mu.Lock()
	defer im.mu.Unlock()
	return im.unpackedLocked(n)
}

// unpackedLocked is unpacked of a file in an archive that is compressed. The caller holds im.mu.
func (im *Image) unpackedLocked(n *node) (*os.File, int64, error) {
	if n.copy == nil {
		im.takeKept(n.content)
	}
	if n.copy == nil && len(n.in.contents) > 0 {
		if err := im.spoolAll(n.in); err != nil {
			return nil, 0, err
		}
	}
	if n.copy != nil {
		n.in.use(n.content)
		return n.copy, n.copyAt, nil
	}
	if im.left.passes--; im.left.passes < 0 {
		return nil, 0, fmt.Errorf("more than %d files of the image had to be unpacked: %w", maxPasses, decompress.ErrTooLarge)
	}
	if n.size > im.left.disk {
		return nil, 0, fmt.Errorf("more than %d bytes of the image had to be unpacked: %w", int64(maxDisk), decompress.ErrTooLarge)
	}
	r, err := n.in.plain(im)
	if err != nil {
		return nil, 0, err
	}
	defer r.Close()
	if _, err := io.CopyN(io.Discard, r, n.off); err != nil {
		return nil, 0, err
	}
	f, size, err := decompress.ToSparse(im.ctx, io.LimitReader(r, n.size), decompress.None, decompress.Options{})
	if err == nil && size != n.size {
		err = decompress.ErrTruncatedStream
	}
	if err != nil {
		if f != nil {
			f.Close()
		}
		return nil, 0, err
	}
	im.left.disk -= n.size
	n.copy = f
	im.owns(f)
	n.in.use(n.content)
	return f, 0, nil
}

// keep copies the next size bytes of r to the spool.
func (im *Image) keep(r io.Reader, size int64) (off int64, err error) {
	const page = 64 << 10
	if im.spool == nil {
		if im.spool, err = os.CreateTemp("", "corewalk-*"); err != nil {
			return 0, err
		}
		os.Remove(im.spool.Name())
		im.owns(im.spool)
	}
	off = im.at
	n, err := io.Copy(io.NewOffsetWriter(im.spool, off), io.LimitReader(r, size))
	if err == nil && n < size {
		err = io.ErrUnexpectedEOF
	}
	im.at = (off + n + page - 1) &^ (page - 1)
	im.left.spool -= im.at - off
	return off, err
}

package rootfs

import (
	"archive/tar"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"strings"
	"time"

	"github.com/corewalk/corewalk/internal/format/decompress"
)

// Kinds of nodes.
const (
	isDir = iota
	isFile
	isLink
	isOther // a device, a pipe, a sparse file
)

// A node is a file or directory of an image.
type node struct {
	kind  uint8
	layer int32            // the last layer that has it
	link  string           // where a symbolic link leads
	below map[string]*node // of a directory
	*content
}

// A content is what a file has. Its names share it.
type content struct {
	in      *part // the layer, and where in its decompressed bytes it is
	off     int64
	size    int64
	changed time.Time

	copy   *os.File // once it was unpacked, and where in it
	copyAt int64
}

// A tree is the index of an image: what its layers come to, one over the other.
type tree struct {
	im    *Image
	root  *node
	layer int32
}

func (t *tree) empty() bool { return t.root == nil || len(t.root.below) == 0 }

// Bounds on the names in an archive, those of Linux, and on links.
const (
	maxName  = 4096
	maxDepth = 256
	maxLinks = 40
	maxSteps = 1024
	maxTexts = 2 * maxName // bytes of the links on the way of one path
)

// Whiteouts, files that say which files of the layers below are gone.
const (
	whiteout = ".wh."
	opaque   = ".wh..wh..opq"
)

// errIndex: the image has too many files.
func errIndex() error {
	return fmt.Errorf("the image has more files than an index of %d MB can hold; those that follow are not known: %w", maxIndex>>20, decompress.ErrTooLarge)
}

// errWork: links and whiteouts of the image lead over too many files.
func errWork() error {
	return fmt.Errorf("the names in the image take too long to follow; what follows is not known: %w", decompress.ErrTooLarge)
}

// An added layer is one that was read, for other images that have it, too.
type added struct {
	part     *part
	list     *index     // nil if it was kept by another run
	contents []*content // of the entries of the list; nil for what is no file
	err      error
}

// over adds a layer over those that there are. It is read once for all images. An error leaves what could be read.
func (t *tree) over(l layer) error {
	was := t.im.read[l]
	if was == nil {
		if t.im.left.layers--; t.im.left.layers < 0 {
			return fmt.Errorf("the images have more than %d layers; those that follow are not known: %w", maxOpened, decompress.ErrTooLarge)
		}
		was = &added{}
		t.im.read[l] = was
		if was.part, was.err = l.in.part(l.name); was.err == nil {
			if was.part.alone {
				t.im.owns(was.part.file)
			}
			was.err = t.add(was.part, was)
		}
		return was.err
	}
	if was.part == nil {
		return was.err
	}
	list := t.im.keptIndex(was.part)
	if list == nil && was.list != nil {
		var err error
		if list, err = parseIndex(was.list.data); err != nil {
			return err
		}
	}
	t.begin()
	return errors.Join(t.replay(was.part, list, was), was.err)
}

// begin begins a layer.
func (t *tree) begin() {
	if t.root == nil {
		t.root = &node{}
	}
	t.layer++
}

// add adds a layer over those that there are, and remembers it in was, unless that is nil. An error leaves what could be read.
func (t *tree) add(p *part, was *added) error {
	t.begin()
	if list := t.im.keptIndex(p); list != nil {
		return t.replay(p, list, was)
	}
	made := &index{}
	if was != nil {
		was.list = made
	}
	err := t.read(p, func(h *tar.Header, off int64, archive io.Reader, here bool) error {
		made.add(h, off)
		added := t.entry(h, p, off)
		was.remember(added)
		if added == nil || here || !worthKeeping(h) || h.Size > t.im.left.spool {
			return nil
		}
		return t.spool(added.content, h, archive)
	})
	if err == nil {
		t.im.keepIndex(p, made)
	}
	return err
}

// remember adds what an entry of the list came to.
func (a *added) remember(n *node) {
	switch {
	case a == nil:
	case n == nil:
		a.contents = append(a.contents, nil)
	default:
		a.contents = append(a.contents, n.content)
	}
}

// read calls f for the entries of an archive. here says that its bytes are on disk as they are.
func (t *tree) read(p *part, f func(h *tar.Header, off int64, archive io.Reader, here bool) error) error {
	r, err := p.plain(t.im)
	if err != nil {
		return err
	}
	defer r.Close()
	_, _, here := p.inPlace()
	var in io.Reader = interrupted{t.im.ctx, r}
	var offset func() int64
	if here {
		s := io.NewSectionReader(p.file, p.off, p.size)
		in, offset = s, func() int64 { n, _ := s.Seek(0, io.SeekCurrent); return n }
	} else {
		c := &counted{r: in, left: &t.im.left.unpacked}
		in, offset = c, func() int64 { return c.n }
	}
	archive := tar.NewReader(in)
	for n := 0; ; n++ {
		if err := t.im.ctx.Err(); err != nil {
			return err
		}
		h, err := archive.Next()
		switch {
		case err == io.EOF:
			return nil
		case errors.Is(err, tar.ErrInsecurePath): // names lead nowhere
		case err != nil:
			return fmt.Errorf("tar archive: after %d entries: %w", n, err)
		}
		if ok, err := t.charge(h); err != nil {
			return err
		} else if !ok {
			continue
		}
		if err := f(h, offset(), archive, here); err != nil {
			return fmt.Errorf("tar archive: %.100q: %w", h.Name, err)
		}
	}
}

// charge takes an entry off the budgets. ok is false for one that is not looked at.
func (t *tree) charge(h *tar.Header) (ok bool, err error) {
	if t.im.left.work < 0 {
		return false, errWork()
	}
	if t.im.left.index -= int64(256 + len(h.Name) + len(h.Linkname)); t.im.left.index < 0 {
		return false, errIndex()
	}
	return len(h.Name) <= maxName && len(h.Linkname) <= maxName && strings.Count(h.Name, "/") <= maxDepth, nil
}

// replay adds a layer of which there is the list. What its files are is shared with other images that have it, as was says; nil for none.
func (t *tree) replay(p *part, list []member, was *added) error {
	first := was == nil || len(was.contents) == 0
	for i := range list {
		h := &list[i].Header
		if i%1024 == 0 && t.im.ctx.Err() != nil {
			return t.im.ctx.Err()
		}
		if ok, err := t.charge(h); err != nil {
			return err
		} else if !ok {
			was.remember(nil)
			continue
		}
		n := t.entry(h, p, list[i].off)
		switch {
		case first:
			was.remember(n)
			if n != nil {
				p.contents = append(p.contents, n.content)
			}
		case n != nil && i < len(was.contents) && was.contents[i] != nil:
			n.content = was.contents[i]
		}
	}
	return nil
}

// worthKeeping reports whether a file may be one that is asked for, so that it is kept when
// its layer is decompressed anyway.
func worthKeeping(h *tar.Header) bool { return h.Size >= 64 && h.Size <= maxSpooled }

// maxDocument is how long a document about an image is that is kept on the way, in bytes.
const maxDocument = 256 << 10

// spool keeps a program or library, what says where libraries are, and documents about images.
func (t *tree) spool(n *content, h *tar.Header, r io.Reader) error {
	head := make([]byte, 4)
	if _, err := io.ReadFull(r, head); err != nil {
		return err
	}
	document := (head[0] == '{' || head[0] == '[') && h.Size <= maxDocument && strings.Count(h.Name, "/") <= 2
	if string(head) != "\x7fELF" && !strings.Contains(h.Name, "etc/ld.so.conf") && !document {
		return nil
	}
	off, err := t.im.keep(io.MultiReader(strings.NewReader(string(head)), r), n.size)
	if err != nil {
		return err
	}
	n.copy, n.copyAt = t.im.spool, off
	return nil
}

// entry adds what an entry of the archive says, and returns the node if it is a file.
func (t *tree) entry(h *tar.Header, p *part, off int64) *node {
	name := path.Clean("/" + h.Name)
	dir, base := path.Split(name)
	if base == "" {
		return nil // the root
	}
	if strings.HasPrefix(base, whiteout) {
		if parent := t.directory(dir, false); parent != nil {
			if base == opaque {
				t.prune(parent)
			} else if base != whiteout {
				t.remove(parent, strings.TrimPrefix(base, whiteout))
			}
		}
		return nil
	}
	parent := t.directory(dir, true)
	if parent == nil {
		return nil
	}
	if h.Typeflag == tar.TypeDir {
		if n := parent.below[base]; n != nil && n.kind == isDir {
			n.layer = t.layer
			return nil
		}
	}
	n := &node{layer: t.layer, kind: isOther}
	switch h.Typeflag {
	case tar.TypeReg:
		if !sparse(h) {
			*n = node{kind: isFile, layer: t.layer, content: &content{in: p, off: off, size: h.Size, changed: h.ModTime}}
		}
	case tar.TypeSymlink:
		n.kind, n.link = isLink, h.Linkname
	case tar.TypeDir:
		n.kind = isDir
	case tar.TypeLink:
		_, to, work := t.walk(h.Linkname)
		if t.im.left.work -= int64(work); to != nil && to.kind == isFile {
			same := *to
			same.layer = t.layer
			n = &same
		}
	}
	parent.put(base, n)
	if n.kind == isFile && h.Typeflag == tar.TypeReg {
		return n
	}
	return nil
}

// sparse reports whether a file's holes are left out in the archive.
func sparse(h *tar.Header) bool {
	for k := range h.PAXRecords {
		if strings.HasPrefix(k, "GNU.sparse.") {
			return true
		}
	}
	return h.Typeflag == tar.TypeGNUSparse
}

func (n *node) put(name string, child *node) {
	if n.below == nil {
		n.below = map[string]*node{}
	}
	n.below[name] = child
}

// directory returns the directory at a path, through links. If missing is set it is made, in
// place of what is no directory.
func (t *tree) directory(dir string, missing bool) *node {
	at, n, work := t.walk(dir)
	if t.im.left.work -= int64(work); t.im.left.work < 0 {
		return nil
	}
	if n != nil && n.kind == isDir {
		n.layer = t.layer
		return n
	}
	if !missing || at == "" { // a circle of links
		return nil
	}
	n = t.root
	for _, c := range split(at) {
		child := n.below[c]
		if child == nil || child.kind != isDir {
			if t.im.left.index -= int64(256 + len(c)); t.im.left.index < 0 {
				return nil
			}
			child = &node{}
			n.put(c, child)
		}
		child.layer = t.layer
		n = child
	}
	return n
}

// remove removes what lower layers have of a name.
func (t *tree) remove(parent *node, name string) {
	n := parent.below[name]
	if n == nil {
		return
	}
	if n.layer == t.layer {
		t.prune(n)
		return
	}
	delete(parent.below, name)
}

// prune removes what lower layers have below a directory.
func (t *tree) prune(n *node) {
	for name, child := range n.below {
		if t.im.left.work--; t.im.left.work < 0 {
			return
		}
		if child.kind == isDir && child.layer == t.layer {
			t.prune(child)
		} else if child.layer != t.layer {
			delete(n.below, name)
		}
	}
}

// resolve returns where a path leads, and what is there: nil for nothing. The path is "" if it
// leads in a circle.
func (t *tree) resolve(p string) (string, *node) {
	at, n, _ := t.walk(p)
	return at, n
}

// linkCost is how many bytes of a link cost as much as a step: they may be dots.
const linkCost = 2

// walk is resolve, and says how much work it was.
func (t *tree) walk(p string) (at string, to *node, work int) {
	todo := split(p)
	var names []string
	nodes := []*node{t.root}
	for links, steps, texts := 0, 0, 0; len(todo) > 0; steps++ {
		c := todo[0]
		todo = todo[1:]
		work++
		if steps == maxSteps {
			return "", nil, work
		}
		if c == ".." {
			if len(names) > 0 {
				names, nodes = names[:len(names)-1], nodes[:len(nodes)-1]
			}
			continue
		}
		var next *node
		if last := nodes[len(nodes)-1]; last != nil {
			next = last.below[c]
		}
		if next == nil || next.kind != isLink {
			names, nodes = append(names, c), append(nodes, next)
			continue
		}
		links++
		texts += len(next.link)
		if work += len(next.link) / linkCost; links > maxLinks || texts > maxTexts {
			return "", nil, work
		}
		if strings.HasPrefix(next.link, "/") {
			names, nodes = nil, nodes[:1]
		}
		todo = append(split(next.link), todo...)
	}
	return strings.Join(names, "/"), nodes[len(nodes)-1], work
}

// split returns the components of a path.
func split(p string) []string {
	var list []string
	for c := range strings.SplitSeq(p, "/") {
		if c != "" && c != "." {
			list = append(list, c)
		}
	}
	return list
}

// counted counts the bytes that were read, and ends when there is no more left of a budget.
type counted struct {
	r    io.Reader
	n    int64
	left *int64
}

func (c *counted) Read(b []byte) (int, error) {
	if *c.left < 0 {
		return 0, fmt.Errorf("decompressed to more than %d bytes: give the unpacked root directory: %w", int64(maxUnpacked), decompress.ErrTooLarge)
	}
	n, err := c.r.Read(b)
	c.n += int64(n)
	*c.left -= int64(n)
	return n, err
}

// part implements container for an archive.
func (t *tree) part(name string) (*part, error) {
	_, n := t.resolve(name)
	if n == nil || n.kind != isFile {
		return nil, fmt.Errorf("%.100q is not in the archive: %w", name, os.ErrNotExist)
	}
	if _, _, here := n.in.inPlace(); !here && (n.size <= maxDocument || n.copy != nil) {
		if f, off, err := t.im.unpackedLocked(n); err == nil { // a document, which the next run wants, too
			s := &part{file: f, off: off, size: n.size, of: n.content}
			return s, s.sniff(t.im)
		}
	}
	return n.in.sub(t.im, n.off, n.size)
}

// isContainer reports whether the archive is one of layers, and no root directory.
func (t *tree) isContainer() bool {
	for _, name := range []string{"usr", "lib", "bin", "etc"} {
		if t.root.below[name] != nil {
			return false
		}
	}
	for _, name := range []string{"index.json", "manifest.json"} {
		if n := t.root.below[name]; n != nil && n.kind == isFile {
			if name == "manifest.json" {
				return true
			}
			if n := t.root.below["blobs"]; n != nil && n.kind == isDir {
				return true
			}
		}
	}
	return false
}

package rootfs

import (
	"archive/tar"
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"time"

	"github.com/corewalk/corewalk/internal/files/kept"
	"github.com/corewalk/corewalk/internal/files/mmapfile"
)

// To know what is in an archive that is compressed, all of it has to be decompressed. So the index of one is kept on
// disk from one run to the next, with the files that the run used. A run that wants others decompresses the archive
// again, once for all of them.

const (
	indexVersion = 1
	maxKept      = 128 << 20 // bytes of the files of one archive that are kept
	maxKeptFiles = 200
)

// imageID stands for the build-id that archives do not have.
var imageID = []byte("rootfs")

var indexKey = kept.Key{Kind: kept.KindIndex | indexVersion}

func fileKey(c *content) kept.Key {
	return kept.Key{Kind: kept.KindSection, Offset: uint64(c.off), Length: uint64(c.size)}
}

// A member is what the index needs of an entry in an archive.
type member struct {
	tar.Header
	off int64
}

// An index is a list of members as it is kept.
type index struct{ data []byte }

func (x *index) add(h *tar.Header, off int64) {
	kind := h.Typeflag
	if sparse(h) {
		kind = tar.TypeGNUSparse
	}
	x.data = append(x.data, kind)
	for _, v := range []int64{off, h.Size, h.ModTime.UnixNano()} {
		x.data = binary.AppendVarint(x.data, v)
	}
	for _, s := range []string{h.Name, h.Linkname} {
		x.data = binary.AppendUvarint(x.data, uint64(len(s)))
		x.data = append(x.data, s...)
	}
}

var errKept = errors.New("the index that was kept is damaged")

// parseIndex reads an index. Its checksums were right, so it is what a run of this program wrote.
func parseIndex(b []byte) ([]member, error) {
	list := make([]member, 0, len(b)/64)
	r := bytes.NewReader(b)
	for r.Len() > 0 {
		var e member
		var err error
		number := func() int64 {
			v, verr := binary.ReadVarint(r)
			err = errors.Join(err, verr)
			return v
		}
		text := func() string {
			n, verr := binary.ReadUvarint(r)
			if err = errors.Join(err, verr); err != nil || n > uint64(r.Len()) {
				err = errKept
				return ""
			}
			b := make([]byte, n)
			_, _ = io.ReadFull(r, b)
			return string(b)
		}
		e.Typeflag, _ = r.ReadByte()
		e.off, e.Size = number(), number()
		e.ModTime = time.Unix(0, number())
		e.Name, e.Linkname = text(), text()
		if err != nil || e.off < 0 || e.Size < 0 {
			return nil, errKept
		}
		list = append(list, e)
	}
	return list, nil
}

// keptOf opens what was kept of an archive; nil if nothing ever is.
func (im *Image) keptOf(p *part) *kept.Entry {
	if _, _, here := p.inPlace(); here || im.room == nil {
		return nil
	}
	if p.kept == nil {
		base, use := p, ""
		for ; base.of != nil; base = base.of.in {
			use = fmt.Sprintf("%d+%d %s", base.of.off, base.of.size, use)
		}
		path := base.file.Name()
		id, err := mmapfile.Stat(path)
		if st, ferr := base.file.Stat(); err != nil || ferr != nil || st.Size() != id.Size || st.ModTime().UnixNano() != id.MtimeNs {
			return nil
		}
		p.kept = im.room.Entry(kept.Source{File: id, Path: path, BuildID: imageID, Use: fmt.Sprintf("%d+%d %s", base.off, base.size, use)})
		im.parts = append(im.parts, p)
	}
	return p.kept
}

// keptIndex returns the index of an archive; nil if none was kept. The caller holds im.mu.
func (im *Image) keptIndex(p *part) (list []member) {
	e := im.keptOf(p)
	if e == nil {
		return nil
	}
	_ = mmapfile.Guard(func() {
		if b := e.Whole(indexKey); b != nil {
			list, _ = parseIndex(b)
		}
	})
	return list
}

// keepIndex has an index kept.
func (im *Image) keepIndex(p *part, made *index) {
	if im.keptOf(p) != nil {
		p.index = made
	}
}

// keptFile returns what was kept of a file, or nil.
func (im *Image) keptFile(c *content) (b []byte) {
	e := im.keptOf(c.in)
	if e == nil {
		return nil
	}
	_ = mmapfile.Guard(func() { b = slices.Clone(e.Whole(fileKey(c))) })
	if int64(len(b)) != c.size {
		return nil
	}
	return b
}

// takeKept copies a file that was kept to the spool.
func (im *Image) takeKept(c *content) {
	if c.size > im.left.spool || c.size > maxSpooled {
		return
	}
	b := im.keptFile(c)
	if b == nil || c.size == 0 {
		return
	}
	if off, err := im.keep(bytes.NewReader(b), c.size); err == nil {
		c.copy, c.copyAt = im.spool, off
	}
}

// spoolAll decompresses an archive of which the index was kept, and keeps its programs and libraries on the way.
func (im *Image) spoolAll(p *part) error {
	at := make(map[int64]*content, len(p.contents))
	for _, c := range p.contents {
		at[c.off] = c
	}
	p.contents = nil
	t := &tree{im: im}
	return t.read(p, func(h *tar.Header, off int64, archive io.Reader, _ bool) error {
		c := at[off]
		if c == nil || c.copy != nil || c.size != h.Size || !worthKeeping(h) || h.Size > im.left.spool {
			return nil
		}
		return t.spool(c, h, archive)
	})
}

// use has a file kept that was unpacked.
func (p *part) use(c *content) {
	if len(p.used) < maxKeptFiles && !slices.Contains(p.used, c) {
		p.used = append(p.used, c)
	}
}

// Keep writes what the next run wants to know of the image. It is the last that is done with it, and fails silently: then
// nothing is kept. Nothing more is written once ctx is done.
func (im *Image) Keep(ctx context.Context) {
	for _, p := range im.leaving() {
		_ = p.keep(ctx)
		_ = p.entry.Close()
	}
}

// A leaving is what is to be kept of a part.
type leaving struct {
	entry *kept.Entry
	parts []kept.NewPart
	files []spooled
}

// A spooled file is one that was unpacked to a file of this process.
type spooled struct {
	key kept.Key
	in  *os.File
	at  int64
	len int64
}

// leaving lists what is to be kept, and has nothing more kept. Others may use the image meanwhile: what takes long is done later.
func (im *Image) leaving() (list []leaving) {
	im.mu.Lock()
	defer im.mu.Unlock()
	for _, p := range im.parts {
		list = append(list, p.leaving())
		p.kept = nil
	}
	im.parts, im.room = nil, nil
	return list
}

func (p *part) leaving() leaving {
	l := leaving{entry: p.kept}
	if !l.entry.Keeps() {
		return l
	}
	if p.index != nil {
		l.parts = append(l.parts, kept.NewPart{Key: indexKey, Size: uint64(len(p.index.data)), Data: p.index.data})
	}
	left := int64(maxKept)
	for _, c := range p.used {
		if left -= c.size; left >= 0 && c.size <= maxSpooled && c.copy != nil && l.entry.WholePart(fileKey(c)) == nil {
			l.files = append(l.files, spooled{fileKey(c), c.copy, c.copyAt, c.size})
		}
	}
	return l
}

// keep writes what is new.
func (l *leaving) keep(ctx context.Context) error {
	for _, f := range l.files {
		b := make([]byte, f.len)
		if _, err := f.in.ReadAt(b, f.at); err != nil {
			return err
		}
		l.parts = append(l.parts, kept.NewPart{Key: f.key, Size: uint64(f.len), Data: b})
	}
	if len(l.parts) == 0 {
		return nil
	}
	return l.entry.Keep(ctx, l.parts)
}

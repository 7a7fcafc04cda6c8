package kept

import (
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/corewalk/corewalk/internal/files/mmapfile"
)

// ErrReadOnly: the Room's limit is 0.
var ErrReadOnly = errors.New("nothing is kept")

// errStuck: the disk did not take an earlier entry in time, or others' writers left many files.
var errStuck = errors.New("the disk does not take what is to be kept")

// errUnsettled: the file changed while it was read, or may have without trace.
var errUnsettled = errors.New("the file has changed just now")

// Keep writes an entry with parts, and those that were kept before and are not among them, or
// longer. It must be called before Close. The file that the parts were made of must not have
// changed since it was opened. Once ctx is done nothing more is written, and what was is removed; but a write that
// the disk does not end is waited for, so the caller may want to wait elsewhere.
func (e *Entry) Keep(ctx context.Context, parts []NewPart) error {
	r := e.room
	if r.limit <= 0 {
		return ErrReadOnly
	}
	if !e.source.usable() {
		return fmt.Errorf("%s: no build-id, or no number of the file: %w", e.source.Path, fs.ErrInvalid)
	}
	if r.stuck.Load() > 0 {
		return errStuck
	}
	ended := r.watch(ctx)
	defer ended()
	if err := e.unchanged(); err != nil {
		return err
	}
	var err error
	fault := mmapfile.Guard(func() { err = e.keep(ctx, parts) })
	return cmp.Or(fault, err)
}

// watch counts a writer as stuck from the end of ctx until ended is called.
func (r *Room) watch(ctx context.Context) (ended func()) {
	late := context.AfterFunc(ctx, func() { r.stuck.Add(1) })
	return func() {
		if !late() {
			r.stuck.Add(-1)
		}
	}
}

// Replace is Keep, but what was kept before is lost.
func (e *Entry) Replace(ctx context.Context, parts []NewPart) error {
	return (&Entry{room: e.room, source: e.source, opened: e.opened}).Keep(ctx, parts)
}

// unchanged checks that the source is still as it was when it was opened, and that its times
// would show a change.
func (e *Entry) unchanged() error {
	id, err := mmapfile.Stat(e.source.Path)
	if err != nil {
		return err
	}
	last := time.Unix(0, max(id.MtimeNs, id.CtimeNs))
	if id != e.source.File || e.opened.Sub(last) < e.room.settled {
		return fmt.Errorf("%s: %w", e.source.Path, errUnsettled)
	}
	return nil
}

// keep writes the entry. It reads what was kept before, so it may fault.
func (e *Entry) keep(ctx context.Context, parts []NewPart) error {
	parts = e.merged(parts)
	if len(parts) > maxParts {
		return fmt.Errorf("%s: %d parts, at most %d are kept", e.source.Path, len(parts), maxParts)
	}
	head, at := e.layout(parts)
	size, room := int64(len(head)), int64(len(head))
	for i := range parts {
		size = int64(at[i] + parts[i].Size)
		room += int64(len(parts[i].Data))
	}
	r := e.room
	if room > r.limit/2 {
		return fmt.Errorf("%s: %d bytes are too many to keep in %d", e.source.Path, room, r.limit)
	}
	if err := makeDirs(filepath.Join(r.dir, e.source.wing()), makeMost); err != nil {
		return err
	}
	d, err := r.change(e.source.wing())
	if err != nil {
		return err
	}
	defer d.Close()
	if err := r.makeRoom(room, e.source.name()); err != nil {
		return err
	}
	return d.write(e.source.name(), func(f *os.File) error {
		if err := r.writePieces(ctx, f, head, 0); err != nil {
			return err
		}
		for i := range parts {
			if err := r.writePieces(ctx, f, parts[i].Data, int64(at[i])); err != nil {
				return err
			}
		}
		if err := f.Truncate(size); err != nil {
			return err
		}
		return ctx.Err() // others may have removed the file as one that nobody writes any more
	})
}

// pieceSize is how much is written at once, in bytes. What is, the kernel holds together, and maps together where a
// page of it is read: with megabytes at once, a report that reads some pages has megabytes more in its memory.
const pieceSize = 64 << 10

func (r *Room) writePieces(ctx context.Context, f *os.File, data []byte, at int64) error {
	for len(data) > 0 {
		err := ctx.Err()
		if err == nil && r.Writing != nil {
			err = r.Writing()
		}
		if err != nil {
			return err
		}
		n := min(int64(len(data)), pieceSize-at%pieceSize)
		if _, err := f.WriteAt(data[:n], at); err != nil {
			return err
		}
		data, at = data[n:], at+n
	}
	return nil
}

// merged adds to parts what the entry already has of others, or more of.
func (e *Entry) merged(parts []NewPart) []NewPart {
	parts = slices.Clone(parts)
	for i := range parts {
		if p := &parts[i]; uint64(len(p.Data)) < p.Size { // only whole blocks count
			p.Data = p.Data[:len(p.Data)/blockSize*blockSize]
		}
	}
	for _, p := range e.parts {
		// The size of an index is not known to who looks for it, so there is one of each key.
		i := slices.IndexFunc(parts, func(n NewPart) bool {
			return n.Key == p.Key && (n.Size == uint64(len(p.data)) || n.Key.Kind >= KindIndex)
		})
		switch {
		case i < 0:
			parts = append(parts, NewPart{Key: p.Key, Size: uint64(len(p.data)), Data: p.prefix()})
		case uint64(len(parts[i].Data)) < p.have && p.Key.Kind < KindIndex:
			if before := p.prefix(); len(before) > len(parts[i].Data) {
				parts[i].Data = before
			}
		}
	}
	parts = slices.DeleteFunc(parts, func(p NewPart) bool { return len(p.Data) == 0 })
	slices.SortFunc(parts, func(a, b NewPart) int { return a.Key.compare(b.Key) })
	return parts
}

// layout returns the header, and where each part begins.
func (e *Entry) layout(parts []NewPart) (head []byte, at []uint64) {
	s := &e.source
	path := s.Path[:min(len(s.Path), maxPath)]
	h := append([]byte(magic), make([]byte, 8)...)
	le := binary.LittleEndian
	for _, v := range []uint64{s.File.Dev, s.File.Ino, uint64(s.File.Size), uint64(s.File.MtimeNs), uint64(s.File.CtimeNs)} {
		h = le.AppendUint64(h, v)
	}
	h = append(append(h, byte(len(s.BuildID))), s.BuildID...)
	h = append(le.AppendUint16(h, uint16(len(path))), path...)
	h = le.AppendUint32(h, uint32(len(parts)))
	const partSize = 52
	length := uint64(len(h))
	for i := range parts {
		length += partSize + 4*blocks(uint64(len(parts[i].Data)))
	}
	next := RoundUp(length)
	for i := range parts {
		p := &parts[i]
		h = le.AppendUint32(le.AppendUint32(h, p.Key.Kind), p.Key.Section)
		h = le.AppendUint64(le.AppendUint64(h, p.Key.Offset), p.Key.Length)
		h = le.AppendUint32(h, p.Key.Ends)
		h = le.AppendUint64(le.AppendUint64(h, p.Size), uint64(len(p.Data)))
		h = le.AppendUint64(h, next)
		for block := range slices.Chunk(p.Data, blockSize) {
			h = le.AppendUint32(h, Checksum(block))
		}
		at = append(at, next)
		next = RoundUp(next + p.Size)
	}
	le.PutUint32(h[len(magic):], uint32(len(h)))
	le.PutUint32(h[len(magic)+4:], Checksum(h[headerTop:]))
	return h, at
}

// write makes the file name of what fill writes, all at once.
func (d dir) write(name string, fill func(*os.File) error) error {
	temp := fmt.Sprintf("%s%d-%d", tempPrefix, os.Getpid(), time.Now().UnixNano())
	f, err := d.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_EXCL|careful, 0o600)
	if err != nil {
		return err
	}
	err = fill(f)
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	if err == nil {
		err = d.Rename(temp, name)
	}
	if err != nil {
		d.Remove(temp)
	}
	return err
}

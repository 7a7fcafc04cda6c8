package modules

import (
	"encoding/binary"
	"sync"

	"github.com/corewalk/corewalk/internal/files/image"
	"github.com/corewalk/corewalk/internal/format/slimnote"
	"github.com/corewalk/corewalk/libstate"
)

// WithSaid gives the note of a slim core that says what the files of its modules said when the core was made: symbols, and
// unwind rules of the addresses on its stacks. It is used in place of files that are missing now. order is the core's byte
// order, and wordSize the size of its process's words, in bytes. A note that cannot be read is not used, nor is one of a
// big-endian core.
func WithSaid(note []byte, order binary.ByteOrder, wordSize int) Option {
	return func(c *config) {
		if list, err := slimnote.ParseKept(note, false); err == nil && order == binary.ByteOrder(binary.LittleEndian) {
			c.said = &said{list: list, wordSize: wordSize, images: map[uint64]*image.Image{}}
		}
	}
}

// said is what a dump says of files.
type said struct {
	list     []slimnote.Kept
	wordSize int

	mu     sync.Mutex              // guards images; no other lock is taken inside
	images map[uint64]*image.Image // by where the modules begin
}

// of returns the image of a library, nil if the dump says nothing of it.
func (s *said) of(lib *libstate.Library) *Image {
	if s == nil || isPE(lib) {
		return nil
	}
	s.mu.Lock()
	im, ok := s.images[lib.Start]
	s.mu.Unlock()
	if !ok {
		for i := range s.list {
			if k := &s.list[i]; k.Start == lib.Start {
				im = image.FromKept(k, lib.LoadBias, s.wordSize)
				break
			}
		}
		im = s.add(lib.Start, im)
	}
	return (*Image)(im)
}

// add keeps the image of the module that begins at start, and returns it, or the one that another goroutine made before.
func (s *said) add(start uint64, im *image.Image) *image.Image {
	s.mu.Lock()
	defer s.mu.Unlock()
	if first, ok := s.images[start]; ok {
		return first
	}
	s.images[start] = im
	return im
}

package values

import (
	"github.com/corewalk/corewalk/internal/vars/types"
	"github.com/corewalk/corewalk/unwind/arch"
)

// A note is what a printer knows of a container or a string beside what it shows.
type note struct {
	count, room      uint64 // elements, or characters
	counted, hasRoom bool
	raw              []byte // the characters of a string, up to the largest number to show
	text, cut        bool   // it is a string; cut: that goes on after raw
	size             uint64 // bytes of a character
	at               arch.Address
	elem             *types.Type // the type of characters; nil for UTF-8
	located          bool        // at is where the characters are
}

// noteOf returns the note of a value, or one that nobody sees.
func (b *builder) noteOf(v *Value) *note {
	if b.objects == nil || v == nil {
		return new(note)
	}
	n := b.notes[v]
	if n == nil {
		if b.notes == nil {
			b.notes = map[*Value]*note{}
		}
		n = new(note)
		b.notes[v] = n
	}
	return n
}

// counted notes how many elements a container has.
func (b *builder) counted(v *Value, n uint64) *Value {
	if b.objects != nil && v != nil {
		at := b.noteOf(v)
		at.count, at.counted = n, true
	}
	return v
}

// roomy notes how many elements a container has, and for how many it has room.
func (b *builder) roomy(v *Value, n, room uint64) *Value {
	if b.objects != nil && v != nil {
		at := b.noteOf(v)
		at.count, at.room, at.counted, at.hasRoom = n, room, true, true
	}
	return v
}

// spelled notes the characters of a string.
func (b *builder) spelled(v *Value, elem *types.Type, raw []byte, cut bool) *Value {
	if b.objects != nil && v != nil {
		at := b.noteOf(v)
		at.raw, at.text, at.cut, at.elem, at.size = raw, true, cut, elem, 1
		if elem != nil {
			at.size = max(elem.Strip().ByteSize, 1)
		}
		if !cut && !at.counted {
			at.count, at.counted = uint64(len(raw))/at.size, true
		}
	}
	return v
}

// placed notes where the n characters of a string are.
func (b *builder) placed(v *Value, at arch.Address, n uint64) *Value {
	if b.objects != nil && v != nil && v.Err == nil {
		to := b.noteOf(v)
		to.at, to.located, to.count, to.counted = at, true, n, true
	}
	return v
}

package image

import "github.com/corewalk/corewalk/internal/files/find"

// OpenAlone opens the ELF or PE file at path in a cache of its own, which Close
// closes.
func OpenAlone(path string, finder *find.Finder) (*Image, error) {
	im, err := NewCache(finder).Open(path)
	if err != nil {
		return nil, err
	}
	im.alone = true
	return im, nil
}

// New makes an image of the contents of an ELF or PE file.
func New(data []byte) (*Image, error) {
	im := &Image{}
	if err := im.parse(data); err != nil {
		return nil, err
	}
	return im, nil
}

// Close closes the files of an image that was opened alone; others are their cache's.
func (im *Image) Close() error {
	if !im.alone {
		return nil
	}
	return im.cache.Close()
}

package modules

import "github.com/corewalk/corewalk/libstate"

// A Source finds the files of a process's libraries. A Set does; so may a program
// that knows better where its modules are, with OpenImage and NewImage. It must allow
// concurrent use.
type Source interface {
	// Image is the file of a library, nil for none. It may take as long as a
	// download does.
	Image(lib *libstate.Library) *Image
}

// A LocalSource is a Source that also answers at once. Who looks through all
// libraries, and not only through those of a stack, asks LocalImage where there is one.
type LocalSource interface {
	Source
	// LocalImage is Image without what would have to be fetched.
	LocalImage(lib *libstate.Library) *Image
}

var _ LocalSource = (*Set)(nil)

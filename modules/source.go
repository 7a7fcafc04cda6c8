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

// LocalImage is the file of a library that need not be fetched: LocalImage of a LocalSource,
// and Image of others.
func LocalImage(files Source, lib *libstate.Library) *Image {
	if l, ok := files.(LocalSource); ok {
		return l.LocalImage(lib)
	}
	return files.Image(lib)
}

// A MatchedSource is a Source that may also answer with files of another build than the
// process had. Who takes bytes from a file for those of the process asks MatchedImage
// where there is one.
type MatchedSource interface {
	Source
	// MatchedImage is the binary of a library, nil for none, and for one of another
	// build. It may fetch the binary, not its debug file.
	MatchedImage(lib *libstate.Library) *Image
}

// MatchedImage is the file of a library that its process had: MatchedImage of a
// MatchedSource, and Image of others.
func MatchedImage(files Source, lib *libstate.Library) *Image {
	if m, ok := files.(MatchedSource); ok {
		return m.MatchedImage(lib)
	}
	return files.Image(lib)
}

var (
	_ LocalSource   = (*Set)(nil)
	_ MatchedSource = (*Set)(nil)
)

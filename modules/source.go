package modules

import "github.com/corewalk/corewalk/libstate"

// A Source finds the files of a process's libraries. A Set is one; a program that knows
// better where its modules are can implement its own with OpenImage and NewImage. It
// must allow concurrent use.
type Source interface {
	// Image returns the file of a library, or nil. It may take as long as a download.
	Image(lib *libstate.Library) *Image
}

// A LocalSource is a Source that can also answer without fetching. Code that goes
// through all libraries, not only those of a stack, uses LocalImage if there is one.
type LocalSource interface {
	Source
	// LocalImage is like Image, but fetches nothing.
	LocalImage(lib *libstate.Library) *Image
}

// A SaidSource is a Source that knows what a dump itself says of files (WithSaid).
type SaidSource interface {
	Source
	// SaidImage returns what the dump says of a library's file: some symbols, and unwind rules of the addresses on stacks; nil
	// if it says nothing. Image returns it only if neither the file nor its debug file was found; ask for it to get unwind
	// rules where Image is a debug file, which has none.
	SaidImage(lib *libstate.Library) *Image
}

// LocalImage returns the file of a library without fetching, if files is a LocalSource;
// otherwise it calls Image.
func LocalImage(files Source, lib *libstate.Library) *Image {
	if l, ok := files.(LocalSource); ok {
		return l.LocalImage(lib)
	}
	return files.Image(lib)
}

// A MatchedSource is a Source whose Image may return a file from a different build.
// Code that uses bytes of a file as the process's memory uses MatchedImage if there is
// one.
type MatchedSource interface {
	Source
	// MatchedImage returns the binary of a library; nil if there is none, or only one
	// from a different build. It may fetch the binary, but not its debug file.
	MatchedImage(lib *libstate.Library) *Image
}

// MatchedImage returns the file that the process had: MatchedImage if files is a
// MatchedSource, otherwise Image.
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

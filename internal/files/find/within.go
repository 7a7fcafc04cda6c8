package find

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// maxLinks is how many symbolic links a path may lead through, as in Linux.
const maxLinks = 40

// maxResolved limits the components of a path and of the links on its way.
const maxResolved = 1024

// within returns the path of a file below the directory root, which stands for another
// machine's root directory: absolute symbolic links and .. lead nowhere outside of root, as
// they led nowhere outside of that machine's. The file need not exist. If the system itself
// would find the same file, the path is root and path joined. After too many links it is root
// itself, which is no file.
//
// Whoever changes the directories meanwhile can lead outside.
func within(root, path string) string {
	todo := components(path)
	plain := !slices.Contains(todo, "..")
	joined := filepath.Join(append([]string{root}, todo...)...)
	var at []string
	for links, n := 0, 0; len(todo) > 0; n++ {
		c := todo[0]
		todo = todo[1:]
		if n == maxResolved {
			return root
		}
		if c == ".." {
			plain = plain && len(at) > 0
			at = at[:max(len(at)-1, 0)]
			continue
		}
		at = append(at, c)
		here := filepath.Join(append([]string{root}, at...)...)
		target, err := os.Readlink(here)
		if errors.Is(err, fs.ErrNotExist) && !slices.Contains(todo, "..") {
			at = append(at, todo...)
			break
		}
		if err != nil {
			continue // not a link
		}
		if links++; links > maxLinks {
			return root
		}
		if at = at[:len(at)-1]; filepath.IsAbs(target) {
			plain, at = false, nil
		}
		todo = append(components(target), todo...)
	}
	if plain {
		return joined
	}
	return filepath.Join(append([]string{root}, at...)...)
}

// components splits a path of this machine or of Unix.
func components(path string) []string {
	path = filepath.ToSlash(path[len(filepath.VolumeName(path)):])
	return slices.DeleteFunc(strings.Split(path, "/"), func(c string) bool { return c == "" || c == "." })
}

package symlookup

import (
	"cmp"
	"strings"

	"github.com/corewalk/corewalk/demangle"
	"github.com/corewalk/corewalk/internal/files/image"
	"github.com/corewalk/corewalk/unwind"
)

// Nim's compiler writes C, whose compiler does not know that a name is one of Nim. Its units and the function that starts its modules
// tell.

// nimName gives a function of Nim the name that its source has.
func nimName(c *unwind.Call) {
	if name := demangle.Nim(c.Name); name != c.Name {
		c.Name, c.LinkageName = name, cmp.Or(c.LinkageName, c.Name)
	}
}

// nimSymbol is nimName of a function of which there is the symbol only.
func nimSymbol(c *unwind.Call, im *image.Image) {
	if !strings.Contains(c.Name, "__") || demangle.Nim(c.Name) == c.Name {
		return
	}
	if _, ok := im.SymbolByName("NimMain"); ok {
		nimName(c)
	}
}

package ruby

import "github.com/corewalk/corewalk/internal/runtimes/remote"

// names reads what Ruby calls things.
type names struct {
	memory
	symbols uint64 // the table of all names
	shapes  uint64 // of objects: the tree of them, in versions that have it
	ids     remote.Kept[string]
	classes remote.Kept[class]
}

// A class is what is read of one.
type class struct {
	name      string // "" without one
	singleton bool   // name is that of what it is the singleton class of
	known     bool   // it is a class or a module
}

// unitIDs is how many names a list of the table has, each with a String and a Symbol.
const unitIDs = 512

// idName is the name that an ID stands for; "" if there is none.
func (n *names) idName(id uint64) string {
	if id == 0 || n.symbols == 0 {
		return ""
	}
	if id > n.at("id.last") {
		id >>= n.at("id.shift")
	}
	return n.ids.Get(id, func() string {
		last, _ := n.U32(n.symbols + n.at("symbols.last"))
		if id > uint64(last) {
			return ""
		}
		return n.name(n.element(n.element(n.Word(n.symbols+n.at("symbols.ids")), id/unitIDs), id%unitIDs*2))
	})
}

// classAt reads a class.
func (n *names) classAt(at uint64) class {
	return n.classes.Get(at, func() class { return n.readClass(at, true) })
}

func (n *names) readClass(at uint64, deeper bool) class {
	f := n.flags(at)
	switch f & typeMask {
	case typeIncluded: // stands for a module among the ancestors of a class
		return n.readClass(n.Word(at+8), false)
	case typeClass, typeModule:
	default:
		return class{}
	}
	if f&typeMask == typeClass && f&n.at("class.singleton") != 0 {
		c := class{singleton: true, known: true}
		if of := n.attached(at); deeper {
			if t := n.flags(of) & typeMask; t == typeClass || t == typeModule {
				if inner := n.readClass(of, false); !inner.singleton {
					c.name = inner.name
				}
			}
		}
		return c
	}
	return class{name: n.classPath(at), known: true}
}

// classVariable looks for a variable of a class by its name, in versions that have what they know of a class among them.
func (n *names) classVariable(at uint64, names ...string) uint64 {
	var found uint64
	all := n.shaped
	if n.has("class.ext") {
		all = func(at uint64, do func(key, value uint64) bool) bool {
			return n.table(n.field(n.field(at, "class.ext"), "ext.variables"), do)
		}
	}
	all(at, func(key, value uint64) bool {
		name := n.idName(key)
		for _, want := range names {
			if name == want {
				found = value
			}
		}
		return found == 0
	})
	return found
}

// classPath is the name of a class or a module; "" without one.
func (n *names) classPath(at uint64) string {
	if n.has("ext.path") {
		return n.name(n.field(at+n.at("class.inside"), "ext.path"))
	}
	return n.name(n.classVariable(at, "__classpath__", "__tmp_classpath__"))
}

// attached is the object of which a class is the singleton class.
func (n *names) attached(at uint64) uint64 {
	if n.has("ext.attached") {
		return n.field(at+n.at("class.inside"), "ext.attached")
	}
	return n.classVariable(at, "__attached__")
}

// maxAncestors limits how many classes a class descends from.
const maxAncestors = 256

// classOf is the name of the class of an object: the first that is its own neither because it is a singleton class nor a module.
func (n *names) classOf(at uint64) string {
	c := n.Word(at + 8)
	for range maxAncestors {
		k := n.classAt(c)
		if n.is(c, typeClass) && !k.singleton {
			return k.name
		}
		if !n.is(c, typeClass) && !n.is(c, typeIncluded) {
			break
		}
		c = n.field(c, "class.super")
	}
	return ""
}

// descends reports whether an object is of a class with a name, or of one that descends from it.
func (n *names) descends(at uint64, name string) bool {
	c := n.Word(at + 8)
	for range maxAncestors {
		if !n.is(c, typeClass) && !n.is(c, typeIncluded) {
			return false
		}
		if k := n.classAt(c); k.name == name && !k.singleton && n.is(c, typeClass) {
			return true
		}
		c = n.field(c, "class.super")
	}
	return false
}

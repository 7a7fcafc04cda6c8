package mono

import (
	"slices"
	"strings"
	"sync"

	"github.com/corewalk/corewalk/internal/format/ecma335"
)

const (
	// maxName is how long a name may be, in bytes, and maxNested how many classes are around one another.
	maxName   = 512
	maxNested = 8
)

// name returns the name of a method; "" if there is none at an address, but a stub of the runtime.
func (r *runtime) name(at uint64) string {
	class := r.Word(at + r.fields.ofClass)
	image := r.Word(class + r.fields.image)
	if class == 0 || image == 0 {
		return ""
	}
	name, ok := r.text(image, at+r.fields.methodName)
	if !ok || name == "" {
		return ""
	}
	var classes []string
	for range maxNested {
		s, ok := r.text(image, class+r.fields.className)
		if !ok || s == "" {
			return ""
		}
		classes = append(classes, s)
		outer := r.Word(class + r.fields.nestedIn)
		if outer == 0 {
			break
		}
		class = outer
	}
	slices.Reverse(classes)
	if space, ok := r.text(image, class+r.fields.nameSpaces); ok && space != "" {
		classes[0] = space + "." + classes[0]
	}
	return r.wrapper(at) + strings.Join(classes, "/") + ":" + name
}

// wrapper says what a method is that Mono made to lead from one kind of code to another, as Mono's own traces do; "" for others.
func (r *runtime) wrapper(at uint64) string {
	bits, _ := r.U32(at + r.fields.methodName + 8)
	switch bits >> 2 & 31 {
	case 1:
		return "(wrapper delegate-invoke) "
	case 2:
		return "(wrapper delegate-begin-invoke) "
	case 3:
		return "(wrapper delegate-end-invoke) "
	case 4:
		return "(wrapper runtime-invoke) "
	case 5:
		return "(wrapper native-to-managed) "
	case 6:
		return "(wrapper managed-to-native) "
	}
	return "" // later numbers are of other kinds in other versions
}

// text returns the text to which a pointer leads. Names are in the assembly of the image, which systems leave out of dumps; those that Mono made itself are
// in its memory.
func (r *runtime) text(image, at uint64) (string, bool) {
	p, ok := r.LookupWord(at)
	if !ok || p == 0 {
		return "", false
	}
	text := ""
	if b, ended := r.CString(p, maxName); ended {
		text = string(b)
	} else if len(b) > 0 {
		return "", false
	} else if text, ok = r.inFile(image, p); !ok || len(text) > maxName {
		return "", false
	}
	return text, strings.IndexFunc(text, func(c rune) bool { return c < ' ' || c == 0x7f }) < 0
}

const (
	// maxFiles is how many assemblies are read, and maxNames how much is kept of them, in bytes.
	maxFiles = 64
	maxNames = 64 << 20
)

// MaxFile is how large an assembly may be, in bytes.
const MaxFile = 64 << 20

// files are the assemblies of the process, by their images.
type files struct {
	p     Process
	mu    sync.Mutex
	list  map[uint64]*file
	names int
}

// A file is an assembly.
type file struct {
	once     sync.Once
	assembly *ecma335.Assembly
}

// inFile returns the text that the process had at an address where a file was mapped. The file must have the GUID that Mono has kept of the image: another
// build at the same path has another.
func (r *runtime) inFile(image, at uint64) (string, bool) {
	m, ok := r.files.p.MappingAt(at)
	if !ok || m.Path == "" {
		return "", false
	}
	f := r.files.of(image)
	if f == nil {
		return "", false
	}
	f.once.Do(func() { f.assembly = r.read(m.Path, image) })
	if f.assembly == nil {
		return "", false
	}
	return f.assembly.Text(m.Offset + (at - m.Start))
}

// of returns the file of an image; nil if there are too many.
func (f *files) of(image uint64) *file {
	f.mu.Lock()
	defer f.mu.Unlock()
	if a := f.list[image]; a != nil || len(f.list) >= maxFiles {
		return a
	}
	if f.list == nil {
		f.list = map[uint64]*file{}
	}
	a := new(file)
	f.list[image] = a
	return a
}

// take reports whether n more bytes of names may be kept.
func (f *files) take(n int) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if n > maxNames-f.names {
		return false
	}
	f.names += n
	return true
}

// read reads the assembly of an image.
func (r *runtime) read(path string, image uint64) *ecma335.Assembly {
	const length = len("7F70ED28-A518-40BD-B607-3E518197C951")
	guid, ended := r.CString(r.Word(image+r.fields.guid), length+1)
	if !ended || len(guid) != length {
		return nil
	}
	var found *ecma335.Assembly
	r.files.p.ReadMapped(path, func(data []byte) bool {
		a, err := ecma335.Parse(data)
		if err != nil || !strings.EqualFold(a.String(), string(guid)) || !r.files.take(len(a.Strings)) {
			return false
		}
		found = &ecma335.Assembly{GUID: a.GUID, Strings: slices.Clone(a.Strings), At: a.At} // the rest of the file is not kept
		return true
	})
	return found
}

package dwarf

import (
	"fmt"
	"strings"
	"sync"

	"github.com/corewalk/corewalk/internal/format/binbuf"
)

// The directory and file tables of a line table (DWARF 5, 6.2.4.1; DWARF 4, 6.2.4).

// Content types of DWARF 5's tables (6.2.4.1).
const (
	lnctPath           = 1
	lnctDirectoryIndex = 2
)

// readFiles decodes both tables once. Entries after damaged data are missing.
func (t *lineTable) readFiles() {
	t.filesOnce.Do(func() {
		if t.err != nil {
			return
		}
		c := binbuf.New(t.data[:t.program], t.names, t.big)
		if t.enc.version < 5 {
			t.readFilesV4(&c)
			return
		}
		t.readTable(&c, func(v Value, _ uint64) { t.dirs = append(t.dirs, v) })
		t.readTable(&c, func(v Value, dir uint64) { t.files = append(t.files, lineFile{v, dir}) })
	})
}

// another reports whether another directory or file may be kept. All tables together have fewer than a normal file has room for: theirs take four
// bytes and more.
func (t *lineTable) another() bool {
	return t.from.lines.named.Add(1) <= int64(1<<16+t.from.size(SecLine)/4)
}

// readFilesV4 reads NUL-terminated names. Directory 0 is the compilation
// directory and there is no file 0.
func (t *lineTable) readFilesV4(c *binbuf.Cursor) {
	t.dirs = append(t.dirs, Value{})
	for {
		s := c.CString()
		if len(s) == 0 || !t.another() {
			break
		}
		t.dirs = append(t.dirs, Value{Form: FormString, B: s})
	}
	t.files = append(t.files, lineFile{})
	for {
		f, ok := readFileV4(c)
		if !ok || !t.another() {
			break
		}
		t.files = append(t.files, f)
	}
	if t.definesFiles() {
		t.readDefinedFiles()
	}
}

func readFileV4(c *binbuf.Cursor) (lineFile, bool) {
	s := c.CString()
	if len(s) == 0 {
		return lineFile{}, false
	}
	f := lineFile{name: Value{Form: FormString, B: s}, dir: c.ULEB()}
	c.ULEB() // modification time
	c.ULEB() // size
	return f, c.Error == nil
}

// definesFiles reports whether the line program may add to the table with
// DW_LNE_define_file. It does so only if the table is empty.
func (t *lineTable) definesFiles() bool { return len(t.files) == 1 }

func (t *lineTable) readDefinedFiles() {
	m := t.machine()
	m.defined = func(f lineFile) {
		if t.another() {
			t.files = append(t.files, f)
		}
	}
	for m.next() {
	}
	t.execute(m.c.Off - t.program)
}

// readTable reads a DWARF 5 table: its formats, then its entries.
func (t *lineTable) readTable(c *binbuf.Cursor, add func(name Value, dir uint64)) {
	type format struct {
		content uint64
		form    Form
	}
	var buf [8]format
	formats := buf[:0]
	for range c.U8() {
		if len(formats) == maxFormats {
			c.Fail(fmt.Errorf("line table at %#x: more than %d attributes of a name: %w", t.off, maxFormats, ErrFormat))
			return
		}
		f := format{c.ULEB(), Form(min(c.ULEB(), 0xffff))}
		formats = append(formats, f)
	}
	count := min(c.ULEB(), maxFiles)
	if len(formats) == 0 {
		if count != 0 {
			c.Fail(fmt.Errorf("line table at %#x: %d names, but no format: %w", t.off, count, ErrFormat))
		}
		return
	}
	for ; count > 0 && c.Error == nil; count-- {
		var name, v Value
		var dir uint64
		start := c.Off
		for _, f := range formats {
			readForm(c, f.form, 0, t.enc, &v)
			switch f.content {
			case lnctPath:
				name = v
			case lnctDirectoryIndex:
				dir = v.U
			}
		}
		if c.Error != nil || c.Off == start || !t.another() { // entries of size 0 would never end
			return
		}
		add(name, dir)
	}
}

// maxFiles limits the directories and the files of a table; maxFormats the attributes of each. Compilers write five at most.
const (
	maxFiles   = 1 << 20
	maxFormats = 16
)

// A FileName is the name of a source file.
type FileName struct {
	// Path is the full path, joined from compilation directory, directory and name. It is
	// not cleaned: "a/../b" need not be "b".
	Path string
	// Name is the name in the file table.
	Name string
}

// pathCache caches the joined names of a unit's files.
type pathCache struct {
	mu    sync.Mutex
	names map[uint64]FileName
}

// File returns the name of a file by its index in the unit's line table, as in
// DW_AT_decl_file and DW_AT_call_file. It is empty if there is no such file.
func (u *Unit) File(i uint64) FileName {
	t := u.lines()
	if t == nil {
		return FileName{}
	}
	if u.skeleton != nil {
		return u.skeleton.File(i)
	}
	u.paths.mu.Lock()
	defer u.paths.mu.Unlock()
	f, ok := u.paths.names[i]
	if !ok {
		t.readFiles()
		if i >= uint64(len(t.files)) {
			return FileName{}
		}
		f = u.joinFile(t, &t.files[i])
		if u.paths.names == nil {
			u.paths.names = make(map[uint64]FileName)
		}
		u.paths.names[i] = f
	}
	return f
}

func (u *Unit) joinFile(t *lineTable, f *lineFile) FileName {
	name := u.path(&f.name)
	if name == "" {
		return FileName{}
	}
	path := name
	if !isAbs(path) && !madeUp(path) {
		if f.dir < uint64(len(t.dirs)) {
			path = joinPath(u.path(&t.dirs[f.dir]), path)
		}
		if !isAbs(path) {
			path = joinPath(u.CompDir(), path)
		}
	}
	return FileName{Path: path, Name: name}
}

// maxPath is longer than the paths that systems have. All files of a unit may be in one directory, whose name has megabytes.
const maxPath = 1 << 15

// madeUp reports whether the name is a compiler's for code without a source file, which is in no directory:
// "<autogenerated>", "<built-in>".
func madeUp(name string) bool { return strings.HasPrefix(name, "<") && strings.HasSuffix(name, ">") }

// isAbs reports whether the path is absolute on the system that ran the compiler: Unix or
// Windows.
func isAbs(p string) bool {
	switch {
	case p == "":
		return false
	case p[0] == '/' || p[0] == '\\':
		return true
	}
	return isDrive(p)
}

// isDrive reports whether the path begins with "C:\" or "C:/".
func isDrive(p string) bool {
	return len(p) >= 3 && p[1] == ':' && (p[2] == '\\' || p[2] == '/') &&
		(p[0]|0x20 >= 'a' && p[0]|0x20 <= 'z')
}

func joinPath(dir, name string) string {
	if dir == "" {
		return name
	}
	sep := "/"
	if isDrive(dir) && strings.Contains(dir, `\`) || strings.HasPrefix(dir, `\\`) {
		sep = `\`
	}
	if strings.HasSuffix(dir, "/") || strings.HasSuffix(dir, `\`) {
		sep = ""
	}
	return dir + sep + name
}

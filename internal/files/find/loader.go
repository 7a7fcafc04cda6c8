package find

import (
	"bufio"
	"bytes"
	"iter"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// Loaded proposes files for a module that the dump knows by its bare name, as Crashpad
// writes it: in the directories of modules that were found (AddLoadPath), then where the
// dynamic loader looks. They are right only if the build-id is: this machine has many
// libraries of the same names.
func (f *Finder) Loaded(m Module) iter.Seq[string] {
	return func(yield func(string) bool) {
		if f == nil || len(m.BuildID) == 0 || strings.ContainsAny(m.Path, `/\`) || !component(m.Path) {
			return
		}
		f.loadMu.Lock()
		dirs := slices.Clone(f.loadPath)
		f.loadMu.Unlock()
		for _, dir := range append(dirs, f.loaderDirs()...) {
			if !yield(f.inSysroot(filepath.Join(dir, m.Path))) {
				return
			}
		}
	}
}

// maxLoadPath bounds the directories of AddLoadPath.
const maxLoadPath = 64

// AddLoadPath adds directories in which the loader of the process looked: that of a module
// that was found, and those of its DT_RUNPATH.
func (f *Finder) AddLoadPath(file, runPath string) {
	origin := filepath.Dir(file)
	dirs := []string{origin}
	for entry := range strings.SplitSeq(runPath, ":") {
		dir := strings.NewReplacer("${ORIGIN}", origin, "$ORIGIN", origin).Replace(entry)
		switch {
		case !filepath.IsAbs(dir) || strings.Contains(dir, "$"):
		case dir != entry:
			if dir = f.inSysroot(dir); !leadsAway(file, dir) {
				dirs = append(dirs, dir)
			}
		case len(f.opts.Sysroots) == 0:
			if MayAsk(dir) {
				dirs = append(dirs, filepath.Clean(dir))
			}
		default:
			for _, root := range f.sysroots() {
				dirs = append(dirs, f.within(root, dir))
			}
		}
	}
	f.loadMu.Lock()
	defer f.loadMu.Unlock()
	for _, dir := range dirs {
		if len(f.loadPath) < maxLoadPath && !slices.Contains(f.loadPath, dir) {
			f.loadPath = append(f.loadPath, dir)
		}
	}
}

// loaderDirs returns the directories that ld.so.conf names and the usual ones, below the
// sysroots or on this machine.
func (f *Finder) loaderDirs() []string {
	f.loaderOnce.Do(func() {
		roots := f.sysroots()
		if len(f.opts.Sysroots) == 0 {
			roots = []string{"/"}
		}
		for _, root := range roots {
			c := loaderConf{f: f, root: root}
			c.read("/etc/ld.so.conf", 0)
			for _, pattern := range []string{"/lib", "/usr/lib", "/lib64", "/usr/lib64", "/lib/*-linux-*", "/usr/lib/*-linux-*", "/lib32", "/usr/lib32"} {
				c.add(pattern)
			}
			f.loader = append(f.loader, c.dirs...)
		}
	})
	return f.loader
}

// loaderConf reads the configuration of the dynamic loader below a root (ldconfig(8)).
type loaderConf struct {
	f     *Finder
	root  string
	dirs  []string
	files int
}

const (
	maxLoaderDirs  = 256
	maxLoaderFiles = 256
	maxLoaderDepth = 8 // of files that include files
	maxLoaderConf  = 1 << 20
)

func (c *loaderConf) read(name string, depth int) {
	if c.files++; c.files > maxLoaderFiles || depth > maxLoaderDepth {
		return
	}
	text, _, err := c.f.Read(c.f.within(c.root, name), maxLoaderConf)
	if err != nil {
		return
	}
	lines := bufio.NewScanner(bytes.NewReader(text))
	for lines.Scan() {
		line, _, _ := strings.Cut(lines.Text(), "#")
		words := strings.Fields(line)
		switch {
		case len(words) == 0:
		case words[0] == "include":
			for _, pattern := range words[1:] {
				if !path.IsAbs(pattern) {
					pattern = path.Join(path.Dir(name), pattern)
				}
				for _, p := range c.glob(pattern) {
					c.read(p, depth+1)
				}
			}
		case path.IsAbs(words[0]):
			dir, _, _ := strings.Cut(words[0], "=")
			c.add(path.Clean(dir))
		}
	}
}

// glob returns the paths below the root that match a pattern, without the root.
func (c *loaderConf) glob(pattern string) []string {
	if root := c.f.images.root(c.root); root != nil {
		return globIn(root, path.Clean("/"+pattern))
	}
	found, _ := filepath.Glob(filepath.Join(c.root, path.Clean("/"+pattern)))
	for i := range found {
		found[i] = "/" + strings.TrimPrefix(strings.TrimPrefix(found[i], c.root), "/")
	}
	return found
}

// add adds the directories that match a pattern.
func (c *loaderConf) add(pattern string) {
	for _, p := range c.glob(pattern) {
		dir := c.f.within(c.root, p)
		if len(c.dirs) < maxLoaderDirs && !slices.Contains(c.dirs, dir) {
			c.dirs = append(c.dirs, dir)
		}
	}
}

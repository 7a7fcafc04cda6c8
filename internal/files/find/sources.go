package find

import (
	"cmp"
	"context"
	"iter"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// A SourceMap says that source files recorded below From are below To on this machine.
type SourceMap struct{ From, To string }

// A SourceFetcher is a Fetcher that also gets source files: those that the module with a
// build-id was compiled from, by the path in its debug information.
type SourceFetcher interface {
	FetchSource(ctx context.Context, buildID []byte, path string) (string, error)
}

// maxSourceDepth bounds the components of a recorded path that are looked for below search
// directories.
const maxSourceDepth = 32

// Sources proposes files that may be a source file, best candidates first, and says of each
// whether it is at a place that the user gave. The other is the recorded path itself; the
// caller decides whether its contents may be shown. recorded is the path in the debug
// information of a module. Only files with names of source files are proposed: debug
// information must not choose which other files of this machine are shown.
func (f *Finder) Sources(recorded string) iter.Seq2[string, bool] {
	return func(yield func(path string, given bool) bool) {
		if f == nil || strings.ContainsRune(recorded, 0) {
			return
		}
		slash := strings.ReplaceAll(recorded, `\`, "/")
		absolute := strings.HasPrefix(slash, "/")
		clean := strings.TrimPrefix(path.Clean("/"+slash), "/") // no .. is left
		if !IsSource(clean) {
			return
		}
		for _, to := range f.mapped("/" + clean) {
			if !yield(to, true) {
				return
			}
		}
		if absolute {
			for _, root := range f.sysroots() {
				if !yield(f.within(root, clean), true) {
					return
				}
			}
			if len(f.opts.Sysroots) == 0 && MayAsk("/"+clean) && !yield("/"+clean, false) {
				return
			}
		}
		parts := strings.Split(clean, "/")
		for i := max(0, len(parts)-maxSourceDepth); i < len(parts); i++ {
			for _, dir := range f.opts.Search {
				if !yield(f.inSysroot(filepath.Join(dir, filepath.Join(parts[i:]...))), true) {
					return
				}
			}
		}
	}
}

// mapped applies the source maps to a clean path, the longest prefix first.
func (f *Finder) mapped(clean string) []string {
	maps := slices.SortedStableFunc(slices.Values(f.opts.SourceMaps), func(a, b SourceMap) int { return cmp.Compare(len(b.From), len(a.From)) })
	var out []string
	for _, m := range maps {
		from := path.Clean("/" + strings.ReplaceAll(m.From, `\`, "/"))
		if rest, ok := strings.CutPrefix(clean, from); ok && (rest == "" || rest[0] == '/' || from == "/") {
			out = append(out, filepath.Join(m.To, rest))
		}
	}
	return out
}

// sourceExtensions are those of files that compilers and assemblers read.
var sourceExtensions = []string{
	".c", ".cc", ".cp", ".cpp", ".cppm", ".cxx", ".c++", ".h", ".hh", ".hpp", ".hxx", ".h++", ".inc", ".inl", ".ipp", ".tcc", ".ixx", ".def", ".m", ".mm",
	".rs", ".go", ".s", ".asm", ".f", ".for", ".f77", ".f90", ".f95", ".f03", ".f08", ".d", ".di", ".zig", ".swift", ".nim", ".ada", ".adb", ".ads",
	".pas", ".pp", ".ml", ".mli", ".hs", ".cu", ".cuh", ".cl", ".y", ".l", ".yy", ".ll", ".re", ".vala", ".v", ".cr", ".jl", ".kt", ".java", ".js", ".ts", ".py",
}

// IsSource reports whether the path of a file is that of a source file: by its extension,
// or because it is a header without one, such as <vector>.
func IsSource(p string) bool {
	if strings.Contains("/"+path.Dir(p)+"/", "/include/") && path.Ext(p) == "" {
		return true
	}
	return slices.Contains(sourceExtensions, strings.ToLower(path.Ext(p)))
}

// FetchSource fetches a source file of the module with a build-id. An error that wraps
// fs.ErrNotExist means that there is no such file, or no SourceFetcher.
func (f *Finder) FetchSource(buildID []byte, recorded string) (string, error) {
	if !f.Fetches(buildID) {
		return "", errNoFetcher
	}
	sources, ok := f.opts.Fetcher.(SourceFetcher)
	if !ok {
		return "", errNoFetcher
	}
	if err := f.ctx.Err(); err != nil {
		return "", err
	}
	found, err := sources.FetchSource(f.ctx, buildID, recorded)
	return found, f.noted(err)
}

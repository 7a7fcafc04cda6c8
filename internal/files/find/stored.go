package find

import (
	"path"
	"strings"
)

// StoredAt returns the path in a store of symbols of a file that lies as in one, or as what was fetched from one does: buildid/ID/debuginfo,
// buildid/ID/executable or NAME/ID/FILE. It is "" for other files, and for those that a distribution has installed for debuggers.
func StoredAt(file string) string {
	dir, name := path.Split(file)
	dir = strings.TrimSuffix(dir, "/")
	above, id := path.Split(dir)
	above = strings.TrimSuffix(above, "/")
	switch {
	case !isHex(id, 1, maxBuildID):
		return ""
	case path.Base(above) == ".build-id" && len(id) == 2:
		rest, kind := name, KindExecutable
		if debug, ok := strings.CutSuffix(name, ".debug"); ok {
			rest, kind = debug, KindDebugInfo
		}
		if !isHex(rest, 1, maxBuildID) || strings.HasSuffix(above, DefaultDebugDir+"/.build-id") {
			return ""
		}
		return "buildid/" + id + rest + "/" + kind
	case name == KindDebugInfo || name == KindExecutable:
		return "buildid/" + id + "/" + name
	case len(id) < 8 || path.Base(above) == "/" || path.Base(above) == ".":
		return ""
	}
	return path.Base(above) + "/" + strings.ToUpper(id) + "/" + name
}

package service

import (
	"cmp"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/corewalk/corewalk/internal/files/find"
	"github.com/corewalk/corewalk/internal/service/store"
)

// A storedDoc is a file of a project's symbols.
type storedDoc struct {
	Path    string    `json:"path"` // below the project's symbols, as it was sent
	Size    int64     `json:"size"` // bytes
	Changed time.Time `json:"changed"`
	Dumps   int       `json:"dumps"`            // that were analysed with it
	Module  string    `json:"module,omitempty"` // of which it is, if a dump used it
	Value   string    `json:"value,omitempty"`  // of the attribute
}

// Limits of the list of symbols.
const (
	maxStored      = 20_000 // that are gone through
	maxStoredShown = 500
)

// storedSymbols lists a project's symbols: those that most dumps used first, and last what no dump used, the oldest first. With the parameter "unused"
// these are all: they may be removed.
func (s *Service) storedSymbols(w http.ResponseWriter, r *http.Request, p *request) error {
	facets, err := s.c.Store.Facets(r.Context(), p.project, store.MaxCountedValues)
	if err != nil {
		return err
	}
	used, all := map[string]*storedDoc{}, true
	for _, f := range facets {
		if f.Name != store.AttrUses {
			continue
		}
		all = f.Known < store.MaxCountedValues // further values are not counted
		for _, v := range f.Values {
			i := strings.LastIndexByte(v.Value, ' ')
			at := v.Value[i+1:]
			if used[at] == nil { // the first is the one that most dumps have
				used[at] = &storedDoc{Module: v.Value[:max(i, 0)], Value: v.Value}
			}
			used[at].Dumps += v.Count
		}
	}
	list, files, unused, size, more := []storedDoc{}, 0, 0, int64(0), false
	dir := symbolsDir(p.project)
	for o, err := range s.c.Objects.List(r.Context(), dir) {
		if err != nil {
			return err
		}
		if more = files == maxStored; more {
			break
		}
		var d storedDoc
		at := symbolPath(strings.TrimPrefix(o.Key, dir+"/"))
		if u := used[at]; u != nil {
			d = *u
		} else {
			unused++
		}
		d.Path = at
		d.Size, d.Changed = o.Size, o.Changed
		files, size = files+1, size+o.Size
		if d.Dumps == 0 || !r.URL.Query().Has("unused") {
			list = append(list, d)
		}
	}
	slices.SortFunc(list, func(a, b storedDoc) int {
		return cmp.Or(cmp.Compare(b.Dumps, a.Dumps), a.Changed.Compare(b.Changed), cmp.Compare(a.Path, b.Path))
	})
	answer(w, http.StatusOK, map[string]any{"stored": list[:min(len(list), maxStoredShown)], "files": files, "bytes": size, "unused": unused, "more": more, "counted": all})
	return nil
}

// symbolPath is the path below a project's symbols of a file that is stored below their directory: what symbolKey made a key of.
func symbolPath(key string) string {
	if strings.HasPrefix(key, ".build-id/") {
		return cmp.Or(find.StoredAt(key), key)
	}
	return key
}

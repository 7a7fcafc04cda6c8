package service

import (
	"net/http"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/corewalk/corewalk/internal/service/store"
)

// A releaseDoc is a release in answers.
type releaseDoc struct {
	Release string    `json:"release"`
	Count   int       `json:"count"`
	First   time.Time `json:"first,omitzero"` // not there if it was only announced
	Last    time.Time `json:"last,omitzero"`
	Trend   []int     `json:"trend,omitempty"` // as that of a group
}

func releaseDocs(list []store.Release) []releaseDoc {
	out := make([]releaseDoc, len(list))
	for i, r := range list {
		out[i] = releaseDoc{Release: r.Release, Count: r.Count, First: r.First.UTC(), Last: r.Last.UTC()}
	}
	return out
}

// maxReleaseTrends is how many releases of a group have a trend, the newest.
const maxReleaseTrends = 12

// ordered sorts releases, the newest first: by their numbers, and by when they were seen first where these say nothing.
func ordered(list []store.Release) {
	slices.SortStableFunc(list, func(a, b store.Release) int {
		if order, ok := store.CompareReleases(b.Release, a.Release); ok {
			return order
		}
		return b.First.Compare(a.First)
	})
}

// notBefore reports whether a release is another one or came after it.
func notBefore(release, other string, first map[string]time.Time) bool {
	if order, ok := store.CompareReleases(release, other); ok {
		return order >= 0
	}
	seen, known := first[other]
	return known && !seen.IsZero() && !first[release].Before(seen)
}

// checkRelease returns an error for a text that no release is called.
func checkRelease(release string) error {
	if release == "" || len(release) > store.MaxAttrValue || strings.TrimSpace(release) != release || !utf8.ValidString(release) || strings.ContainsFunc(release, unicode.IsControl) {
		return wrong("release %.40q: has from 1 to %d bytes, in one line", release, store.MaxAttrValue)
	}
	return nil
}

func (s *Service) listReleases(w http.ResponseWriter, r *http.Request, p *request) error {
	list, err := s.c.Store.Releases(r.Context(), p.project, "")
	if err == nil {
		ordered(list)
		answer(w, http.StatusOK, map[string]any{"releases": releaseDocs(list)})
	}
	return err
}

// maxReleases is how many releases are announced.
const maxReleases = 10_000

// announce makes a release known of which there are no dumps yet: something may be fixed in it.
func (s *Service) announce(w http.ResponseWriter, r *http.Request, p *request) error {
	var in struct{ Release string }
	if err := decode(r, &in); err != nil {
		return err
	}
	if err := checkRelease(in.Release); err != nil {
		return err
	}
	list, err := s.c.Store.Releases(r.Context(), p.project, "")
	if err == nil && len(list) >= maxReleases {
		return wrong("there are %d releases already", len(list))
	}
	if err == nil {
		err = s.c.Store.Announce(r.Context(), p.project, in.Release)
	}
	if err == nil {
		w.WriteHeader(http.StatusNoContent)
	}
	return err
}

// nameBuild says of which release a build is.
func (s *Service) nameBuild(w http.ResponseWriter, r *http.Request, p *request) error {
	var in struct{ Release string }
	if err := decode(r, &in); err != nil {
		return err
	}
	build := r.PathValue("build")
	if build == "" || len(build) > 256 || !utf8.ValidString(build) {
		return wrong("build: has from 1 to 256 bytes")
	}
	if err := checkRelease(in.Release); err != nil {
		return err
	}
	err := s.c.Store.NameBuild(r.Context(), p.project, build, in.Release)
	if err == nil {
		w.WriteHeader(http.StatusNoContent)
	}
	return err
}

// listAttributes lists the attributes of the project's dumps, each with its most frequent values.
func (s *Service) listAttributes(w http.ResponseWriter, r *http.Request, p *request) error {
	list, err := s.c.Store.Facets(r.Context(), p.project, maxFacet)
	if err == nil {
		answer(w, http.StatusOK, map[string]any{"attributes": facetDocs(list)})
	}
	return err
}

package service

import (
	"cmp"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"math"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/corewalk/corewalk/internal/service/store"
)

// keys are those of the projects, with which identifiers of users and machines are hashed: who reads the database cannot try all identifiers without the
// key, nor find a user of one project in another.
type keys struct {
	mu   sync.Mutex // guards list; no other lock is taken inside
	list map[string][]byte
}

// identity is what is kept of an identifier: it is the same each time, and nothing else.
func (s *Service) identity(ctx context.Context, project, id string) (string, error) {
	s.keys.mu.Lock()
	key := s.keys.list[project]
	s.keys.mu.Unlock()
	if key == nil {
		var err error
		if key, err = s.c.Store.Key(ctx, project); err != nil {
			return "", err
		}
		s.keys.mu.Lock()
		if s.keys.list == nil {
			s.keys.list = map[string][]byte{}
		}
		s.keys.list[project] = key
		s.keys.mu.Unlock()
	}
	mac := hmac.New(sha256.New, key)
	mac.Write([]byte(strings.ToLower(id)))
	return hex.EncodeToString(mac.Sum(nil)[:16]), nil
}

// hashed is identity for a worker, which goes on without one.
func (s *Service) hashed(ctx context.Context, project, id string) string {
	out, err := s.identity(ctx, project, id)
	if err != nil {
		s.c.Log.Error("a machine is not counted", "project", project, "error", err)
	}
	return out
}

// identify takes the identifiers of the user and the machine out of an upload's annotations, and keeps their hashes.
func (s *Service) identify(ctx context.Context, u *store.Upload) (err error) {
	for kind, to := range map[string]*string{store.IDUser: &u.User, store.IDMachine: &u.Machine} {
		if id := store.TakeID(u.Annotations, kind); id != "" && err == nil {
			*to, err = s.identity(ctx, u.Project, id)
		}
	}
	return err
}

// backfill counts dumps that an older program has finished, and names builds as the command line says.
func (s *Service) backfill(ctx context.Context) {
	for build, release := range s.c.Versions {
		if err := s.c.Store.NameBuild(ctx, "", build, release); err != nil && ctx.Err() == nil {
			s.c.Log.Error("a build has no name", "build", build, "error", err)
		}
	}
	const some = 200
	for total := 0; ctx.Err() == nil; {
		n, err := s.c.Store.Backfill(ctx, some)
		if err != nil && ctx.Err() == nil {
			s.c.Log.Error("older dumps are not counted", "error", err)
		}
		total += n
		wait := time.Minute // another program may be an older one
		if n == some && err == nil {
			wait = 10 * time.Millisecond
		} else if total > 0 {
			s.c.Log.Info("older dumps were counted by their attributes", "dumps", total)
			total = 0
		}
		select {
		case <-ctx.Done():
		case <-time.After(wait):
		}
	}
}

// maxHas is how many attributes a request may ask for together.
const maxHas = 8

// hasOf returns the attributes that a request asks for: has=NAME:VALUE, repeated, and release=RELEASE.
func hasOf(r *http.Request) (list []store.Attribute, _ error) {
	q := r.URL.Query()
	for _, text := range q["has"] {
		name, value, ok := strings.Cut(text, ":")
		if !ok || name == "" {
			return nil, wrong("has=%.40q: must be NAME:VALUE", text)
		}
		list = append(list, store.Attribute{Name: name, Value: value})
	}
	if release := q.Get("release"); release != "" {
		list = append(list, store.Attribute{Name: store.AttrRelease, Value: release})
	}
	if len(list) > maxHas {
		return nil, wrong("more than %d attributes", maxHas)
	}
	return list, nil
}

// Documents of attributes.
type attributeDoc struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

func attributeDocs(list []store.Attribute) (out []attributeDoc) {
	for _, a := range list {
		out = append(out, attributeDoc(a))
	}
	return out
}

type facetDoc struct {
	Name   string       `json:"name"`
	Known  int          `json:"known"` // how many values are counted
	Values []countedDoc `json:"values"`
}

type countedDoc struct {
	Value string `json:"value"`
	Count int    `json:"count"`
}

// maxFacet is how many values of an attribute are listed.
const maxFacet = 20

func facetDocs(list []store.Facet) []facetDoc {
	out := make([]facetDoc, len(list))
	for i, f := range list {
		out[i] = facetDoc{Name: f.Name, Known: f.Known}
		for _, v := range f.Values {
			out[i].Values = append(out[i].Values, countedDoc(v))
		}
	}
	return out
}

// A correlationDoc is what the dumps of a group have more often than the others of the project.
type correlationDoc struct {
	Name     string  `json:"name"`
	Value    string  `json:"value"`
	Count    int     `json:"count"`    // of the group's dumps
	Here     float64 `json:"here"`     // its share of the group's dumps
	Others   float64 `json:"others"`   // its share of the others
	Strength float64 `json:"strength"` // from 0 to 1
}

// Limits of correlations.
const (
	maxShares       = 2000 // attributes of a group that are looked at, the most frequent
	maxCorrelations = 30
	// leastSurprise is the least G of the likelihood ratio test with one degree of freedom: of a thousand differences by chance one is larger.
	leastSurprise = 10.83
)

// correlations finds what sets the dumps of a group apart. The strength is the coefficient phi: 1 if all of the group's dumps and no others have it.
func correlations(s store.Shares) []correlationDoc {
	list := []correlationDoc{}
	others := s.All - s.Here
	if s.Here <= 0 || others <= 0 {
		return list
	}
	for _, x := range s.List {
		a, c := float64(x.Here), float64(max(x.All-x.Here, 0)) // with it, here and elsewhere
		b, d := float64(max(s.Here-x.Here, 0)), math.Max(float64(others)-c, 0)
		here, there := a/(a+b), c/float64(others)
		if here <= there || surprise(a, b, c, d) < leastSurprise {
			continue
		}
		phi := (a*d - b*c) / math.Sqrt((a+b)*(c+d)*(a+c)*(b+d))
		if math.IsNaN(phi) || phi <= 0 {
			continue
		}
		round := func(f float64) float64 { return math.Round(f*1000) / 1000 }
		list = append(list, correlationDoc{x.Name, x.Value, x.Here, round(here), round(there), round(phi)})
	}
	slices.SortStableFunc(list, func(a, b correlationDoc) int { return cmp.Compare(b.Strength, a.Strength) })
	return list[:min(len(list), maxCorrelations)]
}

// surprise is G of a table of two by two numbers.
func surprise(a, b, c, d float64) (g float64) {
	n := a + b + c + d
	for _, x := range [][3]float64{{a, a + b, a + c}, {b, a + b, b + d}, {c, c + d, a + c}, {d, c + d, b + d}} {
		if x[0] > 0 {
			g += 2 * x[0] * math.Log(x[0]*n/(x[1]*x[2]))
		}
	}
	return g
}

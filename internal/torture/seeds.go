package main

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
)

// seeds are damaged inputs that reached something new, by base. They are kept in a directory, if there
// is one: a file for each.
type seeds struct {
	dir  string
	of   map[string][]input
	read map[string]bool
}

const (
	maxSeeds = 40   // of a base
	maxEdits = 60   // of a seed
	maxBytes = 8192 // of the edits of a seed
)

func newSeeds(dir string) *seeds {
	return &seeds{dir: dir, of: map[string][]input{}, read: map[string]bool{}}
}

func (s *seeds) place(base string) string {
	return filepath.Join(s.dir, strings.NewReplacer("/", "_", ":", "_").Replace(base))
}

// pick returns a seed of a base, or nil.
func (s *seeds) pick(base string, rng *rand.Rand) *input {
	if s.dir != "" && !s.read[base] {
		s.read[base] = true
		for i := range maxSeeds {
			text, err := os.ReadFile(filepath.Join(s.place(base), fmt.Sprint(i)))
			var in input
			if err == nil && json.Unmarshal(text, &in) == nil && in.Base == base {
				s.of[base] = append(s.of[base], in)
			}
		}
	}
	list := s.of[base]
	if len(list) == 0 || rng.IntN(3) == 0 {
		return nil
	}
	return &list[rng.IntN(len(list))]
}

// add keeps a seed. When a base has enough, the new one takes the place of an old one.
func (s *seeds) add(base string, in input) {
	size := 0
	for _, e := range in.Edits {
		size += len(e.Ins)
	}
	if len(in.Edits) > maxEdits || size > maxBytes {
		return
	}
	list := s.of[base]
	at := len(list)
	if at < maxSeeds {
		list = append(list, in)
	} else {
		at = int(hashOf(fmt.Sprint(in.Seed)) % maxSeeds)
		list[at] = in
	}
	s.of[base] = list
	if s.dir == "" {
		return
	}
	if text, err := json.Marshal(in); err == nil && os.MkdirAll(s.place(base), 0o755) == nil {
		os.WriteFile(filepath.Join(s.place(base), fmt.Sprint(at)), text, 0o644)
	}
}

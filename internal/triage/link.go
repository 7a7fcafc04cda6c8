package triage

import (
	"context"

	"github.com/corewalk/corewalk/internal/triage/ledger"
	"github.com/corewalk/corewalk/internal/triage/similar"
)

// maxSimilar is how many groups one group is linked to at most.
const maxSimilar = 5

// link finds the groups that the new groups of a run are probably the same as. It links them and does not merge
// them: people decide. alone says that the store has no other run. The result is what the store's RunGroups lists, nil
// if that has changed since.
func link(ctx context.Context, store ledger.Store, run int64, alone bool) ([]ledger.Group, error) {
	mine, err := store.RunGroups(ctx, run)
	if err != nil {
		return nil, err
	}
	fresh := 0
	for _, g := range mine {
		if g.New && linkable(g) {
			fresh++
		}
	}
	if fresh == 0 {
		return mine, nil
	}
	all := mine
	if !alone {
		if all, err = store.Groups(ctx, ledger.Query{}); err != nil {
			return nil, err
		}
	}
	var index similar.Index
	for _, g := range all {
		if linkable(g) {
			index.Add(g.ID, g.Frames)
		}
	}
	linked := false
	for _, g := range mine {
		if !g.New || !linkable(g) {
			continue
		}
		if list := like(&index, g); len(list) > 0 {
			if err := store.Link(ctx, g.ID, list); err != nil {
				return nil, err
			}
			linked = true
		}
	}
	if linked {
		return nil, nil
	}
	return mine, nil
}

// linkable reports whether a group has enough functions to compare.
func linkable(g ledger.Group) bool { return !g.Weak && len(g.Frames) >= similar.MinFrames }

func like(index *similar.Index, g ledger.Group) []ledger.Similar {
	var list []ledger.Similar
	for _, m := range index.Query(g.Frames) {
		if m.Group != g.ID && len(list) < maxSimilar {
			list = append(list, ledger.Similar{Group: m.Group, Score: m.Score})
		}
	}
	return list
}

package main

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime/debug"
	"time"
)

// replay repeats one input, and lets it panic.
func replay(o options) error {
	text, err := os.ReadFile(o.replay)
	if err != nil {
		return err
	}
	var in input
	if err := json.Unmarshal(text, &in); err != nil {
		return fmt.Errorf("%s: %w", o.replay, err)
	}
	dir, err := os.MkdirTemp("", "corewalk-torture-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	debug.SetMaxStack(maxStack)
	empty, files := filepath.Join(dir, "empty"), filepath.Join(dir, "base")
	if err := os.Mkdir(empty, 0o755); err != nil {
		return err
	}
	if err := os.Mkdir(files, 0o755); err != nil {
		return err
	}
	all, err := bases(empty)
	if err != nil {
		return err
	}
	for _, b := range all {
		if b.id() != in.Base {
			continue
		}
		r, err := b.ready(files)
		if err != nil {
			return err
		}
		defer r.close()
		if o.export != "" {
			return os.WriteFile(o.export, apply(r.data, in.Edits), 0o755)
		}
		cpu, allocs := processorTime(), allocated()
		written.Store(0)
		err = r.run(in.Edits, rand.New(rand.NewPCG(in.Seed, 0)))
		fmt.Printf("%s: %v, %d MB allocated, %d MB written, %d recovered\n", in.Base, (processorTime() - cpu).Round(time.Millisecond), (allocated()-allocs)>>20, written.Load()>>20, recovered())
		return err
	}
	return fmt.Errorf("%s: no fixture %s", o.replay, in.Base)
}

//go:build !linux

package triage

import (
	"context"
	"errors"
	"iter"
)

// Dumps implements Source.
func (Watch) Dumps(context.Context) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		yield("", errors.New("directories can be watched on Linux only"))
	}
}

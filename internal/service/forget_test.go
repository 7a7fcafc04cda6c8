package service

import (
	"testing"
	"time"
)

// What is to be removed is looked for as often as it may change, and never if all is kept.
func TestRetentionEvery(t *testing.T) {
	for keep, want := range map[Retention]time.Duration{
		{}: 0, {Age: 90 * 24 * time.Hour}: time.Hour, {Age: time.Minute}: 6 * time.Second, {Age: time.Second}: time.Second, {PerGroup: 5}: retainAgain, {Bytes: 1}: retainAgain,
		{Age: time.Minute, Bytes: 1}: 6 * time.Second, {Age: 90 * 24 * time.Hour, PerGroup: 1}: retainAgain,
	} {
		if got := keep.every(); got != want {
			t.Errorf("%+v: %s, want %s", keep, got, want)
		}
	}
}

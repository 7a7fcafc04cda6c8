package coro

import "testing"

func TestMethodOf(t *testing.T) {
	for fn, want := range map[string]string{
		"tokio::sync::rwlock::RwLock::read":                                        "read",
		"tokio::sync::rwlock::{impl#14}::read::{async_fn#0}::{async_block#0}<u32>": "read",
		"reserve": "reserve",
		"":        "",
	} {
		if got := methodOf(fn); got != want {
			t.Errorf("%s: %q, want %q", fn, got, want)
		}
	}
}

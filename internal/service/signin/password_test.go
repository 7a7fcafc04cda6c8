package signin

import (
	"runtime"
	"strings"
	"testing"
)

func TestPassword(t *testing.T) {
	hash := HashPassword("correct horse battery")
	if other := HashPassword("correct horse battery"); hash == other || !strings.HasPrefix(hash, "$argon2id$v=19$m=19456,t=2,p=1$") || strings.Contains(hash, "horse") {
		t.Error(hash, other)
	}
	for _, x := range []struct {
		hash, password string
		want           bool
	}{{hash, "correct horse battery", true}, {hash, "correct horse batterz", false}, {hash, "", false}, {"", "", false}, {"", "correct horse battery", false}, {noPassword, "", false}, {hash[:len(hash)-1], "correct horse battery", false},
		{hash, "correct horse battery" + strings.Repeat(" ", 300), false}, {"$argon2id$v=19$m=19456,t=2,p=1$AAAAAAAAAAAAAAAAAAAAAA$", "", false}, {"$argon2id$v=19$m=99999999,t=2,p=1$AAAAAAAAAAAAAAAAAAAAAA$AAAAAAAAAAAAAAAAAAAAAA", "", false},
		// Of the reference implementation: echo -n password | argon2 somesalt -id -t 2 -k 19456 -p 1 has other parameters; these are of one that takes less.
		{"$argon2id$v=19$m=256,t=2,p=1$c29tZXNhbHQ$nf65EOgLrQMR/uIPnA4rEsF5h7TKyQwu9U1bMCHGi/4", "password", true}} {
		if got := SamePassword(x.hash, x.password); got != x.want {
			t.Errorf("%q %.40q: %v", x.hash, x.password, got)
		}
	}
	// A name without a hash takes as much.
	took := func(hash string) uint64 {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		SamePassword(hash, "some password")
		runtime.ReadMemStats(&after)
		return (after.TotalAlloc - before.TotalAlloc) >> 20
	}
	if with, without := took(hash), took(""); with != without || with < 19 {
		t.Errorf("%d MiB with a hash, %d without", with, without)
	}
}

// What a provider's person is called is never what an account may be called.
func TestNamesApart(t *testing.T) {
	const subject = "1f3a9c02aaaaaaaa"
	for want, claims := range map[string]map[string]any{
		"ann (unverified, 1f3a9c02)":           {"sub": "ann"},
		"ann.b-c_9 (unverified, 1f3a9c02)":     {"email": "ann.b-c_9", "email_verified": true},
		"ann@example.com":                      {"email": "ann@example.com", "email_verified": true},
		"ben (unverified, 1f3a9c02)":           {"preferred_username": "ben", "sub": "x"},
		"auth0|ann":                            {"sub": "auth0|ann"},
		"Ann":                                  {"sub": "Ann"},
		"\u202eann (unverified, 1f3a9c02)"[3:]: {"sub": "\u202eann"},
	} {
		if got := nameOf(claims, subject); got != want || CheckName(got) == nil {
			t.Errorf("%q, want %q", got, want)
		}
	}
	for name, ok := range map[string]bool{"ann": true, "a": true, "ann.b-c_9": true, "": false, "Ann": false, "9a": false, "-a": false, "ann@b": false, "ann b": false, "\u0430nn": false, "ann\n": false, "ann\x00": false, strings.Repeat("a", MaxAccountName): true, strings.Repeat("a", MaxAccountName+1): false} {
		if (CheckName(name) == nil) != ok {
			t.Errorf("%q: %v", name, CheckName(name))
		}
	}
}

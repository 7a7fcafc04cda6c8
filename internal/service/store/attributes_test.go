package store

import (
	"fmt"
	"reflect"
	"strings"
	"testing"
)

// Releases are ordered by their numbers; what is no version has no order.
func TestCompareReleases(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want int
		ok   bool
	}{
		{"1.2", "1.3", -1, true}, {"1.10", "1.9", 1, true}, {"1.3", "1.3.0", 0, true}, {"v2", "1.9", 1, true}, {"1.3-rc.1", "1.3", -1, true}, {"1.3-rc.2", "1.3-rc.10", -1, true},
		{"1.3-alpha", "1.3-alpha.1", -1, true}, {"1.3-1", "1.3-beta", -1, true}, {"1.3+7", "1.3+8", 0, true}, {"shop@1.3", "shop@1.4", -1, true}, {"shop@1.3", "till@1.4", 0, false},
		{"b1", "b2", 0, false}, {"12345678901234567890", "2", 0, false}, {"1.12345678901234567890", "1.12345678901234567891", -1, true}, {"1a2b3c", "2a", 0, false}, {"x", "x", 0, true}, {"2024.01", "2024.2", -1, true},
	} {
		if got, ok := CompareReleases(c.a, c.b); got != c.want || ok != c.ok {
			t.Errorf("%s, %s: %d %v, want %d %v", c.a, c.b, got, ok, c.want, c.ok)
		}
		if back, _ := CompareReleases(c.b, c.a); back != -c.want {
			t.Errorf("%s, %s: %d backwards", c.a, c.b, back)
		}
	}
}

// The clients' names for a release and so on lead to one name; identifiers of users are no attributes.
func TestAttributesOf(t *testing.T) {
	for name, c := range map[string]struct {
		in   map[string]string
		read []Attribute
		want string
	}{
		"Breakpad":          {map[string]string{"prod": "Shop", "ver": "1.2", "guid": "x"}, nil, "[{product Shop} {release 1.2}]"},
		"Mozilla":           {map[string]string{"ProductName": "Shop", "Version": "1.2", "ReleaseChannel": "beta"}, nil, "[{channel beta} {product Shop} {release 1.2}]"},
		"Sentry":            {map[string]string{"release": "shop@1.2", "environment": "prod", "tag.till": "3", "user.id": "7", "event_id": "8"}, nil, "[{channel prod} {release shop@1.2} {till 3}]"},
		"both":              {map[string]string{"release": "1.2", "version": "7"}, nil, "[{release 1.2} {version 7}]"},
		"what was read":     {map[string]string{"os": "no"}, []Attribute{{"os", "linux"}, {"module", "libc 2"}, {"module", "libm 3"}}, "[{module libc 2} {module libm 3} {os linux}]"},
		"Crashpad":          {map[string]string{"gpu": "x"}, []Attribute{{"ver", "1.2"}, {"gpu", "y"}, {"user_id", "me"}, {"os", "linux"}}, "[{gpu x} {os linux} {release 1.2}]"},
		"what is lacking":   {map[string]string{"lacks": "libm x", "Tag.Lacks": "y"}, []Attribute{{"module", "libc 2"}, {"lacks", "libc.so buildid/00/debuginfo"}}, "[{lacks libc.so buildid/00/debuginfo} {module libc 2}]"},
		"what was used":     {map[string]string{"uses": "libm x", "Tag.Uses": "y"}, []Attribute{{"uses", "libc.so buildid/00/debuginfo"}, {"uses", "libm.so buildid/01/debuginfo"}}, "[{uses libc.so buildid/00/debuginfo} {uses libm.so buildid/01/debuginfo}]"},
		"names":             {map[string]string{"Tab Count!": "1", "\xff": "2", strings.Repeat("n", 65): "3"}, nil, "[{tab_count_ 1}]"},
		"what is no value":  {map[string]string{"a": strings.Repeat("x", 201), "b": "two\nlines", "c": " "}, nil, "[]"},
		"what is not UTF-8": {map[string]string{"a": "x\xff\x00"}, nil, "[{a x\ufffd\ufffd}]"},
	} {
		if got := fmt.Sprint(AttributesOf(c.in, c.read)); got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
	many := map[string]string{}
	for i := range 1000 {
		many[fmt.Sprint("n", i)] = "v"
	}
	if got := AttributesOf(many, []Attribute{{"os", "linux"}}); len(got) != MaxAttributes || Value(got, "os") != "linux" {
		t.Errorf("%d attributes", len(got))
	}
	fields := map[string]string{"User_ID": " {AB} ", "user.id": "cd", "x": "y"}
	if id := TakeID(fields, IDUser); id != "ab" || !reflect.DeepEqual(fields, map[string]string{"x": "y"}) {
		t.Errorf("%q, %v are left", id, fields)
	}
}

package session_test

import (
	"context"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/corewalk/corewalk"
	"github.com/corewalk/corewalk/internal/fixture"
	"github.com/corewalk/corewalk/session"
)

// Functions are found by their names in each kind of table, and are where the stacks say.
func TestFunctions(t *testing.T) {
	ctx := context.Background()
	dumps := map[string]fixture.Case{}
	for _, c := range fixture.Minidumps(t) {
		dumps[c.Name] = c
	}
	for _, c := range []struct{ name, function, at string }{
		{"amd64-vars-c-O0", "stop", "vars.c"},
		{"amd64-cxx-uncaught", "main", ""},
		{"amd64-go-stripped", "main.main", ""},
		{"amd64-clang-O0-dll", "plugin_store", "plugin.c"},
		{"amd64-mingw-deep", "leaf", ""},
	} {
		var target *corewalk.Target
		if d, ok := dumps[c.name]; ok {
			var opts []corewalk.Option
			for _, dir := range d.Search(t) {
				opts = append(opts, corewalk.WithSearch(dir))
			}
			var err error
			if target, err = corewalk.Open(ctx, d.Core(t), opts...); err != nil {
				t.Fatal(err)
			}
			defer target.Close()
		} else {
			target = open(t, fixture.Get(t, c.name))
		}
		s := session.New(target, session.Options{})
		list, more, err := s.Functions(ctx, "^"+regexp.QuoteMeta(c.function)+"$", 0, 10)
		if err != nil || more || len(list) == 0 {
			t.Errorf("%s: %s: %+v, %v", c.name, c.function, list, err)
			continue
		}
		if !strings.HasSuffix(list[0].Source.File, c.at) {
			t.Errorf("%s: %+v, want %s", c.name, list[0], c.at)
		}
		p, err := s.At(ctx, list[0].Address)
		if err != nil || p.Function != c.function || p.FunctionOffset != 0 {
			t.Errorf("%s: at %#x is %s+%d, want %s", c.name, list[0].Address, p.Function, p.FunctionOffset, c.function)
		}
		s.Close()
	}
}

// A page continues the one before it.
func TestFunctionPages(t *testing.T) {
	ctx := context.Background()
	s := start(t, "amd64-vars-c-O0")
	all, more, err := s.Functions(ctx, "^mem", 0, 1000)
	if err != nil || more || len(all) < 8 {
		t.Fatal(len(all), more, err)
	}
	var pages []session.Function
	for more = true; more; {
		var page []session.Function
		if page, more, err = s.Functions(ctx, "^mem", len(pages), 3); err != nil || len(page) == 0 {
			t.Fatal(page, err)
		}
		pages = append(pages, page...)
	}
	if !slices.Equal(all, pages) {
		t.Errorf("%d functions in pages, %d at once", len(pages), len(all))
	}
	if list, more, err := s.Functions(ctx, "no such function", 0, 5); err != nil || more || len(list) != 0 {
		t.Error(list, more, err)
	}
	if _, _, err := s.Functions(ctx, "[", 0, 5); err == nil {
		t.Error("a malformed pattern")
	}
	done, cancel := context.WithCancel(ctx)
	cancel()
	if _, _, err := s.Functions(done, "mem", 0, 5); err == nil {
		t.Error("cancelled")
	}
}

package main

import (
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A test is found that uses a name itself, through functions, methods and variables of the package's other test files, and in none of testdata.
func TestArguments(t *testing.T) {
	root := t.TempDir()
	for path, text := range map[string]string{
		"a/a_test.go": `package a
func TestItself(t *testing.T) { fixture.Long(t) }
func TestThrough(t *testing.T) { helper() }
func TestMethod(t *testing.T) { new(thing).method() }
func TestVariable(t *testing.T) { t.Log(table) }
func TestNone(t *testing.T) { none() }
func TestMain(m *testing.M) { fixture.Long(nil) }`,
		"a/b_test.go": `package a_test
var table = []func(){func() { helper() }}
func helper() { func() { fixture.Long(nil) }() }
func (*thing) method() { helper() }
func none() { _ = "Long" }
type Long struct{}`,
		"a/c.go":               "package a\nfunc none() { Long() }",
		"b/b_test.go":          "package b\nfunc TestOther(t *testing.T) { Longer() }",
		"c/d/c_test.go":        "package c\nfunc TestDeep(t *testing.T) { if Long() {} }",
		"c/testdata/x_test.go": "package x\nfunc TestData(t *testing.T) { Long() }",
		".hidden/x_test.go":    "package x\nfunc TestHidden(t *testing.T) { Long() }",
	} {
		path = filepath.Join(root, path)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	args := func(s selection) ([]string, error) { return s.arguments(root) }
	got, err := args(selection{names: []string{"Long", "Unused"}, parts: 1})
	if want := "-run ^(TestDeep|TestItself|TestMethod|TestThrough|TestVariable)$ ./a ./c/d"; err != nil || strings.Join(got, " ") != want {
		t.Errorf("%v %q, want %q", err, got, want)
	}
	seen := map[string]int{}
	for part := range uint32(3) {
		some, err := args(selection{names: []string{"Long"}, each: []string{"method"}, part: part, parts: 3})
		if err != nil {
			t.Fatal(err)
		}
		for _, test := range strings.Split(strings.Trim(some[1], "^()$"), "|") {
			seen[test]++
		}
	}
	if want := map[string]int{"TestDeep": 1, "TestItself": 1, "TestMethod": 3, "TestThrough": 1, "TestVariable": 1}; !maps.Equal(seen, want) {
		t.Errorf("in three parts: %v, want %v", seen, want)
	}
	if got, err := args(selection{names: []string{"Unused"}, parts: 1}); err == nil {
		t.Errorf("without a test, %q: go test would run all", got)
	}
	if err := os.WriteFile(filepath.Join(root, "a/wrong_test.go"), []byte("package a\nfunc {"), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := args(selection{names: []string{"Long"}, parts: 1}); err == nil {
		t.Error("a file that is no Go is read")
	}
}

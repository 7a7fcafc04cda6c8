package store

import (
	"cmp"
	"strings"
)

// CompareReleases orders two releases by their numbers, as semantic versions are: 1.9 comes before 1.10, and 1.3-rc.1 before 1.3. It is not known of those that have
// no numbers, or that are of different programs ("shop@1.3", "till@1.3"): ok is false.
func CompareReleases(a, b string) (order int, ok bool) {
	if a == b {
		return 0, true
	}
	nameA, a := program(a)
	nameB, b := program(b)
	if nameA != nameB || !isVersion(a) || !isVersion(b) {
		return 0, false
	}
	a, _, _ = strings.Cut(a, "+") // what follows says how it was built
	b, _, _ = strings.Cut(b, "+")
	mainA, preA, isPreA := strings.Cut(a, "-")
	mainB, preB, isPreB := strings.Cut(b, "-")
	if order = compareParts(strings.Split(mainA, "."), strings.Split(mainB, "."), "0"); order != 0 {
		return order, true
	}
	switch {
	case isPreA && isPreB:
		return compareParts(strings.Split(preA, "."), strings.Split(preB, "."), ""), true
	case isPreA:
		return -1, true
	case isPreB:
		return 1, true
	}
	return 0, true
}

// program splits off what comes before the version.
func program(release string) (name, version string) {
	if i := strings.LastIndexByte(release, '@'); i >= 0 {
		name, release = release[:i], release[i+1:]
	}
	if v, ok := strings.CutPrefix(release, "v"); ok && isVersion(v) {
		release = v
	}
	return name, release
}

// isVersion reports whether a text begins with a number that a point, or the end, follows. The digits of a commit are no version.
func isVersion(s string) bool {
	i := 0
	for i < len(s) && s[i] >= '0' && s[i] <= '9' {
		i++
	}
	return i > 0 && i <= 9 && (i == len(s) || s[i] == '.' || s[i] == '-' || s[i] == '+')
}

// compareParts compares lists of parts, of which the shorter is continued with a part.
func compareParts(a, b []string, missing string) int {
	for i := range max(len(a), len(b)) {
		x, y := missing, missing
		if i < len(a) {
			x = a[i]
		}
		if i < len(b) {
			y = b[i]
		}
		if order := comparePart(x, y); order != 0 {
			return order
		}
	}
	return 0
}

// comparePart compares numbers as such, of any length; they come before texts.
func comparePart(x, y string) int {
	numX, numY := isNumber(x), isNumber(y)
	switch {
	case numX && numY:
		x, y = strings.TrimLeft(x, "0"), strings.TrimLeft(y, "0")
		return cmp.Or(cmp.Compare(len(x), len(y)), cmp.Compare(x, y))
	case numX && y != "":
		return -1
	case numY && x != "":
		return 1
	}
	return cmp.Compare(x, y)
}

func isNumber(s string) bool {
	for i := range len(s) {
		if s[i] < '0' || s[i] > '9' {
			return false
		}
	}
	return s != ""
}

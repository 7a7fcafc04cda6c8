// Package sample is changed by the tests of mutants.
package sample

// Kind is a type that the constants of Level have.
type Kind uint8

// The kinds.
const (
	Low Kind = iota + 1
	High
)

var limit = 10

// Level is High from limit on.
func Level(n int) Kind {
	if n >= limit {
		return High
	}
	return Low
}

// Sum adds the numbers up to n, but those that skip wants left out.
func Sum(n int, skip func(int) bool) int {
	sum := 0
	for i := 1; i <= n; i++ {
		if skip != nil && skip(i) {
			continue
		}
		sum += i
	}
	return sum
}

// Twice is not tested.
func Twice(n int) int { return 2 * n }

// Name is a switch with and without a tag, and conditions that are not of if.
func Name(k Kind, loud bool) (name string, ok bool) {
	switch k {
	case Low:
		name = "low"
	case High:
		name = "high"
	}
	switch {
	case loud && name != "":
		name += "!"
	}
	return name, !loud || len(name) > 0
}

// Half returns half of an even n.
func Half(n int) (half int, ok bool) {
	if n%2 != 0 {
		return 0, false
	}
	return n / 2, true
}

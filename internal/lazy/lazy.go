// Package lazy makes values of package-level variables when they are first needed.
package lazy

import "sync"

// A Value is what Make returns at the first Get. It is safe for concurrent use. A variable of this type is data, unlike a
// map or the result of sync.OnceValue, which are made at the start of every program that links the package.
type Value[T any] struct {
	Make func() T

	once  sync.Once
	value T
}

// Get returns the value.
func (v *Value[T]) Get() T {
	v.once.Do(func() { v.value = v.Make() })
	return v.value
}

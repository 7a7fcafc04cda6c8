// Package dep has the name of another one.
package dep

type Level string

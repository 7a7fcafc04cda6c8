// Package dep has types whose package's path has slashes.
package dep

type Opts struct {
	Host string
	Port int
}

type Level int

type Err struct {
	Code int
	Why  string
}

func (e Err) Error() string { return e.Why }

//go:build !linux || !(amd64 || arm64)

package crashself

func begin()              {}
func start(Options) error { return ErrUnsupported }
func stop() error         { return ErrUnsupported }

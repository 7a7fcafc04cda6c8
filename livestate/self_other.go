//go:build !linux || !(amd64 || arm64)

package livestate

// A SelfState is this program as one of its goroutines saw it. There is none on this
// host.
type SelfState struct{ *Process }

// Self returns ErrUnsupported.
func Self(int) (*SelfState, error) { return nil, ErrUnsupported }

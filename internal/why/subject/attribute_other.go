//go:build !linux

package subject

// attribute returns "": only Linux writes systemd's attributes.
func attribute(path, name string) string { return "" }

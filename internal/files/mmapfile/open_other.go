//go:build !unix

package mmapfile

const careful = 0

//go:build !unix

package service

func connections() int { return mostConnections }

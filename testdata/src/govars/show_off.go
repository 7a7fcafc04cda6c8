//go:build !show

package main

const showing = false

func show(function string, variables ...any) {}

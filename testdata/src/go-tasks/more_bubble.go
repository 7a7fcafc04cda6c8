//go:build go1.25

//go:debug asynctimerchan=0

package main

import (
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// init parks goroutines in a bubble of testing/synctest. One of them waits for what is outside, so that the bubble is not stuck.
func init() {
	outside := make(chan int)
	all := func(string, string) (bool, error) { return true, nil }
	go testing.Main(all, []testing.InternalTest{{Name: "bubble", F: func(t *testing.T) {
		synctest.Test(t, func(*testing.T) {
			var wg sync.WaitGroup
			wg.Add(1)
			a, b := make(chan int), make(chan int)
			go func() { <-outside }()
			go func() { <-a }()
			go func() { b <- 1 }()
			go func() {
				select {
				case <-a:
				case b <- 2:
				}
			}()
			go wg.Wait()
			go time.Sleep(time.Hour)
			go synctest.Wait()
			select {}
		})
	}}}, nil, nil) // never ends
}

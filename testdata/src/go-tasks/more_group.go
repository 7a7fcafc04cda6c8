//go:build goexperiment.synctest && !go1.25

//go:debug asynctimerchan=0

package main

import (
	"sync"
	"testing/synctest"
	"time"
)

// init is as in more_bubble.go.
func init() {
	outside := make(chan int)
	go synctest.Run(func() {
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
}

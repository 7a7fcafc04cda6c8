package tasks

// Bind completes the waits of tasks of one scheduler that run on tasks of another, such as goroutines on threads. A
// task in a call outside its own runtime waits for what its thread waits for. A thread that holds something and is
// kept for one task, which it does not run now, waits for that task; it is added if it is not among all.
func Bind(all []*Task) []*Task {
	threads := map[uint64]*Task{}
	holds := map[uint64]bool{}
	for _, t := range all {
		if t.Kind == KindThread {
			threads[t.ID] = t
		}
		if t.Wait != nil {
			for _, h := range t.Wait.Holders {
				holds[h.ID] = holds[h.ID] || h.Kind == KindThread
			}
		}
	}
	for _, t := range all {
		if t.Kind == KindThread {
			continue
		}
		if th := threads[uint64(t.Thread)]; t.Thread > 0 && th != nil && th.Wait != nil && t.Wait == nil && t.State == StateSyscall {
			w := *th.Wait
			t.Wait = &w
		}
		if id := uint64(t.LockedTo); t.LockedTo > 0 && t.Thread != t.LockedTo && holds[id] {
			th := threads[id]
			if th == nil {
				th = &Task{Key: Key{KindThread, id}, Runtime: t.Runtime, Thread: t.LockedTo, State: StateWaiting}
				threads[id] = th
				all = append(all, th)
			}
			if th.Wait == nil || len(th.Wait.Holders) == 0 {
				th.Wait = &Wait{Kind: WaitRuntime, Reason: "runs nothing but " + t.Key.String(), Holders: []Holder{{Key: t.Key, Certainty: Certain}}, Proved: true}
			}
		}
	}
	return all
}

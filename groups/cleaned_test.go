package groups

// cleaned tells which records of a log a compaction takes away that looks at it up to end, and that keeps tombstones no longer than what they delete: the
// broker's memory bound compacts so. As Kafka's cleaner it doesn't go beyond the first open transaction.
func cleaned(log []loggedRecord, end int) []bool {
	var (
		gone    = make([]bool, len(log))
		open    = map[int64][]int{} // producer to the records of its transaction
		ofTxn   = map[int][]int{}   // marker to those of the one it ends
		aborted = map[int]bool{}
		last    = map[string]int{}
	)
	for i, r := range log {
		switch {
		case r.marker:
			for _, at := range open[r.producer] {
				aborted[at] = !r.commit
			}
			ofTxn[i] = open[r.producer]
			delete(open, r.producer)
		case r.producer >= 0:
			open[r.producer] = append(open[r.producer], i)
		}
	}
	for _, written := range open {
		end = min(end, written[0])
	}
	for i, r := range log[:end] {
		switch {
		case r.marker:
		case aborted[i]:
			gone[i] = true
		default:
			if before, there := last[string(r.Key)]; there {
				gone[before] = true
			}
			last[string(r.Key)] = i
			gone[i] = r.Value == nil
		}
	}
	for i, r := range log[:end] {
		if !r.marker {
			continue
		}
		gone[i] = true
		for _, at := range ofTxn[i] {
			gone[i] = gone[i] && gone[at]
		}
	}
	return gone
}

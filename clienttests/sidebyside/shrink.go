package main

import "slices"

// shrink makes a failing sequence shorter while run says that it still fails: it leaves out steps, first many and then single ones, and makes
// the rest plain. It tries at most limit times.
func shrink(steps []step, limit int, run func([]step) bool) []step {
	try := func(with []step) bool {
		if limit--; limit < 0 || !run(with) {
			return false
		}
		steps = with
		return true
	}
	for size := len(steps) / 2; size > 0 && limit > 0; size /= 2 {
		for i := len(steps) - 1 - size; i >= 0 && limit > 0; i -= size { // the last one is the one that differs
			try(slices.Delete(slices.Clone(steps), i, i+size))
		}
	}
	for i := range steps {
		for _, plain := range []func(*step){func(s *step) { s.unhurt = true }, func(s *step) { s.sane = true }} {
			with := slices.Clone(steps)
			plain(&with[i])
			try(with)
		}
	}
	return steps
}

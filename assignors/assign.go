package assignors

// computer is the inside of a client-side assignor: it fills in the owners of a round.
type computer interface {
	Name() string
	compute(*round) error
}

func assign(a computer, g *Group) (map[string][]TopicPartition, error) {
	r, err := newRound(a.Name(), g, false)
	if err != nil {
		return nil, err
	}
	if err := a.compute(r); err != nil {
		return nil, err
	}
	return r.result(), nil
}

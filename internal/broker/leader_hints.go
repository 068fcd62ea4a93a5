package broker

// KIP-951: an answer to a client that asked the wrong broker says who leads now, and how to get there.

// hintedNodes collects the brokers that hints name, each once.
type hintedNodes []*nodeInfo

func (h *hintedNodes) add(m *metadata, id int32) {
	n := m.node(id)
	if n == nil || !n.alive {
		return
	}
	for _, have := range *h {
		if have.id == id {
			return
		}
	}
	*h = append(*h, n)
}

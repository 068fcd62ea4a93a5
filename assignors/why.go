package assignors

// why is the step of an assignor that gave a partition to its owner.
type why uint8

const (
	whyNone      why = iota
	whyRun           // range: the member's run of consecutive partitions
	whyRunRack       // range: matched by rack before the runs were cut
	whyRunRest       // range: what was left for the member after matching by rack
	whyTurn          // roundrobin: the member's turn
	whyKept          // sticky, uniform: the member had it
	whyShare         // sticky: fills the member up to its share
	whyShareRack     // the same, by rack
	whyExtra         // sticky: one of the extras beyond the equal share
	whyExtraRack     // the same, by rack
	whyLeast         // general sticky: the least loaded subscriber
	whyLeastRack     // the same, by rack
	whyBalance       // general sticky: moved to a less loaded subscriber
	whyReturned      // general sticky: moved back to a member that had it in an older generation
)

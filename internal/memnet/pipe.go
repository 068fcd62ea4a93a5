package memnet

import (
	"io"
	"net"
	"os"
	"sync"
	"syscall"
	"time"
)

// PipeBuffer is how much a direction of a connection takes, in bytes, before a writer waits, as a socket's buffers do.
const PipeBuffer = 256 << 10

// pipe is one direction of a connection.
type pipe struct {
	mu      sync.Mutex
	buf     []byte        // written, not yet read: buf[at:]
	at      int           //
	changed chan struct{} // closed at the next change; nil while nobody waits
	readBy  time.Time     // deadlines, zero: none
	writeBy time.Time
	eof     bool // the writing end is closed
	reset   bool // the reading end is closed
}

func newPipe() *pipe { return &pipe{} }

// change wakes who waits. With p.mu held.
func (p *pipe) change() {
	if p.changed != nil {
		close(p.changed)
		p.changed = nil
	}
}

// wait gives up the lock until something changes or the deadline passes.
func (p *pipe) wait(deadline time.Time) {
	if p.changed == nil {
		p.changed = make(chan struct{})
	}
	changed := p.changed
	p.mu.Unlock()
	defer p.mu.Lock()
	if deadline.IsZero() {
		<-changed
		return
	}
	t := time.NewTimer(time.Until(deadline))
	defer t.Stop()
	select {
	case <-changed:
	case <-t.C:
	}
}

func passed(deadline time.Time) bool { return !deadline.IsZero() && !time.Now().Before(deadline) }

func (p *pipe) read(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for {
		switch {
		case p.reset:
			return 0, net.ErrClosed
		case passed(p.readBy):
			return 0, os.ErrDeadlineExceeded
		case len(b) == 0:
			return 0, nil
		case p.at < len(p.buf):
			n := copy(b, p.buf[p.at:])
			if p.at += n; p.at == len(p.buf) {
				p.at = 0
				if p.buf = p.buf[:0]; cap(p.buf) > PipeBuffer {
					p.buf = nil
				}
			}
			p.change()
			return n, nil
		case p.eof:
			return 0, io.EOF
		}
		p.wait(p.readBy)
	}
}

func (p *pipe) write(b []byte) (written int, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for {
		switch {
		case p.eof:
			return written, net.ErrClosed
		case p.reset:
			return written, syscall.EPIPE
		case passed(p.writeBy):
			return written, os.ErrDeadlineExceeded
		case len(b) == 0:
			return written, nil
		}
		if room := PipeBuffer - (len(p.buf) - p.at); room > 0 {
			if p.at > 0 && len(p.buf)+min(room, len(b)) > cap(p.buf) {
				p.buf = p.buf[:copy(p.buf, p.buf[p.at:])]
				p.at = 0
			}
			n := min(room, len(b))
			p.buf = append(p.buf, b[:n]...)
			b = b[n:]
			written += n
			p.change()
			continue
		}
		p.wait(p.writeBy)
	}
}

func (p *pipe) closeWrite() {
	p.mu.Lock()
	p.eof = true
	p.change()
	p.mu.Unlock()
}

func (p *pipe) closeRead() {
	p.mu.Lock()
	p.reset, p.buf, p.at = true, nil, 0
	p.change()
	p.mu.Unlock()
}

func (p *pipe) setDeadline(which *time.Time, t time.Time) error {
	p.mu.Lock()
	*which = t
	p.change()
	p.mu.Unlock()
	return nil
}

package memory

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"io/fs"
	"math"
	"os"
)

// pageFile reads the rows of a database without asking what the file says of itself: page
// by page, as they stand in it and in its log. It proves nothing, and refuses nothing that
// can be read in some way; see https://www.sqlite.org/fileformat2.html.
type pageFile struct {
	main, log *os.File // log may be nil
	size      int      // of a page
	count     uint32   // of pages
	logged    map[uint32]int64
	free      map[uint32]bool // they hold what was removed
}

// storedRow is a row as it stands in a page.
type storedRow struct {
	page   uint32
	offset int   // in the page
	id     int64 // of a table with row ids
	hasID  bool
	values []any // as a driver returns them
}

const (
	usualPage     = 4096 // bytes
	logHead       = 32
	logFrameHead  = 24
	tableLeaf     = 0x0d
	indexLeaf     = 0x0a
	indexInterior = 0x02
)

// openPages opens a database and its log, of which either may be damaged anywhere.
func openPages(path string) (p *pageFile, err error) {
	p = &pageFile{size: usualPage, logged: map[uint32]int64{}, free: map[uint32]bool{}}
	if p.main, err = os.Open(path); err != nil {
		return nil, err //nolint:wrapcheck // it names the file
	}
	info, err := p.main.Stat()
	if err != nil {
		return nil, errors.Join(err, p.close())
	}
	var head [100]byte
	if _, err := p.main.ReadAt(head[:], 0); err == nil && bytes.HasPrefix(head[:], []byte(magicBytes)) {
		if n := int(binary.BigEndian.Uint16(head[16:])); n >= 512 && n&(n-1) == 0 {
			p.size = n
		}
	}
	p.count = uint32(min(info.Size()/int64(p.size), math.MaxUint32-1))
	if p.log, err = os.Open(path + "-wal"); err == nil {
		p.readLog()
	} else if !errors.Is(err, fs.ErrNotExist) {
		return nil, errors.Join(err, p.close())
	}
	p.readFree()
	return p, nil
}

func (p *pageFile) close() error {
	err := p.main.Close()
	if p.log != nil {
		err = errors.Join(err, p.log.Close())
	}
	return err
}

// readLog finds the pages that stand in the log, up to its last commit.
func (p *pageFile) readLog() {
	head := make([]byte, logHead)
	if _, err := p.log.ReadAt(head, 0); err != nil || int(binary.BigEndian.Uint32(head[8:])) != p.size {
		return
	}
	open := map[uint32]int64{}
	frame := make([]byte, logFrameHead)
	for at := int64(logHead); ; at += int64(logFrameHead + p.size) {
		if _, err := p.log.ReadAt(frame, at); err != nil || !bytes.Equal(frame[8:16], head[16:24]) {
			return // its salt is another: it is of an earlier use of the log
		}
		open[binary.BigEndian.Uint32(frame)] = at + logFrameHead
		if pages := binary.BigEndian.Uint32(frame[4:]); pages > 0 { // a commit
			for n, at := range open {
				p.logged[n] = at
			}
			p.count, open = max(p.count, pages), map[uint32]int64{}
		}
	}
}

// readFree finds the free pages, as far as it is said which they are.
func (p *pageFile) readFree() {
	first, err := p.read(1)
	if err != nil || !bytes.HasPrefix(first, []byte(magicBytes)) {
		return
	}
	for n := binary.BigEndian.Uint32(first[32:]); n > 0 && !p.free[n]; {
		trunk, err := p.read(n)
		if err != nil {
			return
		}
		p.free[n] = true
		for i := range min(int(binary.BigEndian.Uint32(trunk[4:])), p.size/4-2) {
			p.free[binary.BigEndian.Uint32(trunk[8+4*i:])] = true
		}
		n = binary.BigEndian.Uint32(trunk)
	}
}

func (p *pageFile) read(n uint32) ([]byte, error) {
	if n == 0 || n > p.count {
		return nil, io.ErrUnexpectedEOF
	}
	page := make([]byte, p.size)
	from, at := p.main, int64(n-1)*int64(p.size)
	if logged, ok := p.logged[n]; ok {
		from, at = p.log, logged
	}
	_, err := from.ReadAt(page, at)
	return page, err //nolint:wrapcheck // no caller says it
}

// each calls visit with every row that can be read in some way.
func (p *pageFile) each(visit func(storedRow)) {
	for n := uint32(1); n <= p.count; n++ {
		page, err := p.read(n)
		if err != nil || p.free[n] {
			continue
		}
		head := 0
		if n == 1 {
			head = 100
		}
		kind, cells := page[head], head+8
		switch kind {
		case indexInterior:
			cells += 4
		case tableLeaf, indexLeaf:
		default:
			continue
		}
		for i := range int(binary.BigEndian.Uint16(page[head+3:])) {
			if cells+2*i+2 > len(page) {
				break
			}
			if row, ok := p.row(n, page, int(binary.BigEndian.Uint16(page[cells+2*i:])), kind); ok {
				visit(row)
			}
		}
	}
}

// again reads a row once more.
func (p *pageFile) again(n uint32, offset int) (storedRow, bool) {
	page, err := p.read(n)
	if err != nil {
		return storedRow{}, false
	}
	return p.row(n, page, offset, tableLeaf)
}

// row reads the row at a place of a page.
func (p *pageFile) row(n uint32, page []byte, offset int, kind byte) (row storedRow, ok bool) {
	row = storedRow{page: n, offset: offset, hasID: kind == tableLeaf}
	if kind == indexInterior {
		offset += 4
	}
	if offset >= len(page) {
		return row, false
	}
	rest := page[offset:]
	size, rest := varint(rest)
	most := (p.size-12)*64/255 - 23
	if row.hasID {
		row.id, rest = varint(rest)
		most = p.size - 35
	}
	if size <= 0 || size > maxContent {
		return row, false
	}
	payload, ok := p.payload(rest, int(size), most)
	if !ok {
		return row, false
	}
	row.values, ok = rowValues(payload)
	return row, ok
}

// payload is the content of a cell, of which a page holds so much at most, and the pages
// that follow it the rest.
func (p *pageFile) payload(rest []byte, size, most int) ([]byte, bool) {
	if size <= most {
		return rest[:min(size, len(rest))], size <= len(rest)
	}
	least := (p.size-12)*32/255 - 23
	local := least + (size-least)%(p.size-4)
	if local > most {
		local = least
	}
	if local+4 > len(rest) {
		return nil, false
	}
	out := append([]byte(nil), rest[:local]...)
	for next := binary.BigEndian.Uint32(rest[local:]); len(out) < size; {
		page, err := p.read(next)
		if err != nil {
			return nil, false
		}
		out = append(out, page[4:4+min(p.size-4, size-len(out))]...)
		next = binary.BigEndian.Uint32(page)
	}
	return out, true
}

// rowValues are those of a record.
func rowValues(record []byte) (values []any, ok bool) {
	headSize, head := varint(record)
	if headSize <= 0 || headSize > int64(len(record)) {
		return nil, false
	}
	body := record[headSize:]
	head = head[:max(0, int(headSize)-(len(record)-len(head)))]
	for len(head) > 0 {
		var kind int64
		kind, head = varint(head)
		size := kindBytes(kind)
		if size < 0 || size > int64(len(body)) {
			return nil, false
		}
		values = append(values, valueOf(kind, body[:size]))
		body = body[size:]
	}
	return values, true
}

// kindBytes is how many bytes a value of a kind takes, less than 0 for no kind.
func kindBytes(kind int64) int64 {
	switch {
	case kind < 0 || kind == 10 || kind == 11:
		return -1
	case kind >= 12:
		return (kind - 12) / 2
	}
	return []int64{0, 1, 2, 3, 4, 6, 8, 8, 0, 0}[kind]
}

func valueOf(kind int64, data []byte) any {
	switch {
	case kind == 0:
		return nil
	case kind == 7:
		return math.Float64frombits(binary.BigEndian.Uint64(data))
	case kind == 8 || kind == 9:
		return kind - 8
	case kind >= 12 && kind%2 == 0:
		return data
	case kind >= 12:
		return string(data)
	}
	n := int64(int8(data[0])) // it has a sign
	for _, b := range data[1:] {
		n = n<<8 | int64(b)
	}
	return n
}

// varint reads a number and returns what follows it; -1 where there is none.
func varint(data []byte) (int64, []byte) {
	n := uint64(0)
	for i, b := range data {
		if i == 8 {
			return int64(n<<8 | uint64(b)), data[9:]
		}
		if n = n<<7 | uint64(b&0x7f); b < 0x80 {
			return int64(n), data[i+1:]
		}
	}
	return -1, nil
}

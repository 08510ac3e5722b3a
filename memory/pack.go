package memory

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"runtime"
	"sync"

	"github.com/klauspost/compress/zstd"

	"github.com/plan-engine/plan"
)

const (
	// packFrom is the size from which a content is compressed, in bytes: what is
	// smaller shares a page of the file with its neighbours anyhow.
	packFrom = 4 << 10
	// packWindow bounds how far back compression looks, and so the memory of it.
	packWindow = 1 << 20
	// maxContent bounds a content: a frame that claims to hold more is damaged.
	maxContent = 1 << 30
)

// packer compresses contents and brings them back. What it needs for that is made
// when the first one comes: a program that reads no large content pays nothing.
type packer struct {
	encoder, decoder sync.Once
	enc              *zstd.Encoder
	dec              *zstd.Decoder
	err              error
}

// pack returns a content compressed, or nil where that is not worth it.
func (p *packer) pack(data []byte) []byte {
	if len(data) < packFrom {
		return nil
	}
	p.encoder.Do(func() {
		p.enc, _ = zstd.NewWriter( // only an option that is none is an error
			nil,
			zstd.WithEncoderLevel(zstd.SpeedFastest),
			zstd.WithWindowSize(packWindow),
			zstd.WithEncoderConcurrency(runtime.GOMAXPROCS(0)),
			zstd.WithEncoderCRC(false), // each content has a hash of its own
		)
	})
	packed := p.enc.EncodeAll(data, make([]byte, 0, len(data)/2))
	if len(packed) > len(data)/8*7 {
		return nil
	}
	return packed
}

// unpack returns what was packed.
func (p *packer) unpack(packed []byte) ([]byte, error) {
	p.decoder.Do(func() {
		p.dec, p.err = zstd.NewReader(
			nil,
			zstd.WithDecoderConcurrency(0), // as many as there are processors
			zstd.WithDecoderMaxMemory(maxContent),
		)
	})
	if p.err != nil {
		return nil, fmt.Errorf("make a decoder: %w", p.err)
	}
	data, err := p.dec.DecodeAll(packed, nil)
	if err != nil {
		return nil, fmt.Errorf("unpack: %w", err)
	}
	return data, nil
}

// content returns the content of a row, proven against its hash.
func (p *packer) content(hash string, data, packed []byte) ([]byte, error) {
	if packed != nil {
		plain, err := p.unpack(packed)
		if err != nil {
			return nil, &BlobError{Hash: hash}
		}
		data = plain
	}
	if sum := sha256.Sum256(data); hex.EncodeToString(sum[:]) != hash {
		return nil, &BlobError{Hash: hash}
	}
	return data, nil
}

// close lets go of what the decoder holds.
func (p *packer) close() {
	if p.dec != nil {
		p.dec.Close()
	}
}

// storedBlob is a blob as it is stored.
type storedBlob struct {
	plan.Blob
	packed []byte // nil where it is kept as it is
}

func (p *packer) blob(b plan.Blob) storedBlob {
	return storedBlob{
		Blob:   b,
		packed: p.pack(b.Data),
	}
}

func (p *packer) blobs(from []plan.Blob) []storedBlob {
	if len(from) == 0 {
		return nil
	}
	out := make([]storedBlob, len(from))
	for i, b := range from {
		out[i] = p.blob(b)
	}
	return out
}

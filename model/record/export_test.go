package record

import "os"

// Clean replaces secrets as a recorder with redact does.
func Clean(redact func(string) string, text string) string { return newCleaner(redact).text(text) }

// CleanJSON cleans valid JSON.
func CleanJSON(redact func(string) string, data string) string {
	return string(newCleaner(redact).json([]byte(data)))
}

// CleanPieces cleans a stream of text that arrives in pieces.
func CleanPieces(redact func(string) string, texts []string) []string {
	var in []piece
	for _, text := range texts {
		in = append(in, piece{Kind: "text", Text: text})
	}
	var out []string
	for _, p := range newCleaner(redact).pieces(in) {
		out = append(out, p.Text)
	}
	return out
}

// BreakDisk makes every write of r fail from now on.
func BreakDisk(r *Recorder) error {
	f, err := os.Open(r.path) // not for writing
	if err != nil {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	err = r.file.Close()
	r.file = f
	return err
}

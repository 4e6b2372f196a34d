package kafka

import "errors"

// ReadAll takes the records of an answer apart as a stream does, and counts the messages. A checksum that does not fit
// is passed over: it is what keeps most of the code from being reached.
func ReadAll(data []byte, maxBytes int) (count int, err error) {
	batches, err := parseBatches(data)
	if err != nil {
		return 0, err
	}
	for _, b := range committed(batches, nil) {
		b.corrupt = false
		n, err := readAll(b, maxBytes)
		count += n
		if err != nil {
			return count, err
		}
	}
	return count, nil
}

func readAll(b *batch, maxBytes int) (count int, err error) {
	r, err := openRecords(b, maxBytes)
	if err != nil {
		return 0, err
	}
	defer r.close()
	for {
		m, err := r.next()
		if errors.Is(err, errNoMore) {
			return count, nil
		}
		if err != nil {
			return count, err
		}
		m.header("cluster")
		count++
	}
}

// ParseAnswer takes the answer to a fetch request apart.
func ParseAnswer(body []byte) error {
	_, err := parseFetched(body, fetchRequest{topic: "audit", partition: 3})
	return err
}

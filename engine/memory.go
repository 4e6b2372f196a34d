package engine

// memory remembers what evaluations came to by the values that they read: controllers write the same objects over and
// over, and most of what policies look at stays as it is. An Engine shares its memory with those made from it.
type memory struct {
	places *places
	ways   ways
	// evaluations are what whole policies came to, expressions what single expressions did.
	evaluations cache[*remembered]
	expressions cache[rememberedExpression]
}

// remembered is what an evaluation came to, the binding and the evidence left aside.
type remembered struct {
	// elsewhere: the result hangs on the places of messages and audit annotations too, and is kept under a key with them.
	elsewhere bool
	result    Result
	verdicts  []Verdict
	// annotations, blocksAnyway and annotationError are those of the evaluation.
	annotations     []annotation
	blocksAnyway    bool
	annotationError string
	// read are the inputs that were looked at.
	read inputSet
}

// passes are what most evaluations come to, by what they read.
var passes = func() (list [1 << 6]*remembered) {
	for i := range list {
		list[i] = &remembered{read: inputSet(i)}
	}
	return list
}()

// shared is the one of results alike, where there is one.
func (r *remembered) shared() *remembered {
	if r.result != "" || len(r.verdicts) > 0 || len(r.annotations) > 0 || r.blocksAnyway || r.annotationError != "" {
		return r
	}
	return passes[r.read]
}

func newMemory() *memory { return &memory{places: newPlaces()} }

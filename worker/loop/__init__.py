"""One prompt's iterations: ask the model, run its calls, go round again or end. No disk, no clock, no SDK."""
